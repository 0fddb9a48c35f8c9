"""A real virtual bench as its tests see it: the command, the servers' shells, the processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import layout
import lifecycle
import parts
from identity import Identity
from wait import until

VBENCH = parts.HERE / "vbench"
UP_S = 180.0
NAME = os.environ.get("NICLAB_CONTROLS", "controls")
"""Another name makes a bench next to that of somebody else on the same controller."""
T = TypeVar("T")


class RealBench:
    """The ``vbench`` command for one bench, and what can be seen of it from outside."""

    def __init__(self, name: str) -> None:
        self.layout = layout.bench(name)

    def vbench(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``vbench COMMAND ... --name NAME``; before the words that ``ssh`` passes on to the server."""
        name = ["--name", self.layout.name]
        words = [command, *name, *arguments] if command == "ssh" else [command, *arguments, *name]
        line = [sys.executable, str(VBENCH), *words]
        return subprocess.run(line, capture_output=True, text=True, timeout=UP_S, stdin=subprocess.DEVNULL)

    def must(self, command: str, *arguments: str) -> str:
        """Run it; it must succeed. Returns what it printed."""
        done = self.vbench(command, *arguments)
        assert done.returncode == 0, f"vbench {command} {arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def ssh(self, role: str, command: str) -> str:
        """Return the output of ``command`` on the server; it must succeed."""
        return self.must("ssh", role, command).strip()

    def start_ssh(self, role: str, command: str) -> subprocess.Popen[str]:
        """Start ``command`` on the server."""
        line = [*lifecycle.ssh_command(self.layout.server(role), Identity(self.layout)), command]
        return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def redfish(self, role: str, reset_type: str) -> None:
        lifecycle.redfish(self.layout.server(role), Identity(self.layout), reset_type)

    def boot_id(self, role: str) -> str | None:
        """The kernel's number of this boot; ``None`` while no login succeeds or a server going down says nothing."""
        if not lifecycle.ssh_answers(self.layout.server(role)):
            return None  # and no login attempt hangs in a server that is about to boot
        done = self.vbench("ssh", role, "cat /proc/sys/kernel/random/boot_id")
        return boot_id_in(done)

    def pids(self) -> dict[str, list[int]]:
        """Process numbers by part, from the processes' own environment."""
        found: dict[str, list[int]] = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                environment = dict(item.partition(b"=")[::2] for item in (entry / "environ").read_bytes().split(b"\0"))
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # it has ended, or is another user's
            if environment.get(b"VBENCH", b"").decode() == str(self.layout.folder):
                found.setdefault(environment[b"VBENCH_PART"].decode(), []).append(int(entry.name))
        return found


def boot_id_in(done: subprocess.CompletedProcess[str]) -> str | None:
    """The boot id that a command printed; ``None`` when it failed or printed anything but a UUID."""
    said = done.stdout.strip()
    return said if done.returncode == 0 and re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", said) else None


def wait_for(condition: Callable[[], T | None], what: str, within_s: float) -> T:
    """Wait until the condition holds; fail with ``what`` when it does not."""
    answer = until(condition, within_s=within_s)
    assert answer, f"{what}: not within {within_s:g} s"
    return answer


def elapsed_s(action: Callable[[], object]) -> float:
    """Return the duration of the action in seconds."""
    began = time.monotonic()
    action()
    return time.monotonic() - began
