"""What a card of the virtual bench is: its model, ``models/NAME.yaml``. No card sheet is read for it.

``intel-82574l`` is QEMU's own e1000e; every other card is a virtual card (``lab/virtual/card``) of its model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from nvram import Place

MODELS = Path(__file__).resolve().parent / "models"
QEMU_CARD = "intel-82574l"
QEMU_PCI = ("0000:01:00.0", "0000:02:00.0")
PORTS = 2  # a bench connects two ports of each server
FIRST_BUS = 0x81
WORDS: Mapping[type, str] = {int: "a whole number above 0", str: "a text", list: "a list", dict: "a section"}
T = TypeVar("T", int, str, list[Any], dict[str, Any])


class ModelError(Exception):
    """There is no such model, or it lacks what the virtual bench needs."""


@dataclass(frozen=True)
class Card:
    """A card as the bench puts it into a server.

    :ivar name: name of its model, and of its sheet.
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


def names() -> list[str]:
    """Every card there is a model of."""
    return sorted(path.stem for path in MODELS.glob("*.yaml"))


def read(name: str) -> Mapping[str, Any]:
    """The model of that name as YAML has it.

    :raises ModelError: when there is none, or it cannot be read.
    """
    file = MODELS / f"{name}.yaml"
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name) or not file.exists():
        raise ModelError(f"no card {name!r}; there are {', '.join(names())}")
    try:
        model = yaml.safe_load(file.read_text())
    except yaml.YAMLError as error:
        raise ModelError(f"{file}: not YAML: {error}") from error
    if not isinstance(model, dict):
        raise ModelError(f"{file}: {type(model).__name__}, wanted a model")
    return model


def card(name: str) -> Card:
    """The card of that name.

    :raises ModelError: when there is no such model, or a field that the bench needs is missing or wrong.
    """
    model = read(name)
    ports = field(model, name, "ports", int)
    places = tuple(Place(number // ports, number % ports) for number in range(PORTS))
    shared = field(model, name, "pci.functions", int) < ports
    own = tuple(_address(place, 0 if shared else place.port) for place in places)
    qemu = name == QEMU_CARD
    return Card(
        name=name,
        line_rate_mbps=float(field(model, name, "link.mbps", int)),
        rate_scale=field(model, name, "scale", int),
        pci=QEMU_PCI if qemu else own,
        mac_prefix=field(model, name, "mac_prefix", str).lower(),
        places=(Place(0, 0), Place(0, 1)) if qemu else places,
    )


def field(model: Mapping[str, Any], name: str, path: str, kind: type[T], default: T | None = None) -> T:
    """The value at ``path``, a name of each level, dots between them.

    :raises ModelError: when it is missing and has no default, or is no ``kind`` (or an empty one).
    """
    value: Any = model
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if value is None and default is not None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool) or not value:
        shown = "missing" if value is None else repr(value)
        raise ModelError(f"{name}.yaml: {path}: {shown}, the virtual bench wants {WORDS[kind]}")
    return value


def _address(place: Place, function: int) -> str:
    """PCI address of a function, where ``card/README.md`` says that the slots are."""
    return f"0000:{FIRST_BUS + place.slot:02x}:00.{function}"
