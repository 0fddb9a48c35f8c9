"""Control sockets: how ``vbench`` talks to the parts of a bench. One JSON line asks, one JSON line answers."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

LINE_LIMIT_BYTES = 1 << 20


class ControlError(Exception):
    """The part does not answer, or refuses; the message is its own."""


def ask(path: Path, request: dict[str, Any], deadline_s: float = 10.0) -> dict[str, Any]:
    """Send one request and return the answer.

    :raises ControlError: when nobody answers within the deadline, or the answer is ``{"error": ...}``.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(deadline_s)
            connection.connect(str(path))
            connection.sendall(json.dumps(request).encode() + b"\n")
            line = connection.makefile("rb").readline(LINE_LIMIT_BYTES)
    except OSError as error:
        raise ControlError(f"{path.stem} does not answer on {path}: {error}") from error
    if not line:
        raise ControlError(f"{path.stem} hung up without an answer")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise ControlError(str(answer["error"]))
    return answer


async def serve(path: Path, handle: Callable[[dict[str, Any]], Any]) -> asyncio.Server:
    """Answer requests on the unix socket ``path``.

    :param handle: coroutine function, request -> answer; a ``ValueError`` becomes ``{"error": ...}``.
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
