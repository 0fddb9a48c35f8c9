"""Linux host, what ``ethtool`` sets: features, rings, coalescing, pause frames, queues; and the MTU.

Every setter reads back what is there afterwards and judges nothing: :class:`niclab.hosts.settings_records.Attempt`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import TypeVar

from niclab.core.verdict import BenchFault
from niclab.hosts.ethtool_records import Channels, Coalescing, Features, Pause, Rings
from niclab.hosts.linux.ethtool_coalesce import read_coalescing
from niclab.hosts.linux.ethtool_features import read_features
from niclab.hosts.linux.ethtool_pause import read_pause
from niclab.hosts.linux.ethtool_sizes import read_channels, read_rings
from niclab.hosts.linux.host_network import LinuxNetwork
from niclab.hosts.names import interface_name
from niclab.hosts.settings_records import Attempt

Shown = TypeVar("Shown", Features, Rings, Coalescing, Pause, Channels)

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_UNCHANGED = 80  # older ethtool ends so when everything is as it was asked for already


class LinuxSettings(LinuxNetwork):
    """See :class:`niclab.hosts.host.Host` for the meaning of each method."""

    def features(self, iface: str) -> Features:
        return self._shown("--json -k", iface, read_features)

    def rings(self, iface: str) -> Rings:
        return self._shown("-g", iface, read_rings)

    def coalescing(self, iface: str) -> Coalescing:
        return self._shown("-c", iface, read_coalescing)

    def pause(self, iface: str) -> Pause:
        return self._shown("--json -a", iface, read_pause)

    def channels(self, iface: str) -> Channels:
        return self._shown("-l", iface, read_channels)

    def mtu(self, iface: str) -> int:
        """Bytes."""
        return self.interface(iface).mtu

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

    # --- how to put back what is there now: idempotent commands for the journal

    def restoring_features(self, iface: str, words: Mapping[str, str]) -> str:
        """:param words: the word to set with, by the name the feature is shown under; fixed features are left out."""
        shown = self.features(iface)
        wanted = {}
        for name, word in words.items():
            feature = shown[name]
            if not feature.fixed:
                wanted[word] = feature.on if feature.requested is None else feature.requested
        return self._restoring("-K", iface, wanted)

    def restoring_rings(self, iface: str) -> str:
        now = self.rings(iface).current
        sizes = {"rx": now.rx, "rx-mini": now.rx_mini, "rx-jumbo": now.rx_jumbo, "tx": now.tx}
        return self._restoring("-G", iface, {word: size for word, size in sizes.items() if size})

    def restoring_coalescing(self, iface: str, names: tuple[str, ...]) -> str:
        """:param names: the parameters to put back; the adaptive switches come first, with those that are shown."""
        now = self.coalescing(iface)
        values: dict[str, int | bool] = {}
        for word, switch in (("adaptive-rx", now.adaptive_rx), ("adaptive-tx", now.adaptive_tx)):
            if switch is not None:
                values[word] = switch
        for name in names:
            value = now.parameters.get(name)
            if value is not None:
                values[name] = value
        return self._restoring("-C", iface, values)

    def restoring_pause(self, iface: str) -> str:
        now = self.pause(iface)
        values = {"autoneg": now.autoneg, "rx": now.rx, "tx": now.tx}
        return self._restoring("-A", iface, {word: value for word, value in values.items() if value is not None})

    def restoring_channels(self, iface: str) -> str:
        now = self.channels(iface).current
        counts = {"rx": now.rx, "tx": now.tx, "combined": now.combined}
        return self._restoring("-L", iface, {word: count for word, count in counts.items() if count})

    def restoring_mtu(self, iface: str) -> str:
        return f"ip link set dev {shlex.quote(iface)} mtu {self.mtu(iface)}"

    # --- how it is done

    def _shown(self, option: str, iface: str, reader: Callable[[str], Shown]) -> Shown:
        command = f"ethtool {option} {interface_name(self.name, iface)}"
        record = self._read(command, reader)
        if record.iface != iface:
            raise BenchFault(f"{self.name}: `{command}` answered for {record.iface}")
        return record

    def _set(self, option: str, iface: str, values: Mapping[str, int | bool]) -> str | None:
        return self._told(self._ethtool(option, iface, values), unchanged=_UNCHANGED)

    def _restoring(self, option: str, iface: str, values: Mapping[str, int | bool]) -> str:
        if not values:
            raise BenchFault(f"{self.name}: {iface}: `ethtool {option}` has nothing to put back")
        # A driver that refuses every value refuses those of before as well: all is well where nothing has changed.
        look = f"ethtool {option.lower()} {interface_name(self.name, iface)} | cksum"
        same = f'test "$(LC_ALL=C {look})" = {shlex.quote(self._run(look).strip())}'
        return f"{self._ethtool(option, iface, values)} || test $? -eq {_UNCHANGED} || {same}"

    def _ethtool(self, option: str, iface: str, values: Mapping[str, int | bool]) -> str:
        words = []
        for word, value in values.items():
            if not _WORD.fullmatch(word):
                raise BenchFault(f"{self.name}: setting {word!r}: a word of letters, digits and - _ . is wanted")
            shown = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(int(value))
            words += [word, shown]
        return f"ethtool {option} {interface_name(self.name, iface)} {' '.join(words)}"
