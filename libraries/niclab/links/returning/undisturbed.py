"""Looks into a port that leave it as it is: a dump of its registers, and the light that says which port it is."""

from __future__ import annotations

from enum import Enum

from niclab.bench.records import Role
from niclab.checks.asked import Say, dut
from niclab.core.verdict import NotApplicable, Trouble, blame, require_judged
from niclab.hosts.errors import LookFailed
from niclab.hosts.host import Host
from niclab.links import link_checks
from niclab.run.run import Run

BLINKS_FOR_S = 1
"""The least that ``ethtool -p`` takes; one port after the other: kernels let one port blink at a time."""


class LookInside(Enum):
    """The looks, in words for what has happened."""

    REGISTERS = "its registers were read"
    IDENTIFY = f"its light was to blink for {BLINKS_FOR_S} s"


def require_undisturbed(run: Run, look: LookInside, say: Say) -> None:
    """Look into every port of the dut in turn; every link stays, and carries traffic afterwards.

    Args:
        run: The qualification run.
        look: How they are looked into.
        say: Takes what was seen of each port.

    Raises:
        CardFailure: A look fails, a port of the dut lost its link meanwhile, or pings are not answered afterwards.
        BenchFault: Only ports of the peer lost their link, or the dut does not answer.
        Undecided: An answer came too late to decide about a link, a server stood still while pings were lost, or some
            ports offer the look and others not.
        NotApplicable: The system or the driver of every port offers no such look, or the sheet does not know in which
            time a link comes up.
    """
    link_checks.require_up(run, say)
    before, troubles, without = link_checks.carrier_changes(run), list[Trouble](), list[str]()
    ports = run.ports(Role.DUT)
    for port in ports:
        try:
            say(f"{port.name}: {look.value}{_taken(dut(run), look, run.interface(port))}")
        except NotApplicable as reason:
            without.append(str(reason))
        except LookFailed as error:
            troubles.append(port.trouble(f"cannot be looked into: {error}"))
    if len(without) == len(ports):
        raise NotApplicable("\n".join(without))
    for port, changes in link_checks.carrier_changes(run).items():
        if more := changes - before[port]:
            troubles.append(port.trouble(f"counted {more} changes of carrier while {look.value}; expected none"))
    blame(troubles)
    link_checks.require_answers(run, link_checks.ports_on_paths(run))
    require_judged(without, some=True)


def _taken(host: Host, look: LookInside, iface: str) -> str:
    """Take a look; what it has shown, in words."""
    if look is LookInside.REGISTERS:
        return f", {host.firmware.registers(iface)} bytes"
    host.firmware.identify(iface, BLINKS_FOR_S)
    return ""
