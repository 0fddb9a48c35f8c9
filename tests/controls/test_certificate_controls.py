"""A certificate takes none of its ways out: an unknown fact, a waiver too wide, a restart, a run made again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from control_bench import Bench, only
from test_kernel_controls import OOPS, said

from niclab.commands.certifying import certify
from niclab.core.exit_status import ExitStatus
from niclab.report.certificate.certificate import CERTIFICATE_FILE
from niclab.report.evidence.runfolder import LATEST
from niclab.scope.waivers import load_waivers

pytestmark = [pytest.mark.bench, pytest.mark.slow]

RINGS, COLD = "Rings Are As Delivered", "The Link Is As On The Sheet After A Power Cycle"
IDLE = "The Link Is As On The Sheet When Idle"
OTHER_RINGS = ("rx: {min: 64, max: 4096, default: 256}", "rx: {min: 64, max: 4096, default: 512}")
STILL_S, RUNNING_S = 0.4, 7.0

Certified = Callable[..., tuple[ExitStatus, dict[str, Any]]]


@pytest.fixture
def certified(bench: Bench, tmp_path: Path) -> Certified:
    """Certify a sheet by some suites of the plan quick; returns how it ended, and the certificate."""

    def ask(sheet: Path, *suites: str) -> tuple[ExitStatus, dict[str, Any]]:
        results = tmp_path / "results"
        status = certify.run(bench.file, str(sheet), "quick", results, suites=suites)
        content: dict[str, Any] = json.loads((results / LATEST / CERTIFICATE_FILE).read_text())
        return status, content

    return ask


def test_an_unknown_limit_is_a_lack(bench: Bench, certified: Certified) -> None:
    unknown = ("  tcp_fraction_of_line_rate: 0.85", "  tcp_fraction_of_line_rate: {unknown: nobody has measured it}")
    status, content = certified(bench.sheet(limit=unknown), "Limits")
    assert status is not ExitStatus.CERTIFIED
    (row,) = (each for each in content["requirements"] if each["id"] == "CARD-06")
    (part,) = (each for each in row["parts"] if each["id"] == "CARD-06/limits")
    lack = "does not know limits.tcp_fraction_of_line_rate: nobody has measured it"
    assert part["status"] == "not tested" and part["reason"].endswith(lack)
    assert [text for text in content["reasons"] if "CARD-06/limits" in text and lack in text]


@pytest.mark.parametrize(
    ("message", "covered"), [("dut.p0 (0000:01:00.0): ring rx", False), ("): ring rx is 256", True)]
)
def test_a_waiver_leaves_its_neighbour_red(
    bench: Bench, certified: Certified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str, covered: bool
) -> None:
    folder = tmp_path / "waivers"
    folder.mkdir()
    words = (
        "waiver: lab-1",
        "card: intel-82574l",
        f'message: "{message}"',
        "reason: seen",
        "owner: lab",
        'expires: "2099-12-31"',
    )
    (folder / "lab-1.yaml").write_text("\n".join(words) + "\n")
    monkeypatch.setattr(certify, "load_waivers", partial(load_waivers, folder))
    _, content = certified(bench.sheet(rings=OTHER_RINGS), "Defaults")
    (test,) = (each for each in content["tests"] if each["name"].endswith(RINGS))
    assert (test["verdict"], test["waiver"]) == ("card-failure", "lab-1" if covered else None), test


def test_an_oops_before_an_ordered_start_is_not_lost_with_it(bench: Bench) -> None:
    run = bench.run(*only(COLD, IDLE), inject=(COLD, said("dut", *OOPS), ""))
    run.should_show(red={COLD}, green={IDLE})
    assert run.red[COLD].startswith(f"KernelFailure: dut kernel: oops: {OOPS[0]}")


def test_runs_that_are_made_again_too_often_certify_nothing(bench: Bench, certified: Certified) -> None:
    with _standing_still(bench):
        _, content = certified(bench.sheet(), "Limits")
    (check,) = (each for each in content["tests"] if "stood still in" in each["message"])
    assert check["verdict"] in {"undecided", "bench-fault"}, check


@contextmanager
def _standing_still(bench: Bench) -> Iterator[None]:
    """The dut stands still for a moment every few seconds, as one whose driver stops it."""
    end = threading.Event()

    def pulses() -> None:
        while not end.wait(RUNNING_S):
            bench.vbench("fault", "set", "server:dut", "frozen")
            end.wait(STILL_S)
            bench.vbench("fault", "clear")

    thread = threading.Thread(target=pulses)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
