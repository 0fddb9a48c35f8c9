"""The state of both servers after a failure: console, kernel log, links, PCI, ports, load, protocols, frames."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.run.server import Server

CONSOLE, CONSOLE_TAIL_CHARACTERS = "-console.txt", 20_000
_NOT_INSTALLED = re.compile(r"^.*(: not found|: command not found|failed to run command .*)$", re.MULTILINE)
Keep = Callable[[str, str], object]


@dataclass
class _Shown:
    """The files of one server: name and content of each, and what it could not show."""

    files: list[tuple[str, str]] = field(default_factory=list)
    problem: str = ""


def collect(run: Run, keep: Keep) -> None:
    """Collect the evidence of a failure from both servers; one that does not answer still has its console.

    Args:
        run: The current run.
        keep: Takes name and content of each file.

    Raises:
        BenchFault: Something could not be read; all the rest has been kept.
    """
    found = _of_both(run)
    for shown in found:
        for name, text in shown.files:
            keep(name, text)
    if problems := [shown.problem for shown in found if shown.problem]:
        raise BenchFault("\n".join(problems))


def require_complete(run: Run, keep: Keep) -> None:
    """See that every tool whose output is kept after a failure is there, and says something.

    Args:
        run: The current run.
        keep: Takes name and content of each file.

    Raises:
        BenchFault: Naming the files that are empty, or whose tool a server has not.
    """
    files = list[tuple[str, str]]()
    collect(run, lambda name, text: files.append((name, text)))
    problems = []
    for name, text in files:
        keep(name, text)
        command, _, said = text.partition("\n")
        if name.endswith(CONSOLE):
            continue
        if missing := _NOT_INSTALLED.search(said):
            problems.append(f"{name}: {missing[0].strip()}; expected the tool to be installed")
        elif not said.strip():
            problems.append(f"{name}: `{command.removeprefix('# ')}` shows nothing; expected some text")
    if problems:
        raise BenchFault("\n".join(problems))


def _of_both(run: Run) -> list[_Shown]:
    return side_by_side(lambda server: _of(run, server), list(run.servers.values()))


def _of(run: Run, server: Server) -> _Shown:
    shown = _Shown()
    try:
        if server.description.console is not None:
            shown.files.append((f"{server.name}{CONSOLE}", server.console_text()[-CONSOLE_TAIL_CHARACTERS:]))
        if server.answers():
            server.files(_commands(run, server), lambda name, text: shown.files.append((name, text)))
    except BenchFault as error:
        shown.problem = str(error)
    return shown


def _commands(run: Run, server: Server) -> tuple[tuple[str, str], ...]:
    known = run.interfaces
    ifaces = [known[port] for port in run.ports(server.role) if port in known]
    return server.host.system.evidence_commands(ifaces, run.card.driver(server.description.os).module)
