"""Golden texts: ``captures/KIND/NAME.txt`` and beside it ``NAME.expected.json``.

A capture begins with lines ``#| where it comes from``, which are not part of the text. To add one: write the text, run
``python tests/hosts/goldens.py``, which writes the missing expectations, and check each of them by eye.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

from niclab.commands.parse import as_json, parse
from niclab.hosts.linux.bonding import read_bonding
from niclab.hosts.linux.dmesg import read_kernel_log
from niclab.hosts.linux.dpkg import read_dpkg
from niclab.hosts.linux.ethtool import read_driver_info, read_link_settings
from niclab.hosts.linux.ethtool_coalesce import read_coalescing, read_pause
from niclab.hosts.linux.ethtool_counters import read_counters
from niclab.hosts.linux.ethtool_features import read_features
from niclab.hosts.linux.ethtool_module import read_module
from niclab.hosts.linux.ethtool_sizes import read_channels, read_rings
from niclab.hosts.linux.interrupts import read_interrupts
from niclab.hosts.linux.ip import read_interfaces
from niclab.hosts.linux.ip_link import read_links
from niclab.hosts.linux.lspci import read_lspci
from niclab.hosts.linux.lspci_machine import read_lspci_machine, read_lspci_quoted
from niclab.hosts.linux.modinfo import read_modinfo
from niclab.hosts.linux.modules import read_lsmod, read_proc_modules
from niclab.hosts.linux.ping import read_ping
from niclab.hosts.linux.rpm import read_rpm
from niclab.hosts.linux.vlan import read_vlans

FREEBSD = (
    *("dmesg-freebsd", "ifconfig-freebsd", "kldstat", "loader-conf", "netstat-freebsd", "pciconf", "pkg"),
    *("sysctl-freebsd", "vmstat-freebsd"),
)
TOOLS = ("console", "iperf3", "ipmi", "netperf")

CAPTURES = Path(__file__).parent / "captures"

READERS: dict[str, Callable[[str], Any]] = {
    "ethtool-i": read_driver_info,
    "ethtool": read_link_settings,
    "ethtool-S": read_counters,
    "ethtool-k": read_features,
    "ethtool-g": read_rings,
    "ethtool-l": read_channels,
    "ethtool-c": read_coalescing,
    "ethtool-a": read_pause,
    "ethtool-m": read_module,
    "ip-link": read_links,
    "bonding": read_bonding,
    "vlan": read_vlans,
    "lspci": read_lspci,
    "lspci-vmm": read_lspci_machine,
    "lspci-mm": read_lspci_quoted,
    "ip": read_interfaces,
    "ping": read_ping,
    "modinfo": read_modinfo,
    "proc-modules": read_proc_modules,
    **{kind: partial(parse, kind) for kind in (*FREEBSD, *TOOLS)},
    "lsmod": read_lsmod,
    "interrupts": read_interrupts,
    "dpkg": read_dpkg,
    "rpm": read_rpm,
    "dmesg": lambda text: as_json(read_kernel_log(text)),
}


def captures() -> list[Path]:
    return sorted(CAPTURES.glob("*/*.txt"))


def text_of(capture: Path) -> str:
    """The text without the lines that say where it comes from."""
    lines = capture.read_bytes().decode().split("\n")  # as they are: a console ends lines with CR LF
    return "\n".join(line for line in lines if not line.startswith("#|"))


def capture(kind: str, name: str) -> str:
    return text_of(CAPTURES / kind / f"{name}.txt")


def plain(record: Any) -> Any:
    """A record as JSON would hold it."""
    value = [plain(entry) for entry in record] if isinstance(record, tuple) else record
    value = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return json.loads(json.dumps(value))


def expectation(path: Path) -> Path:
    return path.with_suffix(".expected.json")


def write_missing() -> None:
    for path in captures():
        if not expectation(path).exists():
            record = plain(READERS[path.parent.name](text_of(path)))
            expectation(path).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    write_missing()
