"""Where the switch is, and how the servers are connected to it. Pure data, like :mod:`layout`.

Each server has two more 82574L, whichever card is under test: the ports ``p2`` and ``p3``. They lead to the switch.
"""

from __future__ import annotations

from dataclasses import dataclass

from identity import Identity
from layout import LINE_RATE_MBPS, RATE_SCALE, ROLES, Bench, Server

SNMP_PORT = 1161
USER, VIEWER = "admin", "viewer"
FIRST, COUNT = 2, 2
FIRST_ROOT_PORT_ADDRESS = 0x12  # after those of the card under test
STATE_FILES = ("switch.json", "switch-faults.json", "switch-boots")
KERNEL_OPTION = "e1000e.IntMode=1,1,1,1"
"""All four in MSI mode: QEMU 7.2 does not deliver the link interrupt of its 82574L in MSI-X mode."""


@dataclass(frozen=True)
class Uplink:
    """A port of a server that leads to the switch, and the switch's port there."""

    name: str
    pci: str
    mac: str
    switch_port: int
    root_address: int

    @property
    def udp(self) -> int:
        """UDP port of both ends: QEMU's and the switch's addresses differ."""
        return 5100 + self.switch_port

    @property
    def switch_port_name(self) -> str:
        return f"port{self.switch_port}"


def switch_address(bench_or_server: Bench | Server) -> str:
    """Where the switch takes frames, and answers SNMP."""
    address = bench_or_server.panel_address if isinstance(bench_or_server, Bench) else bench_or_server.address
    return address.rsplit(".", 1)[0] + ".50"


def uplinks(server: Server) -> tuple[Uplink, ...]:
    """The server's two ports at the switch; dut has the first two of the switch, peer the last."""
    index, number = int(server.address.split(".")[2]), ROLES.index(server.role)
    return tuple(
        Uplink(
            name=f"p{n}",
            pci=f"0000:{n + 1:02x}:00.0",
            mac=f"00:1b:21:{index:02x}:{number:02x}:{n:02x}",
            switch_port=1 + number * COUNT + n - FIRST,
            root_address=FIRST_ROOT_PORT_ADDRESS + n - FIRST,
        )
        for n in range(FIRST, FIRST + COUNT)
    )


def qemu_arguments(server: Server) -> list[str]:
    """The two network cards on QEMU's command line."""
    command = []
    for port in uplinks(server):
        slot = f"pcie-root-port,id=root-{port.name},chassis={port.root_address},addr={port.root_address:#x}"
        local = f"local.type=inet,local.host={server.address},local.port={port.udp}"
        remote = f"remote.type=inet,remote.host={switch_address(server)},remote.port={port.udp}"
        card = f"e1000e,bus=root-{port.name},netdev=net-{port.name},mac={port.mac},id={port.name},romfile="
        command += ["-device", f"{slot},x-speed=2_5,x-width=1"]
        command += ["-netdev", f"dgram,id=net-{port.name},{local},{remote}", "-device", card]
    return command


def config(bench: Bench, identity: Identity) -> dict[str, object]:
    """What the switch's process is told."""
    ports = [
        {
            "number": port.switch_port,
            "name": port.switch_port_name,
            "mac": f"02004d{bench.index:02x}00{port.switch_port:02x}",  # locally administered
            "server": server.role,
            "nic": port.name,
            "udp": port.udp,
            "qemu": [server.address, port.udp],
        }
        for server in bench.servers
        for port in uplinks(server)
    ]
    config_file, defects_file, boots_file = (str(bench.folder / name) for name in STATE_FILES)
    return {
        "address": switch_address(bench),
        "mac": f"02004d{bench.index:02x}0000",
        "serial": f"VS{bench.index:06}",
        "scale": RATE_SCALE * 1000.0 / LINE_RATE_MBPS["intel-82574l"],
        "control_socket": str(bench.folder / "switch.control"),
        "config_file": config_file,
        "defects_file": defects_file,
        "boots_file": boots_file,
        "qmp": {server.role: str(server.qmp("switch")) for server in bench.servers},
        "ports": ports,
        "snmp": {
            "port": SNMP_PORT,
            "read_community": identity.secret("VBENCH_SNMP_READ_COMMUNITY"),
            "write_community": identity.secret("VBENCH_SNMP_WRITE_COMMUNITY"),
            "user": USER,
            "viewer": VIEWER,
            "auth_password": identity.secret("VBENCH_SNMP_AUTH_PASSWORD"),
            "priv_password": identity.secret("VBENCH_SNMP_PRIV_PASSWORD"),
        },
    }
