"""Steering of interrupts and packets on the dut's ports: set, read back, put back."""

from __future__ import annotations

from niclab.bench.records import OperatingSystem
from niclab.core.verdict import NotApplicable, fail_with
from niclab.hosts.linux.steering_files import SteeringFiles
from niclab.hosts.steering_kinds import SteeringKind
from niclab.run.run import Run
from niclab.settings.ports import DutPort, dut_ports


def set_and_put_back(run: Run, kind: SteeringKind) -> None:
    """Steer every port of the dut otherwise than now, read it back, and put it back.

    Args:
        run: The current run.
        kind: What is steered.

    Raises:
        CardFailure: A port does not show the new steering, or does not get its own back.
        BenchFault: Steering cannot be read or put back.
        NotApplicable: The system or a port has no such steering.
    """
    fail_with([text for dut in dut_ports(run) for text in _tried(dut, kind)])


def _tried(dut: DutPort, kind: SteeringKind) -> list[str]:
    _require_linux(dut, kind)
    cpus = sorted(dut.host.system.cpu_times().cpus)
    if kind is SteeringKind.IRQ and len(cpus) < 2:
        raise NotApplicable(f"{dut.server.name} has one CPU: there is no other to give an interrupt to")
    files = SteeringFiles(dut.server.ssh, dut.server.name, dut.iface, kind)
    before = files.read()
    chosen = files.others(before, cpus)
    with dut.put_back(f"{kind.value} is steered", files.restoring(before)):
        complaint = files.write(chosen)
        shown = files.read()
    problems = []
    for file, value in chosen.items():
        if files.meaning(file, shown[file]) != files.meaning(file, value):
            why = f" ({complaint[:200]})" if complaint else ""
            problems.append(f"{dut.place}: {file} is {shown[file]!r} when set to {value!r}{why}")
    after = files.read()
    problems += [
        f"{dut.place}: {file} did not come back: {after[file]!r}, before {before[file]!r}"
        for file in files.files
        if files.meaning(file, after[file]) != files.meaning(file, before[file])
    ]
    return problems


def _require_linux(dut: DutPort, kind: SteeringKind) -> None:
    system = dut.server.description.os
    if system is OperatingSystem.LINUX:
        return
    if kind is not SteeringKind.IRQ:
        raise NotApplicable(f"{dut.server.name}: {system.value} has no {kind.value}, which is Linux' own")
    raise NotApplicable(f"{dut.server.name}: interrupts of {system.value} are not steered by this lab")
