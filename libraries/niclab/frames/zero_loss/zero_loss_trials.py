"""Trials of one size in one direction: numbered frames at a rate, and who has lost those that are missing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from niclab.bench.records import Role
from niclab.core.exposure import Exposure
from niclab.core.verdict import Undecided
from niclab.frames import exchange
from niclab.frames.answers import ServerAnswer
from niclab.frames.blame import frame_findings, peer_trial
from niclab.frames.blame.frame_findings import FrameDifference, FrameFinding
from niclab.frames.exchange import Say
from niclab.frames.frame_agents import FrameAgents
from niclab.frames.ledger import Ledger, unsent
from niclab.frames.spec import FramePlan, FrameStream
from niclab.frames.zero_loss.zero_loss_search import ROOM, LossTrial
from niclab.hosts.counts.load_records import CpuTimes, load_between
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.traffic.limits.bottleneck import BUSY_DURING

FIRST = 1000
"""Frames that are sent first as fast as the sender can, so that no trial at a rate which it cannot send lasts long."""
ATTEMPTS = 5
"""A trial in which a server stood still and frames were lost proves nothing; it is made so often in all."""
COUNTING = (FrameDifference.LOST, FrameDifference.MISCOUNTED)
"""Differences that a trial with loss has for sure: a count that lost frames make wrong is no finding of its own."""


class ZeroLossTrials:
    """Trials of a stream.

    Args:
        run: The current run.
        stream: Frames of one size from one port to its partner.
        say: Takes what became of the frames.
    """

    def __init__(self, run: Run, stream: FrameStream, say: Say) -> None:
        self._run, self._stream, self._say = run, stream, say
        self._most_per_s = 0.0

    def at(self, per_s: float, seconds: float) -> LossTrial:
        """Send frames at a rate, at most as fast as the sender can.

        Args:
            per_s: Frames a second.
            seconds: How long.

        Raises:
            CardFailure: The card doubled, reordered or damaged frames, or could not send them.
            BenchFault: The peer did, or could not, or a server does not answer.
            Undecided: Nobody knows which of them did, no frame was sent, or a server stood still in each of many trials
                with loss.
            NotApplicable: A server cannot send frames of its own.
        """
        if not self._most_per_s:
            self._most_per_s = self._made(FIRST, per_s).per_s
        found = self._made(max(1, round(min(per_s, self._most_per_s) * seconds)), per_s)
        # the first frames may have been slow, of a sender that stood still: its later trials would all be too short
        self._most_per_s = max(self._most_per_s, found.per_s)
        return found

    def judge_loss(self, trial: LossTrial) -> None:
        """End the check where a trial has lost frames: by who has lost them.

        Args:
            trial: The trial, at a rate at which none may be lost.

        Raises:
            CardFailure: The card lost them.
            BenchFault: The peer did.
            Undecided: Nobody knows who, or the receiver had no room for them.
        """
        if not trial.lost:
            return
        if trial.hindrances:
            raise Undecided("\n".join([*(each.text for each in trial.findings), *trial.hindrances]))
        frame_findings.judge(trial.findings, trying=lambda found: peer_trial.tried(self._run, found, self._say))

    def _made(self, count: int, per_s: float) -> LossTrial:
        both = standstill.watch(self._run, _standstill_ms(per_s))
        stream = replace(self._stream, count=count, per_s=per_s)
        before = both.told()
        for _ in range(ATTEMPTS):
            trial = self._carried(stream)
            if not trial.lost:
                return trial
            after = both.told()
            stood, before = both.between(before, after), after
            if not stood:
                return trial
            self._say(f"again, as {', '.join(map(str, stood))}")
        said = (
            f"{trial.lost} of {trial.sent} {stream.name} from {stream.sender.name} lost, {', '.join(map(str, stood))}"
        )
        raise Undecided(f"{said}; expected one of {ATTEMPTS} trials in which both keep running")

    def _carried(self, stream: FrameStream) -> LossTrial:
        plan, receiver = FramePlan((stream,)), stream.receiver.role
        began, cpus = time.monotonic(), self._cpus(receiver)
        answers = self._run.part(FrameAgents).exchange(plan)
        ledger = Ledger(plan, answers, self._run.interface, exchange.switched(self._run))
        for at, frames in exchange.compared(plan, answers).items():
            self._run.notes.exposed(Exposure.FRAMES, frames, at)
        (leg,), findings = ledger.legs, ledger.findings()
        others = [each for each in findings if each.difference not in COUNTING]
        frame_findings.judge(others, trying=lambda found: peer_trial.tried(self._run, found, self._say))
        sent, lost = leg.sent[0], leg.missing(at_program=False)
        if sent.refused or not sent.frames:  # what was not sent is not lost, and proves no rate
            frame_findings.judge(list(unsent(leg, stream, sent)))
        per_s = (sent.frames - 1) / sent.seconds if sent.seconds else stream.per_s
        self._say(f"{ledger.lines()[0]}, {per_s:.0f} frames/s")
        if not lost:
            return LossTrial(per_s, sent.frames)
        busy_s = self._busy_s(receiver, cpus, time.monotonic() - began)
        reasons = _hindrances(receiver, answers, busy_s / max(sent.seconds, 1e-3))
        losses = [each for each in findings if each.difference is FrameDifference.LOST]
        return LossTrial(per_s, sent.frames, lost, losses, reasons)

    def _cpus(self, role: Role) -> CpuTimes:
        return self._run.server(role).host.counts.cpu_times()

    def _busy_s(self, role: Role, before: CpuTimes, seconds: float) -> float:
        """Return how long the busiest CPU worked in a trial, which also waits for frames that do not come."""
        return load_between(before, self._cpus(role)).busiest[1].busy * seconds


def _standstill_ms(per_s: float) -> int:
    """Return the shortest standstill that may cost frames at a rate, of those that the watch sees."""
    return max(standstill.LEAST_OF_PINGS_MS, min(standstill.LEAST_MS, round(1000 * ROOM / per_s)))


def _hindrances(receiver: Role, answers: Mapping[Role, ServerAnswer], busy: float) -> Sequence[str]:
    found = []
    if busy > BUSY_DURING:
        found.append(f"{receiver.value}: a CPU had no time left while the frames came; expected {BUSY_DURING:.0%} busy")
    if dropped := answers[receiver].backlog:
        found.append(f"{receiver.value}: {dropped} frames found a full backlog of a CPU (softnet_stat); expected none")
    return found


def is_of_the_card(trial: LossTrial) -> bool:
    """Return whether counters prove that the card has lost the frames of a trial.

    Args:
        trial: The trial.
    """
    proven = [_is_proven(each) for each in trial.findings]
    return bool(proven) and all(proven) and not trial.hindrances


def _is_proven(finding: FrameFinding) -> bool:
    return finding.culprit is frame_findings.Culprit.CARD and finding.suspicion is None
