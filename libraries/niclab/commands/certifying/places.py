"""Benches that a coordinator shares out: which of them a run uses, and what they are called there."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from niclab.bench.bench_file import load_bench
from niclab.bench.records import Role
from niclab.core.abort import StopOrder
from niclab.fleet.reservation import PREFIX, Coordinator, ReservedBench, reserved, tags_of


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command.

    Args:
        commands: Where to.
    """
    places = commands.add_parser("places", help="make bench files known to the coordinator (LG_COORDINATOR) as places")
    places.add_argument("bench", nargs="*", type=Path, help="bench files; a place has the name of its file")
    places.add_argument("--tag", action="append", default=[], metavar="NAME=VALUE", help="a tag of all of them")
    places.add_argument("--reap", action="store_true", help="release the places whose holder is overdue")
    places.set_defaults(run=lambda options: run(options.bench, options.tag, reap=options.reap))


def run(benches: list[Path], tags: list[str], *, reap: bool) -> int:
    """Export benches as places, and reap.

    Args:
        benches: Bench files.
        tags: Tags of all of them, each ``NAME=VALUE``.
        reap: Release the places of overdue holders too.

    Raises:
        BenchFault: A bench file or tag is wrong, or the coordinator cannot be reached.
    """
    coordinator = Coordinator.of_environment()
    common = tags_of(",".join(tags)) if tags else {}
    asked = {file.stem: {"os": load_bench(file).server(Role.DUT).os.value, **common} for file in benches}
    for line in [*coordinator.do("export", asked), *(coordinator.do("reap", {}) if reap else ())]:
        print(" ".join(f"{name}={value}" for name, value in json.loads(line).items()))
    return 0


@contextmanager
def bench_of(bench: Path, queue_s: float) -> Iterator[ReservedBench]:
    """Yield the bench of a run; for ``labgrid:FILTER`` one which is held meanwhile.

    Args:
        bench: The file, or the filter.
        queue_s: Seconds to wait in the queue at most.

    Raises:
        BenchFault: No bench can be reserved.
    """
    if not str(bench).startswith(PREFIX):
        yield ReservedBench(bench, StopOrder())
        return
    with reserved(tags_of(str(bench)), Coordinator.of_environment(), queue_s=queue_s) as held:
        yield held
