"""Which card is in which server: the bench remembers it, over power cycles and over ``down`` and ``up``."""

from __future__ import annotations

import json
from collections.abc import Mapping

import cardsheet
import layout
from cardsheet import Card
from layout import DEFAULT_NAME, ROLES, Bench


class SlotError(Exception):
    """Cards that cannot work together, or a memory of the bench that is damaged."""


def bench(name: str = DEFAULT_NAME) -> Bench:
    """The layout of the bench with the cards it remembers; both are 82574L of QEMU's when it remembers none.

    :raises SlotError: when its memory is damaged.
    :raises SheetError: when a card's sheet is gone.
    """
    file = layout.bench(name).folder / "cards.json"
    try:
        text = file.read_text()
    except FileNotFoundError:
        return layout.bench(name)
    try:
        names = json.loads(text)
    except ValueError as error:
        raise SlotError(f"{file}: not JSON: {error}") from error
    if not isinstance(names, dict) or sorted(names) != sorted(ROLES):
        raise SlotError(f"{file}: {text[:80]!r}, wanted the names of the cards of {' and '.join(ROLES)}")
    return layout.bench(name, {role: cardsheet.card(str(names[role])) for role in ROLES})


def exchanged(before: Bench, names: Mapping[str, str]) -> Bench:
    """The layout of the bench ``before`` with other cards: ``names`` has the new one of each role that changes.

    :raises SheetError: when there is no sheet of that name.
    :raises SlotError: when the two cards cannot be connected.
    """
    cards = {server.role: server.card for server in before.servers}
    cards |= {role: cardsheet.card(name) for role, name in names.items()}
    check_pair(cards["dut"], cards["peer"])
    return layout.bench(before.name, cards)


def check_pair(dut: Card, peer: Card) -> None:
    """Can cables connect the two cards?

    :raises SlotError: when not.
    """
    if dut.virtual != peer.virtual:
        raise SlotError(
            f"{dut.name} and {peer.name} cannot be connected: {cardsheet.QEMU_CARD} links with its like alone"
        )
    if dut.line_rate_mbps != peer.line_rate_mbps:
        raise SlotError(
            f"{dut.name} ({dut.line_rate_mbps:g} Mbit/s) and {peer.name} ({peer.line_rate_mbps:g} Mbit/s) "
            "cannot be connected: no speed is common to both"
        )


def remember(bench: Bench) -> None:
    """Keep the cards of ``bench``, in one step: whoever looks sees the old or the new ones."""
    file = bench.folder / "cards.json"
    draft = file.with_suffix(".new")
    draft.write_text(json.dumps({server.role: server.card.name for server in bench.servers}))
    draft.replace(file)
