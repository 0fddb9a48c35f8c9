"""The layout of a bench: names, addresses, ports, files. Pure data; nothing here starts or opens anything.

A bench has an index 1..254, taken from its name, and with it addresses of its own on the loopback network
(127.77.<index>.x), so that several benches coexist, as root or not, without name spaces. If two names ever get the same
index, the second ``up`` says that the addresses are taken.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import cardmodel
import image
from cardmodel import Card
from nvram import Place

STATE = Path("~/.local/state/niclab/vbench").expanduser()
JOURNALS = Path("~/.local/state/niclab/journal").expanduser()
"""The undo journal of each bench that runs of niclab use, and its state before the last of them: ``NAME.*``."""
DEFAULT_NAME = "virtual"
ROLES = ("dut", "peer")
LINUX, DEBIAN13, FREEBSD = "linux", "debian13", "freebsd"
RPM_TOOLS = {"rpm-dnf": "dnf", "rpm-zypper": "zypper"}
"""Systems of the rpm family -> the tool that changes packages there."""
SUITES = {LINUX: image.BOOKWORM, DEBIAN13: image.TRIXIE, FREEBSD: image.BOOKWORM}
SUITES |= dict.fromkeys(RPM_TOOLS, image.BOOKWORM_RPM)
"""Operating systems that a server can run, or whose dialect it can speak -> the image that it boots."""
SYSTEMS = tuple(SUITES)
SSH_PORT, IPMI_PORT, REDFISH_PORT, RFC2217_PORT, RAW_CONSOLE_PORT = 2222, 6230, 8443, 7000, 7001
SOCKET_PATH_LIMIT = 107  # sun_path of unix(7), less its terminating zero


class LayoutError(Exception):
    """A name that cannot be a bench's, or a state folder that cannot hold sockets."""


@dataclass(frozen=True)
class Port:
    """A network port of the card in a server's slot."""

    name: str
    pci: str
    mac: str
    cable: str
    qemu_udp: int
    panel_udp: int
    place: Place

    @property
    def wire_mac(self) -> str:
        """MAC address of the virtio-net that is the wire of a virtual card's port; it is never seen on the wire."""
        return f"02:76:63:00:{self.place.slot:02x}:{self.place.port:02x}"


@dataclass(frozen=True)
class Server:
    """One of the two machines with its card, its BMC and its line of the console server."""

    role: str
    card: Card
    folder: Path
    address: str
    bmc_address: str
    console_address: str
    ports: tuple[Port, ...]
    system: str = LINUX

    @property
    def suite(self) -> str:
        """The image that it boots, by its release of Debian."""
        return SUITES[self.system]

    @property
    def disk(self) -> Path:
        """Its system disk: one of its own for each system, and of FreeBSD for each card."""
        of_card = f"-{self.card.name}" if self.system == FREEBSD else ""
        return self.folder / ("disk.qcow2" if self.system == LINUX else f"disk-{self.system}{of_card}.qcow2")

    @property
    def nvram(self) -> Path:
        """The memory of its virtual card. A card keeps its own: one that is put in again finds its firmware."""
        return self.folder / f"nvram-{self.card.name}"

    @property
    def serial(self) -> str:
        """Serial number of its virtual card."""
        return f"VB{zlib.crc32(str(self.nvram).encode()):08X}"

    def qmp(self, user: str) -> Path:
        """QEMU's control socket for ``user`` (bmc, console, cables): each serves one client."""
        return self.folder / f"qmp-{user}"

    @property
    def outlet(self) -> Path:
        """The outlet at which the switch takes hold of the server's cables; see :mod:`outlets`."""
        return self.folder / "outlet"

    @property
    def console_log(self) -> Path:
        """The output of its serial line, with the host's time before each line."""
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


def bench(
    name: str = DEFAULT_NAME, cards: Mapping[str, Card] | None = None, systems: Mapping[str, str] | None = None
) -> Bench:
    """The layout of the bench called ``name``.

    Args:
        cards: Role -> the card in that server's slot; without it both carry an 82574L of QEMU's.
        systems: Role -> the operating system of that server; Linux where it is not named.

    Raises:
        LayoutError: When the name is not of 1 to 20 lower-case letters, digits and dashes, or paths get too long.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,19}", name):
        raise LayoutError(f"bench name {name!r}; expected 1 to 20 lower-case letters, digits and dashes")
    index = 1 if name == DEFAULT_NAME else 2 + zlib.crc32(name.encode()) % 253
    folder = STATE / name
    if len(os.fsencode(folder / "peer/qmp-console")) > SOCKET_PATH_LIMIT:
        raise LayoutError(
            f"{folder} is too long for unix sockets ({SOCKET_PATH_LIMIT} bytes): choose a shorter name or HOME"
        )
    servers = tuple(
        replace(
            _server(role, number, index, folder, cards[role] if cards else cardmodel.card(cardmodel.DEFAULT)),
            system=(systems or {}).get(role, LINUX),
        )
        for number, role in enumerate(ROLES)
    )
    return Bench(name, index, folder, servers)


def _server(role: str, number: int, index: int, folder: Path, card: Card) -> Server:
    ports = tuple(
        Port(
            name=f"p{n}",
            pci=pci,
            mac=f"{card.mac_prefix}:{index:02x}:{number:02x}:{n:02x}",
            cable="ab"[n],
            qemu_udp=5000 + n,
            panel_udp=5000 + 10 * number + n,
            place=card.places[n],
        )
        for n, pci in enumerate(card.pci)
    )
    net = f"127.77.{index}."
    return Server(role, card, folder / role, f"{net}{10 + number}", f"{net}{20 + number}", f"{net}{30 + number}", ports)
