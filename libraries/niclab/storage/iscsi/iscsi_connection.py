"""The TCP connection of an iSCSI session."""

from __future__ import annotations

from niclab.bench.records import Role
from niclab.run.run import Run
from niclab.storage.failover.connection import SessionConnection, between
from niclab.storage.iscsi.iscsi_target import PORT
from niclab.storage.volumes import DiskTarget


def look(run: Run, target: DiskTarget, address: str) -> SessionConnection | None:
    """Look for the connection of the session of a target at both ends.

    Args:
        run: The current run.
        target: The target.
        address: Of the initiator.

    Returns:
        The connection; None where an end has none, as between two logins.

    Raises:
        ReadError: The kernel's table cannot be read.
        BenchFault: A server does not answer.
    """
    return between(run, Role.DUT, address, (target.address, PORT))
