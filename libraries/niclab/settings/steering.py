"""Steering of interrupts and packets tried on a port: set, read back, put back."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from niclab.bench.records import OperatingSystem, Port
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import ReadError
from niclab.hosts.linux.interrupts import read_interrupts
from niclab.hosts.linux.steering import (
    RFS_TABLE,
    Steering,
    affinity_file,
    cpus_of_list,
    cpus_of_mask,
    irqs_of,
    mask_of,
    queue_files,
)
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back

RFS_ENTRIES, RFS_FLOWS = 32768, 2048
"""Documentation/networking/scaling.rst: suggested for a server that is moderately busy, and that over 16 queues."""

Reading = Callable[[str], object]


def tried(run: Run, port: Port, steering: Steering) -> list[str]:
    """Problems of steering the port otherwise than it is now. Everything is put back, and seen to be back.

    :raises NotApplicable: when the system or the port has no such steering.
    :raises BenchFault: when it cannot be read or put back.
    """
    server, iface = run.server_of(port), run.interface(port)
    if server.description.os is not OperatingSystem.LINUX:
        system = server.description.os.value
        if steering is not Steering.IRQ:
            raise NotApplicable(f"{server.name}: {system} has no {steering.value}, which is Linux' own")
        raise NotApplicable(f"{server.name}: interrupts of {system} are not steered by this lab")
    cpus = sorted(server.host.cpu_times().cpus)
    if steering is Steering.IRQ and len(cpus) < 2:
        raise NotApplicable(f"{server.name} has one CPU: there is no other to give an interrupt to")
    files, reading = _files(server, iface, steering)
    before = _shown(server, files)
    wanted = _wanted(files, before, steering, cpus, reading)
    restoring = " && ".join(_writing(file, value) for file, value in before.items())
    problems = []
    with put_back(run, server, port.name, f"{iface}: {steering.value} is steered", restoring):
        told = server.ssh.run("; ".join(_writing(file, value) for file, value in wanted.items()))
        shown = _shown(server, files)
    for file, value in wanted.items():
        if _read(server, file, reading, shown[file]) != _read(server, file, reading, value):
            why = f" ({told.stderr.strip()[:200]})" if told.stderr.strip() else ""
            problems.append(f"{port.place}: {file} is {shown[file]!r} when set to {value!r}{why}")
    after = _shown(server, files)
    changed = [
        file
        for file in files
        if _read(server, file, reading, after[file]) != _read(server, file, reading, before[file])
    ]
    problems += [
        f"{port.place}: {file} did not come back: {after[file]!r}, before {before[file]!r}" for file in changed
    ]
    return problems


def _files(server: Server, iface: str, steering: Steering) -> tuple[list[str], Reading]:
    if steering is Steering.IRQ:
        try:
            shown = read_interrupts(server.run("cat /proc/interrupts").stdout)
        except ReadError as error:
            raise error.about(f"{server.name}: /proc/interrupts") from error
        irqs = irqs_of(shown, iface)
        if not irqs:
            raise NotApplicable(f"{server.name}: no interrupt bears the name of {iface}")
        return [affinity_file(irq) for irq in irqs], cpus_of_list
    listed = server.ssh.run(f"ls {queue_files(shlex.quote(iface), steering)}")
    if not listed.succeeded:
        raise NotApplicable(f"{server.name}: {iface} has no {steering.value} ({listed.stderr.strip()[:200]})")
    files = listed.stdout.split()
    if steering is Steering.RFS:
        return [RFS_TABLE, *files], int
    return files, cpus_of_mask


def _wanted(
    files: list[str], before: Mapping[str, str], steering: Steering, cpus: list[int], reading: Reading
) -> dict[str, str]:
    """A value for each file, other than the one in it where there is another: each queue gets a CPU in turn."""
    wanted = {}
    for index, file in enumerate(files):
        if steering is Steering.RFS:
            wanted[file] = str(RFS_ENTRIES if file == RFS_TABLE else RFS_FLOWS)
            continue
        choices = [frozenset({cpus[(index + turn) % len(cpus)]}) for turn in range(len(cpus))]
        if steering is not Steering.IRQ:
            choices += [frozenset(), frozenset(cpus)]
        chosen = next((each for each in choices if each != reading(before[file])), choices[0])
        wanted[file] = ",".join(map(str, sorted(chosen))) if steering is Steering.IRQ else mask_of(chosen)
    return wanted


def _writing(file: str, value: str) -> str:
    return f"echo {shlex.quote(value)} > {shlex.quote(file)}"


def _shown(server: Server, files: list[str]) -> dict[str, str]:
    """What stands in each file, which is one line.

    :raises NotApplicable: when the kernel has the file and no content for it: a port with one queue.
    :raises BenchFault: when there is another number of lines.
    """
    shown = server.ssh.run("cat " + " ".join(map(shlex.quote, files)))
    if not shown.succeeded:
        raise NotApplicable(f"{server.name}: cannot be read: {shown.stderr.strip()[:200]}")
    lines = shown.stdout.splitlines()
    if len(lines) != len(files):
        raise BenchFault(f"{server.name}: {len(lines)} lines in {files[0]} and {len(files) - 1} more; wanted: one each")
    return dict(zip(files, (line.strip() for line in lines), strict=True))


def _read(server: Server, file: str, reading: Reading, text: str) -> object:
    try:
        return reading(text)
    except (ReadError, ValueError) as error:
        raise BenchFault(f"{server.name}: {file}: {error}") from error
