"""Reader of FreeBSD's ``kldstat`` (plain, -h, -v, -m)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import whole_number
from niclab.hosts.transcript import refuse_error, transcript

_KIND = "kldstat"
_TOOLS = ("kldstat",)

_HEADING = re.compile(r"\s*Id\s+Refs\s+(?:Address\s+Size\s+)?Name")
_FILE = re.compile(
    r"\s*([0-9]{1,6})\s+(-?[0-9]{1,6})\s+(?:0x)?([0-9a-f]{6,16})\s+(?:0x)?([0-9a-f]{1,16}|[0-9.]{1,6}[KMG]B?)\s+([^\s/]+)"
    r"(?:\s+\((.+)\))?"
)
_PLAIN = re.compile(r"\s*([0-9]{1,6})\s+([0-9]{1,6})\s+([A-Za-z_]\S*)")
_CONTAINS = re.compile(r"\s*Contains modules:")
# Files of modules are called so; the kernel's own may have something behind it ("kernel.old").
_WHOLE_NAME = re.compile(r"\S+\.ko|kernel(?:[._-]\S+)?")
_MODULE_HEADING = re.compile(r"\s*Id\s+Name")
_MODULE = re.compile(r"\s*([0-9]{1,6})\s+(\S+)(?:\s+\(.*\))?\s*")


@dataclass(frozen=True)
class KernelFile:
    """A file the kernel has loaded. ``address`` as 0x and hexadecimal digits; ``size`` in bytes, None with -h and -m.
    ``contains`` are the modules in it (-v only)."""

    id: int
    refs: int
    name: str
    address: str | None = None
    size: int | None = None
    path: str | None = None
    contains: tuple[str, ...] | None = None


@dataclass(frozen=True)
class KernelFiles:
    modules: tuple[KernelFile, ...]


def read_kldstat(text: str) -> KernelFiles:
    """Read ``kldstat``. Rows without their heading (``kldstat | grep oce``) are read as well."""
    found = transcript(text, *_TOOLS, alone=_KIND)
    files: list[KernelFile] = []
    ids: set[int] = set()
    plain = False
    for number, line in found.filled:
        if _HEADING.fullmatch(line):
            if files:
                raise unreadable(_KIND, f"line {number}", line, "one heading")
            plain = "Address" not in line
        elif (file := _file(line, plain)) is not None:
            if file.id in ids:
                raise unreadable(_KIND, f"line {number}", line, f"id {file.id} once")
            ids.add(file.id)
            files.append(file)
        elif files and _CONTAINS.fullmatch(line):
            if files[-1].contains is not None:
                raise unreadable(_KIND, f"line {number}", line, "a row 'ID REFS ADDRESS SIZE NAME' before it")
            files[-1] = replace(files[-1], contains=())
        elif files and files[-1].contains == () and _MODULE_HEADING.fullmatch(line):
            continue
        elif files and files[-1].contains is not None and (match := _MODULE.fullmatch(line)):
            if match[2] in files[-1].contains:
                raise unreadable(_KIND, f"line {number}", line, f"{match[2]} once")
            files[-1] = replace(files[-1], contains=(*files[-1].contains, match[2]))
        elif line.startswith("kldstat: ") or not files:
            raise refuse_error(_KIND, found.filled, _TOOLS, "'Id Refs Address Size Name' and at least one row")
        else:
            raise unreadable(_KIND, f"line {number}", line, "'ID REFS ADDRESS SIZE NAME'")
    if not files:
        raise refuse_error(_KIND, found.filled, _TOOLS, "'Id Refs Address Size Name' and at least one row")
    number, last = found.filled[-1]
    if not plain and files[-1].contains is None and not _WHOLE_NAME.fullmatch(files[-1].name):
        raise unreadable(_KIND, f"line {number}", last, "the name of a file, 'kernel' or '....ko'; it was cut")
    return KernelFiles(tuple(files))


def _file(line: str, plain: bool) -> KernelFile | None:
    if plain:
        match = _PLAIN.fullmatch(line)
        return KernelFile(int(match[1]), int(match[2]), match[3]) if match else None
    match = _FILE.fullmatch(line)
    if match is None:
        return None
    human = not re.fullmatch(r"[0-9a-f]+", match[4])
    return KernelFile(
        id=int(match[1]),
        refs=whole_number(_KIND, "row", match[2], "the reference count"),
        name=match[5],
        address=f"0x{match[3]}",
        size=None if human else int(match[4], 16),
        path=match[6],
    )
