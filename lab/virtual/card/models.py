"""Turns the card sheets into the C tables the kernel modules are built with: ``python3 models.py lab/cards OUTPUT``.

A sheet is the only place where a fact about a card stands. This program knows how the sheet's words are said in C, and
what is in for a fact that a sheet leaves open. Needs PyYAML; knows nothing of the lab's own code.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

DRIVERS = ("be2net", "cxgb4", "bnx2x", "ixgbe", "sfc", "acenic")
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3}  # GT/s of a lane, PCI Express Base Specification 3.0
MTU_MIN = 68  # RFC 791: every internet module must be able to forward 68 octets
MTU_MAX = 10000  # fits into BUFFER_BYTES of silicon/wire.c
RING_MIN, RING_WHERE_NONE = 32, 512  # house figures, where a sheet gives none
RX_AGGREGATE = 16  # house figure: frames merged into one packet
BUS_EFFICIENCY = 0.75  # house figure: arbitration and addresses of a conventional bus
FEATURES = {
    "rx-checksum": ["RXCSUM"],
    "tx-checksum": ["IP_CSUM", "IPV6_CSUM"],
    "scatter-gather": ["SG"],
    "vlan-insert": ["HW_VLAN_CTAG_TX"],
    "vlan-strip": ["HW_VLAN_CTAG_RX"],
    "vlan-filter": ["HW_VLAN_CTAG_FILTER"],
    "tso4": ["TSO"],
    "tso6": ["TSO6"],
    "lro": ["LRO"],
    "rx-hash": ["RXHASH"],
    "ntuple": ["NTUPLE"],
    "gso": [],  # the kernel's own
    "gro": [],
}
COALESCING = {  # ethtool's word: flag, field of struct ethtool_coalesce
    "rx-usecs": ("RX_USECS", "rx_coalesce_usecs"),
    "rx-usecs-irq": ("RX_USECS_IRQ", "rx_coalesce_usecs_irq"),
    "rx-usecs-low": ("RX_USECS_LOW", "rx_coalesce_usecs_low"),
    "rx-usecs-high": ("RX_USECS_HIGH", "rx_coalesce_usecs_high"),
    "rx-frames": ("RX_MAX_FRAMES", "rx_max_coalesced_frames"),
    "tx-usecs": ("TX_USECS", "tx_coalesce_usecs"),
    "tx-usecs-irq": ("TX_USECS_IRQ", "tx_coalesce_usecs_irq"),
    "tx-usecs-low": ("TX_USECS_LOW", "tx_coalesce_usecs_low"),
    "tx-usecs-high": ("TX_USECS_HIGH", "tx_coalesce_usecs_high"),
    "tx-frames": ("TX_MAX_FRAMES", "tx_max_coalesced_frames"),
}
GROUPS = {"exact": "VCARD_GROUPS_EXACT", "hash": "VCARD_GROUPS_HASH", "none": "VCARD_GROUPS_ALL"}
ACTIVATION = {"driver-reload": "VCARD_AT_LOAD", "reset": "VCARD_AT_RESET", "power-cycle": "VCARD_AT_POWER"}

Sheet = dict[str, Any]


class SheetError(Exception):
    """A sheet lacks what a model needs, or says it in a word this program does not know."""


def sheets(folder: Path) -> list[Sheet]:
    """The sheets of the cards that can be modelled: with a ``model`` section and a driver there is a stand-in for."""
    found = [yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml"))]
    return [sheet for sheet in found if "model" in sheet and sheet["drivers"]["linux"]["module"] in DRIVERS]


def known(value: Any, default: Any) -> Any:
    """``value`` unless the sheet leaves it open."""
    return default if value is None or isinstance(value, dict) else value


def features(sheet: Sheet) -> dict[str, str]:
    """The offload table as masks: what can be changed, what is on as delivered, what is on for ever."""
    masks: dict[str, list[str]] = {"changeable": [], "on": [], "fixed": []}
    lro_needs_rxcsum = False
    for row in sheet["offloads"]["table"]:
        if "linux" not in row:
            continue
        if row["name"] not in FEATURES:
            raise SheetError(f"{sheet['card']}: offload {row['name']!r}: wanted one of {', '.join(FEATURES)}")
        bits = [f"NETIF_F_{name}" for name in FEATURES[row["name"]]]
        default, change = known(row["linux"]["default"], True), known(row["linux"]["change"], "both")
        if change == "both":
            masks["changeable"] += bits
        if default:
            masks["on" if change == "both" else "fixed"] += bits
        lro_needs_rxcsum |= row["name"] == "rx-checksum" and "lro" in row["linux"].get("clears", [])
    result = {name: " | ".join(bits) or "0" for name, bits in masks.items()}
    return result | {"lro_needs_rxcsum": str(lro_needs_rxcsum).lower()}


def rings(sheet: Sheet) -> dict[str, str]:
    """Rings; a card whose sheet knows no size of one gets rings that nobody is shown."""
    section: Sheet = sheet.get("rings") or {}
    if all(known(size, None) is None for ring in ("rx", "tx") for size in section.get(ring, {}).values()):
        section = {}
    result = {"rings_shown": _bool(bool(section)), "rings_settable": _bool(bool(section) and section["settable"])}
    for name in ("rx", "tx", "rx_mini", "rx_jumbo"):
        ring = section.get(name)
        if ring:
            top = int(ring["max"])
            low = int(known(ring.get("min"), min(RING_MIN, top)))
            result[name] = f"{{ {low}, {top}, {int(known(ring['default'], top))} }}"
        elif not section and name in ("rx", "tx"):
            result[name] = f"{{ 0, 0, {RING_WHERE_NONE} }}"
    return result


def coalescing(sheet: Sheet) -> dict[str, str]:
    """Parameters of ``ethtool -C``: which there are, which are taken and ignored, and what they start with."""
    section = sheet["coalescing"]
    flags, fixed, values, highest = [], [], [], 0
    for parameter in section.get("parameters", []):
        flag, field = COALESCING[parameter["name"]]
        flags.append(f"ETHTOOL_COALESCE_{flag}")
        if parameter.get("settable") is False:
            fixed.append(f"ETHTOOL_COALESCE_{flag}")
        values.append(f".{field} = {int(known(parameter['default'], 0))}")
        highest = max(highest, int(known(parameter.get("max"), 0)))
    for way in ("rx", "tx"):
        if f"adaptive_{way}" in section:
            flags.append(f"ETHTOOL_COALESCE_USE_ADAPTIVE_{way.upper()}")
            values.append(f".use_adaptive_{way}_coalesce = {int(known(section[f'adaptive_{way}'], False))}")
    return {
        "coalesce_params": " | ".join(flags) or "0",
        "coalesce_fixed": " | ".join(fixed) or "0",
        "coalesce": "{ " + ", ".join(values or [".cmd = 0"]) + " }",
        "max_usecs": str(highest),
    }


def bus(sheet: Sheet) -> dict[str, str]:
    """PCI Express generation and lanes; 0 lanes is conventional PCI."""
    pcie = sheet.get("pcie")
    if not pcie:
        return {"gen": "0", "width": "0"}
    return {"gen": str(GENERATIONS[float(pcie["speed_gts"])]), "width": str(pcie["width"])}


def firmware(sheet: Sheet) -> dict[str, str]:
    """The version as delivered, and the words a driver prints around it."""
    section = sheet["firmware"]
    match = re.fullmatch(section["shape"], section["example"])
    if not match:
        raise SheetError(f"{sheet['card']}: firmware.example {section['example']!r} is not of firmware.shape")
    start, end = match.span("version")
    update = section.get("update", {})
    return {
        "firmware": _string(section["required"][0]),
        "firmware_format": _string(section["example"][:start] + "%s" + section["example"][end:]),
        "firmware_pending": _bool("(?P<flashed>" in section["shape"]),
        "flashable": _bool(update.get("tool") == "ethtool"),
        "activation": ACTIVATION[known(update.get("activation"), "reset")],
    }


def costs(sheet: Sheet) -> dict[str, str]:
    """The model's costs in the names of struct vcard_cost."""
    given = sheet["model"]["costs"]
    names = {"tx_checksum_byte_ps": "tx_csum_byte_ps", "rx_checksum_byte_ps": "rx_csum_byte_ps"}
    rows = {names.get(name, name): str(value) for name, value in given.items() if name != "source"}
    rows["rx_aggregate"] = str(RX_AGGREGATE)
    rows["scale"] = str(sheet["model"]["scale"])
    if conventional := sheet.get("conventional_pci"):
        rows["bus_mbps"] = str(int(conventional["width_bits"] * conventional["clock_mhz"] * BUS_EFFICIENCY))
    return rows


def channels(sheet: Sheet) -> dict[str, str]:
    """Queues: as many as the model has to start with, at most as many as the card has."""
    section = sheet.get("channels") or {}
    queues = sheet["model"]["queues"]
    top = max(queues, int(known((section.get("combined") or {}).get("max"), queues)))
    return {
        "max_channels": str(top),
        "channels": str(queues),
        "channels_shown": _bool("combined" in section),
        "channels_settable": _bool("combined" in section and section.get("settable") is True),
    }


def largest_mtu(sheet: Sheet) -> int:
    """The largest MTU; frames of it fit into the buffers of the virtual wire."""
    largest = int(sheet["mtu"]["max"])
    if largest > MTU_MAX:
        raise SheetError(f"{sheet['card']}: mtu.max {largest}: the virtual wire carries at most {MTU_MAX}")
    return largest


def pause(sheet: Sheet) -> dict[str, str]:
    section = sheet.get("pause")
    if section and all(known(section[name], None) is None for name in ("autoneg", "rx", "tx")):
        section = None
    if not section:
        return {"pause_known": "false"}
    return {
        "pause_known": "true",
        "pause_settable": _bool(section["settable"]),
        "pause_autoneg": _bool(known(section["autoneg"], False)),
        "pause_rx": _bool(known(section["rx"], False)),
        "pause_tx": _bool(known(section["tx"], False)),
    }


def model(sheet: Sheet) -> dict[str, str]:
    """One row of the table: field of struct vcard_model -> C."""
    identity, constants = sheet["identity"], sheet["model"]
    subvendor, subdevice = constants["subsystem"].split(":")
    bars = [*constants["bar_bytes"], 0, 0][:3]
    one = identity["port_layout"] == "one-function"
    return {
        "name": _string(sheet["card"]),
        "driver": _string(sheet["drivers"]["linux"]["module"]),
        "part_number": _string(identity.get("vpd", {}).get("part_number", sheet["card"].partition("-")[2].upper())),
        "product": _string(sheet["description"].split(",")[0]),
        "vendor": f"0x{identity['vendor_id']}",
        "device": f"0x{identity['device_id']}",
        "subvendor": f"0x{subvendor}",
        "subdevice": f"0x{subdevice}",
        "class": f"0x{identity['pci_class']}",
        "revision": str(constants["revision"]),
        "ports": str(identity["ports_per_card"]),
        "functions": "1" if one else str(identity["ports_per_card"]),
        "vectors": str(constants["msix_vectors"]),
        "mbps": str(sheet["link"]["speed_mbps"]),
        "autoneg": _bool(known(sheet["link"]["autoneg"], False)),
        "copper": _bool(sheet["link"].get("media") == ["twisted-pair"]),
        "mtu_min": str(known(sheet["mtu"]["min"], MTU_MIN)),
        "mtu_max": str(largest_mtu(sheet)),
        "groups": GROUPS[sheet.get("filters", {}).get("multicast", "none")],
        "flash_ms": str(constants["flash_ms"]),
        "bar": "{ " + ", ".join(map(str, bars)) + " }",
        **bus(sheet),
        **firmware(sheet),
        **rings(sheet),
        **coalescing(sheet),
        **pause(sheet),
        **channels(sheet),
        **features(sheet),
        "cost": "{ " + ", ".join(f".{name} = {value}" for name, value in costs(sheet).items()) + " }",
    }


def table(found: list[Sheet]) -> str:
    """The text of ``models.h``."""
    rows = []
    for sheet in found:
        try:
            fields = model(sheet)
        except (KeyError, TypeError) as error:
            raise SheetError(f"{sheet.get('card')}: no {error}, which the model needs") from error
        rows.append("{\n" + "".join(f"\t.{name} = {value},\n" for name, value in fields.items()) + "},\n")
    return "".join(rows)


def ids(found: list[Sheet], driver: str) -> str:
    """The text of ``<driver>_ids.h``: the PCI functions the driver is for."""
    pairs = {
        (sheet["identity"]["vendor_id"], sheet["identity"]["device_id"])
        for sheet in found
        if sheet["drivers"]["linux"]["module"] == driver
    }
    return "".join(f"\t{{ PCI_DEVICE(0x{vendor}, 0x{device}) }},\n" for vendor, device in sorted(pairs))


def write(cards: Path, output: Path) -> None:
    """Write all generated headers.

    :raises SheetError: naming the sheet and what is wrong in it.
    """
    found = sheets(cards)
    output.mkdir(parents=True, exist_ok=True)
    (output / "models.h").write_text(table(found))
    for driver in DRIVERS:
        (output / f"{driver}_ids.h").write_text(ids(found, driver))


def _string(text: str) -> str:
    return json.dumps(text)


def _bool(value: object) -> str:
    return "true" if value else "false"


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]), Path(sys.argv[2]))
    except SheetError as error:
        sys.exit(f"models.py: {error}")
