"""Random kill -9 moments of a certificate: ``niclab restore`` must find the bench as it was before, each time.

    python tests/robustness/kills.py --runs 20 --seed 1

The run and Robot Framework are killed at a moment drawn from the seed. Starts a bench of its own and removes it.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import campaign
import nightly
from nightly import Nightly

SUITES = ("identity", "link", "settings", "over_cables")
HEAD = ("run", "killed at s", "test", "restored s", "bench")


def moments(seed: int, runs: int, sound_s: float) -> list[float]:
    """Draw the moments, in seconds after the start: one in each of as many equal parts of a sound run, mixed."""
    chance = random.Random(seed)
    drawn = [(number + chance.random()) * sound_s / runs for number in range(runs)]
    chance.shuffle(drawn)
    return drawn


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill the runs; 0 when the bench was as before each time."""
    parser = argparse.ArgumentParser(description="Kill a certificate at random moments, and restore the bench.")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    nightly.options_of(parser, "kills", SUITES)
    options = parser.parse_args(arguments)
    bench = Nightly(options.name, options.card, options.suite or SUITES, options.results)
    rows = []
    with bench.up():
        sound = bench.whole_run()
        print(f"a sound run: {sound.seconds:.0f} s, {nightly.counts(sound)}", flush=True)
        for number, moment in enumerate(moments(options.seed, options.runs, sound.seconds), 1):
            rows.append(one(bench, number, moment))
            print(*rows[-1], sep="  ", flush=True)
    print(nightly.table([HEAD, *rows]))
    equal = sum(each[-1] == "equal" for each in rows)
    print(f"{equal} of {options.runs} times the bench was as before (seed {options.seed})")
    return 0 if equal == options.runs else 1


def one(bench: Nightly, number: int, moment: float) -> tuple[str, ...]:
    """One run that is killed, and the bench restored."""
    before = bench.folders()
    run = bench.certify()
    try:
        run.wait(moment)
    except subprocess.TimeoutExpired:
        for each in (*campaign.children(run.pid), run.pid):
            campaign.send(each, signal.SIGKILL)
        run.wait()
    start = time.monotonic()
    journal = _journal_of(bench.newest(before))
    finished = run.returncode >= 0  # it was over before the moment came
    why = nightly.restored_equal(*bench.restore(), compared=bool(journal) and not finished)
    took = time.monotonic() - start
    test = nightly.last_begun(journal) or ("(between tests)" if journal else "(before the first test)")
    return (str(number), f"{moment:.0f}", "(it had finished)" if finished else test, f"{took:.0f}", why or "equal")


def _journal_of(run_dir: Path | None) -> str:
    """The journal of tests of a run; empty where it has none yet."""
    file = None if run_dir is None else run_dir / "evidence" / "tests.jsonl"
    return file.read_text() if file is not None and file.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
