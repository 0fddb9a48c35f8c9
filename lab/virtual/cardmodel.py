"""The cards of the virtual bench, each by its model, ``models/NAME.yaml``. No card sheet is read for it.

A model with a section ``qemu`` is a card of QEMU's own; every other one is a virtual card (``lab/virtual/card``).
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
DEFAULT = "intel-82574l"
"""The card of a bench that is asked for no other."""
PORTS = 2  # a bench connects two ports of each server
FIRST_BUS = 0x81
FIRST_QEMU_BUS = 0x01
WORDS: Mapping[type, str] = {int: "a whole number above 0", str: "a text", list: "a list", dict: "a section"}
T = TypeVar("T", int, str, list[Any], dict[str, Any])


class ModelError(Exception):
    """There is no such model, or it lacks what the virtual bench needs."""


@dataclass(frozen=True)
class QemuCard:
    """A card of QEMU's own.

    Attributes:
        device: QEMU's model of a port.
        lanes: Of its PCI Express slot.
        processors: Of a server with it; a card with several queues uses one a processor.
        oldest: The oldest QEMU whose model can be used; any where there is none.
        always_lit: Its link stays while its interface is down, as that of a hypervisor's card does.
    """

    device: str
    lanes: int = 1
    processors: int = 1
    oldest: tuple[int, ...] = ()
    always_lit: bool = False


@dataclass(frozen=True)
class Card:
    """A card as the bench puts it into a server.

    Attributes:
        name: Name of its model, and of its sheet.
        line_rate_mbps: Nominal rate of a port in Mbit/s.
        rate_scale: It runs at line rate / ``rate_scale``.
        pci: Address of each port's PCI function; two ports of one function have the same.
        mac_prefix: First three bytes of its MAC addresses, those of the vendor.
        places: Slot and number on the card of each port; a card of one port is there twice.
        qemu: The card of QEMU's that it is; nothing for a virtual card.
    """

    name: str
    line_rate_mbps: float
    rate_scale: int
    pci: tuple[str, ...]
    mac_prefix: str
    places: tuple[Place, ...] = (Place(0, 0), Place(0, 1))
    qemu: QemuCard | None = None

    @property
    def virtual(self) -> bool:
        """Is it a virtual card, and not one of QEMU's?"""
        return self.qemu is None

    @property
    def keeps_light(self) -> bool:
        """Does it say by itself when its ports send light, so that nobody has to look?"""
        return self.qemu is None or self.qemu.always_lit

    @property
    def processors(self) -> int:
        """Processors of a server with it."""
        return self.qemu.processors if self.qemu else 1


def names() -> list[str]:
    """Every card there is a model of."""
    return sorted(path.stem for path in MODELS.glob("*.yaml"))


def virtual_names() -> list[str]:
    """Every virtual card there is a model of."""
    return [name for name in names() if card(name).virtual]


def read(name: str) -> Mapping[str, Any]:
    """The model of that name as YAML has it.

    Raises:
        ModelError: When there is none, or it cannot be read.
    """
    file = MODELS / f"{name}.yaml"
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name) or not file.exists():
        raise ModelError(f"no card {name!r}; there are {', '.join(names())}")
    try:
        model = yaml.safe_load(file.read_text())
    except yaml.YAMLError as error:
        raise ModelError(f"{file}: not YAML: {error}") from error
    if not isinstance(model, dict):
        raise ModelError(f"{file}: {type(model).__name__}; expected a model")
    return model


def card(name: str) -> Card:
    """The card of that name.

    Raises:
        ModelError: When there is no such model, or a field that the bench needs is missing or wrong.
    """
    model = read(name)
    ports = field(model, name, "ports", int)
    places = tuple(Place(number // ports, number % ports) for number in range(PORTS))
    shared = field(model, name, "pci.functions", int) < ports
    qemu = _qemu(model, name) if "qemu" in model else None
    first = FIRST_QEMU_BUS if qemu else FIRST_BUS
    return Card(
        name=name,
        line_rate_mbps=float(field(model, name, "link.mbps", int)),
        rate_scale=field(model, name, "scale", int),
        pci=tuple(_address(first, place, 0 if shared else place.port) for place in places),
        mac_prefix=field(model, name, "mac_prefix", str).lower(),
        places=(Place(0, 0), Place(0, 1)) if qemu else places,
        qemu=qemu,
    )


def _qemu(model: Mapping[str, Any], name: str) -> QemuCard:
    return QemuCard(
        device=field(model, name, "qemu.device", str),
        lanes=field(model, name, "qemu.lanes", int),
        processors=field(model, name, "qemu.processors", int),
        oldest=tuple(int(number) for number in (model["qemu"].get("oldest") or "").split(".") if number),
        always_lit=model["qemu"].get("always_lit") is True,
    )


def field(model: Mapping[str, Any], name: str, path: str, kind: type[T], default: T | None = None) -> T:
    """The value at ``path``, a name of each level, dots between them.

    Raises:
        ModelError: When it is missing and has no default, or is no ``kind`` (or an empty one).
    """
    value: Any = model
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if value is None and default is not None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool) or not value:
        shown = "missing" if value is None else repr(value)
        raise ModelError(f"{name}.yaml: {path}: {shown}; expected {WORDS[kind]}")
    return value


def _address(first_bus: int, place: Place, function: int) -> str:
    """PCI address of a function; those of virtual cards are where ``card/README.md`` says that the slots are."""
    return f"0000:{first_bus + place.slot:02x}:00.{function}"
