"""The three loads of DEL-03 over iSCSI: what the sheet asks for, and the disks of a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from niclab.bench.records import BenchPath
from niclab.card import StorageFacts
from niclab.core.verdict import NotApplicable
from niclab.run.run import Run
from niclab.storage.disk_counts import WHOLE_MIB
from niclab.storage.disk_workloads import DiskProtocol, NetworkDisks
from niclab.storage.iscsi import iscsi_counts
from niclab.storage.iscsi.iscsi_initiator import attached, require_installed
from niclab.storage.iscsi.iscsi_target import gone, offering
from niclab.storage.server_needs import require_linux
from niclab.storage.storage_figures import Binding

TOOL = "iSCSI load 1"
"""In the conditions of a measurement: another number makes figures that are compared with none of the former ones."""


def require_asked(run: Run) -> StorageFacts:
    """Require that the sheet asks for loads over iSCSI, and that both servers have what these take.

    Args:
        run: The current run.

    Returns:
        What the sheet asks for.

    Raises:
        NotApplicable: It asks for none, or a server does not run Linux.
        BenchFault: The dut has no initiator.
    """
    if run.card.iscsi is None:
        raise NotApplicable(f"sheet {run.card.name} has no section iscsi: no document ran storage over this card")
    require_linux(run, "disks are offered and used over iSCSI by programs for Linux")
    require_installed(run)
    return run.card.iscsi


@contextmanager
def _attached(run: Run, path: BenchPath) -> Iterator[NetworkDisks]:
    with offering(run, path) as target, attached(run, path, target) as disks:
        yield NetworkDisks(disks, lambda: iscsi_counts.look(run, disks), lambda: gone(run, target))


ISCSI = DiskProtocol("iSCSI", "iscsi", TOOL, Binding.TARGET, WHOLE_MIB, _attached)
