"""Reader of ``ethtool -m IFACE hex on``: the memory of the module in a port's cage, byte by byte."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import filled

KIND = "ethtool -m"
_HEAD = (re.compile(r"Offset\s+Values"), re.compile(r"-{6}\s+-{6}"))
_ROW = re.compile(r"0x([0-9a-f]{4}):\s+((?:[0-9a-f]{2} ){1,16})\s*")
_BYTES_OF_A_ROW = 16


def read_module_memory(text: str) -> bytes:
    """Read the bytes, from the first address on.

    Raises:
        ReadError: A line is no row of bytes, or not the one that follows the row before it.
    """
    head, rows = filled(text)[: len(_HEAD)], filled(text)[len(_HEAD) :]
    if len(head) < len(_HEAD) or not rows or not all(map(_is_line, _HEAD, head)):
        raise unreadable(KIND, "text", text, "'Offset' and 'Values', a line below them, and rows of bytes")
    memory = bytearray()
    for number, line in rows:
        match = _ROW.fullmatch(f"{line.rstrip()} ")
        if match is None or int(match[1], 16) != len(memory) or len(memory) % _BYTES_OF_A_ROW:
            raise unreadable(KIND, f"line {number}", line, f"0x{len(memory):04x}: and up to {_BYTES_OF_A_ROW} bytes")
        memory += bytes.fromhex(match[2])
    return bytes(memory)


def _is_line(pattern: re.Pattern[str], line: tuple[int, str]) -> bool:
    return pattern.fullmatch(line[1].strip()) is not None
