"""Steering of interrupts and packets: set, read back, put back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from niclab.bench.records import OperatingSystem, Port
from niclab.core.verdict import CardFailure, Collected, NotApplicable, Undecided, blame, require_judged
from niclab.hosts.steering.steering_files import SteeringFiles, arrived, arriving
from niclab.hosts.steering.steering_kinds import SteeringKind
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back
from niclab.settings.dut_ports import DutPort, dut_ports

PINGS = 10
"""Each is an interrupt for its answer at least."""


def set_and_put_back(run: Run, kind: SteeringKind) -> None:
    """Steer every port of the dut otherwise than now, read it back, and put it back.

    Args:
        run: The current run.
        kind: What is steered.

    Raises:
        CardFailure: A port does not show the new steering, or does not get its own back.
        BenchFault: Steering cannot be read or put back.
        Undecided: One port has no such steering, and another one has.
        NotApplicable: The system or every port has no such steering.
    """
    judged, unjudged, ports = Collected(), list[str](), dut_ports(run)
    for dut in ports:
        with judged.one():
            try:
                _try(dut, kind, judged)
            except NotApplicable as reason:
                unjudged.append(str(reason))
    judged.end()
    require_judged(unjudged, some=len(unjudged) < len(ports))


def _try(dut: DutPort, kind: SteeringKind, judged: Collected) -> None:
    _require_linux(dut.server, kind)
    cpus = sorted(dut.host.counts.cpu_times().cpus)
    if kind is SteeringKind.IRQ and len(cpus) < 2:
        raise NotApplicable(f"{dut.server.name} has one CPU: there is no other to give an interrupt to")
    files = SteeringFiles(dut.server.ssh, dut.server.name, dut.iface, kind)
    before = files.read()
    files.require_movable(dut.iface, before)
    chosen = files.others(before, cpus)
    try:
        with dut.put_back(f"{kind.value} is steered", files.restoring(before)):
            complaint = files.write(chosen)
            shown = files.read()
            judged.problems += [f"{dut.place} {text}" for text in _not_taken(files, chosen, shown, complaint)]
        after = files.read()
    except NotApplicable as gone:
        stays = "its steering to stay while it was set and put back"
        raise CardFailure(f"{dut.place}: {gone}; expected {stays}") from gone
    judged.problems += [
        f"{dut.place}: {file} did not come back: {after[file]!r}, before {before[file]!r}"
        for file in files.files
        if files.meaning(file, after[file]) != files.meaning(file, before[file])
    ]


@contextmanager
def steered(run: Run, port: Port, kind: SteeringKind, cpus: Sequence[int]) -> Iterator[None]:
    """Steer a port for the ``with`` block, read it back, and put it back.

    Args:
        run: The current run.
        port: The port, of either server.
        kind: What is steered.
        cpus: The CPUs; interrupts and send queues get one of them in turn, in this order. RFS needs none.

    Raises:
        NotApplicable: The system or the port has no such steering, or the server has not those CPUs.
        CardFailure: A port of the dut does not show it.
        BenchFault: A port of the peer does not show it, or it could not be put back.
    """
    server, iface = run.server_of(port), run.interface(port)
    _require_linux(server, kind)
    if absent := sorted(set(cpus) - server.host.counts.cpu_times().cpus.keys()):
        raise NotApplicable(f"{server.name} has no CPU {', '.join(map(str, absent))}")
    files = SteeringFiles(server.ssh, server.name, iface, kind)
    before, wanted = files.read(), files.given_to(cpus)
    files.require_movable(iface, before)
    with put_back(run, server, port.name, f"{iface}: {kind.value} is steered", files.restoring(before), iface):
        complaint = files.write(wanted)
        shown = files.read()
        blame([port.trouble(text) for text in _not_taken(files, wanted, shown, complaint)])
        yield


def require_arrival(run: Run, port: Port, cpus: frozenset[int]) -> None:
    """See that interrupts of a port arrive at CPUs while pings cross its path, and at no other CPU.

    Args:
        run: The current run.
        port: The port, of either server.
        cpus: The CPUs.

    Raises:
        CardFailure: Interrupts of a port of the dut arrive at another CPU, or none arrive.
        BenchFault: Those of a port of the peer do.
        Undecided: None arrive, and no ping is answered: either end may be why.
        NotApplicable: The server has one CPU, or the system does not steer interrupts.
    """
    server, iface = run.server_of(port), run.interface(port)
    _require_linux(server, SteeringKind.IRQ)
    if len(server.host.counts.cpu_times().cpus) < 2:
        raise NotApplicable(f"{server.name} has one CPU: interrupts arrive nowhere else")
    moving = _moving(server, iface, cpus)
    before = arrived(server.ssh, server.name, iface)
    partner = run.bench.address(run.bench.partner(port))
    answers = server.host.links.ping(str(partner.ip), source=str(run.bench.address(port).ip), count=PINGS)
    gained = Counter[int]()
    for irq, counts in arrived(server.ssh, server.name, iface).items():
        more = {cpu: count - before.get(irq, {}).get(cpu, 0) for cpu, count in counts.items()}
        former = moving.get(irq, frozenset())
        gained.update({cpu: count for cpu, count in more.items() if count > (cpu in former)})
    if not gained and not answers.received:
        raise Undecided(f"{port.place}: 0 of {answers.sent} pings answered, and no interrupt; expected answers")
    if not gained or not gained.keys() <= cpus:
        at = ", ".join(f"{count} at CPU {cpu}" for cpu, count in sorted(gained.items())) or "none"
        wanted_at = ", ".join(map(str, sorted(cpus)))
        blame([port.trouble(f"has had interrupts while pings crossed it: {at}; expected at CPU {wanted_at} alone")])


def _moving(server: Server, iface: str, cpus: frozenset[int]) -> dict[int, frozenset[int]]:
    """Interrupts that may arrive once more where they did before they were steered: other CPUs of each."""
    irqs = arrived(server.ssh, server.name, iface)
    return {irq: at - cpus for irq, at in arriving(server.ssh, server.name, irqs).items()}


def _not_taken(files: SteeringFiles, wanted: dict[str, str], shown: dict[str, str], complaint: str) -> list[str]:
    why = f" ({complaint[:200]})" if complaint else ""
    return [
        f"shows {file} {shown[file]!r} when set to {value!r}{why}"
        for file, value in wanted.items()
        if files.meaning(file, shown[file]) != files.meaning(file, value)
    ]


def _require_linux(server: Server, kind: SteeringKind) -> None:
    system = server.description.os
    if system is OperatingSystem.LINUX:
        return
    if kind is not SteeringKind.IRQ:
        raise NotApplicable(f"{server.name}: {system.value} has no {kind.value}, which is Linux' own")
    raise NotApplicable(f"{server.name}: interrupts of {system.value} are not steered by this lab")
