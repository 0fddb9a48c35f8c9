"""One of several benches of a controller: `one_of_ten.py HOME RESULTS NAME RUNS` does some runs at a fake bench.

All of it above the servers is real: the bench's lock and journal, run folders, evidence, turns to measure, the store.
Prints a line of JSON for each run: its folder, and when it measured.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, cast

from fake_bench import FakeBench

from niclab.commands.certifying.attempts import note_attempts
from niclab.commands.results.history import open_store, take
from niclab.core.undo import Action, ActionKind
from niclab.links import wiring
from niclab.report.certificate.certificate import certify
from niclab.report.evidence.runfolder import finish_run, new_run
from niclab.run import bench_servers
from niclab.run import run as runs
from niclab.run.watching.facts import CardFacts
from niclab.traffic.runs.turns import turn_to_measure

CARD, SECRET = "intel-82574l", "secret-of-the-bmc-of-"


def make_bench(home: Path, name: str) -> FakeBench:
    """A fake bench of that name, whose secrets are in the home of the controller."""
    folder = home / "benches" / name
    folder.mkdir(parents=True)
    bench = FakeBench(folder)
    bench.write(commands=False, cables=True)
    secrets = home / f"secrets-{name}.env"
    secrets.write_text(f"BMC_PASSWORD={SECRET}{name}\nCONSOLE_PASSWORD=console-{name}\n")
    secrets.chmod(0o600)
    text = bench.file.read_text().replace("~/.local/state/niclab/vbench/virtual/secrets.env", str(secrets))
    bench.file = folder / f"{name}.yaml"
    bench.file.write_text(text.replace("bench: virtual\n", f"bench: {name}\n"))
    return bench


def one_run(bench: FakeBench, results: Path, name: str) -> dict[str, Any]:
    """Acquire, change, measure, release, finish, certify, store."""
    run_dir = new_run(results, CARD, name, command_line=["certify", name])
    run = runs.acquire(bench.file, bench.load()[1], run_dir, lambda: None)
    run.part(CardFacts).record()
    run.journal.register("dut", f"{name} was changed", Action(ActionKind.SHELL, "dut", "true"))
    (run.evidence_folder / "said.txt").write_text(f"{name} {run.secrets.get('BMC_PASSWORD')}\n")
    with turn_to_measure():
        begun = time.monotonic()
        time.sleep(0.02)
        ended = time.monotonic()
    runs.release()
    pending = len(run.journal.pending())
    finish_run(run_dir, 0, run.secrets.handed_out)
    note_attempts(run_dir)
    certify(run_dir, 0)
    store = open_store(results)
    taken = take(store, run_dir)
    store.close()
    return {"run": run_dir.name, "begun": begun, "ended": ended, "pending": pending, "taken": taken}


def main(home: Path, results: Path, name: str, count: int) -> None:
    os.environ["HOME"] = str(home)
    bench = make_bench(home, name)
    bench_servers.Server = cast(Any, bench.server_class)  # type: ignore[misc]
    wiring.LOSS_WITHIN_S = wiring.RETURN_WITHIN_S = 0.2
    for _ in range(count):
        print(json.dumps(one_run(bench, results, name)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
