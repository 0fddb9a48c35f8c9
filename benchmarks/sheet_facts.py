"""Differences between a card sheet and the source of its Linux driver: ``benchmarks/sheet_facts.py [CARD ...]``.

Compares every sheet of ``lab/cards`` that :mod:`driver_places` knows with the driver in Debian's kernel sources of
6.1 and 6.12, each with the facts that the sheet has for that kernel. Prints a row for each difference, and ends with
status 1 when one has no explanation. ``--kernel`` limits it to one kernel.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from driver_places import PLACES, Places
from driver_source import ETHERNET, KERNELS, Driver, SourceError, folder

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "libraries"))

from niclab.bench.records import OperatingSystem  # noqa: E402 - found by the path set above
from niclab.card import CARDS, Card, Changeable, FlashTool, LinuxOffload, Unknown, load_card  # noqa: E402

BITS: Mapping[str, frozenset[str]] = {
    "rx-checksum": frozenset({"RXCSUM"}),
    "tx-checksum": frozenset({"IP_CSUM", "IPV6_CSUM", "HW_CSUM"}),
    "scatter-gather": frozenset({"SG"}),
    "vlan-insert": frozenset({"HW_VLAN_CTAG_TX"}),
    "vlan-strip": frozenset({"HW_VLAN_CTAG_RX"}),
    "vlan-filter": frozenset({"HW_VLAN_CTAG_FILTER"}),
    "tso4": frozenset({"TSO"}),
    "tso6": frozenset({"TSO6"}),
    "lro": frozenset({"LRO"}),
    "rx-hash": frozenset({"RXHASH"}),
    "ntuple": frozenset({"NTUPLE"}),
}
"""Offloads of a sheet -> features of the kernel; gso and gro are the kernel's own."""


@dataclass(frozen=True)
class Difference:
    """A fact that sheet and source have differently."""

    card: str
    kernel: str
    field: str
    sheet: object
    source: object

    def __str__(self) -> str:
        return f"{self.card:20} {self.kernel:5} {self.field:32} sheet {self.sheet}; driver {self.source}"


def differences(card: Card, kernel: str, driver: Driver, places: Places) -> Iterator[Difference]:
    """Everything in which the sheet and the driver of a kernel differ.

    Args:
        card: The sheet, with the facts of that kernel.
        kernel: Name of the kernel, for the rows.
        driver: The driver's source.
        places: Where the driver has its facts.
    """
    pairs = {
        **_numbers(card, driver, places),
        **_names(card, driver, places),
        **_operations(card, driver, places),
        **_coalescing(card, driver, places),
        **_features(card, driver, places),
    }
    for field, (sheet, source) in pairs.items():
        if sheet != source and not isinstance(sheet, Unknown):
            yield Difference(card.name, kernel, field, sheet, source)


Pairs = dict[str, tuple[object, object]]


def _numbers(card: Card, driver: Driver, places: Places) -> Pairs:
    found = {}
    for field, (file, *expressions) in places.numbers.items():
        value: object = _first(driver, file, expressions)
        if field == "identity.device_id":
            value = f"{value:04x}"
        found[field] = (_of_sheet(card, field), value)
    return found


def _first(driver: Driver, file: str, expressions: list[str]) -> int:
    for expression in expressions[:-1]:
        try:
            return driver.value(file, expression)
        except SourceError:
            continue
    return driver.value(file, expressions[-1])


def _of_sheet(card: Card, field: str) -> object:
    """The fact at a dotted path; ``coalescing.NAME.x`` is that of the parameter NAME."""
    value: object = card
    for step in field.split("."):
        rows = getattr(value, "parameters", None)
        named = {row.name: row for row in rows} if rows is not None else {}
        value = named[step] if step in named else getattr(value, step.replace("-", "_"), None)
    return value


def _names(card: Card, driver: Driver, places: Places) -> Pairs:
    built = driver.words("Makefile", rf"obj-\$\({places.module}\)\s*\+=\s*([\w-]+)\.o")
    modules = {name.replace("-", "_") for name in built}
    module = card.driver(OperatingSystem.LINUX).module
    file, pattern = places.ids
    return {
        "drivers.linux.module": (module, module if module in modules else ", ".join(sorted(modules))),
        "identity (table of PCI IDs)": (True, bool(driver.words(file, pattern))),
    }


def _operations(card: Card, driver: Driver, places: Places) -> Pairs:
    there = driver.operations(places.ethtool)
    tool = card.firmware.update.tool if card.firmware.update else None
    return {
        "rings.settable": (card.rings.settable if card.rings else None, "set_ringparam" in there),
        "pause.settable": (card.pause.settable if card.pause else None, "set_pauseparam" in there),
        "channels (shown)": (bool(card.channels and card.channels.combined), "get_channels" in there),
        "channels.settable": (card.channels.settable if card.channels else None, "set_channels" in there),
        "firmware.update.tool is ethtool": (tool is FlashTool.ETHTOOL, "flash_device" in there),
    }


def _coalescing(card: Card, driver: Driver, places: Places) -> Pairs:
    known, section = driver.coalescing(places.ethtool), card.coalescing
    named = {row.name for row in section.parameters} if section else set()
    if section and section.adaptive_rx is not None:
        named.add("adaptive-rx")
    if section and section.adaptive_tx is not None:
        named.add("adaptive-tx")
    return {"coalescing.parameters": (" ".join(sorted(named)), " ".join(sorted(known)))}


def _features(card: Card, driver: Driver, places: Places) -> Pairs:
    file, function, depth, holds = places.features
    more = {name: _more(driver, *where) for name, where in places.more_features.items()}
    sets = driver.features(file, function, depth, holds, more)
    rows = card.offloads.rows(OperatingSystem.LINUX) if card.offloads else {}
    named = {name.value: row for name, row in rows.items()}
    found: Pairs = {}
    for name, bits in BITS.items():
        on, settable = bool(bits & sets["features"]), bool(bits & sets["hw_features"])
        row = named.get(name)
        source = _said(on, settable)
        if row is not None:
            assert isinstance(row, LinuxOffload)
            changes = row.change in (Changeable.BOTH, Changeable.NOT_OFF, Changeable.NOT_ON)
            known = not isinstance(row.default, Unknown) and not isinstance(row.change, Unknown)
            found[f"offloads.{name}"] = (_said(row.default is True, changes) if known else "unknown", source)
        elif on or settable:
            found[f"offloads.{name}"] = ("no row", source)
    return found


def _more(driver: Driver, file: str, pattern: str) -> set[str]:
    return set(re.findall(r"NETIF_F_(\w+)", " ".join(driver.words(file, pattern))))


def _said(on: bool, settable: bool) -> str:
    return f"{'on' if on else 'off'}, {'settable' if settable else 'fixed'}"


def main() -> int:
    """Print the differences; 1 when one has no explanation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cards", nargs="*", metavar="CARD", default=sorted(PLACES))
    parser.add_argument("--kernel", choices=KERNELS, action="append", dest="kernels")
    parser.add_argument("--renew", action="store_true", help="take the newest packages of the archive")
    options = parser.parse_args()
    unexplained = 0
    for kernel in options.kernels or KERNELS:
        sources = folder(kernel, options.renew) / ETHERNET
        for name in options.cards:
            places = PLACES[name]
            if not (CARDS / f"{name}.yaml").exists():
                print(f"{name:20} {kernel:5} has no sheet")
                continue
            for difference in differences(
                load_card(name).of_kernel(kernel), kernel, Driver(sources / places.folder), places
            ):
                why = places.explained.get(difference.field)
                unexplained += why is None
                print(difference, f" [{why}]" if why else "", sep="")
    print(f"{unexplained} differences without an explanation")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
