"""A test that leaves something behind outside of the journal is named, and the bench is put back."""

from __future__ import annotations

import json

import pytest
from control_bench import NAME, Bench, only

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
