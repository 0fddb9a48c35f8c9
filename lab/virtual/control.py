"""Control sockets: how ``vbench`` talks to the parts of a bench. One JSON line asks, one JSON line answers."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LINE_LIMIT_BYTES = 1 << 20


class ControlError(Exception):
    """The part does not answer, or refuses; the message is its own."""


def ask(path: Path, request: dict[str, Any], deadline_s: float = 10.0) -> dict[str, Any]:
    """Send one request and return the answer.

    Args:
        deadline_s: For all of it together, in seconds.

    Raises:
        ControlError: When nobody answers within the deadline, or the answer is ``{"error": ...}`` or none.
    """
    end = time.monotonic() + deadline_s
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(deadline_s)
            connection.connect(str(path))
            connection.sendall(json.dumps(request).encode() + b"\n")
            line = _line(connection, end)
    except TimeoutError as error:
        raise ControlError(f"{path.stem} does not answer on {path} within {deadline_s:g} s") from error
    except OSError as error:
        raise ControlError(f"{path.stem} does not answer on {path}: {error}") from error
    if not line.endswith(b"\n"):
        raise ControlError(f"{path.stem} hung up without an answer" + (f", after {line[:80]!r}" if line else ""))
    try:
        answer = json.loads(line)
    except ValueError as error:
        raise ControlError(f"{path.stem}: its answer {line[:80]!r} is not JSON") from error
    if not isinstance(answer, dict):
        raise ControlError(f"{path.stem}: its answer {line[:80]!r} is no JSON object")
    if "error" in answer:
        raise ControlError(str(answer["error"]))
    return answer


def _line(connection: socket.socket, end: float) -> bytes:
    """Receive until a line end or a hang-up, but never beyond ``end`` (monotonic) or the limit."""
    line = b""
    while not line.endswith(b"\n") and len(line) < LINE_LIMIT_BYTES:
        left_s = end - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        if not (chunk := connection.recv(65536)):
            break
        line += chunk
    return line


async def serve(path: Path, handle: Callable[[dict[str, Any]], Any]) -> asyncio.Server:
    """Answer requests on the unix socket ``path``.

    Args:
        handle: Coroutine function, request -> answer; a ``ValueError`` becomes ``{"error": ...}``.
    """

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                try:
                    request = json.loads(line)
                    if not isinstance(request, dict):
                        raise ValueError(f"{request!r} is no JSON object")
                    answer = await handle(request)
                except ValueError as error:
                    answer = {"error": str(error)}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            return  # the one who asked is gone; the next one gets a connection of his own
        finally:
            writer.close()

    path.unlink(missing_ok=True)
    return await asyncio.start_unix_server(client, path, limit=LINE_LIMIT_BYTES)
