"""The clock of a server when it booted, against the host's: both are in one line of its console log."""

from __future__ import annotations

import re
from pathlib import Path

# "[host's time] rc.boot: clock guest's time", at the end of a boot (guest/root/etc/rc.boot)
_LINE = re.compile(rb"^\[(\d+\.\d+)\] .*rc\.boot: clock (\d+\.\d+)\s*$", re.MULTILINE)


def was_right(log: Path, since: float, within_s: float) -> bool:
    """Did the server that was powered on at ``since`` (host's time in seconds) tell a right clock when it had booted?

    False says nothing: the line may be late on a busy host, or under way still; then the server itself must be asked.

    Args:
        log: Its console log with the host's time before each line.
        within_s: How far the two clocks may be apart.
    """
    said = [(float(host), float(guest)) for host, guest in _LINE.findall(log.read_bytes())]
    return any(host >= since and abs(guest - host) <= within_s for host, guest in said)
