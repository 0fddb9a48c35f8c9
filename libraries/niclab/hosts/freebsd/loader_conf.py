"""Reader of ``/boot/loader.conf``: what the FreeBSD loader sets before the kernel starts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.hosts.transcript import transcript

_KIND = "loader.conf"
_TOOLS = ("cat", "less", "more", "grep", "egrep")

_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_.%-]{0,200})\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s\"#';]+))\s*(?:#.*)?")
_LOAD = "_load"


@dataclass(frozen=True)
class LoaderConf:
    """``values`` in the order of the file; a later line of the same name wins, as in the loader. ``repeated`` names
    stand more than once."""

    values: dict[str, str]
    repeated: tuple[str, ...] = ()

    @property
    def modules(self) -> dict[str, bool]:
        """``oce_load="YES"`` gives oce: True. The loader takes YES in any letter case, everything else is no."""
        return {
            name.removesuffix(_LOAD): value.upper() == "YES"
            for name, value in self.values.items()
            if name.endswith(_LOAD)
        }

    def as_json(self) -> dict[str, object]:
        return {"values": self.values, "modules": self.modules, "repeated": self.repeated}


def read_loader_conf(text: str) -> LoaderConf:
    """Read ``name="value"`` lines and comments. A file of comments sets nothing; an empty text is an error."""
    found = transcript(text, *_TOOLS, alone=_KIND)
    values: dict[str, str] = {}
    repeated: list[str] = []
    for number, line in ((number, line.strip()) for number, line in found.filled):
        if line.startswith("#"):
            continue
        match = _SETTING.fullmatch(line)
        if match is None:
            raise unreadable(_KIND, f"line {number}", line, "'name=\"value\"' or a comment")
        if match[1] in values:
            repeated.append(match[1])
        values[match[1]] = match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
    if values and not any(re.search(r"[a-z]", name) for name in values):
        names = ", ".join(values)
        raise unreadable(_KIND, "text", names, "names of the loader, which are in small letters")
    if not found.filled:
        raise unreadable(_KIND, "text", text, "'name=\"value\"' or a comment")
    return LoaderConf(values, tuple(dict.fromkeys(repeated)))
