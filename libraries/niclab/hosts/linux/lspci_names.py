"""Names and ids in the device and subsystem lines of lspci, in all its spellings.

``82574L [8086:10d3]`` (-nn), ``8086:10d3`` (-n), ``Intel Corporation Device 1528`` (not in pci.ids), ``Unknown device
1528`` (pciutils 2), ``Device 8086:1528`` (no vendor either).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Addresses: domain (four digits, more for volume management devices), bus, device, function.
SLOT_OF_A_DOMAIN = r"[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
SLOT = rf"(?:[0-9a-f]{{4,8}}:)?{SLOT_OF_A_DOMAIN}"

_ID = "[0-9a-f]{4}"
_BOTH_IDS = re.compile(rf"(?:(.*) )?\[?({_ID}):({_ID})\]?")
_ONE_ID = re.compile(rf"(?:(.*) )?(?:Unknown d|D)evice ({_ID})")
# Ids that cannot be read and would else be taken for a part of the name; the id of a device without its vendor.
_UNREAD = re.compile(
    r"\[(?=[^\]]{6})[0-9A-Za-z.-]{0,30}:[0-9A-Za-z.-]{0,30}\]|^(?:Unknown d|D)evice(?: [0-9a-f]{0,4})?$"
    r"|(?:Unknown d| D)evice (?![0-9a-f]{4}$)-?[0-9a-f.]{1,8}$"
)
# Text behind the ids; the line of another device, which has lost its line end before it.
_RUN_ON = re.compile(rf"^{_ID}:{_ID} |{SLOT} [A-Z0-9]")
# busybox's lspci -k prints the driver behind the ids.
_BUSYBOX = re.compile(rf"Class {_ID}: {_ID}:{_ID}(?= ([A-Za-z][A-Za-z0-9_-]{{1,40}}|[0-9][a-z0-9_-]{{1,40}})$)")
_UNREAD_REVISION = re.compile(r"\(rev(?: |$)|\(prog-if")
_UNNAMED = re.compile(r"(?:Unknown d|D)evice")
_PROGRAMMING = re.compile(r" \(prog-if [0-9a-f]{2}[^)]{0,80}\)$")
_REVISION = re.compile(r" \(rev ([0-9a-f]{2})\)$")
_CLASS = re.compile(rf"(?:Class )?\[?({_ID})\]?|(.*\S) \[({_ID})\]")


@dataclass(frozen=True)
class Names:
    """What one text says: ``name`` without its ids, None when nothing else is there."""

    name: str | None
    vendor: str | None
    device: str | None


@dataclass(frozen=True)
class Heading:
    """The device line after the slot. ``revision`` None: not printed, which lspci does for 00."""

    class_name: str | None
    class_code: str | None
    names: Names
    revision: str | None
    driver: str | None = None


def read_names(text: str) -> Names | None:
    """Vendor and device (or subsystem) in one text; None when a part of it cannot be read."""
    text = text.strip()
    if _RUN_ON.search(text):
        return None
    match = _BOTH_IDS.fullmatch(text)
    if match is not None:
        name = match[1]
        return Names(None if name is None or _UNNAMED.fullmatch(name) else name.strip() or None, match[2], match[3])
    if _UNREAD.search(text):
        return None
    match = _ONE_ID.fullmatch(text)
    return Names(text or None, None, match[2] if match else None)


def read_heading(text: str) -> Heading | None:
    """``Ethernet controller [0200]: Intel Corporation 82574L [8086:10d3] (rev 01) (prog-if 00)``; None for no such."""
    text = _PROGRAMMING.sub("", text.rstrip())
    of_busybox = _BUSYBOX.match(text)
    if of_busybox is not None:
        text = of_busybox[0]
    revision = _REVISION.search(text)
    if revision is not None:
        text = text[: revision.start()]
    category, colon, names = text.partition(": ")
    if not colon or not category.strip() or not names.strip() or _UNREAD_REVISION.search(names):
        return None
    class_name, class_code = read_class(category)
    read = read_names(names)
    if read is None or (class_name or "").endswith("]"):
        return None
    driver = of_busybox[1] if of_busybox else None
    return Heading(class_name, class_code, read, revision[1] if revision else None, driver)


def read_class(text: str) -> tuple[str | None, str | None]:
    """Name and code of a class: ``Ethernet controller [0200]``, ``Class 0200``, ``0200``, ``Ethernet controller``."""
    match = _CLASS.fullmatch(text.strip())
    if match is None:
        return text.strip(), None
    return match[2], match[1] or match[3]
