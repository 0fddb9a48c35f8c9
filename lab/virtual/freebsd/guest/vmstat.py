"""vmstat -i: how many interrupts each source has had."""

from __future__ import annotations

from below import Refusal, ports, read


def vmstat(arguments: list[str]) -> int:
    if arguments not in (["-i"], ["-ia"], ["-ai"]):
        raise Refusal(
            "usage: vmstat [-afHhimPsz] [-M core [-N system]] [-c count] [-n devs]\n\t[-p type,if,pass] [wait]"
        )
    seconds = max(1, int(float((read("/proc/uptime") or "1 1").split()[0])))
    rows = [(name, total) for name, total in _sources() if total or arguments != ["-i"]]
    print(f"{'interrupt':32} {'total':>12} {'rate':>10}")
    for name, total in rows:
        print(f"{name:32} {total:12} {total // seconds:10}")
    total = sum(count for _, count in rows)
    print(f"{'Total':32} {total:12} {total // seconds:10}")
    return 0


def _sources() -> list[tuple[str, int]]:
    interfaces, rows = list(ports()), []
    text = (read("/proc/interrupts") or "").splitlines()
    width = len(text[0].split()) if text else 0
    for line in text[1:]:
        words = line.split()
        number = words[0].rstrip(":")
        if number == "LOC":
            counts = [int(word) for word in words[1 : 1 + width]]
            rows += [(f"cpu{index}:timer", count) for index, count in enumerate(counts)]
        elif number.isdecimal():
            rows.append((f"irq{number}: {_source(words[-1], interfaces)}", sum(int(w) for w in words[1 : 1 + width])))
    return rows


def _source(name: str, interfaces: list[str]) -> str:
    """``oce0-rx-1`` -> ``oce0:rx1``; what this system calls otherwise has the name of the system below."""
    for iface in interfaces:
        if name.startswith(f"{iface}-"):
            return f"{iface}:{name.removeprefix(f'{iface}-').replace('-', '')}"
    return {"ttyS0": "uart0", "i8042": "atkbd0", "acpi": "acpi0"}.get(name, name)
