"""Link control of a machine: carrier is given and taken over QEMU's control protocol (QMP), by ``set_link``."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qmp import QmpError, QmpUnreachable

QMP_DEADLINE_S = 2.0
CABLE_EVENT = "NICLAB_CABLE_CHANGED"
"""Event of an outlet (see :mod:`outlets`) when the cable in it was pulled or plugged: no machine knows it."""


class Machine:
    """The link control (QMP) of one server; it exists while the server has power."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: asyncio.StreamWriter | None = None
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.carrier: dict[str, bool] = {}
        """Port -> carrier as taken by *this* QEMU: one that starts has every link up and has been told nothing."""

    @property
    def powered(self) -> bool:
        return self._writer is not None

    async def watch(self, changed: Callable[[], None]) -> None:
        """Keep a connection for as long as there is a QEMU; call ``changed()`` when power comes or goes.

        It is called as well when a machine that stood still gives a late answer: by then it may have to be set again.
        """
        while True:
            try:
                reader, writer = await asyncio.open_unix_connection(self._path)
            except OSError:
                await asyncio.sleep(0.05)  # no machine: look again
                continue
            try:
                await reader.readline()  # the greeting
                writer.write(b'{"execute": "qmp_capabilities"}\n')
                await reader.readline()
                self._writer = writer
                changed()
                while line := await reader.readline():
                    message = json.loads(line)
                    if message.get("event") == CABLE_EVENT:
                        self.carrier.pop(message["data"]["name"], None)
                        changed()
                    elif "event" not in message and not self._answered(message):
                        changed()
            except (OSError, ValueError) as error:
                print(f"{self._path}: {error}", file=sys.stderr, flush=True)
            finally:
                writer.close()
                self._writer, self.carrier = None, {}
                for number in list(self._waiting):
                    self._answered({"id": number, "error": "QEMU hung up"})
                changed()

    def _answered(self, message: dict[str, Any]) -> bool:
        """Give the answer to the one who waits for it; tell whether there is one."""
        waiting = self._waiting.pop(message.get("id", -1), None)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(message)
        return True

    async def set_link(self, port: str, up: bool) -> None:
        """Give or take carrier at ``port``.

        Raises:
            QmpUnreachable: When the machine has no power or does not answer.
            QmpError: When QEMU refuses.
        """
        carrier = self.carrier
        carrier.pop(port, None)  # nobody knows it until the answer is here
        await self.execute("set_link", name=port, up=up)
        carrier[port] = up

    async def execute(self, command: str, **arguments: Any) -> Any:
        """Run a command of QMP; return what QEMU returns.

        Raises:
            QmpUnreachable: When the machine has no power or does not answer.
            QmpError: When QEMU refuses.
        """
        if self._writer is None:
            raise QmpUnreachable(f"{self._path}: no power")
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        request = {"execute": command, "arguments": arguments, "id": number}
        self._writer.write(json.dumps(request).encode() + b"\n")
        try:
            message = await asyncio.wait_for(answer, QMP_DEADLINE_S)
        except TimeoutError as error:
            raise QmpUnreachable(f"{self._path}: no answer within {QMP_DEADLINE_S:g} s") from error
        finally:
            self._waiting.pop(number, None)
        if "error" in message:
            raise QmpError(f"{self._path}: {command} {arguments.get('name', '')}: {message['error']}")
        return message.get("return")
