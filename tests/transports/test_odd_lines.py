"""Odd and hostile answers of switches and consoles: each ends in time, as a value or a verdict in words."""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_switch import PORTS, FakeSwitch
from odd_answers import Fault, Odd, check, rows
from toy_consoles import TcpConsole, running
from toy_mib import Oid, numbers

from niclab.core.verdict import BenchFault
from niclab.switch.switch import Switch
from niclab.switch.switch_port_table import difference
from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.console import console_shell
from niclab.transports.console.serial import ConsoleEndpoint, KernelDeath, NotSeen, SerialConsole
from niclab.transports.snmp import snmp_agent
from niclab.transports.snmp.snmp_agent import Missing, NoSuchVariable, Reading
from niclab.transports.snmp.snmp_records import VARIABLES, ValueKind


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience in tenths of a second."""
    monkeypatch.setattr(snmp_agent, "LONGEST_WALK", 200)
    monkeypatch.setattr(snmp_agent, "WALK_WITHIN_S", 3.0)


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
        time.sleep(0.4)
        return own(oid, 1)

    fake.mib.after = after  # type: ignore[method-assign]


def only_names(fake: FakeSwitch) -> None:
    """The agent has nothing behind the names of its ports."""
    names = {oid: row for oid, row in fake.mib.rows.items() if oid[:11] == numbers(VARIABLES["ifName"].oid)}
    fake.mib.rows = names


def counts_down(name: str) -> Callable[[FakeSwitch], object]:
    """Each time that a variable is read it is less."""

    def say(fake: FakeSwitch) -> None:
        own, left = fake.mib.get, itertools.count(1000, -10)

        def get(oid: Oid) -> Reading | Missing:
            found = own(oid)
            is_it = oid[: len(numbers(VARIABLES[name].oid))] == numbers(VARIABLES[name].oid)
            return Reading(VARIABLES[name].kind, next(left)) if is_it else found

        fake.mib.get = get  # type: ignore[method-assign]

    return say


def counted(switch: Any) -> object:
    before = switch.ports.counters(PORT)
    return difference(before, switch.ports.counters(PORT), f"sw1: port {PORT}")


def cut_short(ask: Callable[[Any], object]) -> Callable[[Any], object]:
    """The last variable of every answer is missing."""

    def asked(switch: Any) -> object:
        agent = switch.ports._agent
        own = agent.read
        agent.read = lambda oids: own(oids)[:-1]
        return ask(switch)

    return asked


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
        Fault(BenchFault, r"ifAdminStatus\.10102 .* is 9; expected one of 1 \(UP\)")),
    Odd("a state as text", put("ifAdminStatus", [PORTS[PORT]], b"up", ValueKind.OCTETS), state,
        Fault(BenchFault, "'up' is an OCTET STRING; expected an INTEGER")),
    Odd("a table that repeats itself",
        lambda fake: [long_table(fake), setattr(fake.mib, "repeats", True)], ports_of_mac,
        Fault(BenchFault, "expected rows that ascend")),
    Odd("a table without end", long_table, ports_of_mac, Fault(BenchFault, "at most 200")),
    Odd("a table that takes for ever", lambda fake: [long_table(fake), slow_table(fake)], ports_of_mac,
        Fault(BenchFault, r"no end after \d+ rows and 3 s")),
    Odd("no bridge", drop("dot1dBasePortIfIndex"), ports_of_mac,
        Fault(BenchFault, r"has no rows; expected .* switch\.snmp\.bridge_vlans")),
    Odd("a bridge port without interface", put("dot1qTpFdbPort", [1, *OCTETS], 77), ports_of_mac,
        Fault(BenchFault, f"{MAC} is at bridge port 77, which has no interface")),
    Odd("a bridge port whose interface is gone", lambda fake: [
        fake.learn(MAC, PORT), put("dot1dBasePortIfIndex", [fake.bridge_port(PORT)], 0)(fake)], ports_of_mac,
        Fault(BenchFault, "which has no interface")),
    Odd("an address at bridge port 0", lambda fake: fake.learn(MAC, None), ports_of_mac, frozenset()),
    Odd("no time", drop("sysUpTime"), lambda switch: switch.uptime(), Fault(NoSuchVariable, r"sysUpTime\.0")),
    Odd("a name that is gone", drop("sysName"), lambda switch: switch.identity(), Fault(NoSuchVariable, r"sysName\.0")),
    Odd("an address of five octets", put("dot3adAggPortActorSystemID", [PORTS[PORT]], b"12345"),
        lambda switch: switch.tables.lacp(PORT), Fault(BenchFault, "'12345'; expected a MAC address of 6 octets")),
    Odd("no answer", lambda fake: setattr(fake.mib, "silent", True), state, Fault(ConnectionLost, "no answer")),
    Odd("no such instance", lambda fake: fake.mib.drop("ifOperStatus", PORTS[PORT]), state,
        Fault(NoSuchVariable, r"ifOperStatus\.10102 .*\(noSuchInstance\); expected a switch that has it")),
    Odd("no such object", drop("ifOperStatus"), state,
        Fault(NoSuchVariable, r"ifOperStatus\.10102 .*\(noSuchObject\)")),
    Odd("the end of the MIB behind the names", only_names, lambda switch: sorted(switch.ports.names().values()),
        sorted(PORTS)),
    Odd("nothing but names", only_names, state, Fault(NoSuchVariable, r"ifAdminStatus\.10102 .*\(noSuchObject\)")),
    Odd("an answer that is cut short", lambda _: None, cut_short(state),
        Fault(ConnectionLost, "2 values for 3 variables; expected one for each")),
    Odd("64 bits that go backwards", counts_down("ifHCInOctets"), counted,
        Fault(BenchFault, f"port {PORT}: in_octets ran backwards, from 1000 to 990; expected a counter")),
    Odd("32 bits that go backwards", counts_down("ifInErrors"), counted,
        Fault(BenchFault, "in_errors ran backwards, from 1000 to 990")),
    Odd("a time that goes backwards", counts_down("sysUpTime"), counted,
        Fault(BenchFault, r"the switch restarted \(sysUpTime 10 s before, 9\.9 s now\)")),
    Odd("counters that jump", counts_down("ifCounterDiscontinuityTime"), counted,
        Fault(BenchFault, r"the counters jumped \(ifCounterDiscontinuityTime 1000 before, 990 now\)")),
    Odd("a speed as text", put("ifHighSpeed", [PORTS[PORT]], b"1000", ValueKind.OCTETS), state,
        Fault(BenchFault, "'1000' is an OCTET STRING; expected a Gauge32")),
    Odd("an identity in other octets", put("sysName", [0], b"sw\xff\x1b[31m\0"),
        lambda switch: switch.identity().name, "0x7377ff1b5b33316d00"),
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


def asks_for_ever(data: bytes) -> bytes:
    """A wrong password is asked for again, without a word, as ``su`` and some BMCs' consoles do."""
    return b"dut login: " if data == b"\r" else b"\r\nPassword: "


def changes_speed() -> Callable[[bytes], bytes]:
    """A getty of several speeds that goes to its next one when it has heard something."""
    said = itertools.chain(
        [b"Debian GNU/Linux 12 dut ttyS0\r\n\r\ndut login: "], itertools.repeat(b"\xfc\xff\xfe\xf8" * 32)
    )
    return lambda _: next(said)


NO_SHELL = r"no shell for user root within 1\.5 s: "
SPEED = r"; the console server sets the speed of the line; expected that of the server's console \(a getty .* BREAK\)$"
NOISE = NO_SHELL + r"what comes is no text \(\d+ of \d+ characters: .*\)" + SPEED
FRAME = b"\xda" + b"\xc4" * 40 + b"\xbf\r\n"
MENU = (
    b"\x1b[2J\x1b[1;1H" + FRAME + b"\xb3 *Debian GNU/Linux, with Linux 6.1.0-18-amd64 \xb3\r\n"
    b"\xb3  UEFI Firmware Settings                       \xb3\r\n" + FRAME
)
"""A boot menu with a frame in code page 437, which is no UTF-8."""


def quoted(words: str) -> Fault:
    return Fault(NotSeen, f"{NO_SHELL}it last said '{words}'{SPEED}")


CONSOLE = [
    Odd("nothing", replies(b""), login, Fault(NotSeen, NO_SHELL + "nothing came" + SPEED)),
    # systemd/systemd#15611, util-linux/util-linux#1371
    Odd("another speed", replies(bytes.fromhex("fcfffe00f8fc")), login, Fault(NotSeen, NOISE)),
    Odd("a false prompt at another speed", replies(bytes.fromhex("fcff23fe2420")), login, Fault(NotSeen, NOISE)),
    Odd("a getty that changes its speed", replies(changes_speed()), login,
        Fault(NotSeen, NOISE)),
    Odd("its own echo", replies(lambda data: data), login, Fault(NotSeen, f"{NO_SHELL}.*{SPEED}")),
    Odd("prompts and no shell", replies(b"# "), login, quoted("# #.*")),
    Odd("login prompts for ever", replies(b"dut login: "), login, quoted(".*dut login:")),
    Odd("password prompts out of nowhere", replies(b"Password: "), login, quoted(".*Password:")),
    Odd("a refusal", replies(lambda data: b"dut login: " if data == b"\r" else
        b"Password: " if b"root" in data else b"Login incorrect\r\ndut login: "), login,
        Fault(AuthenticationFailed, "the login of user root was refused$")),
    Odd("a password asked for again", replies(asks_for_ever), login,
        Fault(AuthenticationFailed, "the login of user root was refused$")),
    Odd("a screen of firmware", replies("\x1b[2J\x1b[1;1H║ Boot ║ █ ↑↓ ║\r\n".encode()), login, quoted(".*Boot.*")),
    Odd("a boot menu", replies(MENU), login, quoted(".*with Linux 6.1.0-18-amd64.*UEFI Firmware Settings.*")),
    Odd("a prompt of a boot loader", replies(b"\r\ngrub> "), login, quoted(".*grub>.*")),
    Odd("a status of thirty digits", replies(echo_of_markers), login, Fault(NotSeen, f"{NO_SHELL}.*{SPEED}")),
    Odd("a prompt with NULs in it", replies(b"\0dut\0 lo\0gin: "), login, quoted(".*dut login:")),
    Odd("prompts at the end of words", replies(b"your next login: "), login, quoted(".*your next login:")),
    Odd("a dying kernel", replies(b"[ 1.0] Kernel panic - not syncing: test\r\n"), login,
        Fault(KernelDeath, "the kernel died")),
    Odd("a greeting at another speed", replies(bytes.fromhex("fcfffe00f8fc")), lambda console: console.greet(0.5),
        Fault(NotSeen, r"no prompt within 0\.5 s: what comes is no text \(.*\)" + SPEED)),
    Odd("a greeting", replies(b"dut login: "), lambda console: console.greet(5), None),
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
        if row.what == "a password asked for again":
            assert talker.received.count(b"pass word!") == 1


class SlowTalker(Talker):
    """A line that carries a character at a time, a long pause behind each prompt that is part of a sentence."""

    def say(self, data: bytes) -> None:
        for number, octet in enumerate(data):
            super().say(bytes([octet]))
            time.sleep(0.1 if data[number - 1 : number + 1] in (b": ", b"# ") else 0.0005)


def slow_machine(data: bytes) -> bytes:
    """A getty whose banners hold prompts, and whose shell begins with the last login."""
    if data == b"\r":
        return b"### private ### login: rules apply\r\ndut login: "
    if data == b"root\r":
        return b"\r\nPassword: "
    if data == b"pass word!\r":
        return b"\r\nLast login: Mon Nov 23 on ttyS0\r\n### rules ### apply\r\n# "
    return b"?" if b"lab-" not in data else echo_of_ends(data)


def echo_of_ends(data: bytes) -> bytes:
    token = data.partition(b'nic""lab-')[2][:8].decode()
    return f"\r\nniclab-{token}-begin\r\nniclab-{token}-end:0\r\n# ".encode()


def test_words_that_come_one_by_one_are_no_prompts(tmp_path: Path) -> None:
    """At 9600 Bd each word of a banner is for a moment the last that was said."""
    talker = SlowTalker()
    talker.reply = slow_machine
    with running(talker):
        endpoint = ConsoleEndpoint("dut console", talker.url, "root", "pass word!", tmp_path / "console.log")
        with SerialConsole(endpoint) as console:
            console.login("root", "pass word!", 20)
    assert bytes(talker.received[:17]) == b"\rroot\rpass word!\r"


def test_a_system_that_is_slow_to_ask_for_the_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Return that wakes it meanwhile changes nothing: it is flushed when the password is asked for."""
    monkeypatch.setattr(console_shell, "_WAKE_EVERY_S", 0.5)
    talker = Talker()

    def reply(data: bytes) -> bytes:
        if data == b"\r":
            return b"" if b"root" in talker.received else b"dut login: "
        if data == b"root\r":
            time.sleep(0.8)
            return b"\r\nPassword: "
        return b"\r\n# " if data == b"pass word!\r" else echo_of_ends(data)

    talker.reply = reply
    with running(talker):
        endpoint = ConsoleEndpoint("dut console", talker.url, "root", "pass word!", tmp_path / "console.log")
        with SerialConsole(endpoint) as console:
            console.login("root", "pass word!", 10)


def _foreign(question: str) -> Talker:
    """A getty and a login of another language."""
    talker = Talker()

    def reply(data: bytes) -> bytes:
        if data == b"\r":
            return b"\r\nAnmeldung fehlgeschlagen\r\ndut login: " if b"root" in talker.received else b"dut login: "
        if data == b"root\r":
            return b"root\r\n" + question.encode()
        return b"\r\n# " if data == b"pass word!\r" else echo_of_ends(data)

    talker.reply = reply
    return talker


@pytest.mark.parametrize(
    "question",
    ["Passwort: ", "Mot de passe : ", "Mot de passe\u00a0: ", "Contraseña: ", "Senha: ", "Palavra-passe: ", "Hasło: ",
     "Heslo: ", "Пароль: ", "密码：", "密碼：", "パスワード: "],
)  # fmt: skip
def test_a_password_is_asked_for_in_other_languages(tmp_path: Path, question: str) -> None:
    talker = _foreign(question)
    with running(talker):
        endpoint = ConsoleEndpoint("dut console", talker.url, "root", "pass word!", tmp_path / "console.log")
        with SerialConsole(endpoint) as console:
            console.login("root", "pass word!", 20)
    assert bytes(talker.received[:17]) == b"\rroot\rpass word!\r"


def test_a_question_in_an_unknown_language_is_quoted_and_gets_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console_shell, "_WAKE_EVERY_S", 0.5)
    talker = _foreign("Lösenord: ")
    with running(talker):
        endpoint = ConsoleEndpoint("dut console", talker.url, "root", "pass word!", tmp_path / "console.log")
        with (
            SerialConsole(endpoint) as console,
            pytest.raises(NotSeen, match="dut console: after user root it asks 'Lösenord:'; expected 'Password:' or"),
        ):
            console.login("root", "pass word!", 20)
    assert bytes(talker.received) == b"\rroot\r", "no empty password"


def test_a_console_of_a_known_speed_names_it() -> None:
    """Lines of the lab's own have the speed of the bench file."""
    endpoint = ConsoleEndpoint("dut console", "rfc2217://192.0.2.1:7010", "root", "pass word!", Path("log"), 9600)
    assert re.fullmatch(r"the line runs at 9600 Bd; expected .*, as `baud` in the bench file", endpoint.speed)
