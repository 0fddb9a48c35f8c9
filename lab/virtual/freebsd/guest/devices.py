"""The settings below ``dev``: of every device what newbus knows, of a card's what its driver shows and takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import settings
import toe
from below import Refusal, drivers, read, remember, remembered, split_unit
from newbus import Device
from newbus import devices as all_devices

Leaves = Iterator[tuple[str, str]]


def leaves(name: str) -> Leaves:
    """Settings of the devices that ``name`` asks for (``dev.oce``, ``dev.oce.0.%parent``; else of all)."""
    words = name.split(".")
    for device in all_devices():
        if device.name == "nexus0":
            continue
        driver, unit = split_unit(device.name)
        if words[1:2] not in ([], [driver]) or words[2:3] not in ([], [unit]):
            continue
        yield from _newbus(device)
        if name.rpartition(".")[2].startswith("%"):
            continue  # nothing of the driver's is wanted
        fact = drivers().get(driver)
        if fact is not None:
            yield from _function(device, fact)
            yield from toe.leaves(device.tree, str(device.address), fact, words[3:4])
        port = next((one for one in drivers().values() if one["port"] == driver), None)
        if port is not None:
            yield from _port(device, port)
            yield from toe.port_leaves(device.name, device.tree, port)
            yield from _statistics(device, port, words[3:4])


def _newbus(device: Device) -> Leaves:
    driver = split_unit(device.name)[0]
    yield f"{device.tree}.%desc", device.description
    yield f"{device.tree}.%driver", driver
    if device.location:
        yield f"{device.tree}.%location", device.location
    if device.pnpinfo:
        yield f"{device.tree}.%pnpinfo", device.pnpinfo
    yield f"{device.tree}.%parent", device.parent


def _function(device: Device, fact: Mapping[str, Any]) -> Leaves:
    """Yield the driver's leaves of a PCI function: versions, and its own settings."""
    from below import netdevs, run

    assert device.address is not None
    names = netdevs(device.address)
    if fact["version_name"]:
        yield f"{device.tree}.{fact['version_name']}", str(fact["version_text"])
    if names and fact["firmware_name"]:
        _, said, _ = run("ethtool", "-i", names[0])
        line = next((row for row in said.splitlines() if row.startswith("firmware-version:")), "")
        pattern, shown = fact["firmware_form"]
        yield f"{device.tree}.{fact['firmware_name']}", re.sub(pattern, shown, line.partition(":")[2].strip())
    set_to, environment = remembered("sysctl"), remembered("kenv")
    for leaf, default in fact["tunables"].items():
        loader = environment.get(f"hw.{split_unit(device.name)[0]}.{leaf}", default)
        yield f"{device.tree}.{leaf}", set_to.get(f"{device.tree}.{leaf}", str(loader))
    for leaf, value in fact["constants"].items():
        yield f"{device.tree}.{leaf}", str(value)
    if fact["flashes"]:
        yield f"{device.tree}.{fact['flashes']}", ""


def _port(device: Device, fact: Mapping[str, Any]) -> Leaves:
    """Yield the driver's leaves of a port: its counters, and settings that act on the card."""
    for leaf, (file, divisor) in fact["counters"].items():
        text = read(f"/sys/class/net/{device.name}/statistics/{file}")
        if text is not None:
            yield f"{device.tree}.{leaf}", str(int(text) // divisor)
    for leaf in fact["acting"]:
        yield f"{device.tree}.{leaf}", settings.shown(device.name, leaf)


def _statistics(device: Device, fact: Mapping[str, Any], branch: list[str]) -> Leaves:
    """Yield a port's counters of the driver below, over all queues; only if their branch, or all, is asked for."""
    from below import run

    wanted = {leaf: name for leaf, name in fact["statistics"].items() if branch in ([], [leaf.partition(".")[0]])}
    if not wanted:
        return
    lines = [line.strip().rpartition(": ") for line in run("ethtool", "-S", device.name)[1].splitlines()]
    for leaf, name in wanted.items():
        found = [int(value) for label, _, value in lines if label == name or label.endswith(f": {name}")]
        if found:
            yield f"{device.tree}.{leaf}", str(sum(found))


def change(name: str, value: str) -> str:
    """Set a device's setting, and return what it is then.

    Raises:
        Refusal: In the words of sysctl.
    """
    _, driver, unit, leaf = (name.split(".", 3) + [""] * 4)[:4]
    fact = drivers().get(driver)
    if fact is not None and leaf in fact["tunables"]:
        if not value.isdecimal():
            raise Refusal(f"invalid integer '{value}'")
        remember("sysctl", {**remembered("sysctl"), name: value})
        return value
    if fact is not None and toe.takes(leaf, fact):
        if not value.isdecimal():
            raise Refusal(f"invalid integer '{value}'")
        return toe.set_placement(name, value)
    if fact is not None and leaf and leaf == fact["flashes"]:
        from flashing import by_module

        by_module(name, f"{driver}{unit}", value)
        return ""
    port = next((one for one in drivers().values() if one["port"] == driver), None)
    if port is not None and leaf in port["acting"]:
        act: Callable[[str, str, str], str] = settings.change
        return act(f"{driver}{unit}", leaf, value)
    raise Refusal(f"oid '{name}' is read only")
