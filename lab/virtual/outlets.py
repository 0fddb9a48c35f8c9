"""The outlets at which the switch takes hold of the cables: one for each server, a unix socket.

An outlet is open while the server has power and its cables lead to the switch. It speaks as much of QEMU's control
protocol (QMP) as :class:`linkcontrol.Machine` does, so that the switch gives and takes the light of a port as if the
server hung on it directly; whether the server sees it is up to the cable, which may be pulled.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from linkcontrol import CABLE_EVENT

GREETING = b'{"QMP": {"version": {}, "capabilities": []}}\n'


class Outlet:
    """The outlet of one server.

    Args:
        give_light: Gives or takes the light at one of the server's ports, and returns when that has arrived there;
            raises ``ValueError`` when it does not arrive.
        dark: The switch has let go: no port has light.
    """

    def __init__(
        self, path: Path, give_light: Callable[[str, bool], Awaitable[None]], dark: Callable[[], None]
    ) -> None:
        self._path, self._give_light, self._dark = path, give_light, dark
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.StreamWriter] = set()

    async def keep(self, wanted: bool) -> None:
        """Be open, or closed."""
        if wanted and self._server is None:
            self._path.unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._serve, self._path)
        elif not wanted and self._server is not None:
            self._server.close()
            self._server = None
            self._path.unlink(missing_ok=True)
            for client in self._clients:
                client.close()
            self._dark()

    def cable_changed(self, port: str) -> None:
        """The cable of a port was pulled or plugged: the switch has to look again."""
        event = json.dumps({"event": CABLE_EVENT, "data": {"name": port}}).encode() + b"\n"
        for client in self._clients:
            client.write(event)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.add(writer)
        try:
            writer.write(GREETING)
            async with asyncio.TaskGroup() as answers:  # no port waits for another's
                while line := await reader.readline():
                    answers.create_task(self._answer(json.loads(line), writer))
        except* (ConnectionError, ValueError):
            writer.close()
        finally:
            self._clients.discard(writer)
            writer.close()
            self._dark()

    async def _answer(self, request: dict[str, object], writer: asyncio.StreamWriter) -> None:
        answer: dict[str, object] = {"return": {}}
        match request:
            case {"execute": "qmp_capabilities"}:
                pass
            case {"execute": "set_link", "arguments": {"name": str(port), "up": bool(up)}}:
                try:
                    await self._give_light(port, up)
                except ValueError as error:
                    answer = {"error": {"class": "GenericError", "desc": str(error)}}
            case _:
                answer = {"error": {"class": "CommandNotFound", "desc": f"not understood: {request!r}"}}
        if "id" in request:
            answer["id"] = request["id"]
        writer.write(json.dumps(answer).encode() + b"\n")
