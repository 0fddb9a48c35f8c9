"""Virtual functions of a port: all can be made, each has frames of its own, and the port enforces their rules.

Every check raises BenchFault when the tool failed or something could not be put back, Undecided when the exchange
proves nothing or the sheet names functions that the system does not offer, and NotApplicable where a server does not
run Linux or the port has no virtual functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise

from niclab.bench.records import Port, Role, SiliconFact
from niclab.card import ExactFilter
from niclab.checks.asked import Say, dut
from niclab.core.verdict import CardFailure, NotApplicable, blame, fail_with
from niclab.frames.exchange import FrameBench, exchange, strange_addresses
from niclab.frames.frame_agents import FrameAgents, port_addresses
from niclab.frames.functions.function_ports import each_port, made, offered, require_links
from niclab.frames.ledger import Leg
from niclab.frames.spec import Arrives, FrameSpec, FrameStream
from niclab.links.upper import upper_devices
from niclab.run.run import Run
from niclab.run.temporary import put_back

COUNT, SIZES, SEED, PER_S = 97, (60, 1514, 301, 64), 23, 100.0
FEW = 2
"""Functions of a check whose question more of them would only repeat."""
VLAN, OTHER_VLAN = 100, 101
BEGINS_WITHIN_S = 10.0
"""Assumption: a frame of every flow has come by then."""
SEEN_WITHIN_S = 10.0
"""Assumption: the driver of a function has seen by then that its port is down, if it looks: igbvf does so every 2 s
(Linux kernel 6.1, igbvf/netdev.c, igbvf_watchdog_task())."""


class Sending:
    """Streams between the peer, a port of the dut and its functions, so slow that all of them fit on the wire."""

    def __init__(self, run: Run, port: Port, functions: Sequence[Port]) -> None:
        self.peer, self.port, self.functions = run.bench.partner(port), port, functions
        self.macs = port_addresses(run, [self.peer, port, *functions])

    def stream(self, name: str, sender: Port, receiver: Port, **spec: object) -> FrameStream:
        """Frames from one to another; ``spec``: other fields of the frames than the two addresses."""
        frame = replace(FrameSpec(self.macs[sender], self.macs[receiver]), **spec)  # type: ignore[arg-type]
        return FrameStream(name, sender, receiver, COUNT, SIZES, frame, per_s=PER_S)

    def both_ways(self) -> list[FrameStream]:
        """Frames of everyone with the peer, both ways."""
        return [
            self.stream("frames to its own address", *ends)
            for each in (self.port, *self.functions)
            for ends in ((self.peer, each), (each, self.peer))
        ]


def first_port(run: Run) -> Port:
    """The port of a check that takes all functions, or long: those of two functions ask every port for frames."""
    return run.bench.end(run.bench.paths[0], Role.DUT)


def few(run: Run, port: Port) -> int:
    """Count the functions of a check whose question more of them would only repeat."""
    return min(FEW, offered(run, port).most)


def made_and_removed(run: Run, say: Say) -> None:
    """Let every port of the dut have one virtual function, and as many as it offers: each has its own MAC address.

    Args:
        run: The current run.
        say: Takes what was seen of each.

    Raises:
        CardFailure: A port offers another number than the sheet says, does not make them, two have one address, one
            gets no interface or no link, or one does not go.
    """
    each_port(run, lambda port: _made_and_removed(run, port, say))


def _made_and_removed(run: Run, port: Port, say: Say) -> None:
    most = offered(run, port).most
    for count in dict.fromkeys((1, most)):
        with made(run, port, count, say) as functions:
            macs = port_addresses(run, [port, *functions])
            by_mac = dict[str, list[str]]()
            for each, mac in macs.items():
                by_mac.setdefault(mac, []).append(each.place)
            fail_with([f"{', '.join(who)}: all have MAC address {mac}" for mac, who in by_mac.items() if who[1:]])
            say(f"{port.name}: {count} of {most} virtual functions: {', '.join(macs[each] for each in functions)}")


def carry_frames(run: Run, say: Say) -> None:
    """Exchange frames of all functions of a port, and of the port itself, with the peer, and of two with each other.

    Frames for an address that nobody has are sent among them: no function receives them, nor does a port whose filter
    is exact.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: A frame is lost or damaged, comes twice, out of order, or to another function or port.
    """
    port = first_port(run)
    with made(run, port, offered(run, port).most, say) as functions:
        sending = Sending(run, port, functions)
        (nobody,) = strange_addresses(1, SEED)
        strange = sending.stream("frames to a strange address", sending.peer, port, destination=nobody)
        inside = [sending.stream("frames inside of the card", *ends) for ends in pairwise(functions)]
        streams = [*sending.both_ways(), *inside, replace(strange, at_port=_of_strangers(run))]
        exchange(run, streams, say)


def _of_strangers(run: Run) -> Arrives:
    """The arrival of frames for others at a port: none, where its filter is known to be exact."""
    facts, fact = run.card.filters, SiliconFact.UNICAST_FILTER
    is_exact = facts is not None and facts.unicast is ExactFilter.EXACT
    return Arrives.NONE if is_exact and run.bench.deviation(run.card.name, fact) is None else Arrives.ANY


def refuse_spoofed(run: Run, say: Say) -> None:
    """Send frames from functions whose source is not their own address, among frames whose source is.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: One gets out, or one that is right does not.
        Deviation: The bench declares that its emulated card lets them out.
    """
    each_port(run, lambda port: _refuse_spoofed(run, port, say))


def _refuse_spoofed(run: Run, port: Port, say: Say) -> None:
    count = few(run, port)
    if declared := run.bench.deviation(run.card.name, SiliconFact.SPOOF_CHECK):
        raise declared.verdict("refused")
    with made(run, port, count, say) as functions:
        sending = Sending(run, port, functions)
        for number in range(count):
            _require_spoof_check(run, port, number)
        (strange,) = strange_addresses(1, SEED + 1)
        right = [sending.stream("frames from its own address", each, sending.peer) for each in functions]
        spoofed = [
            replace(sending.stream(f"frames from {what}", each, sending.peer, source=source), at_port=Arrives.ANY)
            for each in functions
            for what, source in (("a strange address", strange), ("the address of the port", sending.macs[port]))
        ]
        ledger, _ = exchange(run, [*right, *spoofed], say)
        fail_with([problem for leg in ledger.legs for problem in _got_out(leg)])


def _require_spoof_check(run: Run, port: Port, number: int) -> None:
    attempt = dut(run).functions.set_spoof_check(run.interface(port), number, True)
    shown = {each.number: each.spoof_check for each in attempt.now}.get(number)
    if attempt.not_offered and shown is not True:
        raise NotApplicable(f"{port.place}: its driver checks no addresses of functions: {attempt.refused}")
    if shown is not True:
        said = f"{port.place}: virtual function {number}: spoof check was switched on, it shows {shown}"
        raise CardFailure(f"{said}{_refusal(attempt.refused)}; expected it on")


def _refusal(words: str | None) -> str:
    return f", refused: {words}" if words else ""


def _got_out(leg: Leg) -> list[str]:
    return [
        f"{leg.sender.place}: {came.frames} of {leg.sent[flow].frames} {leg.streams[flow].name} got out to "
        f"{leg.receiver.name}, while its spoof check is on; expected none"
        for flow, came in leg.arrived.items()
        if leg.streams[flow].at_port is Arrives.ANY and came.frames
    ]


def keep_their_vlan(run: Run, say: Say) -> None:
    """Put a function into a VLAN: its frames have the tag on the wire, and it sees those of the VLAN without one.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: The VLAN is not taken, a frame leaves with another tag or none, or arrives from another VLAN.
    """
    each_port(run, lambda port: _keep_vlan(run, port, say))


def _keep_vlan(run: Run, port: Port, say: Say) -> None:
    with made(run, port, few(run, port), say) as functions, ExitStack() as undoing:
        sending = Sending(run, port, functions)
        inside, *outside = functions
        _set_vlan(run, port)
        tagged = upper_devices.vlans_without_addresses(run, sending.peer, (VLAN, OTHER_VLAN))
        undoing.callback(lambda: blame(upper_devices.remove(run, tagged)))
        out = sending.stream(f"frames of VLAN {VLAN} without tag", inside, sending.peer)
        own = sending.stream(f"frames of VLAN {VLAN}", sending.peer, inside, vlans=(VLAN,))
        others = [
            replace(sending.stream(name, sending.peer, inside, vlans=vlans), at_port=Arrives.NONE)
            for name, vlans in ((f"frames of VLAN {OTHER_VLAN}", (OTHER_VLAN,)), ("frames without tag", ()))
        ]
        untouched = [
            sending.stream("frames next to the VLAN", *ends)
            for each in outside
            for ends in ((sending.peer, each), (each, sending.peer))
        ]
        exchange(run, [replace(out, tags=(VLAN,)), replace(own, tags=()), *others, *untouched], say)


def send_in_their_vlan(run: Run, say: Say) -> None:
    """Put a function into a VLAN, and send frames from it that have a tag of another VLAN already.

    They may be dropped, or leave in the function's own VLAN, with its tag before theirs.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: One gets out in another VLAN or in none, the VLAN is not taken, or a frame without a tag is lost.
    """
    each_port(run, lambda port: _send_in_vlan(run, port, say))


def _send_in_vlan(run: Run, port: Port, say: Say) -> None:
    with made(run, port, 1, say) as functions, ExitStack() as undoing:
        sending = Sending(run, port, functions)
        _set_vlan(run, port)
        tagged = upper_devices.vlans_without_addresses(run, sending.peer, (VLAN, OTHER_VLAN))
        undoing.callback(lambda: blame(upper_devices.remove(run, tagged)))
        name = f"frames with a tag of VLAN {OTHER_VLAN}"
        spoofed = sending.stream(name, functions[0], sending.peer, vlans=(OTHER_VLAN,))
        ledger, _ = exchange(run, [replace(spoofed, at_port=Arrives.ANY)], say)
        fail_with([problem for leg in ledger.legs for problem in _got_out_of_vlan(leg)])
        own = sending.stream(f"frames of VLAN {VLAN} without tag", functions[0], sending.peer)
        exchange(run, [replace(own, tags=(VLAN,))], say)


def _got_out_of_vlan(leg: Leg) -> list[str]:
    """The frames whose outer tag is not that of the function's VLAN."""
    found = list[str]()
    for flow, came in leg.arrived.items():
        others = {tags: n for tags, n in came.tags.items() if vlan_id(tags) != VLAN}
        if others:
            shown = ", ".join(f"{tags or 'none'} ({n})" for tags, n in sorted(others.items()))
            said = f"{leg.sender.place}: {sum(others.values())} of {leg.sent[flow].frames} {leg.streams[flow].name}"
            said = f"{said} got out to {leg.receiver.name}, with tags {shown}, while its port has put it into"
            found.append(f"{said} VLAN {VLAN}; expected none but in that")
    return found


def vlan_id(tags: str) -> int:
    """The VLAN of a frame: that of its outer tag, 0 without one.

    Args:
        tags: Its tags as the receiver says them: ``100.101``.
    """
    return int(tags.partition(".")[0] or 0) & 0xFFF


def _set_vlan(run: Run, port: Port) -> None:
    attempt = dut(run).functions.set_vlan(run.interface(port), 0, VLAN)
    shown = {each.number: each.vlan for each in attempt.now}.get(0)
    if attempt.not_offered:
        raise NotApplicable(f"{port.place}: its driver puts no function into a VLAN: {attempt.refused}")
    if attempt.refused is not None or shown != VLAN:
        said = f"{port.place}: virtual function 0 was put into VLAN {VLAN}, it shows {shown}"
        raise CardFailure(f"{said}{_refusal(attempt.refused)}; expected {VLAN}")


def over_other_ports(run: Run, port: Port) -> list[FrameStream]:
    """Return streams of frames both ways over every other path than a port's, for as long as something else goes on."""
    bench = FrameBench(run)
    others = [each for each in bench.ports if each not in (port, run.bench.partner(port))]
    return [replace(bench.frames("frames of another port", each, 0, SIZES), per_s=PER_S) for each in others]


def leave_other_ports(run: Run, say: Say) -> None:
    """Make functions of one port and remove them while frames flow over every other port of the card.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: A frame of another port is lost or damaged, or they are not made or do not go.
        NotApplicable: The dut has one port on a path.
    """
    port = first_port(run)
    most, flowing = offered(run, port).most, over_other_ports(run, port)
    if not flowing:
        raise NotApplicable(f"{port.place} is the only port of the dut on a path")

    def come_and_go() -> None:
        run.part(FrameAgents).gaps(BEGINS_WITHIN_S)
        with made(run, port, most, say):
            pass

    exchange(run, flowing, say, meanwhile=come_and_go)


def survive_their_port(run: Run, say: Say) -> None:
    """Take a port down, until its functions have seen it, and up: they carry frames again.

    Args:
        run: The current run.
        say: Takes what was seen of each.

    Raises:
        CardFailure: A link does not return in time, or frames do not pass.
    """
    port = first_port(run)
    with made(run, port, few(run, port), say) as functions:
        host, iface = dut(run), run.interface(port)
        with put_back(run, run.server_of(port), port.name, f"{iface} goes down", host.undo.link(iface, True), iface):
            host.links.set_link(iface, False)
            kept = len(host.links.await_carriers([run.interface(each) for each in functions], False, SEEN_WITHIN_S))
            say(f"{port.name} was down: {kept} of {len(functions)} virtual functions keep their carrier")
        require_links(run, port, functions, say)
        exchange(run, Sending(run, port, functions).both_ways(), say)
