"""what a console gets, what a line to one can do, and the line that needs no serial port: raw TCP."""

from __future__ import annotations

import re
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
_WORD = re.compile(r"[A-Za-z]{4,}")
_WORD_SHARE = 0.25
"""Assumption: letters of words for each wrong character. A screen with frames in code page 437 has more; octets of
another speed make a word of four letters once in 600."""
_NOISE_SHOWN = 40
_LAST_SHOWN = 200
_SPEED_EXPECTED = "expected that of the server's console (a getty with several speeds changes its own at a BREAK)"
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~])?")


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
            return f"the console server sets the speed of the line; {_SPEED_EXPECTED}"
        return f"the line runs at {self.baud} Bd; {_SPEED_EXPECTED}, as `baud` in the bench file"


def heard_in(text: str) -> str:
    """Say what a console sent, for the message that it did not say what was waited for.

    Args:
        text: What was read: wrong bytes are U+FFFD.

    Returns:
        The last words; that it is no text, as on a line at another speed; or that nothing came.
    """
    if not text.strip():
        return "nothing came"
    if wrong := _noise(text):
        return f"what comes is no text ({wrong} of {len(text)} characters: {text[-_NOISE_SHOWN:]!a})"
    words = " ".join(_ESCAPE.sub(" ", text).split())
    return f"it last said {words[-_LAST_SHOWN:]!a}"


def _noise(text: str) -> int:
    """Count the characters that are no text; 0 when it may be text all the same."""
    wrong = sum(not (letter.isprintable() or letter in _CONTROLS) or letter == "\ufffd" for letter in text)
    words = sum(len(word) for word in _WORD.findall(text))
    return wrong if wrong >= max(_LEAST_NOISE, len(text) * _NOISE_SHARE) and words < wrong * _WORD_SHARE else 0


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
