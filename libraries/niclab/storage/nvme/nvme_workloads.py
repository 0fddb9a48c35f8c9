"""The loads of DEL-03 over NVMe over TCP: what the sheet asks for, and the disks of a controller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from niclab.bench.records import BenchPath, Role
from niclab.card import StorageFacts
from niclab.core.verdict import NotApplicable
from niclab.run.run import Run
from niclab.storage.disk_counts import OTHERS_BYTES
from niclab.storage.disk_workloads import DiskProtocol, NetworkDisks
from niclab.storage.nvme import nvme_target
from niclab.storage.nvme.nvme_host import NEEDS, attached
from niclab.storage.nvme.nvme_target import MODULES, gone, offering
from niclab.storage.server_needs import Needs, missing, require_linux
from niclab.storage.storage_figures import Binding

TOOL = "NVMe load 1"
"""In the conditions of a measurement: another number makes figures that are compared with none of the former ones."""


def require_asked(run: Run) -> StorageFacts:
    """Require that the sheet asks for loads by NVMe over TCP, and that both kernels have what these take.

    Args:
        run: The current run.

    Returns:
        What the sheet asks for.

    Raises:
        NotApplicable: It asks for none, a server does not run Linux, or a kernel has no module for it.
    """
    if run.card.nvme_tcp is None:
        raise NotApplicable(
            f"sheet {run.card.name} has no section nvme_tcp: nobody asks for NVMe over TCP by this card"
        )
    require_linux(run, "disks are offered and used by NVMe over TCP by modules of Linux")
    for role, needs in ((Role.DUT, NEEDS), (Role.PEER, Needs(modules=MODULES))):
        server = run.server(role)
        if lacks := missing(server, needs):
            raise NotApplicable(f"{server.name}: its kernel has no {', '.join(lacks)} for NVMe over TCP")
    return run.card.nvme_tcp


@contextmanager
def _attached(run: Run, path: BenchPath) -> Iterator[NetworkDisks]:
    with offering(run, path) as target, attached(run, path, target) as disks:
        yield NetworkDisks(disks.names, lambda: nvme_target.look(run, target, disks.counted), lambda: gone(run, target))


NVME = DiskProtocol("NVMe over TCP", "nvme_tcp", TOOL, Binding.NVME_TARGET, OTHERS_BYTES, _attached)
