"""A test that leaves something behind outside of the journal is named, and the bench is put back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from control_bench import NAME, REPOSITORY, Bench, only

pytestmark = [pytest.mark.bench, pytest.mark.slow]

UP = "Every Link Is Up"
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


def test_a_cable_that_is_pulled_while_nobody_looks_is_found(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "quiet.robot").write_text(QUIET)
    pulled, plugged = (f"cable --name {NAME} {word} a" for word in ("pull", "plug"))
    run = bench.run(inject=("Looking Elsewhere", pulled, plugged), suites=tmp_path)
    assert run.red == {}
    found = json.loads((bench.output / "evidence" / "carrier.json").read_text())
    assert found["watched_s"] > 0
    assert [each.partition(": ")[0] for each in found["findings"]] == ["Undecided", "Undecided"]
    assert all("the cable or either port" in each for each in found["findings"])


def test_links_that_nobody_touches_are_watched_and_at_rest(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "quiet.robot").write_text(QUIET)
    assert bench.run(suites=tmp_path).red == {}
    found = json.loads((bench.output / "evidence" / "carrier.json").read_text())
    assert found["findings"] == [] and found["watched_s"] > 0
