"""The ``niclab`` command."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import traceback
from pathlib import Path

from niclab import __version__
from niclab.bench.records import Role
from niclab.card import CARDS
from niclab.commands import doctor, new_bench, new_card, parse, restore, soak
from niclab.commands.certifying import certify, certify_all, places, resume
from niclab.commands.parity import parity_page
from niclab.commands.results import baseline, compare, report, store, timing, verify
from niclab.core.exit_status import ExitStatus
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.files.mask import MessageMask
from niclab.files.repository import REPOSITORY, RESULTS
from niclab.files.secrets import handed_out
from niclab.fleet.reservation import QUEUE_S
from niclab.scope.plan import PLAN_OF_PROFILE
from niclab.transports import TransportFault

DEFAULT_BENCH = REPOSITORY / "lab" / "benches" / "virtual.yaml"
DEFAULT_CARD = "intel-82574l"
_MASK = MessageMask(handed_out)
SIGN_KEY = "NICLAB_SIGN_KEY"
"""Environment variable that names the key of a certificate."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its :class:`niclab.core.exit_status.ExitStatus`."""
    options = _parser().parse_args(arguments)
    try:
        _check_installation(REPOSITORY)
        status: int = options.run(options)
    except (BenchFault, NotApplicable) as error:
        mend = error.mend if isinstance(error, TransportFault) else ""
        print(f"niclab: {_MASK(str(error).removesuffix(mend).rstrip())}", file=sys.stderr)
        if mend:
            print(f"mend: {_MASK(mend)}", file=sys.stderr)
        return ExitStatus.BENCH_FAULT
    except Exception:  # noqa: BLE001 - Python would end with 1, which means that the card failed
        print(_MASK(traceback.format_exc()), file=sys.stderr)
        return ExitStatus.BENCH_FAULT
    return status


def _check_installation(repository: Path) -> None:
    """Refuse a copy of the package that was installed apart from its suites and its lab."""
    missing = [name for name in ("suites", "resources", "lab") if not (repository / name).is_dir()]
    if missing:
        raise BenchFault(
            f"{repository}: holds no {', '.join(missing)}; expected an installation that brings them: pip install ."
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("niclab", description="Qualification of network cards.")
    parser.add_argument("--version", action="version", version=f"niclab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    look = commands.add_parser("doctor", help="check a bench, and explain how to fix each problem")
    look.add_argument("bench", nargs="?", type=Path, default=DEFAULT_BENCH)
    look.add_argument("--card", default=DEFAULT_CARD, help="sheet of the card on the bench")
    look.add_argument("--no-cables", action="store_true", help="leave every link alone")
    _systems_options(look)
    look.set_defaults(run=_doctor)
    new = commands.add_parser(
        "new-bench", help="write a bench file: ask a few questions, and the servers for their ports"
    )
    new.add_argument("name", help="name of the bench")
    for name, question in new_bench.QUESTIONS.items():
        new.add_argument(f"--{name.replace('_', '-')}", default="", help=question)
    new.add_argument("--folder", type=Path, default=new_bench.BENCHES, help="where it is written")
    new.set_defaults(run=_new_bench)
    card = commands.add_parser("new-card", help="write a card sheet from what the dut of a bench shows: a draft")
    card.add_argument("name", help="name of the card")
    card.add_argument("--from", dest="bench", type=Path, required=True, metavar="BENCH", help="bench file")
    card.add_argument("--card", default="", help="the card in the dut, as the bench names it, where it has several")
    card.add_argument("--folder", type=Path, default=CARDS, help="where it is written")
    card.set_defaults(run=_new_card)
    undo = commands.add_parser("restore", help="undo what a killed run left changed on a bench")
    undo.add_argument("bench", nargs="?", type=Path, default=DEFAULT_BENCH)
    undo.add_argument(
        "--forget", metavar="ID|failed|state", default="", help="give up a change, every one that failed, or the state"
    )
    undo.add_argument("--reason", metavar="TEXT", default="", help="why --forget; kept in the journal")
    undo.add_argument("--steal", action="store_true", help="break the leases of others on the servers first")
    undo.add_argument("--wait", type=float, default=0, metavar="S", help="seconds a run on the bench has to end")
    undo.set_defaults(run=_restore)
    qualify = commands.add_parser("certify", help="qualify a card: suites, Allure report, certificate")
    qualify.add_argument("bench", nargs="?", type=Path, default=DEFAULT_BENCH)
    qualify.add_argument("--bench", type=Path, dest="other_bench", metavar="FILE|labgrid:FILTER", help="the same")
    qualify.add_argument(
        "--queue", type=float, default=QUEUE_S, metavar="S", help="seconds to wait for a bench of labgrid:FILTER"
    )
    qualify.add_argument("--card", default=DEFAULT_CARD)
    scope = qualify.add_mutually_exclusive_group()
    scope.add_argument("--plan", help="name of a plan in lab/plans, or a plan's file: what must be covered")
    scope.add_argument("--profile", type=Profile, default=Profile.QUICK, metavar="quick|full", help="its own plan")
    qualify.add_argument("--results", type=Path, default=RESULTS, help="folder of the run folders")
    qualify.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="NAME",
        help="run this suite only (again for more): a partial run",
    )
    qualify.add_argument(
        "--resume", type=Path, metavar="RUN", help="resume a killed run in its folder, with its original arguments"
    )
    qualify.add_argument(
        "--dry-run", action="store_true", help="only say what to expect: boots, minutes, and what the bench can decide"
    )
    qualify.add_argument(
        "--allow-local-changes",
        action="store_true",
        help="certify a real card although files of the lab differ from its commit; the certificate says so",
    )
    qualify.add_argument(
        "--driver", default="", metavar="inbox|vendor|VERSION", help="the driver to qualify; else the one that is there"
    )
    key = os.environ.get(SIGN_KEY)
    qualify.add_argument(
        "--sign", type=Path, metavar="KEYFILE", default=Path(key) if key else None, help=f"sign it; or set {SIGN_KEY}"
    )
    _systems_options(qualify)
    qualify.set_defaults(run=_certify)
    _soak_parser(commands)
    again = commands.add_parser("report", help="make the Allure report of a run that has none, or make it again")
    again.add_argument("run_dir", type=Path, metavar="RUN", help="folder of the run, such as results/latest")
    again.set_defaults(run=lambda options: report.run(options.run_dir))
    check = commands.add_parser("verify", help="check every file of a run against its certificate")
    check.add_argument("run_dir", type=Path, metavar="RUN", help="folder of the run, such as results/latest")
    check.add_argument("--signers", type=Path, metavar="FILE", help="who may sign: allowed signers of ssh-keygen")
    check.set_defaults(run=lambda options: verify.run(options.run_dir, options.signers))
    spent = commands.add_parser("timing", help="say where the time of a finished run went")
    spent.add_argument("run_dir", type=Path, metavar="RUN", help="folder of the run, such as results/latest")
    spent.add_argument("--commands", action="store_true", help="list the most frequent commands, and who sent them")
    spent.set_defaults(run=lambda options: timing.run(options.run_dir, options.commands))
    two = commands.add_parser("compare", help="compare the figures of two runs, and say which differences are real")
    two.add_argument("first", type=Path, metavar="RUN", help="folder of the one run")
    two.add_argument("second", type=Path, metavar="RUN", help="folder of the other")
    two.add_argument("--html", type=Path, metavar="FILE", help="write the comparison as one HTML file too")
    two.set_defaults(run=lambda options: compare.run(options.first, options.second, options.html))
    past = commands.add_parser("history", help="name the runs of a card, or the newest of each, and write a page")
    past.add_argument("card", nargs="?", help="name of the card sheet; without it, all cards on one page")
    past.add_argument("--results", type=Path, default=RESULTS, help="folder of the run folders")
    past.add_argument(
        "--html", type=Path, metavar="FILE", help="the page; by default history-CARD.html or all-cards.html there"
    )
    past.set_defaults(run=_history)
    read = commands.add_parser("parse", help="read a tool's output from standard input, print its record as JSON")
    what = read.add_mutually_exclusive_group(required=True)
    what.add_argument("kind", nargs="?", help="what the text is; see --list")
    what.add_argument("--batch", action="store_true", help="read and write JSON lines")
    what.add_argument("--list", action="store_true", dest="listing", help="name every kind")
    read.set_defaults(run=_parse)
    baseline.add_parser(commands)
    store.add_parser(commands)
    places.add_parser(commands)
    certify_all.add_parser(commands)
    alike = commands.add_parser("parity", help="print which question each operating system answers, and how")
    alike.set_defaults(run=_parity)
    return parser


def _soak_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    long = commands.add_parser("soak", help="load a card for hours, with a live page: drifts, errors, flaps, stalls")
    long.add_argument("bench", nargs="?", type=Path, default=DEFAULT_BENCH)
    long.add_argument("--hours", type=float, required=True, metavar="N", help="how long; a part of an hour for a look")
    long.add_argument("--card", default=DEFAULT_CARD)
    long.add_argument("--results", type=Path, default=RESULTS, help="the folder soaks in it takes the record")
    _systems_options(long)
    long.set_defaults(run=_soak)


def _systems_options(parser: argparse.ArgumentParser) -> None:
    names = "linux, freebsd, or a name in systems of the bench file"
    for role in Role:
        of_role = f"operating system of {role.value}, if another: {names}"
        parser.add_argument(f"--{role.value}-os", metavar="SYSTEM", default="", help=of_role)


def _systems(options: argparse.Namespace) -> dict[Role, str]:
    asked = {Role.DUT: options.dut_os, Role.PEER: options.peer_os}
    return {role: name for role, name in asked.items() if name}


def _new_card(options: argparse.Namespace) -> int:
    return new_card.run(options.name, options.bench, options.folder, options.card)


def _doctor(options: argparse.Namespace) -> int:
    faults = questions = 0
    with tempfile.TemporaryDirectory() as scratch:
        for finding in doctor.examine(
            options.bench,
            options.card,
            cables=not options.no_cables,
            scratch=Path(scratch),
            systems=_systems(options),
        ):
            print(_MASK(str(finding)), flush=True)
            faults += bool(finding.fault)
            questions += bool(finding.question)
    if questions:
        print(f"{questions} question{'s' * (questions != 1)}: sheet or card?")
    print(f"{faults} fault{'s' * (faults != 1)}" if faults else "the bench is ready")
    return 1 if faults else 0


def _new_bench(options: argparse.Namespace) -> int:
    answers = {name: getattr(options, name) for name in new_bench.QUESTIONS}
    return new_bench.run(new_bench.BenchAnswers(options.name, **answers), options.folder)


def _restore(options: argparse.Namespace) -> int:
    if options.forget:
        return restore.forget(options.bench, options.forget, options.reason)
    return restore.run(options.bench, steal=options.steal, wait_s=options.wait)


def _certify(options: argparse.Namespace) -> int:
    if options.resume is not None and options.other_bench is None:
        return resume.run(options.resume, options.sign)
    if options.resume is not None:
        with places.bench_of(options.other_bench, options.queue) as bench:
            return resume.run(options.resume, options.sign, bench)
    plan = options.plan or PLAN_OF_PROFILE[options.profile]
    with places.bench_of(options.other_bench or options.bench, options.queue) as bench:
        return certify.run(
            bench.file,
            options.card,
            plan,
            options.results,
            _systems(options),
            options.sign,
            dry_run=options.dry_run,
            suites=options.suite,
            stop=bench.stop,
            allow_local_changes=options.allow_local_changes,
            driver=options.driver,
        )


def _soak(options: argparse.Namespace) -> int:
    return soak.run(options.bench, options.card, options.hours, options.results, _systems(options))


def _history(options: argparse.Namespace) -> int:
    from niclab.commands.results import all_cards, history  # need packages of the results store, which are optional

    if options.card is None:
        return all_cards.run(options.results, options.html)
    return history.run(options.card, options.results, options.html)


def _parse(options: argparse.Namespace) -> int:
    return parse.run(options.kind, batch=options.batch, listing=options.listing)


def _parity(_: argparse.Namespace) -> int:
    print(parity_page(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
