"""The cables as a process between two made-up machines, for their tests."""

from __future__ import annotations

import json
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench_fakes import FakeQemu, PartProcess, own_address, short_folder, wait_for

import control

SO_TIMESTAMPNS = 35  # asm-generic/socket.h; the socket module does not name it
ROLES = ("dut", "peer")


class Nic:
    """A port of a machine: what QEMU's ``-netdev dgram`` is."""

    def __init__(self, address: tuple[str, int], panel: tuple[str, int]) -> None:
        self._panel = panel
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.bind(address)
        self._socket.setblocking(False)

    def send(self, frame: bytes) -> None:
        self._socket.sendto(frame, self._panel)

    def take(self) -> list[tuple[float, bytes]]:
        """The frames that are here now, each with the moment (``time.time()``) at which it came."""
        frames = []
        while select.select([self._socket], [], [], 0)[0]:
            frame, extra, _, _ = self._socket.recvmsg(65536, 64)
            (_, _, stamp), *_ = extra
            seconds, nanoseconds = struct.unpack("ll", stamp)
            frames.append((seconds + nanoseconds * 1e-9, frame))
        return frames

    def next(self, within_s: float = 20.0) -> bytes:
        """The next frame, which must come."""
        assert select.select([self._socket], [], [], within_s)[0], f"no frame within {within_s:g} s"
        return self._socket.recv(65536)

    def close(self) -> None:
        self._socket.close()


class CableBench:
    """Two machines with two ports each, and the process that lies between.

    Attributes:
        nics: Port name (``dut.p0``) -> its socket.
        at_switch: Port name -> the socket of a made-up switch's port for it.
    """

    def __init__(
        self, folder: Path, rate_mbps: float, paced: bool = True, keeps_light: bool = True, second: bool = False
    ) -> None:
        hosts = [own_address(4 * second + host) for host in range(4)]
        self.qemu = {role: FakeQemu(folder / f"qmp-{role}") for role in ROLES}
        self.nics: dict[str, Nic] = {}
        self.at_switch: dict[str, Nic] = {}
        self.outlets = {role: folder / f"outlet-{role}" for role in ROLES}
        panel = hosts[2]
        cables: dict[str, Any] = {
            name: {"rate_mbps": rate_mbps, "paced": paced, "keeps_light": keeps_light, "ends": []} for name in "ab"
        }
        for number, role in enumerate(ROLES):
            for n, cable in enumerate(cables.values()):
                udp, panel_udp = 5000 + n, 5000 + 10 * number + n
                self.nics[f"{role}.p{n}"] = Nic((hosts[number], udp), (panel, panel_udp))
                ways = {"qemu_udp": udp, "panel_udp": panel_udp}
                ways |= {"uplink_udp": 200 + panel_udp, "switch_udp": 100 + panel_udp}
                self.at_switch[f"{role}.p{n}"] = Nic((hosts[3], 100 + panel_udp), (panel, 200 + panel_udp))
                cable["ends"].append({"server": role, "port": f"p{n}"} | ways)
        self._control = folder / "cables.control"
        config = {
            "address": panel,
            "switch_address": hosts[3],
            "control_socket": str(self._control),
            "state_file": str(folder / "cables.json"),
            "servers": {
                role: {
                    "qmp": str(self.qemu[role].path),
                    "address": hosts[n],
                    "outlet": str(self.outlets[role]),
                }
                for n, role in enumerate(ROLES)
            },
            "cables": cables,
        }
        file = folder / "cables.config"
        file.write_text(json.dumps(config))
        self.part = PartProcess("cables", file)

    def ask(self, **request: Any) -> dict[str, Any]:
        return control.ask(self._control, request)

    @contextmanager
    def asked(self, **request: Any) -> Iterator[None]:
        """A request that takes its time; nobody waits for the answer."""
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(self._control))
            asking.sendall(json.dumps(request).encode() + b"\n")
            yield

    def fault(self, target: str, name: str, value: float = 1.0) -> None:
        self.ask(fault={"target": target, "name": name, "value": value})

    def end(self, port: str) -> dict[str, Any]:
        """Status of the end at ``port``: carrier, frames, dropped, faults."""
        cables = self.ask(status=True)["cables"].values()
        status: dict[str, Any] = next(cable["ends"][port] for cable in cables if port in cable["ends"])
        return status

    def power_on(self, *roles: str) -> None:
        """Power on, and wait until the machines have been told the state of both their links."""
        for role in roles:
            self.qemu[role].power_on()
        for role in roles:
            self._told(role, lambda links: len(links) == 2, "its links")

    def links_become(self, **links: dict[str, bool]) -> None:
        """Wait until each machine has been told these links, and no others."""
        for role, wanted in links.items():
            self._told(role, wanted.__eq__, str(wanted))

    def _told(self, role: str, enough: Callable[[dict[str, bool]], bool], what: str) -> None:
        wait_for(lambda: enough(self.qemu[role].links()), f"{role} is reported {what}")

    def carries(self, source: str, target: str) -> None:
        """A frame from ``source`` arrives at ``target``, and nowhere else."""
        mark = f"{source} to {target}".encode().ljust(60)
        self.nics[source].send(mark)
        assert self.nics[target].next() == mark
        assert [port for port, nic in self.nics.items() if nic.take()] == []

    def settled(self, source: str, sent: int) -> dict[str, Any]:
        """Wait until each of the ``sent`` frames has been carried or dropped; status of that end."""

        def all_counted() -> dict[str, Any] | None:
            end = self.end(source)
            return end if end["frames"] + end["dropped"] >= sent else None

        return wait_for(all_counted, f"{sent} frames from {source} are carried or dropped")

    def restart(self) -> None:
        """The process dies and is started again; the machines count as told nothing."""
        for qemu in self.qemu.values():
            qemu.commands.clear()
        self.part.restart()

    def close(self) -> None:
        self.part.kill()
        for qemu in self.qemu.values():
            qemu.power_off()
        for nic in (*self.nics.values(), *self.at_switch.values()):
            nic.close()


@contextmanager
def cable_bench(
    rate_mbps: float = 50.0,
    powered: tuple[str, ...] = ROLES,
    paced: bool = True,
    keeps_light: bool = True,
    second: bool = False,
) -> Iterator[CableBench]:
    """A bench with these machines powered on.

    Args:
        paced: The cables keep wire time, and not the cards.
        keeps_light: The cards take their light when a port is down; else the cables look for that.
        second: There is another such bench at the same time.
    """
    with short_folder() as folder:
        bench = CableBench(folder, rate_mbps, paced, keeps_light, second)
        try:
            bench.power_on(*powered)
            yield bench
        finally:
            bench.close()


def wire_mbps(bench: CableBench, source: str, target: str, frame_bytes: int, for_s: float = 2.0) -> float:
    """Offer more than the wire takes for a while; the rate at which it came out, in Mbit/s of wire time.

    Counted is what the wire is busy with: every frame and the 24 bytes of FCS, preamble and gap (IEEE 802.3).
    """
    sender, receiver = bench.nics[source], bench.nics[target]
    receiver.take()
    frame, arrivals = b"x" * frame_bytes, []
    end = time.monotonic() + for_s
    while time.monotonic() < end:
        for _ in range(20):
            sender.send(frame)
        select.select([receiver._socket], [], [], 0.002)
        arrivals += [at for at, _ in receiver.take()]
    assert len(arrivals) > 20
    return (len(arrivals) - 1) * (frame_bytes + 24) * 8 / (arrivals[-1] - arrivals[0]) / 1e6
