"""Looking over what the storage tests of a card need of both servers. Nothing is loaded or started."""

from __future__ import annotations

from collections.abc import Iterator

from niclab.bench.records import OperatingSystem, Role
from niclab.commands.findings import Finding, look_at
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.storage.iscsi import iscsi_initiator, iscsi_target
from niclab.storage.multipath import multipath_maps
from niclab.storage.nfs import nfs_server
from niclab.storage.nvme import nvme_target
from niclab.storage.server_needs import Needs, missing, require_port_free

_INITIATOR = "install open-iscsi (Debian; iscsi-initiator-utils elsewhere); without it no test loads disks over iSCSI"
_TARGET = "install the modules of the kernel's own target; end whatever else listens at port 3260"
_MULTIPATH = (
    "install multipath-tools (Debian; device-mapper-multipath elsewhere), and: systemctl disable --now "
    "multipathd.socket multipathd; without it no test loses a path of disks"
)
_NVME = "install losetup (Debian: mount; util-linux elsewhere); end whatever else listens at port 4420"
_NFS = "install nfs-kernel-server (Debian; nfs-utils elsewhere), and: systemctl disable --now nfs-server"


def examine_storage(run: Run) -> Iterator[Finding]:
    """Look at what the sheet's storage tests need, where both servers run Linux: elsewhere there are none.

    Args:
        run: The run.
    """
    if any(server.description.os is not OperatingSystem.LINUX for server in run.servers.values()):
        return
    dut, peer = run.server(Role.DUT), run.server(Role.PEER)
    if run.card.iscsi is not None:
        yield look_at(dut.name, "iscsi", lambda: _has(dut, iscsi_initiator.NEEDS), _INITIATOR)
        yield look_at(peer.name, "iscsi", lambda: _target(run, peer, iscsi_target.PORT, iscsi_target.NEEDS), _TARGET)
        if len(run.bench.paths) > 1:
            yield look_at(dut.name, "multipath", lambda: _maps(dut), _MULTIPATH)
    if run.card.nvme_tcp is not None:
        yield look_at(peer.name, "nvme", lambda: _target(run, peer, nvme_target.PORT, nvme_target.NEEDS), _NVME)
    if run.card.limits.nfs is not None:
        yield look_at(dut.name, "nfs", lambda: _serves(dut), _NFS)


def _has(server: Server, needs: Needs) -> str:
    if lacks := missing(server, needs):
        raise BenchFault(f"{server.name}: has no {', '.join(lacks)}; expected {needs}")
    return str(needs)


def _target(run: Run, peer: Server, port: int, needs: Needs) -> str:
    for path in run.bench.paths:
        require_port_free(peer, run.bench.address_on(path, Role.PEER), port)
    return _has(peer, needs)


def _maps(dut: Server) -> str:
    multipath_maps.require_free(dut)
    return _has(dut, multipath_maps.NEEDS)


def _serves(dut: Server) -> str:
    nfs_server.require_free(dut)
    return str(nfs_server.NEEDS)
