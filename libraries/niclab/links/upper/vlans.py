"""VLANs of both servers, on ports and on bonds: made and removed, what must get through and what must not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack

from niclab.bench.records import Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, Collected, Trouble, blame, fail_with
from niclab.hosts.host_records import PingResult
from niclab.links.leaked_frames import LeakedFrames, untagged_ipv4
from niclab.links.path_ping import HEADER_BYTES, PING_COUNT, unanswered
from niclab.links.upper import upper_devices
from niclab.links.upper.bonds import Bonds
from niclab.links.upper.upper_devices import Stack
from niclab.run.run import Run
from niclab.run.watching.standstill import blameless


class HostVlans:
    """The VLANs of a run, one on each server; with two tags, an outer one below each.

    Args:
        run: The qualification run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._vlans: list[Stack] = []
        self._outer: list[Stack] = []
        self._differ = False

    # --- made and removed

    def on_first_path(self, dut_vlan: int, peer_vlan: int) -> None:
        """Make a VLAN on each end of the first path and move the ports' addresses to it.

        Untagged frames find no address then.

        Args:
            dut_vlan: VLAN id of the dut.
            peer_vlan: VLAN id of the peer.

        Raises:
            BenchFault: There are VLANs already, or one cannot be made. What was made is removed.
        """
        self._refuse_more()
        self._differ = dut_vlan != peer_vlan
        ports = {role: upper_devices.bonded_ports(self._run, role)[0] for role in Role}
        with self._whole() as undoing:
            for role, vlan_id in ((Role.DUT, dut_vlan), (Role.PEER, peer_vlan)):
                self._vlans.append(upper_devices.vlan_on_port(self._run, ports[role], vlan_id))
            undoing.pop_all()

    def on_bonds(self, vlan: int) -> None:
        """Make a VLAN on both bonds, with the addresses of the second path.

        Args:
            vlan: VLAN id.

        Raises:
            BenchFault: There are VLANs already, there is no bond, or one cannot be made. What was made is removed.
        """
        bonds = self._run.part(Bonds)
        self._refuse_more()
        with self._whole() as undoing:
            for role in Role:
                self._vlans.append(upper_devices.vlan_on_bond(self._run, bonds.stack(role), vlan))
            undoing.pop_all()

    def in_vlans_on_first_path(self, outer: int, inner: int) -> None:
        """Make a VLAN of 802.1ad on each end of the first path, and in it one of 802.1Q with the port's address.

        Args:
            outer: VLAN id of the outer tag.
            inner: VLAN id of the inner tag.

        Raises:
            NotApplicable: A system has no such tags.
            BenchFault: There are VLANs already, or one cannot be made. What was made is removed.
        """
        self._refuse_more()
        with self._whole() as undoing:
            for role in Role:
                port = upper_devices.bonded_ports(self._run, role)[0]
                below, above = upper_devices.vlan_in_vlan(self._run, port, outer, inner)
                self._outer.append(below)
                self._vlans.append(above)
            undoing.pop_all()

    def remove(self) -> None:
        """Remove the VLANs, if there are any.

        Raises:
            CardFailure: A port of the dut is not as it was before: MAC, MTU, up, addresses.
            BenchFault: Only a port of the peer is not, or a VLAN cannot be removed; the journal keeps it.
        """
        problems = list[Trouble]()
        for made in (self._vlans, self._outer):
            while made:
                problems += upper_devices.remove(self._run, made.pop())
        blame(problems)

    # --- what must hold

    def require_traffic(self) -> None:
        """See that pings over the VLANs, from both ends, are answered once, and that both VLANs count them as received.

        Raises:
            CardFailure: Naming the pings that were not, and the VLANs that counted too few.
            Undecided: A server stood still while pings were lost.
        """
        with blameless(self._run):
            fail_with(self._without_traffic())

    def _without_traffic(self) -> list[str]:
        before = self._received()
        problems = [problem for name, result in self._pings() for problem in unanswered(name, result)]
        for vlan, was, now in zip(self._both, before, self._received(), strict=True):
            if now - was < 2 * PING_COUNT:
                problems.append(
                    f"{vlan.server.name}: {vlan.name} has counted {now - was} packets received during {2 * PING_COUNT} "
                    "pings and answers; expected all of them"
                )
        return problems

    def require_isolation(self) -> None:
        """See that no ping is answered from either end, though both have sent, and that neither VLAN receives anything.

        Nothing may arrive on either port without its tag either: the port below would take it for its own. VLANs of the
        same id are kept apart by the switch between them, those of different ids by the cards.

        Raises:
            CardFailure: A ping is answered, or a VLAN or a port receives a frame of the other VLAN.
            BenchFault: The switch has passed one on, a VLAN has sent nothing, or the watch for untagged frames does not
                work.
        """
        apart = "the VLANs differ" if self._differ else "the switch has no such VLAN"
        before, sent_before, judged = self._received(), self._sent(), Collected()
        with ExitStack() as watches:
            leaked = [watches.enter_context(self._leaks(vlan)) for vlan in self._both]
            with judged.one():
                self._blame(
                    f"{name}: {result.received} of {result.sent} pings answered; expected none, {apart}"
                    for name, result in self._pings()
                    if result.received
                )
            with judged.one():
                watches.close()
        with judged.one():
            self._blame(
                f"{vlan.server.name}: {vlan.name} has received {now - was} packets of the other end; expected none, "
                f"{apart}"
                for vlan, was, now in zip(self._both, before, self._received(), strict=True)
                if now != was
            )
        with judged.one():
            self._blame(
                f"{', '.join(port.place for port in vlan.below)} has received a frame of another VLAN without its tag: "
                f"{seen.first}"
                for vlan, seen in zip(self._both, leaked, strict=True)
                if seen.first
            )
        with judged.one():
            for vlan, was, now in zip(self._both, sent_before, self._sent(), strict=True):
                if now == was:
                    raise BenchFault(f"{vlan.server.name}: {vlan.name} has sent nothing, so isolation is not tried")
        judged.end()

    def _blame(self, problems: Iterable[str]) -> None:
        """The cards keep VLANs of different ids apart, the switch those of one id."""
        blame([Trouble(problem, of_card=self._differ) for problem in problems])

    def require_full_size(self, say: Callable[[str], object]) -> None:
        """Ping with packets as long as the MTU, not to be fragmented, from both ends: the tag finds its room.

        Args:
            say: Takes what was answered.

        Raises:
            CardFailure: A packet was not answered.
            Undecided: A server stood still while packets were lost.
        """
        with blameless(self._run):
            fail_with(self._too_long(say))

    def _too_long(self, say: Callable[[str], object]) -> list[str]:
        """Packets of full size that were not answered."""
        problems = []
        dut, peer = self._both
        for mine, theirs in ((dut, peer), (peer, dut)):
            mtu = mine.server.host.links.interface(mine.name).mtu
            result = mine.server.host.links.ping(
                str(theirs.address.ip),
                source=str(mine.address.ip),
                count=PING_COUNT,
                size=mtu - HEADER_BYTES,
                dont_fragment=True,
            )
            say(f"{mine.server.name}: {result.received} of {result.sent} packets of {mtu} bytes answered")
            if result.received != result.sent:
                problems.append(
                    f"{mine.server.name}: {result.received} of {result.sent} packets of {mtu} bytes answered over "
                    f"{mine.name}; expected all. {' '.join(result.errors)}".rstrip(" .")
                )
        return problems

    @property
    def _both(self) -> list[Stack]:
        if not self._vlans:
            raise BenchFault("there is no VLAN: 'Put VLANs On ...' comes first")
        return self._vlans

    def _refuse_more(self) -> None:
        if self._vlans or self._outer:
            raise BenchFault("there are VLANs already: 'Remove VLANs' comes first")

    def _whole(self) -> ExitStack:
        undoing = ExitStack()
        undoing.callback(self.remove)
        return undoing

    def _leaks(self, vlan: Stack) -> AbstractContextManager[LeakedFrames]:
        """A watch on the port below ``vlan`` for untagged frames of the other end."""
        run, (port,) = self._run, vlan.below
        other = run.bench.partner(port)
        mac = run.server_of(other).host.links.interface(run.interface(other)).mac
        if mac is None:
            raise BenchFault(f"{other.place} has no MAC address to watch for")
        return untagged_ipv4(vlan.server, run.interface(port), mac)

    def _received(self) -> list[int]:
        return side_by_side(lambda vlan: vlan.server.host.counts.statistics(vlan.name).rx_packets, self._both)

    def _sent(self) -> list[int]:
        return side_by_side(lambda vlan: vlan.server.host.counts.statistics(vlan.name).tx_packets, self._both)

    def _pings(self) -> list[tuple[str, PingResult]]:
        """Pings from each end to the other, and from where to where."""

        def ping(ends: tuple[Stack, Stack]) -> tuple[str, PingResult]:
            mine, theirs = ends
            result = mine.server.host.links.ping(str(theirs.address.ip), source=str(mine.address.ip), count=PING_COUNT)
            return f"{mine.server.name} to {theirs.server.name} over {mine.name}", result

        dut, peer = self._both
        return side_by_side(ping, [(dut, peer), (peer, dut)])
