"""Reader of ``/boot/loader.conf``: what the FreeBSD loader sets before the kernel starts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import filled

_KIND = "loader.conf"
_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_.%-]{0,200})\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s\"#';]+))\s*(?:#.*)?")


@dataclass(frozen=True)
class LoaderConf:
    """``values`` in the order of the file; a later line of the same name wins, as in the loader."""

    values: dict[str, str]


def read_loader_conf(text: str) -> LoaderConf:
    """Read ``name="value"`` lines and comments. An empty file sets nothing.

    Raises:
        ReadError: for any other line.
    """
    values: dict[str, str] = {}
    for number, line in ((number, line.strip()) for number, line in filled(text)):
        if line.startswith("#"):
            continue
        match = _SETTING.fullmatch(line)
        if match is None:
            raise unreadable(_KIND, f"line {number}", line, "'name=\"value\"' or a comment")
        values[match[1]] = match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
    return LoaderConf(values)
