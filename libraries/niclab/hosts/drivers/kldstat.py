"""Reader of FreeBSD's ``kldstat -v``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import filled

_KIND = "kldstat -v"
_HEADING = re.compile(r"Id Refs Address +Size +Name")
# Files of modules are called NAME.ko; the kernel's own may have something behind it ("kernel.old").
_FILE = re.compile(
    r" ?([0-9]{1,6}) +[0-9]{1,6} 0x[0-9a-f]{6,16} +[0-9a-f]{1,16} +([^\s/]+\.ko|kernel(?:[._-]\S+)?) +\(/\S+\)"
)
_CONTAINS = re.compile(r"\s+Contains modules:")
_MODULE_HEADING = re.compile(r"\s+Id\s+Name")
_MODULE = re.compile(r"\s+[0-9]{1,6} (\S+)")


@dataclass(frozen=True)
class KernelFile:
    """A file the kernel has loaded. ``contains`` are the modules in it."""

    id: int
    name: str
    contains: tuple[str, ...] | None = None


@dataclass(frozen=True)
class KernelFiles:
    modules: tuple[KernelFile, ...]


def read_kldstat(text: str) -> KernelFiles:
    """Read the files and their modules.

    Raises:
        ReadError: for any other line, a file or module that is there twice, and a file without its modules.
    """
    (number, heading), *lines = filled(text) or [(1, "")]
    if not _HEADING.fullmatch(heading.rstrip()) or not lines:
        raise unreadable(_KIND, f"line {number}", heading, "'Id Refs Address Size Name' and at least one row")
    files: list[KernelFile] = []
    for number, line in ((number, line.rstrip()) for number, line in lines):
        last = files[-1].contains if files else ()
        if (match := _FILE.fullmatch(line)) is not None and last is not None:
            if int(match[1]) in [file.id for file in files]:
                raise unreadable(_KIND, f"line {number}", line, f"id {match[1]} once")
            files.append(KernelFile(int(match[1]), match[2]))
        elif files and last is None and _CONTAINS.fullmatch(line):
            files[-1] = replace(files[-1], contains=())
        elif files and last and (match := _MODULE.fullmatch(line)) is not None and match[1] not in last:
            files[-1] = replace(files[-1], contains=(*last, match[1]))
        elif files and last == () and (match := _MODULE.fullmatch(line)) is not None:
            files[-1] = replace(files[-1], contains=(match[1],))
        elif not (files and last == () and _MODULE_HEADING.fullmatch(line)):
            raise unreadable(_KIND, f"line {number}", line, "'ID REFS ADDRESS SIZE NAME (PATH)' and its modules")
    if files[-1].contains is None:
        raise unreadable(_KIND, f"line {number}", line, "the modules in it")
    return KernelFiles(tuple(files))
