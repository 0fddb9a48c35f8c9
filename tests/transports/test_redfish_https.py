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
from niclab.transports import AuthenticationFailed, ConnectionLost, redfish
from niclab.transports.bmc import CommandRefused, InsufficientPrivilege, PowerState
from niclab.transports.redfish import Redfish, RedfishEndpoint


@pytest.fixture
def service(tmp_path: Path) -> Iterator[FakeService]:
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


@pytest.mark.parametrize("url", ["http://127.0.0.1", "127.0.0.1", "", "https://"])
def test_a_url_that_is_not_https_is_refused(endpoint: RedfishEndpoint, url: str) -> None:
    with pytest.raises(BenchFault, match=r"dut BMC: url is .*, wanted https://host"):
        Redfish(replace(endpoint, url=url)).power_status()


def test_a_wrong_password(endpoint: RedfishEndpoint) -> None:
    with pytest.raises(AuthenticationFailed, match=r"HTTP 401: There is no valid session .*\(user admin") as raised:
        Redfish(replace(endpoint, password="wrong-one")).power_status()
    assert "wrong-one" not in str(raised.value)


def test_the_password_is_not_in_the_repr(endpoint: RedfishEndpoint) -> None:
    assert PASSWORD not in repr(endpoint)


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (403, InsufficientPrivilege, "HTTP 403: Told why. .user admin"),
        (409, CommandRefused, "HTTP 409: Told why."),
        (400, CommandRefused, "HTTP 400: Told why."),
        (503, CommandRefused, "HTTP 503: Told why."),
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


def test_a_question_is_not_sent_on_elsewhere(endpoint: RedfishEndpoint, service: FakeService) -> None:
    service.redirect = f"{service.url}/elsewhere"
    service.redirected = ("GET",)
    with pytest.raises(BenchFault, match=r"GET /redfish/v1/: sent on to https://.*/elsewhere, wanted an answer here"):
        Redfish(endpoint).power_status()
    assert "/elsewhere" not in [path for _, path, *_ in service.requests]


def test_a_password_may_have_any_characters(endpoint: RedfishEndpoint, service: FakeService) -> None:
    service.password = "pä\u0142\u20acssword"
    assert Redfish(replace(endpoint, password=service.password)).power_status() is PowerState.OFF


def test_an_action_is_not_sent_on_elsewhere(endpoint: RedfishEndpoint, service: FakeService) -> None:
    service.redirect = f"{service.url}/elsewhere"
    with pytest.raises(BenchFault, match=f"POST {RESET}: sent on to https://.*/elsewhere, wanted an answer here"):
        Redfish(endpoint).reset()
    assert "/elsewhere" not in [path for _, path, *_ in service.requests]


def test_a_mute_service_is_lost_by_the_deadline(
    endpoint: RedfishEndpoint, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redfish, "REQUEST_WITHIN_S", 0.4)
    service.mute = True
    begin = time.monotonic()
    with pytest.raises(ConnectionLost, match=r"dut BMC: GET /redfish/v1/: no answer from https://"):
        Redfish(endpoint).power_status()
    assert time.monotonic() - begin < 15  # of 20 s that it is mute


def test_a_service_that_drips_bytes_is_lost_by_the_deadline(
    endpoint: RedfishEndpoint, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte begins a new read timeout; the deadline of the request must not care."""
    monkeypatch.setattr(redfish, "REQUEST_WITHIN_S", 0.4)
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
    with pytest.raises(BenchFault, match=r"is no path, wanted /|wanted a link"):
        Redfish(endpoint).power_status()
