"""Sheet and model are two readings of a card: each fact that both have is the same, or the difference is listed here.

A sheet says what the checks want, a model what the virtual card is; neither is made from the other.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import cardmodel
from freebsd import facts as bsd
from niclab.bench.records import OperatingSystem
from niclab.card import AnySubsystem, Card, Changeable, LinuxOffload, Ring, Unknown, load_card

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "lab/virtual/card"))

import models  # noqa: E402 - found by the path set above

NAMES = sorted(model["name"] for model in models.read(ROOT / "lab/virtual/models"))
KERNEL = "6.1"  # of the servers' image, and of the sources that the models cite
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3}
BITS = {
    "rx-checksum": {"RXCSUM"},
    "tx-checksum": {"IP_CSUM", "IPV6_CSUM", "HW_CSUM"},
    "scatter-gather": {"SG"},
    "vlan-insert": {"HW_VLAN_CTAG_TX"},
    "vlan-strip": {"HW_VLAN_CTAG_RX"},
    "vlan-filter": {"HW_VLAN_CTAG_FILTER"},
    "tso4": {"TSO"},
    "tso6": {"TSO6"},
    "lro": {"LRO"},
    "rx-hash": {"RXHASH"},
    "ntuple": {"NTUPLE"},
}
NAMELESS = {"WOL_UCAST", "WOL_MCAST", "WOL_MAGIC", "LINKSTATE", "RXCSUM_IPV6", "TXCSUM_IPV6", "HWSTATS"}
"""Capabilities of FreeBSD for which the sheets have no neutral name, as no check asks of them."""
DIFFERENT: dict[tuple[str, str], str] = {}
"""Card and fact -> why sheet and model may differ."""


def facts(card: Card, model: dict[str, Any]) -> Iterator[tuple[str, object, object]]:
    """Name of a fact, what the sheet says, what the model says; an unknown of the sheet is not compared."""
    pci = model["pci"]
    assert card.identity.ports_per_card is not None
    yield "pci.id", f"{card.identity.vendor_id}:{card.identity.device_id}", f"{pci['vendor']}:{pci['device']}"
    subsystems = card.identity.subsystems
    own = pci["subsystem"]
    yield "pci.subsystem", own if isinstance(subsystems, AnySubsystem) or own in subsystems else subsystems, own
    yield "pci.class", card.identity.pci_class, pci["class"]
    yield "ports", card.identity.ports_per_card, model["ports"]
    if card.pcie is not None:
        assert isinstance(card.pcie.speed_gts, float)
        yield "pci.gen", GENERATIONS[card.pcie.speed_gts], pci["gen"]
        yield "pci.width", card.pcie.width, pci["width"]
    if card.conventional_pci is not None:
        yield "pci.width_bits", card.conventional_pci.width_bits, pci["width_bits"]
        yield "pci.clock_mhz", card.conventional_pci.clock_mhz, pci["clock_mhz"]
    yield "driver", card.driver(OperatingSystem.LINUX).module, model["driver"]
    yield "link.mbps", card.link.speed_mbps, model["link"]["mbps"]
    yield "link.autoneg", card.link.autoneg, model["link"]["autoneg"]
    assert card.mtu is not None and card.filters is not None
    yield "mtu.min", card.mtu.min, model["mtu"]["min"]
    yield "mtu.max", card.mtu.max, model["mtu"]["max"]
    yield "groups", card.filters.multicast.value, model["groups"]
    yield from firmware(card, model)
    yield from rings(card, model)
    yield from coalescing(card, model)
    yield from settings(card, model)
    yield from offloads(card, model)
    yield from freebsd(card, model)


def firmware(card: Card, model: dict[str, Any]) -> Iterator[tuple[str, object, object]]:
    section = model["firmware"]
    printed = section["format"] % section["delivered"]
    yield "firmware (printed string)", card.firmware.read(printed), section["delivered"]
    update = card.firmware.update
    assert update is not None
    yield "firmware.flashable", update.tool.value == "ethtool", section["flashable"]
    yield "firmware.activation", getattr(update.activation, "value", update.activation), section["activation"]


def rings(card: Card, model: dict[str, Any]) -> Iterator[tuple[str, object, object]]:
    own = model.get("rings") or {}
    section = card.rings
    assert section is not None
    if own:
        yield "rings.settable", section.settable, own["settable"]
    for name in ("rx", "tx", "rx_mini", "rx_jumbo"):
        ring: Ring | None = getattr(section, name)
        yield f"rings.{name}", ring is not None and not isinstance(ring.max, Unknown), name in own
        if ring is not None and name in own:
            yield f"rings.{name}.max", ring.max, own[name]["max"]
            yield f"rings.{name}.initial", ring.default, own[name]["initial"]
            yield f"rings.{name}.shared", ring.shared, own[name].get("shared", False)
            yield f"rings.{name}.min", ring.min or Unknown(unknown="not on the sheet"), own[name].get("min")


def coalescing(card: Card, model: dict[str, Any]) -> Iterator[tuple[str, object, object]]:
    own = model.get("coalescing") or {"values": {}}
    values = {name.lower().replace("_", "-").replace("max-frames", "frames"): at for name, at in own["values"].items()}
    ignored = {name.lower().replace("_", "-") for name in own.get("ignored", [])}
    section = card.coalescing
    assert section is not None
    listed = {row.name for row in section.parameters}
    for way in ("rx", "tx"):
        adaptive = getattr(section, f"adaptive_{way}")
        shown = values.pop(f"use-adaptive-{way}", None)
        yield f"coalescing.adaptive_{way}", adaptive, None if shown is None else bool(shown)
    yield "coalescing.parameters", sorted(listed), sorted(values)
    for row in section.parameters:
        yield f"coalescing.{row.name}", row.default, values.get(row.name)
        if "vectors" not in own:
            yield f"coalescing.{row.name}.settable", row.settable, row.name not in ignored
        elif row.name.startswith("tx"):
            yield f"coalescing.{row.name}.settable", row.settable, False
        if row.max is not None and row.settable:
            yield f"coalescing.{row.name}.max", row.max, own["max_usecs"]


def settings(card: Card, model: dict[str, Any]) -> Iterator[tuple[str, object, object]]:
    own = model.get("pause")
    if own is not None:
        assert card.pause is not None
        for name in ("settable", "autoneg", "rx", "tx"):
            yield f"pause.{name}", getattr(card.pause, name), own[name]
        yield "pause.tx_needs_rx", card.pause.send_needs_receive, own.get("tx_needs_rx", False)
    queues = model["channels"]
    assert card.channels is not None
    yield "channels.shown", card.channels.combined is not None, queues.get("shown", True)
    yield "channels.settable", card.channels.settable, queues["settable"]
    if card.channels.combined is not None:
        yield "channels.max", card.channels.combined.max, queues["max"]


def offloads(card: Card, model: dict[str, Any]) -> Iterator[tuple[str, object, object]]:
    assert card.offloads is not None
    rows = {name.value: row for name, row in card.offloads.rows(OperatingSystem.LINUX).items()}
    hw, on = set(model["features"]["hw"]), set(model["features"]["enabled"])
    for name, bits in BITS.items():
        row = rows.get(name)
        if row is None:
            yield f"features.{name}", "no row", "no row" if not bits & (hw | on) else "there"
            continue
        assert isinstance(row, LinuxOffload)
        yield f"features.{name}.on", row.default, bool(bits & on)
        yield f"features.{name}.hw", row.change is not Changeable.FIXED, bool(bits & hw)
    clears = {name.value for name in getattr(rows.get("rx-checksum"), "clears", ())}
    yield "features.need_rxcsum", clears, {name.lower() for name in model["features"].get("need_rxcsum", [])}


def freebsd(card: Card, model: dict[str, Any]) -> Iterator[tuple[str, object, object]]:
    own = {row["label"]: row for row in model["freebsd"]["options"]}
    assert card.offloads is not None
    rows = {row.shown_as: row for row in card.offloads.rows(OperatingSystem.FREEBSD).values()}
    if mtu := model["freebsd"].get("mtu"):
        section = card.of_system(OperatingSystem.FREEBSD).mtu
        assert section is not None
        yield "freebsd.mtu", (section.min, section.max), (mtu["min"], mtu["max"])
    yield "freebsd.options", sorted(rows), sorted(own.keys() - NAMELESS)
    for label, row in rows.items():
        if label not in own:
            continue
        yield f"freebsd.{label}.bit", getattr(row, "bit", None), own[label]["bit"]
        yield f"freebsd.{label}.words", list(getattr(row, "set_words", ())), own[label].get("words", [])
        yield f"freebsd.{label}.on", row.default, own[label].get("enabled", True)
        change = row.change.value
        yield f"freebsd.{label}.change", change, own[label].get("change", "both")
        yield f"freebsd.{label}.clears", [name.value for name in row.clears], own[label].get("clears", [])


def driver_of_freebsd(name: str, card: Card) -> Iterator[tuple[str, object, object]]:
    """The same of the driver: its module, and the names under which it shows versions."""
    driver = bsd.driver_of(name)
    yield "freebsd.module", card.driver(OperatingSystem.FREEBSD).module, driver.module
    firmware = card.driver(OperatingSystem.FREEBSD).firmware
    if firmware is not None and firmware.is_known:
        assert driver.firmware_name and firmware.example
        yield "freebsd.firmware", True, driver.firmware_form[1].partition("\\")[0] in firmware.example


def differences(name: str) -> dict[str, str]:
    model = yaml.safe_load((ROOT / f"lab/virtual/models/{name}.yaml").read_text())
    card = load_card(name).of_kernel(KERNEL)
    return {
        fact: f"sheet {sheet!r}, model {own!r}"
        for fact, sheet, own in facts(card, model)
        if sheet != own and not isinstance(sheet, Unknown)
    }


@pytest.mark.parametrize("name", [file.stem for file in sorted((ROOT / "lab/cards").glob("*.yaml"))])
def test_sheet_and_model_say_the_same_of_freebsd(name: str) -> None:
    """Also of the cards of QEMU, whose drivers below are Linux' own and whose other facts nobody models."""
    card, model = load_card(name), cardmodel.read(name)
    found = [*freebsd(card, dict(model)), *driver_of_freebsd(name, card)]
    assert [(fact, sheet, own) for fact, sheet, own in found if sheet != own and not isinstance(sheet, Unknown)] == []


@pytest.mark.parametrize("name", NAMES)
def test_sheet_and_model_say_the_same_of_a_card(name: str) -> None:
    found = differences(name)
    assert {fact: said for fact, said in found.items() if (name, fact) not in DIFFERENT} == {}
    assert {fact for card, fact in DIFFERENT if card == name} <= set(found), "a difference that is none any more"


def test_the_virtual_bench_reads_sheets_for_nothing_but_what_a_vendor_ships() -> None:
    readers = {
        path.name
        for path in (ROOT / "lab/virtual").rglob("*.py")
        if "cardsheet" in path.read_text() and path.name != "cardsheet.py"
    }
    assert readers == {"cardkit.py", "cli.py", "kit.py", "medium.py", "ports.py", "rpmkit.py"}
