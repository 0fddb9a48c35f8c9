"""Firmware images of virtual cards; ``card/mailbox.h`` describes the format."""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import dataclass

import nvram

BODY_BYTES = 64 * 1024
DAMAGED_BIT = 8 * 0x2345


class ImageFormatError(Exception):
    """Something that does not fit into an image's header."""


@dataclass(frozen=True)
class Image:
    """An image for the cards of one driver.

    Attributes:
        model: Name of the card sheet, ``*`` for every model of the driver.
    """

    driver: str
    model: str
    version: str

    def data(self) -> bytes:
        """The file: header, then a body that differs from version to version."""
        known = nvram.constants()
        seed = f"{self.driver} {self.model} {self.version}"
        body = random.Random(seed).randbytes(BODY_BYTES)
        header = bytearray(known["FW_HEADER"])
        header[:8] = b"VCARDFW1"
        for text, start, end in (
            (self.driver, known["FW_DRIVER"], known["FW_MODEL"]),
            (self.model, known["FW_MODEL"], known["FW_VERSION"]),
            (self.version, known["FW_VERSION"], known["FW_LENGTH"]),
        ):
            if not text.isascii() or not 0 < len(text) <= end - start:
                raise ImageFormatError(f"{text!r}; expected 1 to {end - start} ASCII characters")
            header[start : start + len(text)] = text.encode()
        header[known["FW_LENGTH"] : known["FW_CRC"]] = struct.pack("<I", len(body))
        crc = zlib.crc32(bytes(header) + body)
        header[known["FW_CRC"] : known["FW_CRC"] + 4] = struct.pack("<I", crc)
        return bytes(header) + body


def truncated(data: bytes) -> bytes:
    """The first half of an image, as after a download that broke off."""
    return data[: len(data) // 2]


def bit_flipped(data: bytes) -> bytes:
    """An image with one bit wrong in its body."""
    damaged = bytearray(data)
    damaged[DAMAGED_BIT // 8] ^= 1 << DAMAGED_BIT % 8
    return bytes(damaged)
