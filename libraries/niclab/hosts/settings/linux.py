"""Linux host: settings of an interface: offloads, rings, coalescing, pause, queues, MTU."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.command_words import interface_name
from niclab.hosts.errors import NotOffered
from niclab.hosts.host import CommandResult, HostLinks, Shell
from niclab.hosts.links.ip_command import interface_command, read_interfaces, the_one
from niclab.hosts.linux_commands import LinuxCommands
from niclab.hosts.settings.ethtool_coalesce import read_coalescing
from niclab.hosts.settings.ethtool_features import read_features
from niclab.hosts.settings.ethtool_pause import read_pause
from niclab.hosts.settings.ethtool_records import Channels, Coalescing, Features, Pause, Rings
from niclab.hosts.settings.ethtool_sizes import read_channels, read_rings
from niclab.hosts.settings.offered import read_offered
from niclab.hosts.settings.settings_records import Attempt

Shown = TypeVar("Shown", Features, Rings, Coalescing, Pause, Channels)

_SUM = "@ checksum"
_UNCHANGED = 80  # older ethtool ends so when everything is as it was asked for already


class LinuxSettings(LinuxCommands):
    """See :class:`niclab.hosts.host.HostSettings` for the meaning of each method."""

    def __init__(self, shell: Shell, name: str, *, links: HostLinks) -> None:
        super().__init__(shell, name)
        self._links = links

    def features(self, iface: str) -> Features:
        return self._shown("--json -k", iface, read_features)

    def rings(self, iface: str) -> Rings:
        return self._shown("-g", iface, read_rings)

    def coalescing(self, iface: str) -> Coalescing:
        return self._shown("-c", iface, read_coalescing)

    def pause(self, iface: str) -> Pause:
        return self._shown("-a", iface, read_pause)

    def channels(self, iface: str) -> Channels:
        return self._shown("-l", iface, read_channels)

    def mtu(self, iface: str) -> int:
        """Bytes."""
        return self._links.interface(iface).mtu

    def untried(self, iface: str) -> tuple[str, ...]:
        name = interface_name(self.name, iface)
        command = "; ".join(f"ethtool {option}{name}" for option in ("", "--show-eee ", "-k "))
        return read_offered(self._try(f"{{ {command}; }} 2> /dev/null").stdout)

    def set_feature(self, iface: str, word: str, on: bool) -> Attempt[Features]:
        """Switch an offload by the word of ``ethtool -K``."""
        return self._set("-K", iface, {word: on}, "--json -k", read_features)

    def set_rings(self, iface: str, sizes: Mapping[str, int]) -> Attempt[Rings]:
        """Descriptors by the words of ``ethtool -G``: ``rx``, ``tx``, ``rx-mini``, ``rx-jumbo``."""
        return self._set("-G", iface, sizes, "-g", read_rings)

    def set_coalescing(self, iface: str, values: Mapping[str, int | bool]) -> Attempt[Coalescing]:
        """Values by the words of ``ethtool -C``: ``rx-usecs`` 100, ``adaptive-rx`` False."""
        return self._set("-C", iface, values, "-c", read_coalescing)

    def set_pause(self, iface: str, values: Mapping[str, bool]) -> Attempt[Pause]:
        """``autoneg``, ``rx``, ``tx``."""
        return self._set("-A", iface, values, "-a", read_pause)

    def set_channels(self, iface: str, counts: Mapping[str, int]) -> Attempt[Channels]:
        """Queues by the words of ``ethtool -L``: ``combined``, ``rx``, ``tx``."""
        return self._set("-L", iface, counts, "-l", read_channels)

    def set_mtu(self, iface: str, mtu: int) -> Attempt[int]:
        """Bytes."""
        name = interface_name(self.name, iface)
        show = interface_command(name)
        refused, shown = self._told_and_shown(f"ip link set dev {name} mtu {int(mtu)}", show)
        return Attempt(refused, the_one(self.name, show, iface, self._understood(show, read_interfaces, shown)).mtu)

    def shown_with_sum(self, option: str, iface: str, reader: Callable[[str], Shown]) -> tuple[Shown, str]:
        """Read settings, and the checksum of what ``ethtool`` prints of them without ``--json``, in one round trip.

        Args:
            option: Option of ``ethtool`` that shows them.
            iface: Name of the interface.
            reader: Reads what it prints.
        """
        name = interface_name(self.name, iface)
        command = f"ethtool {option} {name} && echo '{_SUM}' && {sum_command(option, name)}"
        text = self._run(command)
        shown, _, checksum = text.partition(f"{_SUM}\n")
        if not re.fullmatch(r"[0-9]+ [0-9]+\n", checksum):
            raise BenchFault(f"{self.name}: `{command}` ended with {checksum!r}; expected a checksum and a size")
        return self._of(command, iface, self._understood(command, reader, shown)), checksum.strip()

    def _shown(self, option: str, iface: str, reader: Callable[[str], Shown]) -> Shown:
        command = f"ethtool {option} {interface_name(self.name, iface)}"
        return self._of(command, iface, self._read(command, reader))

    def _failed(self, command: str, result: CommandResult) -> BenchFault | NotApplicable:
        """The error for a tool that failed: a driver without the operation is no tool that cannot work."""
        fault = super()._failed(command, result)
        return NotOffered(str(fault)) if "Operation not supported" in result.stderr + result.stdout else fault

    def _of(self, command: str, iface: str, record: Shown) -> Shown:
        if record.iface != iface:
            raise BenchFault(f"{self.name}: `{command}` answered for {record.iface}")
        return record

    def _set(
        self,
        option: str,
        iface: str,
        values: Mapping[str, int | bool],
        shown_by: str,
        reader: Callable[[str], Shown],
    ) -> Attempt[Shown]:
        """Set, and read back in the same round trip."""
        show = f"ethtool {shown_by} {interface_name(self.name, iface)}"
        change = self._ethtool(option, iface, values)
        refused, shown = self._told_and_shown(change, show, unchanged=_UNCHANGED)
        return Attempt(refused, self._of(show, iface, self._understood(show, reader, shown)))


def sum_command(option: str, iface: str) -> str:
    """A command that prints the checksum of settings as ``ethtool`` shows them."""
    return f"ethtool {option.removeprefix('--json ')} {iface} | cksum"
