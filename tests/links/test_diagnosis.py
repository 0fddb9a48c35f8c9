"""The reason why a link is down: concluded from both ends alone, and compared with what the lab has done to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_bench import FakeBench
from stacking import Stacking, install

from LinkFailures import LinkFailures
from niclab.core.figures import FigureKind
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings
from niclab.links.diagnosis import LinkEnd, Reason, SwitchEnd, diagnose
from niclab.links.failure import Cause
from niclab.links.link_loss import MemberLink
from niclab.links.upper import bonds as bonds_module
from niclab.links.upper.bonds import Bonds
from niclab.run.run import Run

UP = LinkEnd("dut.p0", has_driver=True, is_up=True, has_carrier=True)
DARK = replace(UP, has_carrier=False)
DOWN = replace(DARK, is_up=False)
BARE = replace(DOWN, has_driver=False)
SICK = replace(DARK, trouble=("transmit timeout: NETDEV WATCHDOG: eth0",))
OPEN = SwitchEnd("sw1 Gi1/0/1", is_open=True, has_link=True)
SHUT = SwitchEnd("sw1 Gi1/0/1", is_open=False, has_link=False)
EMPTY = SwitchEnd("sw1 Gi1/0/1", is_open=True, has_link=False)


def theirs(end: LinkEnd) -> LinkEnd:
    return replace(end, port="peer.p0")


@pytest.mark.parametrize(
    ("own", "partner", "wanted"),
    [
        (UP, UP, [Reason.NO_LOSS]),
        (DARK, DARK, [Reason.CABLE]),
        (DOWN, DARK, [Reason.OWN_LINK]),
        (DARK, DOWN, [Reason.PARTNER_LINK]),
        (BARE, DARK, [Reason.DRIVER_UNLOAD]),
        (DARK, BARE, [Reason.PARTNER_DRIVER_UNLOAD]),
        (SICK, DARK, [Reason.DRIVER_TROUBLE]),
        (DARK, SICK, [Reason.PARTNER_DRIVER_TROUBLE]),
        (replace(SICK, has_carrier=True), UP, [Reason.NO_LOSS]),
        (DARK, UP, [Reason.ONE_END]),
        (UP, DARK, [Reason.ONE_END]),
        (DOWN, BARE, [Reason.OWN_LINK, Reason.PARTNER_DRIVER_UNLOAD]),
        (DOWN, UP, [Reason.OWN_LINK]),
    ],
)
def test_a_cable_between_the_servers(own: LinkEnd, partner: LinkEnd, wanted: list[Reason]) -> None:
    assert list(diagnose(own, theirs(partner)).reasons) == wanted


@pytest.mark.parametrize(
    ("own", "at_own", "partner", "at_partner", "wanted"),
    [
        (UP, OPEN, UP, OPEN, Reason.NO_LOSS),
        (DARK, SHUT, UP, OPEN, Reason.SWITCH_PORT),
        (UP, OPEN, DARK, SHUT, Reason.PARTNER_SWITCH_PORT),
        (DARK, EMPTY, UP, OPEN, Reason.CABLE),
        (UP, OPEN, DARK, EMPTY, Reason.PARTNER_CABLE),
        (DOWN, EMPTY, UP, OPEN, Reason.OWN_LINK),
        (DOWN, OPEN, UP, OPEN, Reason.OWN_LINK),
        (UP, OPEN, DOWN, EMPTY, Reason.PARTNER_LINK),
        (BARE, EMPTY, UP, OPEN, Reason.DRIVER_UNLOAD),
        (SICK, EMPTY, UP, OPEN, Reason.DRIVER_TROUBLE),
        (DARK, OPEN, UP, OPEN, Reason.ONE_END),
        (UP, SHUT, UP, OPEN, Reason.SWITCH_PORT),
    ],
)
def test_a_switch_between_the_servers(
    own: LinkEnd, at_own: SwitchEnd, partner: LinkEnd, at_partner: SwitchEnd, wanted: Reason
) -> None:
    found = diagnose(replace(own, switch=at_own), theirs(replace(partner, switch=at_partner)))
    assert found.reasons == (wanted,)


def test_a_diagnosis_says_what_both_ends_show() -> None:
    own = replace(DARK, said="e1000e 0000:01:00.0 enp1s0: NIC Link is Down", switch=SHUT)
    assert str(diagnose(own, theirs(replace(BARE, switch=EMPTY)))) == (
        "switch-port and partner-driver-unload (dut.p0 up, no carrier, sw1 Gi1/0/1 shut, no link, its kernel says "
        '"e1000e 0000:01:00.0 enp1s0: NIC Link is Down"; peer.p0 without driver, sw1 Gi1/0/1 open, no link)'
    )
    assert "its kernel reports transmit timeout" in str(SICK)


def test_every_cause_has_a_reason_of_its_name() -> None:
    assert {cause.value for cause in Cause if cause is not Cause.CABLE_OR_LINK} <= {reason.value for reason in Reason}


@pytest.fixture
def bonds(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Bonds:
    monkeypatch.setattr(bonds_module, "LINKS_WITHIN_S", 0.05)
    monkeypatch.setattr(bonds_module, "LOOK_EVERY_S", 0.01)
    assert isinstance(install(monkeypatch, bench), Stacking)
    made = taken.part(Bonds)
    made.create(BondSettings(BondMode.ACTIVE_BACKUP, miimon_ms=100))
    return made


@pytest.mark.parametrize("cause", [Cause.CABLE, Cause.OWN_LINK, Cause.PARTNER_LINK, Cause.DRIVER_UNLOAD])
def test_the_cause_that_was_brought_about_is_found_and_noted(bonds: Bonds, bench: FakeBench, cause: Cause) -> None:
    bonds.lose(MemberLink.FIRST, cause, print)
    bench.dut.says("e1000e 0000:01:00.0 enp1s0: NIC Link is Down")
    LinkFailures().lost_links_should_have_their_cause()
    (noted,) = bonds._run.notes.take_figures()
    assert (noted.kind, noted.outcome, noted.expected) == (FigureKind.CAUSE, "met", cause.value)
    assert noted.found.startswith(f"{cause.value} (dut.p0 ") and "NIC Link is Down" in noted.found


def test_another_cause_is_the_benchs_fault(bonds: Bonds, bench: FakeBench) -> None:
    """Somebody has taken the peer's port down meanwhile: what was measured is not what was asked."""
    bonds.lose(MemberLink.FIRST, Cause.CABLE, print)
    bench.nic("peer.p0").admin_up = False
    wanted = r"^cause of the lost link of path a: partner-link \(.*\); expected cable \(what the lab has done to it\)$"
    with pytest.raises(BenchFault, match=wanted):
        LinkFailures().lost_links_should_have_their_cause()
    assert bonds._run.notes.take_figures()[0].outcome == "missed"


def test_trouble_of_the_driver_is_another_cause(bonds: Bonds, bench: FakeBench) -> None:
    bonds.lose(MemberLink.FIRST, Cause.CABLE, print)
    bench.dut.says("NETDEV WATCHDOG: enp1s0 (e1000e): transmit queue 0 timed out")
    with pytest.raises(BenchFault, match=r"path a: driver-trouble \(dut\.p0 up, no carrier, its kernel reports"):
        bonds.require_causes(print)


def test_what_the_kernel_said_before_the_links_were_whole_is_no_witness(bonds: Bonds, bench: FakeBench) -> None:
    bench.dut.says("NETDEV WATCHDOG: enp1s0 (e1000e): transmit queue 0 timed out")
    bonds.make_whole()
    bonds.lose(MemberLink.FIRST, Cause.CABLE, print)
    bonds.require_causes(print)


def test_a_member_that_stays_down_is_explained(bonds: Bonds, bench: FakeBench) -> None:
    """Nobody has let it fail: the message says what both ends show."""
    bench.nic("peer.p1").admin_up = False
    with pytest.raises(BenchFault, match=r"^dut: 1 of 2 links(?s:.*)\npath b is down: partner-link \(dut\.p1 up, no"):
        bonds.require_members()


def test_without_a_lost_link_there_is_no_cause(bonds: Bonds) -> None:
    with pytest.raises(BenchFault, match=r"'Lose The \.\.\. Link' comes first"):
        bonds.require_causes(print)


class TestCableOrLink:
    def test_the_cable_where_a_command_pulls_it(self, bonds: Bonds, bench: FakeBench) -> None:
        bonds.lose(MemberLink.FIRST, Cause.CABLE_OR_LINK, print)
        assert bench.pulled() == {"a"}
        bonds.require_causes(print)

    def test_the_own_link_elsewhere(self, bench: FakeBench, bonds: Bonds, taken: Run) -> None:
        bonds.remove()
        bench.write(commands=False, cables=False)
        taken.bench = bench.load()[0]
        bonds.create(BondSettings(BondMode.ACTIVE_BACKUP, miimon_ms=100))
        bonds.lose(MemberLink.FIRST, Cause.CABLE_OR_LINK, print)
        assert not bench.nic("dut.p0").admin_up and not taken.carrier(taken.bench.port("peer.p0"))
        bonds.require_causes(print)
        assert bonds._run.notes.take_figures()[-1].expected == "own-link"
        with pytest.raises(NotApplicable, match="no command to pull the cable of path b"):
            bonds.lose(MemberLink.SECOND, Cause.CABLE, print)
        bonds.restore()
        assert bench.nic("dut.p0").admin_up
