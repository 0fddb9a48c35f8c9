"""Readers of ``modinfo`` (kmod 3 and later, module-init-tools) and ``/proc/modules``."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import numbered, whole_number
from niclab.hosts.records import LoadedModule, ModuleFile, ModuleState

_MODINFO = "modinfo"
_PROC = "/proc/modules"

_MODINFO_LINE = re.compile(r"([a-z][a-z0-9_]{0,30}):(?:\s+(.*))?")
_SINGLE = ("filename", "name", "srcversion", "vermagic", "depends")
# Values that may run over several lines, which then begin anywhere.
_MULTI_LINE = ("parm", "description", "signature")
_TAINTS = re.compile(r"\(([A-Z+-]+)\)")


def read_modinfo(text: str) -> ModuleFile:
    """Read ``modinfo MODULE``. A module built into the kernel has no version, srcversion or vermagic line."""
    found: dict[str, list[str]] = {}
    key = ""
    for number, line in numbered(text):
        if not line.strip():
            continue
        match = _MODINFO_LINE.fullmatch(line)
        if match is not None:
            key = match[1]
            found.setdefault(key, []).append((match[2] or "").strip())
            if key in _SINGLE and len(found[key]) > 1:
                raise unreadable(_MODINFO, f"line {number}", line, f"{key} once, of one module")
        elif key not in _MULTI_LINE:
            raise unreadable(_MODINFO, f"line {number}", line, "'name: value'")
    filename = _only(found, "filename")
    if filename is None:
        raise unreadable(_MODINFO, "text", text, "a line 'filename: PATH'")
    versions = found.get("version", [])
    depends = _only_or_empty(found, "depends")
    return ModuleFile(
        filename=None if filename == "(builtin)" else filename,
        built_in=filename == "(builtin)",
        name=_only(found, "name"),
        version=versions[0] or None if versions else None,
        srcversion=_only(found, "srcversion"),
        vermagic=_only(found, "vermagic"),
        depends=None if depends is None else tuple(name for name in depends.split(",") if name),
        firmware=tuple(found.get("firmware", [])),
    )


def read_proc_modules(text: str) -> tuple[LoadedModule, ...]:
    """Read ``/proc/modules``. An empty text is an error: it cannot be told from a failed read."""
    modules: list[LoadedModule] = []
    for number, line in numbered(text):
        if line.strip():
            modules.append(_loaded(number, line))
    if not modules:
        raise unreadable(_PROC, "text", text, "at least one module")
    return tuple(modules)


def _loaded(number: int, line: str) -> LoadedModule:
    where = f"line {number}"
    words = line.split()
    if len(words) not in (6, 7):
        raise unreadable(_PROC, where, line, "'NAME SIZE REFCOUNT USERS STATE ADDRESS [(TAINTS)]'")
    name, size, refcount, users, state, address = words[:6]
    taints = _TAINTS.fullmatch(words[6]) if len(words) == 7 else None
    if state not in tuple(ModuleState):
        raise unreadable(_PROC, where, line, f"a state of {', '.join(ModuleState)}")
    if not re.fullmatch(r"0x[0-9a-f]{1,16}", address) or (len(words) == 7 and taints is None):
        raise unreadable(_PROC, where, line, "an address such as 0xffffffffc0a3b000, then '(TAINTS)' or nothing")
    return LoadedModule(
        name=name,
        size_bytes=whole_number(_PROC, where, size, "the size in bytes"),
        refcount=None if refcount == "-" else whole_number(_PROC, where, refcount, "the reference count"),
        used_by=() if users == "-" else tuple(user for user in users.split(",") if user),
        state=ModuleState(state),
        taints=taints[1] if taints else None,
    )


def _only(found: dict[str, list[str]], key: str) -> str | None:
    return _only_or_empty(found, key) or None


def _only_or_empty(found: dict[str, list[str]], key: str) -> str | None:
    return found[key][0] if key in found else None
