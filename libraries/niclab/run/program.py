"""A program of ours on a server for a moment: sent there as source, gone afterwards."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

from niclab.core.verdict import BenchFault
from niclab.run.server import Server, quoted
from niclab.transports.ssh.ssh import Job
from niclab.transports.ssh.ssh_job import FIRST_LINE

BEGINS_WITHIN_S = 20.0


def placed(undoing: ExitStack, server: Server, module: ModuleType, *imported: ModuleType) -> str:
    """Put the program on the server; return its file there. It is removed when ``undoing`` ends.

    ``imported``: modules of niclab that it imports; they are put where it finds them by their own names.
    """
    folder = server.run("mktemp -d /tmp/niclab.XXXXXX").stdout.strip()
    undoing.callback(server.run, f"rm -rf {shlex.quote(folder)}")
    for each in imported:
        place = f"{folder}/{each.__name__.replace('.', '/')}.py"
        server.run(f"mkdir -p {shlex.quote(place.rpartition('/')[0])}")
        server.ssh.put_text(Path(str(each.__file__)).read_text(), place)
    source = Path(str(module.__file__))
    file = f"{folder}/{source.name}"
    server.ssh.put_text(source.read_text(), file)
    return file


def remove_left(server: Server) -> None:
    """Remove the folders of programs and jobs that a killed run has left: on a server that nobody else uses.

    Raises:
        BenchFault: The server does not answer.
    """
    server.run("rm -rf /tmp/niclab.* /tmp/niclab-job.*")


def command(file: str, *words: object) -> str:
    """The command that runs it."""
    return "exec " + quoted("python3", file, *map(str, words))


def wait_until_ready(server: Server, job: Job, what: str) -> None:
    """Wait until the program prints ``ready``.

    Raises:
        BenchFault: When it ends before, says something else, or does not begin within ``BEGINS_WITHIN_S``; its words
            are in the message.
    """
    said = job.await_begin(FIRST_LINE, f"{what} to begin", BEGINS_WITHIN_S)
    if not said.startswith("ready\n"):
        raise BenchFault(f"{server.name}: {what}: it said {said[:200]!r}; expected ready")
