"""What the virtual bench takes from a card sheet (``lab/cards/NAME.yaml``): the only place where facts of a card stand.

``intel-82574l`` is QEMU's own e1000e; every other card is a virtual card (``lab/virtual/card``) of the model its sheet
describes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from nvram import Place

SHEETS = Path(__file__).resolve().parents[1] / "cards"
QEMU_CARD = "intel-82574l"
PORTS = 2  # a bench connects two ports of each server
FIRST_BUS = 0x81
WORDS: Mapping[type, str] = {int: "a whole number above 0", str: "a text", list: "a list", dict: "a section"}
T = TypeVar("T", int, str, list[Any], dict[str, Any])


class SheetError(Exception):
    """There is no such sheet, or it lacks what the virtual bench needs."""


@dataclass(frozen=True)
class Card:
    """A card as the bench puts it into a server.

    :ivar name: name of its sheet.
    :ivar line_rate_mbps: nominal rate of a port in Mbit/s.
    :ivar rate_scale: it runs at line rate / ``rate_scale``.
    :ivar pci: address of each port's PCI function; two ports of one function have the same.
    :ivar mac_prefix: first three bytes of its MAC addresses, those of the vendor.
    :ivar places: slot and number on the card of each port; a card of one port is there twice.
    """

    name: str
    line_rate_mbps: float
    rate_scale: int
    pci: tuple[str, ...]
    mac_prefix: str
    places: tuple[Place, ...] = (Place(0, 0), Place(0, 1))

    @property
    def virtual(self) -> bool:
        """Is it a virtual card, and not one of QEMU's?"""
        return self.name != QEMU_CARD


# cables run at line rate / 20: 50 Mbit/s, which an emulated processor carries with ease
INTEL_82574L = Card(QEMU_CARD, 1000.0, 20, ("0000:01:00.0", "0000:02:00.0"), "00:1b:21")


def names() -> list[str]:
    """Every card there is a sheet of."""
    return sorted(path.stem for path in SHEETS.glob("*.yaml"))


def read(name: str) -> Mapping[str, Any]:
    """The sheet of that name as YAML has it.

    :raises SheetError: when there is none, or it cannot be read.
    """
    file = SHEETS / f"{name}.yaml"
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name) or not file.exists():
        raise SheetError(f"no card {name!r}; there are {', '.join(names())}")
    return _parsed(file, file.read_text())


@cache
def _parsed(file: Path, text: str) -> Mapping[str, Any]:
    """A sheet is parsed once; its fields are asked for one by one."""
    try:
        sheet = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SheetError(f"{file}: not YAML: {error}") from error
    if not isinstance(sheet, dict):
        raise SheetError(f"{file}: {type(sheet).__name__}, wanted a card sheet")
    return sheet


def card(name: str) -> Card:
    """The card of that name.

    :raises SheetError: when there is no such sheet, or a field that the bench needs is missing or wrong.
    """
    if name == QEMU_CARD:
        return INTEL_82574L
    sheet = read(name)
    ports = field(sheet, name, "identity.ports_per_card", int)
    places = tuple(Place(number // ports, number % ports) for number in range(PORTS))
    one_function = field(sheet, name, "identity.port_layout", str, "function-per-port") == "one-function"
    return Card(
        name=name,
        line_rate_mbps=float(field(sheet, name, "link.speed_mbps", int)),
        rate_scale=field(sheet, name, "model.scale", int),
        pci=tuple(_address(place, 0 if one_function else place.port) for place in places),
        mac_prefix=str(field(sheet, name, "identity.mac_ouis", list)[0]).lower(),
        places=places,
    )


def field(sheet: Mapping[str, Any], name: str, path: str, kind: type[T], default: T | None = None) -> T:
    """The value at ``path``, a name of each level, dots between them.

    :raises SheetError: when it is missing and has no default, or is no ``kind`` (or an empty one).
    """
    value: Any = sheet
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if value is None and default is not None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool) or not value:
        shown = "missing" if value is None else repr(value)
        raise SheetError(f"{SHEETS / name}.yaml: {path}: {shown}, the virtual bench wants {WORDS[kind]}")
    return value


def _address(place: Place, function: int) -> str:
    """PCI address of a function, where ``card/README.md`` says that the slots are."""
    return f"0000:{FIRST_BUS + place.slot:02x}:00.{function}"
