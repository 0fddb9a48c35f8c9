"""Details of a PCI function from lspci, in addition to its identity and link."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Vpd:
    """Vital Product Data as lspci prints it; an empty item is None.

    ``items``: every item by its keyword (``PN``, ``SN``, ``V0``), read-only ones first. ``checksum_good`` is the
    tool's own check of the read-only part. ``complete``: the end tag was found; False also when the VPD could not be
    read or has no end.
    """

    part_number: str | None = None
    serial_number: str | None = None
    checksum_good: bool | None = None
    complete: bool = False
    items: dict[str, str | None] = field(default_factory=dict)
