"""Consoles over each kind of line: nothing is lost, everything is logged, a dead line is reported, BREAK arrives."""

from __future__ import annotations

import functools
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import serial
from toy_consoles import Rfc2217Console, TcpConsole, pty_line, running

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.transports import ConnectionLost
from niclab.transports.console import console_log
from niclab.transports.console.console_log import ConsoleLog
from niclab.transports.console.kernel_death import DeathWatch, Sign, sign_of
from niclab.transports.console.serial import LOOK_BACK, ConsoleEndpoint, KernelDeath, NotSeen, SerialConsole
from niclab.transports.console.serial_ports import Rfc2217Line
from niclab.transports.console.transcript import Transcript

SECRET = "swordfish"


def _endpoint(url: str, tmp_path: Path) -> ConsoleEndpoint:
    return ConsoleEndpoint("dut console", url, "root", SECRET, tmp_path / "console.log")


@pytest.fixture
def server() -> Iterator[TcpConsole]:
    with running(TcpConsole()) as server:
        yield server


@pytest.fixture
def console(server: TcpConsole, tmp_path: Path) -> Iterator[SerialConsole]:
    with SerialConsole(_endpoint(server.url, tmp_path)) as console:
        yield console


@pytest.fixture(params=["tcp", "rfc2217", "pty"])
def line(request: pytest.FixtureRequest) -> Iterator[tuple[str, Callable[[bytes], object], Callable[[], bytes]]]:
    """Each kind of line: its url, how the machine speaks, and what the machine has heard."""
    if request.param == "pty":
        with pty_line() as (master, path):
            heard = bytearray()

            def hear() -> bytes:
                os.set_blocking(master, False)
                try:
                    heard.extend(os.read(master, 65536))
                except BlockingIOError:
                    return bytes(heard)
                finally:
                    os.set_blocking(master, True)
                return bytes(heard)

            def say(data: bytes) -> None:
                while data:
                    data = data[os.write(master, data) :]

            yield path, say, hear
    else:
        with running(TcpConsole() if request.param == "tcp" else Rfc2217Console()) as server:
            yield server.url, server.say, lambda: bytes(server.received)


def _has_come(console: SerialConsole, end: int) -> bool:
    return console.mark() >= end


def _logged(path: Path) -> bytes:
    """The log without times and without the reader's own lines."""
    lines = path.read_bytes().split(b"\n")
    assert all(re.match(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", one) for one in lines[:-1])
    return b"\n".join(one[25:] for one in lines if not one[25:].startswith(b"--- "))


def test_a_burst_of_a_megabyte_is_read_and_logged_whole(
    line: tuple[str, Callable[[bytes], object], Callable[[], bytes]], tmp_path: Path
) -> None:
    url, say, _ = line
    text = "".join(f"{number:07d} a line of a boot log with \xff in it\n" for number in range(24_000)) + "the end\n"
    data = text.encode()
    assert len(data) > 1_000_000
    with SerialConsole(_endpoint(url, tmp_path)) as console:
        mark = console.mark()
        speaker = threading.Thread(target=say, args=[data], daemon=True)
        speaker.start()
        match = console.expect("^the end$", 300)
        speaker.join(60)
        assert match.before + match.text + "\n" == text
        assert console.text_since(mark) == text
    assert _logged(tmp_path / "console.log") == data


def test_both_directions_and_every_byte(
    line: tuple[str, Callable[[bytes], object], Callable[[], bytes]], tmp_path: Path
) -> None:
    url, say, heard = line
    with SerialConsole(_endpoint(url, tmp_path)) as console:
        console.write(bytes(range(256)))
        console.send_line("typed")
        until(lambda: heard() == bytes(range(256)) + b"typed\r", within=10, what="all bytes at the machine", every=0.01)
        say(b"answer 42\r\n")
        match = console.expect(r"answer (?P<number>\d+)", 10)
        assert (match.text, match.groups) == ("answer 42", {"number": "42"})


def test_what_was_said_last_before_the_line_died_is_not_lost(tmp_path: Path) -> None:
    for kind in (TcpConsole, Rfc2217Console):
        with running(kind()) as server, SerialConsole(_endpoint(server.url, tmp_path)) as console:
            server.say(b"x" * 300_000 + b"last words")
            server.hang_up()
            assert len(console.expect("last words", 10).before) == 300_000
            with pytest.raises(ConnectionLost, match=r"dut console: 'more' was not seen before the line .* died"):
                console.expect("more", 10)


def test_nul_bytes_are_in_the_log_and_not_in_the_text(
    console: SerialConsole, server: TcpConsole, tmp_path: Path
) -> None:
    server.say(b"\0\0lo\0gin:\0 \n")
    assert console.expect("login: ", 10).before == ""
    console.close()
    assert _logged(tmp_path / "console.log") == b"\0\0lo\0gin:\0 \n"


def test_a_character_cut_in_two_is_one_character(console: SerialConsole, server: TcpConsole) -> None:
    first, second = "grün"[:2].encode() + b"\xc3", b"\xbcn "
    server.say(first)
    console.expect("gr", 10)
    server.say(second)
    assert console.expect("ün", 10).text == "ün"
    server.say(b"\xffbad\n")
    assert console.expect("bad", 10).before == " �"


def test_each_log_line_begins_with_the_time_its_first_byte_came(
    server: TcpConsole, console: SerialConsole, tmp_path: Path
) -> None:
    server.say(b"one\n\ntw")
    console.expect("tw", 10)
    server.say(b"o\nrest")
    console.expect("rest", 10)
    console.close()
    lines = (tmp_path / "console.log").read_bytes().split(b"\n")
    assert [line[25:] for line in lines] == [
        b"--- opened " + server.url.encode(), b"one", b"", b"two", b"rest", b"--- closed", b""
    ]  # fmt: skip


def test_reopening_continues_the_log_and_the_text(server: TcpConsole, console: SerialConsole, tmp_path: Path) -> None:
    mark = console.mark()
    server.say(b"before\n")
    console.expect("before", 10)
    server.hang_up()
    with pytest.raises(ConnectionLost):
        console.expect("never", 10)
    with pytest.raises(ConnectionLost, match=r"dut console: the line tcp://\S+ is dead: closed by the other end"):
        console.send_line("x")
    console.open()
    server.say(b"after\n")
    console.expect("after", 10)
    assert console.text_since(mark) == "before\nafter\n"
    assert b"--- line lost: closed by the other end" in (tmp_path / "console.log").read_bytes()


def test_nothing_works_unopened_and_closing_is_repeatable(tmp_path: Path) -> None:
    console = SerialConsole(_endpoint("tcp://127.0.0.1:1", tmp_path))
    for act in (lambda: console.expect("x", 1), lambda: console.send_line("x"), console.send_break):
        with pytest.raises(ConnectionLost, match="never opened"):
            act()
    console.close()
    console.close()


def test_a_local_line_has_one_reader(tmp_path: Path) -> None:
    with (
        pty_line() as (_, path),
        SerialConsole(_endpoint(path, tmp_path)),
        pytest.raises(ConnectionLost, match=f"dut console: cannot open {path}: .*lock"),
    ):
        SerialConsole(_endpoint(path, tmp_path)).open()


def test_a_line_that_never_falls_silent_still_ends_by_the_deadline(
    console: SerialConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = SerialConsole._raise_death
    heard = 0

    def noisy(self: SerialConsole, match_end: int | None) -> None:
        nonlocal heard
        heard += 1
        assert heard < 1_000_000, "the deadline was never looked at"
        self._transcript.append("noise\n")  # something new comes during every search
        whole(self, match_end)

    monkeypatch.setattr(SerialConsole, "_raise_death", noisy)
    with pytest.raises(NotSeen, match=r"'quiet' was not seen within 0.3 s"):
        console.expect("quiet", 0.3)


def test_what_pyserial_still_holds_when_its_line_dies_is_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    class DeadPort:
        _read_buffer: queue.Queue[bytes | None] = queue.Queue()

        def read(self, _size: int) -> bytes:
            raise serial.SerialException("connection failed (reader thread died)")

    for piece in (b"l", b"a", b"s", b"t", None):
        DeadPort._read_buffer.put(piece)
    monkeypatch.setattr(serial, "serial_for_url", lambda *_, **__: DeadPort())
    line = Rfc2217Line("127.0.0.1", 1, 115200)
    assert line.read() == b"last"
    with pytest.raises(OSError, match="connection failed"):
        line.read()


def test_a_line_that_cannot_be_opened_is_lost_and_logged(tmp_path: Path) -> None:
    for url in ("tcp://127.0.0.1:1", "rfc2217://127.0.0.1:1", "/dev/no-such-line"):
        with pytest.raises(ConnectionLost, match=f"dut console: cannot open {url}: "):
            SerialConsole(_endpoint(url, tmp_path)).open()
    assert (tmp_path / "console.log").read_bytes().count(b"--- cannot open") == 3


@pytest.mark.parametrize(
    "url", ["", "telnet://h:1", "tcp://h", "tcp://:5", "tcp://h:port", "tcp://h:99999", "dev/ttyS0"]
)
def test_a_wrong_url_is_an_error(tmp_path: Path, url: str) -> None:
    with pytest.raises(BenchFault, match=r"dut console: console url .*; expected rfc2217://host:port, tcp://"):
        SerialConsole(_endpoint(url, tmp_path)).open()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_blamed_on_the_log_and_not_on_the_line(
    server: TcpConsole, console: SerialConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console_log, "append_whole", lambda _, data: Path("/dev/full").write_bytes(data))
    server.say(b"login: ")
    with pytest.raises(BenchFault, match=r"dut console: cannot write its log .*console\.log: No space left") as caught:
        console.expect("never", 5)
    assert not isinstance(caught.value, ConnectionLost)
    assert not console.alive
    with pytest.raises(BenchFault, match="cannot write its log"):
        console.send_line("")
    monkeypatch.undo()
    console.open()
    assert console.alive


def test_a_log_ends_at_its_limit_with_a_line_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    log = ConsoleLog(path, 1000)
    for _ in range(100):
        log.add(b"the same line again\n")
    log.note("closed")
    log.close()
    size = path.stat().st_size
    *_, last = path.read_text().splitlines()
    assert last[25:] == "--- the log ends here: it has reached 1000 bytes; the console says more"
    assert 1000 < size < 1200
    again = ConsoleLog(path, 1000)
    again.note("opened")
    again.close()
    assert path.stat().st_size == size


def test_a_log_that_cannot_be_written_is_an_error(server: TcpConsole, tmp_path: Path) -> None:
    with pytest.raises(BenchFault, match=r"dut console: cannot write its log .*: Is a directory"):
        SerialConsole(ConsoleEndpoint("dut console", server.url, "root", SECRET, tmp_path)).open()


def test_the_password_is_never_shown(tmp_path: Path) -> None:
    assert SECRET not in repr(_endpoint("tcp://h:1", tmp_path))


def test_a_pattern_that_does_not_come_is_an_error_with_the_last_text(
    console: SerialConsole, server: TcpConsole
) -> None:
    server.say(b"something else\n")
    began = time.monotonic()
    with pytest.raises(NotSeen, match=r"dut console: 'login:' was not seen within 0.3 s; it last said 'something else"):
        console.expect("login:", 0.3)
    assert time.monotonic() - began > 0.29


def test_a_match_is_consumed_and_what_follows_is_kept(console: SerialConsole, server: TcpConsole) -> None:
    server.say(b"a1 b2 c3\n")
    assert [console.expect(r"[a-z]\d", 10).text for _ in range(3)] == ["a1", "b2", "c3"]
    with pytest.raises(NotSeen):
        console.expect(r"[a-z]\d", 0.1)
    server.say(b"old d4\n")
    console.expect("old", 10)
    console.skip()
    with pytest.raises(NotSeen):
        console.expect("d4", 0.1)


def test_a_match_in_pieces_is_found_and_a_line_start_is_a_real_one(console: SerialConsole, server: TcpConsole) -> None:
    for piece in (b"x" * 5000, b"lo", b"gin", b":"):
        server.say(piece)
        with pytest.raises(NotSeen):
            console.expect("^login:", 0.05)
    assert console.expect("login:", 10).before == "x" * 5000


def test_a_lazy_pattern_over_a_growing_output_is_not_quadratic(
    console: SerialConsole, server: TcpConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = 0
    whole = Transcript.slice

    def counted(self: Transcript, start: int, end: int | None = None) -> str:
        nonlocal searched
        text = whole(self, start, end)
        searched += len(text)
        return text

    monkeypatch.setattr(Transcript, "slice", counted)
    pieces, size = 200, 3000

    def speak() -> None:
        for number in range(1, pieces + 1):
            server.say(b"begin" + b"x" * (size - 5))
            until(functools.partial(_has_come, console, number * size), within=10, what="the piece", every=0.001)
        server.say(b"end\n")

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    console.expect(r"begin.*?never|end$", 300)
    speaker.join(60)
    assert searched < 3 * pieces * size + (pieces + 2) * (LOOK_BACK + 2)


def test_break_and_sysrq_arrive_over_rfc2217(tmp_path: Path) -> None:
    with running(Rfc2217Console()) as server, SerialConsole(_endpoint(server.url, tmp_path)) as console:
        assert isinstance(server, Rfc2217Console)
        console.send_break()
        until(lambda: server.line.breaks[-2:] == [True, False], within=20, what="BREAK on and off", every=0.01)
        console.sysrq("h")
        until(lambda: server.received.endswith(b"h"), within=20, what="the key", every=0.01)
        assert server.line.breaks.count(True) == 2
        with pytest.raises(BenchFault, match="SysRq key is 'hb'; expected one of 0-9 and a-z"):
            console.sysrq("hb")


def test_a_tcp_line_refuses_break_aloud(console: SerialConsole, server: TcpConsole) -> None:
    with pytest.raises(BenchFault, match="dut console: a raw TCP console carries no BREAK: use rfc2217:// or a local"):
        console.send_break()
    with pytest.raises(BenchFault, match="carries no BREAK"):
        console.sysrq("b")
    assert server.received == b""


DEATHS = {
    Sign.PANIC: "[   12.345678] Kernel panic - not syncing: sysrq triggered crash",
    Sign.OOPS: "[   12.3] Oops: 0002 [#1] PREEMPT SMP NOPTI",
    Sign.BUG: "[ 7.1] BUG: kernel NULL pointer dereference, address: 0000000000000008",
    Sign.BUG_AT: "[    9.0] kernel BUG at mm/slub.c:4018!",
    Sign.BAD_ADDRESS: "Unable to handle kernel paging request at virtual address ffff800011e3f000",
    Sign.PROTECTION_FAULT: "general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1]",
    Sign.SOFT_LOCKUP: "watchdog: soft lockup - CPU#1 stuck for 22s! [modprobe:311]",
    Sign.HARD_LOCKUP: "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3",
    Sign.RCU_STALL: "rcu: INFO: rcu_sched self-detected stall on CPU",
    Sign.FREEBSD_TRAP: "Fatal trap 12: page fault while in kernel mode",
    Sign.FREEBSD_PANIC: "panic: vm_fault: fault on nofault entry, addr: 0xfffffe0000a1b000",
    Sign.FREEBSD_DEBUGGER: "db> ",
    Sign.FREEBSD_DEBUGGER_ENTERED: "KDB: enter: panic",
}


@pytest.mark.parametrize("sign", list(Sign), ids=lambda sign: sign.name)
def test_every_kind_of_death_ends_an_expect_at_once(console: SerialConsole, server: TcpConsole, sign: Sign) -> None:
    threading.Timer(0.1, server.say, [f"normal\n{DEATHS[sign]}\nCall Trace:\n more\n".encode()]).start()
    began = time.monotonic()
    with pytest.raises(KernelDeath, match=r"^dut console: the kernel died:\n") as caught:
        console.expect("login:", 300)
    assert time.monotonic() - began < 60
    assert caught.value.lines[:3] == (DEATHS[sign], "Call Trace:", " more")


@pytest.mark.parametrize(
    "text",
    [
        "BIOS-provided physical RAM map", "Kernel command line: panic=10 oops=panic", "ACPI BIOS Error (bug): x",
        "rcu: Hierarchical RCU implementation.", "sqlite3db> ", "debug: on", "please dont panic: it is fine",
        "[    0.1] rcu: RCU event tracing is enabled.\ninstall done", "lockup_detector: started",
        "traps: nginx[812] general protection fault ip:7f2 sp:7ff error:0 in libc.so.6", "grep: panic: no such file",
    ],
)  # fmt: skip
def test_a_healthy_kernel_is_not_called_dead(text: str) -> None:
    assert DeathWatch().feed(f"first\n{text}\nlast\n") == []


def test_a_panic_behind_a_login_prompt_is_seen() -> None:
    assert DeathWatch().feed("up\ndut login: panic: page fault\n") == [3]
    assert sign_of("login: panic: page fault") is Sign.FREEBSD_PANIC


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("Kernel panic - not syncing: softlockup: hung tasks", Sign.PANIC),
        ("watchdog: BUG: soft lockup - CPU#1 stuck for 22s!", Sign.SOFT_LOCKUP),
        ("BUG: unable to handle kernel NULL pointer dereference at 0", Sign.BUG),
        ("all is well", None),
    ],
)
def test_the_most_telling_sign_of_a_line(line: str, sign: Sign | None) -> None:
    assert sign_of(line) is sign


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_death_in_pieces_is_seen_once_a_line(size: int) -> None:
    text = "ok\n" * 3000 + DEATHS[Sign.PANIC] + " BUG: twice\n" + "x" * 9000 + "\n" + DEATHS[Sign.OOPS] + "\nend\n"
    watch = DeathWatch()
    found = [offset for at in range(0, len(text), size) for offset in watch.feed(text[at : at + size])]
    assert found == [text.index(DEATHS[Sign.PANIC]), text.index(DEATHS[Sign.OOPS])]


def test_a_match_before_the_death_wins_and_the_death_is_told_next(console: SerialConsole, server: TcpConsole) -> None:
    server.say(f"login: \n{DEATHS[Sign.PANIC]}\nlogin: ".encode())
    assert console.expect("login: ", 10).before == ""
    with pytest.raises(KernelDeath):
        console.expect("login: ", 10)


def test_a_death_between_two_waits_is_told_by_the_next_and_then_over(
    console: SerialConsole, server: TcpConsole
) -> None:
    server.say(f"{DEATHS[Sign.BUG]}\n".encode())
    until(lambda: "BUG" in console.text_since(0), within=20, what="the death", every=0.01)
    console.skip()
    with pytest.raises(KernelDeath):
        console.expect("anything", 10)
    server.say(b"booting again\nlogin: ")
    assert console.expect("login: ", 10).text == "login: "


def test_a_death_that_is_wanted_is_an_answer(console: SerialConsole, server: TcpConsole) -> None:
    threading.Timer(0.1, server.say, [f"sysrq: crash\r\n{DEATHS[Sign.PANIC]}\r\nCPU: 0\r\n".encode()]).start()
    assert console.expect_death(10)[:2] == (DEATHS[Sign.PANIC], "CPU: 0")
    with pytest.raises(NotSeen, match=r"dut console: the kernel did not die within 0.2 s"):
        console.expect_death(0.2)


def test_a_transcript_forgets_the_oldest_only() -> None:
    transcript = Transcript(keep=100)
    for number in range(100):
        transcript.append(f"{number:05d}")
    assert transcript.end == 500
    assert 100 <= transcript.end - transcript.begin <= 205
    assert transcript.slice(490) == "0009800099"
    assert transcript.slice(492, 497) == "09800"
    assert transcript.slice(0) == transcript.slice(transcript.begin)
    assert (transcript.slice(500), transcript.slice(497, 492)) == ("", "")


def test_text_that_is_no_longer_kept_is_an_error(console: SerialConsole, server: TcpConsole) -> None:
    console._transcript = Transcript(keep=10)
    server.say(b"x" * 5)
    console.expect("x{5}", 10)
    server.say(b"y" * 50)
    console.expect("y{50}", 10)
    with pytest.raises(BenchFault, match=r"dut console: text that old is no longer kept; it is in .*console\.log"):
        console.text_since(0)
