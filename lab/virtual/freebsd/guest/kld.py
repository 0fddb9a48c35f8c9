"""kldload, kldunload and kldstat: module files in /boot, which represent drivers of the kernel below."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping

import toe
from below import (
    ROOT,
    Refusal,
    drivers,
    functions,
    kernel_says,
    netdevs,
    read,
    remember,
    remembered,
    run,
    units,
)

KERNEL = ("0xffffffff80200000", 0x1323388)
FIRST_MODULE = 0xFFFFFFFF81A11000
MODULE_PATH = ("/boot/kernel", "/boot/modules")
APPEARS_WITHIN_S = 15.0
_ELF_MACHINES = {"amd64": 62, "i386": 3}


def kldload(arguments: list[str]) -> int:
    options = [word for word in arguments if word.startswith("-")]
    names = [word for word in arguments if not word.startswith("-")]
    if not names or any(option not in ("-n", "-v", "-q") for option in options):
        raise Refusal("usage: kldload [-nqv] file ...")
    failed = 0
    for name in names:
        try:
            number = load(name, silent="-n" in options)
        except Refusal as refusal:
            sys.stderr.write(f"{refusal}\n")
            failed = 1
            continue
        if "-v" in options and number:
            print(f"Loaded {name}, id={number}")
    return failed


def load(name: str, *, silent: bool = False) -> int:
    """Load a module; its id, 0 when it was loaded already and nobody minds.

    Raises:
        Refusal: As kldload says it.
    """
    file, path = found(name)
    module = file.removesuffix(".ko")
    if module in _built_in() or file in remembered("klds"):
        if silent:
            return 0
        raise Refusal(f"kldload: can't load {name}: File exists")
    if path is None:
        raise Refusal(f"kldload: can't load {name}: No such file or directory")
    from system import elf_machine

    if elf_machine(f"{ROOT}{path}") != _ELF_MACHINES["amd64"]:
        kernel_says(f"kldload: {path}: unsupported file type")
        raise Refusal(f"kldload: can't load {name}: Exec format error")
    known = remembered("klds")
    number = max([1, *(int(row.split()[0]) for row in known.values())]) + 1
    remember("klds", {**known, file: f"{number} {path}"})
    linux = _linux(module)
    if linux is not None:
        status, _, said = run("modprobe", linux)
        if status:
            remember("klds", known)
            kernel_says(f"link_elf_obj: {module}: {said.strip()[-120:]}")
            raise Refusal(f"kldload: can't load {name}: Exec format error")
        attach(linux)
    for needed in _needed(module):
        load(needed, silent=True)
    return number


def kldunload(arguments: list[str]) -> int:
    names = [word for word in arguments if not word.startswith("-")]
    if not names or any(word not in ("-f", "-n", "-v") for word in arguments if word.startswith("-")):
        raise Refusal("usage: kldunload [-fv] [-n] name ...")
    for name in names:
        file = _file_name(name)
        known = remembered("klds")
        if file not in known:
            raise Refusal(f"kldunload: can't find file {name}")
        unload(file)
    return 0


def unload(file: str) -> None:
    """Unload a module file.

    Raises:
        Refusal: When it is in use.
    """
    known = remembered("klds")
    module = file.removesuffix(".ko")
    linux = _linux(module)
    if _is_held(module, known):
        raise Refusal("kldunload: can't unload file: Device busy")
    if linux is not None:
        names = _interfaces_of(linux)
        status, _, _ = run("modprobe", "-r", linux)
        if status:
            raise Refusal("kldunload: can't unload file: Device busy")
        functions(again=True)
        for name in names:
            kernel_says(f"{name}: detached")
            _forget(name)
    for gone in (module, *_needed(module)):  # what it has brought along goes with it
        known.pop(f"{gone}.ko", None)
    remember("klds", known)


def _needed(module: str) -> list[str]:
    """Modules that a module brings along."""
    return [name for fact in drivers().values() if toe.module_of(fact) == module for name in fact["toe"]["needs"]]


def _is_held(module: str, known: Mapping[str, str]) -> bool:
    """Is a module in use: TCP offload that is on at a port, or a driver that the module of its offload is over?"""
    for fact in drivers().values():
        over = toe.module_of(fact)
        if over and ((module == over and toe.is_used()) or (module == fact["module"] and f"{over}.ko" in known)):
            return True
    return False


def kldstat(arguments: list[str]) -> int:
    from getopt import GetoptError, getopt

    try:
        pairs, rest = getopt(arguments, "hqvi:m:n:")
    except GetoptError:
        pairs, rest = [], ["?"]
    if rest:
        raise Refusal("usage: kldstat [-h] [-q] [-v] [-i id] [-n filename]\n       kldstat [-q] [-m modname]")
    options = dict(pairs)
    rows = listed()
    if "-m" in options:
        return _module(options["-m"], rows, quiet="-q" in options)
    if "-n" in options or "-i" in options:
        wanted, identity = _file_name(options.get("-n", "")), options.get("-i")
        rows = [row for row in rows if row[1] in (wanted, options.get("-n")) or str(row[0]) == identity]
        if not rows:
            if "-q" in options:
                return 1
            raise Refusal(f"kldstat: can't find file {options.get('-n', identity)}: No such file or directory")
    if "-q" in options:
        return 0
    print(f"Id Refs Address{'':12} Size     Name")
    for number, name, path, address, size, refs in rows:
        print(f"{number:2} {refs:4} {address} {size:<8x} {name}" + (f" ({path})" if "-v" in options else ""))
        if "-v" in options:
            print("\tContains modules:\n\t\tId Name")
            for index, module in contents(name):
                print(f"\t\t{index:2} {module}")
    return 0


def _module(name: str, rows: list[tuple[int, str, str, str, int, int]], *, quiet: bool) -> int:
    for row in rows:
        for index, module in contents(row[1]):
            if module == name:
                if not quiet:
                    print(f"Id  Refs Name\n{index:3} {1:4} {name}")
                return 0
    if quiet:
        return 1
    raise Refusal(f"kldstat: can't find module {name}: No such file or directory")


def listed() -> list[tuple[int, str, str, str, int, int]]:
    """Id, name, path, address, size and references of everything loaded, the kernel first."""
    known = remembered("klds")
    rows = [(1, "kernel", "/boot/kernel/kernel", KERNEL[0], KERNEL[1], len(known) * 2 + 1)]
    address = FIRST_MODULE
    for file, row in known.items():
        number, path = row.split()
        size = _size(path)
        rows.append((int(number), file, path, f"{address:#x}", size, 1))
        address += (size + 0xFFF) & ~0xFFF
    return rows


def contents(file: str) -> list[tuple[int, str]]:
    """The modules in a file, with their ids."""
    if file == "kernel":
        names = ["newreno", "elf64", "shell", "ppbus/ppi", "pci/em", *_driver_modules(None)]
        return list(enumerate(dict.fromkeys(names), 1))
    return list(enumerate(_driver_modules(file.removesuffix(".ko")) or [file.removesuffix(".ko")], 400))


def _driver_modules(module: str | None) -> list[str]:
    """Return the names of the drivers in a module file, or in the kernel: ``pci/oce``, ``t5nex/cxl``."""
    names = []
    for driver, fact in drivers().items():
        if (fact["module"] == module) if module else fact["built_in"]:
            names.append(f"pci/{driver}")
            if fact["port"] != driver:
                names.append(f"{driver}/{fact['port']}")
    return names


def found(name: str) -> tuple[str, str | None]:
    """The file's name, and its path where there is such a file: as the kernel's linker looks for it."""
    file = _file_name(name)
    if "/" in name:
        return file, name if os.path.exists(f"{ROOT}{name}") else None
    for folder in MODULE_PATH:
        if os.path.exists(f"{ROOT}{folder}/{file}"):
            return file, f"{folder}/{file}"
    return file, None


def attach(linux: str) -> None:
    """Wait until the driver's ports are there, give them the names they have on this system, and say so."""
    import features
    from probe import announce

    functions(again=True)
    until = time.monotonic() + APPEARS_WITHIN_S
    while not _all_there(linux) and time.monotonic() < until:
        time.sleep(0.05)
        functions(again=True)
    for address, device in sorted(units().items()):
        driver = device.rstrip("0123456789")
        fact = drivers()[driver]
        if fact["linux"] != linux:
            continue
        for port, old in enumerate(netdevs(address)):
            unit = int(device[len(driver) :]) * int(fact["ports_per_function"]) + port
            rename(old, f"{fact['port']}{unit}")
            features.deliver(f"{fact['port']}{unit}")
        announce(address, device, fact)


def rename(old: str, new: str) -> None:
    """Give an interface another name."""
    if old != new:
        status, _, said = run("ip", "link", "set", "dev", old, "name", new)
        if status:
            kernel_says(f"{old}: cannot be called {new}: {said.strip()}")
    _forget(new)


def _forget(iface: str) -> None:
    """Forget the settings of an interface, which is gone with its driver."""
    if remembered(f"options-{iface}"):
        remember(f"options-{iface}", {})
    toe.forget(iface)
    if iface in remembered("were-up"):
        remember("were-up", {name: value for name, value in remembered("were-up").items() if name != iface})


def _all_there(linux: str) -> bool:
    """Has every function of the driver as many interfaces as it has ports?"""
    wanted = next(int(fact["ports_per_function"]) for fact in drivers().values() if fact["linux"] == linux)
    mine = [address for address, device in units().items() if drivers()[device.rstrip("0123456789")]["linux"] == linux]
    return bool(mine) and all(len(netdevs(address)) >= wanted for address in mine)


def _interfaces_of(linux: str) -> list[str]:
    names = []
    for address, device in units().items():
        if drivers()[device.rstrip("0123456789")]["linux"] == linux:
            names += [*netdevs(address), *([device] if device not in netdevs(address) else [])]
    return names


def _linux(module: str) -> str | None:
    return next((fact["linux"] for fact in drivers().values() if fact["module"] == module), None)


def _built_in() -> set[str]:
    return {fact["module"] for fact in drivers().values() if fact["built_in"]}


def _file_name(name: str) -> str:
    base = os.path.basename(name)
    return base if base.endswith(".ko") or base == "kernel" else f"{base}.ko"


def _size(path: str) -> int:
    text = read(f"/etc/bsd/sizes{path}")
    if text is not None:
        return int(text)
    try:
        return os.path.getsize(f"{ROOT}{path}")
    except OSError:
        return 0x1000
