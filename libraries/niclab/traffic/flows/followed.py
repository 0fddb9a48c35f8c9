"""Receive flow steering: packets of a connection are worked on by the CPU of the program that reads them."""

from __future__ import annotations

from collections.abc import Callable

from niclab.bench.records import Port, Role
from niclab.core.verdict import NotApplicable, blame
from niclab.hosts.steering.linux import cpus_of_list
from niclab.hosts.steering.steering_files import SteeringFiles
from niclab.hosts.steering.steering_kinds import SteeringKind
from niclab.run.run import Run
from niclab.settings.steered_packets import require_linux_of_two_cpus, taken_over, woken_since
from niclab.traffic.runs import endpoints, line_rate, measuring
from niclab.traffic.tools.tool import Order

RUN_S = 2
ENOUGH = 20
"""Assumption: a connection of two seconds wakes the CPU of its reader more often, however slow it is."""
STRAY = 4
"""Assumption: a reader at the CPU of the interrupts leaves the other CPU at most one in so many wakings."""


def require_followed(run: Run, port: Port, say: Callable[[str], object]) -> None:
    """See that packets of a connection go to the CPU of its reader, and stay where they arrive when it reads there.

    Interrupts of the port must be given to some of the CPUs before, and RFS must be set.

    Args:
        run: The current run.
        port: The port that receives, of either server.
        say: Takes what was counted with the reader at each CPU.

    Raises:
        CardFailure: Packets of a port of the dut do not follow.
        BenchFault: Those of a port of the peer do not, or a run fails.
        NotApplicable: The server has one CPU or another system than Linux, interrupts of the port are not steered, or
            every CPU may take them.
    """
    server, iface = run.server_of(port), run.interface(port)
    require_linux_of_two_cpus(server, SteeringKind.RFS)
    shown = SteeringFiles(server.ssh, server.name, iface, SteeringKind.IRQ).read().values()
    cpus, taking = server.host.counts.cpu_times().cpus.keys(), frozenset().union(*map(cpus_of_list, shown))
    if not (others := cpus - taking):
        raise NotApplicable(f"{port.place}: every CPU may take its interrupts; `Set IRQ Affinity` gives them to some")
    here, there = min(taking), min(others)
    path = run.bench.path_of(port)
    sender = Role.PEER if port.role is Role.DUT else Role.DUT
    sender_cpu = min(run.server(sender).host.counts.cpu_times().cpus)
    line_mbps = line_rate.line_mbps(run, endpoints.ends(run, path, sender), path)
    woken = dict[int, int]()
    for reader in (there, here):
        order = Order(duration_s=RUN_S, sender_cpu=sender_cpu, receiver_cpu=reader)
        before = taken_over(server)
        measuring.measure(run, path, sender, order, line_mbps)
        woken[reader] = woken_since(before, taken_over(server))[there]
        say(f"{port.place}: read at CPU {reader}, interrupts at CPU {here}: CPU {there} woken {woken[reader]} times")
    if woken[there] < ENOUGH or woken[here] * STRAY > woken[there]:
        said = f"has woken CPU {there} {woken[there]} times for a reader there, {woken[here]} for one at CPU {here}"
        blame([port.trouble(f"{said}; expected at least {ENOUGH}, and {STRAY} times as often")])
