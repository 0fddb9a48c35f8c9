"""A bench of the lab for one run: reserved, acquired, and released whatever ends the run."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from niclab.core.abort import StopOrder
from niclab.core.verdict import BenchFault
from niclab.files.environment import plain_environment
from niclab.files.repository import REPOSITORY

PREFIX = "labgrid:"
PYTHON = "NICLAB_LABGRID_PYTHON"
"""Environment variable: the Python of the virtual environment of labgrid."""
COORDINATOR = "LG_COORDINATOR"
AGENT = Path(__file__).with_name("agent.py")
BENCHES = REPOSITORY / "lab" / "benches"
_TAG = re.compile(r"([a-z][a-z0-9_-]*)=([A-Za-z0-9._-]+)")
_PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
QUEUE_S = 24 * 3600.0
"""Assumption: a run that got no bench in a day is forgotten by whoever asked for it."""
_RELEASED_WITHIN_S = 30
_DONE_WITHIN_S, _EACH_WITHIN_S = 60, 2
"""Deadlines of an action, and of each place that it is about: a busy coordinator takes half a second to make one."""


@dataclass(frozen=True)
class Coordinator:
    """The address of the coordinator, and the Python that speaks to it."""

    address: str
    python: str
    quiet_s: float = 10.0
    """Assumption: so long after a connection holders come back before anybody else asks for a place."""

    @classmethod
    def of_environment(cls) -> Coordinator:
        """Return the coordinator that the environment names.

        Raises:
            BenchFault: It names no Python of labgrid.
        """
        python = os.environ.get(PYTHON, "")
        if not python:
            raise BenchFault(f"{PYTHON}: is not set; expected the Python of the virtual environment of labgrid")
        return cls(os.environ.get(COORDINATOR, "127.0.0.1:20408"), python)

    def command(self, owner: str, action: str, asked: object) -> list[str]:
        """Return the command line of the agent.

        Args:
            owner: Who asks.
            action: ``hold``, ``reap`` or ``export``.
            asked: What the action is about, as JSON.
        """
        return [self.python, str(AGENT), self.address, owner, action, json.dumps(asked)]

    def do(self, action: str, asked: Mapping[str, object]) -> list[str]:
        """Run an action to its end; return what it did, a line each.

        Args:
            action: ``reap`` or ``export``.
            asked: What it is about: the tags of each place to make, nothing for ``reap``.

        Raises:
            BenchFault: The coordinator cannot be reached, or refuses.
        """
        command = self.command(owner_name(), action, asked)
        within_s = _DONE_WITHIN_S + _EACH_WITHIN_S * len(asked)
        try:
            done = subprocess.run(
                command, env=_environment(), capture_output=True, text=True, timeout=within_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise BenchFault(f"coordinator {self.address}: {action}: not done within {within_s} s") from error
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
        raise BenchFault(f"bench: {text!r}; expected {PREFIX}TAG=VALUE,TAG=VALUE")
    return {pair[1]: pair[2] for pair in pairs if pair}


@dataclass(frozen=True)
class ReservedBench:
    """A bench that is held. ``stop``: the order to stop the run, given when the bench is lost to somebody else."""

    file: Path
    stop: StopOrder


@contextmanager
def reserved(
    tags: Mapping[str, str], coordinator: Coordinator, folder: Path = BENCHES, queue_s: float = QUEUE_S
) -> Iterator[ReservedBench]:
    """Wait in the queue for a bench, and hold it.

    Args:
        tags: Tags that the place of the bench must have.
        coordinator: Who shares benches out.
        folder: Folder of the bench files, each named as its place.
        queue_s: Seconds to wait at most.

    Yields:
        The bench.

    Raises:
        BenchFault: No place has the tags or was free in time, the agent ended, or the place has no bench file.
    """
    asked = {"tags": dict(tags), "queue_s": queue_s, "quiet_s": coordinator.quiet_s}
    command = coordinator.command(owner_name(), "hold", asked)
    with subprocess.Popen(
        command, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as agent:
        try:
            place = _said(agent, coordinator.address).get("place", "")
            file = folder / f"{place}.yaml"
            if not _PLACE.fullmatch(place) or not file.is_file():
                raise BenchFault(f"place {place}: {file} is missing; expected a bench file of this name")
            assert agent.stdin is not None
            # Robot Framework keeps the agent's input open: a killed niclab releases no bench that is in use
            bench, released = ReservedBench(file, StopOrder(keeps=(agent.stdin.fileno(),))), threading.Event()
            threading.Thread(target=_watch, args=(agent, place, bench.stop, released), daemon=True).start()
            try:
                yield bench
            finally:
                released.set()
        finally:
            assert agent.stdin is not None
            agent.stdin.close()
            try:
                agent.wait(_RELEASED_WITHIN_S)
            except subprocess.TimeoutExpired:
                agent.kill()


def _environment() -> dict[str, str]:
    """The agent's environment: labgrid needs no secret, and a pipeline must not find the agent as part of a build."""
    return plain_environment(("GRPC_VERBOSITY", "GRPC_TRACE"))


def _said(agent: subprocess.Popen[str], address: str) -> dict[str, str]:
    """Return the agent's next message."""
    assert agent.stdout is not None
    line = agent.stdout.readline()
    said: dict[str, str] = json.loads(line) if line else {"refused": "the agent ended; expected a bench"}
    if "refused" in said:
        raise BenchFault(f"coordinator {address}: {said['refused']}")
    return said


def _watch(agent: subprocess.Popen[str], place: str, stop: StopOrder, released: threading.Event) -> None:
    """Order the run to stop when its bench is lost, or when nobody holds it any more."""
    assert agent.stdout is not None
    line = agent.stdout.readline()
    if not released.is_set():
        why = json.loads(line).get("lost") if line else f"{place}: its holder, process {agent.pid}, has ended"
        stop.give(f"the bench was lost: {why}")
