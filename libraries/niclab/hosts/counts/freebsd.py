"""FreeBSD host: what its CPUs and interfaces have counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.command_words import interface_name
from niclab.hosts.counts.load_records import CpuTimes, FrameCounters, Load
from niclab.hosts.counts.netstat import NetstatRow, read_netstat
from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd_commands import FreeBsdCommands
from niclab.hosts.host_records import CarrierChanges, CarrierLook, Counters, Statistics
from niclab.hosts.kernel.freebsd_lines import link_changes
from niclab.hosts.parity import emulated, not_available
from niclab.hosts.system.freebsd_texts import read_cpu_times


class FreeBsdCounts(FreeBsdCommands):
    """See :class:`niclab.hosts.host.HostCounts` for the meaning of each method."""

    @emulated("`kern.cp_times`; interrupt threads, which do the network's work, count as irq and softirq together")
    def cpu_times(self) -> CpuTimes:
        """Ticks of each CPU; waiting for a disk is idle there."""
        return self._read("sysctl -n kern.cp_times", read_cpu_times)

    @emulated("whole numbers below the device in `sysctl`, by the rest of their name")
    def counters(self, iface: str) -> Counters:
        """The driver's own counters, among its other numbers. A driver without any is a failed command."""
        device = self._newbus(iface)
        prefix = f"{device.tree}."
        shown = self._sysctls(device.tree).values.items()
        found = tuple(
            (name.removeprefix(prefix), value)
            for name, value in shown
            if name.startswith(prefix) and isinstance(value, int) and value >= 0
        )
        if not found:
            raise BenchFault(f"{self.name}: `sysctl {device.tree}` shows no counter of {iface}")
        return Counters(found)

    def statistics(self, iface: str) -> Statistics:
        """The kernel's counters."""
        command = f"netstat -I {interface_name(self.name, iface)} -bdnW"
        return self._read(command, lambda text: row_of(iface, read_netstat(text).rows)).statistics

    @emulated("`kern.cp_times` and `netstat -I`; frames that the card had no room for are dropped ones or errors")
    def load(self, iface: str) -> Load:
        """``rx_missed_errors`` is 0: those frames are in ``rx_dropped`` or ``rx_errors``; ``rx_lost`` has all."""
        return self.read_load(iface, self._run(self.load_command(iface)))

    def load_command(self, iface: str) -> str:
        """The command of :meth:`load`, for who asks for something else as well."""
        return f"sysctl -n kern.cp_times && netstat -I {interface_name(self.name, iface)} -bdnW"

    def read_load(self, iface: str, text: str) -> Load:
        """Read what :meth:`load_command` printed."""
        command = self.load_command(iface)
        times, _, counted = text.partition("\n")
        return Load(self._understood(command, read_cpu_times, times), self._frames(command, iface, counted))

    def _frames(self, command: str, iface: str, text: str) -> FrameCounters:
        row = self._understood(command, lambda shown: row_of(iface, read_netstat(shown).rows), text)
        return FrameCounters(**asdict(row.statistics), rx_missed_errors=0)

    @emulated("lines of the kernel log, as long as it reaches back to the boot")
    def carrier_changes(self, iface: str) -> CarrierChanges:
        """Counted in the kernel log: FreeBSD keeps no count of them.

        Raises:
            BenchFault: When the log no longer holds the beginning of this boot, or does not tell of links.
        """
        interface_name(self.name, iface)
        told = self._text("net.link.log_link_state_change")
        if told != "1":
            raise BenchFault(
                f"{self.name}: net.link.log_link_state_change is {told}; expected 1: link changes are counted"
            )
        changes = self._read("sysctl -n kern.msgbuf", lambda text: link_changes(text, iface))
        if changes is None:
            raise BenchFault(
                f"{self.name}: the message buffer has overwritten the beginning of this boot, so that link changes of"
                f" {iface} cannot be counted (kern.msgbufsize in loader.conf makes it larger)"
            )
        return CarrierChanges(sum(changes), *changes)

    @not_available("the system keeps no count of them, and its message buffer is too long to be read at each look")
    def carriers_command(self, ifaces: Sequence[str]) -> str:
        """Raise NotApplicable.

        Args:
            ifaces: Names of interfaces.
        """
        raise NotApplicable(f"{self.name}: FreeBSD keeps no count of the changes of carrier of {', '.join(ifaces)}")

    @not_available("see `counts.carriers_command`")
    def read_carriers(self, text: str) -> Mapping[str, CarrierLook]:
        """Raise NotApplicable.

        Args:
            text: Nothing that a command of this system prints.
        """
        raise NotApplicable(f"{self.name}: FreeBSD keeps no count of changes of carrier: {text[:80]!r}")


def row_of(iface: str, rows: tuple[NetstatRow, ...]) -> NetstatRow:
    """Return the row of an interface, the only one that is expected.

    Args:
        iface: Name of the interface.
        rows: What netstat showed.

    Raises:
        ReadError: There are others, or none.
    """
    if [row.name for row in rows] != [iface]:
        raise unreadable("netstat -I", "rows", [str(row) for row in rows], f"one row of {iface} with <Link#N>")
    return rows[0]
