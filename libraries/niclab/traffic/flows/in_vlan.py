"""TCP in a VLAN over one path: a VLAN on each end, with the address of its port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from niclab.bench.records import BenchPath, Role, Wiring
from niclab.core.verdict import NotApplicable, blame
from niclab.links.upper import upper_devices
from niclab.links.upper.upper_devices import Stack
from niclab.run.run import Run
from niclab.traffic.flows import tcp
from niclab.transports.ssh.ssh import Job

VLAN_ID = 3


@contextmanager
def vlans(run: Run, path: BenchPath, vlan_id: int = VLAN_ID) -> Iterator[dict[Role, str]]:
    """Make a VLAN on each end of a path for the ``with`` block; yields the names of their interfaces.

    Args:
        run: The current run.
        path: The path.
        vlan_id: VLAN id.

    Raises:
        NotApplicable: The path leads through a switch.
        BenchFault: A VLAN cannot be made or removed.
        CardFailure: A port of the dut is not as it was before.
    """
    if path.through is not Wiring.DIRECT:
        raise NotApplicable(f"path {path.name} leads through a switch, which carries only the VLANs it is set to")
    over: dict[Role, str] = {}
    with ExitStack() as undoing:
        for port in map(run.bench.port, path.ends):
            vlan = upper_devices.vlan_on_port(run, port, vlan_id)
            undoing.callback(removed, run, vlan)
            over[port.role] = vlan.name
        yield over


def removed(run: Run, stack: Stack) -> None:
    """Remove a bond or VLAN.

    Args:
        run: The current run.
        stack: The bond or VLAN.

    Raises:
        CardFailure: A port is not as it was before.
        BenchFault: It cannot be removed.
    """
    blame(upper_devices.remove(run, stack))


@contextmanager
def steady(run: Run, path: BenchPath, sender: Role) -> Iterator[Job]:
    """Keep TCP flowing in a VLAN over a path inside the ``with`` block.

    Args:
        run: The current run.
        path: The path.
        sender: The server that sends.

    Raises:
        NotApplicable: The path leads through a switch.
        BenchFault: A VLAN cannot be made, or the traffic does not flow.
    """
    with vlans(run, path), tcp.steady(run, path, sender) as job:
        yield job
