"""The switch as a process between two made-up machines, and net-snmp's tools to ask it, for its tests."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import FakeQemu, PartProcess, own_address, short_folder, wait_for
from cable_bench import Nic

import control

ROLES = ("dut", "peer")
PORTS = {1: "dut.p0", 2: "dut.p1", 3: "peer.p0", 4: "peer.p1"}
MAC = bytes.fromhex("02004d010000")
SNMP_PORT = 1161
READ, WRITE, AUTH, PRIV = "to-read", "to-write", "auth-password", "priv-password"
A, B, C = (bytes.fromhex(f"001b2100000{n}") for n in (1, 2, 3))
BROADCAST = b"\xff" * 6

needs_net_snmp = pytest.mark.skipif(not shutil.which("snmpget"), reason="net-snmp's tools are missing (package snmp)")


def frame(to: bytes, source: bytes, text: str = "", tag: int | None = None, size: int = 60) -> bytes:
    """An Ethernet frame of an experimental type; ``tag``: its VLAN."""
    mark = b"" if tag is None else b"\x81\x00" + tag.to_bytes(2, "big")
    return (to + source + mark + b"\x88\xb5" + text.encode()).ljust(size, b"\0")


def user_frames(nic: Nic) -> list[bytes]:
    """Return what has come to the card but for the switch's own LLDP and LACP."""
    return [data for _, data in nic.take() if data[:5] != bytes.fromhex("0180c20000")]


class SwitchBench:
    """Two machines with two ports each at a switch.

    Attributes:
        nics: Number of the switch's port -> the card at its other end.
    """

    def __init__(self, folder: Path, scale: float) -> None:
        self.folder, self.address = folder, own_address(2)
        self.qemu = {role: FakeQemu(folder / f"qmp-{role}") for role in ROLES}
        self.nics: dict[int, Nic] = {}
        ports = []
        for number, far in PORTS.items():
            role, nic = far.split(".")
            cable = (own_address(ROLES.index(role)), 5000 + number)
            self.nics[number] = Nic(cable, (self.address, 5000 + number))
            mac = MAC[:5] + bytes([number])
            ports.append(
                {"number": number, "name": f"port{number}", "mac": mac.hex(), "server": role, "nic": nic}
                | {"udp": 5000 + number, "cable": cable}
            )
        files = {"control_socket": "switch.control", "config_file": "switch.json"}
        files |= {"defects_file": "switch-faults.json", "boots_file": "switch-boots"}
        logins = {"user": "admin", "viewer": "viewer", "auth_password": AUTH, "priv_password": PRIV}
        config = {
            "address": self.address,
            "mac": MAC.hex(),
            "serial": "VS-TEST",
            "speed_mbps": 1000,
            "scale": scale,
            "outlets": {role: str(qemu.path) for role, qemu in self.qemu.items()},
            "ports": ports,
            "snmp": {"port": SNMP_PORT, "read_community": READ, "write_community": WRITE, **logins},
        } | {name: str(folder / file) for name, file in files.items()}
        file = folder / "switch.config"
        file.write_text(json.dumps(config))
        self.part = PartProcess("switch", file)

    # --- control

    def ask(self, **request: Any) -> dict[str, Any]:
        return control.ask(self.folder / "switch.control", request)

    def fault(self, name: str, value: float = 1.0, target: str = "") -> None:
        self.ask(fault={"target": target, "name": name, "value": value})

    def port(self, number: int) -> dict[str, Any]:
        """Status of the port: admin, link, neighbour, faults."""
        status: dict[str, Any] = self.ask(status=True)["ports"][f"port{number}"]
        return status

    def links_are(self, *up: int) -> None:
        """Wait until these ports have their links, and no others."""
        wait_for(lambda: [n for n in PORTS if self.port(n)["link"] == "up"] == list(up), f"links {up} and no others")

    def power_on(self) -> None:
        for qemu in self.qemu.values():
            qemu.power_on()
        self.links_are(*PORTS)

    # --- frames

    def quiet(self) -> None:
        """Throw away what has come to the cards so far."""
        for nic in self.nics.values():
            nic.take()

    def settle(self) -> None:
        """Wait until the switch has read what was sent, and every wire is empty."""
        wait_for(lambda: not self.ask(status=True)["busy"], "the wires are empty")

    def arrivals(self, source: int, data: bytes) -> dict[int, bytes]:
        """Send a frame: port -> what came there of it."""
        self.quiet()
        self.nics[source].send(data)
        self.settle()
        came: dict[int, bytes] = {}
        for number, nic in self.nics.items():
            taken = user_frames(nic)
            assert len(taken) <= 1, f"port {number} got {len(taken)} frames"
            if taken:
                came[number] = taken[0]
        return came

    # --- SNMP

    def snmp(
        self, tool: str, *arguments: str, login: list[str] | None = None, within_s: int = 30
    ) -> subprocess.CompletedProcess[str]:
        """Run one of net-snmp's tools; numeric output, one attempt."""
        options = [
            "-On",
            "-t",
            str(within_s),
            "-r",
            "0",
            *(login or ["-v2c", "-c", WRITE]),
            f"{self.address}:{SNMP_PORT}",
        ]
        return subprocess.run([tool, *options, *arguments], capture_output=True, text=True, env={"MIBS": "", **PATH})

    def get(self, oid: str) -> str:
        """The value as net-snmp writes it, with its type."""
        done = self.snmp("snmpget", oid)
        assert done.returncode == 0, done.stderr
        return done.stdout.partition(" = ")[2].strip()

    def number(self, oid: str) -> int:
        return int(self.get(oid).split()[-1].strip("()"))

    def set(self, *triples: str, login: list[str] | None = None) -> str:
        """Set; what net-snmp says on standard error, nothing when it was done."""
        return self.snmp("snmpset", *triples, login=login).stderr

    def walk(self, oid: str) -> dict[str, str]:
        """Return what is below ``oid``: name -> value as net-snmp writes it."""
        done = self.snmp("snmpbulkwalk", oid)
        assert done.returncode == 0, done.stderr
        lines = [line.partition(" = ") for line in done.stdout.splitlines()]
        return {name.lstrip("."): value.strip() for name, _, value in lines if not value.startswith("No Such")}

    def restart(self) -> None:
        self.part.restart()

    def reset(self) -> None:
        """As from the factory, without defects, and nobody known."""
        for qemu in self.qemu.values():
            if not qemu.path.exists():
                qemu.power_on()
        self.ask(clear={})
        self.ask(reset={})
        for number in PORTS:
            self.ask(shut=f"port{number}")
        for number in PORTS:
            self.ask(open=f"port{number}")
        self.links_are(*PORTS)

    def close(self) -> None:
        self.part.kill()
        for qemu in self.qemu.values():
            qemu.power_off()
        for nic in self.nics.values():
            nic.close()


PATH = {"PATH": "/usr/bin:/bin"}


@contextmanager
def switch_bench(scale: float = 1.0) -> Iterator[SwitchBench]:
    """A bench whose machines have power."""
    with short_folder() as folder:
        bench = SwitchBench(folder, scale)
        try:
            bench.power_on()
            yield bench
        finally:
            bench.close()
