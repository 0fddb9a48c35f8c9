"""The oldest kernels and tools whose answers are read."""

from __future__ import annotations

import re
from collections.abc import Mapping

from niclab.bench.records import OperatingSystem

KERNEL = "kernel"
OLDEST = {
    OperatingSystem.LINUX: {KERNEL: "5.7", "ip": "4.17", "ethtool": "5.10"},
    OperatingSystem.FREEBSD: {KERNEL: "9.1"},
}
"""``ip -j`` is complete since iproute2 4.17, ``ethtool --json -k`` came with 5.10. That asks over netlink, where Linux
has features since 5.7 (ETHTOOL_MSG_FEATURES_GET)."""
_RELEASE = re.compile(r"[0-9]+(?:\.[0-9]+)*")


def too_old(versions: Mapping[str, str | None], oldest: Mapping[str, str]) -> dict[str, str]:
    """Compare a kernel and tools with the oldest that are read.

    Args:
        versions: Name -> version. One that names no numbers is not compared.
        oldest: Name -> the oldest release.

    Returns:
        What is older, with its oldest release.
    """
    found = {name: _RELEASE.match(versions.get(name) or "") for name in oldest}
    return {
        name: oldest[name] for name, match in found.items() if match and _numbers(match[0]) < _numbers(oldest[name])
    }


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
