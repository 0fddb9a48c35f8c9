"""The settings that :mod:`sysctl` shows and changes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import devices
from below import ROOT, Refusal, drivers, facts, read, remember, remembered

_TICKS = 128
"""stathz: what kern.cp_time counts in."""
_CHANGEABLE = {
    "net.link.log_link_state_change": "1",
    "net.inet.ip.forwarding": "0",
    "net.inet.tcp.sendspace": "32768",
    "net.inet.tcp.recvspace": "65536",
    "net.inet.tcp.sendbuf_max": "2097152",
    "net.inet.tcp.recvbuf_max": "2097152",
    "net.inet.tcp.tso": "1",
    "net.inet.tcp.sack.enable": "1",
    "net.inet.tcp.cc.algorithm": "newreno",
    "kern.ipc.somaxconn": "128",
    "kern.ipc.maxsockbuf": "2097152",
    "kern.log_console_output": "1",
    "debug.kdb.panic": "0",
}
_WORDS = {"net.inet.tcp.cc.algorithm": ("newreno",)}
"""Those that take words, and which: the algorithms that are loaded (sys/netinet/cc/cc.c)."""


def tree(name: str) -> Iterator[tuple[str, str]]:
    """Names and values; at least those that ``name`` asks for."""
    root = name.partition(".")[0]
    if root in ("", "kern"):
        for oid, value in _KERN.items():
            if not name or oid == name or oid.startswith(f"{name}.") or name == "kern":
                yield oid, value()
    set_to = remembered("sysctl")
    for oid, default in sorted(_CHANGEABLE.items()):
        yield oid, set_to.get(oid, default)
    if root in ("", "hw"):
        yield from _hardware()
    if root in ("", "dev"):
        yield from devices.leaves(name)


def change(name: str, value: str) -> str:
    """Set it, and return what it is then.

    Raises:
        Refusal: In the words of sysctl.
    """
    if name.startswith("dev."):
        return devices.change(name, value)
    if name not in _CHANGEABLE:
        raise Refusal(f"oid '{name}' is read only")
    if name in _WORDS:
        if value not in _WORDS[name]:
            raise Refusal(f"{name}: No such process")
    elif not value.lstrip("-").isdecimal():
        raise Refusal(f"invalid integer '{value}'")
    if name == "debug.kdb.panic" and value != "0":
        _panic()
    remember("sysctl", {**remembered("sysctl"), name: value})
    return value


def _panic() -> None:
    """The kernel says why, as this system does, and the kernel below dies."""
    with open(f"{ROOT}/dev/ttyS0", "w", encoding="ascii") as console:
        console.write("panic: kdb_sysctl_panic\r\ncpuid = 0\r\nKDB: enter: panic\r\n")
    with open(f"{ROOT}/proc/sysrq-trigger", "w", encoding="ascii") as trigger:
        trigger.write("c")


def _hardware() -> Iterator[tuple[str, str]]:
    fact = facts()
    cpus = [line for line in (read("/proc/stat") or "").splitlines() if line[:3] == "cpu" and line[3:4].isdecimal()]
    memory = next((line for line in (read("/proc/meminfo") or "").splitlines() if line.startswith("MemTotal")), "")
    model = next((line for line in (read("/proc/cpuinfo") or "").splitlines() if line.startswith("model name")), "")
    yield "hw.machine", str(fact["machine"])
    yield "hw.model", model.partition(": ")[2] or "unknown"
    yield "hw.ncpu", str(len(cpus))
    yield "hw.byteorder", "1234"
    yield "hw.physmem", str(int(memory.split()[1]) * 1024) if memory else "0"
    free = next((line for line in (read("/proc/meminfo") or "").splitlines() if line.startswith("MemAvailable")), "")
    yield "hw.usermem", str(int(free.split()[1]) * 1024) if free else "0"
    yield "hw.pagesize", "4096"
    yield "hw.machine_arch", str(fact["machine"])
    environment = remembered("kenv")
    for driver in drivers().values():
        if driver["port"] in {name.rstrip("0123456789") for name in os.listdir(f"{ROOT}/sys/class/net")}:
            for tunable, default in driver["loader_tunables"].items():
                yield tunable, environment.get(tunable, default)


def _boottime() -> str:
    line = next((line for line in (read("/proc/stat") or "").splitlines() if line.startswith("btime ")), "btime 0")
    second = int(line.split()[1])
    return f"{{ sec = {second}, usec = 0 }} {time.strftime('%a %b %e %H:%M:%S %Y', time.gmtime(second))}"


def _cpu_times() -> list[list[int]]:
    """Ticks of each processor: user, nice, system, interrupt (with softirq of the system below), idle."""
    rows = []
    for line in (read("/proc/stat") or "").splitlines():
        if line.startswith("cpu") and line[3:4].isdecimal():
            user, nice, system, idle, iowait, irq, softirq = (int(word) for word in line.split()[1:8])
            scale = _TICKS / os.sysconf("SC_CLK_TCK")
            ticks = (user, nice, system, irq + softirq, idle + iowait)
            rows.append([round(value * scale) for value in ticks])
    return rows


def _hostname() -> str:
    return (read("/proc/sys/kernel/hostname") or "").strip()


def _msgbuf() -> str:
    from messages import lines

    return "\n".join(lines())


def _cp_times() -> str:
    return " ".join(str(value) for row in _cpu_times() for value in row)


def _cp_time() -> str:
    return " ".join(str(sum(column)) for column in zip(*_cpu_times(), strict=True))


_KERN: dict[str, Callable[[], str]] = {
    "kern.ostype": lambda: "FreeBSD",
    "kern.osrelease": lambda: str(facts()["release"]),
    "kern.osrevision": lambda: "199506",
    "kern.version": lambda: str(facts()["version"]).partition("     ")[0],
    "kern.hostname": _hostname,
    "kern.hz": lambda: "1000",
    "kern.osreldate": lambda: str(facts()["osreldate"]),
    "kern.boottime": _boottime,
    "kern.bootfile": lambda: "/boot/kernel/kernel",
    "kern.module_path": lambda: "/boot/kernel;/boot/modules",
    "kern.securelevel": lambda: "-1",
    "kern.smp.cpus": lambda: str(len(_cpu_times())),
    "kern.cp_time": _cp_time,
    "kern.cp_times": _cp_times,
    "kern.clockrate": lambda: f"{{ hz = 1000, tick = 1000, profhz = 8126, stathz = {_TICKS} }}",
    "kern.msgbuf": _msgbuf,
}
