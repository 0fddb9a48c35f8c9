"""Reader of kernel modules in memory: ``/proc/modules``."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import LoadedModule, ModuleState
from niclab.hosts.reading import filled

_KIND = "/proc/modules"
_LINE = re.compile(
    r"(\S+) [0-9]{1,12} (?:[0-9]{1,9}|-) \S+ " rf"({'|'.join(ModuleState)}) 0x[0-9a-f]{{1,16}}(?: +\([A-Z+-]+\))?"
)


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
        modules[match[1]] = LoadedModule(match[1], ModuleState(match[2]))
    if not modules:
        raise unreadable(_KIND, "text", text, "at least one module")
    return tuple(modules.values())
