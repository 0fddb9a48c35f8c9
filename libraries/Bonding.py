"""Bonds of all test ports on both servers: links lost and restored, and what that costs the traffic."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import BenchPath, Port, Role
from niclab.core.parallel import side_by_side
from niclab.core.undo import Entry
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, fail_with
from niclab.core.wait import until
from niclab.hosts.bond_settings import (
    BondMode,
    BondSettings,
    FailOverMac,
    HashPolicy,
    LacpRate,
    PrimaryReselect,
)
from niclab.hosts.link_records import Bond
from niclab.links import failure, upper, wiring
from niclab.links.failure import Cause
from niclab.links.upper import Stack

LINKS_WITHIN_S = 30.0
"""House rule: members of a bond have their links by then, autonegotiation included; how fast is another test's fact."""
LOOK_EVERY_S = 1.0
"""Looking costs a server time that its traffic lacks: while gaps are measured it is done seldom."""
PING_COUNT = 10


@dataclass(frozen=True)
class Loss:
    """A link that was lost: its path, its undo, the ports without link by it, and what each bond used before."""

    path: BenchPath
    entry: Entry
    ports: frozenset[str]
    used: dict[Role, str | None]


@library(scope="GLOBAL")
class Bonding(BenchLibrary):
    """Keywords about bonds. Constructing the library connects to nothing."""

    def __init__(self) -> None:
        self._bonds: list[Stack] = []
        self._settings: BondSettings | None = None
        self._lost: list[Loss] = []

    # --- bonds

    @keyword
    def bond_both_hosts(
        self,
        mode: BondMode,
        miimon_ms: int | None = None,
        primary_reselect: PrimaryReselect | None = None,
        lacp_rate: LacpRate | None = None,
        min_links: int | None = None,
        arp_interval_ms: int | None = None,
        updelay_ms: int | None = None,
        downdelay_ms: int | None = None,
        fail_over_mac: FailOverMac | None = None,
        num_grat_arp: int | None = None,
        xmit_hash_policy: HashPolicy | None = None,
    ) -> None:
        """Bond all test ports of each server; every setting is read back. `Remove Bonds From Both Hosts` undoes it.

        :param miimon_ms: how often the driver looks at the links.
        :param arp_interval_ms: instead of that: how often the other bond is asked over each link by ARP.
        :param updelay_ms: how long a link must have returned before it is used; ``downdelay_ms``: how long it must be
            lost before it is left.
        :param fail_over_mac: whose address the bond has.
        :param num_grat_arp: how often a bond that has changed its link tells its address to everybody.
        :param xmit_hash_policy: by what of a frame its link is chosen.
        :param primary_reselect: the first path is preferred, and returned to by this rule; without it no path is.
        :param lacp_rate: of 802.3ad: the partner is asked for a LACPDU each second (fast), or each 30 s (slow).
        :param min_links: of 802.3ad: with fewer links the bond has no carrier.
        """
        run = self.run
        if len(run.bench.paths) < 2:
            raise NotApplicable(f"bench {run.bench.name} has one path; a bond takes two")
        if self._bonds:
            raise BenchFault("the hosts are bonded already: 'Remove Bonds From Both Hosts' comes first")
        if (miimon_ms is None) is (arp_interval_ms is None):
            raise BenchFault("a bond looks at its links by miimon_ms or by arp_interval_ms; wanted: one of the two")
        settings = BondSettings(
            mode,
            miimon_ms=miimon_ms,
            updelay_ms=updelay_ms,
            downdelay_ms=downdelay_ms,
            arp_interval_ms=arp_interval_ms,
            primary_reselect=primary_reselect,
            fail_over_mac=fail_over_mac,
            num_grat_arp=num_grat_arp,
            min_links=min_links,
            lacp_rate=lacp_rate,
            xmit_hash_policy=xmit_hash_policy,
        )
        with ExitStack() as undoing:
            undoing.callback(self.remove_bonds_from_both_hosts)
            for role in Role:
                bond = upper.bond(run, role, settings, first_is_primary=primary_reselect is not None)
                self._bonds.append(bond)
            self._settings = settings
            self.every_member_should_be_up()
            undoing.pop_all()

    @keyword
    def remove_bonds_from_both_hosts(self) -> None:
        """Take the bonds away, if there are any; every port is then as it was: MAC, MTU, up, addresses."""
        self.restore_every_link()
        problems = []
        while self._bonds:
            problems += upper.remove(self.run, self._bonds.pop())
        fail_with(problems)

    @keyword
    def every_member_should_be_up(self) -> None:
        """Every member of both bonds has its link; waits until autonegotiation must be over."""
        wanted = len(self.run.bench.paths)

        def down() -> list[str]:
            return [
                f"{bond.server.name}: {seen.slaves_up} of {wanted} links"
                for bond, seen in zip(self._made(), self._seen(), strict=True)
                if seen.slaves_up != wanted or len(seen.slaves) != wanted
            ]

        what = "every member of the bonds to be up"
        try:
            until(lambda: not down(), within=LINKS_WITHIN_S, what=what, every=LOOK_EVERY_S)
        except BenchFault as error:
            raise CardFailure(f"{'; '.join(down())}; wanted: all, within {LINKS_WITHIN_S:g} s") from error

    @keyword
    def bonds_should_carry_traffic(self) -> None:
        """Ten pings over the bonds, from both ends, and every one is answered."""
        fail_with([problem for problem in side_by_side(self._ping, [(0, 1), (1, 0)]) if problem])

    @keyword
    def bonds_should_have_no_carrier(self, of: Role | None = None) -> None:
        """Both bonds, or that of one server, say in time that they have no link, and use none.

        Time is the sheet's ``carrier_loss_within_ms`` and one look of miimon.
        """
        run = self.run
        limit_ms = run.card.known(run.card.limits.carrier_loss_within_ms, "limits.carrier_loss_within_ms")
        bonds = [bond for bond in self._made() if of in (None, bond.server.role)]
        for bond in bonds:
            wait = bond.server.host.await_carrier(bond.name, False, within_s=limit_ms / 1000 + self._miimon_s())
            if not wait.seen:
                raise CardFailure(
                    f"{bond.server.name}: {bond.name} has still carrier with every link lost, after {limit_ms} ms and "
                    f"one look of miimon, all that sheet {run.card.name} allows"
                )
        problems = []
        for bond in bonds:
            seen = bond.server.host.bond(bond.name)
            if seen.slaves_up or seen.active_slave or seen.mii_status != "down":
                found = f"{seen.slaves_up} links up, active {seen.active_slave}, status {seen.mii_status}"
                problems.append(f"{bond.server.name}: {bond.name} has {found}; wanted: none, none, down")
        fail_with(problems)

    @keyword
    def active_path_should_be_the_first(self) -> None:
        """Both bonds use the first path of the bench file, which is their primary."""
        self._expect_active(self.run.bench.paths[0])

    @keyword
    def active_path_should_be_the_second(self, of: Role | None = None) -> None:
        """Both bonds, or that of one server, use the second path of the bench file."""
        self._expect_active(self.run.bench.paths[1], of)

    @keyword
    def active_path_should_be_another(self) -> None:
        """A bond whose active link is lost uses another one that is not; the other bond, if it has lost none, stays."""
        if not self._lost:
            raise BenchFault("no link is lost: 'Lose The Active Link' comes first")
        lost, loss = {port for loss in self._lost for port in loss.ports}, self._lost[-1]
        wanted = {}
        for bond in self._made():
            left = {interface.name: port for port, interface in bond.below.items() if port.name not in lost}
            used = loss.used[bond.server.role]
            wanted[bond.server.name] = used if used in left else next(iter(left), None)
        self._expect_interfaces(wanted, "that has its link")

    # --- links

    @keyword
    def lose_the_active_link(self, by: Cause = Cause.CABLE) -> None:
        """Lose the link that the bond uses: the peer's bond where the cause is at the peer, else the dut's.

        Skips the test where the bench cannot do it, as where a cable cannot be pulled by a command.
        """
        self._lose(self._active_path(by.loser), by)

    @keyword
    def lose_the_backup_link(self, by: Cause = Cause.CABLE) -> None:
        """Lose a link that the bond does not use."""
        active = self._active_path(by.loser)
        self._lose(next(path for path in self.run.bench.paths if path is not active), by)

    @keyword
    def lose_the_first_link(self, by: Cause = Cause.CABLE) -> None:
        """Lose the link of the first path, whether a bond uses it or not."""
        self._lose(self.run.bench.paths[0], by)

    @keyword
    def lose_the_second_link(self, by: Cause = Cause.CABLE) -> None:
        """Lose the link of the second path, whether a bond uses it or not."""
        self._lose(self.run.bench.paths[1], by)

    @keyword
    def lose_every_link(self, by: Cause = Cause.CABLE) -> None:
        """Lose the links of all paths."""
        for path in self.run.bench.paths:
            self._lose(path, by)

    @keyword
    def restore_every_link(self) -> None:
        """Give back every link that was lost. Does not wait for links: `Every Member Should Be Up` does."""
        while self._lost:
            wiring.mend_path(self.run, self._lost[-1].entry)
            self._lost.pop()

    @keyword
    def flap_the_active_link(self, times: int, by: Cause = Cause.CABLE) -> None:
        """Lose the active link, see the other one used, give it back and see all links up: ``times`` times."""
        for turn in range(times):
            self.lose_the_active_link(by)
            self.active_path_should_be_another()
            self.restore_every_link()
            self.every_member_should_be_up()
            logger.info(f"flap {turn + 1} of {times} is survived")

    def stack(self, role: Role) -> Stack:
        """The bond of a server, for libraries that build on it."""
        return next(bond for bond in self._made() if bond.server.role is role)

    def active_port(self, role: Role) -> Port:
        """The port that the bond of a server uses now."""
        bond = self.stack(role)
        active = bond.server.host.bond(bond.name).active_slave
        for port, interface in bond.below.items():
            if interface.name == active:
                return port
        raise CardFailure(f"{role.value}: {bond.name} uses {active or 'no link'}; wanted: one of its members")

    def described(self) -> str:
        """What the bonds are, by which figures over them are told from others."""
        if self._settings is None:
            raise BenchFault("there is no bond: 'Bond Both Hosts' comes first")
        return f"{self._settings.mode.value} bond"

    def _made(self) -> list[Stack]:
        if not self._bonds:
            raise BenchFault("there is no bond: 'Bond Both Hosts' comes first")
        return self._bonds

    def _miimon_s(self) -> float:
        return ((self._settings and self._settings.miimon_ms) or 0) / 1000

    def _seen(self) -> list[Bond]:
        return side_by_side(lambda bond: bond.server.host.bond(bond.name), self._made())

    def _active_path(self, role: Role) -> BenchPath:
        """The path that the bond of a server uses now."""
        return self.run.bench.path_of(self.active_port(role))

    def _lose(self, path: BenchPath, by: Cause) -> None:
        run = self.run
        used = {bond.server.role: seen.active_slave for bond, seen in zip(self._made(), self._seen(), strict=True)}
        ports = failure.dark_ends(path, by)
        self._lost.append(Loss(path, failure.lose(run, path, by), ports, used))
        logger.info(f"path {path.name} is lost by {by.value}: no link at {' and '.join(sorted(ports))}")

    def _expect_active(self, path: BenchPath, of: Role | None = None) -> None:
        wanted: dict[str, str | None] = {
            bond.server.name: interface.name
            for bond in self._made()
            for port, interface in bond.below.items()
            if port.name in path.ends and of in (None, bond.server.role)
        }
        self._expect_interfaces(wanted, f"of path {path.name}")

    def _expect_interfaces(self, wanted: dict[str, str | None], which: str) -> None:
        """Each server's bond uses the interface wanted there, within the sheet's time for a link to return."""
        run = self.run

        def others() -> list[str]:
            return [
                f"{bond.server.name} uses {seen.active_slave}, wanted {wanted[bond.server.name]} {which}"
                for bond, seen in zip(self._made(), self._seen(), strict=True)
                if seen.active_slave != wanted.get(bond.server.name, seen.active_slave)
            ]

        limit_ms = run.card.known(run.card.limits.carrier_return_within_ms, "limits.carrier_return_within_ms")
        try:
            until(
                lambda: not others(), within=limit_ms / 1000, what="the bonds to change their link", every=LOOK_EVERY_S
            )
        except BenchFault as error:
            raise CardFailure("; ".join([*others(), f"sheet {run.card.name} allows {limit_ms} ms"])) from error

    def _ping(self, ends: tuple[int, int]) -> str:
        mine, theirs = (self._made()[end] for end in ends)
        result = mine.server.host.ping(str(theirs.address.ip), source=str(mine.address.ip), count=PING_COUNT)
        if result.received == result.sent and not result.duplicates:
            return ""
        return (
            f"{mine.server.name} to {theirs.server.name} over {mine.name}: {result.received} of {result.sent} pings "
            f"answered, {result.duplicates} twice; wanted: each once"
        )
