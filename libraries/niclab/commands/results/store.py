"""The store of a whole lab: results in a database, evidence by hash."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path

from niclab.files.repository import RESULTS


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its subcommands.

    Args:
        commands: Where to.
    """
    actions = commands.add_parser("store", help="keep the results and the evidence of a whole lab")
    what = actions.add_subparsers(required=True, metavar="ACTION")
    fill = what.add_parser("fill", help="take the runs of a folder into the store of results (NICLAB_STORE)")
    fill.add_argument("--results", type=Path, default=RESULTS, help="folder of the run folders")
    fill.set_defaults(run=_fill)
    put = what.add_parser("put", help="keep all files of a run, each content once")
    put.add_argument("run_dir", type=Path, metavar="RUN")
    get = what.add_parser("get", help="write the files of a run into a folder, and check them")
    get.add_argument("name", metavar="RUN")
    get.add_argument("target", type=Path, metavar="FOLDER")
    prune = what.add_parser("prune", help="remove the evidence of old certified runs; certificates stay for ever")
    prune.add_argument("--green-days", type=int, default=90, metavar="N")
    prune.add_argument("--yes", action="store_true", help="do not ask")
    for each, run in ((put, _put), (get, _get), (prune, _prune)):
        each.add_argument("--evidence", required=True, metavar="URL", help="a folder, or a URL such as s3://bucket/lab")
        each.set_defaults(run=run)


def _fill(options: argparse.Namespace) -> int:
    from niclab.commands.results import history  # the packages of the stores are optional

    with closing(history.open_store(options.results)) as store:
        print(f"{history.fill(options.results, store)} runs taken")
    return 0


def _put(options: argparse.Namespace) -> int:
    from niclab.report.evidence.evidence_store import EvidenceArchive

    run_dir = options.run_dir.resolve()
    print(f"{run_dir.name}: {EvidenceArchive(options.evidence).put(run_dir)} new files kept")
    return 0


def _get(options: argparse.Namespace) -> int:
    from niclab.report.evidence.evidence_store import EvidenceArchive

    EvidenceArchive(options.evidence).get(options.name, options.target)
    return 0


def _prune(options: argparse.Namespace) -> int:
    from niclab.report.evidence.evidence_store import EvidenceArchive

    removed = EvidenceArchive(options.evidence).prune(
        options.green_days, datetime.now().astimezone(), lambda count: options.yes or _may_remove(count)
    )
    print(f"{removed} files removed")
    return 0


def _may_remove(count: int) -> bool:
    """Ask whoever is at the terminal; nobody there means no."""
    print(f"{count} files of the store are evidence of no run that is kept", flush=True)
    return bool(count) and sys.stdin.isatty() and input("remove them? [y/N] ").strip().lower() in ("y", "yes")
