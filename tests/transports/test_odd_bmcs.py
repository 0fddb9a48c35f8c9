"""Odd and hostile answers of BMCs: each ends in time, as a value or a verdict in words."""

from __future__ import annotations

import gzip
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_ipmi import APP, CHASSIS, OK, SENSOR, STORAGE, FakeBmc, FakeLan, event, sensor_record
from fake_redfish import CHASSIS as BOX
from fake_redfish import ENTRIES, LOG, PASSWORD, RESET, SYSTEM, USER, FakeService, error
from odd_answers import Fault, Odd, check, rows
from pyipmi import errors

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.bmc import bmc, ipmi, redfish, redfish_https
from niclab.transports.bmc.bmc import CommandRefused, InsufficientPrivilege, NotNow, PowerState
from niclab.transports.bmc.ipmi import Ipmi, IpmiEndpoint
from niclab.transports.bmc.redfish import Redfish, RedfishEndpoint

BUSY = {
    "error": {
        "code": "Base.1.5.GeneralError",
        "message": "See ExtendedInfo.",
        "@Message.ExtendedInfo": [
            {"MessageId": "IDRAC.2.1.RAC0218", "MessageArgs": [], "Message": "too many user sessions"}
        ],
    }
}
POWER_IS_OFF = {
    "error": {
        "code": "iLO.0.10.ExtendedInfo",
        "message": "See @Message.ExtendedInfo for more information.",
        "@Message.ExtendedInfo": [
            {"MessageID": "iLO.0.10.InvalidOperationForSystemState", "MessageArgs": ["Power is off"]}
        ],
    }
}
MIB = 1 << 20


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience in tenths of a second."""
    for module in (bmc, ipmi, redfish_https):
        monkeypatch.setattr(module, "NOT_NOW_WITHIN_S", 1.0)
        monkeypatch.setattr(module, "ASK_AGAIN_EVERY_S", 0.02)
    monkeypatch.setattr(bmc, "POLL_POWER_EVERY_S", 0.01)
    monkeypatch.setattr(redfish_https, "REQUEST_WITHIN_S", 2.0)
    monkeypatch.setattr(redfish, "MOST_MEMBERS", 20)
    monkeypatch.setattr(redfish, "LIST_WITHIN_S", 0.7)
    monkeypatch.setattr(ipmi, "LIST_WITHIN_S", 0.5)


# Redfish


def first(method: str, path: str, *answers: tuple[int, Any]) -> Callable[[FakeService], object]:
    """The first answers to a request; later ones are the service's own."""

    def say(service: FakeService) -> None:
        service.first_answers[method, path] = [(status, body, {}) for status, body in answers]

    return say


def always(method: str, path: str, status: int, body: Any) -> Callable[[FakeService], object]:
    return lambda service: service.answers.update({(method, path): (status, body)})


def changed(path: str, **fields: object) -> Callable[[FakeService], object]:
    return lambda service: service.resources[path].update(fields)


def moved(service: FakeService) -> None:
    """Paths get a slash at their end."""
    service.first_answers["GET", "/redfish/v1/Systems"] = [(308, "", {"Location": "/redfish/v1/Systems/"})]
    service.resources["/redfish/v1/Systems/"] = service.resources["/redfish/v1/Systems"]
    service.first_answers["POST", RESET] = [(307, "", {"Location": f"{RESET}/"})]
    own = service.carry_out
    service.carry_out = lambda method, path, body: own(method, path.rstrip("/") if path == f"{RESET}/" else path, body)  # type: ignore[method-assign]


def busy_while_waiting(service: FakeService) -> None:
    """The order is taken, then the service is busy once."""
    service.resources[SYSTEM]["PowerState"] = "On"
    own = service.carry_out

    def carry_out(method: str, path: str, body: Any) -> Any:
        if method == "POST":
            service.first_answers["GET", SYSTEM] = [(503, BUSY, {})]
        return own(method, path, body)

    service.carry_out = carry_out  # type: ignore[method-assign]


def action_info(values: object, status: int = 200) -> Callable[[FakeService], object]:
    """The types of a reset are in a resource of their own."""

    def say(service: FakeService) -> None:
        reset = service.resources[SYSTEM]["Actions"]["#ComputerSystem.Reset"]
        del reset["ResetType@Redfish.AllowableValues"]
        reset["@Redfish.ActionInfo"] = f"{SYSTEM}/ResetActionInfo"
        info = {"Parameters": [{"Name": "ResetType", "Required": True, "AllowableValues": values}]}
        service.answers["GET", f"{SYSTEM}/ResetActionInfo"] = (status, info)

    return say


def endless_pages(service: FakeService) -> None:
    """Each page has a next one."""
    own = service.carry_out

    def carry_out(method: str, path: str, body: Any) -> Any:
        if not path.startswith(ENTRIES):
            return own(method, path, body)
        number = int(path.partition("=")[2] or 0)
        entry, following = {"Id": str(number), "Message": "x"}, f"{ENTRIES}?page={number + 1}"
        return 200, {"Members": [entry], "Members@odata.nextLink": following}

    service.carry_out = carry_out  # type: ignore[method-assign]


def bomb(service: FakeService) -> None:
    """A small body that is a large one unpacked."""
    service.first_answers["GET", SYSTEM] = [(200, gzip.compress(b" " * (9 * MIB)), {"Content-Encoding": "gzip"})]


def sent(service: FakeService, method: str, path: str, status: int, location: str) -> None:
    """A request is sent on once."""
    service.first_answers[method, path] = [(status, "", {"Location": location})]


def circle_of_redirects(service: FakeService) -> None:
    service.first_answers["GET", SYSTEM] = [(308, "", {"Location": SYSTEM})] * 9


def empty_pages(service: FakeService) -> None:
    """Each page has a next one, and nothing else."""
    own, pages = service.carry_out, itertools.count()

    def carry_out(method: str, path: str, body: Any) -> Any:
        if not path.startswith(ENTRIES):
            return own(method, path, body)
        return 200, {"Members": [], "Members@odata.nextLink": f"{ENTRIES}?page={next(pages)}"}

    service.carry_out = carry_out  # type: ignore[method-assign]


def entry(**fields: object) -> Callable[[FakeService], object]:
    """The log has this one entry."""
    one = {"Id": "1", "Message": "x", **fields}
    return changed(ENTRIES, Members=[one], **{"Members@odata.nextLink": None})


def reading(**fields: object) -> Callable[[FakeService], object]:
    return always("GET", f"{BOX}/Thermal", 200, {"Temperatures": [{"Name": "CPU", **fields}]})


def no_sel(service: FakeService) -> None:
    service.resources[LOG]["Id"] = "IEL"


def status(client: Any) -> object:
    return client.power_status()


def reset(client: Any) -> object:
    return client.reset()


def sel(client: Any) -> object:
    return client.sel()


def switched_on(client: Any) -> object:
    client.set_power(PowerState.ON, within_s=5)
    return client.power_status()


def cut_and_back(client: Any) -> object:
    client.set_power(PowerState.OFF, within_s=5)
    return switched_on(client)


REDFISH = [
    Odd("busy once", first("GET", SYSTEM, (503, BUSY)), status, PowerState.OFF),
    Odd("too many requests once", first("GET", SYSTEM, (429, "")), status, PowerState.OFF),
    Odd("busy for an order", first("POST", RESET, (503, BUSY), (503, "")), switched_on, PowerState.ON),
    Odd("busy for a reset", first("POST", RESET, (503, BUSY)), reset, None),
    Odd("busy while the power goes", busy_while_waiting, cut_and_back, PowerState.ON),
    Odd("busy for ever", always("GET", SYSTEM, 503, BUSY), status,
        Fault(NotNow, r"HTTP 503: too many user sessions \(IDRAC\.2\.1\.RAC0218\)")),
    Odd("not authorised once", first("GET", SYSTEM, (401, "")), status, PowerState.OFF),
    Odd("an order not authorised once", first("POST", RESET, (401, "")), switched_on, PowerState.ON),
    Odd("not authorised twice", first("GET", SYSTEM, (401, ""), (401, "")), status,
        Fault(AuthenticationFailed, "HTTP 401: .*user admin or the password is refused")),
    Odd("broken once while it switches", first("GET", SYSTEM, (200, {"PowerState": None}), (500, "")), switched_on,
        PowerState.ON),
    Odd("an order refused at first", first("POST", RESET, (409, ""), (400, "")), switched_on, PowerState.ON),
    Odd("a slash at the end of every path", moved, switched_on, PowerState.ON),
    Odd("sent to another host", lambda service: service.first_answers.update(
        {("GET", SYSTEM): [(308, "", {"Location": "https://192.0.2.9/"})]}), status,
        Fault(BenchFault, r"sent on to 'https://192\.0\.2\.9/' \(HTTP 308\); expected an answer from https://127")),
    Odd("sent to nowhere", lambda service: service.first_answers.update(
        {("GET", SYSTEM): [(308, "", {"Location": "https://[::1"})]}), status,
        Fault(BenchFault, r"sent on to 'https://\[::1' \(HTTP 308\); expected an answer from")),
    Odd("an id and arguments, and no message", always("POST", RESET, 400, POWER_IS_OFF), reset,
        Fault(CommandRefused, r"HTTP 400: iLO\.0\.10\.InvalidOperationForSystemState \(Power is off\)")),
    Odd("one detail that is no list",
        always("POST", RESET, 400, {"error": {"@Message.ExtendedInfo": {"Message": "No"}}}), reset,
        Fault(CommandRefused, "HTTP 400: No$")),
    Odd("a code alone", always("POST", RESET, 400, {"error": {"code": "Base.1.8.X"}}), reset,
        Fault(CommandRefused, r"HTTP 400: Base\.1\.8\.X$")),
    Odd("a message of a megabyte", always("POST", RESET, 400, error("no " * 333_333)), reset,
        Fault(CommandRefused, "HTTP 400: no no no")),
    Odd("a message that colours the terminal", always("POST", RESET, 400, error("\x1b[31mred\n\r\ud800")), reset,
        Fault(CommandRefused, r"HTTP 400: \[31mred \(Base")),
    Odd("a body of 9 MiB", first("GET", SYSTEM, (200, b" " * (9 * MIB))), status,
        Fault(BenchFault, "the answer has more than 8 MiB")),
    Odd("9 MiB in a small body", bomb, status, Fault(BenchFault, "the answer has more than 8 MiB")),
    Odd("a body without end", lambda service: setattr(service, "floods", SYSTEM), status,
        Fault(BenchFault, "the answer has more than 8 MiB")),
    Odd("a redirect without end", lambda service: [
        setattr(service, "floods", SYSTEM), setattr(service, "flood_status", 308)], status,
        Fault(BenchFault, "the answer has more than 8 MiB")),
    Odd("a hundred thousand brackets", always("GET", SYSTEM, 200, "[" * 100_000), status,
        Fault(BenchFault, r"the answer is no JSON object: '\[\[\[")),
    Odd("a number that is none", always("GET", SYSTEM, 200, '{"PowerState": NaN}'), status,
        Fault(BenchFault, "the answer is no JSON object")),
    Odd("text that is no text", first("GET", SYSTEM, (200, b'{"PowerState": "\xff\xfe"}')), status,
        Fault(BenchFault, "the answer is no JSON object")),
    Odd("a byte order mark", first("GET", SYSTEM, (200, b'\xef\xbb\xbf{"PowerState": "On"}')), status, PowerState.ON),
    Odd("a reading without end", always("GET", f"{BOX}/Thermal", 200,
        '{"Temperatures": [{"Name": "CPU", "ReadingCelsius": 1e999}]}'), lambda client: client.sensors(),
        Fault(BenchFault, "sensor CPU reads inf; expected a number")),
    Odd("a reading of a thousand digits", always("GET", f"{BOX}/Thermal", 200,
        '{"Temperatures": [{"Name": "CPU", "ReadingCelsius": 1' + 999 * "0" + "}]}"), lambda client: client.sensors(),
        Fault(BenchFault, "the answer cannot be read")),
    Odd("systems that are numbers", changed("/redfish/v1/Systems", Members=[7]), status,
        Fault(BenchFault, "Member of a resource is 7; expected a link")),
    Odd("links that are a list", changed(SYSTEM, Links=["a"]), sel,
        Fault(BenchFault, r"Links of .* expected an object")),
    Odd("managers that are a number", changed(SYSTEM, Links={"ManagedBy": 7}), sel,
        Fault(BenchFault, r"Links\.ManagedBy of .* is 7; expected a list")),
    Odd("actions that are a text", changed(SYSTEM, Actions="Reset"), reset, Fault(BenchFault, "Actions of .* 'Reset'")),
    Odd("a next page that is no link", changed(ENTRIES, **{"Members@odata.nextLink": {"a": 1}}), sel,
        Fault(BenchFault, r"link \"\{'a': 1\}\" of the service is no path")),
    Odd("pages without end", endless_pages, sel, Fault(BenchFault, f"collection {ENTRIES} has more than 20 members")),
    Odd("entries that are texts", changed(ENTRIES, Members=["Id"]), sel, Fault(BenchFault, "'Id'; expected a link")),
    Odd("an entry with an odd code", changed(ENTRIES, Members=[{"Id": "28", "EntryCode": "Fully Redundant", "Message":
        "supplies\x00redundant", "SensorNumber": 119, "SensorType": "Power Supply / Converter"}],
        **{"Members@odata.nextLink": None}),
        lambda client: [(each.event, each.sensor, each.asserted) for each in client.sel()],
        [("supplies redundant", "Power Supply / Converter", None)]),
    Odd("no event log", no_sel, sel, Fault(NotApplicable, "has no event log: no log service is a SEL; log services: ")),
    Odd("no log services", lambda service: [
        changed(SYSTEM, Links={})(service), service.resources[SYSTEM].pop("LogServices")], sel,
        Fault(NotApplicable, "log services: none")),
    Odd("reset types elsewhere, without a reset",
        action_info(["On", "ForceOff", "GracefulRestart", "PowerCycle"]), reset,
        Fault(CommandRefused, "reset is not offered; offered: On, ForceOff, GracefulRestart, PowerCycle")),
    Odd("reset types elsewhere", action_info(["ForceOn", "ForceOff"]), switched_on, PowerState.ON),
    Odd("reset types elsewhere that are no list", action_info("ForceRestart"), reset,
        Fault(BenchFault, "AllowableValues of ResetType is 'ForceRestart'; expected a list")),
    Odd("reset types elsewhere that are not there", action_info([], status=404), reset,
        Fault(CommandRefused, "GET .*/ResetActionInfo: HTTP 404")),
    Odd("no reset types at all", action_info([]), reset,
        Fault(CommandRefused, "reset is not offered; offered: nothing")),
    Odd("a reset not authorised once", first("POST", RESET, (401, "")), reset, None),
    Odd("forbidden", always("GET", SYSTEM, 403, ""), status,
        Fault(InsufficientPrivilege, r"HTTP 403: Forbidden \(user admin\)")),
    Odd("an error in HTML", always("GET", SYSTEM, 500, "<html>\0</html>"), status,
        Fault(CommandRefused, "HTTP 500: Internal Server Error$")),
    Odd("an error that is a text", always("POST", RESET, 400, {"error": "no"}), reset,
        Fault(CommandRefused, "HTTP 400: Bad Request$")),
    Odd("arguments that are no list", always("POST", RESET, 400,
        {"error": {"@Message.ExtendedInfo": [{"MessageId": "A.1.B", "MessageArgs": 7}, "x", None]}}), reset,
        Fault(CommandRefused, r"HTTP 400: A\.1\.B \(7\)$")),
    Odd("half a JSON", always("GET", SYSTEM, 200, '{"PowerState": "O'), status,
        Fault(BenchFault, "the answer is no JSON object: '{\"PowerState\": \"O'")),
    Odd("a page in HTML", always("GET", SYSTEM, 200, "<html>log in</html>"), status,
        Fault(BenchFault, "the answer is no JSON object: '<html>log in")),
    Odd("nothing at all", always("GET", SYSTEM, 200, ""), status,
        Fault(BenchFault, "the answer is no JSON object: ''")),
    Odd("a list", always("GET", SYSTEM, 200, "[]"), status, Fault(BenchFault, "the answer is no JSON object: '\\[]'")),
    Odd("a NUL byte", always("GET", SYSTEM, 200, '{"PowerState":\0"On"}'), status,
        Fault(BenchFault, r"the answer is no JSON object: '.*\\x00")),
    Odd("a state with a NUL behind it", always("GET", SYSTEM, 200, {"PowerState": "On\0"}), status,
        Fault(BenchFault, r"PowerState is 'On\\x00'; expected one of: On")),
    Odd("UTF-16", first("GET", SYSTEM, (200, '{"PowerState": "On"}'.encode("utf-16"))), status, PowerState.ON),
    Odd("Latin-1", first("GET", SYSTEM, (200, '{"Name": "Größe", "PowerState": "On"}'.encode("latin-1"))), status,
        Fault(BenchFault, "the answer is no JSON object")),
    Odd("a state as a number", always("GET", SYSTEM, 200, {"PowerState": 1}), status,
        Fault(BenchFault, "PowerState is 1; expected one of: On")),
    Odd("a state as a truth", always("GET", SYSTEM, 200, {"PowerState": True}), status,
        Fault(BenchFault, "PowerState is True; expected one of: On")),
    Odd("200 MB that do not come", lambda service: service.first_answers.update(
        {("GET", SYSTEM): [(200, b"{", {"Content-Length": "200000000"})]}), status,
        Fault(ConnectionLost, r"no answer from https://127.*: not within 2 s|timed out")),
    Odd("sent on in a circle", circle_of_redirects, status,
        Fault(BenchFault, "sent on more than 3 times; expected an answer")),
    Odd("sent on without TLS", lambda service: sent(service, "GET", SYSTEM, 308, service.url.replace("https", "http")),
        status, Fault(BenchFault, r"sent on to 'http://127.*expected an answer from https://")),
    Odd("sent to another port", lambda service: sent(service, "GET", SYSTEM, 308, "https://127.0.0.1:1/x"), status,
        Fault(BenchFault, r"sent on to 'https://127\.0\.0\.1:1/x' \(HTTP 308\); expected an answer from")),
    Odd("an order sent on as a question", lambda service: sent(service, "POST", RESET, 302, "/x"), reset,
        Fault(BenchFault, r"sent on to '/x' \(HTTP 302\); expected an answer here, or HTTP 307 or 308")),
    Odd("sent on to where it was", lambda service: sent(service, "GET", SYSTEM, 303, ""), status, PowerState.OFF),
    Odd("empty pages without end", empty_pages, sel,
        Fault(ConnectionLost, r"the call is not done within its 0\.7 s$")),
    *[Odd(f"a time that is {what}", entry(Created=created), lambda client: [each.time for each in client.sel()], [None])
      for what, created in (("without a zone", "2018-12-19T04:28:34"), ("none", "0000-00-00T00:00:00Z"),
                            ("a number", 1545193714))],
    Odd("an entry without words", entry(Message=""), lambda client: [each.event for each in client.sel()],
        ["no words"]),
    Odd("no time, and a number as Id", entry(Id=7), lambda client: [(each.id, each.time) for each in client.sel()],
        [("7", None)]),
    Odd("a reading as a text", reading(ReadingCelsius="40"), lambda client: client.sensors(),
        Fault(BenchFault, "sensor CPU reads '40'; expected a number")),
    Odd("a status as a list", reading(ReadingCelsius=40, Status=["OK"]), lambda client: client.sensors(),
        Fault(BenchFault, "the answer cannot be read")),
    Odd("a sensor without a name", reading(Name=None, ReadingCelsius=40),
        lambda client: client.sensors()[0].name, "temperature 0"),
    Odd("no system", changed("/redfish/v1/Systems", Members=[]), status,
        Fault(BenchFault, "the service has systems none; expected exactly one")),
    Odd("members that are no list", changed("/redfish/v1/Systems", Members={"a": 1}), status,
        Fault(BenchFault, "/redfish/v1/Systems has no list of Members")),
]  # fmt: skip


@rows(REDFISH)
def test_redfish(row: Odd, tmp_path: Path) -> None:
    service = FakeService(tmp_path)
    client = Redfish(RedfishEndpoint("dut BMC", service.url, USER, PASSWORD, service.ca_file))
    try:
        check(row, service, client, "dut BMC")
    finally:
        client.close()
        service.stop()


@pytest.mark.parametrize(
    ("said", "waits_s"),
    [("0", 0.02), ("1", 1.0), ("86400", 1.0), ("-5", 0.02), ("soon", 0.02), ("1e9", 0.02), ("", 0.02),
     ("Fri, 31 Dec 1999 23:59:59 GMT", 0.02)],
)  # fmt: skip
@pytest.mark.parametrize("code", [429, 503])
def test_a_busy_service_says_when_to_ask_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, waits_s: float, code: int
) -> None:
    """Never longer than it is asked at all."""
    pauses = list[float]()
    monkeypatch.setattr(redfish_https, "pause", pauses.append)
    service = FakeService(tmp_path)
    service.first_answers["GET", SYSTEM] = [(code, "", {"Retry-After": said})]
    client = Redfish(RedfishEndpoint("dut BMC", service.url, USER, PASSWORD, service.ca_file))
    try:
        assert client.power_status() is PowerState.OFF
    finally:
        client.close()
        service.stop()
    assert pauses == [pytest.approx(waits_s, abs=0.3 if waits_s == 1 else 0.001)]


def test_a_flood_ends_with_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that a deadline leaves behind reads nothing any more, and is gone."""
    monkeypatch.setattr(redfish_https, "REQUEST_WITHIN_S", 0.3)
    monkeypatch.setattr(redfish_https, "LARGEST_BODY", 1 << 40)
    service = FakeService(tmp_path)
    service.floods = SYSTEM
    client = Redfish(RedfishEndpoint("dut BMC", service.url, USER, PASSWORD, service.ca_file))
    try:
        with pytest.raises(ConnectionLost, match=r"not within 0\.\d+ s"):
            client.power_status()
        deadline = time.monotonic() + 10
        while any(thread.name == "redfish request" for thread in threading.enumerate()):
            assert time.monotonic() < deadline, "the request is still read"
            time.sleep(0.02)
    finally:
        service.stop()


# IPMI

STATUS, CONTROL, SEL_INFO, READING = (CHASSIS, 0x01), (CHASSIS, 0x02), (STORAGE, 0x40), (SENSOR, 0x2D)


def codes(command: tuple[int, int], *found: int | None) -> Callable[[FakeBmc], object]:
    """The first completion codes of a command; None: it is carried out and not answered."""
    answers = [None if code is None else bytes([code]) for code in found]
    return lambda fake: fake.first_answers.update({command: answers})


def constant(command: tuple[int, int], answer: bytes) -> Callable[[FakeBmc], object]:
    return lambda fake: fake.answers.update({command: answer})


def circle(fake: FakeBmc) -> None:
    """Each entry is followed by itself."""
    fake.events = [event(1, 0x01, 1, 0x01, 0x59)]
    fake.answers[STORAGE, 0x43] = OK + b"\x01\x00" + fake.events[0]


def taken_reservation(fake: FakeBmc) -> None:
    """Another reader of the log has made a reservation in between (completion code C5h)."""
    fake.events = [event(1, 0x01, 1, 0x01, 0x59), event(2, 0x01, 1, 0x01, 0x59)]
    fake.first_answers[STORAGE, 0x43] = [b"\xc5"]


def full(times: int) -> Callable[[FakeBmc], object]:
    return lambda fake: fake.open_faults.extend(errors.MessageStatusCodeError(0x01) for _ in range(times))


def busy_sensor(fake: FakeBmc) -> None:
    fake.records, fake.readings = [sensor_record(1, 1, "T")], {1: OK + bytes([40, 0x40, 0xC0, 0])}
    fake.first_answers[READING] = [b"\xff", b"\xc0"]


IPMI = [
    *[Odd(f"{code:02x} once", codes(STATUS, code), status, PowerState.OFF)
      for code in (0xC0, 0xC3, 0xD0, 0xD1, 0xD2, 0xFF)],
    *[Odd(f"{code:02x} for ever", constant(STATUS, bytes([code])), status,
          Fault(NotNow, f"power status: not now: completion code 0x{code:02x}: "))
      for code in (0xC0, 0xC3, 0xD0, 0xD1, 0xD2, 0xFF)],
    Odd("busy for ever for an order", constant(CONTROL, b"\xc0"), lambda client: client.set_power(PowerState.ON, 0.3),
        Fault(BenchFault, r"power is not on within 0\.3 s; last seen: off; dut BMC: power on: not now: .* 0xc0")),
    Odd("an order that is taken and not done", lambda fake: setattr(fake, "stuck", True),
        lambda client: client.set_power(PowerState.ON, 0.3), Fault(BenchFault, "power is not on within .*seen: off$")),
    Odd("a reservation that another took", taken_reservation,
        lambda client: [each.id for each in client.sel()], ["1", "2"]),
    Odd("a name that colours the terminal", lambda fake: fake.records.append(sensor_record(1, 1, "T\0\x1b[31m")),
        lambda client: [each.name for each in client.sensors()], ["T [31m"]),
    Odd("a name of NULs", lambda fake: fake.records.append(sensor_record(1, 1, "\0\0")),
        lambda client: [each.name for each in client.sensors()], ["sensor 0x01"]),
    Odd("half a sensor record", lambda fake: fake.records.append(sensor_record(1, 1, "T")[:20]),
        lambda client: client.sensors(), Fault(ConnectionLost, "sensors: no answer from .*: the deadline passed")),
    Odd("a reservation that is always another's", lambda fake: [taken_reservation(fake),
        constant((STORAGE, 0x43), b"\xc5")(fake)], sel,
        Fault(CommandRefused, "event log: refused with completion code 0xc5: Reservation Canceled")),
    Odd("a log and no sensor records", lambda fake: fake.events.append(event(1, 1, 7, 1, 0x59)),
        lambda client: [each.sensor for each in client.sel()], ["sensor 0x07"]),
    Odd("no sensor records", lambda _: None, lambda client: client.sensors(), []),
    Odd("a time that the BMC did not know", lambda fake: fake.events.append(event(1, 1, 1, 1, 0x59, 0xFFFFFFFF)),
        lambda client: [each.time for each in client.sel()], [None]),
    Odd("a time since its start", lambda fake: fake.events.append(event(1, 1, 1, 1, 0x59, 60)),
        lambda client: [each.time for each in client.sel()], [None]),
    Odd("a sensor that reads nothing", lambda fake: [fake.records.append(sensor_record(1, 1, "T")),
        fake.readings.update({1: b"\x00"})], lambda client: client.sensors(),
        Fault(BenchFault, "the answer cannot be read")),
    Odd("a privilege that the user has not", constant(CONTROL, b"\xd4"), reset,
        Fault(InsufficientPrivilege, "user admin may not, with operator privilege")),
    Odd("a code of nobody", constant(STATUS, b"\x7e"), status,
        Fault(CommandRefused, "refused with completion code 0x7e")),
    Odd("busy for an order", codes(CONTROL, 0xC0, 0xD2), switched_on, PowerState.ON),
    Odd("unspecified errors for an order", codes(CONTROL, 0xFF, 0xFF), switched_on, PowerState.ON),
    Odd("an order refused in the present state at first", codes(CONTROL, 0xD5), switched_on, PowerState.ON),
    Odd("an order carried out and not answered", codes(CONTROL, None), switched_on, PowerState.ON),
    Odd("busy for a reset", codes(CONTROL, 0xC0, 0xD2), reset, None),
    Odd("an unspecified error for a reset", codes(CONTROL, 0xFF), reset, Fault(NotNow, "reset: not now: .* 0xff")),
    Odd("no room for a session twice", full(2), status, PowerState.OFF),
    Odd("no room for a session", full(10_000), status, Fault(NotNow, "no session: Insufficient resources")),
    Odd("a busy sensor", busy_sensor, lambda client: [each.value for each in client.sensors()], [40.0]),
    Odd("no event log", constant(SEL_INFO, b"\xc1"), sel, Fault(NotApplicable, r"has no event log \(SEL\)")),
    Odd("an event log in a circle", circle, sel, Fault(ConnectionLost, "event log: no answer")),
    Odd("an empty answer", constant(STATUS, b""), status, Fault(BenchFault, "the answer cannot be read")),
    Odd("half an answer", constant(STATUS, OK + b"\x01"), status, Fault(BenchFault, "the answer cannot be read")),
    Odd("half an entry", lambda fake: [circle(fake), fake.answers.update({(STORAGE, 0x43): OK + b"\xff\xff\x01"})], sel,
        Fault(BenchFault, "the answer cannot be read")),
    Odd("a device without a name", constant((APP, 0x01), OK), lambda client: client.device_id(),
        Fault(BenchFault, "the answer cannot be read")),
]  # fmt: skip


@rows(IPMI)
def test_ipmi(row: Odd, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeBmc()
    monkeypatch.setattr(FakeLan, "bmc", fake, raising=False)
    monkeypatch.setattr(ipmi, "_Lan", FakeLan)
    client = Ipmi(IpmiEndpoint("dut BMC", "192.0.2.1", 623, "admin", "s3cret-of-the-bmc"))
    check(row, fake, client, "dut BMC")
    client.close()


@pytest.fixture(scope="module", autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """No request goes on after the tests of this module."""
    yield
    deadline = time.monotonic() + 10
    while [thread for thread in threading.enumerate() if thread.name == "redfish request"]:
        assert time.monotonic() < deadline, "a request is still read"
        time.sleep(0.05)
