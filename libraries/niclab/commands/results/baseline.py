"""``niclab baseline``: accept the figures of a run, list what is accepted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from niclab.files.repository import RESULTS
from niclab.stats.baselines import FOLDER, Accepting, BaselineStore, listing

DEFAULT_STORE = RESULTS / FOLDER


def add_parser(commands: Any) -> None:
    """Add the command to ``commands``, what ``ArgumentParser.add_subparsers`` returned."""
    baseline = commands.add_parser("baseline", help="accept the figures of a run as baselines, or list them")
    actions = baseline.add_subparsers(required=True, metavar="ACTION")
    accept = actions.add_parser("accept", help="later runs are compared with this one")
    accept.add_argument("run_dir", type=Path, metavar="RUN", help="a run folder with measurements.json")
    existing = accept.add_mutually_exclusive_group()
    existing.add_argument(
        "--another-day",
        dest="how",
        action="store_const",
        const=Accepting.ANOTHER_DAY,
        help="where a baseline exists, hold both: they show what days differ by",
    )
    existing.add_argument(
        "--replace",
        dest="how",
        action="store_const",
        const=Accepting.REPLACE,
        help="where a baseline exists, hold this one instead",
    )
    accept.set_defaults(how=Accepting.FIRST)
    accept.set_defaults(run=_accept)
    show = actions.add_parser("list", help="a line a baseline")
    show.set_defaults(run=_list)
    for action in (accept, show):
        action.add_argument("--store", type=Path, default=DEFAULT_STORE, help="folder of the baselines")


def _accept(options: argparse.Namespace) -> int:
    for path in BaselineStore(options.store).accept(options.run_dir, options.how):
        print(f"accepted: {path}")
    return 0


def _list(options: argparse.Namespace) -> int:
    lines = listing(BaselineStore(options.store).all())
    print("\n".join(lines) if lines else f"{options.store}: no baselines")
    return 0
