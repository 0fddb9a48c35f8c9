"""The system below: its files and tools, the facts of the card, and what lasts until the next boot.

Facts are what the bench has laid at ``/etc/bsd/facts.py``, made of the card's sheet. ``BSD_ROOT`` and ``BSD_TOOLS``
move everything elsewhere, for tests.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

ROOT = os.environ.get("BSD_ROOT", "")
TOOLS = os.environ.get("BSD_TOOLS", "/usr/sbin:/usr/bin:/sbin:/bin")
STATE = f"{ROOT}/run/bsd"
MANAGEMENT = "vtnet0"


class Refusal(Exception):
    """The tool refuses: its words, and its exit status."""

    def __init__(self, words: str, status: int = 1) -> None:
        super().__init__(words)
        self.status = status


class ToolMissing(Exception):
    """A tool of the system below is not there."""


def facts() -> Mapping[str, Any]:
    """Return the facts of this server and its card."""
    folder = f"{ROOT}/etc/bsd"
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import facts as laid  # type: ignore[import-not-found]

    found: Mapping[str, Any] = laid.FACTS
    return found


def drivers() -> Mapping[str, Any]:
    """Facts of each driver by the name that newbus gives the PCI function (``oce``, ``t5nex``)."""
    found: Mapping[str, Any] = facts()["drivers"]
    return found


def read(path: str) -> str | None:
    """A file's text; None when it is not there or cannot be read (a port that is down has no speed)."""
    try:
        with open(f"{ROOT}{path}", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def write(path: str, text: str) -> None:
    """A small file, replaced in one step."""
    whole = f"{ROOT}{path}"
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with open(f"{whole}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{whole}.new", whole)


def run(*words: str) -> tuple[int, str, str]:
    """Exit status, output and errors of a tool of the system below.

    Raises:
        ToolMissing: When it is not there.
    """
    out, err = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        _become(words, out[1], err[1])
    os.close(out[1])
    os.close(err[1])
    texts = _both(out[0], err[0])
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 127:
        raise ToolMissing(f"{words[0]} is missing below")
    return status, texts[0], texts[1]


def _become(words: tuple[str, ...], out: int, err: int) -> None:
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        environment = {**os.environ, "LC_ALL": "C", "PATH": TOOLS}
        os.execvpe(words[0], list(words), environment)
    except OSError:
        os._exit(127)


def _both(out: int, err: int) -> tuple[str, str]:
    """Return the output of two pipes, once both have ended."""
    import select

    found: dict[int, list[bytes]] = {out: [], err: []}
    still = [out, err]
    while still:
        for pipe in select.select(still, [], [])[0]:
            data = os.read(pipe, 65536)
            found[pipe].append(data)
            if not data:
                still.remove(pipe)
                os.close(pipe)
    return b"".join(found[out]).decode(errors="replace"), b"".join(found[err]).decode(errors="replace")


# --- what lasts until the next boot


def remembered(name: str) -> dict[str, str]:
    """Names and values of one list, such as the kernel environment."""
    try:
        with open(f"{STATE}/{name}", encoding="utf-8") as file:
            return dict(line.rstrip("\n").split("\t", 1) for line in file if "\t" in line)
    except FileNotFoundError:
        return {}


def remember(name: str, values: Mapping[str, str]) -> None:
    """Replace such a list."""
    write(f"/run/bsd/{name}", "".join(f"{key}\t{value}\n" for key, value in values.items()))


def alone() -> None:
    """Wait for every other change to end; this process keeps the right to change until its own end."""
    import fcntl

    os.makedirs(STATE, exist_ok=True)
    fcntl.flock(os.open(f"{STATE}/lock", os.O_CREAT | os.O_RDWR, 0o600), fcntl.LOCK_EX)


# --- devices


_FUNCTIONS: dict[str, dict[str, str]] = {}


def functions(*, again: bool = False) -> dict[str, dict[str, str]]:
    """PCI address -> vendor, device and the Linux driver that is bound (or empty), of every function.

    Args:
        again: Look again, after drivers have come or gone.
    """
    if _FUNCTIONS and not again:
        return _FUNCTIONS
    base, found = "/sys/bus/pci/devices", _FUNCTIONS
    found.clear()
    for address in sorted(os.listdir(f"{ROOT}{base}")):
        driver = f"{ROOT}{base}/{address}/driver"
        found[address] = {
            "vendor": (read(f"{base}/{address}/vendor") or "0xffff").strip()[2:],
            "device": (read(f"{base}/{address}/device") or "0xffff").strip()[2:],
            "driver": os.path.basename(os.path.realpath(driver)) if os.path.exists(driver) else "",
        }
    return found


def units() -> dict[str, str]:
    """PCI address -> name of its newbus device (``oce0``), of functions whose driver is loaded, units by address."""
    counts: dict[str, int] = {}
    found = {}
    names = {fact["linux"]: name for name, fact in drivers().items()}
    for address, function in functions().items():
        if function["driver"] in names:
            name = names[function["driver"]]
            found[address] = f"{name}{counts.get(name, 0)}"
            counts[name] = counts.get(name, 0) + 1
    return found


def netdevs(address: str) -> list[str]:
    """Interfaces of a PCI function, by the number of their port."""
    folder = f"/sys/bus/pci/devices/{address}/net"
    try:
        names = os.listdir(f"{ROOT}{folder}")
    except FileNotFoundError:
        return []
    return sorted(names, key=lambda name: int((read(f"{folder}/{name}/dev_port") or "0").strip() or 0))


def ports() -> dict[str, str]:
    """Interface -> PCI address, of every port of a card that has a driver; interfaces as they are called now."""
    return {name: address for address in units() for name in netdevs(address)}


def split_unit(name: str) -> tuple[str, str]:
    """``oce0`` -> ``oce`` and ``0``; the unit is empty where there is none."""
    driver = name.rstrip("0123456789")
    return driver, name[len(driver) :]


def fact_of(iface: str) -> Mapping[str, Any] | None:
    """The facts of the driver of a card's port; None for any other interface."""
    address = ports().get(iface)
    if address is None:
        return None
    found: Mapping[str, Any] = drivers()[split_unit(units()[address])[0]]
    return found


def kernel_says(line: str) -> None:
    """A line of the kernel, into its log."""
    log = os.open(f"{ROOT}/dev/kmsg", os.O_WRONLY | os.O_APPEND)
    try:
        os.write(log, f"<6>bsd: {line}\n".encode())
    finally:
        os.close(log)


def release() -> tuple[int, int]:
    """(9, 1) of 9.1-RELEASE."""
    major, minor = str(facts()["release"]).partition("-")[0].split(".")
    return int(major), int(minor)
