"""Reader of kernel modules in memory: ``/proc/modules``."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import filled, whole_number
from niclab.hosts.records import LoadedModule, ModuleState

_KIND = "/proc/modules"
_LINE = re.compile(rf"(\S+) (\S+) (\S+) (\S+) ({'|'.join(ModuleState)}) 0x[0-9a-f]{{1,16}}(?: +\(([A-Z+-]+)\))?")


def read_proc_modules(text: str) -> tuple[LoadedModule, ...]:
    """Read ``/proc/modules``.

    Raises:
        ReadError: A line is no module, one occurs twice, or there is none, as after a failed read.
    """
    modules: dict[str, LoadedModule] = {}
    for number, line in filled(text):
        where = f"line {number}"
        match = _LINE.fullmatch(line.rstrip())
        if match is None or match[1] in modules:
            wanted = "'NAME SIZE REFCOUNT USERS STATE ADDRESS [(TAINTS)]', each module once"
            raise unreadable(_KIND, where, line, wanted)
        modules[match[1]] = LoadedModule(
            name=match[1],
            size_bytes=whole_number(_KIND, where, match[2], "the size in bytes"),
            refcount=None if match[3] == "-" else whole_number(_KIND, where, match[3], "the reference count"),
            used_by=tuple(user for user in match[4].split(",") if user not in ("", "-", "[permanent]")),
            state=ModuleState(match[5]),
            taints=match[6],
            permanent="[permanent]" in match[4],
        )
    if not modules:
        raise unreadable(_KIND, "text", text, "at least one module")
    return tuple(modules.values())
