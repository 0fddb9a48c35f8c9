"""Bring a bench up: the card in its servers, their operating systems, their power; each with its undo."""

from __future__ import annotations

import time
from collections.abc import Callable

from niclab.bench.bench_commands import Controller, in_words
from niclab.bench.records import Bench, Role
from niclab.core.marks import MarkKind
from niclab.core.undo import Action, ActionKind, Journal
from niclab.run.run_notes import RunNotes

BOTH = "dut and peer"
"""Subject of the boot that the bench's own commands make."""


def bring_up(bench: Bench, card: str, journal: Journal, controller: Controller, notes: RunNotes) -> None:
    """Insert the card and boot the systems where the bench has commands for it, and start a bench that is down.

    Args:
        bench: The bench, with the operating systems that its servers are to have.
        card: Name of the card sheet.
        journal: Takes the undo of every change before it is made.
        controller: Runs the commands.
        notes: Take how long the bench boots.

    Raises:
        BenchFault: A command of the bench fails.
    """
    commands = bench.commands
    if commands is None:
        return
    if commands.inserted is not None:
        wanted = dict.fromkeys((role.value for role in Role), card)
        news = f"gets {card}"
        _change(bench, journal, controller, notes, commands.inserted, commands.insert_command, wanted, news)
    if commands.systems is not None:
        wanted = {role.value: bench.server(role).boots for role in Role}
        news = f"boots {in_words(wanted)}"
        _change(bench, journal, controller, notes, commands.systems, commands.boot_command, wanted, news)
    begun = time.monotonic()
    if start(bench, journal, controller):
        notes.mark(MarkKind.BOOT, BOTH, time.monotonic() - begun)


def start(bench: Bench, journal: Journal, controller: Controller) -> bool:
    """Start a bench that is down, for a run or for what is to be undone on its servers.

    Args:
        bench: The bench.
        journal: Takes the undo, unless it has one that puts the bench down.
        controller: Runs the commands.

    Returns:
        Whether it was down.

    Raises:
        BenchFault: A command of the bench fails.
    """
    commands = bench.commands
    if commands is None or controller.run(commands.status).returncode == 0:
        return False
    undo = Action(ActionKind.LOCAL, "controller", commands.down)
    if all(entry.action != undo for entry in journal.pending()):
        journal.register("bench", f"{bench.name} was down and is brought up", undo)
    controller.check(commands.up)
    return True


def stops_servers(bench: Bench, action: Action) -> bool:
    """Return whether an undo action of :func:`bring_up`, or of a server that was off, switches servers off.

    Args:
        bench: The bench.
        action: The undo action.
    """
    if action.kind is ActionKind.POWER:
        return action.command == "off"
    commands = bench.commands
    if commands is None or action.kind is not ActionKind.LOCAL:
        return False
    changing = [text.partition("{")[0] for text in (commands.insert, commands.boot_systems) if text is not None]
    return any(action.command.startswith(text) for text in changing) or action.command == commands.down


def _change(
    bench: Bench,
    journal: Journal,
    controller: Controller,
    notes: RunNotes,
    showing: str,
    changing: Callable[[dict[str, str]], str | None],
    wanted: dict[str, str],
    news: str,
) -> None:
    """Give the servers what is ``wanted`` (role -> name), by the bench's commands that show and change it."""
    found = controller.names_in_servers(showing)
    back, there = changing(found), changing(wanted)
    if found == wanted or back is None or there is None:
        return
    what = f"{bench.name} had {in_words(found)} and {news}"
    journal.register("bench", what, Action(ActionKind.LOCAL, "controller", back))
    with notes.timed(MarkKind.BOOT, BOTH):
        controller.check(there)
