"""Servers that are network namespaces: the frame program runs in them as it does on a server."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from functools import partial
from ipaddress import IPv4Interface
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, cast

from niclab.bench.records import Bench, OperatingSystem, Port, Role, Wiring
from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.run.run import Run
from niclab.run.run_notes import RunNotes
from niclab.transports.ssh.ssh_job import FIRST_LINE

RELAY = Path(__file__).with_name("relay.py")
LIBRARIES = Path(__file__).resolve().parents[2] / "libraries"
ADDRESSES = {"dut.p0": "198.18.10.1", "peer.p0": "198.18.10.2", "dut.p1": "198.18.20.1", "peer.p1": "198.18.20.2"}


class Job:
    """A program in a namespace."""

    def __init__(self, command: list[str], scratch: Path) -> None:
        self.file = Path(tempfile.mkstemp(dir=scratch)[1])
        self.process = subprocess.Popen(command, stdout=self.file.open("w"), stderr=subprocess.STDOUT)

    def poll(self) -> int | None:
        return self.process.poll()

    def output(self) -> str:
        return self.file.read_text()

    def errors(self) -> str:
        return ""

    def await_begin(self, begun: str, what: str, within_s: float) -> str:
        assert begun == FIRST_LINE
        until(lambda: "\n" in self.output() or self.poll() is not None, within=within_s, what=what)
        return self.output()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class NamespaceServer:
    """The part of a server that the agent needs."""

    def __init__(self, role: Role, scratch: Path) -> None:
        self.role, self.name, self._scratch = role, role.value, scratch
        self.description = SimpleNamespace(os=OperatingSystem.LINUX)
        self.boots_seen = (0, 0, 0)
        self.holder = subprocess.Popen(
            ["unshare", "-nm", "sh", "-c", "mount -t sysfs sysfs /sys && echo ready && exec sleep infinity"],
            stdout=subprocess.PIPE,
        )
        assert self.holder.stdout is not None and self.holder.stdout.readline() == b"ready\n"
        self.ssh = SimpleNamespace(run=self._run, put_text=lambda text, file: Path(file).write_text(text))
        self.host = SimpleNamespace(
            links=SimpleNamespace(interface=self._interface),
            settings=SimpleNamespace(mtu=lambda iface: int(self.run(f"cat /sys/class/net/{iface}/mtu").stdout)),
        )

    def end(self) -> None:
        self.holder.kill()
        self.holder.communicate()

    def command(self, command: str) -> list[str]:
        return ["nsenter", "-t", str(self.holder.pid), "-n", "-m", "sh", "-c", command]

    def _run(self, command: str, timeout_s: float = 60) -> SimpleNamespace:
        done = subprocess.run(self.command(command), capture_output=True, text=True, timeout=timeout_s)
        return SimpleNamespace(stdout=done.stdout, stderr=done.stderr, succeeded=done.returncode == 0)

    def run(self, command: str, *, timeout_s: float = 60) -> SimpleNamespace:
        done = self._run(command, timeout_s)
        if not done.succeeded:
            raise BenchFault(f"{self.name}: `{command}`: {done.stdout}{done.stderr}")
        return done

    def start(self, command: str, *, limit_s: float) -> Job:
        assert limit_s > 0
        return Job(self.command(command), self._scratch)

    def carrier(self, iface: str) -> bool:
        return self.run(f"cat /sys/class/net/{iface}/operstate").stdout.strip() == "up"

    def _interface(self, iface: str) -> SimpleNamespace:
        return SimpleNamespace(mac=self.run(f"cat /sys/class/net/{iface}/address").stdout.strip())


def whole_on_the_wire(server: NamespaceServer, iface: str) -> None:
    """Let an interface send what is on the wire, which has whole checksums and frames: a relay carries it."""
    server.run(f"ethtool -K {iface} tx off tso off gso off")


class Namespaces:
    """The two servers and their cables. Ports are ``p0`` and ``p1`` on both; ``run`` is what niclab takes for a run."""

    def __enter__(self) -> Namespaces:
        self._ending = contextlib.ExitStack()
        self.scratch = Path(self._ending.enter_context(tempfile.TemporaryDirectory()))
        self.servers = {role: NamespaceServer(role, self.scratch) for role in Role}
        for server in self.servers.values():
            self._ending.callback(server.end)
        self.ports = {
            f"{role.value}.{key}": Port(role, key, "0000:01:00.0", None, None) for role in Role for key in ("p0", "p1")
        }
        self._cables()
        self.run = self._run()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.run.ending.close()
        self._ending.close()

    def _cables(self) -> None:
        """p0: a cable; p1: one that can be spoilt, see :meth:`spoil`."""
        dut, peer = (self.servers[role] for role in Role)
        dut.run(f"ip link add p0 type veth peer name p0 netns {peer.holder.pid}")
        self.faults = self.scratch / "faults"
        self.faults.write_text("")
        middle = NamespaceServer(Role.PEER, self.scratch)
        self._ending.callback(middle.end)
        for server, name in ((dut, "mid0"), (peer, "mid1")):
            server.run(f"ip link add p1 type veth peer name {name} netns {middle.holder.pid}")
            middle.run(f"ip link set {name} up promisc on")
        relay = middle.start(
            f"PYTHONPATH={LIBRARIES} exec {sys.executable} {RELAY} mid0 mid1 {self.faults}", limit_s=600
        )
        self._ending.callback(relay.stop)
        self._set_up()
        for server in self.servers.values():
            whole_on_the_wire(server, "p1")

    def _set_up(self) -> None:
        for role, server in self.servers.items():
            server.run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1; ip link set lo up")
            for key in ("p0", "p1"):
                address = ADDRESSES[f"{role.value}.{key}"]
                server.run(f"ip address add {address}/24 dev {key} && ip link set {key} up")

    def _run(self) -> Run:
        def interface(port: Port) -> str:
            return port.key

        paths = [
            SimpleNamespace(name=key, ends=(f"dut.{key}", f"peer.{key}"), through=Wiring.DIRECT) for key in ("p0", "p1")
        ]
        made = SimpleNamespace(
            interface=interface,
            bench=SimpleNamespace(
                name="namespaces",
                deviations=(),
                servers=SimpleNamespace(dut=SimpleNamespace(os=OperatingSystem.LINUX)),
                switch=None,
                paths=paths,
                port=self.ports.__getitem__,
                end=lambda path, role: self.ports[f"{role.value}.{path.name}"],
                partner=lambda port: self.ports[f"{'peer' if port.role is Role.DUT else 'dut'}.{port.key}"],
                address=lambda port: IPv4Interface(f"{ADDRESSES[port.name]}/24"),
            ),
            card=SimpleNamespace(name="veth", filters=None, errata=()),
            without_carrier=lambda ports: [port for port in ports if not self.servers[port.role].carrier(port.key)],
            shown=lambda ports: {port: self.servers[port.role].host.links.interface(port.key) for port in ports},
            server=lambda role: self.servers[role],
            server_of=lambda port: self.servers[port.role],
            ending=contextlib.ExitStack(),
            parts={},
            current_test=None,
            notes=RunNotes(self.scratch / "evidence"),
        )

        def part(kind: Any) -> Any:
            if kind not in made.parts:
                made.parts[kind] = kind(made)
            return made.parts[kind]

        made.part = part
        made.bench.deviation = partial(Bench.deviation, made.bench)
        return cast(Any, made)

    def spoil(self, word: str) -> None:
        """Let the cable between the ports p1 spoil one of every ten frames: drop, twice, swap, flip, cut, retag.

        ``swap from-0`` spoils what the dut sends alone, ``swap from-1`` what the peer sends.
        ``obeys SECONDS`` holds what the dut sends while pause frames of the peer ask for it, a quantum being so long.
        With ``card`` it cuts up and sums what the stack leaves to a card; see ``finishing.finished`` for its defects.
        """
        self.faults.write_text(word)
