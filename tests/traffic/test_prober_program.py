"""The prober's program on loopback, and the reader of its notes."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from niclab.hosts.errors import ReadError
from niclab.traffic.outage import outage_analysis, prober_program
from niclab.traffic.outage.outage_records import EndLog
from niclab.traffic.outage.prober_text import read_end_log, read_ready

PROGRAM = str(Path(prober_program.__file__))
NOTES = """ready 4711
clock -12
overflowed 0
refused 2
full 1
ticks 1700000000000000 1003 998
arrivals 0:1700000000000840 2:2001 1:-5
end 3 3
"""


def free_ports() -> tuple[int, int]:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as two,
    ):
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]


@contextmanager
def programs(token: tuple[int, int] = (7, 7), limit_s: float = 20) -> Iterator[list[subprocess.Popen[str]]]:
    """Two programs that probe each other; both have begun."""
    ports = free_ports()
    started = []
    try:
        for mine, theirs, word in ((ports[0], ports[1], token[0]), (ports[1], ports[0], token[1])):
            words = ("127.0.0.1", mine, "127.0.0.1", theirs, word, 1000, limit_s)
            command = [sys.executable, PROGRAM, *map(str, words)]
            started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def begun(processes: list[subprocess.Popen[str]], run_s: float) -> list[str]:
    """They have been told to begin, and have sent for so long; what they printed before."""
    heads = [process.stdout.readline() for process in processes if process.stdout]
    assert [read_ready(head) for head in heads] == [process.pid for process in processes]
    for process in processes:
        os.kill(process.pid, signal.SIGUSR2)
    time.sleep(prober_program.BEGIN_AFTER_S + run_s)
    return heads


def notes(processes: list[subprocess.Popen[str]], run_s: float = 0.7) -> list[EndLog]:
    heads = begun(processes, run_s)
    for process in processes:
        os.kill(process.pid, signal.SIGUSR1)
    return [
        read_end_log(head + process.communicate(timeout=20)[0]) for head, process in zip(heads, processes, strict=True)
    ]


def test_both_directions_are_measured_at_once() -> None:
    with programs() as processes:
        report = outage_analysis.analyse(*notes(processes), ("one", "two"))
    for direction in report.directions:
        assert direction.sent > 50 and direction.lost == 0 and direction.duplicated == 0 and direction.refused == 0
        assert direction.proven_ms == 0 or direction.worst_delay_ms > outage_analysis.LATE_MS


def test_a_partner_that_stands_still_is_told_from_a_dead_line() -> None:
    with programs() as processes:
        heads = begun(processes, 0.3)
        os.kill(processes[1].pid, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(processes[1].pid, signal.SIGCONT)
        time.sleep(0.3)
        for process in processes:
            os.kill(process.pid, signal.SIGUSR1)
        logs = [
            read_end_log(head + process.communicate(timeout=20)[0])
            for head, process in zip(heads, processes, strict=True)
        ]
    report = outage_analysis.analyse(logs[0], logs[1], ("one", "two"))
    assert report.back.sender.longest_ms >= 290 and report.forth.receiver.longest_ms >= 290
    assert report.forth.proven_ms == 0 and report.back.proven_ms == 0  # the kernel has kept what came meanwhile
    assert report.back.at_most_ms >= 290


def test_packets_of_another_run_are_nobodys() -> None:
    with programs(token=(1, 2)) as processes:
        logs = notes(processes, 0.3)
    assert [log.arrivals for log in logs] == [(), ()]


def test_it_ends_by_itself() -> None:
    with programs(limit_s=3) as processes:
        heads = begun(processes, 0)
        for head, process in zip(heads, processes, strict=True):
            assert len(read_end_log(head + process.communicate(timeout=20)[0]).ticks_us) > 20


def test_one_that_is_never_told_to_begin_ends_with_its_time_and_says_so() -> None:
    with programs(limit_s=0.3) as processes:
        for process in processes:
            assert process.communicate(timeout=20)[0] == f"ready {process.pid}\n"
            assert process.returncode == 1


@pytest.mark.parametrize(
    ("kernel", "kind", "fractions"), [(prober_program.LINUX, 35, 250_400_999), (prober_program.FREEBSD, 2, 250_400)]
)
def test_the_kernels_stamp_is_read(kernel: prober_program.Kernel, kind: int, fractions: int) -> None:
    """struct timespec of Linux, struct timeval of FreeBSD (SCM_TIMESTAMP)."""
    stamp = (socket.SOL_SOCKET, kind, struct.pack("@qq", 1_700_000_000, fractions))
    other = (socket.SOL_SOCKET, 40, b"\0\0\0\0")
    assert prober_program.arrived_us(kernel, [other, stamp]) == 1_700_000_000_250_400
    assert prober_program.arrived_us(kernel, [other]) is None


UDP_STATISTICS = """udp:
\t118 datagrams received
\t0 with incomplete header
\t2 dropped due to no socket
\t%d dropped due to full socket buffers
\t116 delivered
"""


def test_drops_of_freebsd_are_those_of_all_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """netstat(1) -s -p udp, as releases 9 to 14 print it."""
    netstat = tmp_path / "netstat"
    netstat.write_text(f"#!/bin/sh\ncat <<'END'\n{UDP_STATISTICS % 17}END\n")
    netstat.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert prober_program.dropped_by_all() == 17
    netstat.write_text("#!/bin/sh\necho udp:\n")
    with pytest.raises(SystemExit, match="no line 'N dropped due to full socket buffers'"):
        prober_program.dropped_by_all()


def test_a_buffer_is_as_large_as_the_kernel_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    class Narrow:
        asked: ClassVar[list[tuple[int, int]]] = []

        def setsockopt(self, _: int, option: int, size: int) -> None:
            self.asked.append((option, size))
            if size > 2 << 20:
                raise OSError(errno.ENOBUFS, "No buffer space available")

    monkeypatch.setattr(prober_program, "KERNEL", prober_program.FREEBSD)
    prober_program.enlarge(Narrow())  # type: ignore[arg-type]
    assert Narrow.asked == [(socket.SO_RCVBUF, 4 << 20), (socket.SO_RCVBUF, 2 << 20)]


def test_a_full_queue_is_told_from_a_way_that_is_gone() -> None:
    class Closing:
        ends: ClassVar[list[int]] = []
        answers: ClassVar[list[int]] = [errno.EAGAIN, errno.ENETUNREACH, errno.ENOBUFS, 0, errno.ENETDOWN]

        def sendto(self, data: bytes, _: object) -> None:
            number = struct.unpack("!QI", data)[1]
            if number == len(self.answers) - 1:
                self.ends.append(signal.SIGUSR1)
            if answer := self.answers[number]:
                raise OSError(answer, os.strerror(answer))

        def recvmsg(self, *_: int) -> None:
            raise BlockingIOError

    seen = prober_program.probe(Closing(), ("127.0.0.1", 1), 7, 1_000_000, 20, Closing.ends)  # type: ignore[arg-type]
    assert (len(seen.ticks), list(seen.full), list(seen.refused)) == (5, [0, 2], [1, 4])
    assert "\nrefused 1 4\nfull 0 2\nticks " in prober_program.told(seen, 0)


def test_notes_are_read() -> None:
    base = 1_700_000_000_000_000
    arrivals = ((0, base + 840), (2, base + 2841), (1, base + 2836))
    assert read_end_log(NOTES) == EndLog(
        (base, base + 1003, base + 2001), frozenset({2}), frozenset({1}), arrivals, 0, -12
    )
    assert read_ready("") is None and read_ready("ready 47") is None and read_ready(NOTES) == 4711


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("end 3 3\n", "", "text '7 lines'; expected the 8 lines ready, clock"),
        ("end 3 3", "end 3 2", "line 8 'end 3 2'; expected the counts of 3 ticks and 3 arrivals"),
        (" 998", "", "expected the counts of 2 ticks"),
        ("1003", "10x3", "ticks '10x3'; expected whole numbers"),
        ("2:2001", "2;2001", "arrivals '2;2001'; expected NUMBER:MICROSECONDS"),
        ("clock -12", "clock", "clock ''; expected one number"),
        ("clock -12", "", "line 2 ''; expected a line that begins with 'clock'"),
        ("overflowed 0", "Traceback (most recent call last):", "line 3 'Traceback"),
    ],
)
def test_notes_that_cannot_be_read_are_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(ReadError, match=re.escape(said)):
        read_end_log(NOTES.replace(old, new, 1))


def test_a_program_that_says_something_else_is_refused() -> None:
    with pytest.raises(ReadError, match=r"line 1 'Traceback'; expected 'ready PID'"):
        read_ready("Traceback\n")
