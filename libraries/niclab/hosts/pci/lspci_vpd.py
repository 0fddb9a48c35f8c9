"""Reader of the Vital Product Data that ``lspci -vv`` prints below its capability (``ls-vpd.c`` of pciutils)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from niclab.hosts.pci.pci_records import Vpd

_ITEM = re.compile(r"\s+\[([!-~][!-~]?)\] ([A-Za-z][^:]{0,40}):(.*)")
_PRODUCT = re.compile(r"\s+Product Name:(.*)")
_CHECKSUM = re.compile(r"checksum (good|bad), .*")
_HEADINGS = ("Read-only fields:", "Read/write fields:", "End", "Not readable", "No end tag found")
_UNKNOWN_RESOURCE = re.compile(r"\s+Unknown (?:large|small) resource type [0-9a-f]{2}.*")


def is_vpd_line(line: str) -> bool:
    """Does this line still belong to the Vital Product Data?"""
    patterns = (_ITEM, _PRODUCT, _UNKNOWN_RESOURCE)
    return line.strip() in _HEADINGS or any(pattern.fullmatch(line) for pattern in patterns)


def read_vpd(lines: Iterable[str]) -> Vpd:
    """The lines below ``Vital Product Data``, as far as :func:`is_vpd_line` takes them."""
    items: dict[str, str | None] = {}
    checksum: bool | None = None
    complete = False
    for line in lines:
        item = _ITEM.fullmatch(line)
        if item is not None:
            value = item[3].strip()
            checked = _CHECKSUM.fullmatch(value)
            if checked is not None:
                checksum = checked[1] == "good"
            items.setdefault(item[1], value or None)
        complete = complete or line.strip() == "End"
    return Vpd(
        part_number=items.get("PN"),
        serial_number=items.get("SN"),
        checksum_good=checksum,
        complete=complete,
        items=items,
    )
