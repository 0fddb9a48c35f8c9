"""The products of a card's vendor, from its sheet (``lab/cards/NAME.yaml``): versions of packages and firmware.

The vendor's repository has what a sheet asks for, and something older and newer. What a card *is* is in its model
(:mod:`cardmodel`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import cardmodel

SHEETS = Path(__file__).resolve().parents[1] / "cards"


class SheetError(Exception):
    """There is no such sheet, or it cannot be read."""


def read(name: str) -> Mapping[str, Any]:
    """The sheet of that name as YAML has it; of a card without one, an empty one.

    Raises:
        SheetError: When it cannot be read.
    """
    file = SHEETS / f"{name}.yaml"
    return _parsed(file, file.read_text()) if file.exists() else {}


@cache
def _parsed(file: Path, text: str) -> Mapping[str, Any]:
    """A sheet is parsed once; its fields are asked for one by one."""
    try:
        sheet = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SheetError(f"{file}: not YAML: {error}") from error
    if not isinstance(sheet, dict):
        raise SheetError(f"{file}: {type(sheet).__name__}; expected a card sheet")
    return sheet


def package(name: str, system: str) -> Mapping[str, Any]:
    """The vendor's driver package for an operating system; empty where its sheet names none."""
    drivers = read(name).get("drivers") or {}
    found: Mapping[str, Any] = (drivers.get(system) or {}).get("package") or {}
    return found


def update(name: str) -> Mapping[str, Any]:
    """Return the firmware update, with the images; empty where the sheet names none."""
    found: Mapping[str, Any] = (read(name).get("firmware") or {}).get("update") or {}
    return found


def driver(name: str) -> str:
    """The Linux driver of a card, by its model."""
    return cardmodel.field(cardmodel.read(name), name, "driver", str)
