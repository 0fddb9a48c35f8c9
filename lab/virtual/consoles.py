"""The console server: ``python -m consoles CONFIG.json``.

One RFC 2217 port and one raw TCP port per server, which outlive the machine: QEMU connects to *us* whenever the machine
has power, so not a byte of its boot is lost. Several readers see the same line and each may type. Everything is logged
twice: as it came (``<server>.raw``) and per line with the host's time (``<server>.log``).
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from qmp import QmpError, qmp_execute
from telnet import GREETING, Decoder, escape

STUCK_READER_BYTES = 1 << 20
"""A reader that has so much unread loses output; it does not stop the line for the others."""


class Line:
    """One serial line: the machine at one end, any number of readers at the other."""

    def __init__(self, name: str, folder: Path, qmp: Path) -> None:
        self._name, self._qmp = name, qmp
        self._raw = (folder / f"{name}.raw").open("ab", buffering=0)
        self._log = (folder / f"{name}.log").open("ab", buffering=0)
        self._at_line_start = True
        self._machine: asyncio.StreamWriter | None = None
        self._readers: dict[asyncio.StreamWriter, bool] = {}  # writer -> does it speak telnet?

    async def machine(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The machine has power: this is its serial port."""
        self._machine = writer
        self._note("power on, serial line connected")
        try:
            while data := await reader.read(65536):
                self._raw.write(data)
                self._write_log(data)
                for client, telnet in list(self._readers.items()):
                    if client.transport.get_write_buffer_size() < STUCK_READER_BYTES:
                        client.write(escape(data) if telnet else data)
        except ConnectionError as error:
            self._note(str(error))
        finally:
            if self._machine is writer:
                self._machine = None
            writer.close()
            self._note("power off, serial line gone")

    async def raw(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._client(reader, writer, None)

    async def rfc2217(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GREETING)
        await self._client(reader, writer, Decoder())

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, telnet: Decoder | None) -> None:
        self._readers[writer] = telnet is not None
        try:
            while piece := await reader.read(4096):
                if telnet is None:
                    self._type(piece)
                    continue
                received = telnet.feed(piece)
                writer.write(received.reply)
                before, *after = received.data
                self._type(before)
                for data in after:  # in the client's order: the key after a BREAK is a command to the kernel
                    await self._break()
                    self._type(data)
        except ConnectionError:
            return  # this reader is gone, the others stay
        finally:
            self._readers.pop(writer, None)
            writer.close()

    def _type(self, data: bytes) -> None:
        if data and self._machine is not None:
            self._machine.write(data)

    async def _break(self) -> None:
        try:
            await qmp_execute(self._qmp, "chardev-send-break", 2.0, id="serial")
            self._note("BREAK sent")
        except QmpError as error:
            self._note(f"BREAK not sent: {error}")

    def _write_log(self, data: bytes) -> None:
        stamp = f"[{time.time():.3f}] ".encode()
        out = bytearray()
        for line in data.replace(b"\r", b"").splitlines(keepends=True):
            out += (stamp if self._at_line_start else b"") + line
            self._at_line_start = line.endswith(b"\n")
        self._log.write(out)

    def _note(self, text: str) -> None:
        self._log.write(f"{'' if self._at_line_start else chr(10)}[{time.time():.3f}] --- {text}\n".encode())
        self._at_line_start = True


async def main(config_file: Path) -> None:
    config: dict[str, Any] = json.loads(config_file.read_text())
    folder = Path(config["log_folder"])
    folder.mkdir(exist_ok=True)
    for name, server in config["servers"].items():
        line = Line(name, folder, Path(server["qmp"]))
        socket_path = Path(server["serial"])
        socket_path.unlink(missing_ok=True)
        await asyncio.start_unix_server(line.machine, socket_path)
        await asyncio.start_server(line.rfc2217, server["address"], config["rfc2217_port"])
        await asyncio.start_server(line.raw, server["address"], config["raw_port"])
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
