"""The cards in the servers: the bench remembers them, over power cycles and over ``down`` and ``up``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import cardmodel
import layout
from cardmodel import Card
from layout import DEFAULT_NAME, ROLES, SYSTEMS, Bench
from wholefile import write_whole


class SlotError(Exception):
    """Cards that cannot work together, or a memory of the bench that is damaged."""


def bench(name: str = DEFAULT_NAME) -> Bench:
    """The layout of the bench with the cards it remembers; both are 82574L of QEMU's when it remembers none.

    Raises:
        SlotError: When its memory is damaged.
        ModelError: When a card's model is gone.
    """
    file = layout.bench(name).folder / "cards.json"
    names = _remembered(file, "names of the cards")
    systems = _remembered(file.with_name("systems.json"), "operating systems")
    if systems is not None and not set(systems.values()) <= set(SYSTEMS):
        raise SlotError(f"{file.with_name('systems.json')}: {systems}; expected {' or '.join(SYSTEMS)}")
    cards = {role: cardmodel.card(names[role]) for role in ROLES} if names is not None else None
    return layout.bench(name, cards, systems)


def _remembered(file: Path, what: str) -> dict[str, str] | None:
    """Return what the file remembers of each role; None when it remembers nothing.

    Raises:
        SlotError: When the file is damaged.
    """
    try:
        text = file.read_text()
    except FileNotFoundError:
        return None
    try:
        found = json.loads(text)
    except ValueError as error:
        raise SlotError(f"{file}: not JSON: {error}") from error
    if not isinstance(found, dict) or sorted(found) != sorted(ROLES):
        raise SlotError(f"{file}: {text[:80]!r}; expected the {what} of {' and '.join(ROLES)}")
    return {role: str(value) for role, value in found.items()}


def exchanged(before: Bench, names: Mapping[str, str], systems: Mapping[str, str] | None = None) -> Bench:
    """The layout of the bench ``before`` with other cards: ``names`` has the new one of each role that changes.

    Args:
        systems: The new operating system of each role that changes.

    Raises:
        ModelError: When there is no model of that name.
        SlotError: When the two cards cannot be connected.
    """
    cards = {server.role: server.card for server in before.servers}
    cards |= {role: cardmodel.card(name) for role, name in names.items()}
    check_pair(cards["dut"], cards["peer"])
    after = {server.role: server.system for server in before.servers} | dict(systems or {})
    return layout.bench(before.name, cards, after)


def check_pair(dut: Card, peer: Card) -> None:
    """Can cables connect the two cards?

    Raises:
        SlotError: When not.
    """
    if dut.virtual != peer.virtual:
        raise SlotError(
            f"{dut.name} and {peer.name} cannot be connected: a card of QEMU's does not link with a virtual card"
        )
    if dut.line_rate_mbps != peer.line_rate_mbps:
        raise SlotError(
            f"{dut.name} ({dut.line_rate_mbps:g} Mbit/s) and {peer.name} ({peer.line_rate_mbps:g} Mbit/s) "
            "cannot be connected: no speed is common to both"
        )


def remember(bench: Bench) -> None:
    """Keep cards and systems of ``bench``, each in one step: whoever looks sees the old or the new ones."""
    for name, values in (
        ("cards.json", {server.role: server.card.name for server in bench.servers}),
        ("systems.json", {server.role: server.system for server in bench.servers}),
    ):
        write_whole(bench.folder / name, json.dumps(values))
