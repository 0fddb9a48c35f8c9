"""Interruption of a bond's traffic by a lost link.

``benchmarks/failover.py BENCH_FILE [--card CARD] [--mode active-backup] [--cause switch-port] [--times 30]``

Takes the bench as a test run does, lays its paths to the switch, and loses the link that carries what the dut sends, as
often as asked, for each mode and cause (all of them where none is chosen: about 17 s a time, so an hour).
Tells of each direction what is proven of the outages and what they can have been at most: least, median, 95 %, most;
and how long the prober itself was blind, at both ends, since an outage shorter than that is its own. Times in which a
direction was not interrupted, because its traffic took the other link, are counted and left out of its figures.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "libraries"))

from niclab.bench.records import Role  # noqa: E402 - found by the path set above
from niclab.card import load_card  # noqa: E402
from niclab.core.wait import pause  # noqa: E402
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, LacpRate  # noqa: E402
from niclab.links import patch_panel  # noqa: E402
from niclab.links.failure import Cause  # noqa: E402
from niclab.links.upper.bonds import Bonds, MemberLink  # noqa: E402
from niclab.run import run as labs  # noqa: E402
from niclab.run.acquiring.prepared_ports import PreparedPorts  # noqa: E402
from niclab.traffic.outage import prober  # noqa: E402
from niclab.traffic.outage.outage_records import OutageReport, ProbedDirection  # noqa: E402
from niclab.traffic.outage.prober import End  # noqa: E402

MODES = (BondMode.ACTIVE_BACKUP, BondMode.LACP)
CAUSES = (Cause.SWITCH_PORT, Cause.CABLE, Cause.OWN_LINK)
MIIMON_MS = 100
SETTLED_S, WATCHED_S = 1.0, 2.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--card", default="intel-82574l")
    parser.add_argument("--mode", type=BondMode, choices=MODES, action="append")
    parser.add_argument("--cause", type=Cause, choices=CAUSES, action="append")
    parser.add_argument("--times", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        taken = labs.acquire(options.bench, load_card(options.card), Path(folder), lambda: None)
        try:
            taken.part(PreparedPorts).prepare()
            patch_panel.connect(taken)
            for mode in options.mode or MODES:
                for cause in options.cause or CAUSES:
                    measure(taken, mode, cause, options.times)
            patch_panel.disconnect(taken)
        finally:
            labs.release()


def measure(taken: labs.Run, mode: BondMode, cause: Cause, times: int) -> None:
    """Bond both servers and lose a link ``times`` times by ``cause``; print what was found."""
    bonds, rate = taken.part(Bonds), LacpRate.FAST if mode is BondMode.LACP else None
    bonds.create(BondSettings(mode, miimon_ms=MIIMON_MS, lacp_rate=rate))
    try:
        began, reports = time.monotonic(), []
        for number in range(times):
            bonds.make_whole()
            reports.append(failover(taken, bonds, cause))
            told = ", ".join(f"{each.proven_ms:.0f} to {each.at_most_ms:.0f} ms" for each in reports[-1].directions)
            print(f"  {mode.value} {cause.value} {number + 1}: {told}", flush=True)
        seconds = time.monotonic() - began
    finally:
        bonds.remove()
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{mode.value}, {cause.value}: {times} failovers in {seconds:.0f} s, load here {load}")
    for number in (0, 1):
        tell([report.directions[number] for report in reports])


def failover(taken: labs.Run, bonds: Bonds, cause: Cause) -> OutageReport:
    """Lose the link over which the dut sends, watch, and give it back."""
    path = taken.bench.paths[0]
    ports = sorted(map(taken.bench.port, path.ends), key=lambda port: port.role is not Role.DUT)
    first, second = (End(taken.server_of(port), str(taken.bench.address(port).ip)) for port in ports)
    try:
        with prober.probing(first, second, prober.period_us(path.rate_scale)) as probing:
            bonds.lose((MemberLink.FIRST, MemberLink.SECOND)[busiest_path(bonds)], cause, lambda _: None)
            pause(WATCHED_S)
            return probing.stop()
    finally:
        bonds.restore()


def busiest_path(bonds: Bonds) -> int:
    """Return the path that carries most of what the dut sends: 0 for the first of the bench file."""
    bond = bonds.stack(Role.DUT)
    names = [interface.name for interface in bond.below.values()]

    def sent() -> list[int]:
        return [bond.server.host.counts.statistics(name).tx_packets for name in names]

    before = sent()
    pause(SETTLED_S)
    gained = [now - then for now, then in zip(sent(), before, strict=True)]
    return gained.index(max(gained))


def tell(found: Sequence[ProbedDirection]) -> None:
    """The distribution of one direction."""
    hit = [each for each in found if any(outage.heard for outage in each.outages)]
    print(f"  {found[0].name}: interrupted {len(hit)} of {len(found)} times", end="")
    if hit:
        print(
            f"; proven {spread([each.proven_ms for each in hit])}; at most {spread([each.at_most_ms for each in hit])}"
        )
    else:
        print()
    for end, noises in (("sender", [each.sender for each in found]), ("receiver", [each.receiver for each in found])):
        print(
            f"    {end} of it: longest pause {spread([noise.longest_ms for noise in noises])}; "
            f"blind in all {spread([noise.blind_ms for noise in noises])}"
        )
    duplicated, reordered = (sum(getattr(each, what) for each in found) for what in ("duplicated", "reordered"))
    unended = sum(not each.over for each in found)
    print(f"    {duplicated} duplicated, {reordered} reordered, {unended} not over within {WATCHED_S:g} s")


def spread(values: Sequence[float]) -> str:
    """Least, median, 95 % (nearest rank) and most, in ms."""
    ordered = sorted(values)
    at_95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
    return f"{ordered[0]:.0f} / {statistics.median(ordered):.0f} / {at_95:.0f} / {ordered[-1]:.0f} ms"


if __name__ == "__main__":
    main()
