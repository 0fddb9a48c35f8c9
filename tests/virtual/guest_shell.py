"""``sh`` on a FreeBSD server of the virtual bench: its tools, and no other program of this machine.

The tools are the compiled client and the resident program, as on the bench, over a root of files.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from guest_root import GUEST, Root

from freebsd import facts, kit
from niclab.transports.ssh.ssh import Result

RESIDENT = """
import io, json, os, sys
sys.path.insert(0, {guest!r})
import bsd, serve
def run(words):
    said, out, status = io.StringIO(), sys.stderr, 70
    class Both:
        flush = out.flush
        def write(self, text):
            said.write(text)
            return out.write(text)
    sys.stderr = Both()
    try:
        status = bsd.main(words)
        return status
    finally:
        with open({log!r}, "a", encoding="utf-8") as log:
            log.write(json.dumps([words, status, said.getvalue()]) + "\\n")
serve.serve(run)
"""
"""The resident program, with a line of the log for each call."""
_ON_SERVER = re.compile(
    r'(?<!loadfw )(?=/boot/(?:loader\.conf|modules|firmware)|/dev/console)|(?<=")(?=\$d/if_|\$d/oce|\$d/sfxge)'
)
"""Places in a command where the name of a file of the server begins."""
_STARTS_WITHIN_S = 20.0


@dataclass(frozen=True)
class Call:
    """One call of a tool."""

    words: tuple[str, ...]
    status: int
    errors: str


class GuestShell:
    """A shell whose PATH is that of root on the server."""

    def __init__(self, root: Root) -> None:
        self.root, self._tools = root, root.path / "names"
        self._log = root.path / "below/calls"

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result:
        """Run a command; files of the server in it are those of the root, and called as on the server in the answer."""
        here = _ON_SERVER.sub(str(self.root.path), command)
        environment = {"PATH": str(self._tools), "PKG_PATH": "/usr/ports/packages/All", "HOME": "/"}
        shell = [shutil.which("sh") or "/bin/sh", "-c", here]
        done = subprocess.run(shell, capture_output=True, text=True, env=environment, timeout=timeout_s)
        assert not check or done.returncode == 0, done
        return Result(command, done.returncode, None, done.stdout.replace(str(self.root.path), ""), done.stderr, 0.0)

    @property
    def calls(self) -> list[Call]:
        """The calls of the system's tools until now."""
        if not self._log.exists():
            return []
        rows = map(json.loads, self._log.read_text().splitlines())
        return [Call(tuple(words), status, errors) for words, status, errors in rows]

    def _lay(self) -> Path:
        """The tools; returns the socket that the resident program listens at."""
        self._tools.mkdir()
        socket, client = self.root.path / "run/bsd/socket", self.root.path / "client"
        source = str(kit.HERE / "guest/client.c")
        subprocess.run(["gcc", "-O2", f'-DSOCKET="{socket}"', "-o", str(client), source], check=True)
        old = kit.OLD_PACKAGE_TOOLS if facts.driver_of(self.root.card).release is facts.RELEASE_9 else ()
        for name in {*kit.TOOLS, *old} - {"rc.bsd"}:
            (self._tools / name).symlink_to(client)
        for name in {*kit.BASE, *kit.PACKAGED}:
            (self._tools / name).symlink_to(shutil.which(name) or "/bin/true")
        return socket

    @contextlib.contextmanager
    def served(self) -> Iterator[GuestShell]:
        """The shell, as long as the resident program runs."""
        socket = self._lay()
        code = RESIDENT.format(guest=str(GUEST), log=str(self._log))
        place = {"BSD_ROOT": str(self.root.path), "BSD_TOOLS": f"{self.root.path}/tools:{os.environ['PATH']}"}
        resident = subprocess.Popen([sys.executable, "-B", "-c", code], env={**os.environ, **place})
        try:
            until = time.monotonic() + _STARTS_WITHIN_S
            while not socket.exists():
                assert time.monotonic() < until and resident.poll() is None, "the resident program does not start"
                time.sleep(0.05)
            yield self
        finally:
            resident.terminate()
            resident.wait()
