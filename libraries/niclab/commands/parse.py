"""Every reader of tool output under one name each: text in, record as JSON out (``niclab parse``).

A kind is named after the tool and form it reads (``ethtool-i``, ``pciconf``). Its reader gets the text and returns a
record or raises :class:`~niclab.hosts.errors.ReadError`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from niclab.core.plain import as_json
from niclab.core.verdict import BenchFault
from niclab.hosts.bonds import proc_bonding
from niclab.hosts.counts import ethtool_counters as counters
from niclab.hosts.counts import netstat
from niclab.hosts.drivers import kldstat, modinfo
from niclab.hosts.errors import ReadError
from niclab.hosts.kernel import dmesg, freebsd_lines, linux_trouble
from niclab.hosts.kernel import freebsd_trouble as bsd_trouble
from niclab.hosts.kernel.kernel_log import KernelLine
from niclab.hosts.kernel.trouble import KernelTrouble
from niclab.hosts.links import ethtool, ifconfig, ip_command
from niclab.hosts.pci import lspci, pciconf
from niclab.hosts.settings import ethtool_coalesce as coalesce
from niclab.hosts.settings import ethtool_features as features
from niclab.hosts.settings import ethtool_pause as pause
from niclab.hosts.settings import ethtool_sizes as sizes
from niclab.hosts.settings import sysctl
from niclab.hosts.steering import ethtool_hash, interrupts
from niclab.traffic.tools.iperf3 import read_iperf3
from niclab.traffic.tools.netperf import read_netperf

Reader = Callable[[str], object]


@dataclass(frozen=True)
class TextKind:
    """``what`` is one line for ``niclab parse --list``. ``read(text)`` gives a dataclass."""

    name: str
    what: str
    read: Reader


def _listed(name: str, reader: Callable[[str], tuple[object, ...]]) -> Reader:
    """A reader of several records, under the name of their list."""
    return lambda text: {name: reader(text)}


_LINE_OF_FREEBSD = re.compile(
    r"(?!irq[0-9]|iperf3: )[a-z][a-z0-9_]*?[0-9]{1,5}: (?!flags=)\S|.*The FreeBSD Project"
    r"|FreeBSD [0-9]+\.[0-9][^ ]*(?: [^(]|$)|---<<BOOT>>---|Trying to mount root|KDB: |db> "
)


def _linux_log(text: str) -> dict[str, object]:
    lines = dmesg.read_dmesg(text)
    return _log(lines, linux_trouble.read_trouble(lines), any(line.seconds is not None for line in lines))


def _freebsd_log(text: str) -> dict[str, object]:
    lines = freebsd_lines.kernel_lines(text)
    own = any(_LINE_OF_FREEBSD.match(line.text[:200]) for line in lines)
    foreign = any(line.text.startswith("Linux version ") for line in lines)
    return _log(lines, bsd_trouble.read_trouble(lines), own and not foreign)


def _log(lines: Sequence[KernelLine], trouble: Sequence[KernelTrouble], known: bool) -> dict[str, object]:
    if not known and not trouble:
        raise ReadError("cannot read kernel log; expected a line as the kernel writes it, or one that tells of trouble")
    return {"lines": len(lines), "trouble": trouble}


_ALL = (
    TextKind("ethtool", "link settings: ethtool IFACE", ethtool.read_link_settings),
    TextKind("ethtool-i", "driver: ethtool -i IFACE", ethtool.read_driver_info),
    TextKind("ethtool-S", "counters: ethtool -S IFACE", counters.read_counters),
    TextKind("ethtool-k", "features: ethtool --json -k IFACE", features.read_features),
    TextKind("ethtool-g", "rings: ethtool -g IFACE", sizes.read_rings),
    TextKind("ethtool-l", "channels: ethtool -l IFACE", sizes.read_channels),
    TextKind("ethtool-x", "receive hash: ethtool -x IFACE", ethtool_hash.read_receive_hash),
    TextKind("ethtool-n", "hash fields: ethtool -n IFACE rx-flow-hash KIND", ethtool_hash.read_hash_fields),
    TextKind("ethtool-c", "coalescing: ethtool -c IFACE", coalesce.read_coalescing),
    TextKind("ethtool-a", "pause frames: ethtool -a IFACE", pause.read_pause),
    TextKind("ip-link", "interfaces: ip -j -s -d addr", _listed("interfaces", ip_command.read_interfaces)),
    TextKind("bonding", "a bond: /proc/net/bonding/NAME", proc_bonding.read_bonding),
    TextKind("vlan", "a VLAN: ip -j -d link show dev NAME", ip_command.read_vlan),
    TextKind("dmesg", "trouble in Linux's kernel log or on its console: dmesg", _linux_log),
    TextKind("interrupts", "interrupts: /proc/interrupts", interrupts.read_interrupts),
    TextKind("lspci", "PCI functions: lspci -vvnn -D", _listed("devices", lspci.read_lspci)),
    TextKind("modinfo", "a module on disk: modinfo MODULE", modinfo.read_modinfo),
    TextKind("dmesg-freebsd", "trouble in FreeBSD's: sysctl -n kern.msgbuf", _freebsd_log),
    TextKind("ifconfig-freebsd", "FreeBSD's interfaces: ifconfig IFACE, ifconfig -m IFACE", ifconfig.read_ifconfig),
    TextKind("kldstat", "FreeBSD's modules in memory: kldstat -v", kldstat.read_kldstat),
    TextKind("netstat-freebsd", "FreeBSD's interface counters: netstat -I IFACE -bdnW", netstat.read_netstat),
    TextKind("pciconf", "FreeBSD's PCI functions: pciconf -l, pciconf -lc", pciconf.read_pciconf),
    TextKind("sysctl-freebsd", "FreeBSD's settings of devices and drivers: sysctl dev.DRIVER", sysctl.read_sysctl),
    TextKind("iperf3", "throughput: iperf3 -c HOST -J", read_iperf3),
    TextKind("netperf", "throughput: netperf -c -C of a stream, a file, UDP or requests", read_netperf),
)
KINDS: Mapping[str, TextKind] = {kind.name: kind for kind in sorted(_ALL, key=lambda kind: kind.name)}


def parse(kind: str, text: str) -> dict[str, object]:
    """Return the record of ``text`` as JSON values.

    Raises:
        ReadError: when the text cannot be read, or no such kind exists.
    """
    if kind not in KINDS:
        raise ReadError(f"unknown kind {kind!r}; expected one of {', '.join(KINDS)}")
    record = as_json(KINDS[kind].read(text))
    assert isinstance(record, dict)
    return record


def parse_batch(lines: Iterable[str]) -> Iterator[str]:
    """For each JSON line ``{"id", "kind", "text"}`` one line ``{"id", "record"}`` or ``{"id", "error"}``."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield json.dumps(_answer(number, line), ensure_ascii=False, allow_nan=False)


def _answer(number: int, line: str) -> dict[str, object]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"id": None, "error": f"request line {number}; expected one JSON object ({error})"}
    if not isinstance(request, dict):
        return {"id": None, "error": f"request line {number}; expected a JSON object"}
    identity = _identity(request.get("id"))
    kind, text = request.get("kind"), request.get("text")
    if not isinstance(kind, str) or not isinstance(text, str):
        return {"id": identity, "error": f"request line {number}; expected kind and text as strings"}
    try:
        return {"id": identity, "record": parse(kind, text)}
    except BenchFault as error:
        return {"id": identity, "error": str(error)}
    except Exception as error:  # noqa: BLE001  # a defect of one reader must not cost the answers to the other lines
        return {"id": identity, "error": f"defect of the reader of {kind}: {type(error).__name__}: {error}"}


def _identity(value: object) -> object:
    """The request's id, given back as it came; None for a number that JSON has no word for."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def run(kind: str | None, *, batch: bool, listing: bool) -> int:
    """Run ``niclab parse``; 0: all read, 2: unreadable and said on standard error (never so for a batch).

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
        _say(json.dumps(parse(kind or "", text), indent=2, ensure_ascii=False, allow_nan=False))
    except BenchFault as error:
        print(f"niclab: {error}", file=sys.stderr)
        return 2
    return 0


def _say(line: str) -> None:
    """One line, at once; a lone surrogate, which JSON can name and UTF-8 cannot, becomes a question mark."""
    sys.stdout.buffer.write(line.encode("utf-8", errors="replace") + b"\n")
    sys.stdout.buffer.flush()
