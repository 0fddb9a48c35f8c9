"""Taking over the changes that the run of another controller has left on a bench, by the copies on its servers.

The journal of this controller knows all of its own runs: an old copy of one on a disk is no news. Any copy is text from
a server. A command for a server is taken only from the copy on that very server, a command for the controller only when
the bench file has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from niclab.bench.records import Bench, Role
from niclab.core.undo import Action, ActionKind, Entry, Journal
from niclab.core.undo_state import SLOW_DEADLINE_S
from niclab.report import write_atomically
from niclab.run.acquiring.server_copy import Copied

UNKNOWN = "not known here"
"""The undo of changes that no copy shows."""
_WORDS = re.compile(r"[\w. -]*")


def adopt(journal: Journal, bench: Bench, copies: Mapping[Role, Copied]) -> None:
    """Make the changes of other journals pending in this one, and keep the state before their run.

    A change that cannot be undone from here is pending as well, without an action, until it is forgotten, or adopted
    from the copy of its own server.

    Args:
        journal: The journal that the run holds.
        bench: The bench.
        copies: The copy of each server that has one.
    """
    others = {role: copy for role, copy in copies.items() if not _is_own_copy(copy, journal)}
    settled = {id for copy in others.values() for id in copy.journal.settled}
    waiting = {entry.id: entry for entry in journal.pending() if entry.is_elsewhere}
    found, left = dict[str, Entry](), dict[str, Entry]()
    for role, copy in others.items():
        if copy.problem:
            what = _plain(f"its copy of a journal cannot be read ({copy.problem})")
            journal.register(role.value, what, elsewhere(UNKNOWN, copy))
        for entry in copy.journal.pending.values():
            if entry.id in settled or (journal.knows(entry.id) and entry.id not in waiting):
                continue
            action = _action(entry.action, role, copy, bench)
            if action is not None and _is_plain(entry):
                if not entry.is_elsewhere or entry.id not in found:  # another copy may have it with its action
                    found[entry.id] = replace(entry, action=action, errors=())
            elif entry.id not in waiting:
                left.setdefault(entry.id, _without_action(entry, copy))
    for entry in waiting.values():
        if entry.id in settled:
            journal.done(entry)
    for entry in sorted({**left, **found}.values(), key=lambda entry: entry.at):
        journal.adopt(entry)
    _keep_state(journal, others.values())


def elsewhere(undo: str, copy: Copied | None = None) -> Action:
    """Return the action of a change that another controller has to undo.

    Args:
        undo: Its undo there, in words.
        copy: The copy that shows it; None where there is none.
    """
    place = "" if copy is None else f"it is in the journal of {copy.where}; "
    ways = "expected niclab restore to be run there, and here then: niclab restore --forget ID --reason TEXT"
    words = _plain(f"{undo}; it cannot be undone from here: {place}{ways}")
    return Action(ActionKind.ELSEWHERE, "elsewhere", words)


def _without_action(entry: Entry, copy: Copied) -> Entry:
    """The entry in plain words: a person reads them, and forgets it by its id."""
    id, subject, what, run, at = map(_plain, (entry.id, entry.subject, entry.what, entry.run, entry.at))
    return Entry(id, subject, what, elsewhere(str(entry.action), copy), run, entry.pid, at)


def _plain(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def _is_plain(entry: Entry) -> bool:
    texts = (entry.id, entry.subject, entry.what, entry.run, entry.at, entry.boot, entry.action.iface)
    is_said = not entry.is_elsewhere or entry.action.command.isprintable()
    return is_said and all(text.isprintable() for text in texts)


def _action(action: Action, role: Role, copy: Copied, bench: Bench) -> Action | None:
    """The action as this bench file has it; None where it may not or cannot be carried out from here."""
    if action.deadline_s > SLOW_DEADLINE_S:
        return None
    if action.kind is ActionKind.ELSEWHERE:
        return action
    if action.where == copy.role:  # the other bench file may have the servers the other way round
        return replace(action, where=role.value)
    if copy.role != role.value or copy.holder is None or copy.holder.bench != bench.name:
        return None
    if action.kind is ActionKind.SHELL or (action.kind is ActionKind.LOCAL and not _is_own(action.command, bench)):
        return None
    return action


def _is_own(command: str, bench: Bench) -> bool:
    """Is a command of the controller one of the bench file?"""
    commands, switch = bench.commands, bench.switch
    whole = [text for path in bench.paths for text in (path.pull, path.plug)]
    whole += [switch.connect, switch.disconnect] if switch else []
    whole += [commands.up, commands.down] if commands else []
    begun = [commands.insert, commands.boot_systems] if commands else []
    heads = [text.partition("{")[0] for text in begun if text]
    is_begun = any(command.startswith(head) and _WORDS.fullmatch(command.removeprefix(head)) for head in heads)
    return command in whole or is_begun


def _is_own_copy(copy: Copied, journal: Journal) -> bool:
    return copy.holder is not None and journal.is_own(copy.holder.token)


def _keep_state(journal: Journal, copies: Iterable[Copied]) -> None:
    """Keep the state before the run of another journal."""
    for copy in copies:
        if copy.state:
            write_atomically(journal.state_file, copy.state)
            return
