"""A suite of one's own, as the documentation shows it: green on a sound bench, and red by the verdict that it names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from control_bench import REPOSITORY, Bench

pytestmark = [pytest.mark.bench, pytest.mark.slow]

INTERRUPTS, PINGS = "Traffic Makes Interrupts", "A Server Can Leave Pings Without Answer"
CHANGES = "The Link Has Not Changed Since The Driver Was Loaded"


@pytest.fixture
def suites(tmp_path: Path) -> Path:
    """A repository whose only suite is the example."""
    for name in ("resources", "libraries"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    own = tmp_path / "suites" / "90__own"
    own.mkdir(parents=True)
    shutil.copy(REPOSITORY / "suites" / "__init__.robot", own.parent)
    shutil.copy(REPOSITORY / "docs" / "examples" / "interrupts.robot", own)
    return own.parent


def test_the_example_is_green_and_leaves_the_servers_as_they_were(bench: Bench, suites: Path) -> None:
    run = bench.run(suites=suites)
    run.should_show(red=set(), green={INTERRUPTS, PINGS, CHANGES})
    assert bench.ssh("peer", "sysctl -n net.ipv4.icmp_echo_ignore_all").strip() == "0"


def test_what_it_finds_wrong_is_the_cards(bench: Bench, suites: Path) -> None:
    example = suites / "90__own" / "interrupts.robot"
    example.write_text(
        example.read_text().replace("${changes}    4    our own limit", "${changes}    -1    our own limit")
    )
    run = bench.run(suites=suites)
    run.should_show(red={CHANGES}, green={INTERRUPTS, PINGS})
    assert run.red[CHANGES].startswith("CardFailure: changes of carrier of dut.p0: ")
    assert run.red[CHANGES].endswith("; expected at most -1 (our own limit)")
