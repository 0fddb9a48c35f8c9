"""HTTPS under Redfish: certificates, credentials, refusals, and services that hang."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fake_redfish import PASSWORD, RESET, SYSTEM, USER, FakeService, certificate, error

from niclab.core.verdict import BenchFault
from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.bmc import redfish_https
from niclab.transports.bmc.bmc import CommandRefused, InsufficientPrivilege, NotNow, PowerState
from niclab.transports.bmc.redfish import Redfish, RedfishEndpoint


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    monkeypatch.setattr(redfish_https, "NOT_NOW_WITHIN_S", 0.2)
    monkeypatch.setattr(redfish_https, "ASK_AGAIN_EVERY_S", 0.02)
    service = FakeService(tmp_path)
    yield service
    service.stop()


@pytest.fixture
def endpoint(service: FakeService) -> RedfishEndpoint:
    return RedfishEndpoint("dut BMC", service.url, USER, PASSWORD, service.ca_file)


def test_constructing_connects_to_nothing(endpoint: RedfishEndpoint, service: FakeService) -> None:
    Redfish(endpoint)
    assert service.connections == 0


def test_one_connection_serves_many_calls(endpoint: RedfishEndpoint, service: FakeService) -> None:
    bmc = Redfish(endpoint)
    for _ in range(5):
        bmc.power_status()
    assert service.connections == 1


def test_a_certificate_of_another_is_refused_before_the_password_is_sent(
    endpoint: RedfishEndpoint, service: FakeService, tmp_path: Path
) -> None:
    other, _ = certificate(tmp_path, "other")
    with pytest.raises(AuthenticationFailed, match=r"dut BMC: GET /redfish/v1/: certificate of https://.* is refused"):
        Redfish(replace(endpoint, ca_file=other)).power_status()
    assert service.requests == []


def test_a_certificate_for_another_address_is_refused(endpoint: RedfishEndpoint, service: FakeService) -> None:
    url = service.url.replace("127.0.0.1", "localhost")
    with pytest.raises(AuthenticationFailed, match=r"certificate of .* is refused: .*localhost"):
        Redfish(replace(endpoint, url=url)).power_status()


def test_without_a_ca_file_the_authorities_of_the_system_decide(
    endpoint: RedfishEndpoint, service: FakeService
) -> None:
    with pytest.raises(AuthenticationFailed, match="checked against the authorities of this system"):
        Redfish(replace(endpoint, ca_file=None)).power_status()
    assert service.requests == []


def test_a_ca_file_is_checked_although_insecure_is_set(endpoint: RedfishEndpoint, tmp_path: Path) -> None:
    other, _ = certificate(tmp_path, "other")
    with pytest.raises(AuthenticationFailed):
        Redfish(replace(endpoint, ca_file=other, insecure=True)).power_status()


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_insecure_without_a_ca_file_checks_nothing(endpoint: RedfishEndpoint) -> None:
    assert Redfish(replace(endpoint, ca_file=None, insecure=True)).power_status() is PowerState.OFF


def test_the_environment_does_not_change_what_is_trusted(
    endpoint: RedfishEndpoint, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(service.ca_file))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    with pytest.raises(AuthenticationFailed):
        Redfish(replace(endpoint, ca_file=None)).power_status()
    assert Redfish(endpoint).power_status() is PowerState.OFF


def test_a_ca_file_that_is_missing_or_empty_is_named(endpoint: RedfishEndpoint, tmp_path: Path) -> None:
    missing, empty = tmp_path / "missing.pem", tmp_path / "empty.pem"
    empty.write_text("")
    with pytest.raises(BenchFault, match=r"dut BMC: ca_file .*missing\.pem is no file"):
        Redfish(replace(endpoint, ca_file=missing)).power_status()
    with pytest.raises(BenchFault, match=r"dut BMC: ca_file .*empty\.pem holds no certificate"):
        Redfish(replace(endpoint, ca_file=empty)).power_status()


def test_a_ca_file_that_others_may_write_is_refused(endpoint: RedfishEndpoint) -> None:
    assert endpoint.ca_file is not None
    endpoint.ca_file.chmod(0o666)
    with pytest.raises(BenchFault, match=r"group or others may write this ca_file .*chmod go-w"):
        Redfish(endpoint).power_status()
    endpoint.ca_file.chmod(0o644)
    assert Redfish(endpoint).power_status() is PowerState.OFF


@pytest.mark.parametrize("url", ["http://127.0.0.1", "127.0.0.1", "", "https://"])
def test_a_url_that_is_not_https_is_refused(endpoint: RedfishEndpoint, url: str) -> None:
    with pytest.raises(BenchFault, match=r"dut BMC: url is .*; expected https://host"):
        Redfish(replace(endpoint, url=url)).power_status()


def test_one_401_is_no_proof(endpoint: RedfishEndpoint, service: FakeService) -> None:
    service.first_answers["GET", SYSTEM] = [(401, error("Starting."), {})]
    assert Redfish(endpoint).power_status() is PowerState.OFF


def test_a_wrong_password_is_tried_twice_and_once_by_each_later_call(
    endpoint: RedfishEndpoint, service: FakeService
) -> None:
    """A service may lock the user out."""
    bmc = Redfish(replace(endpoint, password="wrong-one"))
    for tries in (2, 3, 4):
        with pytest.raises(AuthenticationFailed):
            bmc.power_status()
        assert len(service.requests) == tries


def test_a_wrong_password(endpoint: RedfishEndpoint) -> None:
    with pytest.raises(AuthenticationFailed, match=r"HTTP 401: There is no valid session .*\(user admin") as raised:
        Redfish(replace(endpoint, password="wrong-one")).power_status()
    assert "wrong-one" not in str(raised.value)


def test_the_password_is_not_in_the_repr(endpoint: RedfishEndpoint) -> None:
    assert PASSWORD not in repr(endpoint)


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (403, InsufficientPrivilege, r"HTTP 403: Told why. \(Base.1.8.X\) \(user admin"),
        (409, CommandRefused, "HTTP 409: Told why."),
        (400, CommandRefused, "HTTP 400: Told why."),
        (429, NotNow, "HTTP 429: Told why."),
        (503, NotNow, "HTTP 503: Told why."),
    ],
)
def test_refusals_are_told_apart_in_the_words_of_the_service(
    endpoint: RedfishEndpoint, service: FakeService, status: int, kind: type[BenchFault], words: str
) -> None:
    service.answers["POST", RESET] = (status, error("Told why."))
    with pytest.raises(BenchFault, match=f"dut BMC: POST {RESET}: {words}") as raised:
        Redfish(endpoint).reset()
    assert type(raised.value) is kind


@pytest.mark.parametrize("body", ["", "<html>", "[]", '{"error": 1}', '{"error": {"@Message.ExtendedInfo": 1}}'])
def test_an_error_without_words_still_has_its_status(
    endpoint: RedfishEndpoint, service: FakeService, body: str
) -> None:
    service.answers["GET", SYSTEM] = (500, body)
    with pytest.raises(CommandRefused, match=f"GET {SYSTEM}: HTTP 500: Internal Server Error"):
        Redfish(endpoint).power_status()


@pytest.mark.parametrize("body", ["", "<html>", "[]", "7", "{}"])
def test_an_answer_that_is_no_json_object_is_a_fault(
    endpoint: RedfishEndpoint, service: FakeService, body: str
) -> None:
    service.answers["GET", SYSTEM] = (200, body)
    with pytest.raises(BenchFault, match=f"GET {SYSTEM}: the answer is no JSON object"):
        Redfish(endpoint).power_status()


ELSEWHERE = pytest.mark.parametrize(
    "place", ["https://192.0.2.7/redfish/v1/", "http://127.0.0.1/x", "//192.0.2.7/x", "https://127.0.0.1:1/x", "ftp:x"]
)


@ELSEWHERE
def test_a_question_is_not_sent_on_elsewhere(endpoint: RedfishEndpoint, service: FakeService, place: str) -> None:
    service.redirect, service.redirected = place, ("GET",)
    with pytest.raises(
        BenchFault, match=rf"GET /redfish/v1/: sent on to '{place}' \(HTTP 307\); expected an answer from"
    ):
        Redfish(endpoint).power_status()
    assert len(service.requests) == 1


def test_a_password_may_have_any_characters(endpoint: RedfishEndpoint, service: FakeService) -> None:
    service.password = "pä\u0142\u20acssword"
    assert Redfish(replace(endpoint, password=service.password)).power_status() is PowerState.OFF


@ELSEWHERE
def test_an_action_is_not_sent_on_elsewhere(endpoint: RedfishEndpoint, service: FakeService, place: str) -> None:
    service.redirect = place
    with pytest.raises(BenchFault, match=f"POST {RESET}: sent on to '{place}'"):
        Redfish(endpoint).reset()
    assert len([method for method, *_ in service.requests if method == "POST"]) == 1


@pytest.mark.parametrize("port", [True, False])
def test_questions_and_orders_are_followed_on_the_same_host(
    endpoint: RedfishEndpoint, service: FakeService, port: bool
) -> None:
    """A trailing slash is what services add."""
    begin = service.url if port else ""
    service.first_answers["GET", "/redfish/v1/Systems"] = [(308, "", {"Location": f"{begin}/redfish/v1/Systems/"})]
    service.resources["/redfish/v1/Systems/"] = service.resources["/redfish/v1/Systems"]
    service.first_answers["POST", RESET] = [(307, "", {"Location": f"{begin}{RESET}/"})]
    Redfish(endpoint).reset()
    assert service.requests[-1][:3] == ("POST", f"{RESET}/", {"ResetType": "ForceRestart"})


@pytest.mark.parametrize("status", [301, 302, 303])
def test_an_order_that_would_become_a_question_is_not_followed(
    endpoint: RedfishEndpoint, service: FakeService, status: int
) -> None:
    service.first_answers["POST", RESET] = [(status, "", {"Location": f"{RESET}/"})]
    with pytest.raises(BenchFault, match=rf"sent on to '{RESET}/' \(HTTP {status}\); expected an answer here"):
        Redfish(endpoint).reset()


def test_redirects_in_a_circle_end(endpoint: RedfishEndpoint, service: FakeService) -> None:
    service.redirect, service.redirected = "/redfish/v1/", ("GET",)
    with pytest.raises(BenchFault, match="sent on more than 3 times"):
        Redfish(endpoint).power_status()


def test_a_mute_service_is_lost_by_the_deadline(
    endpoint: RedfishEndpoint, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redfish_https, "REQUEST_WITHIN_S", 0.4)
    service.mute = True
    begin = time.monotonic()
    with pytest.raises(ConnectionLost, match=r"dut BMC: GET /redfish/v1/: no answer from https://"):
        Redfish(endpoint).power_status()
    assert time.monotonic() - begin < 15  # of 20 s that it is mute


def test_a_service_that_drips_bytes_is_lost_by_the_deadline(
    endpoint: RedfishEndpoint, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte begins a new read timeout; the deadline of the request must not care."""
    monkeypatch.setattr(redfish_https, "REQUEST_WITHIN_S", 0.4)
    service.drip = True
    service.resources["/redfish/v1/"]["Padding"] = "x" * 400
    begin = time.monotonic()
    with pytest.raises(ConnectionLost, match=r"not within 0\.4 s"):
        Redfish(endpoint).power_status()
    assert time.monotonic() - begin < 15  # of 20 s that it drips


def test_nobody_on_the_port_is_lost_at_once(endpoint: RedfishEndpoint) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ConnectionLost, match="refused"):
        Redfish(replace(endpoint, url=f"https://127.0.0.1:{port}")).power_status()


def test_a_port_that_speaks_no_tls_is_lost(endpoint: RedfishEndpoint) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def talk() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(100)
                peer.sendall(b"220 mail ready\r\n")

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        with pytest.raises(ConnectionLost, match="no TLS with https://"):
            Redfish(replace(endpoint, url=f"https://127.0.0.1:{port}")).power_status()
        thread.join(5)


def test_a_connection_that_the_service_closed_is_opened_again_for_a_question(
    endpoint: RedfishEndpoint, service: FakeService
) -> None:
    bmc = Redfish(endpoint)
    bmc.power_status()
    service.hangs_up_on = SYSTEM
    assert bmc.power_status() is PowerState.OFF
    assert service.connections == 2


def test_an_action_that_was_not_answered_is_not_repeated(endpoint: RedfishEndpoint, service: FakeService) -> None:
    bmc = Redfish(endpoint)
    bmc.power_status()
    service.hangs_up_on = RESET
    with pytest.raises(ConnectionLost, match=f"POST {RESET}"):
        bmc.reset()
    assert [path for method, path, *_ in service.requests if method == "POST"] == [RESET]


@pytest.mark.parametrize("path", ["https://elsewhere.example/x", "x", 7, None])
def test_a_link_that_leads_elsewhere_is_not_followed(
    endpoint: RedfishEndpoint, service: FakeService, path: object
) -> None:
    service.resources["/redfish/v1/"]["Systems"] = {"@odata.id": path}
    with pytest.raises(BenchFault, match=r"is no path; expected /|expected a link"):
        Redfish(endpoint).power_status()
