"""The log file of a console: every byte, and the time at which each line began."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.files.append import append_whole
from niclab.files.mask import MASKED, MessageMask
from niclab.files.secrets import handed_out

LARGEST_LOG = 64 << 20
"""Bytes. A line of 115200 Bd needs 97 minutes for them; a kernel in a loop behind a fast line, one minute."""


_SHORTEST_PART = 4
"""Assumption: fewer characters of a secret are found in innocent words."""


class ConsoleLog:
    """Appends to ``path``, unbuffered, without the secrets that this process has given out.

    A killed run loses nothing but a few bytes that might be the beginning of a secret: they wait for what follows, also
    past a line of the reader's own. A line begins with the time (UTC, milliseconds) at which its first byte came; bytes
    are as they came, NUL and escape sequences too. Lines that begin with ``---`` after the time are the reader's own.

    Args:
        path: The file.
        largest: Bytes after which nothing more is logged; a line in the log says so.
        after: The ``tail`` of the log that was closed before, of the same console: the rest of a secret may follow.

    Raises:
        BenchFault: The file cannot be opened.
    """

    def __init__(self, path: Path, largest: int = LARGEST_LOG, after: bytes = b"") -> None:
        self._path = path
        self._largest = largest
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise self._fault(error) from error
        self._size = self._file.tell()
        self._at_line_start = True
        self._mask = MessageMask(handed_out)
        self._held, self._after = b"", after
        self.tail = b""
        """The bytes at the end that may be the beginning of a secret, once the log is closed."""

    def add(self, data: bytes) -> None:
        """Log what came.

        Args:
            data: What came, in pieces of any size.

        Raises:
            BenchFault: The file cannot be written, for example because the disk is full.
        """
        mask, joined = self._mask.now(), self._after + self._held + data
        if self._after and mask.begins(joined):
            self._held += data
            return
        content = joined if mask.heads(joined) else self._held + data
        self._after = b""
        masked, self._held = mask.split(content)
        self._write(masked)

    def _write(self, data: bytes) -> None:
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
        if len(self._held) < _SHORTEST_PART:
            self._write(self._held)
            self._after, self._held = self._after + self._held, b""
        self._write((b"" if self._at_line_start else b"\n") + self._mask.now()(f"--- {text}\n".encode()))

    def close(self) -> None:
        """Close the file. What may be the beginning of a secret and is no single word is masked.

        Raises:
            BenchFault: The file cannot be written.
        """
        held, self._held, self.tail = self._held, b"", self._after + self._held
        try:
            self._write(held if len(held) < _SHORTEST_PART else MASKED.encode())
        finally:
            self._file.close()

    def _last_line(self) -> bytes:
        return f"--- the log ends here: it has reached {self._largest} bytes; the console says more\n".encode()

    def _fault(self, error: OSError) -> BenchFault:
        return BenchFault(f"cannot write its log {self._path}: {error.strerror}")
