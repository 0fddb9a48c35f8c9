"""Number of switchable offloads of each card sheet that counters prove: ``benchmarks/offload_coverage.py``.

A row is proven when the sheet names a counter and the lab makes the traffic that moves it. Rows that cannot be switched
are not counted: there is no state without them to compare with.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "libraries"))

from niclab.bench.records import OperatingSystem  # noqa: E402 - found by the path set above
from niclab.card import Card, Changeable, load_card  # noqa: E402
from niclab.settings.offloads.offload_proof import FLOWS  # noqa: E402


def coverage(card: Card, system: OperatingSystem) -> tuple[list[str], list[str]]:
    """Name the offloads that can be switched, and those of them that are proven.

    Args:
        card: The sheet.
        system: The operating system whose rows are meant.
    """
    if card.offloads is None:
        return [], []
    rows = card.offloads.rows(system)
    switchable = {name: row for name, row in rows.items() if row.change is Changeable.BOTH}
    proven = [name.value for name, row in switchable.items() if row.proof is not None and name in FLOWS]
    return [name.value for name in switchable], proven


def main() -> int:
    """Print a row for each sheet and system."""
    print(f"{'sheet':20} {'system':8} {'switchable':>10} {'proven':>7}   proven by counters")
    totals = dict.fromkeys(OperatingSystem, (0, 0))
    for file in sorted((ROOT / "lab" / "cards").glob("*.yaml")):
        card = load_card(file)
        for system in OperatingSystem:
            switchable, proven = coverage(card, system)
            if switchable:
                share = f"{len(proven):4} {100 * len(proven) // len(switchable):2}%"
                print(f"{card.name:20} {system.value:8} {len(switchable):10} {share}   {', '.join(proven)}")
                before = totals[system]
                totals[system] = (before[0] + len(switchable), before[1] + len(proven))
    for system, (switchable, proven) in totals.items():
        print(f"{'all':20} {system.value:8} {switchable:10} {proven:4} {100 * proven // max(1, switchable):2}%")
    return 0


if __name__ == "__main__":
    sys.exit(main())
