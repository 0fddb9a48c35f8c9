"""The ``media:`` line of FreeBSD's ifconfig: what was selected, and what the link came up with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.hosts.records import Duplex

# print_media_word of sbin/ifconfig/ifmedia.c: "TYPE SUBTYPE [mode MODE] [<OPTIONS>] [instance N]"; the active word has
# no type.
_TYPES = ("IEEE 802.11 Wireless Ethernet", "Ethernet", "FDDI", "Token ring", "ATM", "InfiniBand")
_WORD = re.compile(
    r"(<unknown type>|<unknown subtype>|[A-Za-z0-9][A-Za-z0-9./_+-]*)"
    r"(?: mode ([A-Za-z0-9_./-]+))?"
    r"(?: <([^<>()]*)>)?"
    r"(?: instance ([0-9]{1,4}))?"
)
# What an Ethernet's subtypes look like (IFM_SUBTYPE_ETHERNET_DESCRIPTIONS of net/if_media.h); "1000base" was cut.
_ETHERNET = re.compile(
    r"autoselect|none|manual|[Uu]nknown|Other|homePNA|<unknown (?:type|subtype)>"
    r"|[0-9.]{1,5}G?(?i:base)-?[A-Z0-9][A-Za-z0-9/-]{0,20}"
    # Electrical connections to another chip: "25G-AUI", "100M-SGMII", "PCIExpress-50G".
    r"|[0-9]{1,4}[GM]-[A-Z]{3,5}[0-9]?(?:-AC)?|PCIExpress-[0-9]{1,3}G"
)
_SUPPORTED = re.compile(r"(\S+)(?: mode \S+)?(?: mediaopt (\S+))?(?: instance [0-9]{1,4})?")
_OPTIONS = ("full-duplex", "half-duplex", "flowcontrol", "hw-loopback", "master", "rxpause", "txpause")
_SPEED = re.compile(r"(?:PCIExpress-)?([0-9]{1,4}(?:\.[0-9])?)(?:(G?)base|([GM])(?:-|$))", re.IGNORECASE)


@dataclass(frozen=True)
class MediaWord:
    """``subtype`` such as ``autoselect``, ``10Gbase-SR``; ``options`` such as ``full-duplex``, ``rxpause``."""

    subtype: str
    mode: str | None
    options: tuple[str, ...]
    instance: int | None


@dataclass(frozen=True)
class Media:
    """``text`` is the line as printed. ``active`` is None when the tool prints one word only: then the link runs with
    the selected word, or there is no link."""

    text: str
    type: str
    selected: MediaWord
    active: MediaWord | None

    @property
    def _running(self) -> MediaWord:
        return self.active or self.selected

    @property
    def speed_mbps(self) -> int | None:
        """Speed that the name of the running word says; None for ``autoselect``, ``none`` and unknown names."""
        match = _SPEED.match(self._running.subtype)
        if match is None:
            return None
        return round(float(match[1]) * (1000 if "G" in (match[2], match[3]) else 1))

    @property
    def duplex(self) -> Duplex | None:
        options = self._running.options
        if "full-duplex" in options:
            return Duplex.FULL
        return Duplex.HALF if "half-duplex" in options else None


def read_media(kind: str, where: str, text: str) -> Media:
    """Read what follows ``media: ``."""
    if text == "<unknown type>":
        return Media(text, text, MediaWord(text, None, (), None), None)
    name = next((name for name in _TYPES if text.startswith(f"{name} ") or text == name), None)
    if name is None:
        raise unreadable(kind, where, text, f"a medium of {', '.join(_TYPES)}")
    rest = text[len(name) :].strip()
    active: MediaWord | None = None
    if rest.endswith(")") and " (" in rest:
        rest, _, inner = rest[:-1].partition(" (")
        active = _word(kind, where, inner)
    selected = _word(kind, where, rest)
    for word in (selected, active):
        if name == "Ethernet" and word is not None and not _ETHERNET.fullmatch(word.subtype):
            raise unreadable(kind, where, word.subtype, "a medium of Ethernet such as 'autoselect' or '10Gbase-SR'")
    return Media(text, name, selected, active)


def check_supported(kind: str, where: str, text: str) -> None:
    """Refuse what is no medium of Ethernet as ``ifconfig -m`` lists them, or only the beginning of one."""
    match = _SUPPORTED.fullmatch(text)
    options = (match[2] or "").split(",") if match else []
    cut = [option for option in options if option and option not in _OPTIONS and _begins_one(option)]
    if match is None or not _ETHERNET.fullmatch(match[1]) or cut:
        raise unreadable(kind, where, text, "'10Gbase-SR mediaopt full-duplex'")


def _begins_one(option: str) -> bool:
    return any(known.startswith(option) for known in _OPTIONS)


def _word(kind: str, where: str, text: str) -> MediaWord:
    match = _WORD.fullmatch(text.strip())
    if match is None:
        raise unreadable(kind, where, text, "a medium such as 'autoselect' or '10Gbase-SR <full-duplex>'")
    options = tuple(option.strip() for option in (match[3] or "").split(",") if option.strip())
    return MediaWord(match[1], match[2], options, int(match[4]) if match[4] else None)
