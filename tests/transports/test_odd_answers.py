"""Odd and hostile answers of BMCs, switches and consoles: each ends in time, as a value or a verdict in words."""

from __future__ import annotations

import contextlib
import gzip
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_ipmi import APP, CHASSIS, OK, SENSOR, STORAGE, FakeBmc, FakeLan, event, sensor_record
from fake_redfish import CHASSIS as BOX
from fake_redfish import ENTRIES, LOG, PASSWORD, RESET, SYSTEM, USER, FakeService, error
from fake_switch import PORTS, FakeSwitch
from odd_answers import Fault, Odd, check, rows
from pyipmi import errors
from toy_consoles import TcpConsole, running

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.switch.switch import Switch
from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.bmc import bmc, ipmi, redfish, redfish_https
from niclab.transports.bmc.bmc import CommandRefused, NotNow, PowerState
from niclab.transports.bmc.ipmi import Ipmi, IpmiEndpoint
from niclab.transports.bmc.redfish import Redfish, RedfishEndpoint
from niclab.transports.console.serial import ConsoleEndpoint, KernelDeath, NotSeen, SerialConsole
from niclab.transports.snmp import snmp_agent
from niclab.transports.snmp.snmp_agent import NoSuchVariable
from niclab.transports.snmp.snmp_records import ValueKind

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
    monkeypatch.setattr(ipmi, "LIST_WITHIN_S", 0.5)
    monkeypatch.setattr(snmp_agent, "LONGEST_WALK", 200)
    monkeypatch.setattr(snmp_agent, "WALK_WITHIN_S", 0.3)


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
        Fault(BenchFault, r"sent on to 'https://192\.0\.2\.9/' \(HTTP 308\), wanted an answer from https://127")),
    Odd("sent to nowhere", lambda service: service.first_answers.update(
        {("GET", SYSTEM): [(308, "", {"Location": "https://[::1"})]}), status,
        Fault(BenchFault, r"sent on to 'https://\[::1' \(HTTP 308\), wanted an answer from")),
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
        Fault(BenchFault, "sensor CPU reads inf, wanted a number")),
    Odd("a reading of a thousand digits", always("GET", f"{BOX}/Thermal", 200,
        '{"Temperatures": [{"Name": "CPU", "ReadingCelsius": 1' + 999 * "0" + "}]}"), lambda client: client.sensors(),
        Fault(BenchFault, "the answer cannot be read")),
    Odd("systems that are numbers", changed("/redfish/v1/Systems", Members=[7]), status,
        Fault(BenchFault, "Member of a resource is 7, wanted a link")),
    Odd("links that are a list", changed(SYSTEM, Links=["a"]), sel, Fault(BenchFault, r"Links of .* wanted an object")),
    Odd("managers that are a number", changed(SYSTEM, Links={"ManagedBy": 7}), sel,
        Fault(BenchFault, r"Links\.ManagedBy of .* is 7, wanted a list")),
    Odd("actions that are a text", changed(SYSTEM, Actions="Reset"), reset, Fault(BenchFault, "Actions of .* 'Reset'")),
    Odd("a next page that is no link", changed(ENTRIES, **{"Members@odata.nextLink": {"a": 1}}), sel,
        Fault(BenchFault, r"link \"\{'a': 1\}\" of the service is no path")),
    Odd("pages without end", endless_pages, sel, Fault(BenchFault, f"collection {ENTRIES} has more than 20 members")),
    Odd("entries that are texts", changed(ENTRIES, Members=["Id"]), sel, Fault(BenchFault, "'Id', wanted a link")),
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
        Fault(BenchFault, "AllowableValues of ResetType is 'ForceRestart', wanted a list")),
    Odd("reset types elsewhere that are not there", action_info([], status=404), reset,
        Fault(CommandRefused, "GET .*/ResetActionInfo: HTTP 404")),
    Odd("no reset types at all", action_info([]), reset,
        Fault(CommandRefused, "reset is not offered; offered: nothing")),
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


def test_a_flood_ends_with_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a deadline leaves behind reads nothing any more, and is gone."""
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


def full(times: int) -> Callable[[FakeBmc], object]:
    return lambda fake: fake.open_faults.extend(errors.MessageStatusCodeError(0x01) for _ in range(times))


def busy_sensor(fake: FakeBmc) -> None:
    fake.records, fake.readings = [sensor_record(1, 1, "T")], {1: OK + bytes([40, 0x40, 0xC0, 0])}
    fake.first_answers[READING] = [b"\xff", b"\xc0"]


IPMI = [
    *[Odd(f"{code:02x} once", codes(STATUS, code), status, PowerState.OFF)
      for code in (0xC0, 0xC3, 0xD0, 0xD1, 0xD2, 0xFF)],
    *[Odd(f"{code:02x} for ever", constant(STATUS, bytes([code])), status,
          Fault(NotNow, f"power status: not now: completion code 0x{code:02x}: ")) for code in (0xC0, 0xD2, 0xFF)],
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


# Switches

PORT, MAC = "Gi1/0/2", "52:54:00:00:00:01"
OCTETS = tuple(bytes.fromhex(MAC.replace(":", "")))


def put(
    name: str, index: list[int], value: int | bytes, kind: ValueKind | None = None
) -> Callable[[FakeSwitch], object]:
    return lambda fake: fake.mib.put(name, index, value, kind)


def drop(name: str) -> Callable[[FakeSwitch], object]:
    return lambda fake: fake.mib.drop(name)


def long_table(fake: FakeSwitch) -> None:
    for index in range(1, 300):
        fake.mib.put("ifName", [20_000 + index], b"x")


def slow_table(fake: FakeSwitch) -> None:
    """Some rows, and each answer takes its time."""
    own = fake.mib.after

    def after(oid: Any, _: int) -> Any:
        time.sleep(0.1)
        return own(oid, 1)

    fake.mib.after = after  # type: ignore[method-assign]


def state(switch: Any) -> object:
    return switch.ports.state(PORT).admin.name


def ports_of_mac(switch: Any) -> object:
    return switch.tables.ports_of_mac(MAC)


SWITCH = [
    Odd("a port twice", put("ifName", [7], PORT.encode()), state, Fault(BenchFault, "2 ports named 'Gi1/0/2'")),
    Odd("a name in other octets", put("ifName", [PORTS[PORT]], b"\xff\xfe\x1b["), state,
        Fault(BenchFault, "no port named 'Gi1/0/2'; .* 0xfffe1b5b")),
    Odd("a name with NULs behind it", put("ifName", [PORTS[PORT]], PORT.encode() + b"\0\0"), state, "UP"),
    Odd("a state of no meaning", put("ifAdminStatus", [PORTS[PORT]], 9), state,
        Fault(BenchFault, r"ifAdminStatus\.10102 .* is 9; wanted: one of 1 \(UP\)")),
    Odd("a state as text", put("ifAdminStatus", [PORTS[PORT]], b"up", ValueKind.OCTETS), state,
        Fault(BenchFault, "'up' is an OCTET STRING; wanted: an INTEGER")),
    Odd("a table that repeats itself",
        lambda fake: [long_table(fake), setattr(fake.mib, "repeats", True)], ports_of_mac,
        Fault(BenchFault, "wanted: rows that ascend")),
    Odd("a table without end", long_table, ports_of_mac, Fault(BenchFault, "at most 200")),
    Odd("a table that takes for ever", slow_table, ports_of_mac,
        Fault(BenchFault, r"no end after \d+ rows and 0\.3 s")),
    Odd("no bridge", drop("dot1dBasePortIfIndex"), ports_of_mac,
        Fault(BenchFault, r"has no rows; wanted: .* switch\.snmp\.bridge_vlans")),
    Odd("a bridge port without interface", put("dot1qTpFdbPort", [1, *OCTETS], 77), ports_of_mac,
        Fault(BenchFault, f"{MAC} is at bridge port 77, which has no interface")),
    Odd("a bridge port whose interface is gone", lambda fake: [
        fake.learn(MAC, PORT), put("dot1dBasePortIfIndex", [fake.bridge_port(PORT)], 0)(fake)], ports_of_mac,
        Fault(BenchFault, "which has no interface")),
    Odd("an address at bridge port 0", lambda fake: fake.learn(MAC, None), ports_of_mac, frozenset()),
    Odd("no time", drop("sysUpTime"), lambda switch: switch.uptime(), Fault(NoSuchVariable, r"sysUpTime\.0")),
    Odd("a name that is gone", drop("sysName"), lambda switch: switch.identity(), Fault(NoSuchVariable, r"sysName\.0")),
    Odd("an address of five octets", put("dot3adAggPortActorSystemID", [PORTS[PORT]], b"12345"),
        lambda switch: switch.tables.lacp(PORT), Fault(BenchFault, "'12345'; wanted: a MAC address of 6 octets")),
    Odd("no answer", lambda fake: setattr(fake.mib, "silent", True), state, Fault(ConnectionLost, "no answer")),
]  # fmt: skip


@rows(SWITCH)
def test_switch(row: Odd) -> None:
    fake = FakeSwitch()
    switch: Switch = fake.switch()
    check(row, fake, switch, "sw1")


# Consoles


class Talker(TcpConsole):
    """A console that answers each piece it gets with ``reply``."""

    def __init__(self) -> None:
        self.reply: Callable[[bytes], bytes] = lambda _: b""
        super().__init__()

    def heard(self, data: bytes) -> None:
        super().heard(data)
        if answer := self.reply(data):
            with contextlib.suppress(OSError):
                self.say(answer)


def replies(answer: bytes | Callable[[bytes], bytes]) -> Callable[[Talker], object]:
    return lambda talker: setattr(talker, "reply", answer if callable(answer) else lambda _: answer)


def login(console: Any) -> object:
    return console.login("root", "pass word!", 1.5)


def echo_of_markers(data: bytes) -> bytes:
    """The marker in one piece, as if the shell had run the command, with a status of many digits."""
    token = data.partition(b'nic""lab-')[2][:8].decode(errors="replace")
    return f"# niclab-{token}-begin\r\nniclab-{token}-end:{'9' * 30}\r\n# ".encode() if token else b"# "


NOISE = r"no shell for user root within 1\.5 s: what comes is no text \(\d+ of \d+ characters: .*; the console server"
CONSOLE = [
    Odd("nothing", replies(b""), login, Fault(NotSeen, r"no shell for user root within 1\.5 s$")),
    Odd("another speed", replies(bytes.fromhex("fcfffe00f8fc")), login, Fault(NotSeen, NOISE)),
    Odd("a false prompt at another speed", replies(bytes.fromhex("fcff23fe2420")), login, Fault(NotSeen, NOISE)),
    Odd("its own echo", replies(lambda data: data), login, Fault(NotSeen, r"within 1\.5 s$")),
    Odd("prompts and no shell", replies(b"# "), login, Fault(NotSeen, r"within 1\.5 s$")),
    Odd("login prompts for ever", replies(b"dut login: "), login, Fault(NotSeen, r"within 1\.5 s$")),
    Odd("password prompts out of nowhere", replies(b"Password: "), login, Fault(NotSeen, r"within 1\.5 s$")),
    Odd("a refusal", replies(lambda data: b"dut login: " if data == b"\r" else
        b"Password: " if b"root" in data else b"Login incorrect\r\ndut login: "), login,
        Fault(AuthenticationFailed, "the login of user root was refused$")),
    Odd("a screen of firmware", replies("\x1b[2J\x1b[1;1H║ Boot ║ █ ↑↓ ║\r\n".encode()), login,
        Fault(NotSeen, r"within 1\.5 s$")),
    Odd("a status of thirty digits", replies(echo_of_markers), login, Fault(NotSeen, r"within 1\.5 s$")),
    Odd("a dying kernel", replies(b"[ 1.0] Kernel panic - not syncing: test\r\n"), login,
        Fault(KernelDeath, "the kernel died")),
]  # fmt: skip


@rows(CONSOLE)
def test_console(row: Odd, tmp_path: Path) -> None:
    talker = Talker()
    with running(talker):
        endpoint = ConsoleEndpoint("dut console", talker.url, "root", "pass word!", tmp_path / "console.log")
        with SerialConsole(endpoint) as console:
            check(row, talker, console, "dut console")
        if row.what == "password prompts out of nowhere":
            assert b"pass word!" not in talker.received


def test_a_console_of_a_known_speed_names_it() -> None:
    """Lines of the lab's own have the speed of the bench file."""
    endpoint = ConsoleEndpoint("dut console", "rfc2217://192.0.2.1:7010", "root", "pass word!", Path("log"), 9600)
    assert endpoint.speed.startswith("the line runs at 9600 Bd; expected: ")


def test_the_table_is_long_enough() -> None:
    assert len(REDFISH) + len(IPMI) + len(SWITCH) + len(CONSOLE) > 90


@pytest.fixture(scope="module", autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """No request goes on after the tests of this module."""
    yield
    deadline = time.monotonic() + 10
    while [thread for thread in threading.enumerate() if thread.name == "redfish request"]:
        assert time.monotonic() < deadline, "a request is still read"
        time.sleep(0.05)
