"""Processes of a test that no other test on this machine takes for its own."""

from __future__ import annotations

import itertools
import os
import subprocess

_numbers = itertools.count(60)


def nap_s() -> str:
    """Seconds, a minute and more, for a ``sleep`` that no other process on this machine has."""
    return f"{next(_numbers)}.{os.getpid():07d}"


def running(command_line: str) -> bool:
    """Does a process with this command line, a regular expression, run on this machine?"""
    return subprocess.run(["pgrep", "-fx", command_line], check=False, capture_output=True).returncode == 0
