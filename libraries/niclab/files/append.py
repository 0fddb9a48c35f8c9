"""Appending to a log that must not lose or halve a line without saying so."""

from __future__ import annotations

from typing import Protocol


class RawFile(Protocol):
    """A file opened without a buffer."""

    def write(self, data: memoryview, /) -> int | None: ...


def append_whole(file: RawFile, data: bytes | bytearray) -> None:
    """Write all of ``data``; one write may take only a part, for example when the disk is almost full.

    Args:
        file: A file opened for appending, unbuffered.
        data: What to write.

    Raises:
        OSError: The rest cannot be written.
    """
    left = memoryview(data)
    while left:
        left = left[file.write(left) or 0 :]
