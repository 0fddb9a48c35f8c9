"""The folder of one run, ``results/<YYYYmmdd-HHMMSS>-<card>-<bench>/``, and its ``run.json``.

::

    run_dir = new_run(Path("results"), card="intel-82574l", bench="virtual")
    plan_run(run_dir, expected_tests=42, plan="quick")
    ... robot --listener libraries/listeners/AllureResults.py:RUN/allure-results --outputdir RUN suites/ ...
    record_facts(run_dir, driver="e1000e 6.1.0", firmware="1.8-0", kernel="6.1.0-28-amd64")
    finish_run(run_dir, robot_rc=0)

Each raises BenchFault where the run folder cannot be read or written.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import platform
import re
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault
from niclab.files.mask import Mask
from niclab.files.repository import REPOSITORY
from niclab.report import now, read_json_object, who, write_json
from niclab.report.evidence.evidence import seal

RUN_FILE = "run.json"
CERTIFICATE_FILE = "certificate.json"
EVIDENCE_FOLDER = "evidence"
ALLURE_RESULTS_FOLDER = "allure-results"
LATEST = "latest"
PHYSICAL = "physical card"
DEMONSTRATION = "DEMONSTRATION, emulated card"
NEEDED_FACTS = ("driver", "firmware", "kernel")
QUALIFIED_DRIVER = "qualified_driver"
"""Fact of where the driver is from: the system, or a package of the vendor."""
_FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PACKAGES = ("robotframework", "asyncssh", "pysnmp", "python-ipmi", "pyserial", "requests", "pydantic", "PyYAML")
_GIT_WITHIN_S = 20


def new_run(
    results_root: Path,
    card: str,
    bench: str,
    *,
    emulated: bool = False,
    command_line: Sequence[str] | None = None,
    secrets: Iterable[str] = (),
    repository: Path = REPOSITORY,
) -> Path:
    """Make the folder of a new run, with its ``run.json`` and an empty evidence folder, and return its path.

    ``run.json`` tells who runs what, when, where and with which versions. ``results/latest`` is left alone until
    :func:`finish_run`.

    Args:
        results_root: Made when missing.
        card: Name of the card sheet.
        bench: Name of the bench file.
        emulated: Whether the cards are models in software; the run is then marked as a demonstration.
        command_line: What was called; by default that of this process.
        secrets: Values masked in the command line.
        repository: Its git commit is noted; a folder outside of git has none.

    Raises:
        BenchFault: For a name that does not fit a file name, or a folder that cannot be made.
    """
    for field, name in (("card", card), ("bench", bench)):
        if not _NAME.fullmatch(name):
            raise BenchFault(f"new run: {field}: {name!r} is not wanted; expected letters, digits, '.', '_' and '-'")
    started = datetime.now().astimezone()
    base = results_root.absolute() / f"{started:%Y%m%d-%H%M%S}-{card}-{bench}"
    run_dir = _make_unique(base)
    mask = Mask(secrets)
    called = sys.argv if command_line is None else command_line
    run = {
        "format": _FORMAT,
        "run": run_dir.name,
        "card": card,
        "bench": bench,
        "subject": subject_of(emulated),
        "who": {"user": getpass.getuser(), "controller": socket.gethostname()},
        "started": started.isoformat(timespec="seconds"),
        "finished": None,
        "command_line": [mask(word) for word in called],
        "versions": _versions(),
        "git": git_state(repository),
        "inputs": {},
        "earlier_attempts": [],
        "attempts_unknown": "",
        "expected_tests": None,
        "partial": None,
        "called": {},
        "continued": [],
        "robot_rc": None,
        "facts": {},
        "software": {},
    }
    write_json(run_dir / RUN_FILE, run)
    (run_dir / EVIDENCE_FOLDER).mkdir()
    return run_dir


def subject_of(emulated: bool) -> str:
    """Say what kind of card a run qualifies, in the words of every report."""
    return DEMONSTRATION if emulated else PHYSICAL


def read_run(run_dir: Path) -> dict[str, Any]:
    """The content of ``run.json``.

    Raises:
        BenchFault: When it is missing, unreadable or of another format.
    """
    run = read_json_object(run_dir / RUN_FILE)
    if run.get("format") != _FORMAT:
        raise BenchFault(f"{run_dir / RUN_FILE}: format: {run.get('format')!r} is not known; expected {_FORMAT}")
    for field in ("who", "versions", "facts"):
        if not isinstance(run.get(field), dict):
            raise BenchFault(f"{run_dir / RUN_FILE}: {field}: {run.get(field)!r} is not wanted; expected a JSON object")
    if not isinstance(run.get("git"), dict | None):
        raise BenchFault(f"{run_dir / RUN_FILE}: git: {run['git']!r} is not wanted; expected a JSON object or null")
    return run


def plan_run(run_dir: Path, *, expected_tests: int, plan: str, partial: str | None = None) -> None:
    """Note how many tests a complete run has, and why this run is not complete if it is not.

    Args:
        run_dir: Folder of the run.
        expected_tests: Number of all tests of the qualification, counted without any selection.
        plan: Name of the plan that says what the certificate must cover.
        partial: The reason in words when only a part was asked for; None for a complete run.

    Raises:
        BenchFault: When the number is not positive or the reason is empty.
    """
    if expected_tests < 1:
        raise BenchFault(f"{run_dir}: expected_tests: {expected_tests} is not wanted; expected at least 1")
    if partial is not None and not partial.strip():
        raise BenchFault(f"{run_dir}: partial: is empty; expected why the run is partial, or nothing")
    _update(run_dir, {"expected_tests": expected_tests, "plan": plan, "partial": partial})


def record_call(run_dir: Path, **words: str) -> None:
    """Note what the run was called with, so that it can be continued.

    Args:
        run_dir: Folder of the run.
        words: The bench file, the sheet, the plan, and the operating systems that are others than in the bench file.
    """
    _update(run_dir, {"called": words})


def record_continuation(run_dir: Path, interrupted: str) -> None:
    """Note that a killed run is continued now.

    Args:
        run_dir: Folder of the run.
        interrupted: Full name of the test during which it was killed; empty if it was between two tests.
    """
    entry = {"when": now(), "who": who(), "interrupted": interrupted}
    _update(run_dir, {"continued": [*(read_run(run_dir).get("continued") or []), entry]})


def is_continued(run_dir: Path) -> bool:
    """Tell whether a run was killed and is continued; a folder without a run file is no such run.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: The run file cannot be read.
    """
    return (run_dir / RUN_FILE).exists() and bool(read_run(run_dir).get("continued"))


def record_inputs(run_dir: Path, files: Mapping[str, str]) -> None:
    """Note where the files that decide what is asked of the card were.

    Args:
        run_dir: Folder of the run.
        files: What it is -> the file, as it is shown to people.
    """
    _update(run_dir, {"inputs": dict(files)})


def record_ports(run_dir: Path, *, of_card: int, of_bench: int) -> None:
    """Note how many ports the card has by its sheet, and how many of them the bench file names.

    Args:
        run_dir: Folder of the run.
        of_card: Ports of the card.
        of_bench: Ports of the dut in the bench file.
    """
    _update(run_dir, {"ports": {"card": of_card, "bench": of_bench}})


def record_facts(run_dir: Path, **facts: str) -> None:
    """Note what was found on the bench, shown on reports: ``driver``, ``firmware`` and ``kernel``, others as wanted.

    A fact noted before may be noted again with the same value only: one run qualifies one state of one card.

    Raises:
        BenchFault: When a value is empty or differs from the one noted before.
    """
    known = dict(read_run(run_dir)["facts"])
    for name, value in facts.items():
        if not value.strip():
            raise BenchFault(f"{run_dir / RUN_FILE}: facts.{name}: {value!r} is empty; expected what was read")
        if known.setdefault(name, value) != value:
            raise BenchFault(f"{run_dir / RUN_FILE}: facts.{name}: {value!r} now, {known[name]!r} earlier in this run")
    _update(run_dir, {"facts": known})


def record_card(run_dir: Path, addresses: str) -> None:
    """Note which card of its kind is under test: a run qualifies one, also where it is continued.

    Args:
        run_dir: Folder of the run.
        addresses: The MAC addresses of its ports.

    Raises:
        BenchFault: Others were noted earlier in this run.
    """
    known = read_run(run_dir).get("mac_addresses") or addresses
    if known != addresses:
        raise BenchFault(f"{run_dir / RUN_FILE}: mac_addresses: {addresses} now, {known} earlier in this run")
    _update(run_dir, {"mac_addresses": addresses})


def note_software(run_dir: Path, software: Mapping[str, Mapping[str, str]]) -> None:
    """Note what the servers run; a run that is continued notes it again.

    Args:
        run_dir: Folder of the run.
        software: Role -> name of a program -> its version.
    """
    _update(run_dir, {"software": {role: dict(versions) for role, versions in software.items()}})


def record_attempts(run_dir: Path, earlier: Sequence[Mapping[str, str]], unknown: str) -> None:
    """Note the earlier runs of the same card.

    Args:
        run_dir: Folder of the run.
        earlier: Run, bench, time and verdict of each, oldest first.
        unknown: Why there may be others; empty where all that are kept are named.
    """
    _update(run_dir, {"earlier_attempts": [dict(each) for each in earlier], "attempts_unknown": unknown})


def allow_local_changes(run_dir: Path) -> None:
    """Note that the run may be certified although files of the lab differ from its commit.

    Args:
        run_dir: Folder of the run.
    """
    _update(run_dir, {"local_changes_allowed": True})


def record_stop(run_dir: Path, reason: str) -> None:
    """Note that a run was ordered to stop before its end.

    Args:
        run_dir: Folder of the run.
        reason: Why.
    """
    _update(run_dir, {"stopped": reason})


def finish_run(run_dir: Path, robot_rc: int, secrets: Iterable[str] = ()) -> None:
    """Note the end of the run, seal its evidence, and point ``latest`` at it.

    To be called when nothing writes into the run any more, before the certificate is made.

    Args:
        run_dir: Folder of the run.
        robot_rc: Exit status of ``robot``: 0 all passed, 1..250 number of failed tests, 251..255 it could not run.
        secrets: Values that must appear in no file of evidence.

    Raises:
        BenchFault: When a file cannot be written.
    """
    seal(run_dir / EVIDENCE_FOLDER, secrets)
    _update(run_dir, {"finished": now(), "robot_rc": robot_rc})
    link = run_dir.parent / LATEST
    temporary = run_dir.parent / f".{LATEST}.{run_dir.name}"
    try:
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(run_dir.name)
        temporary.replace(link)
    except OSError as error:
        raise BenchFault(f"{link}: cannot be pointed at {run_dir.name}: {error}") from error


def _make_unique(base: Path) -> Path:
    """Make ``base``, or ``base-2``, ``base-3`` ... when a run of the same second exists."""
    number, candidate = 1, base
    while True:
        try:
            candidate.mkdir(parents=True)
        except FileExistsError:
            number += 1
            candidate = base.with_name(f"{base.name}-{number}")
        except OSError as error:
            raise BenchFault(f"{candidate}: cannot be made: {error}") from error
        else:
            return candidate


def _update(run_dir: Path, changes: dict[str, Any]) -> None:
    write_json(run_dir / RUN_FILE, read_run(run_dir) | changes)


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "controller": platform.platform()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def git_state(repository: Path) -> dict[str, Any] | None:
    """Return the commit of the lab and what differs from it; None without git, a repository, or a commit.

    Args:
        repository: Root of the lab.

    Returns:
        ``commit``, ``local_changes``, and where there are some ``changes_sha256``: of their content.
    """
    try:
        commit = _git(repository, "rev-parse", "--verify", "HEAD").strip()
        if not _git(repository, "status", "--porcelain"):
            return {"commit": commit, "local_changes": False}
        return {"commit": commit, "local_changes": True, "changes_sha256": _hash_of_changes(repository)}
    except (OSError, subprocess.SubprocessError):
        return None


def _hash_of_changes(repository: Path) -> str:
    """SHA-256 of the differences from the commit, and of every file that git does not know."""
    digest = hashlib.sha256(_git(repository, "diff", "HEAD", "--binary").encode())
    for name in sorted(filter(None, _git(repository, "ls-files", "-z", "--others", "--exclude-standard").split("\0"))):
        file = repository / name
        digest.update(f"\0{name}\0".encode() + (file.read_bytes() if file.is_file() else b""))
    return digest.hexdigest()


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(repository), *arguments]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}  # no secrets
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=_GIT_WITHIN_S)
    return done.stdout
