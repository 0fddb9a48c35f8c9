"""The log file of a console: every byte, and the time at which each line began."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path


class ConsoleLog:
    """Appends to ``path``, unbuffered, so that a killed run loses nothing.

    A line begins with the time (UTC, milliseconds) at which its first byte came; bytes are as they came, NUL and
    escape sequences too. Lines that begin with ``---`` after the time are the reader's own.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._at_line_start = True

    def add(self, data: bytes) -> None:
        """Log what came."""
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3].encode() + b"Z "
        out = bytearray()
        *lines, rest = data.split(b"\n")
        for line in lines:
            out += (stamp if self._at_line_start else b"") + line + b"\n"
            self._at_line_start = True
        if rest:
            out += (stamp if self._at_line_start else b"") + rest
            self._at_line_start = False
        self._file.write(out)

    def note(self, text: str) -> None:
        """Log a line of one's own."""
        self.add((b"" if self._at_line_start else b"\n") + f"--- {text}\n".encode())

    def close(self) -> None:
        self._file.close()
