"""The kernel's files that steer one interface of a Linux host: found, read, and other values chosen for them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import ReadError
from niclab.hosts.host import Shell
from niclab.hosts.steering.interrupt_records import Interrupts
from niclab.hosts.steering.interrupts import read_interrupts
from niclab.hosts.steering.linux import (
    RFS_TABLE,
    affinity_file,
    cpus_of_list,
    cpus_of_mask,
    effective_file,
    irqs_of,
    mask_of,
    queue_files,
)
from niclab.hosts.steering.steering_kinds import SteeringKind

RFS_ENTRIES, RFS_FLOWS = 32768, 2048
"""Documentation/networking/scaling.rst: suggested for a server that is moderately busy, and that over 16 queues."""
_UNMOVED = ("I/O error", "Input/output error")
"""EIO of a file: dash calls every error of ``echo`` so; bash and busybox say the words of the system."""


class SteeringFiles:
    """The files of one kind of steering of one interface. Constructing it finds them.

    Args:
        shell: Runs commands on the host.
        name: Name of the host, for messages.
        iface: Name of the interface.
        kind: What is steered.

    Raises:
        NotApplicable: The interface has no such steering.
        BenchFault: The interrupts of the host cannot be read.
    """

    def __init__(self, shell: Shell, name: str, iface: str, kind: SteeringKind) -> None:
        self._shell, self._name, self._iface, self._kind = shell, name, iface, kind
        self.files = self._interrupt_files(iface) if kind is SteeringKind.IRQ else self._queue_files(iface)

    def read(self) -> dict[str, str]:
        """Read every file, each of one line.

        Returns:
            The line of each file.

        Raises:
            NotApplicable: The kernel has a file and no content for it: a port with one queue.
            BenchFault: There is another number of lines.
        """
        shown = self._shell.run("cat " + " ".join(map(shlex.quote, self.files)))
        if shown.exit_status != 0 and self._kind is SteeringKind.XPS and len(self.files) == 1:
            raise NotApplicable(f"{self._name}: the kernel offers no transmit steering for a card of one queue")
        if shown.exit_status != 0:
            raise NotApplicable(f"{self._name}: cannot be read: {shown.stderr.strip()[:200]}")
        lines = shown.stdout.splitlines()
        if len(lines) != len(self.files):
            more = len(self.files) - 1
            raise BenchFault(f"{self._name}: {len(lines)} lines in {self.files[0]} and {more} more; expected one each")
        return dict(zip(self.files, (line.strip() for line in lines), strict=True))

    def write(self, values: Mapping[str, str]) -> str:
        """Write a line to each file, the others also when one is refused.

        Args:
            values: The line of each file.

        Returns:
            What the host said against it.
        """
        return self._shell.run("; ".join(_writing(file, value) for file, value in values.items())).stderr.strip()

    def require_movable(self, iface: str, values: Mapping[str, str]) -> None:
        """See that the kernel takes the present place of interrupts: it moves some of them for nobody.

        Those that it has placed itself, and those of an interrupt controller that cannot move them (Linux 6.1,
        kernel/irq/proc.c, write_irq_affinity(): EIO). Nothing is changed.

        Args:
            iface: The interface, for the message.
            values: The line of each file now.

        Raises:
            NotApplicable: It takes none.
        """
        complaint = self.write(values) if self._kind is SteeringKind.IRQ else ""
        if any(words in complaint for words in _UNMOVED):
            raise NotApplicable(f"{self._name}: the kernel moves no interrupt of {iface}: {complaint[:200]}")

    def restoring(self, values: Mapping[str, str]) -> str:
        """Get the command that writes ``values`` back, for the journal.

        After a boot or a reload of the driver there is nothing to do: the number of an interrupt may be another
        device's then, and a queue may be gone.
        """
        return " && ".join(f"{self._guard(file)} || {_writing(file, value)}" for file, value in values.items())

    def others(self, before: Mapping[str, str], cpus: list[int]) -> dict[str, str]:
        """Choose another line for each file, where there is another: each queue gets a CPU in turn.

        Args:
            before: The line of each file now.
            cpus: The CPUs of the host.
        """
        chosen = {}
        for index, file in enumerate(self.files):
            if self._kind is SteeringKind.RFS:
                chosen[file] = str(RFS_ENTRIES if file == RFS_TABLE else RFS_FLOWS)
                continue
            choices = [frozenset({cpus[(index + turn) % len(cpus)]}) for turn in range(len(cpus))]
            if self._kind is not SteeringKind.IRQ:
                choices += [frozenset(), frozenset(cpus)]
            now = self.meaning(file, before[file])
            other = next((each for each in choices if each != now), choices[0])
            chosen[file] = ",".join(map(str, sorted(other))) if self._kind is SteeringKind.IRQ else mask_of(other)
        return chosen

    def given_to(self, cpus: Sequence[int]) -> dict[str, str]:
        """Choose a line for each file: interrupts and send queues get a CPU in turn, receive queues all of them.

        Args:
            cpus: The CPUs, in the order of their turns. RFS needs none.
        """
        if self._kind is SteeringKind.RFS:
            return {file: str(RFS_ENTRIES if file == RFS_TABLE else RFS_FLOWS) for file in self.files}
        turns = {file: frozenset({cpus[index % len(cpus)]}) for index, file in enumerate(self.files)}
        if self._kind is SteeringKind.IRQ:
            return {file: str(min(turn)) for file, turn in turns.items()}
        mine = turns if self._kind is SteeringKind.XPS else dict.fromkeys(self.files, frozenset(cpus))
        return {file: mask_of(each) for file, each in mine.items()}

    def meaning(self, file: str, text: str) -> frozenset[int] | int:
        """Read the CPUs, or the number of flows, in the line of a file.

        Args:
            file: The file, for the message.
            text: Its line.

        Raises:
            BenchFault: It is neither.
        """
        try:
            if self._kind is SteeringKind.RFS:
                return int(text)
            return cpus_of_list(text) if self._kind is SteeringKind.IRQ else cpus_of_mask(text)
        except (ReadError, ValueError) as error:
            raise BenchFault(f"{self._name}: {file}: {error}") from error

    def _guard(self, file: str) -> str:
        """Is there no such file, or is it another device's by now? An interrupt's folder has one for each owner."""
        if self._kind is not SteeringKind.IRQ:
            return f"[ ! -e {shlex.quote(file)} ]"
        mine = f"{shlex.quote(file.rpartition('/')[0])}/{shlex.quote(self._iface)}"
        return f'! ( for owner in {mine} {mine}[-:]*; do [ ! -d "$owner" ] || exit 0; done; exit 1 )'

    def _interrupt_files(self, iface: str) -> list[str]:
        irqs = irqs_of(read_all(self._shell, self._name), iface)
        if not irqs:
            raise NotApplicable(f"{self._name}: no interrupt bears the name of {iface}")
        return [affinity_file(irq) for irq in irqs]

    def _queue_files(self, iface: str) -> list[str]:
        listed = self._shell.run(f"ls {queue_files(shlex.quote(iface), self._kind)}")
        if listed.exit_status != 0:
            said = listed.stderr.strip()[:200]
            raise NotApplicable(f"{self._name}: {iface} has no {self._kind.value} ({said})")
        files = listed.stdout.split()
        return [RFS_TABLE, *files] if self._kind is SteeringKind.RFS else files


def arrived(shell: Shell, name: str, iface: str) -> dict[int, dict[int, int]]:
    """Count the interrupts of an interface by the CPU that took them, since the system has started.

    Args:
        shell: Runs commands on the host.
        name: Name of the host, for messages.
        iface: Name of the interface.

    Returns:
        Number of each interrupt -> CPU -> count.

    Raises:
        NotApplicable: No interrupt bears its name.
        BenchFault: The interrupts of the host cannot be read.
    """
    shown = read_all(shell, name)
    mine = irqs_of(shown, iface)
    if not mine:
        raise NotApplicable(f"{name}: no interrupt bears the name of {iface}")
    counts = {each.irq: each.counts for each in shown.irqs}
    return {irq: dict(zip(shown.cpus, counts[irq], strict=True)) for irq in mine}


def arriving(shell: Shell, name: str, irqs: Iterable[int]) -> dict[int, frozenset[int]]:
    """Ask at which CPUs interrupts arrive for now.

    Without interrupt remapping the kernel moves an interrupt when it arrives the next time, once more at its former CPU
    (Linux 6.1, arch/x86/kernel/apic/vector.c, apic_ack_irq(); kernel/irq/migration.c).

    Args:
        shell: Runs commands on the host.
        name: Name of the host, for messages.
        irqs: Their numbers.

    Raises:
        BenchFault: The kernel does not say, or says something else than a list of CPUs.
    """
    found = {}
    for irq in irqs:
        file = effective_file(irq)
        shown = shell.run(f"cat {file}", check=True)
        try:
            found[irq] = cpus_of_list(shown.stdout)
        except ReadError as error:
            raise error.about(f"{name}: {file}") from error
    return found


def read_all(shell: Shell, name: str) -> Interrupts:
    """Read the interrupts of a host.

    Args:
        shell: Runs commands on the host.
        name: Name of the host, for messages.

    Raises:
        BenchFault: They cannot be read.
    """
    try:
        return read_interrupts(shell.run("cat /proc/interrupts", check=True).stdout)
    except ReadError as error:
        raise error.about(f"{name}: /proc/interrupts") from error


def _writing(file: str, value: str) -> str:
    return f"echo {shlex.quote(value)} > {shlex.quote(file)}"
