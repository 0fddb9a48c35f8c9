"""Where everything of a bench is: names, addresses, ports, files. Pure data; nothing here starts or opens anything.

A bench has an index 1..254, taken from its name, and with it addresses of its own on the loopback network
(127.77.<index>.x), so that several benches coexist, as root or not, without name spaces. If two names ever get the same
index, the second ``up`` says that the addresses are taken.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

STATE = Path("~/.local/state/niclab/vbench").expanduser()
DEFAULT_NAME = "virtual"
ROLES = ("dut", "peer")
SSH_PORT, IPMI_PORT, REDFISH_PORT, RFC2217_PORT, RAW_CONSOLE_PORT = 2222, 6230, 8443, 7000, 7001
LINE_RATE_MBPS = {"intel-82574l": 1000.0}
RATE_SCALE = 20
"""Cables run at line rate / 20: 50 Mbit/s for a 1 Gbit/s card, which an emulated processor carries with ease."""
SOCKET_PATH_LIMIT = 107  # sun_path of unix(7), less its terminating zero


class LayoutError(Exception):
    """A name that cannot be a bench's, or a state folder that cannot hold sockets."""


@dataclass(frozen=True)
class Port:
    """A network port of a server: one 82574L behind a root port of its own."""

    name: str
    pci: str
    mac: str
    cable: str
    qemu_udp: int
    panel_udp: int


@dataclass(frozen=True)
class Server:
    """One of the two machines with its BMC and its line of the console server."""

    role: str
    folder: Path
    address: str
    bmc_address: str
    console_address: str
    ports: tuple[Port, ...]

    def qmp(self, user: str) -> Path:
        """QEMU's control socket for ``user`` (bmc, console, cables, switch): each serves one client."""
        return self.folder / f"qmp-{user}"

    @property
    def console_log(self) -> Path:
        """What its serial line said, with the host's time before each line."""
        return self.folder.parent / "console" / f"{self.role}.log"


@dataclass(frozen=True)
class Bench:
    """A bench of the given name; see :func:`bench`."""

    name: str
    index: int
    folder: Path
    servers: tuple[Server, ...]

    @property
    def panel_address(self) -> str:
        return f"127.77.{self.index}.40"

    def server(self, role: str) -> Server:
        return next(server for server in self.servers if server.role == role)

    @property
    def cables(self) -> dict[str, list[tuple[Server, Port]]]:
        """Cable name -> its two ends."""
        ends: dict[str, list[tuple[Server, Port]]] = {}
        for server in self.servers:
            for port in server.ports:
                ends.setdefault(port.cable, []).append((server, port))
        return ends


def bench(name: str = DEFAULT_NAME) -> Bench:
    """The layout of the bench called ``name``.

    :raises LayoutError: when the name is not of 1 to 20 lower-case letters, digits and dashes, or paths get too long.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,19}", name):
        raise LayoutError(f"bench name {name!r}: wanted 1 to 20 lower-case letters, digits and dashes")
    index = 1 if name == DEFAULT_NAME else 2 + zlib.crc32(name.encode()) % 253
    folder = STATE / name
    if len(os.fsencode(folder / "peer/qmp-console")) > SOCKET_PATH_LIMIT:
        raise LayoutError(
            f"{folder} is too long for unix sockets ({SOCKET_PATH_LIMIT} bytes): choose a shorter name or HOME"
        )
    return Bench(name, index, folder, tuple(_server(role, number, index, folder) for number, role in enumerate(ROLES)))


def _server(role: str, number: int, index: int, folder: Path) -> Server:
    ports = tuple(
        Port(
            name=f"p{n}",
            pci=f"0000:{n + 1:02x}:00.0",
            mac=f"00:1b:21:{index:02x}:{number:02x}:{n:02x}",  # 00:1b:21 is one of Intel's
            cable="ab"[n],
            qemu_udp=5000 + n,
            panel_udp=5000 + 10 * number + n,
        )
        for n in range(2)
    )
    net = f"127.77.{index}."
    return Server(role, folder / role, f"{net}{10 + number}", f"{net}{20 + number}", f"{net}{30 + number}", ports)
