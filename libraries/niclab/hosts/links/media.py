"""The ``media:`` line of FreeBSD's ifconfig: what was selected, and what the link came up with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.core.names import Duplex
from niclab.hosts.errors import unreadable

# print_media_word of sbin/ifconfig/ifmedia.c: "SUBTYPE [mode MODE] [<OPTIONS>] [instance N]", after the type.
_WORD = r"([A-Za-z0-9<][A-Za-z0-9./_ >+-]*?)(?: mode [A-Za-z0-9_./-]+)?(?: <([a-z0-9,-]+)>)?(?: instance [0-9]{1,4})?"
_MEDIA = re.compile(rf"Ethernet {_WORD}(?: \({_WORD}\))?")
# What an Ethernet's subtypes look like (IFM_SUBTYPE_ETHERNET_DESCRIPTIONS of net/if_media.h); "1000base" was cut.
_ETHERNET = re.compile(
    r"autoselect|none|manual|[Uu]nknown|Other|homePNA|<unknown (?:type|subtype)>"
    r"|[0-9.]{1,5}G?(?i:base)-?[A-Z0-9][A-Za-z0-9/-]{0,20}"
    # Electrical connections to another chip: "25G-AUI", "100M-SGMII", "PCIExpress-50G".
    r"|[0-9]{1,4}[GM]-[A-Z]{3,5}[0-9]?(?:-AC)?|PCIExpress-[0-9]{1,3}G"
)
_SUPPORTED = re.compile(r"(\S+)(?: mode \S+)?(?: mediaopt [a-z0-9,-]+)?(?: instance [0-9]{1,4})?")
_SPEED = re.compile(r"(?:PCIExpress-)?([0-9]{1,4}(?:\.[0-9])?)(?:(G?)base|([GM])(?:-|$))", re.IGNORECASE)


@dataclass(frozen=True)
class MediaWord:
    """``subtype`` such as ``autoselect``, ``10Gbase-SR``; ``options`` such as ``full-duplex``, ``rxpause``."""

    subtype: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Media:
    """``active`` is None when the tool prints one word only: then the link runs with the selected word.

    Or there is no link.
    """

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
    match = _MEDIA.fullmatch(text)
    if match is None or not all(_ETHERNET.fullmatch(subtype) for subtype in (match[1], match[3] or match[1])):
        raise unreadable(kind, where, text, "a medium such as 'Ethernet autoselect (10Gbase-SR <full-duplex>)'")
    selected = MediaWord(match[1], _options(match[2]))
    return Media(selected, None if match[3] is None else MediaWord(match[3], _options(match[4])))


def check_supported(kind: str, where: str, text: str) -> None:
    """Refuse what is no medium of Ethernet as ``ifconfig -m`` lists them."""
    match = _SUPPORTED.fullmatch(text)
    if match is None or not _ETHERNET.fullmatch(match[1]):
        raise unreadable(kind, where, text, "'10Gbase-SR mediaopt full-duplex'")


def _options(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()
