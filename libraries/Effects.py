"""Effects of settings on the traffic, against the predictions of the sheet: runs with and without them, in turns."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from log_report import reporter
from niclab.core.profile import Profile
from niclab.traffic.effects import adaptive, coalescing_steps, sheet_effects


@library(scope="GLOBAL")
class Effects(BenchLibrary):
    """Checks of the effects of settings. Each setting is read back, and put back.

    Each check raises Undecided where the runs cannot tell.

    | `Effect Should Be As On The Sheet` | tso-off-cpu | profile=full |
    | `TCP In A VLAN Should Reach The Fraction On The Sheet` | profile=full |
    | `TCP In A VLAN On A Bond Should Reach The Fraction On The Sheet` | profile=full |
    | `Each Factor Alone Should Change What The Sheet Predicts` | profile=full |
    """

    @keyword
    def effect_should_be_as_on_the_sheet(self, name: str, profile: Profile | None = None) -> None:
        """Check that a setting has the effect that the sheet predicts.

        Runs with and without it are made in turns until the change is clearly as predicted or clearly not, or the
        budget is spent. What nobody can predict is measured, and the test is not applicable.

        Args:
            name: Name of an effect of the sheet, or ``every`` for all of them.
            profile: How many runs are made, and for how long; by default that of the run.

        Raises:
            CardFailure: An effect does not show, and nothing of the bench explains it.
            BenchFault: A run fails, or the bench may explain a missing effect.
            NotApplicable: The sheet predicts none, or a setting cannot be had here.
        """
        sheet_effects.judge_effects(self.run, name, self.profile(profile), reporter())

    @keyword("TCP In A VLAN Should Reach The Fraction On The Sheet")
    def tcp_in_a_vlan_should_reach_the_fraction_on_the_sheet(self, profile: Profile | None = None) -> None:
        """Check that TCP in a VLAN reaches the sheet's fraction of untagged TCP, over each path that is a cable.

        Args:
            profile: How many runs are made, and for how long; by default that of the run.

        Raises:
            CardFailure: It does not, and nothing of the bench explains it.
            BenchFault: A run fails, or the bench may explain the loss.
            NotApplicable: The sheet does not know the fraction, or no path is a cable.
        """
        sheet_effects.judge_vlan(self.run, self.profile(profile), reporter())

    @keyword("TCP In A VLAN On A Bond Should Reach The Fraction On The Sheet")
    def tcp_in_a_vlan_on_a_bond_should_reach_the_fraction_on_the_sheet(self, profile: Profile | None = None) -> None:
        """Check that TCP in a VLAN on an active-backup bond reaches the sheet's fraction of TCP over the bond alone.

        The bonds of all links are made for it, and removed.

        Args:
            profile: How many runs are made, and for how long; by default that of the run.

        Raises:
            CardFailure: It does not, and nothing of the bench explains it.
            BenchFault: A run fails, or the bench may explain the loss.
            NotApplicable: The sheet does not know the fraction, or the bench has one path.
        """
        sheet_effects.judge_vlan_on_bond(self.run, self.profile(profile), reporter())

    @keyword
    def each_factor_alone_should_change_what_the_sheet_predicts(self, profile: Profile | None = None) -> None:
        """Check the sheet's sequence: each step against its baseline, one factor at a time, in percent of it.

        Args:
            profile: How many runs are made, and for how long; by default that of the run.

        Raises:
            CardFailure: A step does not change what the sheet predicts, and nothing of the bench explains it.
            BenchFault: A run fails, or the bench may explain a missing change.
            NotApplicable: The sheet has no sequence, or no step can be had here.
        """
        sheet_effects.judge_sequence(self.run, self.profile(profile), reporter())

    @keyword
    def coalescing_should_adapt_to_the_load(self) -> None:
        """Check that adaptive coalescing of the dut's port on the first path does not hold frames that come alone.

        Round trips are made in turns with no time between interrupts, the adaptive one, and the longest one held fixed.
        The interrupts that a frame takes, alone and under load, are shown only.

        Raises:
            CardFailure: In every turn a frame waits as long as with the fixed time, or the port takes no setting.
            BenchFault: A run fails, or the setting could not be put back.
            Undecided: The turns contradict each other.
            NotApplicable: The sheet names no adaptive coalescing or no time, or the fixed time does not show here.
        """
        adaptive.require_adaptive(self.run, logger.info)

    @keyword
    def longer_coalescing_should_hold_frames_longer(self) -> None:
        """Check that times of coalescing (``rx-usecs``) hold frames that come alone in proportion, on the first path.

        Round trips are made in turns with times from none to the longest; the curve is shown.

        Raises:
            CardFailure: A time holds frames longer than its share of the longest, or less than a shorter one.
            Undecided: It does so in some turns alone.
            NotApplicable: The sheet has no such times, or the longest does not show here.
        """
        coalescing_steps.require_steps(self.run, reporter())
