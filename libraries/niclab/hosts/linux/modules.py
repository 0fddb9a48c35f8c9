"""Readers of kernel modules in memory: ``/proc/modules`` and ``lsmod``."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import whole_number
from niclab.hosts.records import LoadedModule, LoadedModules, ModuleState
from niclab.hosts.transcript import transcript

_PROC = "/proc/modules"
_LSMOD = "lsmod"

_TAINTS = re.compile(r"\(([A-Z+-]+)\)")
_ADDRESS = re.compile(r"0x[0-9a-f]{1,16}")
_NAME = re.compile(r"(?![0-9]+\.[0-9]+$)[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_HEADING = re.compile(r"Module\s+Size\s+Used by.*")
_PROC_LINE = re.compile(rf"\S+\s+\S+\s+\S+\s+\S+\s+(?:{'|'.join(ModuleState)})\s+0x\S+(?:\s+\(\S+\))?")
_LSMOD_LINE = re.compile(r"(\S+)\s+([0-9]{1,12})\s+(-?[0-9]{1,10}|-)(?:\s+(\S.*))?")
# What Linux 2.4 adds: how a module came, and its users in brackets.
_OLD_NOTES = re.compile(r"\((?:autoclean|unused|uninitialized|deleted|initializing)\)")
_PERMANENT = "[permanent]"


def read_proc_modules(text: str) -> tuple[LoadedModule, ...]:
    """Read ``/proc/modules``. An empty text is an error: it cannot be told from a failed read."""
    modules = tuple(_loaded(number, line) for number, line in transcript(text, "cat", "grep").filled)
    return _some(_PROC, text, modules)


def read_proc_modules_record(text: str) -> LoadedModules:
    return LoadedModules(read_proc_modules(text))


def read_lsmod(text: str) -> LoadedModules:
    """Read ``lsmod``, with its heading or cut out of it by name; the small one of busybox shows ``/proc/modules``."""
    lines = [
        (number, line) for number, line in transcript(text, "lsmod").filled if not _HEADING.fullmatch(line.strip())
    ]
    read_line = _loaded if any(_PROC_LINE.fullmatch(line.strip()) for _, line in lines) else _listed
    return LoadedModules(_some(_LSMOD, text, tuple(read_line(number, line) for number, line in lines)))


def _some(kind: str, text: str, modules: tuple[LoadedModule, ...]) -> tuple[LoadedModule, ...]:
    if not modules:
        raise unreadable(kind, "text", text, "at least one module")
    names: set[str] = set()
    for module in modules:
        if module.name in names:
            raise unreadable(kind, "module", module.name, "each module once")
        names.add(module.name)
    return modules


def _loaded(number: int, line: str) -> LoadedModule:
    where = f"line {number}"
    words = line.split()
    if len(words) not in (6, 7):
        raise unreadable(_PROC, where, line, "'NAME SIZE REFCOUNT USERS STATE ADDRESS [(TAINTS)]'")
    name, size, refcount, users, state, address = words[:6]
    taints = _TAINTS.fullmatch(words[6]) if len(words) == 7 else None
    if state not in tuple(ModuleState):
        raise unreadable(_PROC, where, line, f"a state of {', '.join(ModuleState)}")
    if not _ADDRESS.fullmatch(address) or (len(words) == 7 and taints is None):
        raise unreadable(_PROC, where, line, "an address such as 0xffffffffc0a3b000, then '(TAINTS)' or nothing")
    return LoadedModule(
        name=name,
        size_bytes=whole_number(_PROC, where, size, "the size in bytes"),
        refcount=None if refcount == "-" else whole_number(_PROC, where, refcount, "the reference count"),
        used_by=_users("" if users == "-" else users),
        state=ModuleState(state),
        taints=taints[1] if taints else None,
        permanent=_PERMANENT in users,
    )


def _listed(number: int, line: str) -> LoadedModule:
    where = f"line {number}"
    match = _LSMOD_LINE.fullmatch(line.strip())
    if match is None or not _NAME.fullmatch(match[1]):
        raise unreadable(_LSMOD, where, line, "'NAME SIZE COUNT [USERS]'")
    users = _OLD_NOTES.sub("", match[4] or "").strip()
    if users.startswith("[") and users.endswith("]") and users != _PERMANENT:
        users = users[1:-1]
    named = _users("" if users == "-" else users)
    if not all(_NAME.fullmatch(user) and user not in tuple(ModuleState) for user in named):
        raise unreadable(_LSMOD, where, line, "names of modules as its users")
    return LoadedModule(
        name=match[1],
        size_bytes=int(match[2]),
        refcount=int(match[3]) if match[3].isdecimal() else None,
        used_by=named,
        state=None,
        taints=None,
        permanent=True if _PERMANENT in users else None,
    )


def _users(text: str) -> tuple[str, ...]:
    return tuple(user for user in re.split(r"[,\s]+", text) if user and user != _PERMANENT)
