"""what a console gets, what a line to one can do, and the line that needs no serial port: raw TCP."""

from __future__ import annotations

import select
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from niclab.core.verdict import BenchFault

READ_S = 0.2
"""Time in s that a read waits for the first byte; closing takes as long."""
WRITE_WITHIN_S = 5.0
"""Time in s for which a line may refuse data before it counts as dead."""

_OPEN_WITHIN_S = 10.0
_CONTROLS = "\a\b\t\n\r\x1b"
_LEAST_NOISE, _NOISE_SHARE = 3, 0.3
"""Assumption: so many characters, and such a share of all, are no text. Screens of firmware have single ones."""
_NOISE_SHOWN = 40


@dataclass(frozen=True)
class ConsoleEndpoint:
    """The place of a console, and the login there.

    ``url``: ``rfc2217://host:port``, ``tcp://host:port`` (raw bytes: no BREAK) or the path of a local line
    (``/dev/ttyS0``). ``log_file`` gets every byte, appended. ``baud`` is set on local and RFC 2217 lines.
    """

    name: str
    url: str
    user: str
    password: str = field(repr=False)
    log_file: Path
    baud: int = 115200

    @property
    def speed(self) -> str:
        """The side that sets the speed of the line, and the speed, in words."""
        if self.url.startswith("tcp:"):
            return "the console server sets the speed of the line; expected that of the server's console"
        return f"the line runs at {self.baud} Bd; expected that of the server's console, as `baud` in the bench file"


def noise_in(text: str) -> str:
    """Say that what a console sent is no text, as on a line at another speed; empty when it may be text.

    Args:
        text: What was read: wrong bytes are U+FFFD.
    """
    wrong = sum(not (letter.isprintable() or letter in _CONTROLS) or letter == "\ufffd" for letter in text)
    if wrong < _LEAST_NOISE or wrong < len(text) * _NOISE_SHARE:
        return ""
    return f"what comes is no text ({wrong} of {len(text)} characters: {text[-_NOISE_SHOWN:]!a})"


class NoBreak(BenchFault):
    """The line cannot carry a BREAK."""


class Line(Protocol):
    """A line to a console."""

    def read(self) -> bytes:
        """Return the bytes that came; empty when nothing came for a while. Raises OSError when the line is dead."""

    def write(self, data: bytes) -> None: ...

    def send_break(self) -> None: ...

    def close(self) -> None: ...


class TcpLine:
    """Raw bytes over TCP."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), _OPEN_WITHIN_S)
        self._socket.settimeout(WRITE_WITHIN_S)

    def read(self) -> bytes:
        if not select.select([self._socket], [], [], READ_S)[0]:
            return b""
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionResetError("closed by the other end")
        return data

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def send_break(self) -> None:
        raise NoBreak("a raw TCP console carries no BREAK: use rfc2217:// or a local line")

    def close(self) -> None:
        self._socket.close()
