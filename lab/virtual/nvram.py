"""The memory of a server's virtual cards, from the host's side: what a card is, its firmware, its injected defects.

``card/mailbox.h`` lays it out and is read here, so that a layout is written down once. The memory is a file: QEMU maps
it for the guest, the bench reads and writes it, while the server runs as well as while it is off.
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from wholefile import draft_of

HEADER = Path(__file__).resolve().parent / "card" / "mailbox.h"
STRING_SIZE = 32  # char[32]: model, serial number, firmware versions


class CardMemoryError(Exception):
    """Not the memory of a card, or something that does not fit into it."""


@dataclass(frozen=True)
class Word:
    """A fault word of the memory, as ``mailbox.h`` lists it."""

    name: str
    index: int
    whole_slot: bool
    meaning: str


@functools.cache
def constants() -> dict[str, int]:
    """The numbers that ``mailbox.h`` defines, without their prefix: ``{"MAGIC": 0x44524356, ...}``."""
    found = re.findall(r"^#define\s+VCARD_(\w+)\s+(0x[0-9a-fA-F]+|\d+)\b", HEADER.read_text(), re.MULTILINE)
    return {name: int(value, 0) for name, value in found}


@functools.cache
def words() -> dict[str, Word]:
    """The fault words that ``mailbox.h`` lists, by name."""
    rows = re.findall(r'\bX\(\w+,\s*(\d+),\s*"([\w-]+)",\s*(SLOT|PORT),\s*"([^"]*)"\)', HEADER.read_text())
    return {name: Word(name, int(index), scope == "SLOT", meaning) for index, name, scope, meaning in rows}


class Memory:
    """The open memory file of one server; see :func:`opened`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def u32(self, offset: int) -> int:
        value: int = struct.unpack("<I", self._read(offset, 4))[0]
        return value

    def set_u32(self, offset: int, value: int) -> None:
        if not 0 <= value < 1 << 32:
            raise CardMemoryError(f"{self._file.name}: {value} at {offset:#x}; expected 0 to {(1 << 32) - 1}")
        self._write(offset, struct.pack("<I", value))

    def string(self, offset: int) -> str:
        return self._read(offset, STRING_SIZE).rstrip(b"\0").decode("ascii", "backslashreplace")

    def set_string(self, offset: int, text: str) -> None:
        data = text.encode()
        if len(data) > STRING_SIZE or not text.isascii():
            raise CardMemoryError(f"{text!r} does not fit; expected at most {STRING_SIZE} ASCII characters")
        self._write(offset, data.ljust(STRING_SIZE, b"\0"))

    def mac(self, slot: int, port: int) -> str:
        return self._read(at(slot, port, "MAC"), 6).hex(":")

    def set_mac(self, slot: int, port: int, mac: str) -> None:
        self._write(at(slot, port, "MAC"), bytes.fromhex(mac.replace(":", "")))

    def changed(self) -> None:
        """Tell the card that something has changed; it acts within a tenth of a second."""
        offset = constants()["O_CHANGES"]
        self.set_u32(offset, (self.u32(offset) + 1) % (1 << 32))

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) != size:
            raise CardMemoryError(f"{self._file.name}: ends before {offset + size:#x}: not the memory of a card")
        return data

    def _write(self, offset: int, data: bytes) -> None:
        self._file.seek(offset)
        self._file.write(data)


def at(slot: int, port: int, field: str) -> int:
    """Offset of a field of a port: ``at(0, 1, "FAULTS")``."""
    known = constants()
    start = known["O_SLOT"] + slot * known["SLOT_SIZE"]
    return start + known["S_PORT"] + port * known["PORT_SIZE"] + known[f"P_{field}"]


def slot_at(slot: int, field: str) -> int:
    """Offset of a field of a slot: ``slot_at(0, "MODEL")``."""
    known = constants()
    return known["O_SLOT"] + slot * known["SLOT_SIZE"] + known[f"S_{field}"]


def fault_at(slot: int, port: int, word: Word) -> int:
    """Offset of a fault word; those of a whole slot are at its port 0."""
    return at(slot, 0 if word.whole_slot else port, "FAULTS") + 4 * word.index


@contextmanager
def opened(path: Path) -> Iterator[Memory]:
    """The memory in the file ``path``.

    Raises:
        CardMemoryError: When the file is not a card's memory of this layout.
    """
    known = constants()
    with path.open("r+b", buffering=0) as file:
        memory = Memory(file)
        magic, version = memory.u32(known["O_MAGIC"]), memory.u32(known["O_VERSION"])
        if (magic, version) != (known["MAGIC"], known["VERSION"]):
            raise CardMemoryError(
                f"{path}: magic {magic:#x} version {version}; expected {known['MAGIC']:#x} version {known['VERSION']}"
            )
        yield memory


def make(path: Path) -> None:
    """Make the memory of cards as they leave the factory: empty but for its mark."""
    known = constants()
    draft = draft_of(path)
    with draft.open("wb", buffering=0) as file:
        file.truncate(known["FILE_SIZE"])
        memory = Memory(file)
        memory.set_u32(known["O_MAGIC"], known["MAGIC"])
        memory.set_u32(known["O_VERSION"], known["VERSION"])
    draft.replace(path)


@dataclass(frozen=True)
class Place:
    """The place of a server's port in the memory: the number of its slot, and its number on the card."""

    slot: int
    port: int


def lay_out(path: Path, card: str, serial: str, macs: dict[Place, str]) -> None:
    """Write what a card is into its memory, which is made when it is not there; firmware and defects in it stay.

    Args:
        serial: Serial number of the card in the first slot; a second card has it with a ``B`` at its end.
        macs: The place of every port and its permanent MAC address.
    """
    if not path.exists():
        make(path)
    with opened(path) as memory:
        for slot in sorted({place.slot for place in macs}):
            memory.set_string(slot_at(slot, "MODEL"), card)
            memory.set_string(slot_at(slot, "SERIAL"), serial + ("B" if slot else ""))
        for place, mac in macs.items():
            memory.set_mac(place.slot, place.port, mac)
        memory.changed()
