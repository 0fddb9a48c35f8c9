"""Links of bonds that fail and return, and the links that the bonds use then."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.bench.records import Role
from niclab.core.verdict import fail_with
from niclab.links.failure import Cause
from niclab.links.link_loss import MemberLink
from niclab.links.upper.bonds import Bonds


@library(scope="GLOBAL")
class LinkFailures(BenchLibrary):
    """Keywords about links of bonds that fail. Every failure is undone by `Restore Every Link`, or at the end.

    Checks of the active link raise CardFailure where a bond uses another one.

    | `Lose The Active Link` | by=switch-port |
    | `Lose Every Link` | by=cable |
    | `Flap The Active Link` | times=10 | by=own-link |
    | `Active Link Should Be The First` | of=dut |
    | `Active Link Should Be The Second` | of=dut |
    """

    @keyword("Lose The ${link} Link")
    def lose_the_link(self, link: MemberLink, by: Cause = Cause.CABLE) -> None:
        """Let a link of the bonds fail.

        Args:
            link: ``First`` or ``Second`` path of the bench file; the ``Active`` one, which the bond uses (the peer's
                bond where the cause is at the peer, else the dut's); or a ``Backup``, which it does not use.
            by: The way in which the link fails.

        Raises:
            CardFailure: A bond uses no link, so that none is the active one.
            NotApplicable: The bench cannot do that to the link, as where no command pulls its cable.
        """
        self.run.part(Bonds).lose(link, by, logger.info)

    @keyword
    def lose_every_link(self, by: Cause = Cause.CABLE) -> None:
        """Let the links of all paths fail.

        Args:
            by: The way in which they fail, if the bench can.
        """
        self.run.part(Bonds).lose_every(by, logger.info)

    @keyword
    def restore_every_link(self) -> None:
        """Restore every link that has failed. Does not wait for links: `Every Member Should Be Up` does.

        Raises:
            BenchFault: A link cannot be restored.
        """
        self.run.part(Bonds).restore()

    @keyword
    def lost_links_should_have_their_cause(self) -> None:
        """See that both ends of every lost link show the cause that the lab has brought about, and no other.

        The cause is concluded from carrier, interface, driver, switch port and kernel log of both ends, and reported.

        Raises:
            BenchFault: They show another cause, or no link is lost.
        """
        self.run.part(Bonds).require_causes(logger.info)

    @keyword
    def flap_the_active_link(self, times: int, by: Cause = Cause.CABLE) -> None:
        """Let the active link fail, see another one used, restore it and see all links up: again and again.

        Args:
            times: How often.
            by: The way in which the link fails.

        Raises:
            CardFailure: A bond did not change its link, or a link did not return.
        """
        self.run.part(Bonds).flap(times, by, logger.info)

    @keyword
    def active_link_should_be_the_first(self, of: Role | None = None) -> None:
        """Wait until bonds use the first path of the bench file, within the sheet's ``carrier_return_within_ms``.

        Args:
            of: ``dut`` or ``peer``: the bond of this server alone.
        """
        fail_with(self.run.part(Bonds).not_on_path(self.run.bench.paths[0], of))

    @keyword
    def active_link_should_be_the_second(self, of: Role | None = None) -> None:
        """Wait until bonds use the second path of the bench file, within the sheet's ``carrier_return_within_ms``.

        Args:
            of: ``dut`` or ``peer``: the bond of this server alone.
        """
        fail_with(self.run.part(Bonds).not_on_path(self.run.bench.paths[1], of))

    @keyword
    def active_link_should_be_another(self) -> None:
        """Wait until each bond that has lost its active link uses another one, and the other bond what it used.

        Raises:
            BenchFault: No bond has lost its active link.
        """
        fail_with(self.run.part(Bonds).not_changed())

    @keyword
    def active_link_should_be_unchanged(self) -> None:
        """See that each bond uses the link that it used before a link failed.

        Raises:
            BenchFault: No link has failed.
        """
        fail_with(self.run.part(Bonds).changed())
