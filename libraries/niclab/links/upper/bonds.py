"""Bonds of all test ports on both servers: made and removed, their links failed and restored, and what they use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from niclab.bench.records import BenchPath, Port, Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, NotApplicable, Trouble, blame, fail_with
from niclab.core.wait import persistent_problems
from niclab.hosts.bonds.bond_records import Bond
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings
from niclab.links import failure, wiring
from niclab.links.failure import Cause
from niclab.links.link_loss import Loss, MemberLink
from niclab.links.path_ping import PING_COUNT, unanswered
from niclab.links.upper import bond_troubles, lacp, upper_devices
from niclab.links.upper.upper_devices import Stack
from niclab.links.witness import Explained, Witnesses
from niclab.run.run import Run
from niclab.run.watching.standstill import blameless

LINKS_WITHIN_S = 30.0
"""Assumption: members of a bond have their links by then, autonegotiation included; how fast is another test's fact."""
LOOK_EVERY_S = 1.0
"""Looking costs a server time that its traffic lacks: while outages are measured it is done seldom."""


class Bonds:
    """The bonds of a run, at most one on each server, and the links of them that are down.

    Args:
        run: The qualification run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._made: list[Stack] = []
        self._settings: BondSettings | None = None
        self._lost: list[Loss] = []

    # --- made and removed

    def create(self, settings: BondSettings) -> None:
        """Bond all test ports of each server, read every setting back, and wait for every link.

        Args:
            settings: The bonds' settings. With ``primary_reselect`` the first path becomes the primary.

        Raises:
            NotApplicable: The bench has one path only.
            BenchFault: The servers are bonded already, or a setting does not read back. What was made is removed.
            CardFailure: A member has no link in time.
        """
        if len(self._run.bench.paths) < 2:
            raise NotApplicable(f"bench {self._run.bench.name} has one path; a bond takes two")
        if self._made:
            raise BenchFault("the hosts are bonded already: 'Remove Bonds From Both Hosts' comes first")
        if (settings.miimon_ms is None) is (settings.arp_interval_ms is None):
            raise BenchFault("a bond looks at its links by miimon_ms or by arp_interval_ms; expected one of the two")
        with ExitStack() as undoing:
            undoing.callback(self.remove)
            for role in Role:
                primary = settings.primary_reselect is not None
                self._made.append(upper_devices.bond(self._run, role, settings, first_is_primary=primary))
            self._settings = settings
            self.require_members()
            self._run.part(Witnesses).begin()
            undoing.pop_all()

    def remove(self) -> None:
        """Restore every link and remove the bonds, if there are any.

        Raises:
            CardFailure: A port of the dut is not as it was before: MAC, MTU, up, addresses.
            BenchFault: Only a port of the peer is not, or a bond or a link cannot be undone; the journal keeps it.
        """
        self.restore()
        problems = list[Trouble]()
        while self._made:
            problems += upper_devices.remove(self._run, self._made.pop())
        self._settings = None
        blame(problems)

    # --- what they are

    @property
    def both(self) -> list[Stack]:
        """The bonds of both servers.

        Raises:
            BenchFault: There is none.
        """
        if not self._made:
            raise BenchFault("there is no bond: 'Bond Both Hosts' comes first")
        return self._made

    @property
    def settings(self) -> BondSettings:
        """The settings that both bonds were given.

        Raises:
            BenchFault: There is no bond.
        """
        if self._settings is None:
            raise BenchFault("there is no bond: 'Bond Both Hosts' comes first")
        return self._settings

    def stack(self, role: Role) -> Stack:
        """Return the bond of a server.

        Args:
            role: The server.

        Raises:
            BenchFault: There is none.
        """
        return next(bond for bond in self.both if bond.server.role is role)

    def active_port(self, role: Role) -> Port:
        """Return the port that the bond of a server uses now.

        Args:
            role: The server.

        Raises:
            CardFailure: That of the dut uses none.
            BenchFault: That of the peer uses none, or all links of the dut are kept down by peer or switch.
        """
        bond = self.stack(role)
        active = bond.server.host.bonds.bond(bond.name).active_slave
        used = [port for port, interface in bond.below.items() if interface.name == active]
        if not used:
            text = f"{role.value}: {bond.name} uses {active or 'no link'}; expected one of its members"
            blame(bond_troubles.explained(self._run, self._lost, [Trouble(text, of_card=role is Role.DUT)]))
        return used[0]

    def described(self) -> str:
        """Name the bonds in words, to tell figures over them from other figures."""
        return f"{self.settings.mode.value} bond"

    # --- links

    def lose(self, link: MemberLink, cause: Cause, say: Callable[[str], object]) -> None:
        """Let a link fail; :meth:`restore` undoes it.

        Args:
            link: The link.
            cause: The way in which it fails.
            say: Takes what was done.

        Raises:
            NotApplicable: The bench cannot do that to this path.
            CardFailure: A bond uses no link, so that none is the active one.
        """
        paths = self._run.bench.paths
        match link:
            case MemberLink.FIRST:
                path = paths[0]
            case MemberLink.SECOND:
                path = paths[1]
            case MemberLink.ACTIVE:
                path = self._active_path(cause.loser)
            case MemberLink.BACKUP:
                active = self._active_path(cause.loser)
                path = next(path for path in paths if path is not active)
        self.lose_path(path, cause, say)

    def lose_every(self, cause: Cause, say: Callable[[str], object]) -> None:
        """Let the links of all paths fail; arguments and errors are those of :meth:`lose`."""
        for path in self._run.bench.paths:
            self.lose_path(path, cause, say)

    def lose_path(self, path: BenchPath, cause: Cause, say: Callable[[str], object]) -> None:
        """Let the link of one path fail; :meth:`restore` undoes it.

        Args:
            path: The path.
            cause: The way in which it fails.
            say: Takes what was done.

        Raises:
            NotApplicable: The bench cannot do that to this path.
        """
        cause = failure.chosen(path, cause)
        used = {bond.server.role: seen.active_slave for bond, seen in zip(self.both, self._seen(), strict=True)}
        ports = failure.ends_without_link(path, cause)
        self._lost.append(Loss(path, cause, failure.lose(self._run, path, cause), ports, used))
        say(f"path {path.name} is lost by {cause.value}: no link at {' and '.join(sorted(ports))}")

    def restore(self) -> None:
        """Restore every failed link, without waiting for it.

        Raises:
            BenchFault: A link cannot be restored; it can be tried again, and the journal keeps it.
        """
        while self._lost:
            wiring.mend_path(self._run, self._lost[-1].entry)
            self._lost.pop()

    def flap(self, times: int, cause: Cause, say: Callable[[str], object]) -> None:
        """Let the active link fail, see another one used, restore it and see all links up, again and again.

        Args:
            times: How often.
            cause: The way in which it fails.
            say: Takes what was done.

        Raises:
            CardFailure: A bond did not change its link, or a link did not return.
            BenchFault: A link was lost by another cause.
        """
        for turn in range(times):
            self.lose(MemberLink.ACTIVE, cause, say)
            fail_with(self.not_changed())
            self.require_causes(say)
            self.restore()
            self.require_members()
            say(f"flap {turn + 1} of {times} is survived")

    def explain(self, say: Callable[[str], object]) -> list[Explained]:
        """Conclude from both ends of every failed link why it is down, and note it for report and certificate.

        Args:
            say: Takes what was concluded.

        Raises:
            BenchFault: A server or the switch does not answer.
        """
        witnesses = self._run.part(Witnesses)
        found = [Explained(loss.path, loss.cause, witnesses.ask(loss.path)) for loss in self._lost]
        for each in found:
            self._run.notes.figure(each.figure())
            say(str(each))
        return found

    def require_causes(self, say: Callable[[str], object]) -> None:
        """See that every failed link is down by the cause that the lab has brought about, and by no other.

        Args:
            say: Takes what was concluded.

        Raises:
            BenchFault: The ends show another cause, no link has failed, or one does not answer.
        """
        if not self._lost:
            raise BenchFault("no link is lost: 'Lose The ... Link' comes first")
        if wrong := [str(each) for each in self.explain(say) if not each.is_right]:
            raise BenchFault("\n".join(wrong))

    # --- what must hold

    def make_whole(self) -> None:
        """Restore every link and wait until the bonds are whole: all members up, aggregated with 802.3ad, traffic.

        Raises:
            CardFailure: A bond does not become whole in time.
            Undecided: A server stood still while pings were lost.
            BenchFault: A link cannot be restored, or a server does not answer.
        """
        self.restore()
        self.require_members()
        if self.settings.mode is BondMode.LACP:
            lacp.require_aggregated(self._run, self.both)
        self.require_traffic()
        self._run.part(Witnesses).begin()

    def require_members(self) -> None:
        """Wait until every member of both bonds has its link, autonegotiation included.

        Raises:
            CardFailure: Naming the bonds whose members have not, that of the dut among them, and why links are down.
            BenchFault: Only that of the peer has not, peer or switch keep the links down, or a server does not answer.
        """
        wanted = len(self._run.bench.paths)

        def down() -> list[Trouble]:
            return [
                Trouble(
                    f"{bond.server.name}: {seen.slaves_up} of {wanted} links; expected all within {LINKS_WITHIN_S:g} s",
                    bond.server.role is Role.DUT,
                )
                for bond, seen in zip(self.both, self._seen(), strict=True)
                if seen.slaves_up != wanted or len(seen.slaves) != wanted
            ]

        if found := persistent_problems(down, within=LINKS_WITHIN_S, every=LOOK_EVERY_S):
            blame(bond_troubles.explained(self._run, self._lost, found))

    def require_traffic(self) -> None:
        """See that pings over the bonds, from both ends, are answered once; in broadcast mode at least once.

        Raises:
            CardFailure: Naming the pings that were not.
            Undecided: A server stood still while pings were lost.
        """

        def ping(ends: tuple[Stack, Stack]) -> list[str]:
            mine, theirs = ends
            result = mine.server.host.links.ping(str(theirs.address.ip), source=str(mine.address.ip), count=PING_COUNT)
            way = f"{mine.server.name} to {theirs.server.name} over {mine.name}"
            return unanswered(way, result, copies=self.settings.mode.sends_copies)

        dut, peer = self.both
        with blameless(self._run):
            fail_with([problem for found in side_by_side(ping, [(dut, peer), (peer, dut)]) for problem in found])

    def require_no_carrier(self, of: Role | None = None) -> None:
        """Wait until bonds report that they have no link, and use none.

        They may take the sheet's ``carrier_loss_within_ms`` and one look of miimon.

        Args:
            of: The server; both when there is none.

        Raises:
            CardFailure: That of the dut keeps its carrier or uses a link, or that of the peer does by the dut's link.
            BenchFault: Only that of the peer does.
        """
        card = self._run.card
        limit_ms = card.known(card.limits.carrier_loss_within_ms, "limits.carrier_loss_within_ms")
        within_s = (limit_ms + (self.settings.miimon_ms or 0)) / 1000
        bonds = [bond for bond in self.both if of in (None, bond.server.role)]
        for bond in bonds:
            if not bond.server.host.links.await_carrier(bond.name, False, within_s=within_s):
                late = f"after {limit_ms} ms and one look of miimon, all that sheet {card.name} allows"
                text = f"{bond.server.name}: {bond.name} has still carrier with every link lost, {late}"
                blame([bond_troubles.of_bond(bond, self._lost, text)])
        problems = list[Trouble]()
        for bond in bonds:
            seen = bond.server.host.bonds.bond(bond.name)
            if seen.slaves_up or seen.active_slave or seen.mii_status != "down":
                found = f"{seen.slaves_up} links up, active {seen.active_slave}, status {seen.mii_status}"
                text = f"{bond.server.name}: {bond.name} has {found}; expected none, none, down"
                problems.append(bond_troubles.of_bond(bond, self._lost, text))
        blame(problems)

    def not_on_path(self, path: BenchPath, of: Role | None = None) -> list[str]:
        """Wait until bonds use a path, for as long as the sheet gives a link to return.

        Args:
            path: The path.
            of: The server; both when there is none.

        Returns:
            The bonds that use another link at the end, and the limit; empty when none does.

        Raises:
            BenchFault: Only that of the peer does, or peer or switch keep the link down.
        """
        wanted: dict[Role, str | None] = {
            bond.server.role: interface.name
            for bond in self.both
            for port, interface in bond.below.items()
            if port.name in path.ends and of in (None, bond.server.role)
        }
        return self._not_in_use_in_time(wanted, f"of path {path.name}")

    def not_changed(self) -> list[str]:
        """Wait until each bond whose active link has failed uses another one, and the other bond what it used.

        Returns:
            The bonds that use another link at the end, and the limit; empty when none does.

        Raises:
            BenchFault: No bond has lost its active link, only that of the peer is wrong and not by the dut's link, or
                peer or switch keep the link down.
        """
        used, lost = self._before(), {port for loss in self._lost for port in loss.ports}
        wanted: dict[Role, str | None] = {}
        for bond in self.both:
            left = [interface.name for port, interface in bond.below.items() if port.name not in lost]
            before = used[bond.server.role]
            wanted[bond.server.role] = before if before in left else next(iter(left), None)
        if wanted == used:
            raise BenchFault("no bond has lost its active link: 'Lose The Active Link' comes first")
        return self._not_in_use_in_time(wanted, "that has its link")

    def changed(self) -> list[str]:
        """Look once whether each bond uses the link that it used before the last failure.

        Returns:
            The bonds that use another link; empty when none does.

        Raises:
            BenchFault: No link has failed, only that of the peer is wrong, or peer or switch keep the link down.
        """
        found = self._not_in_use(self._before(), "as before the loss of another link")
        return bond_troubles.of_card(self._run, self._lost, found)

    def _before(self) -> dict[Role, str | None]:
        """Return the link that each bond used before the last failure."""
        if not self._lost:
            raise BenchFault("no link is lost: 'Lose The Active Link' comes first")
        return self._lost[-1].used

    def _not_in_use_in_time(self, wanted: dict[Role, str | None], which: str) -> list[str]:
        card = self._run.card
        limit_ms = card.known(card.limits.carrier_return_within_ms, "limits.carrier_return_within_ms")
        problems = persistent_problems(
            lambda: self._not_in_use(wanted, which), within=limit_ms / 1000, every=LOOK_EVERY_S
        )
        found = [replace(each, text=f"{each.text}; sheet {card.name} allows {limit_ms} ms") for each in problems]
        return bond_troubles.of_card(self._run, self._lost, found)

    def _not_in_use(self, wanted: dict[Role, str | None], which: str) -> list[Trouble]:
        """The bonds that do not use the interface wanted of them; a bond of which none is wanted is right."""
        return [
            bond_troubles.of_bond(
                bond,
                self._lost,
                f"{bond.server.name} uses {seen.active_slave}; expected {wanted[bond.server.role]} {which}",
            )
            for bond, seen in zip(self.both, self._seen(), strict=True)
            if bond.server.role in wanted and seen.active_slave != wanted[bond.server.role]
        ]

    def _seen(self) -> list[Bond]:
        return side_by_side(lambda bond: bond.server.host.bonds.bond(bond.name), self.both)

    def _active_path(self, role: Role) -> BenchPath:
        return self._run.bench.path_of(self.active_port(role))
