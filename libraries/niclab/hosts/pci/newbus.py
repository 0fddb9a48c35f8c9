"""The way from a PCI function up to its host bridge, as newbus tells it."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import numbered

_KIND = "newbus path"
_STEP = re.compile(r"([a-z][A-Za-z0-9_]*[0-9]{1,4}) ([a-z][A-Za-z0-9_]*[0-9]{1,4})")


def path_command(device: str) -> str:
    """A shell command that prints ``DEVICE PARENT`` of ``device`` and of everything above it, up to a host bridge.

    A bridge is a ``pcibN`` that hangs on a bus ``pciN``; the host bridge hangs on something else.
    """
    return (
        f"d={device}; while :; do u=${{d##*[!0-9]}}; n=${{d%$u}}; p=$(sysctl -n dev.$n.$u.%parent) || exit 1;"
        ' echo "$d $p"; case $n$p in pcibpci[0-9]*) ;; pcib*) break ;; esac; d=$p; done'
    )


def read_path(text: str, device: str) -> tuple[str, ...]:
    """The device, then the PCI bridges above it from the nearest to the one on the root bus.

    The host bridge is no PCI bridge and not listed.
    """
    above: dict[str, str] = {}
    for number, line in numbered(text):
        if not line.strip():
            continue
        step = _STEP.fullmatch(line.strip())
        if step is None or step[1] in above:
            raise unreadable(_KIND, f"line {number}", line, "'DEVICE PARENT' such as 'oce0 pci4', each device once")
        above[step[1]] = step[2]
    path, at = [device], device
    while True:
        bus = above.get(at, "")
        bridge = above.get(bus, "")
        if not re.fullmatch(r"pci[0-9]+", bus) or not re.fullmatch(r"pcib[0-9]+", bridge) or bridge not in above:
            raise unreadable(_KIND, at, text, f"that {at} hangs on a bus such as pci4, and that on a bridge")
        if not re.fullmatch(r"pci[0-9]+", above[bridge]):
            return tuple(path)
        path.append(bridge)
        at = bridge
