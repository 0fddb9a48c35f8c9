"""A card that gets slower by the minute is found by a soak, and a sound one is not."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from control_bench import REPOSITORY, Bench

from niclab.core.exit_status import ExitStatus

pytestmark = [pytest.mark.bench, pytest.mark.slow]

BROADCOM = "broadcom-bcm57810"
HOURS = 0.15
"""27 cycles of 20 s."""
BEGINS_WITHIN_S = 240


def soaked(bench: Bench, results: Path, fault: tuple[str, str] | None = None) -> tuple[int, str]:
    """Soak; the defect comes when the first cycle has ended, as one that a card has from the first is no drift."""
    command = [sys.executable, "-m", "niclab.commands.cli", "soak", str(bench.file), "--card", BROADCOM]
    words = [*command, "--hours", str(HOURS), "--results", str(results)]
    running = subprocess.Popen(words, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        if fault is not None:
            deadline = time.monotonic() + BEGINS_WITHIN_S
            while not list(results.glob("soaks/*/soak.json")):
                assert running.poll() is None and time.monotonic() < deadline, "no cycle has ended"
                time.sleep(1)
            bench.vbench("fault", "set", *fault)
        said = running.communicate(timeout=HOURS * 3600 + 600)[0]
    finally:
        running.kill()
        if fault is not None:
            bench.vbench("fault", "clear")
    return running.returncode, said


def test_a_card_that_degrades_is_found(bench: Bench, tmp_path: Path) -> None:
    """A peer that gets slower gives the same rates: undecided, until answers lie in a card whose peer is in time."""
    status, _ = soaked(bench, tmp_path, ("card:dut.p0", "degrade=10"))
    (record,) = tmp_path.glob("soaks/*/soak.json")
    found = json.loads(record.read_text())
    late = any(each.startswith("CardFailure: dut.p0 ") and "got late" in each for each in found["findings"])
    assert status == (ExitStatus.CARD_FAILURE if late else ExitStatus.UNDECIDED)
    assert any(each.startswith("dut.p0 ") and "changed by -" in each for each in found["drifts"]), found


def test_a_link_that_flaps_once_is_found(bench: Bench, tmp_path: Path) -> None:
    _, said = soaked(bench, tmp_path, ("card:dut.p1", "link-flap=120000"))
    (record,) = tmp_path.glob("soaks/*/soak.json")
    assert any("dut.p1 counted" in each for each in json.loads(record.read_text())["findings"]), said


def test_a_sound_card_has_no_card_failure(bench: Bench, tmp_path: Path) -> None:
    """A bench on a host that others use may be too unsteady to tell; it must never be the card's."""
    status, said = soaked(bench, tmp_path)
    assert status in (ExitStatus.CERTIFIED, ExitStatus.UNDECIDED) and "CardFailure" not in said
