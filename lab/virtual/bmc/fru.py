"""The FRU inventory as bytes (*Platform Management FRU Information Storage Definition* 1.0, rev. 1.3)."""

from __future__ import annotations

from bmc.config import FruInfo

ENGLISH = 25
"""Language code, also that of the old "0" (FRU definition, section 15)."""
INVENTORY_BYTES = 512
_END_OF_FIELDS = 0xC1


def encode(info: FruInfo) -> bytes:
    """Common header, board area and product area, padded to ``INVENTORY_BYTES``."""
    board = _area(bytes([ENGLISH, 0, 0, 0]), _fields(*info.board.model_dump().values(), ""))  # no date of manufacture
    product = _area(bytes([ENGLISH]), _fields(*info.product.model_dump().values(), ""))
    board_at = 1  # in units of 8 bytes
    product_at = board_at + len(board) // 8
    header = bytes([1, 0, 0, board_at, product_at, 0, 0])
    return (header + bytes([_checksum(header)]) + board + product).ljust(INVENTORY_BYTES, b"\0")


def _fields(*texts: str) -> bytes:
    """Each text with its type/length byte: 8-bit ASCII (section 13). The last one is the FRU file id, unused."""
    return b"".join(bytes([0xC0 | len(text)]) + text.encode("ascii") for text in texts)


def _area(start: bytes, fields: bytes) -> bytes:
    """An info area: version, length in units of 8 bytes, content, end mark, padding, checksum."""
    content = start + fields + bytes([_END_OF_FIELDS])
    units = -(-(len(content) + 3) // 8)
    area = (bytes([1, units]) + content).ljust(units * 8 - 1, b"\0")
    return area + bytes([_checksum(area)])


def _checksum(content: bytes) -> int:
    """The byte that makes the sum 0 modulo 256."""
    return -sum(content) & 0xFF
