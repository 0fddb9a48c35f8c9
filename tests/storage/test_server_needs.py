"""The needs of storage workloads: looked for by a real shell, and nothing is loaded."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from niclab.run.server import Server
from niclab.storage.server_needs import Needs, missing


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """A server whose kernel has nfsd alone, and which has 64 MiB of free memory."""
    modprobe = tmp_path / "modprobe"
    modprobe.write_text('#!/bin/sh\n[ "$1 $2" = "-n -q" ] || exit 2\n[ "$3" = nfsd ]\n')
    modprobe.chmod(0o755)
    (tmp_path / "meminfo").write_text("MemTotal:  131072 kB\nMemAvailable:   65536 kB\nHugePages_Total:       0\n")

    def run(command: str) -> Any:
        command = command.replace("/proc/meminfo", f"{tmp_path}/meminfo")
        path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = subprocess.run(["sh", "-e", "-c", command], env=path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        return SimpleNamespace(stdout=done.stdout)

    return cast(Server, SimpleNamespace(run=run))


@pytest.mark.parametrize(
    ("needs", "lacks"),
    [
        (Needs(("sh", "cat"), ("nfsd",), 64 << 20), []),
        (Needs(("sh", "no-such-program")), ["no-such-program"]),
        (Needs(modules=("nfsd", "target_core_mod")), ["module target_core_mod"]),
        (Needs(memory_bytes=65 << 20), ["66560 KiB of memory"]),
        (Needs(), []),
    ],
)
def test_what_a_server_lacks_is_named(server: Server, needs: Needs, lacks: list[str]) -> None:
    assert missing(server, needs) == lacks


def test_needs_in_words() -> None:
    assert str(Needs(("iscsiadm",), ("sd_mod",), 10 << 20)) == "iscsiadm, module sd_mod, 10240 KiB of memory"
    assert str(Needs(("iscsiadm", "iscsid"))) == "iscsiadm, iscsid"
