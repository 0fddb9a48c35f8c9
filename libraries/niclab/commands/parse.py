"""Every reader of tool output under one name each: text in, record as JSON out (``niclab parse``).

A kind is named after the tool and form it reads (``ethtool-i``, ``pciconf``). Its reader gets the text and, where
known, the command line that printed it, and returns a record or raises :class:`~niclab.hosts.errors.ReadError`.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from niclab.core.plain import as_json
from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.hosts.freebsd import dmesg as bsd_dmesg
from niclab.hosts.freebsd import ifconfig, kldstat, loader_conf, netstat, packages, pciconf, sysctl
from niclab.hosts.freebsd import interrupts as bsd_interrupts
from niclab.hosts.linux import (
    bonding,
    dmesg,
    ethtool,
    interrupts,
    ip,
    lspci,
    modinfo,
)
from niclab.hosts.linux import ethtool_coalesce as coalesce
from niclab.hosts.linux import ethtool_counters as counters
from niclab.hosts.linux import ethtool_features as features
from niclab.hosts.linux import ethtool_module as module
from niclab.hosts.linux import ethtool_pause as pause
from niclab.hosts.linux import ethtool_sizes as sizes
from niclab.traffic.iperf3_text import read_iperf3_output
from niclab.traffic.netperf import read_netperf
from niclab.transports.console_events import read_console

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


def _listed(name: str, reader: Callable[[str], tuple[object, ...]]) -> Reader:
    """A reader of several records, under the name of their list."""
    return lambda text, _command: {name: reader(text)}


_ALL = (
    Kind("console", "log of a serial console: Linux, FreeBSD, firmware, boot loaders", _of_text(read_console)),
    Kind("ethtool", "link settings: ethtool IFACE", _of_text(ethtool.read_link_settings)),
    Kind("ethtool-i", "driver: ethtool -i IFACE", _of_text(ethtool.read_driver_info)),
    Kind("ethtool-S", "counters: ethtool -S IFACE", _of_text(counters.read_counters)),
    Kind("ethtool-k", "features: ethtool --json -k IFACE", _of_text(features.read_features)),
    Kind("ethtool-g", "rings: ethtool -g IFACE", _of_text(sizes.read_rings)),
    Kind("ethtool-l", "channels: ethtool -l IFACE", _of_text(sizes.read_channels)),
    Kind("ethtool-c", "coalescing: ethtool -c IFACE", _of_text(coalesce.read_coalescing)),
    Kind("ethtool-a", "pause frames: ethtool --json -a IFACE", _of_text(pause.read_pause)),
    Kind("ethtool-m", "module: ethtool -m IFACE", _of_text(module.read_module)),
    Kind("ip-link", "interfaces: ip -j -s -d addr", _listed("interfaces", ip.read_interfaces)),
    Kind("bonding", "a bond: /proc/net/bonding/NAME", _of_text(bonding.read_bonding)),
    Kind("vlan", "a VLAN: ip -j -d link show dev NAME", _of_text(ip.read_vlan)),
    Kind("dmesg", "Linux's kernel log: dmesg", _of_text(dmesg.read_kernel_log)),
    Kind("interrupts", "interrupts: /proc/interrupts", _of_text(interrupts.read_interrupts)),
    Kind("lspci", "PCI functions: lspci -vvnn -D", _listed("devices", lspci.read_lspci)),
    Kind("modinfo", "a module on disk: modinfo MODULE", _of_text(modinfo.read_modinfo)),
    Kind("dmesg-freebsd", "FreeBSD's kernel log: dmesg, dmesg.boot, messages", _of_text(bsd_dmesg.read_bsd_dmesg)),
    Kind("ifconfig-freebsd", "FreeBSD's interfaces: ifconfig, plain, -a, -m, -v, -l", ifconfig.read_ifconfig),
    Kind("kldstat", "FreeBSD's modules in memory: kldstat, plain, -h, -v, -m", _of_text(kldstat.read_kldstat)),
    Kind("loader-conf", "FreeBSD's settings for the loader: /boot/loader.conf", _of_text(loader_conf.read_loader_conf)),
    Kind("netstat-freebsd", "FreeBSD's interface counters: netstat -i and -w", _of_text(netstat.read_netstat)),
    Kind("pciconf", "FreeBSD's PCI functions: pciconf -l with -v, -b, -c, -e", _of_text(pciconf.read_pciconf)),
    Kind("pkg", "FreeBSD's packages: pkg info, pkg query, pkg_info", packages.read_pkg),
    Kind("sysctl-freebsd", "FreeBSD's sysctl; with -n the command is needed", sysctl.read_sysctl),
    Kind("vmstat-freebsd", "FreeBSD's interrupts: vmstat -i", _of_text(bsd_interrupts.read_vmstat_interrupts)),
    Kind("iperf3", "throughput: iperf3 -c, text, -J or --json-stream", read_iperf3_output),
    Kind("netperf", "throughput: netperf; without headings (-P 0) the command is needed", read_netperf),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in sorted(_ALL, key=lambda kind: kind.name)}


def parse(kind: str, text: str, command: str | None = None) -> dict[str, object]:
    """The record of ``text`` as JSON values.

    :param command: the command line that printed the text; readers that need it say so in ``what`` of their kind.
    :raises ReadError: when the text cannot be read, or no such kind exists.
    """
    if kind not in KINDS:
        raise ReadError(f"unknown kind {kind!r}: expected one of {', '.join(KINDS)}")
    record = as_json(KINDS[kind].read(text, command))
    assert isinstance(record, dict)
    return record


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
    except BenchFault as error:
        return {"id": identity, "error": str(error)}
    except Exception as error:  # noqa: BLE001  # a defect of one reader must not cost the answers to the other lines
        return {"id": identity, "error": f"defect of the reader of {kind}: {type(error).__name__}: {error}"}


def _identity(value: object) -> object:
    """The request's id, given back as it came; None for a number that JSON has no word for."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
    except BenchFault as error:
        print(f"niclab: {error}", file=sys.stderr)
        return 2
    return 0


def _say(line: str) -> None:
    """One line, at once; a lone surrogate, which JSON can name and UTF-8 cannot, becomes a question mark."""
    sys.stdout.buffer.write(line.encode("utf-8", errors="replace") + b"\n")
    sys.stdout.buffer.flush()
