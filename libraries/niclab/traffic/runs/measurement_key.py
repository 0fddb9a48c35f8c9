"""Under which conditions a throughput was measured: the key by which it is compared with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from niclab.bench.records import Port, Role
from niclab.core.verdict import BenchFault
from niclab.hosts.host_records import OsRelease, PcieLink
from niclab.run.driver_in_use import package_in_words
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.stats.measurements import Key
from niclab.traffic.runs.endpoints import Ends
from niclab.traffic.tools.tool import Order
from niclab.traffic.tools.tool_choice import tool_of

_NOT_SAID = "not said"
"""Version of a driver or firmware whose tool reports none: two such count as the same."""


@dataclass(frozen=True)
class _System:
    """The software of a server.

    ``boots``: how often it had been started by then; it stays the same between two starts. ``package``: of the driver,
    with a comma before it; empty where the driver came with the system.
    """

    boots: tuple[int, int]
    os: str
    kernel: str
    tool: str
    package: str


class Systems:
    """The software of the servers of a run, read once after each start. A part of the run.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[Role, _System] = {}

    def of(self, server: Server) -> _System:
        """Return what a server runs.

        Args:
            server: The server.

        Raises:
            BenchFault: It does not answer, or the bench's tool is not installed.
        """
        boots, known = (server.boots_ordered, len(server.recoveries)), self._known.get(server.role)
        if known is None or known.boots != boots:
            program = tool_of(self._run.bench.traffic).programs[0]
            found = server.host.system.software((program,))
            version = found.tools[program]
            if version is None:
                raise BenchFault(
                    f"{server.name}: {program} is not installed; expected the traffic tool of bench "
                    f"{self._run.bench.name}"
                )
            package = package_in_words(self._run, server.role)
            known = _System(
                boots, _os(found.release), found.kernel, f"{program} {version}", f", {package}" if package else ""
            )
            self._known[server.role] = known
        return known


def key_of(run: Run, ends: Ends, path: str, order: Order, links: Mapping[Role, PcieLink | None]) -> Key:
    """The conditions of measurements with ``order`` over ``path``.

    Args:
        run: The run.
        ends: The sending and the receiving end.
        path: The path of the bench.
        order: What is sent, and for how long.
        links: Of the card of each server; None when it sits on conventional PCI.

    Raises:
        BenchFault: When one of them cannot be read.
    """
    dut, peer = (ends.from_port, ends.to_port) if ends.from_port.role is Role.DUT else (ends.to_port, ends.from_port)
    server, link = run.server_of(dut), links[Role.DUT]
    info = server.host.drivers.driver_info(run.interface(dut))
    system = run.part(Systems).of(server)
    mtu = ends.sender.host.links.interface(run.interface(ends.from_port)).mtu
    return Key(
        card=run.card.name,
        firmware=info.firmware or _NOT_SAID,
        driver=f"{info.driver} {info.version or _NOT_SAID}{system.package}",
        slot=dut.pci,
        pcie_link=f"{link.gts:g} GT/s x{link.width}" if link else "conventional PCI",
        os=system.os,
        kernel=system.kernel,
        peer=_peer(run, peer, links[Role.PEER]),
        tool=run.part(Systems).of(ends.sender).tool,
        parameters={**order.parameters, "path": path, "sender": ends.from_port.role.value, "mtu": str(mtu)},
    )


def _os(release: OsRelease) -> str:
    return release.pretty_name or " ".join(filter(None, (release.id, release.version_id)))


def _peer(run: Run, port: Port, link: PcieLink | None) -> str:
    host, system = run.server_of(port).host, run.part(Systems).of(run.server_of(port))
    info = host.drivers.driver_info(run.interface(port))
    driver = f"{info.driver} {info.version or _NOT_SAID}{system.package}, firmware {info.firmware or _NOT_SAID}"
    card = link.downstream if link else host.pci.device(port.pci)
    return f"{card.vendor_id}:{card.device_id}, {driver}, {system.os}, {system.kernel}"
