"""A small client of QEMU's machine protocol (QMP: docs/interop/qmp-spec of QEMU), in both styles.

A QMP socket serves **one** client at a time: a second one gets a connection and no greeting. So connect per call,
always with a deadline, and give each user a socket of its own.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

LINE_LIMIT_BYTES = 16 * 1024 * 1024
"""Longest accepted line; the longest real answer (query-qmp-schema) is below 1 MiB."""


class QmpError(Exception):
    """QEMU refused the command, or said something that is not QMP."""


class QmpUnreachable(QmpError):
    """No QEMU behind the socket, or it did not answer before the deadline, or it hung up."""


class Qmp:
    """A connection: ``with Qmp(path, deadline_s=2) as qmp: qmp.execute("query-status")``.

    Args:
        deadline_s: For the connecting, and again for each command, in seconds.
    """

    def __init__(self, path: Path, deadline_s: float) -> None:
        self._path = path
        self._deadline_s = deadline_s
        self._buffer = b""
        self._socket = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> Self:
        try:
            end = time.monotonic() + self._deadline_s
            self._step(lambda: self._socket.connect(str(self._path)), end)
            _check_greeting(self._path, self._line(end))
            self._execute("qmp_capabilities", {}, end)
        except BaseException:
            self._socket.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._socket.close()

    def execute(self, command: str, **arguments: Any) -> Any:
        """Run a command; return what QEMU returns (usually a dict, often empty).

        Raises:
            QmpError: When QEMU refuses it.
            QmpUnreachable: When there is no answer within the deadline.
        """
        return self._execute(command, arguments, time.monotonic() + self._deadline_s)

    def _execute(self, command: str, arguments: dict[str, Any], end: float) -> Any:
        self._step(lambda: self._socket.sendall(_request(command, arguments)), end)
        while (answer := _answer(self._path, command, self._line(end))) is None:
            pass
        return answer["return"]

    def _line(self, end: float) -> bytes:
        while b"\n" not in self._buffer:
            chunk = self._step(lambda: self._socket.recv(65536), end)
            if not chunk:
                raise QmpUnreachable(f"{self._path}: QEMU hung up")
            self._buffer += chunk
            if len(self._buffer) > LINE_LIMIT_BYTES:
                raise QmpError(f"{self._path}: a line of more than {LINE_LIMIT_BYTES} bytes")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _step(self, do: Any, end: float) -> Any:
        """Do one socket operation, never beyond ``end``."""
        left_s = end - time.monotonic()
        try:
            if left_s <= 0:
                raise TimeoutError
            self._socket.settimeout(left_s)
            return do()
        except TimeoutError as error:
            raise _late(self._path, self._deadline_s) from error
        except OSError as error:
            raise QmpUnreachable(f"{self._path}: {error}") from error


async def qmp_execute(path: Path, command: str, deadline_s: float, **arguments: Any) -> Any:
    """Connect, run one command, hang up; return what QEMU returns.

    Args:
        deadline_s: For all of it together, in seconds.

    Raises:
        QmpError: When QEMU refuses it.
        QmpUnreachable: When there is no answer within the deadline.
    """
    try:
        async with asyncio.timeout(deadline_s):
            reader, writer = await asyncio.open_unix_connection(path, limit=LINE_LIMIT_BYTES)
            try:
                _check_greeting(path, await _read_line(path, reader))
                writer.write(_request("qmp_capabilities", {}))
                while _answer(path, "qmp_capabilities", await _read_line(path, reader)) is None:
                    pass
                writer.write(_request(command, arguments))
                while (answer := _answer(path, command, await _read_line(path, reader))) is None:
                    pass
                return answer["return"]
            finally:
                writer.close()
    except TimeoutError as error:
        raise _late(path, deadline_s) from error
    except OSError as error:
        raise QmpUnreachable(f"{path}: {error}") from error


async def _read_line(path: Path, reader: asyncio.StreamReader) -> bytes:
    try:
        line = await reader.readline()
    except ValueError as error:  # longer than the limit
        raise QmpError(f"{path}: {error}") from error
    if not line:
        raise QmpUnreachable(f"{path}: QEMU hung up")
    return line


def _request(command: str, arguments: dict[str, Any]) -> bytes:
    request = {"execute": command, "arguments": arguments} if arguments else {"execute": command}
    return json.dumps(request).encode() + b"\n"


def _check_greeting(path: Path, line: bytes) -> None:
    if "QMP" not in _message(path, line):
        raise QmpError(f"{path}: {line[:80]!r} is not the greeting of QMP")


def _answer(path: Path, command: str, line: bytes) -> dict[str, Any] | None:
    """The answer in this line, or ``None`` when the line tells of an event."""
    message = _message(path, line)
    if "event" in message:
        return None
    if "error" in message:
        raise QmpError(f"{path}: {command}: {message['error']}")
    if "return" not in message:
        raise QmpError(f"{path}: {command}: {line[:80]!r} is no answer of QMP")
    return message


def _message(path: Path, line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError as error:
        raise QmpError(f"{path}: {line[:80]!r} is not JSON") from error
    if not isinstance(message, dict):
        raise QmpError(f"{path}: {line[:80]!r} is not a message of QMP")
    return message


def _late(path: Path, deadline_s: float) -> QmpUnreachable:
    return QmpUnreachable(f"{path}: no answer within {deadline_s:g} s (QEMU stopped, or another client is connected)")
