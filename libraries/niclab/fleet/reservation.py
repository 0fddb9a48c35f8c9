"""A bench of the lab for one run: reserved, acquired, and released whatever ends the run."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.files.repository import REPOSITORY

PREFIX = "labgrid:"
PYTHON = "NICLAB_LABGRID_PYTHON"
"""Environment variable: the Python of the virtual environment of labgrid."""
COORDINATOR = "LG_COORDINATOR"
AGENT = Path(__file__).with_name("agent.py")
BENCHES = REPOSITORY / "lab" / "benches"
_TAG = re.compile(r"([a-z][a-z0-9_-]*)=([A-Za-z0-9._-]+)")
_PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_RELEASED_WITHIN_S = 30
_DONE_WITHIN_S = 60


@dataclass(frozen=True)
class Coordinator:
    """Where the coordinator is, and the Python that speaks to it."""

    address: str
    python: str

    @classmethod
    def of_environment(cls) -> Coordinator:
        """Return the coordinator that the environment names.

        Raises:
            BenchFault: It names no Python of labgrid.
        """
        python = os.environ.get(PYTHON, "")
        if not python:
            raise BenchFault(f"{PYTHON}: is not set; expected: the Python of the virtual environment of labgrid")
        return cls(os.environ.get(COORDINATOR, "127.0.0.1:20408"), python)

    def command(self, owner: str, action: str, asked: object) -> list[str]:
        """Return the command line of the agent.

        Args:
            owner: Who asks.
            action: ``hold``, ``reap`` or ``export``.
            asked: What the action is about, as JSON.
        """
        return [self.python, str(AGENT), self.address, owner, action, json.dumps(asked)]

    def do(self, action: str, asked: object) -> list[str]:
        """Run an action to its end; return what it did, a line each.

        Args:
            action: ``reap`` or ``export``.
            asked: What it is about.

        Raises:
            BenchFault: The coordinator cannot be reached, or refuses.
        """
        command = self.command(owner_name(), action, asked)
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DONE_WITHIN_S, check=False)
        if done.returncode:
            raise BenchFault(f"coordinator {self.address}: {action}: {done.stderr.strip()[-300:]}")
        return done.stdout.splitlines()


def owner_name() -> str:
    """Return a name that no other run has: labgrid takes two of one name for the same."""
    return f"{socket.gethostname()}/niclab-{uuid.uuid4().hex}"


def tags_of(text: str) -> dict[str, str]:
    """Read a filter such as ``labgrid:card=intel-x520,os=linux``.

    Args:
        text: The filter.

    Raises:
        BenchFault: It is no filter: one that matches nothing would wait for ever.
    """
    words = text.removeprefix(PREFIX).split(",")
    pairs = [_TAG.fullmatch(word.strip()) for word in words]
    if not all(pairs):
        raise BenchFault(f"bench: {text!r}; expected: {PREFIX}TAG=VALUE,TAG=VALUE")
    return {pair[1]: pair[2] for pair in pairs if pair}


@contextmanager
def reserved(tags: Mapping[str, str], coordinator: Coordinator, folder: Path = BENCHES) -> Iterator[Path]:
    """Wait in the queue for a bench, and hold it.

    Args:
        tags: Tags that the place of the bench must have.
        coordinator: Who shares benches out.
        folder: Folder of the bench files, each named as its place.

    Yields:
        The bench file.

    Raises:
        BenchFault: The agent ended, or the place has no bench file.
    """
    command = coordinator.command(owner_name(), "hold", dict(tags))
    quiet = {name: value for name, value in os.environ.items() if not name.startswith(("JENKINS_", "HUDSON_"))}
    with subprocess.Popen(
        command, env=quiet, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as agent:
        assert agent.stdin is not None and agent.stdout is not None
        try:
            line = agent.stdout.readline()
            if not line:
                raise BenchFault(f"coordinator {coordinator.address}: the agent ended; expected: a bench")
            place = str(json.loads(line)["place"])
            file = folder / f"{place}.yaml"
            if not _PLACE.fullmatch(place) or not file.is_file():
                raise BenchFault(f"place {place}: {file} is missing; expected: a bench file of this name")
            yield file
        finally:
            agent.stdin.close()
            try:
                agent.wait(_RELEASED_WITHIN_S)
            except subprocess.TimeoutExpired:
                agent.kill()
