"""Loads on a congested SAN with the flow control of its ports off and on, in turns.

Pause frames end at the switch, whose own setting the lab leaves alone. So nothing is promised of flow control that is
on, and figures are recorded. While it is off, the dut's port must send none, whatever the switch does.

Each setting has sessions of its own, as a change may take the link down. Nobody loads the port for a while at both of
their ends: a driver that counts late has then counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from niclab.bench.records import Role
from niclab.card import Setting, SettingKind
from niclab.core.profile import Profile
from niclab.core.verdict import NotApplicable, fail_with, proven_first
from niclab.core.wait import pause
from niclab.run.run import Run
from niclab.settings import mtu
from niclab.settings.held import held
from niclab.storage.congestion import congested_loads, pause_frames
from niclab.storage.congestion.congested_loads import load_disks, look_before, require_loads
from niclab.storage.congestion.congested_runs import DisksLoaded, Turns, answered, of_all
from niclab.storage.congestion.congested_san import CongestedSan
from niclab.storage.congestion.flow_answer import FlowAnswer, FlowControl, Unasked
from niclab.storage.congestion.pause_frames import PortPauses
from niclab.traffic.runs.progress import Tell

COUNTED_WITHIN_S = 3.0
"""Drivers ask their cards for counters as seldom as once in two seconds (Linux: be2net, be_worker(), 1 s)."""


@dataclass(frozen=True)
class Sessions:
    """``pairs``: sessions with each setting; ``turns``: the runs of each load in each of them."""

    pairs: int
    turns: Turns


SESSIONS: Mapping[Profile, Sessions] = {
    Profile.QUICK: Sessions(pairs=2, turns=Turns(run_s=1, turns=2)),
    Profile.FULL: Sessions(pairs=3, turns=Turns(run_s=10, turns=2)),
}


def measure(run: Run, vlan: int, profile: Profile, tell: Tell) -> FlowAnswer:
    """Load disks over iSCSI on a base and a congested SAN, with flow control off and on, in turns.

    Adds what was measured to the run folder, and the figures to the certificate.

    Args:
        run: The current run, with its cables laid to the switch.
        vlan: VLAN id of the switch for the SAN.
        profile: How many sessions and runs are made, and for how long.
        tell: Takes the progress of what lasts long.

    Returns:
        The answer.

    Raises:
        CardFailure: The dut's port takes a setting and does not show it; or a session fails after the port has sent
            pause frames with flow control off in as many as prove it.
        NotApplicable: The sheet asks for no load that reads, a server does not run Linux, fewer than two paths go
            through the switch, its VLANs cannot be set, or the flow control of the dut's port cannot be set.
        SheetSilent: The sheet says nothing of pause frames, or names no counter of those that a port sends.
        BenchFault: The dut has no initiator, the SAN or a target cannot be made, a session goes another way, a setting
            could not be put back, or a run fails or is worthless.
        Undecided: A server stood still too often in a row.
    """
    loads, san, plan = require_loads(run), CongestedSan.of(run), SESSIONS[profile]
    counter = _require_settable(run)
    made: dict[FlowControl, list[DisksLoaded]] = {each: [] for each in FlowControl}
    unasked, kept = Unasked(run.bench.end(san.first, Role.DUT).place, counter, ()), dict[str, None]()
    with san.laid(run, vlan):
        measured = look_before(run, san, loads)
        with proven_first(lambda: unasked.judgement.proven):
            for pair in range(plan.pairs):
                for flow in list(FlowControl)[:: 1 if pair % 2 == 0 else -1]:
                    tell(f"{san.named(run)}, {flow.value}: session {pair + 1} of {plan.pairs}")
                    with _set(run, san, flow, kept):
                        before = _settled(run, san)
                        made[flow].append(load_disks(run, san, measured, plan.turns, tell))
                        if flow is FlowControl.OFF:
                            sent = _settled(run, san).since(before).sent
                            unasked = replace(unasked, sent=(*unasked.sent, sent))
        loaded = of_all(measured, [each for sessions in made.values() for each in sessions])
        off, on = (answered(run, san, loaded, plan.turns, made[flow], flow.value) for flow in FlowControl)
    answer = FlowAnswer(off, on, unasked, tuple(kept))
    for figure in answer.figures():
        run.notes.figure(figure)
    return answer


def judge(run: Run, answer: FlowAnswer, say: Tell) -> None:
    """End the check: return only when both settings lose nothing, and with flow control off no pause frame was sent.

    Args:
        run: The current run.
        answer: What was found.
        say: Takes what becomes of frames that tell who damages data.

    Raises:
        CardFailure: The dut's port sends pause frames while flow control is off, or the card damages frames, or loses
            many that its port counts, or a baseline is missed.
        BenchFault: The peer damages frames, counts disagree, or the bench may be why a baseline is missed.
        Undecided: Pause frames were seen in one session alone, or are not counted; nobody damages frames, many segments
            are lost where nobody counts them, no load filled the switch's port with flow control off, or the runs
            cannot tell.
    """
    sent = answer.unasked.judgement
    fail_with(sent.proven)
    congested_loads.judge(run, (answer.off, answer.on), say, sent.possible)


def _require_settable(run: Run) -> str:
    """Return the sheet's name of the counter of pause frames that a port has sent."""
    section = run.card.section(run.card.pause, "pause")
    if not section.settable:
        raise NotApplicable(f"sheet {run.card.name} says that pause frames cannot be set")
    return run.card.section(section.sent_counter, "pause.sent_counter")


@contextmanager
def _set(run: Run, san: CongestedSan, flow: FlowControl, kept: dict[str, None]) -> Iterator[None]:
    """Flow control of the dut's port, and of those of the peer where their driver offers it."""
    with ExitStack() as undoing:
        for port in (run.bench.end(san.first, Role.DUT), *san.sources(run)):
            try:
                for name in flow.order:
                    setting = Setting(kind=SettingKind.PAUSE, name=name, to=flow.is_on)
                    undoing.enter_context(held(run, port, setting))
            except NotApplicable as error:
                if port.role is Role.DUT:
                    raise
                kept[f"{port.name} keeps its flow control: {error}"] = None
        _await_links(run, san)
        san.require_reached(run)
        yield
    _await_links(run, san)


def _await_links(run: Run, san: CongestedSan) -> None:
    for path in (san.first, san.second):
        mtu.wait_for_links(run, path)


def _settled(run: Run, san: CongestedSan) -> PortPauses:
    """The pause frames of the dut's port, once its driver has counted those until now."""
    pause(COUNTED_WITHIN_S)
    return pause_frames.look(run, run.bench.end(san.first, Role.DUT))
