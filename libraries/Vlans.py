"""VLANs on ports and on bonds: what must get through, and what must not."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, fail_with
from niclab.hosts.records import PingResult
from niclab.links import upper
from niclab.links.bonds import Bonds
from niclab.links.stray import StrayFrames, untagged_ipv4
from niclab.links.upper import Stack
from niclab.run.run import current

PING_COUNT = 10
PING_OVERHEAD_BYTES = 28
"""IPv4 header (20) and ICMP header (8): a ping of MTU - 28 bytes fills a packet."""


@library(scope="GLOBAL")
class Vlans(BenchLibrary):
    """Keywords about VLANs. Constructing the library connects to nothing."""

    def __init__(self) -> None:
        self._vlans: list[Stack] = []
        self._outer: list[Stack] = []

    @keyword
    def put_vlans_on_the_first_path(self, dut_vlan: int, peer_vlan: int) -> None:
        """A VLAN on each end of the first path; the ports' addresses move to them, so untagged frames do not answer.

        `Remove Vlans` undoes it.
        """
        run = self.run
        self._refuse_more()
        ports = {role: upper.bonded_ports(run, role)[0] for role in Role}
        with self._whole() as undoing:
            for role, vlan_id in ((Role.DUT, dut_vlan), (Role.PEER, peer_vlan)):
                self._vlans.append(upper.vlan_on_port(run, ports[role], vlan_id))
            undoing.pop_all()

    @keyword
    def put_vlans_on_the_bonds(self, vlan: int) -> None:
        """A VLAN on both bonds, with the addresses of the second path. `Remove Vlans` undoes it."""
        bonds = self.run.part(Bonds)
        self._refuse_more()
        with self._whole() as undoing:
            for role in Role:
                self._vlans.append(upper.vlan_on_bond(self.run, bonds.stack(role), vlan))
            undoing.pop_all()

    @keyword
    def put_vlans_in_vlans_on_the_first_path(self, outer: int, inner: int) -> None:
        """A VLAN of 802.1ad on each end of the first path, and in it one of 802.1Q with the port's address: every frame
        has two tags. `Remove Vlans` undoes it."""
        run = self.run
        self._refuse_more()
        with self._whole() as undoing:
            for role in Role:
                below, above = upper.vlan_in_vlan(run, upper.bonded_ports(run, role)[0], outer, inner)
                self._outer.append(below)
                self._vlans.append(above)
            undoing.pop_all()

    @keyword
    def remove_vlans(self) -> None:
        """Take the VLANs away, if there are any; every port is then as it was: MAC, MTU, up, addresses."""
        problems = []
        for made in (self._vlans, self._outer):
            while made:
                problems += upper.remove(self.run, made.pop())
        fail_with(problems)

    @keyword
    def vlans_should_carry_traffic(self) -> None:
        """Ten pings from both ends are answered, and both VLANs have counted them as received."""
        before = self._received()
        problems = []
        for name, result in self._pings():
            if result.received != result.sent or result.duplicates:
                problems.append(
                    f"{name}: {result.received} of {result.sent} pings answered, {result.duplicates} twice; "
                    "wanted: each once"
                )
        for vlan, was, now in zip(self._made(), before, self._received(), strict=True):
            if now - was < 2 * PING_COUNT:
                problems.append(
                    f"{vlan.server.name}: {vlan.name} has counted {now - was} packets received during {2 * PING_COUNT} "
                    "pings and answers; wanted: all of them"
                )
        fail_with(problems)

    @keyword
    def vlans_should_be_isolated(self) -> None:
        """No ping is answered from either end, though both have sent; neither VLAN has received anything.

        And nothing of it has arrived on either port without its tag: the port below would take it for its own.
        """
        before, sent_before = self._received(), self._sent()
        with ExitStack() as watches:
            stray = [watches.enter_context(self._stray(vlan)) for vlan in self._made()]
            problems = [
                f"{name}: {result.received} of {result.sent} pings answered; wanted: none, the VLANs differ"
                for name, result in self._pings()
                if result.received
            ]
        for vlan, was, now, sent in zip(self._made(), before, self._received(), self._sent(), strict=True):
            if now != was:
                problems.append(
                    f"{vlan.server.name}: {vlan.name} has received {now - was} packets of another VLAN; wanted: none"
                )
            if sent == sent_before[self._made().index(vlan)]:
                raise BenchFault(f"{vlan.server.name}: {vlan.name} has sent nothing, so isolation is not tried")
        for vlan, seen in zip(self._made(), stray, strict=True):
            if seen.first:
                below = ", ".join(port.place for port in vlan.below)
                problems.append(f"{below} has received a frame of another VLAN without its tag: {seen.first}")
        fail_with(problems)

    @staticmethod
    def _stray(vlan: Stack) -> AbstractContextManager[StrayFrames]:
        """A watch on the port below ``vlan`` for untagged frames of the other end."""
        run, (port,) = current(), vlan.below
        other = run.bench.partner(port)
        mac = run.server_of(other).host.interface(run.interface(other)).mac
        if mac is None:
            raise BenchFault(f"{other.place} has no MAC address to watch for")
        return untagged_ipv4(vlan.server, run.interface(port), mac)

    @keyword
    def vlans_should_carry_packets_of_full_size(self) -> None:
        """Packets as long as the MTU, not to be fragmented, are answered from both ends: the tag finds its room."""
        problems = []
        for mine, theirs in ((0, 1), (1, 0)):
            vlan = self._made()[mine]
            mtu = vlan.server.host.interface(vlan.name).mtu
            result = vlan.server.host.ping(
                str(self._made()[theirs].address.ip),
                source=str(vlan.address.ip),
                count=PING_COUNT,
                size=mtu - PING_OVERHEAD_BYTES,
                dont_fragment=True,
            )
            logger.info(f"{vlan.server.name}: {result.received} of {result.sent} packets of {mtu} bytes answered")
            if result.received != result.sent:
                problems.append(
                    f"{vlan.server.name}: {result.received} of {result.sent} packets of {mtu} bytes answered over "
                    f"{vlan.name}; wanted: all. {' '.join(result.errors)}".rstrip(" .")
                )
        fail_with(problems)

    def _made(self) -> list[Stack]:
        if not self._vlans:
            raise BenchFault("there is no VLAN: 'Put Vlans On ...' comes first")
        return self._vlans

    def _refuse_more(self) -> None:
        if self._vlans or self._outer:
            raise BenchFault("there are VLANs already: 'Remove Vlans' comes first")

    def _whole(self) -> ExitStack:
        undoing = ExitStack()
        undoing.callback(self.remove_vlans)
        return undoing

    def _received(self) -> list[int]:
        return side_by_side(lambda vlan: vlan.server.host.statistics(vlan.name).rx_packets, self._made())

    def _sent(self) -> list[int]:
        return side_by_side(lambda vlan: vlan.server.host.statistics(vlan.name).tx_packets, self._made())

    def _pings(self) -> list[tuple[str, PingResult]]:
        """Ten pings from each end to the other, and from where to where."""

        def ping(ends: tuple[Stack, Stack]) -> tuple[str, PingResult]:
            mine, theirs = ends
            result = mine.server.host.ping(str(theirs.address.ip), source=str(mine.address.ip), count=PING_COUNT)
            return f"{mine.server.name} to {theirs.server.name} over {mine.name}", result

        dut, peer = self._made()
        return side_by_side(ping, [(dut, peer), (peer, dut)])
