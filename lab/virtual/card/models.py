"""Turns the models of the virtual cards into C: ``python3 models.py lab/virtual/models OUTPUT``.

A model (``lab/virtual/models/NAME.yaml``, see README.md there) says what a virtual card is; this program knows how that
is said in the tables the kernel modules are built with. Needs PyYAML; knows nothing of the lab's own code, and no card
sheet.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

DRIVERS = ("be2net", "cxgb4", "bnx2x", "ixgbe", "sfc_siena", "acenic")
MTU_MAX = 10000  # fits into BUFFER_BYTES of silicon/wire.c
RING_MIN, RING_WHERE_NONE = 32, 512  # house figures, where a driver shows none
RX_AGGREGATE = 16  # house figure: frames merged into one packet
BUS_EFFICIENCY = 0.75  # house figure: arbitration and addresses of a conventional bus
COALESCING = {  # behind ETHTOOL_COALESCE_: field of struct ethtool_coalesce
    "RX_USECS": "rx_coalesce_usecs",
    "RX_USECS_IRQ": "rx_coalesce_usecs_irq",
    "RX_USECS_LOW": "rx_coalesce_usecs_low",
    "RX_USECS_HIGH": "rx_coalesce_usecs_high",
    "RX_MAX_FRAMES": "rx_max_coalesced_frames",
    "TX_USECS": "tx_coalesce_usecs",
    "TX_USECS_IRQ": "tx_coalesce_usecs_irq",
    "TX_USECS_LOW": "tx_coalesce_usecs_low",
    "TX_USECS_HIGH": "tx_coalesce_usecs_high",
    "TX_MAX_FRAMES": "tx_max_coalesced_frames",
    "USE_ADAPTIVE_RX": "use_adaptive_rx_coalesce",
    "USE_ADAPTIVE_TX": "use_adaptive_tx_coalesce",
}
VECTORS = {None: "OF_ONE_WAY", "refuse-sending": "REFUSE_SENDING", "sending-follows": "SENDING_FOLLOWS"}
GROUPS = {"exact": "VCARD_GROUPS_EXACT", "hash": "VCARD_GROUPS_HASH", "none": "VCARD_GROUPS_ALL"}
ACTIVATION = {"driver-reload": "VCARD_AT_LOAD", "reset": "VCARD_AT_RESET", "power-cycle": "VCARD_AT_POWER"}

OPTICS = {"temperature_c": 256, "supply_mv": 10, "bias_ua": 0.5, "sent_uw": 10, "received_uw": 10}
"""Readings of a module, in the order of enum vcard_reading: how many of the module's units are one of the model's."""
FORMS = {"sfp": "VCARD_SFP", "qsfp": "VCARD_QSFP"}
LEVELS = 5  # low alarm, low warning, usual, high warning, high alarm

Model = dict[str, Any]


class ModelError(Exception):
    """A model lacks what the tables need, or says it in a word this program does not know."""


def read(folder: Path) -> list[Model]:
    """The models of the cards that are virtual: those whose driver has a stand-in."""
    found = [yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml"))]
    return [model for model in found if model["driver"] in DRIVERS]


def features(model: Model) -> dict[str, str]:
    """Features as masks: what can be changed, what is on as delivered, what is on for ever, what needs checksums."""
    section = model["features"]
    hw, on = set(section["hw"]), set(section["enabled"])
    masks = {"changeable": hw, "on": hw & on, "fixed": on - hw, "need_rxcsum": set(section.get("need_rxcsum", []))}
    return {name: " | ".join(f"NETIF_F_{bit}" for bit in sorted(bits)) or "0" for name, bits in masks.items()}


def rings(model: Model) -> dict[str, str]:
    """Rings; a card whose driver shows none gets rings that nobody is shown."""
    section = model.get("rings")
    result = {
        "rings_shown": _bool(section),
        "rings_settable": _bool(section and (section["settable"] or section.get("busy_once_up"))),
        "rings_busy_once_up": _bool(section and section.get("busy_once_up")),
    }
    if section is None:
        return result | dict.fromkeys(("rx", "tx"), f"{{ 0, 0, {RING_WHERE_NONE} }}")
    for name in ("rx", "tx", "rx_mini", "rx_jumbo"):
        if ring := section.get(name):
            low = ring.get("min", min(RING_MIN, ring["max"]))
            result[name] = f"{{ {low}, {ring['max']}, {ring['initial']} }}"
    result["rx_shared"] = _bool(section["rx"].get("shared"))
    return result


def coalescing(model: Model) -> dict[str, str]:
    """Parameters of ``ethtool -C``: which there are, which are taken and ignored, and what they start with."""
    section = model.get("coalescing") or {"values": {}}
    values = [f".{_known(model, COALESCING, name)} = {value}" for name, value in section["values"].items()]
    return {
        "coalesce_params": " | ".join(f"ETHTOOL_COALESCE_{name}" for name in section["values"]) or "0",
        "coalesce_fixed": " | ".join(f"ETHTOOL_COALESCE_{name}" for name in section.get("ignored", [])) or "0",
        "coalesce": "{ " + ", ".join(values or [".cmd = 0"]) + " }",
        "coalesce_vectors": f"VCARD_VECTORS_{_known(model, VECTORS, section.get('vectors'))}",
        "max_usecs": str(section.get("max_usecs", 0)),
    }


def firmware(model: Model) -> dict[str, str]:
    """The version as delivered, and the words a driver prints around it."""
    section = model["firmware"]
    return {
        "firmware": _string(section["delivered"]),
        "firmware_format": _string(section["format"]),
        "firmware_pending": _bool(section["shows_pending"]),
        "flashable": _bool(section["flashable"]),
        "activation": _known(model, ACTIVATION, section["activation"]),
        "flash_ms": str(section["flash_ms"]),
    }


def looks(model: Model) -> dict[str, str]:
    """Looks that the driver offers: bytes of its EEPROM and of its dump of registers, a light, and a clock."""
    section = model["looks"]
    return {
        "eeprom_bytes": str(section.get("eeprom_bytes", 0)),
        "register_bytes": str(section.get("register_bytes", 0)),
        "identify": _bool(section["identify"]),
        "clock_max_ppb": str(section.get("clock_max_ppb", 0)),
    }


def costs(model: Model) -> dict[str, str]:
    """The model's costs in the names of struct vcard_cost."""
    rows = {name: str(value) for name, value in model["costs"].items()}
    rows["rx_aggregate"] = str(RX_AGGREGATE)
    rows["scale"] = str(model["scale"])
    if "width_bits" in model["pci"]:
        rows["bus_mbps"] = str(int(model["pci"]["width_bits"] * model["pci"]["clock_mhz"] * BUS_EFFICIENCY))
    return rows


def channels(model: Model) -> dict[str, str]:
    """Queues: as many as the model has to start with, at most as many as the card has."""
    section = model["channels"]
    return {
        "max_channels": str(section["max"]),
        "channels": str(section["initial"]),
        "rules": str(section.get("rules", 0)),
        "channels_shown": _bool(section.get("shown", True)),
        "channels_settable": _bool(section["settable"]),
    }


def largest_mtu(model: Model) -> int:
    """The largest MTU; frames of it fit into the buffers of the virtual wire."""
    largest = int(model["mtu"]["max"])
    if largest > MTU_MAX:
        raise ModelError(f"{model['name']}: mtu.max {largest}: the virtual wire carries at most {MTU_MAX}")
    return largest


def pause(model: Model) -> dict[str, str]:
    section = model.get("pause")
    if not section:
        return {"pause_known": "false"}
    switches = {name: section.get(name, False) for name in ("settable", "autoneg", "rx", "tx", "tx_needs_rx")}
    known = {"pause_known": "true", "rx_buffer": str(section.get("buffer_bytes", 0))}
    return known | {f"pause_{name}": _bool(value) for name, value in switches.items()}


def optics(model: Model) -> str:
    """The module in a cage, in the module's own units; a card without a section has no cage."""
    section = model.get("optics")
    if not section:
        return "{ VCARD_NO_CAGE }"
    readings = []
    for name, units in OPTICS.items():
        levels = [round(level * units) for level in section[name]]
        if len(levels) != LEVELS or levels != sorted(levels):
            raise ModelError(
                f"{model['name']}: optics.{name}: {section[name]}; expected {LEVELS} numbers, the lowest first"
            )
        readings.append("{ " + ", ".join(f"(u16){level}" for level in levels) + " }")
    return f"{{ {_known(model, FORMS, section['form'])}, {{ {', '.join(readings)} }} }}"


def row(model: Model) -> dict[str, str]:
    """One row of the table: field of struct vcard_model -> C."""
    pci = model["pci"]
    subvendor, subdevice = pci["subsystem"].split(":")
    return {
        "name": _string(model["name"]),
        "driver": _string(model["driver"]),
        "part_number": _string(model["part_number"]),
        "product": _string(model["product"]),
        "vendor": f"0x{pci['vendor']}",
        "device": f"0x{pci['device']}",
        "subvendor": f"0x{subvendor}",
        "subdevice": f"0x{subdevice}",
        "class": f"0x{pci['class']}",
        "revision": str(pci["revision"]),
        "ports": str(model["ports"]),
        "functions": str(pci["functions"]),
        "gen": str(pci.get("gen", 0)),
        "width": str(pci.get("width", 0)),
        "vectors": str(model["msix_vectors"]),
        "mbps": str(model["link"]["mbps"]),
        "autoneg": _bool(model["link"]["autoneg"]),
        "copper": _bool(model["link"]["copper"]),
        "optics": optics(model),
        "mtu_min": str(model["mtu"]["min"]),
        "mtu_max": str(largest_mtu(model)),
        "groups": _known(model, GROUPS, model["groups"]),
        "bar": "{ " + ", ".join(map(str, [*model["bar_bytes"], 0, 0][:3])) + " }",
        **firmware(model),
        **looks(model),
        **rings(model),
        **coalescing(model),
        **pause(model),
        **channels(model),
        **features(model),
        "cost": "{ " + ", ".join(f".{name} = {value}" for name, value in costs(model).items()) + " }",
    }


def table(found: list[Model]) -> str:
    """The text of ``models.h``."""
    rows = []
    for model in found:
        try:
            fields = row(model)
        except (KeyError, TypeError) as error:
            raise ModelError(f"{model.get('name')}: no {error}, which the tables need") from error
        rows.append("{\n" + "".join(f"\t.{name} = {value},\n" for name, value in fields.items()) + "},\n")
    return "".join(rows)


def ids(found: list[Model], driver: str) -> str:
    """The text of ``<driver>_ids.h``: the PCI functions the driver is for."""
    pairs = {(model["pci"]["vendor"], model["pci"]["device"]) for model in found if model["driver"] == driver}
    return "".join(f"\t{{ PCI_DEVICE(0x{vendor}, 0x{device}) }},\n" for vendor, device in sorted(pairs))


def write(folder: Path, output: Path) -> None:
    """Write all generated headers.

    Raises:
        ModelError: Naming the model and what is wrong in it.
    """
    found = read(folder)
    output.mkdir(parents=True, exist_ok=True)
    (output / "models.h").write_text(table(found))
    for driver in DRIVERS:
        (output / f"{driver}_ids.h").write_text(ids(found, driver))


def _known(model: Model, words: dict[Any, str], word: str | None) -> str:
    if word not in words:
        raise ModelError(f"{model['name']}: {word!r}; expected one of {', '.join(str(one) for one in words if one)}")
    return words[word]


def _string(text: str) -> str:
    return json.dumps(text)


def _bool(value: object) -> str:
    return "true" if value else "false"


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]), Path(sys.argv[2]))
    except ModelError as error:
        sys.exit(f"models.py: {error}")
