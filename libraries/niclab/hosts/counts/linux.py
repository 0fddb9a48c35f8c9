"""Linux host: what its CPUs and interfaces have counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields

from niclab.hosts.command_words import interface_name
from niclab.hosts.counts.ethtool_counters import read_counters
from niclab.hosts.counts.load_records import CpuTimes, Load
from niclab.hosts.counts.proc_load import FRAME_COUNTERS, read_load, read_proc_stat
from niclab.hosts.errors import unreadable
from niclab.hosts.host_commands import HostCommands
from niclab.hosts.host_records import CarrierChanges, CarrierLook, Counters, Statistics
from niclab.hosts.reading import filled, numbered, whole_number

_NET = "/sys/class/net"


class LinuxCounts(HostCommands):
    """See :class:`niclab.hosts.host.HostCounts` for the meaning of each method."""

    def cpu_times(self) -> CpuTimes:
        """Return the time that each CPU has spent on each kind of work since boot."""
        return self._read_file("/proc/stat", read_proc_stat)

    def counters(self, iface: str) -> Counters:
        """The driver's own counters. A driver without any is a failed command, not an empty record."""
        return self._read(f"ethtool -S {interface_name(self.name, iface)}", read_counters)

    def statistics(self, iface: str) -> Statistics:
        """The kernel's counters."""
        counted = asdict(self.load(iface).frames)
        return Statistics(**{each.name: counted[each.name] for each in fields(Statistics)})

    def load(self, iface: str) -> Load:
        """Return the time of each CPU since boot, and the kernel's counters of frames, lost ones with their cause."""
        return self.read_load(iface, self._run(self.load_command(iface)))

    def load_command(self, iface: str) -> str:
        """The command of :meth:`load`, for who asks for something else as well.

        The shell reads by itself: a program started to look is load too.
        """
        return (
            'while read -r line; do case $line in cpu*) echo "$line" ;; *) break ;; esac; done < /proc/stat; '
            f"cd {_NET}/{interface_name(self.name, iface)}/statistics && for name in {' '.join(FRAME_COUNTERS)}; do "
            'read -r value < $name || exit; echo "$name:$value"; done'
        )

    def read_load(self, iface: str, text: str) -> Load:
        """Read what :meth:`load_command` printed."""
        return self._understood(self.load_command(iface), read_load, text)

    def carrier_changes(self, iface: str) -> CarrierChanges:
        """Read before and after: a carrier that went and came back between two looks still shows here."""
        command = (
            f"cd {_NET}/{interface_name(self.name, iface)} && cat carrier_changes"
            " && if [ -e carrier_up_count ]; then cat carrier_up_count carrier_down_count; fi"
        )
        return self._read(command, _read_carrier_changes)

    def carriers_command(self, ifaces: Sequence[str]) -> str:
        """Return a command that shows the carrier of each interface that is there, for who asks something else as well.

        The shell reads by itself. The kernel refuses to say the carrier of an interface that is down.
        """
        names = " ".join(interface_name(self.name, iface) for iface in ifaces)
        return (
            f"for i in {names}; do (cd {_NET}/$i 2>/dev/null || exit 0; read -r index < ifindex && "
            "read -r changes < carrier_changes && { read -r up < carrier; } 2>/dev/null || up=0; "
            'echo "$i $index $changes $up"); done'
        )

    def read_carriers(self, text: str) -> Mapping[str, CarrierLook]:
        """Read what :meth:`carriers_command` printed; an interface that is not there is left out."""
        return self._understood("carriers", read_carriers, text)


def read_carriers(text: str) -> dict[str, CarrierLook]:
    """Read lines of name, index, changes of carrier, and 1 for a carrier.

    Args:
        text: What the command printed.

    Raises:
        ReadError: A line is another.
    """
    found = {}
    for number, line in filled(text):
        words = line.split()
        if len(words) != 4 or words[3] not in ("0", "1"):
            raise unreadable("carriers", f"line {number}", line, "name, index, changes, and 0 or 1")
        counts = [whole_number("carriers", f"line {number}", word, "a count") for word in words[1:3]]
        found[words[0]] = CarrierLook(counts[0], counts[1], words[3] == "1")
    return found


def _read_carrier_changes(text: str) -> CarrierChanges:
    lines = [line.strip() for _, line in numbered(text) if line.strip()]
    if len(lines) not in (1, 3):
        raise unreadable(
            "carrier counts", "text", text, "carrier_changes, and up and down counts on Linux 4.16 and later"
        )
    counts = [whole_number("carrier counts", f"line {n}", line, "a count") for n, line in enumerate(lines, start=1)]
    return CarrierChanges(counts[0], *(counts[1:] or (None, None)))
