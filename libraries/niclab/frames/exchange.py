"""Streams over the paths of a bench, exchanged and judged."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from niclab.bench.records import Port, Role, Wiring
from niclab.core.exposure import Exposure
from niclab.frames.answers import ServerAnswer
from niclab.frames.blame import peer_trial
from niclab.frames.blame.frame_findings import FrameFinding, Trying, judge
from niclab.frames.frame_agents import FrameAgents, port_addresses
from niclab.frames.ledger import Ledger
from niclab.frames.spec import Arrives, FramePlan, FrameSpec, FrameStream, MadeBy, PortModes
from niclab.frames.wire import counted_sums
from niclab.run.run import Run
from niclab.run.watching import standstill

Say = Callable[[str], object]
"""Takes a sentence for the log."""

BROADCAST = "ff:ff:ff:ff:ff:ff"
ATTEMPTS = 3
"""An exchange in which a server stood still and frames were lost is made again, at most so often in all."""


class FrameBench:
    """The bench as the streams of a run need it: its paths, and the addresses of their ports as they are now."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ports = [run.bench.port(end) for path in run.bench.paths for end in path.ends]
        self._macs = port_addresses(run, self.ports)

    def of(self, role: Role) -> list[Port]:
        """The ports of a server, in the order of the paths."""
        return [port for port in self.ports if port.role is role]

    def mac(self, port: Port) -> str:
        """The MAC address of a port."""
        return self._macs[port]

    def addresses(self, sender: Port) -> tuple[str, str]:
        """The IPv4 addresses of a port and of its partner."""
        bench = self.run.bench
        return str(bench.address(sender).ip), str(bench.address(bench.partner(sender)).ip)

    def frames(self, name: str, sender: Port, count: int, sizes: Sequence[int], **spec: object) -> FrameStream:
        """A stream of crafted frames from a port to its partner.

        Args:
            name: What it is, for messages.
            sender: Port that sends.
            count: Number of frames.
            sizes: Bytes of the frames without FCS, taken in turn.
            spec: Other fields of the frames than the two ports' own.
        """
        receiver = self.run.bench.partner(sender)
        frame = FrameSpec(self.mac(sender), self.mac(receiver), addresses=self.addresses(sender))
        made = replace(frame, **spec)  # type: ignore[arg-type]  # fields by name
        return FrameStream(name, sender, receiver, count, tuple(sizes), made)

    def records(self, name: str, sender: Port, made_by: MadeBy, count: int, sizes: Sequence[int]) -> FrameStream:
        """A stream of records over a socket from a port to its partner; the sender's system makes the frames.

        A program of the receiver must get every record.

        Args:
            name: What it is, for messages.
            sender: Port that sends.
            made_by: UDP or TCP.
            count: Number of records.
            sizes: Bytes of the records, taken in turn.
        """
        receiver, addresses = self.run.bench.partner(sender), self.addresses(sender)
        made = FrameStream(name, sender, receiver, count, tuple(sizes), made_by=made_by, addresses=addresses)
        return replace(made, at_program=Arrives.ALL)


def exchange(
    run: Run,
    streams: Sequence[FrameStream],
    say: Say,
    modes: Mapping[Port, PortModes] | None = None,
    *,
    alone: bool = True,
    wire: Callable[[Mapping[Role, ServerAnswer]], Iterable[FrameFinding]] | None = None,
    meanwhile: Callable[[], object] | None = None,
    trying: Trying | None = None,
) -> tuple[Ledger, Mapping[Role, ServerAnswer]]:
    """Send streams, all at once, and judge what became of them.

    Args:
        run: The current run.
        streams: The streams.
        say: Takes what became of each.
        modes: What ports are to receive in addition to their own addresses.
        alone: Nothing else is sent meanwhile.
        wire: Judges captures of UDP and TCP, which are made at every port then.
        meanwhile: What is done while frames flow; streams without a count flow until it is over. Done once.
        trying: Tries the peer before a difference that it may have made is charged to the card; None: the same exchange
            without the card does.

    Returns:
        The ledger, which has no difference, and what both servers said.

    Raises:
        CardFailure: The card lost, doubled, reordered, damaged, retagged, leaked or miscounted frames.
        BenchFault: The peer alone did, or the tool failed.
        Undecided: The tool had no room for all frames, nobody knows whether the card or the peer is at fault, or a
            server stood still while frames were lost.
        NotApplicable: A server cannot send frames of its own.
    """
    plan, both = FramePlan(tuple(streams), modes or {}, alone, wire is not None), standstill.watch(run)
    before = both.told()
    for attempt in range(ATTEMPTS):
        answers = run.part(FrameAgents).exchange(plan, meanwhile)
        ledger = Ledger(plan, answers, run.interface, switched(run))
        findings = [*(wire(answers) if wire else ()), *ledger.findings(), *counted_sums.findings(plan, answers)]
        after = both.told() if findings else before
        stood, before = both.between(before, after), after
        if not stood or meanwhile or attempt == ATTEMPTS - 1:
            break
        say(f"again, as {', '.join(map(str, stood))}")
    for line in ledger.lines():
        say(line)
    for at, frames in compared(plan, answers).items():
        run.notes.exposed(Exposure.FRAMES, frames, at)
    judge(findings, stood, trying or (lambda suspected: peer_trial.tried(run, suspected, say)))
    return ledger, answers


def switched(run: Run) -> list[Port]:
    """Return the ports of the paths that go through the switch.

    Args:
        run: The current run.
    """
    return [run.bench.port(end) for path in run.bench.paths if path.through is Wiring.SWITCH for end in path.ends]


def compared(plan: FramePlan, answers: Mapping[Role, ServerAnswer]) -> Counter[str]:
    """Return the frames that came over each port of the dut, each way; one that an interface and a program got is one.

    Args:
        plan: What was sent.
        answers: What both servers said.
    """
    found = Counter[str]()
    for flow, stream in enumerate(plan.streams):
        arrived = answers[stream.receiver.role].arrived.items()
        came = max((found.frames for (_, number), found in arrived if number == flow), default=0)
        sends = stream.sender.role is Role.DUT
        found[f"{stream.sender.name} sends" if sends else f"{stream.receiver.name} receives"] += came
    return found


def strange_addresses(count: int, seed: int, multicast: bool = False) -> list[str]:
    """MAC addresses that no card has: locally administered, of documentation (RFC 7042, 00-00-5E-00-53).

    Args:
        count: How many.
        seed: The same addresses follow from the same number.
        multicast: Groups in place of single addresses.
    """
    noise, first = random.Random(seed), 0x03 if multicast else 0x02
    return [":".join(f"{byte:02x}" for byte in (first, *noise.randbytes(5))) for _ in range(count)]


def near_addresses(mac: str, bits: Sequence[int]) -> list[str]:
    """Addresses that differ from one in a bit each, which is not the one of groups.

    Args:
        mac: The address.
        bits: Numbers of the bits, 0 the lowest of the last byte.
    """
    value = int(mac.replace(":", ""), 16)
    found = [f"{value ^ 1 << bit:012x}" for bit in bits]
    return [":".join(text[at : at + 2] for at in range(0, 12, 2)) for text in found]
