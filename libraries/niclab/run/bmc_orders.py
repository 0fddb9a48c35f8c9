"""Orders to a BMC over each of its protocols, which must agree."""

from __future__ import annotations

from functools import partial

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.run.server import POWER_WITHIN_S, Server
from niclab.transports.bmc.bmc import Bmc, PowerState


def by_every_protocol(server: Server) -> list[Bmc]:
    """Return the BMC of a server over each protocol that the bench file gives it.

    Args:
        server: The server.

    Raises:
        NotApplicable: It has no BMC.
    """
    entry = server.description.bmc
    if entry is None:
        return [server.bmc]  # says why this cannot be asked
    return [*([server.ipmi] if entry.ipmi else []), *([server.redfish] if entry.redfish else [])]


def require_power(server: Server, state: PowerState) -> None:
    """Require that the BMC reports a power state over every protocol.

    Args:
        server: The server.
        state: The state.

    Raises:
        NotApplicable: It has no BMC.
        BenchFault: A protocol reports another state.
    """
    for bmc in by_every_protocol(server):
        if (found := bmc.power_status()) is not state:
            raise BenchFault(f"{server.name}: {type(bmc).__name__} reports power {found.value}; expected {state.value}")


def switch_by_every_protocol(server: Server) -> None:
    """Cut the power and give it back over each protocol, and require that every protocol reports both.

    Args:
        server: The server.

    Raises:
        NotApplicable: It has no BMC.
        BenchFault: The power does not go or return, a protocol reports otherwise, or the server does not come back.
    """
    for bmc in by_every_protocol(server):
        server.power_cycle(bmc, lambda: _await_power(server, PowerState.OFF))
        _await_power(server, PowerState.ON)


def _await_power(server: Server, state: PowerState) -> None:
    """A protocol may report what it has asked some seconds ago."""
    for bmc in by_every_protocol(server):
        until(
            partial(_reports, bmc, state),
            within=POWER_WITHIN_S,
            what=f"{server.name}: {type(bmc).__name__} to report power {state.value}",
            every=1.0,
        )


def _reports(bmc: Bmc, state: PowerState) -> bool:
    return bmc.power_status() is state
