"""Time of certificates, against what cannot be shorter: traffic, boots, ordered waits.

    python benchmarks/certify_time.py intel-82574l emulex-oce11102 [--bench FILE] [--dut-os freebsd]

A certificate of each card, one after the other, and one line each. Whether it is certified is printed, not judged.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from niclab.bench.records import OperatingSystem, Role, chosen_systems
from niclab.commands.certifying import certify
from niclab.commands.cli import DEFAULT_BENCH
from niclab.core.verdict import BenchFault
from niclab.files.repository import REPOSITORY
from niclab.report.evidence.runfolder import LATEST
from niclab.report.timing import timing_of

HEADER = f"{'card':<20}{'certified':>10}{'wall':>9}{'ratio':>7}{'commands':>10}{'median':>9}  boots"


def row(card: str, certified: bool, run_dir: Path) -> str:
    """Return the line of one certificate.

    Args:
        card: Name of the card.
        certified: Whether it was certified.
        run_dir: Folder of the run.
    """
    timing = timing_of(run_dir)
    ratio = "-" if timing.ratio is None else f"{timing.ratio:.2f}"
    boots = ", ".join(f"{server} {count}" for server, count in timing.boots.items())
    return (
        f"{card:<20}{'yes' if certified else 'no':>10}{timing.wall_s:>7.0f} s{ratio:>7}{timing.commands:>10}"
        f"{timing.median_s * 1000:>6.0f} ms  {boots}"
    )


def main() -> int:
    """Run the certificates; 0 when all of them could be run."""
    parser = argparse.ArgumentParser(description="How long certificates take.")
    parser.add_argument("cards", nargs="+", metavar="CARD")
    parser.add_argument("--bench", type=Path, default=DEFAULT_BENCH)
    parser.add_argument("--plan", default="quick")
    parser.add_argument("--dut-os", default="", choices=["", *(system.value for system in OperatingSystem)])
    parser.add_argument("--results", type=Path, default=REPOSITORY / "results")
    options = parser.parse_args()
    systems = chosen_systems({Role.DUT: options.dut_os, Role.PEER: ""})
    rows = [HEADER]
    for card in options.cards:
        try:
            status = certify.run(options.bench, card, options.plan, options.results, systems)
            rows.append(row(card, status == 0, (options.results / LATEST).resolve()))
        except BenchFault as fault:
            rows.append(f"{card:<20} no certificate: {fault}")
    print("\n".join(rows))
    return int(any("no certificate" in each for each in rows))


if __name__ == "__main__":
    sys.exit(main())
