"""The first path where it goes through the switch: its port shut and opened, frames counted, VLANs kept apart."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from niclab.bench.records import BenchPath, Port, Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, CardFailure, Trouble, Undecided, blame, blame_charged, fail_with
from niclab.core.wait import NotInTime, pause, persistent_problems, until
from niclab.hosts.host_records import PingResult
from niclab.links import carrier, link_checks, switch_ports, wiring
from niclab.links.path_ping import PING_COUNT
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.run.watching.standstill import blameless
from niclab.switch.switch import CLOCK_SLACK_S
from niclab.switch.switch_port_table import difference
from niclab.switch.switch_records import Oper, PortCounters

PINGS = 200
"""Linux' ping waits for the last answer no longer than that, or two round trips; 5 ms were few for a busy server."""
COUNTED_WITHIN_S = 5.0
"""Assumption: some switches bring their counts up to date only every few seconds; drivers do so each second (bnx2x)."""
AT_REST_S = 0.2
"""Assumption: a frame that the switch has counted as sent is counted by the card within this time."""
FORGOTTEN_WITHIN_S = 3.0
"""Assumption: a switch forgets what it learned at a port when the link is lost, not when the entry is old (802.1D-2004,
7.9: ageing takes 300 s); its agent may show it a moment later."""
FIRST_NATIVE = 1
"""The VLAN of untagged frames on a trunk where nothing else is said (IEEE 802.1Q, 9.6: the default PVID)."""


@dataclass(frozen=True)
class Carried:
    """Frames that a port of the card has counted."""

    sent: int
    received: int

    def since(self, before: Carried) -> Carried:
        """The frames since another look.

        Args:
            before: The other look.
        """
        return Carried(self.sent - before.sent, self.received - before.received)


class SwitchedPath:
    """The first path of a run through the switch.

    Args:
        run: The qualification run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._began = 0.0
        self._before: dict[Port, int] = {}
        self._learned = ""

    # --- the switch's port of the dut

    def shut(self) -> None:
        """Shut the switch's port of the dut; :meth:`open` or the journal opens it.

        Raises:
            NotApplicable: The dut's port is on no switch.
            BenchFault: The switch does not shut it.
        """
        self._learned = wiring.mac_of(self._run, self._dut)
        self._before = link_checks.carrier_changes(self._run)
        standstill.watch(self._run)  # begun now: it takes a server a moment, and carrier is timed
        self._began = time.monotonic()
        switch_ports.shut(self._run, self._dut)

    def open(self) -> None:
        """Open it again.

        Raises:
            BenchFault: The switch does not open it.
        """
        self._began = time.monotonic()
        switch_ports.open_port(self._run, self._dut)

    def require_carrier(self, up: bool, say: Callable[[str], object]) -> None:
        """See that the dut's port loses or gets carrier within the sheet's time after the port was shut or opened.

        Args:
            up: True for carrier, False for none.
            say: Takes what was seen.

        Raises:
            CardFailure: It does not.
            BenchFault: The switch still has a link at the port that was shut, or the switch or the peer keeps the link
                down.
            Undecided: The answer came too late to decide, a server stood still, or the switch shut the port late.
        """
        with blameless(self._run):
            try:
                carrier.expect(self._run, [self._dut], up=up, began=self._began, say=say)
            except CardFailure as error:
                if not up:
                    self._require_shut_for_long(error, time.monotonic())
                raise

    def _require_shut_for_long(self, late: CardFailure, known_s: float) -> None:
        """See that the switch had no link for as long as the sheet allows when the dut's port still had carrier."""
        run, theirs = self._run, switch_ports.switch_port(self._run, self._dut)
        limit_s = run.card.known(run.card.limits.carrier_loss_within_ms, "limits.carrier_loss_within_ms") / 1000
        down_s = run.switch.ports.down_for_s(theirs)
        if down_s == 0:
            raise BenchFault(f"{late}; {run.switch.name}: {theirs} was shut and has a link; expected none") from late
        if down_s is not None and down_s > time.monotonic() - self._began + CLOCK_SLACK_S:
            down_s = None  # longer than it is shut: the switch does not keep the time of that change
        until_known = None if down_s is None else down_s - (time.monotonic() - known_s)
        if until_known is None or until_known < limit_s:
            since = "an unknown time" if until_known is None else f"{1000 * until_known:.0f} ms"
            raise Undecided(f"{late}; {run.switch.name}: {theirs} had no link for {since} by then") from late

    def require_others_unaffected(self) -> None:
        """See that no other port, the partner neither, has counted a change of carrier since the port was shut.

        Raises:
            CardFailure: Naming the ports that have, one of the dut among them.
            Undecided: Both ends of a cable have, or the dut's end where a switch has the other one.
            BenchFault: Only ports of the peer have.
        """
        name = self._dut.name
        when = f"while the switch's port of {name} was shut"
        blame_charged(link_checks.unexpected_changes(self._run, self._before, frozenset({name}), when))

    def require_reported_loss(self) -> None:
        """See that the switch reports the port as down, and forgets the address that it had learned there.

        A switch that does not sends the frames of a server that fails over to the lost link until the entry is old.

        Raises:
            BenchFault: The switch does not; it is not the card that is wrong.
        """
        run, port = self._run, self._dut
        theirs = switch_ports.switch_port(run, port)
        run.switch.ports.wait_oper(theirs, Oper.DOWN, within_s=FORGOTTEN_WITHIN_S)

        def forgotten() -> bool:
            return theirs not in run.switch.tables.ports_of_mac(self._learned)

        try:
            until(forgotten, within=FORGOTTEN_WITHIN_S, what="forgotten", every=0.2, error=NotInTime)
        except NotInTime as error:
            raise BenchFault(
                f"{run.switch.name}: {theirs} has no link, and the address {self._learned} of {port.name} is known "
                f"there still after {FORGOTTEN_WITHIN_S:g} s; expected it to be forgotten with the link"
            ) from error

    # --- frames counted

    def require_equal_counts(self) -> None:
        """Ping over the path, and see that the switch counts each port's frames as the card does, and drops none.

        Reading takes time: counters that differ are read again while the switch may still have to count.

        Raises:
            CardFailure: The counters of the dut's port differ.
            Undecided: A ping was not answered and a server stood still, or all counters agree.
            BenchFault: The switch drops frames or does not count, the counters of the peer's port differ, the ports
                never rest, or a server or the switch does not answer.
        """
        run, dut = self._run, self._dut
        pause(COUNTED_WITHIN_S)  # what passed before is counted by now
        before, carried_before = self._counted_at_rest()

        def problems(answered: int) -> list[Trouble]:
            carried = [after.since(then) for after, then in zip(self._carried(), carried_before, strict=True)]
            return count_differences(self._ends, carried, self._counted_since(before), answered)

        def require_agreement(answered: int) -> None:
            blame(persistent_problems(lambda: problems(answered), within=COUNTED_WITHIN_S, every=0.5))

        with blameless(run):
            result = run.server_of(dut).host.links.ping(
                str(run.bench.address(run.bench.partner(dut)).ip),
                source=str(run.bench.address(dut).ip),
                count=PINGS,
            )
            if result.received != result.sent:
                require_agreement(result.received)
                raise Undecided(
                    f"{dut.place}: {result.received} of {result.sent} pings answered; expected all; both cards and "
                    f"{run.switch.name} have counted the same frames, so that none of them is seen to have lost one"
                )
        require_agreement(result.received)

    def _counted_at_rest(self) -> tuple[list[PortCounters], list[Carried]]:
        """Return the counts of the switch and of the card's ports while no port was sending or receiving.

        Raises:
            BenchFault: They never rest: somebody else sends over the card.
        """
        while_still: list[tuple[list[PortCounters], list[Carried]]] = []

        def still() -> bool:
            carried, counted = self._carried(), self._counted()
            while_still[:] = [(counted, carried)]
            pause(AT_REST_S)
            return self._carried() == carried

        until(still, within=COUNTED_WITHIN_S, what="the ports of the card to carry nothing by themselves", every=0.5)
        return while_still[0]

    def _counted(self) -> list[PortCounters]:
        run = self._run
        return [run.switch.ports.counters(switch_ports.switch_port(run, port)) for port in self._ends]

    def _counted_since(self, before: list[PortCounters]) -> list[dict[str, int]]:
        return [
            difference(then, now, f"{self._run.switch.name}: port of {port.name}")
            for port, then, now in zip(self._ends, before, self._counted(), strict=True)
        ]

    def _carried(self) -> list[Carried]:
        def carried(port: Port) -> Carried:
            shown = self._run.server_of(port).host.counts.statistics(self._run.interface(port))
            return Carried(shown.tx_packets, shown.rx_packets)

        return side_by_side(carried, self._ends)

    # --- VLANs of the switch

    def put_in_vlans(self, dut_vlan: int, peer_vlan: int) -> None:
        """Make the switch's ports of the path access ports.

        Args:
            dut_vlan: VLAN id of the dut's port.
            peer_vlan: VLAN id of the peer's port.

        Raises:
            BenchFault: The switch does not.
        """
        for role, vlan in ((Role.DUT, dut_vlan), (Role.PEER, peer_vlan)):
            switch_ports.set_vlans(self._run, self._run.bench.end(self._path, role), switch_ports.access(vlan))

    def require_traffic(self) -> None:
        """See that pings from each end are answered.

        Raises:
            CardFailure: One was not.
            Undecided: A server stood still while one was lost, or the switch has not passed on so many frames that
                it received: such as while its spanning tree learns (802.1D-2004, 17.20), or what came in another VLAN.
        """
        before = self._counted()
        with blameless(self._run):
            pings = self._pings()
            lost = [f"{what}; expected all" for result, what in pings if result.received != result.sent]
            kept = list[tuple[str, float]]()
            if lost:
                kept = persistent_problems(lambda: self._kept(before), within=COUNTED_WITHIN_S, every=0.5)
            said, most = [text for text, _ in kept], sum(excused for _, excused in kept)
            if sum(result.sent - result.received for result, _ in pings) > most:
                fail_with(lost, said)
            fail_with([], [*lost, *said])

    def _kept(self, before: list[PortCounters]) -> list[tuple[str, float]]:
        """The frames of each end that the switch has received and not passed on, and how many pings that may lose.

        A frame is one ping, or its answer. Where an end asks for an address (ARP), it may be that question or the
        answer to it, without which no ping leaves.
        """
        counted, found = self._counted_since(before), list[tuple[str, float]]()
        asked = any(each["in_broadcast"] for each in counted)
        for port, here, there in zip(self._ends, counted, reversed(counted), strict=True):
            received = here["in_unicast"] + here["in_broadcast"]
            passed = there["out_unicast"] + there["out_broadcast"]
            if passed < received:
                text = f"the switch has received {received} frames of {port.name}, and passed on {passed}"
                found.append((text, math.inf if asked else received - passed))
        return found

    def require_isolation(self, say: Callable[[str], object]) -> None:
        """See that no ping is answered, and that the switch passes nothing on, though it has received frames.

        Frames to groups are left out: the switch speaks to its neighbours itself, of itself.

        Args:
            say: Takes what the switch has received and passed on.

        Raises:
            BenchFault: The switch passes frames of another VLAN on, or has received none.
        """
        run = self._run
        theirs = [switch_ports.switch_port(run, port) for port in self._ends]
        before = [run.switch.ports.counters(name) for name in theirs]
        answered = [what for result, what in self._pings() if result.received]
        problems = []
        for port, name, then in zip(self._ends, theirs, before, strict=True):
            subject = f"{run.switch.name}: {name} ({port.name})"
            counted = difference(then, run.switch.ports.counters(name), subject)
            passed = counted["out_unicast"] + counted["out_broadcast"]
            received = counted["in_unicast"] + counted["in_broadcast"]
            say(f"{subject}: {received} frames received, {passed} passed on")
            if received == 0:
                raise BenchFault(f"{subject} has received nothing, so isolation is not tried")
            if passed:
                problems.append(f"{subject} has passed on {passed} frames of another VLAN; expected none")
        problems += [f"{what}; expected none, the VLANs differ" for what in answered]
        if problems:
            raise BenchFault("\n".join(problems))

    def _pings(self) -> list[tuple[PingResult, str]]:
        """Pings from each end to the other, and what came of them."""
        run = self._run

        def ping(port: Port) -> tuple[PingResult, str]:
            partner = run.bench.partner(port)
            source, target = (str(run.bench.address(end).ip) for end in (port, partner))
            result = run.server_of(port).host.links.ping(target, source=source, count=PING_COUNT)
            return result, f"{port.place} to {partner.name}: {result.received} of {result.sent} pings answered"

        return side_by_side(ping, self._ends)

    # --- the path

    @property
    def _path(self) -> BenchPath:
        return self._run.bench.paths[0]

    @property
    def _ends(self) -> list[Port]:
        """The dut's port first."""
        return [self._run.bench.end(self._path, role) for role in Role]

    @property
    def _dut(self) -> Port:
        return self._run.bench.end(self._path, Role.DUT)


def make_every_port_a_trunk(run: Run, vlan: int) -> None:
    """Make every port of the switch carry a VLAN with a tag, and untagged frames as before.

    Args:
        run: The qualification run.
        vlan: VLAN id.

    Raises:
        NotApplicable: A port is on no switch.
        BenchFault: The switch does not.
    """
    for port in link_checks.ports_on_paths(run):
        switch_ports.set_vlans(run, port, switch_ports.trunk(frozenset({vlan}), FIRST_NATIVE))


def require_no_restart(run: Run) -> None:
    """See that the switch has run on since the bench was taken: a restart drops every link and counter.

    Args:
        run: The qualification run.

    Raises:
        BenchFault: The switch has restarted, or its uptime was not read when the bench was taken.
    """
    before, now = run.switch_uptime, run.switch.uptime()
    if before is None:
        raise BenchFault(f"{run.switch.name}: its uptime was not read when the bench was taken")
    if before.restarted_by(now):
        raise BenchFault(
            f"{run.switch.name}: restarted during the run (sysUpTime {before.ticks / 100:.0f} s when the bench was "
            f"taken, {now.ticks / 100:.0f} s now, {now.at_s - before.at_s:.0f} s later)"
        )


def count_differences(
    ports: list[Port], carried: list[Carried], counted: list[dict[str, int]], answered: int = PINGS
) -> list[Trouble]:
    """Find what does not agree between the two ends of a path and the switch after pings.

    So many frames as there were answers came through: a port of the switch that counts fewer does not count.

    Args:
        ports: Both ends.
        carried: Frames that each port of the card has sent and received.
        counted: What the switch's port of each has counted.
        answered: Pings that were answered.

    Returns:
        The problems; empty when all agrees.
    """
    problems = list[Trouble]()
    for port, frames, here, there in zip(ports, carried, counted, reversed(counted), strict=True):
        problems += _of_sent(port, frames.sent, here, answered)
        problems += _of_received(port, frames.received, here, there, answered)
        if here["in_unicast"] != there["out_unicast"]:
            text = (
                f"the switch has received {here['in_unicast']} frames of {port.name} for its partner, and passed on "
                f"{there['out_unicast']}; expected all"
            )
            problems.append(Trouble(text, of_card=False))
        if here["in_errors"]:
            text = f"the switch's port of {port.name} counts in_errors {here['in_errors']}; expected none"
            problems.append(Trouble(text, port.role is Role.DUT))
        dropped = {name: here[name] for name in ("in_discards", "out_errors", "out_discards") if here[name]}
        if dropped:
            found = ", ".join(f"{name} {count}" for name, count in dropped.items())
            problems.append(Trouble(f"the switch's port of {port.name} counts {found}; expected none", of_card=False))
    return problems


def _of_sent(port: Port, sent: int, here: dict[str, int], answered: int) -> list[Trouble]:
    received = here["in_unicast"] + here["in_multicast"] + here["in_broadcast"]
    if sent >= answered and received == sent:
        return []
    text = f"{port.place} has sent {sent} frames, the switch has received {received}; expected all"
    switch_counts = sent < answered or received >= answered
    return [Trouble(text, port.role is Role.DUT and switch_counts)]


def _of_received(
    port: Port, received: int, here: dict[str, int], there: dict[str, int], answered: int
) -> list[Trouble]:
    """A card need not count frames to groups, nor those for others that the switch floods.

    Where the two ports of the switch differ, which is the switch's own trouble, either may be right.
    """
    unicast = (here["out_unicast"], there["in_unicast"])
    least, most = max(answered, min(unicast)), max(unicast) + here["out_multicast"] + here["out_broadcast"]
    if least <= received <= most:
        return []
    text = f"{port.place} has received {received} frames, the switch has sent {most}; expected {least} or more of them"
    switch_counts = received < answered or most >= answered
    return [Trouble(text, port.role is Role.DUT and switch_counts)]
