"""Checksum offload under iSCSI (DEL-08): it is on while disks are loaded; switched off, data stay right, and it costs.

The document has seen sessions become unstable and targets send more again without it: that is its known issue, so such
sessions are warned of, and not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from niclab.bench.records import Role, SiliconFact
from niclab.card import Setting, SettingKind
from niclab.core.profile import Profile
from niclab.core.verdict import NotApplicable, fail_with, none_applies, proven_first
from niclab.report.reporter import Reporter
from niclab.run.run import Run
from niclab.settings.dut_ports import dut_ports
from niclab.settings.held import require_offered
from niclab.settings.offloads.offload_table import rows
from niclab.settings.offloads.unsafe import CHECKSUMS, REQUIREMENT
from niclab.storage import damage
from niclab.storage.factors import iscsi_factors
from niclab.storage.factors.factor_answer import FactorAnswer
from niclab.storage.factors.factor_question import NOT_PREDICTED, Factor, asking
from niclab.storage.iscsi.iscsi_workloads import require_asked
from niclab.traffic.effects.effect import WITH, WITHOUT

NAME = "checksum-offload-off"


def judge_checksum_offload(run: Run, profile: Profile, reporter: Reporter) -> None:
    """Judge that checksum offload is on while disks are loaded over iSCSI, and that data stay right without it.

    What it costs to switch it off is measured over the first path, and warned of.

    Args:
        run: The current run.
        profile: How many runs may be made, and for how long. Quick has the first load of the sheet alone.
        reporter: Where all of it is shown.

    Raises:
        CardFailure: A port has the offload off that the sheet has on; or the card damages data, is slower than in
            accepted runs, or takes the setting and does not show it.
        BenchFault: A session cannot be made, counts disagree, or a run fails.
        Undecided: Nobody knows who damages data, or a session with the offload lost its connection.
        NotApplicable: The sheet has no load over iSCSI, no such offload that can be switched, or a server does not run
            Linux.
    """
    workloads = require_asked(run).workloads
    factor = Factor(NAME, {WITHOUT: (), WITH: _offered(run)}, NOT_PREDICTED, f"sheet {run.card.name}")
    states = OffloadStates(run)
    loads = workloads[:1] if profile is Profile.QUICK else workloads
    with asking(run, loads, profile, reporter.progress, states.look) as ask, proven_first(lambda: states.off):
        answer = ask(factor)
    iscsi_factors.show(run, answer, reporter)
    declared = run.bench.deviation(run.card.name, SiliconFact.CHECKSUM_WORK)
    if declared is not None:
        reporter.say(f"a checksum that is left to the card costs the server nothing here: {declared.how}")
    for words in (*states.off_as_on_the_sheet, *_costs(run, answer), *_unstable(answer)):
        reporter.warn(words)
    fail_with(states.off)
    damage.require_undamaged(run, answer, reporter.say)
    iscsi_factors.judge(run, [answer], [WITHOUT])


@dataclass
class OffloadStates:
    """Looks whether every port of the dut has its checksum offloads on while a session is at work.

    Attributes:
        run: The current run.
        off: Those that are off, and on the sheet on, in words.
        off_as_on_the_sheet: Those that are off, where the sheet does not say that they are on, in words.
    """

    run: Run
    off: list[str] = field(default_factory=list)
    off_as_on_the_sheet: list[str] = field(default_factory=list)

    def look(self, variant: str) -> None:
        """Look, unless the variant has switched them off.

        Args:
            variant: Name of the variant that is at work.
        """
        if variant == WITH:
            return
        known = rows(self.run)
        for dut in dut_ports(self.run):
            shown = dut.host.settings.features(dut.iface)
            for row in (known[each] for each in CHECKSUMS if each in known):
                if not row.feature(dut, shown).on:
                    kept = self.off if row.default is True else self.off_as_on_the_sheet
                    words = row.expected(dut, "is off while disks are used over iSCSI", "on")
                    if words not in kept:
                        kept.append(words)


def _offered(run: Run) -> tuple[Setting, ...]:
    """The checksum offloads that can be switched, off.

    Raises:
        NotApplicable: There are none.
    """
    port = run.bench.end(run.bench.paths[0], Role.DUT)
    found, others = list[Setting](), list[tuple[str, NotApplicable]]()
    for offload in CHECKSUMS:
        setting = Setting(kind=SettingKind.OFFLOAD, name=offload.value, to=False)
        try:
            require_offered(run, port, setting)
        except NotApplicable as error:
            others.append((offload.value, error))
        else:
            found.append(setting)
    if not found:
        raise none_applies(others)
    return tuple(found)


def _unstable(answer: FactorAnswer) -> list[str]:
    return [f"{answer.subject}, {each}" for each in answer.unstable(WITH)]


def _costs(run: Run, answer: FactorAnswer) -> list[str]:
    """The cost of the setting in words: throughput where that is proven, and retransmissions where they are many."""
    words = list[str]()
    known = "; ".join(f"{each.text} ({each.source})" for each in run.card.errata if each.requirement == REQUIREMENT)
    for each, (_, cost) in zip(answer.answers, answer.costs, strict=True):
        if each.result.high < 0:
            words.append(f"{each.subject}: {each.reason}; keep it on: {known or 'no known issue on the sheet'}")
        for role, again in cost.resent_much.items():
            words.append(f"{each.subject}: {role.value} sent {again} TCP segments again; {known}")
    return words
