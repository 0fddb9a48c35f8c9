"""Every reader of tool output under one name each: text in, record as JSON out (``niclab parse``).

A kind is named after the tool and form it reads (``ethtool-i``, ``pciconf``). Its reader gets the text and, where
known, the command line that printed it, and returns a record or raises :class:`~niclab.hosts.errors.ReadError`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from niclab.hosts.console_events import read_console
from niclab.hosts.errors import ReadError
from niclab.hosts.freebsd import dmesg as bsd_dmesg
from niclab.hosts.freebsd import ifconfig, kldstat, netstat, pciconf, sysctl
from niclab.hosts.ipmitool import read_ipmitool
from niclab.hosts.linux import (
    bonding,
    dmesg,
    dpkg,
    ethtool,
    interrupts,
    ip_link,
    lspci_machine,
    modinfo,
    modules,
    rpm,
    vlan,
)
from niclab.hosts.linux import ethtool_coalesce as coalesce
from niclab.hosts.linux import ethtool_counters as counters
from niclab.hosts.linux import ethtool_features as features
from niclab.hosts.linux import ethtool_module as module
from niclab.hosts.linux import ethtool_sizes as sizes
from niclab.hosts.sessions import SessionPart, parts_of_session
from niclab.traffic.iperf3 import read_iperf3
from niclab.traffic.netperf import read_netperf

Reader = Callable[[str, str | None], object]


@dataclass(frozen=True)
class Kind:
    """``what`` is one line for ``niclab parse --list``. ``read(text, command)`` gives a dataclass."""

    name: str
    what: str
    read: Reader


def _of_text(reader: Callable[[str], object]) -> Reader:
    """A reader that does not need to know the command."""
    return lambda text, _command: reader(text)


_ALL = (
    Kind("console", "log of a serial console: Linux, FreeBSD, firmware, boot loaders", _of_text(read_console)),
    Kind("ethtool", "link settings: ethtool IFACE", _of_text(ethtool.read_link_settings)),
    Kind("ethtool-i", "driver: ethtool -i IFACE", _of_text(ethtool.read_driver_info)),
    Kind("ethtool-S", "counters: ethtool -S IFACE", _of_text(counters.read_counters)),
    Kind("ethtool-k", "features: ethtool -k IFACE", _of_text(features.read_features)),
    Kind("ethtool-g", "rings: ethtool -g IFACE", _of_text(sizes.read_rings)),
    Kind("ethtool-l", "channels: ethtool -l IFACE", _of_text(sizes.read_channels)),
    Kind("ethtool-c", "coalescing: ethtool -c IFACE", _of_text(coalesce.read_coalescing)),
    Kind("ethtool-a", "pause frames: ethtool -a IFACE", _of_text(coalesce.read_pause)),
    Kind("ethtool-m", "module: ethtool -m IFACE", _of_text(module.read_module)),
    Kind("ip-link", "interfaces: ip [-j] [-d] [-s] link or addr", _of_text(ip_link.read_links)),
    Kind("bonding", "a bond: /proc/net/bonding/NAME", _of_text(bonding.read_bonding)),
    Kind("vlan", "VLANs: /proc/net/vlan/config, /proc/net/vlan/NAME, ip -d link", _of_text(vlan.read_vlans)),
    Kind("dmesg", "Linux's kernel log: dmesg, syslog", _of_text(dmesg.read_kernel_log)),
    Kind("dpkg", "packages: dpkg -l, dpkg -s, dpkg-query -W", _of_text(dpkg.read_dpkg)),
    Kind("interrupts", "interrupts: /proc/interrupts", _of_text(interrupts.read_interrupts)),
    Kind("rpm", "packages: rpm -q, -qa, -qi", _of_text(rpm.read_rpm)),
    Kind("lspci", "PCI functions: lspci, any form but -t", _of_text(lspci_machine.read_lspci_any)),
    Kind("lsmod", "modules in memory: lsmod", _of_text(modules.read_lsmod)),
    Kind("modinfo", "a module on disk: modinfo MODULE", _of_text(modinfo.read_modinfo)),
    Kind("proc-modules", "modules in memory: /proc/modules", _of_text(modules.read_proc_modules_record)),
    Kind("dmesg-freebsd", "FreeBSD's kernel log: sysctl -n kern.msgbuf", _of_text(bsd_dmesg.read_bsd_dmesg)),
    Kind(
        "ifconfig-freebsd", "FreeBSD's interfaces: ifconfig IFACE, ifconfig -m IFACE", _of_text(ifconfig.read_ifconfig)
    ),
    Kind("kldstat", "FreeBSD's modules in memory: kldstat -v", _of_text(kldstat.read_kldstat)),
    Kind("netstat-freebsd", "FreeBSD's interface counters: netstat -I IFACE -bdnW", _of_text(netstat.read_netstat)),
    Kind("pciconf", "FreeBSD's PCI functions: pciconf -l, pciconf -lc", _of_text(pciconf.read_pciconf)),
    Kind(
        "sysctl-freebsd", "FreeBSD's settings of devices and drivers: sysctl dev.DRIVER", _of_text(sysctl.read_sysctl)
    ),
    Kind("iperf3", "throughput: iperf3 -c HOST -J", _of_text(read_iperf3)),
    Kind("ipmi", "a BMC: ipmitool chassis, power, sdr, sensor, sel, fru, mc, lan", _of_text(read_ipmitool)),
    Kind("netperf", "throughput: netperf -c -C of a stream, a file, UDP or requests", _of_text(read_netperf)),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in sorted(_ALL, key=lambda kind: kind.name)}


# Kinds whose output is found among several commands of one session. Logs hold commands and prompts of their own, a run
# of traffic is judged with all that stands beside it, and the readers of FreeBSD want nothing beside their output.
_IN_SESSIONS = frozenset(
    (
        *("ethtool", "ethtool-S", "ethtool-a", "ethtool-c", "ethtool-g", "ethtool-i", "ethtool-k", "ethtool-l"),
        *("ethtool-m", "lspci", "ip-link", "bonding", "vlan", "modinfo", "interrupts", "dpkg", "rpm"),
    )
)


def parse(kind: str, text: str, command: str | None = None) -> dict[str, object]:
    """The record of ``text`` as JSON values.

    :param command: the command line that printed the text; readers that need it say so in ``what`` of their kind.
    :raises ReadError: when the text cannot be read, or no such kind exists.
    """
    if kind not in KINDS:
        raise ReadError(f"unknown kind {kind!r}: expected one of {', '.join(KINDS)}")
    try:
        return _record(kind, text, command)
    except ReadError:
        found = _of_session(kind, text)
        if found is None:
            raise
        return found


def _record(kind: str, text: str, command: str | None) -> dict[str, object]:
    record = as_json(KINDS[kind].read(text, command))
    assert isinstance(record, dict)
    return record


def _of_session(kind: str, text: str) -> dict[str, object] | None:
    """The record of the only command of a session whose output is of this kind; None when there is not just one.

    The same command beside it, of another interface or module, whose longer answer cannot be read makes it two. What
    stands before the first prompt counts as well, but nothing says that it is whole: it is never the one.
    """
    found: list[tuple[SessionPart, dict[str, object]]] = []
    unread: list[SessionPart] = []
    for part in parts_of_session(text) if kind in _IN_SESSIONS else ():
        try:
            found.append((part, _record(kind, part.text, None)))
        except ReadError:
            unread.append(part)
    if (
        len(found) != 1
        or found[0][0].command is None
        or any(part.asks_as(found[0][0]) and part.is_long for part in unread)
    ):
        return None
    return found[0][1]


def parse_batch(lines: Iterable[str]) -> Iterator[str]:
    """For each JSON line ``{"id", "kind", "text", "command"}`` one line ``{"id", "record"}`` or ``{"id", "error"}``."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield json.dumps(_answer(number, line), ensure_ascii=False, allow_nan=False)


def _answer(number: int, line: str) -> dict[str, object]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"id": None, "error": f"request line {number}: expected one JSON object ({error})"}
    if not isinstance(request, dict):
        return {"id": None, "error": f"request line {number}: expected a JSON object"}
    identity = _identity(request.get("id"))
    kind, text, command = request.get("kind"), request.get("text"), request.get("command")
    if not isinstance(kind, str) or not isinstance(text, str) or not isinstance(command, str | None):
        wanted = "expected kind and text as strings, command a string or null"
        return {"id": identity, "error": f"request line {number}: {wanted}"}
    try:
        return {"id": identity, "record": parse(kind, text, command)}
    except ReadError as error:
        return {"id": identity, "error": str(error)}
    except Exception as error:  # noqa: BLE001  # a defect of one reader must not cost the answers to the other lines
        return {"id": identity, "error": f"defect of the reader of {kind}: {type(error).__name__}: {error}"}


def _identity(value: object) -> object:
    """The request's id, given back as it came; None for a number that JSON has no word for."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_json(value: object) -> object:
    """Records as JSON values; a record with an ``as_json`` method of its own is asked.

    :raises ReadError: for NaN and infinity, which are no measurements.
    """
    own = getattr(value, "as_json", None)
    if own is not None:
        return as_json(own())
    if dataclasses.is_dataclass(value):
        return {field.name: as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(as_json, value), key=str)
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ReadError(f"cannot read a value of {value}: expected a finite number")
    return value


def run(kind: str | None, command: str | None, *, batch: bool, listing: bool) -> int:
    """What ``niclab parse`` does; 0 all read, 2 unreadable and said on standard error (never so for a batch).

    Bytes that are no UTF-8 are read as U+FFFD. Standard output is UTF-8.
    """
    if listing:
        for entry in KINDS.values():
            _say(f"{entry.name:17} {entry.what}")
        return 0
    if batch:
        for answer in parse_batch(line.decode("utf-8-sig", errors="replace") for line in sys.stdin.buffer):
            _say(answer)
        return 0
    text = sys.stdin.buffer.read().decode("utf-8-sig", errors="replace")
    try:
        _say(json.dumps(parse(kind or "", text, command), indent=2, ensure_ascii=False, allow_nan=False))
    except ReadError as error:
        print(f"niclab: {error}", file=sys.stderr)
        return 2
    return 0


def _say(line: str) -> None:
    """One line, at once; a lone surrogate, which JSON can name and UTF-8 cannot, becomes a question mark."""
    sys.stdout.buffer.write(line.encode("utf-8", errors="replace") + b"\n")
    sys.stdout.buffer.flush()
