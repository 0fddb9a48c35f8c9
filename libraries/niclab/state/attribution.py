"""The test that left a value behind: the last one that ran a command about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.state.snapshot import INTERFACE, Leftover

_WORDS = re.compile(r"[\w.@-]+")
_HINTS = {
    "up": {"up", "down"},
    "mac": {"address", "master", "nomaster", "ether"},
    "master": {"master", "nomaster"},
    "address": {"address", "addr", "inet", "alias"},
    "promiscuous": {"promisc", "tcpdump"},
    "offload": {"-K", "-k", "--features"},
    "ring": {"-G"},
    "coalescing": {"-C"},
    "pause": {"-A"},
    "channels": {"-L"},
}
"""First word of a key -> words of the commands that change it, where they are not the word itself."""


@dataclass(frozen=True)
class Ran:
    """A test that ran. ``began`` and ``ended`` are the controller's time in seconds since 1970."""

    name: str
    began: float
    ended: float


@dataclass(frozen=True)
class SentCommand:
    """A command that a server received. ``began`` is the controller's time in seconds since 1970."""

    text: str
    began: float


def read_commands(file: Path) -> list[SentCommand]:
    """Read the log of the commands that a server received.

    Args:
        file: The log; a server that received none has none.

    Raises:
        BenchFault: A line cannot be read.
    """
    try:
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
        return [SentCommand(str(each["command"]), float(each["ended"]) - float(each["seconds"])) for each in lines]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchFault(f"{file}: is no log of commands: {error}; expected JSON lines (evidence)") from error


def who_left(left: Leftover, commands: Iterable[SentCommand], tests: Sequence[Ran]) -> str:
    """Name the test that left a value behind.

    Args:
        left: The value.
        commands: The commands that its server received.
        tests: The tests that ran since the values were last as expected.

    Returns:
        Name of the test that ran the last command about the value; of the only test, if there is one alone; else empty.
    """
    for sent in sorted(commands, key=lambda each: each.began, reverse=True):
        if _is_about(left, sent.text):
            for test in tests:
                if test.began <= sent.began <= test.ended:
                    return test.name
    return tests[0].name if len(tests) == 1 else ""


def _is_about(left: Leftover, command: str) -> bool:
    """Does a command name the subject and the key? Of what belongs to no interface, the key alone."""
    if command.startswith(": niclab state"):
        return False
    words = set(_WORDS.findall(command))
    if left.subject in ("modules", "packages", "processes"):
        return left.key in words
    if left.subject in ("sysctl", "boot", "files", "routes", "interrupts", "steering"):
        return left.key in command or left.key.replace(".", "/") in command
    if left.subject == "nfs":
        return bool(words & {"exportfs", "rpc.nfsd", "mount"})
    if left.subject == "iscsi":
        return bool(words & {"iscsiadm", "multipathd"}) or "/sys/kernel/config/target" in command
    if left.subject == "nvme":
        return any(each in command for each in ("/dev/nvme-fabrics", "/sys/kernel/config/nvmet", "losetup"))
    if left.subject not in words:
        return False
    key, *more = left.key.split()
    return key == INTERFACE or bool(words & {*_HINTS.get(key, {key}), *more})
