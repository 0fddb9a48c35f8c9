"""The part of the boot that is this system's: the kernel's banner, the loader's settings, drivers, /etc/rc.conf."""

from __future__ import annotations

import glob
import os
import sys

import kld
from below import (
    MANAGEMENT,
    ROOT,
    Refusal,
    drivers,
    facts,
    functions,
    kernel_says,
    netdevs,
    read,
    remember,
    run,
)

MANAGEMENT_MAC = "52:54:00:12:34:56"
LOADER_CONF = "/boot/loader.conf"
LOADER_FILES = (LOADER_CONF, f"{LOADER_CONF}.d/*.conf", f"{LOADER_CONF}.local")
"""In the order of /boot/defaults/loader.conf; ``loader_conf_dirs`` came with release 13, with files in any order."""


def rc_bsd(_: list[str]) -> int:
    """Run at boot, before the management network is set up."""
    _console()
    _arp()
    _management()
    _banner()
    settings = loader_settings()
    remember("kenv", {**_own_environment(), **settings})
    for name, value in settings.items():
        if name.endswith("_load") and value.upper() == "YES":
            _loaded(settings.get(name.removesuffix("_load") + "_name", name.removesuffix("_load")))
    for fact in drivers().values():
        if fact["built_in"] or (fact["plug_and_play"] and _present(fact)):
            _built_in(fact)
    _rc_conf()
    return 0


def _console() -> None:
    """Send what is written to the console to the message buffer as well."""
    console = f"{ROOT}/dev/console"
    with open(f"{ROOT}/proc/sys/kernel/printk_devkmsg", "w", encoding="ascii") as setting:
        setting.write("on\n")
    if not os.path.islink(console):
        os.unlink(console)
        os.symlink("kmsg", console)


def _arp() -> None:
    """This system answers for an address on the interface that has it, and on no other."""
    with open(f"{ROOT}/proc/sys/net/ipv4/conf/all/arp_ignore", "w", encoding="ascii") as setting:
        setting.write("1\n")


def _management() -> None:
    for name in os.listdir(f"{ROOT}/sys/class/net"):
        if (read(f"/sys/class/net/{name}/address") or "").strip() == MANAGEMENT_MAC:
            kld.rename(name, MANAGEMENT)


def _banner() -> None:
    """The first lines of the kernel; the readers of its log know a boot by them."""
    fact = facts()
    for line in (
        f"Copyright (c) 1992-{fact['year']} The FreeBSD Project.",
        "Copyright (c) 1979, 1980, 1983, 1986, 1988, 1989, 1991, 1992, 1993, 1994",
        "\tThe Regents of the University of California. All rights reserved.",
        "FreeBSD is a registered trademark of The FreeBSD Foundation.",
        str(fact["version"]).partition("     ")[0],
        f"    root@build:/usr/obj/usr/src/sys/GENERIC {fact['machine']}",
    ):
        kernel_says(line)


def _own_environment() -> dict[str, str]:
    return {"kernelname": "/boot/kernel/kernel", "loader_color": "NO", "hint.acpi.0.rsdp": "0xf5a90"}


def loader_settings() -> dict[str, str]:
    """Return the settings of the loader's files; a line that it does not understand is reported and ends its file."""
    found: dict[str, str] = {}
    for pattern in LOADER_FILES:
        for whole in sorted(glob.glob(f"{ROOT}{pattern}")):
            _add_settings(found, whole.removeprefix(ROOT))
    return found


def _add_settings(found: dict[str, str], path: str) -> None:
    for number, line in enumerate((read(path) or "").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        name, equals, value = text.partition("=")
        value = value.strip()
        quoted = len(value) >= 2 and value[0] == value[-1] == '"'
        if not equals or not name.strip() or (not quoted and (not value or '"' in value or " " in value)):
            sys.stderr.write(f"{path}: line {number}: syntax error\n")
            return
        found[name.strip()] = value[1:-1] if quoted else value


def _loaded(module: str) -> None:
    try:
        kld.load(module, silent=True)
    except Refusal:
        sys.stderr.write(f"can't find '{module}'\n")


def _present(fact: dict[str, object]) -> bool:
    ids = fact["ids"]
    assert isinstance(ids, (list, tuple))
    return any(f"{one['vendor']}:{one['device']}" in ids for one in functions().values())


def _built_in(fact: dict[str, str]) -> None:
    """A driver that the kernel has, or that is found by itself for a device (devmatch)."""
    try:
        if fact["built_in"]:
            status, _, said = run("modprobe", fact["linux"])
            if status:
                raise Refusal(said.strip())
            kld.attach(fact["linux"])
        else:
            kld.load(fact["module"], silent=True)
    except Refusal as refusal:
        sys.stderr.write(f"{refusal}\n")


def _rc_conf() -> None:
    """``ifconfig_NAME`` lines and ``kld_list`` of /etc/rc.conf."""
    import ifset

    settings = {}
    for line in (read("/etc/rc.conf") or "").splitlines():
        name, equals, value = line.partition("#")[0].strip().partition("=")
        if equals:
            settings[name] = value.strip().strip('"')
    for module in settings.get("kld_list", "").split():
        _loaded(module)
    for name, value in settings.items():
        iface = name.removeprefix("ifconfig_")
        if name.startswith("ifconfig_") and iface != MANAGEMENT and os.path.exists(f"{ROOT}/sys/class/net/{iface}"):
            try:
                ifset.change(iface, [*value.split(), "up"])
            except Refusal as refusal:
                sys.stderr.write(f"{refusal}\n")
    if netdevs_missing := [fact["port"] for fact in drivers().values() if _present(fact) and not _has_ports(fact)]:
        sys.stderr.write(f"no driver is loaded for {', '.join(netdevs_missing)}\n")


def _has_ports(fact: dict[str, str]) -> bool:
    return any(netdevs(address) for address, one in functions().items() if one["driver"] == fact["linux"])
