"""Reading a card sheet."""

from __future__ import annotations

from pathlib import Path

from niclab.card.sheet import Card
from niclab.card.sheet_checks import sheet_problems
from niclab.core.verdict import BenchFault
from niclab.files.document import shown_file
from niclab.files.repository import REPOSITORY
from niclab.files.yaml import load

CARDS = REPOSITORY / "lab" / "cards"


def load_card(path_or_name: Path | str) -> Card:
    """Read a card sheet.

    Args:
        path_or_name: A path, or the bare name of a sheet in ``lab/cards``.

    Raises:
        BenchFault: With every problem of the file, one a line; for an unknown name, with the known ones.
    """
    text = str(path_or_name)
    if isinstance(path_or_name, Path) or "/" in text or text.endswith((".yaml", ".yml")):
        return load(Path(path_or_name), Card, sheet_problems)
    file = CARDS / f"{text}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(sheet.stem for sheet in CARDS.glob("*.yaml"))) or "none"
        raise BenchFault(f"there is no card sheet {text!r} in {shown_file(CARDS)}; expected one of: {known}")
    return load(file, Card, sheet_problems)
