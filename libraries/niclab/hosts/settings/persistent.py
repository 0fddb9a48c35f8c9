"""Settings of a Linux host that outlast a restart: a ``.link`` file of udev for each port, and one file of sysctl.d.

udev sets a new interface up by the first file that matches it (systemd.link(5)), so this one repeats the name policy of
the default.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import filled

SYSCTL_FILE = "/etc/sysctl.d/90-niclab.conf"
RINGS_SINCE, PAUSE_SINCE, COALESCING_SINCE = 244, 246, 250
"""First versions of udev that set these; older ones pass over the lines of the file (systemd.link(5))."""
_NAMES = "NamePolicy=keep kernel database onboard slot path"
_COALESCING = {"rx-usecs": "RxCoalesceSec", "tx-usecs": "TxCoalesceSec"}


@dataclass(frozen=True)
class Persistent:
    """The settings with which a port comes up; None is left alone. ``coalescing``: microseconds by ethtool's words."""

    mtu: int | None = None
    rx_ring: int | None = None
    tx_ring: int | None = None
    pause_autoneg: bool | None = None
    pause_rx: bool | None = None
    pause_tx: bool | None = None
    coalescing: Mapping[str, int] = field(default_factory=dict)
    adaptive_rx: bool | None = None


@dataclass(frozen=True)
class UdevSetup:
    """The version of udev, and the file by which it has set an interface up; None where by none."""

    version: int
    file: str | None


def showing_setup(iface: str) -> str:
    """Get the command whose output :func:`read_setup` reads.

    Args:
        iface: Name of the interface.
    """
    return f"udevadm --version && udevadm info --query=property --path=/sys/class/net/{iface}"


def read_setup(text: str) -> UdevSetup:
    """Read the version of udev, and the properties of an interface.

    Raises:
        ReadError: It does not begin with a version.
    """
    lines = [line.strip() for _, line in filled(text)]
    version = lines[0] if lines else ""
    if not version.isdecimal():
        raise unreadable("udevadm", "line 1", version, "the version of udev, a whole number")
    properties = dict(line.partition("=")[::2] for line in lines[1:])
    return UdevSetup(int(version), properties.get("ID_NET_LINK_FILE"))


def link_file_name(mac: str) -> str:
    """Name the file for the port with a MAC address.

    Args:
        mac: Its six bytes with colons.
    """
    return f"/etc/systemd/network/10-niclab-{mac.replace(':', '')}.link"


def writing_link_file(mac: str, settings: Persistent) -> str:
    """Get the command that makes a port come up with settings from the next start on.

    Args:
        mac: MAC address of the port.
        settings: What it comes up with.

    Raises:
        ValueError: udev does not set one of the coalescing parameters.
    """
    return f"mkdir -p /etc/systemd/network && {_writing(link_file_name(mac), link_file(mac, settings))}"


def writing_sysctls(values: Mapping[str, str]) -> str:
    """Get the command that makes the host set kernel settings from the next start on.

    Args:
        values: Value of each kernel setting.
    """
    return _writing(SYSCTL_FILE, "".join(f"{name} = {value}\n" for name, value in values.items()))


def removing(file: str) -> str:
    """Get the idempotent command that removes a file of this module, also where the power is cut right after it."""
    return f"rm -f {file} && sync"


def link_file(mac: str, settings: Persistent) -> str:
    """Get the content of the file for a port.

    Args:
        mac: MAC address of the port.
        settings: What it comes up with.

    Raises:
        ValueError: udev does not set one of the coalescing parameters.
    """
    unknown = [name for name in settings.coalescing if name not in _COALESCING]
    if unknown:
        raise ValueError(f"coalescing {', '.join(unknown)}; expected {', '.join(_COALESCING)}")
    values: dict[str, object] = {
        "MTUBytes": settings.mtu,
        "RxBufferSize": settings.rx_ring,
        "TxBufferSize": settings.tx_ring,
        "AutoNegotiationFlowControl": settings.pause_autoneg,
        "RxFlowControl": settings.pause_rx,
        "TxFlowControl": settings.pause_tx,
        "UseAdaptiveRxCoalesce": settings.adaptive_rx,
    }
    lines = [f"{name}={_shown(value)}" for name, value in values.items() if value is not None]
    lines += [f"{_COALESCING[name]}={value}us" for name, value in settings.coalescing.items()]
    return "\n".join(["[Match]", f"MACAddress={mac}", "", "[Link]", _NAMES, *lines, ""])


def _writing(file: str, text: str) -> str:
    return f"printf %s {shlex.quote(text)} > {file} && sync"


def _shown(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
