"""What both servers show after a failure: console, kernel log, links, PCI."""

from __future__ import annotations

from collections.abc import Callable

from niclab.core.verdict import BenchFault
from niclab.run.run import Run

CONSOLE_TAIL_CHARACTERS = 20_000


def collect(run: Run, keep: Callable[[str, str], object]) -> None:
    """Collect the evidence of a failure from both servers; one that does not answer still has its console.

    Args:
        run: The current run.
        keep: Takes name and content of each file.

    Raises:
        BenchFault: Something could not be read; all the rest has been kept.
    """
    problems = []
    for server in run.servers.values():
        try:
            if server.description.console is not None:
                keep(f"{server.name}-console.txt", server.console_text()[-CONSOLE_TAIL_CHARACTERS:])
            if server.answers():
                server.files(server.host.system.evidence_commands(), keep)
        except BenchFault as error:
            problems.append(str(error))
    if problems:
        raise BenchFault("\n".join(problems))
