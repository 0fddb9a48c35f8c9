"""Bonds of all test ports on both servers."""

from __future__ import annotations

from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.bench.records import Role
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, FailOverMac, HashPolicy, LacpRate, PrimaryReselect
from niclab.links.upper.bonds import Bonds


@library(scope="GLOBAL")
class Bonding(BenchLibrary):
    """Keywords about bonds. The settings have the names and values of Linux' bonding driver.

    | `Bond Both Hosts` | active-backup | miimon_ms=100 | primary_reselect=always |
    | `Bonds Should Have No Carrier` | of=dut |
    """

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
        """Bond all test ports of each server, read every setting back, and wait for every link.

        `Remove Bonds From Both Hosts` undoes it.

        Args:
            mode: Mode of the bonds, for example ``balance-rr``.
            miimon_ms: Link monitoring interval in ms.
            primary_reselect: Makes the first path the primary, and says when it is used again after it has returned.
            lacp_rate: With 802.3ad, how often the partner sends a LACPDU: ``fast`` (each second) or ``slow`` (30 s).
            min_links: With 802.3ad, the minimum number of active links for carrier.
            arp_interval_ms: Instead of ``miimon_ms``, time in ms between two ARP requests to the other bond.
            updelay_ms: Time in ms for which a link must have returned before it is used.
            downdelay_ms: Time in ms for which a link must have failed before it is left.
            fail_over_mac: Which link's MAC address the bond has.
            num_grat_arp: How many gratuitous ARPs a bond sends that has changed its link.
            xmit_hash_policy: The fields of a frame that choose its link.

        Raises:
            CardFailure: A member has no link in time.
            BenchFault: The servers are bonded already, or a setting does not read back.
            NotApplicable: The bench has one path only.
        """
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
        self.run.part(Bonds).create(settings)

    @keyword
    def remove_bonds_from_both_hosts(self) -> None:
        """Restore every link and remove the bonds, if there are any.

        Raises:
            CardFailure: A port is not as it was before: MAC, MTU, up, addresses.
            BenchFault: A bond or a link cannot be undone.
        """
        self.run.part(Bonds).remove()

    @keyword
    def every_member_should_be_up(self) -> None:
        """Wait until every member of both bonds has its link, autonegotiation included.

        Raises:
            CardFailure: A member of the dut has none within 30 s (BenchFault: of the peer alone).
        """
        self.run.part(Bonds).require_members()

    @keyword
    def bonds_should_carry_traffic(self) -> None:
        """Send ten pings over the bonds from both ends, and see every one answered once.

        Raises:
            CardFailure: A ping was not answered, or twice.
            Undecided: A server stood still while pings were lost.
        """
        self.run.part(Bonds).require_traffic()

    @keyword
    def bonds_should_have_no_carrier(self, of: Role | None = None) -> None:
        """Wait until bonds report that they have no link, and use none: the sheet's limit and one look of miimon.

        Args:
            of: ``dut`` or ``peer``: the bond of this server alone.

        Raises:
            CardFailure: A bond keeps its carrier, or uses a link.
        """
        self.run.part(Bonds).require_no_carrier(of)
