"""Linux host: settings of an interface: offloads, rings, coalescing, pause, queues, MTU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from niclab.core.verdict import BenchFault
from niclab.hosts.errors import NotOffered
from niclab.hosts.ethtool_records import Channels, Coalescing, Features, Pause, Rings
from niclab.hosts.host import HostLinks, Shell
from niclab.hosts.linux.commands import LinuxCommands
from niclab.hosts.linux.ethtool_coalesce import read_coalescing
from niclab.hosts.linux.ethtool_features import read_features
from niclab.hosts.linux.ethtool_pause import read_pause
from niclab.hosts.linux.ethtool_sizes import read_channels, read_rings
from niclab.hosts.names import interface_name
from niclab.hosts.settings_records import Attempt

Shown = TypeVar("Shown", Features, Rings, Coalescing, Pause, Channels)

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

    def set_feature(self, iface: str, word: str, on: bool) -> Attempt[Features]:
        """Switch an offload by the word of ``ethtool -K``."""
        return Attempt(self._set("-K", iface, {word: on}), self.features(iface))

    def set_rings(self, iface: str, sizes: Mapping[str, int]) -> Attempt[Rings]:
        """Descriptors by the words of ``ethtool -G``: ``rx``, ``tx``, ``rx-mini``, ``rx-jumbo``."""
        return Attempt(self._set("-G", iface, sizes), self.rings(iface))

    def set_coalescing(self, iface: str, values: Mapping[str, int | bool]) -> Attempt[Coalescing]:
        """Values by the words of ``ethtool -C``: ``rx-usecs`` 100, ``adaptive-rx`` False."""
        return Attempt(self._set("-C", iface, values), self.coalescing(iface))

    def set_pause(self, iface: str, values: Mapping[str, bool]) -> Attempt[Pause]:
        """``autoneg``, ``rx``, ``tx``."""
        return Attempt(self._set("-A", iface, values), self.pause(iface))

    def set_channels(self, iface: str, counts: Mapping[str, int]) -> Attempt[Channels]:
        """Queues by the words of ``ethtool -L``: ``combined``, ``rx``, ``tx``."""
        return Attempt(self._set("-L", iface, counts), self.channels(iface))

    def set_mtu(self, iface: str, mtu: int) -> Attempt[int]:
        """Bytes."""
        command = f"ip link set dev {interface_name(self.name, iface)} mtu {int(mtu)}"
        return Attempt(self._told(command), self.mtu(iface))

    def _shown(self, option: str, iface: str, reader: Callable[[str], Shown]) -> Shown:
        command = f"ethtool {option} {interface_name(self.name, iface)}"
        try:
            record = self._read(command, reader)
        except BenchFault as error:
            if "Operation not supported" in str(error):
                raise NotOffered(str(error)) from error
            raise
        if record.iface != iface:
            raise BenchFault(f"{self.name}: `{command}` answered for {record.iface}")
        return record

    def _set(self, option: str, iface: str, values: Mapping[str, int | bool]) -> str | None:
        return self._told(self._ethtool(option, iface, values), unchanged=_UNCHANGED)
