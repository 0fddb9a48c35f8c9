"""Lines to consoles: a serial port of this machine, one behind an RFC 2217 server, and raw TCP."""

from __future__ import annotations

import queue
from urllib.parse import urlsplit

import serial

from niclab.core.verdict import BenchFault
from niclab.transports.console.console_line import READ_S, WRITE_WITHIN_S, ConsoleEndpoint, Line, TcpLine

_BREAK_S = 0.25


class LocalLine:
    """A serial port of this machine, locked: two readers would each get a part of what comes."""

    def __init__(self, path: str, baud: int) -> None:
        self._port = serial.serial_for_url(
            path, baudrate=baud, timeout=READ_S, write_timeout=WRITE_WITHIN_S, exclusive=True
        )

    def read(self) -> bytes:
        data: bytes = self._port.read(max(1, self._port.in_waiting))
        return data

    def write(self, data: bytes) -> None:
        self._port.write(data)
        self._port.flush()

    def send_break(self) -> None:
        self._port.send_break(_BREAK_S)

    def close(self) -> None:
        self._port.close()


class Rfc2217Line:
    """A serial port behind an RFC 2217 server. Writes time out after pyserial's own 5 s."""

    def __init__(self, host: str, port: int, baud: int) -> None:
        # Servers on a pty, ser2net among them, never answer for the modem control lines: ign_set_control.
        # The read timeout is set here once: setting it later makes both ends negotiate again, 150 ms each time.
        url = f"rfc2217://{host}:{port}?ign_set_control"
        self._port = serial.serial_for_url(url, baudrate=baud, timeout=READ_S)

    def read(self) -> bytes:
        # pyserial 3.5 raises once its own thread has ended, and drops what it held or had taken: so one byte is asked
        # of it, and the rest is taken from its queue (a byte an item, None at the end)
        try:
            first: bytes = self._port.read(1)
        except OSError:
            first = self._queued()
            if not first:
                raise
            return first
        return first + self._queued()

    def _queued(self) -> bytes:
        pieces: queue.Queue[bytes | None] = self._port._read_buffer  # type: ignore[attr-defined]  # private to it, see read()
        data = bytearray()
        while True:
            try:
                data += pieces.get_nowait() or b""
            except queue.Empty:
                return bytes(data)

    def write(self, data: bytes) -> None:
        self._port.write(data)

    def send_break(self) -> None:
        self._port.send_break(_BREAK_S)

    def close(self) -> None:
        self._port.close()


def open_line(endpoint: ConsoleEndpoint) -> Line:
    """Open the line of a console.

    Args:
        endpoint: The console.

    Raises:
        OSError: The line cannot be opened.
        ValueError: pyserial refuses a setting.
        BenchFault: Its URL is none.
    """
    if endpoint.url.startswith("/"):
        return LocalLine(endpoint.url, endpoint.baud)
    try:
        parts = urlsplit(endpoint.url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("tcp", "rfc2217") or not host or not port:
        raise BenchFault(
            f"{endpoint.name}: console url {endpoint.url!r}; expected rfc2217://host:port, tcp://host:port or /dev/..."
        )
    if parts.scheme == "tcp":
        return TcpLine(host, port)
    return Rfc2217Line(host, port, endpoint.baud)
