"""Redfish, asked by requests over HTTPS."""

from __future__ import annotations

import socket
import ssl
from http import HTTPStatus
from typing import Any

import pytest
import requests
from bench_fakes import wait_for
from bmc_bench import LOOPBACK, RunningBmc, seconds_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SYSTEM = "/redfish/v1/Systems/1"
RESET = f"{SYSTEM}/Actions/ComputerSystem.Reset"
LOG = f"{SYSTEM}/LogServices/SEL"
SESSIONS = "/redfish/v1/SessionService/Sessions"
TIMEOUT_S = 30.0


def _call(bmc: RunningBmc, method: str, path: str, user: str | None = "admin", **arguments: Any) -> requests.Response:
    password = arguments.pop("password", None)
    with bmc.redfish(user, password) as client:
        return client.request(method, bmc.url(path), timeout=TIMEOUT_S, **arguments)


def _get(bmc: RunningBmc, path: str) -> dict[str, Any]:
    answer = _call(bmc, "GET", path)
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


def _check_error(answer: requests.Response, status: int, message: str) -> None:
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["code"] == f"Base.1.8.{message}"
    details = error["@Message.ExtendedInfo"][0]
    assert details["MessageId"] == error["code"]
    assert details["Message"]
    assert "%" not in details["Message"], "an argument of the message is missing"


def test_every_link_leads_to_a_resource(bmc: RunningBmc) -> None:
    bmc.ipmitool_ok("power", "on")
    seen: set[str] = set()
    todo = ["/redfish/v1"]
    with bmc.redfish() as client:
        while todo:
            path = todo.pop()
            if path in seen:
                continue
            seen.add(path)
            answer = client.get(bmc.url(path), timeout=TIMEOUT_S)
            assert answer.status_code == 200, path
            assert answer.json()["@odata.id"] == path
            assert answer.headers["OData-Version"] == "4.0"
            todo += _links(answer.json())
    assert {SYSTEM, "/redfish/v1/Managers/1", "/redfish/v1/Chassis/1", "/redfish/v1/Chassis/1/Thermal"} <= seen
    assert {"/redfish/v1/Chassis/1/Power", f"{LOG}/Entries", f"{LOG}/Entries/1", SESSIONS} <= seen


def _links(content: Any) -> list[str]:
    if isinstance(content, list):
        return [link for part in content for link in _links(part)]
    if isinstance(content, dict):
        own = [content["@odata.id"]] if "@odata.id" in content and "#" not in content["@odata.id"] else []
        return own + [link for part in content.values() for link in _links(part)]
    return []


def test_the_system_tells_identity_and_power(bmc: RunningBmc) -> None:
    system = _get(bmc, SYSTEM)
    assert system["PowerState"] == "Off"
    assert system["SerialNumber"] == bmc.config.fru.product.serial
    assert system["UUID"] == _get(bmc, "/redfish/v1/")["UUID"] == str(bmc.bmc.guid)
    bmc.power(True)
    assert _get(bmc, SYSTEM)["PowerState"] == "On"


@pytest.mark.parametrize(
    ("reset_type", "done"),
    [("GracefulShutdown", "soft"), ("ForceRestart", "reset"), ("PowerCycle", "cycle"), ("Nmi", "nmi")],
)
def test_actions_that_need_power(bmc: RunningBmc, reset_type: str, done: str) -> None:
    _check_error(_call(bmc, "POST", RESET, json={"ResetType": reset_type}), 409, "ResourceInStandby")
    assert bmc.machine.done == []
    bmc.power(True)
    answer = _call(bmc, "POST", RESET, json={"ResetType": reset_type})
    assert (answer.status_code, answer.content) == (204, b"")
    wait_for(lambda: bmc.machine.done == [done], done)


def test_on_and_force_off(bmc: RunningBmc) -> None:
    for reset_type, state in (("On", "On"), ("On", "On"), ("ForceOff", "Off"), ("ForceOff", "Off")):
        assert _call(bmc, "POST", RESET, json={"ResetType": reset_type}).status_code == 204
        assert _get(bmc, SYSTEM)["PowerState"] == state
    assert bmc.machine.done == ["on", "off"]


def test_every_offered_reset_type_is_understood(bmc: RunningBmc) -> None:
    offered = _get(bmc, SYSTEM)["Actions"]["#ComputerSystem.Reset"]["ResetType@Redfish.AllowableValues"]
    assert set(offered) == {"On", "ForceOff", "GracefulShutdown", "ForceRestart", "PowerCycle", "Nmi"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"ResetType": "Explode"}, "ActionParameterNotSupported"),
        ({"ResetType": None}, "ActionParameterNotSupported"),
        ({"ResetType": ["On"]}, "ActionParameterNotSupported"),
        ({}, "ActionParameterMissing"),
        ({"ResetType": "On", "Force": True}, "ActionParameterUnknown"),
        (["On"], "MalformedJSON"),
    ],
)
def test_wrong_reset_requests(bmc: RunningBmc, body: Any, message: str) -> None:
    _check_error(_call(bmc, "POST", RESET, json=body), 400, message)
    assert bmc.machine.done == []


def test_a_body_that_is_no_json(bmc: RunningBmc) -> None:
    _check_error(_call(bmc, "POST", RESET, data=b'{"ResetType": '), 400, "MalformedJSON")


def test_a_machine_that_fails_and_one_that_is_busy(bmc: RunningBmc) -> None:
    bmc.machine.broken = "no fuel"
    _check_error(_call(bmc, "POST", RESET, json={"ResetType": "On"}), 500, "InternalError")
    bmc.machine.broken = ""
    bmc.power(True)
    bmc.machine.held = True
    assert _call(bmc, "POST", RESET, json={"ResetType": "Nmi"}).status_code == 204
    busy = _call(bmc, "POST", RESET, json={"ResetType": "ForceRestart"})
    _check_error(busy, 503, "ServiceTemporarilyUnavailable")
    assert busy.headers["Retry-After"] == "1"
    bmc.machine.held = False
    wait_for(lambda: bmc.machine.done == ["nmi"], "the first command")


def test_boot_override_is_shared_with_ipmi(bmc: RunningBmc) -> None:
    boot = {"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideEnabled": "Once"}
    assert _call(bmc, "PATCH", SYSTEM, json={"Boot": boot}).status_code == 204
    assert boot.items() <= _get(bmc, SYSTEM)["Boot"].items()
    assert "Force PXE" in bmc.ipmitool_ok("chassis", "bootparam", "get", "5")
    bmc.ipmitool_ok("chassis", "bootdev", "cdrom", "options=persistent")
    boot = {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Continuous"}
    assert boot.items() <= _get(bmc, SYSTEM)["Boot"].items()
    assert _call(bmc, "PATCH", SYSTEM, json={"Boot": {"BootSourceOverrideEnabled": "Disabled"}}).status_code == 204
    assert _get(bmc, SYSTEM)["Boot"]["BootSourceOverrideEnabled"] == "Disabled"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"Boot": {"BootSourceOverrideTarget": "Moon"}}, "PropertyValueNotInList"),
        ({"Boot": {"BootSourceOverrideEnabled": 1}}, "PropertyValueNotInList"),
        ({"Boot": {"BootNext": "Boot0001"}}, "PropertyUnknown"),
        ({"Boot": {}}, "PropertyMissing"),
        ({"Boot": "Pxe"}, "PropertyValueTypeError"),
        ({}, "PropertyMissing"),
        ({"PowerState": "On"}, "PropertyNotWritable"),
        ({"Colour": "red"}, "PropertyUnknown"),
    ],
)
def test_wrong_boot_requests_change_nothing(bmc: RunningBmc, body: Any, message: str) -> None:
    before = _get(bmc, SYSTEM)
    _check_error(_call(bmc, "PATCH", SYSTEM, json=body), 400, message)
    assert _get(bmc, SYSTEM) == before


def test_readings_and_their_health(bmc: RunningBmc) -> None:
    def nic() -> dict[str, Any]:
        rows = _get(bmc, "/redfish/v1/Chassis/1/Thermal")["Temperatures"]
        return next(row for row in rows if row["Name"] == "NIC Temp")

    assert nic()["ReadingCelsius"] is None
    assert nic()["Status"] == {"State": "UnavailableOffline"}
    bmc.power(True)
    assert (nic()["ReadingCelsius"], nic()["UpperThresholdCritical"]) == (45, 105)
    assert nic()["Status"] == {"State": "Enabled", "Health": "OK"}
    bmc.control({"sensor": 3, "value": 96})
    assert nic()["Status"]["Health"] == "Warning"
    bmc.control({"sensor": 3, "value": 106})
    assert (nic()["ReadingCelsius"], nic()["Status"]["Health"]) == (106, "Critical")
    fans = _get(bmc, "/redfish/v1/Chassis/1/Thermal")["Fans"]
    assert [(fan["Reading"], fan["ReadingUnits"]) for fan in fans] == [(5400, "RPM"), (5300, "RPM")]
    assert _get(bmc, "/redfish/v1/Chassis/1/Power")["PowerControl"][0]["PowerConsumedWatts"] == 120


def test_the_log_is_the_one_of_ipmi(bmc: RunningBmc) -> None:
    bmc.ipmitool_ok("power", "on")
    bmc.control({"sensor": 3, "value": 96})
    entries = _get(bmc, f"{LOG}/Entries")
    assert entries["Members@odata.count"] == 2
    assert [entry["Message"] for entry in entries["Members"]] == ["Power on", "NIC Temp: Upper non-critical going high"]
    assert entries["Members"][1]["EntryCode"] == "Assert"
    assert _get(bmc, f"{LOG}/Entries/2") == entries["Members"][1]
    assert _call(bmc, "POST", f"{LOG}/Actions/LogService.ClearLog", json={}).status_code == 204
    assert _get(bmc, f"{LOG}/Entries")["Members"] == []
    _check_error(_call(bmc, "GET", f"{LOG}/Entries/2"), 404, "ResourceMissingAtURI")


def test_only_the_root_is_open_to_strangers(bmc: RunningBmc) -> None:
    assert _call(bmc, "GET", "/redfish/v1", user=None).status_code == 200
    assert _call(bmc, "GET", "/redfish", user=None).json() == {"v1": "/redfish/v1/"}
    for method, path in (("GET", SYSTEM), ("POST", RESET), ("GET", "/nonsense"), ("DELETE", f"{SESSIONS}/1")):
        answer = _call(bmc, method, path, user=None)
        _check_error(answer, 401, "NoValidSession")
        assert answer.headers["WWW-Authenticate"].startswith("Basic")


@pytest.mark.parametrize(("user", "password"), [("admin", "wrong"), ("nobody", "secret"), ("admin", "")])
def test_wrong_credentials(bmc: RunningBmc, user: str, password: str) -> None:
    body = {"json": {"ResetType": "On"}}
    _check_error(_call(bmc, "POST", RESET, user=user, password=password, **body), 401, "NoValidSession")
    login = {"json": {"UserName": user, "Password": password}}
    _check_error(_call(bmc, "POST", SESSIONS, user=None, **login), 401, "NoValidSession")
    assert bmc.machine.done == []


@pytest.mark.parametrize("header", ["Basic !!!", "Basic YWRtaW4=", "Basic /////w==", "Bearer x", ""])
def test_broken_credentials(bmc: RunningBmc, header: str) -> None:
    answer = _call(bmc, "GET", SYSTEM, user=None, headers={"Authorization": header})
    _check_error(answer, 401, "NoValidSession")


def test_a_viewer_may_only_look(bmc: RunningBmc) -> None:
    assert _call(bmc, "GET", SYSTEM, user="viewer").status_code == 200
    for method, path, body in (
        ("POST", RESET, {"ResetType": "On"}),
        ("PATCH", SYSTEM, {"Boot": {"BootSourceOverrideTarget": "Pxe"}}),
        ("POST", f"{LOG}/Actions/LogService.ClearLog", {}),
    ):
        _check_error(_call(bmc, method, path, user="viewer", json=body), 403, "InsufficientPrivilege")
    assert bmc.machine.done == []
    assert _call(bmc, "POST", RESET, user="keeper", json={"ResetType": "On"}).status_code == 204
    assert bmc.machine.done == ["on"]


def test_a_session_opens_works_and_ends(bmc: RunningBmc) -> None:
    opened = _call(bmc, "POST", SESSIONS, user=None, json={"UserName": "admin", "Password": "secret"})
    assert opened.status_code == 201
    token = {"X-Auth-Token": opened.headers["X-Auth-Token"]}
    path = opened.headers["Location"]
    assert opened.json()["@odata.id"] == path
    assert token["X-Auth-Token"] not in opened.text
    assert _call(bmc, "POST", RESET, user=None, headers=token, json={"ResetType": "On"}).status_code == 204
    assert path in [member["@odata.id"] for member in _get(bmc, SESSIONS)["Members"]]
    _check_error(_call(bmc, "DELETE", path, user="viewer"), 403, "InsufficientPrivilege")
    assert _call(bmc, "DELETE", path, user=None, headers=token).status_code == 204
    _check_error(_call(bmc, "GET", SYSTEM, user=None, headers=token), 401, "NoValidSession")
    _check_error(_call(bmc, "DELETE", path), 404, "ResourceMissingAtURI")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"UserName": "admin"}, "PropertyMissing"),
        ({"UserName": "admin", "Password": 5}, "PropertyValueTypeError"),
        ({}, "PropertyMissing"),
    ],
)
def test_wrong_logins(bmc: RunningBmc, body: Any, message: str) -> None:
    _check_error(_call(bmc, "POST", SESSIONS, user=None, json=body), 400, message)


def test_sessions_are_limited(bmc: RunningBmc) -> None:
    login = {"json": {"UserName": "viewer", "Password": "look"}}
    opened = []
    while (answer := _call(bmc, "POST", SESSIONS, user=None, **login)).status_code == 201:
        opened.append(answer.headers["Location"])
        assert len(opened) <= 16
    _check_error(answer, 503, "SessionLimitExceeded")
    for path in opened:
        assert _call(bmc, "DELETE", path).status_code == 204


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/redfish/v1/Systems/2", 404, "ResourceMissingAtURI"),
        ("POST", "/nonsense", 404, "ResourceMissingAtURI"),
        ("DELETE", SYSTEM, 405, "OperationNotAllowed"),
        ("PUT", SYSTEM, 405, "OperationNotAllowed"),
        ("PATCH", RESET, 405, "OperationNotAllowed"),
        ("POST", "/redfish/v1/Chassis/1", 405, "OperationNotAllowed"),
    ],
)
def test_wrong_paths_and_methods(bmc: RunningBmc, method: str, path: str, status: int, message: str) -> None:
    _check_error(_call(bmc, method, path), status, message)


def test_fault_redfish_500(bmc: RunningBmc) -> None:
    bmc.control({"fault": {"redfish_500": True}})
    _check_error(_call(bmc, "POST", RESET, json={"ResetType": "On"}), 500, "InternalError")
    assert bmc.ipmitool_ok("power", "status") == "Chassis Power is off"
    bmc.control({"fault": {}})
    assert _get(bmc, SYSTEM)["PowerState"] == "Off"


def test_fault_drop_is_silence_and_nothing_is_done_later(bmc: RunningBmc) -> None:
    bmc.control({"fault": {"drop": True}})
    with bmc.redfish() as client, pytest.raises(requests.exceptions.ReadTimeout):
        client.post(bmc.url(RESET), json={"ResetType": "On"}, timeout=0.5)
    bmc.control({"fault": {}})
    assert _get(bmc, SYSTEM)["PowerState"] == "Off"
    assert bmc.machine.done == []


def test_fault_delay(bmc: RunningBmc) -> None:
    bmc.control({"fault": {"delay_s": 0.4}})
    assert seconds_of(lambda: _get(bmc, SYSTEM)) >= 0.4


def test_a_stranger_certificate_is_seen(bmc: RunningBmc) -> None:
    """The control of all tests here: the client does check the certificate."""
    with requests.Session() as client, pytest.raises(requests.exceptions.SSLError):
        client.get(bmc.url("/redfish/v1"), timeout=TIMEOUT_S)


def _raw(bmc: RunningBmc, content: bytes) -> bytes:
    """Bytes there, bytes back, until the BMC hangs up."""
    context = ssl.create_default_context(cafile=str(bmc.config.tls_cert))
    with (
        socket.create_connection((LOOPBACK, bmc.config.redfish_port), timeout=TIMEOUT_S) as plain,
        context.wrap_socket(plain, server_hostname=LOOPBACK) as client,
    ):
        client.sendall(content)
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
        return answer


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"NONSENSE\r\n\r\n", b"400 Bad Request"),
        (b"GET redfish HTTP/1.1\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nno colon here\r\n\r\n", b"400 Bad Request"),
        (b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"400 Bad Request"),
        (b"POST / HTTP/1.1\r\nContent-Length: 70000\r\n\r\n", f"413 {HTTPStatus(413).phrase}\r\n".encode()),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"501 Not Implemented"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 40000 + b"\r\n\r\n", b"431 Request Header Fields Too Large"),
    ],
)
def test_bad_http_is_answered_with_its_status(bmc: RunningBmc, content: bytes, status: bytes) -> None:
    assert _raw(bmc, content).startswith(b"HTTP/1.1 " + status)


@settings(max_examples=25, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(min_size=1, max_size=60))
def test_random_http_does_no_harm(bmc: RunningBmc, caplog: pytest.LogCaptureFixture, content: bytes) -> None:
    _raw(bmc, content + b"\r\n\r\n")
    assert _call(bmc, "GET", "/redfish/v1", user=None).status_code == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
