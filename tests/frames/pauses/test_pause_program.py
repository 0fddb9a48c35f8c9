"""The pause programs in two network namespaces, over a cable that heeds pause frames as a card does, or does not."""

from __future__ import annotations

import socket
import time

import pytest
from namespaces import Namespaces

from niclab.bench.records import OperatingSystem, Role
from niclab.core.verdict import NotApplicable
from niclab.core.wait import until
from niclab.frames.pauses import pause_agents, pause_program
from niclab.frames.pauses.pause_agents import PauseAgents, PausedEnd
from niclab.frames.pauses.pause_judging import Heard, Heeding, Silence, silence
from niclab.frames.server_agent import STEP_WITHIN_S

QUANTUM_S = 2e-5
"""As on a path of 25.6 Mbit/s."""
EXCHANGES = 10


def _exchange(clean: Namespaces) -> tuple[PausedEnd, Heard]:
    run = clean.run
    end = PausedEnd.of(run, run.bench.paths[1], pause_agents.QUANTUM_BITS / QUANTUM_S / 1e6)
    with run.part(PauseAgents).streaming([end]):
        (heard,) = run.part(PauseAgents).hold([end])
    return end, heard


def _agreed(clean: Namespaces) -> tuple[PausedEnd, Heard, Silence]:
    """Exchange until two in a row show the same, as the check does: this machine may stand still in one."""
    before = None
    for _ in range(EXCHANGES):
        end, heard = _exchange(clean)
        found = silence(heard, end.pause_s, pause_agents.LEAD_S)
        if before is not None and found.heeding is before.heeding is not Heeding.UNPROVEN:
            return end, heard, found
        before = found
    pytest.fail(f"no two of {EXCHANGES} exchanges in a row agree, the last: {before}")


def test_a_port_that_heeds_pause_frames_is_silent_and_comes_back(clean: Namespaces) -> None:
    clean.spoil(f"obeys {QUANTUM_S}")
    end, heard, found = _agreed(clean)
    assert found.heeding is Heeding.STOPPED and found.back_after_s is not None, found
    assert 10 <= len(heard.asked_s) <= 15 and end.pause_s == pytest.approx(pause_agents.LONGEST_PAUSE_S)


def test_a_port_that_heeds_none_sends_on(clean: Namespaces) -> None:
    assert _agreed(clean)[-1].heeding is Heeding.SENT_ON


def test_a_port_that_never_comes_back_is_named(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause_agents, "BACK_WITHIN_S", 0.2)
    clean.spoil(f"obeys {10 * QUANTUM_S}")
    assert _agreed(clean)[-1].heeding is Heeding.GONE


def test_a_stream_that_does_not_come_is_no_silence(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause_agents, "BEGIN_WITHIN_S", 0.2)
    monkeypatch.setattr(pause_agents, "BACK_WITHIN_S", 0.1)
    end = PausedEnd.of(clean.run, clean.run.bench.paths[1], 1000.0)
    (heard,) = clean.run.part(PauseAgents).hold([end])
    assert silence(heard, end.pause_s, pause_agents.LEAD_S).heeding is Heeding.UNPROVEN


def test_every_path_is_asked_at_once(clean: Namespaces) -> None:
    ends = [PausedEnd.of(clean.run, path, 10.0) for path in clean.run.bench.paths]
    agents = clean.run.part(PauseAgents)
    with agents.streaming(ends):
        heards = agents.hold(ends)
        blocked = agents.blocked_s(ends)
    assert sorted(blocked, key=lambda end: end.port.name) == ends
    assert all(each_s > 0 for each_s in blocked.values())
    assert all(len(heard.came_s) > 100 and heard.dropped == 0 for heard in heards)


def test_it_needs_linux(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean.servers[Role.PEER].description, "os", OperatingSystem.FREEBSD)
    ends = [PausedEnd.of(clean.run, clean.run.bench.paths[1], 1000.0)]
    with (
        pytest.raises(NotApplicable, match="peer runs freebsd: the pause program"),
        PauseAgents(clean.run).streaming(ends),
    ):
        pass


def test_a_frame_that_cannot_be_sent_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, others = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    monkeypatch.setattr(pause_program, "opened", lambda *_: ours)
    plan = {"iface": "p0", "source": "02:00:00:00:00:01", "destination": "02:00:00:00:00:02"}
    stream = pause_program.Streaming(plan, 1, 2000.0, 30.0)
    until(lambda: stream.blocked_s() > 0.3, within=30, what="the stream to be blocked")
    blocked_s = stream.blocked_s()
    others.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            assert len(others.recv(2048)) == pause_program.SIZE
    time.sleep(0.05)
    stream.blocked_s()
    assert stream.blocked_s() < blocked_s
    stream.end()
    others.close()


def test_what_came_before_is_read_before_the_first_pause_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    done = list[str]()

    class Recorded:
        came, pause_ns, is_back = (1,), 0, True

        def __init__(self, *_: object) -> None: ...

        def read(self) -> None:
            done.append("read")

        def ask(self) -> None:
            done.append("ask")

        def said(self) -> dict[str, object]:
            return {}

        def close(self) -> None: ...

    monkeypatch.setattr(pause_program, "Held", Recorded)
    times = {"lead_s": 0.01, "every_s": 0.01, "hold_s": 0.01, "begin_within_s": 1.0, "back_within_s": 1.0}
    pause_program.hold({"token": 1, "ends": [{"iface": "p0"}], **times})
    assert done == ["read", "read", "ask", "read"]


def test_a_quantum_is_512_bit_times_on_the_path(clean: Namespaces) -> None:
    path = clean.run.bench.paths[0]
    fast, slow = PausedEnd.of(clean.run, path, 40000.0), PausedEnd.of(clean.run, path, 25.0)
    assert (fast.quanta, fast.pause_s) == (65535, pytest.approx(65535 * 12.8e-9))
    assert (slow.quanta, slow.pause_s) == (19532, pytest.approx(0.4, abs=1e-4))


def test_a_step_ends_before_it_is_given_up() -> None:
    longest_s = pause_agents.LEAD_S + pause_agents.HOLD_S + pause_agents.LONGEST_PAUSE_S
    assert longest_s + pause_agents.BEGIN_WITHIN_S + pause_agents.BACK_WITHIN_S < STEP_WITHIN_S
