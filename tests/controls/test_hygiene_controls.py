"""A test that leaves something behind outside of the journal is named, and the bench is put back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from control_bench import NAME, REPOSITORY, Bench, only

from niclab.report.own_checks.all_checks import own_checks
from niclab.report.own_checks.carrier_check import CHECK, WANTED_SHARE, kept_carrier
from niclab.report.verdicts import Verdict

pytestmark = [pytest.mark.bench, pytest.mark.slow]

UP, BROADCOM = "Every Link Is Up", "broadcom-bcm57810"
LEAVE = (
    "for d in /sys/bus/pci/devices/*/net/*; do case $(readlink $d/device/driver) in "
    "*/e1000e) echo 1400 > $d/mtu ;; esac; done"
)


def test_an_mtu_that_a_test_leaves_is_found_named_and_undone(bench: Bench) -> None:
    run = bench.run(*only(UP), inject=(UP, f'ssh --name {NAME} dut "{LEAVE}"', ""))
    run.should_show(red=set(), green={UP})
    result = json.loads((bench.output / "evidence" / "hygiene.json").read_text())
    assert result["faults"] == []
    assert result["findings"], "nothing was found"
    for found in result["findings"]:
        assert (found["server"], found["key"], found["was"], found["is"]) == ("dut", "mtu", "1500", "1400")
        assert found["test"] == UP and found["undone"] is True


def test_a_clean_run_leaves_nothing(bench: Bench) -> None:
    bench.run(*only(UP)).should_show(red=set(), green={UP})
    result = json.loads((bench.output / "evidence" / "hygiene.json").read_text())
    assert (result["faults"], result["findings"]) == ([], [])


QUIET = f"""*** Settings ***
Resource          {REPOSITORY}/resources/bench.resource
Suite Setup       Acquire The Bench
Suite Teardown    Release The Bench
Test Setup        Ready The Bench

*** Test Cases ***
Coming To Rest
    Sleep    12 s

Looking Elsewhere
    Sleep    3 s

Asking Again
    Sleep    6 s
"""


def watched(bench: Bench) -> Sequence[str]:
    """The findings of a run that watched every port for most of its time."""
    kept = kept_carrier(bench.output)
    assert kept is not None and kept.share > WANTED_SHARE
    assert all(each.watched_s > 0 for each in kept.ports.values())
    return kept.findings


def test_a_cable_that_is_pulled_while_nobody_looks_is_found(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "quiet.robot").write_text(QUIET)
    pulled, plugged = (f"cable --name {NAME} {word} a" for word in ("pull", "plug"))
    run = bench.run(inject=("Looking Elsewhere", pulled, plugged), suites=tmp_path)
    assert run.red == {}
    found = watched(bench)
    assert [each.partition(": ")[0] for each in found] == ["Undecided", "Undecided"]
    assert all("the cable or either port" in each for each in found)


def test_a_card_whose_link_flaps_once_by_itself_is_found_by_nothing_else(bench: Bench, tmp_path: Path) -> None:
    """The link goes for half of every 3 s: once in a test of 3 s that looks at no link. The other end keeps its own."""
    (tmp_path / "quiet.robot").write_text(QUIET)
    flap, clear = f"fault set --name {NAME} card:dut.p0 link-flap=3000", f"fault clear --name {NAME}"
    run = bench.run(inject=("Looking Elsewhere", flap, clear), suites=tmp_path, card=BROADCOM)
    assert run.red == {}
    found = watched(bench)
    assert found and all(each.startswith("CardFailure: dut.p0 counted ") for each in found)
    assert all(each.endswith("peer.p0 counted none") for each in found)
    red = [check for check in own_checks(bench.output) if check.verdict is not Verdict.PASS]
    assert [(check.name, check.verdict) for check in red] == [(CHECK, Verdict.CARD_FAILURE)]


def test_links_that_nobody_touches_are_watched_and_at_rest(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "quiet.robot").write_text(QUIET)
    assert bench.run(suites=tmp_path).red == {}
    assert watched(bench) == ()
