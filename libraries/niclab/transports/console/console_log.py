"""The log file of a console: every byte, and the time at which each line began."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.files.append import append_whole

LARGEST_LOG = 64 << 20
"""Bytes. A line of 115200 Bd needs 97 minutes for them; a kernel in a loop behind a fast line, one minute."""


class ConsoleLog:
    """Appends to ``path``, unbuffered, so that a killed run loses nothing.

    A line begins with the time (UTC, milliseconds) at which its first byte came; bytes are as they came, NUL and
    escape sequences too. Lines that begin with ``---`` after the time are the reader's own.

    Args:
        path: The file.
        largest: Bytes after which nothing more is logged; a line in the log says so.

    Raises:
        BenchFault: The file cannot be opened.
    """

    def __init__(self, path: Path, largest: int = LARGEST_LOG) -> None:
        self._path = path
        self._largest = largest
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise self._fault(error) from error
        self._size = self._file.tell()
        self._at_line_start = True

    def add(self, data: bytes) -> None:
        """Log what came.

        Args:
            data: What came, in pieces of any size.

        Raises:
            BenchFault: The file cannot be written, for example because the disk is full.
        """
        if self._size >= self._largest:
            return
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3].encode() + b"Z "
        out = bytearray()
        *lines, rest = data.split(b"\n")
        for line in lines:
            out += (stamp if self._at_line_start else b"") + line + b"\n"
            self._at_line_start = True
        if rest:
            out += (stamp if self._at_line_start else b"") + rest
            self._at_line_start = False
        if self._size + len(out) >= self._largest:
            out[self._largest - self._size :] = b"\n" + stamp + self._last_line()
        try:
            append_whole(self._file, out)
        except OSError as error:
            raise self._fault(error) from error
        self._size += len(out)

    def note(self, text: str) -> None:
        """Log a line of one's own.

        Args:
            text: The line.

        Raises:
            BenchFault: The file cannot be written.
        """
        self.add((b"" if self._at_line_start else b"\n") + f"--- {text}\n".encode())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _last_line(self) -> bytes:
        return f"--- the log ends here: it has reached {self._largest} bytes; the console says more\n".encode()

    def _fault(self, error: OSError) -> BenchFault:
        return BenchFault(f"cannot write its log {self._path}: {error.strerror}")
