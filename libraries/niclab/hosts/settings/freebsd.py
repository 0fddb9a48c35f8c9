"""FreeBSD host: settings of an interface: offloads, rings, coalescing, pause, queues, MTU."""

from __future__ import annotations

import re
from collections.abc import Mapping

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.command_words import interface_name
from niclab.hosts.drivers.driver_commands import FreeBsdDriverCommands
from niclab.hosts.errors import ReadError, unreadable
from niclab.hosts.freebsd_commands import Newbus
from niclab.hosts.parity import emulated, not_available, partly
from niclab.hosts.settings.driver_settings import FLOW_CONTROL, numbers, pause_bits, pause_word
from niclab.hosts.settings.ethtool_records import (
    ChannelCounts,
    Channels,
    Coalescing,
    Feature,
    Features,
    Pause,
    Rings,
    RingSizes,
)
from niclab.hosts.settings.features import CAPABILITIES
from niclab.hosts.settings.offered import offered_capabilities
from niclab.hosts.settings.settings_records import Attempt

_PARAMETER = re.compile(r"[a-z]{2,8}(-[a-z]{2,8}){1,3}")
_RINGS = {"rx": "qsize_rxq", "tx": "qsize_txq"}

# Neutral word -> (the setting that holds an index, the list at the parent device that it points into).
_HOLDOFF = {"rx-usecs": ("holdoff_tmr_idx", "holdoff_timers"), "rx-frames": ("holdoff_pktc_idx", "holdoff_pkt_counts")}
_SIZES = "cxgbe, by `qsize_rxq` and `qsize_txq`; other drivers fix them or take them from loader.conf"
_HELD = "cxgbe, by its holdoff timers and packet counts; of other drivers no setting is read"
_PAUSED = "cxgbe, by `pause_settings`; ix, em, igb and ixl, by `fc`"
_QUEUES = "cxgbe, by `nrxq` and `ntxq`"
_LOADER_ONLY = "drivers take their numbers of queues from loader.conf"


class FreeBsdSettings(FreeBsdDriverCommands):
    """See :class:`niclab.hosts.host.HostSettings` for the meaning of each method."""

    @emulated("`ifconfig -m`, by its labels; fixed is what ifconfig has no word for")
    def features(self, iface: str) -> Features:
        """Return the capabilities of the interface, by the labels of ifconfig (``TSO4``), and whether each is on.

        ifconfig leaves the options out when none is on, and the capabilities when there are none: that is an error.
        """
        shown = self._ifconfig(f"ifconfig -m {interface_name(self.name, iface)}", iface)
        able, enabled = shown.capabilities, shown.options
        if able is None:
            raise unreadable(f"ifconfig -m {iface}", "capabilities", None, "'capabilities=507bb<RXCSUM,...>'")
        found = {
            one.label: Feature(enabled is not None and enabled.has(one.label, one.bit), one.word is None, None)
            for one in CAPABILITIES
            if able.has(one.label, one.bit)
        }
        return Features(iface, found)

    @partly(_SIZES)
    def rings(self, iface: str) -> Rings:
        device = self._chelsio(iface, "shows no ring sizes")
        sizes = {word: self._number(f"{device.tree}.{leaf}") for word, leaf in _RINGS.items()}
        unknown = RingSizes(None, None, None, None)
        return Rings(iface, unknown, RingSizes(sizes["rx"], None, None, sizes["tx"]))

    @partly(_HELD)
    def coalescing(self, iface: str) -> Coalescing:
        device = self._chelsio(iface, "has no coalescing that the lab reads")
        values = {word: self._held(device, word) for word in _HOLDOFF}
        return Coalescing(iface, None, None, values)

    @partly(_PAUSED)
    def pause(self, iface: str) -> Pause:
        device = self._newbus(iface)
        if device.driver in FLOW_CONTROL:
            rx, tx, _ = pause_bits(f"{device.tree}.fc", self._text(f"{device.tree}.fc"))
            return Pause(iface, None, rx, tx)
        name = f"{self._chelsio(iface, 'shows no flow control').tree}.pause_settings"
        rx, tx, autoneg = pause_bits(name, self._text(name))
        return Pause(iface, autoneg, rx, tx)

    @partly(_QUEUES)
    def channels(self, iface: str) -> Channels:
        device = self._chelsio(iface, "shows no numbers of queues")
        rx, tx = self._number(f"{device.tree}.nrxq"), self._number(f"{device.tree}.ntxq")
        return Channels(iface, ChannelCounts(None, None, None, None), ChannelCounts(rx, tx, None, None))

    def mtu(self, iface: str) -> int:
        """Bytes."""
        mtu = self._ifconfig(f"ifconfig {interface_name(self.name, iface)}", iface).mtu
        if mtu is None:
            raise ReadError(f"`ifconfig {iface}` shows no mtu", self.name)
        return mtu

    @partly("the capabilities that `ifconfig -m` shows")
    def untried(self, iface: str) -> tuple[str, ...]:
        return offered_capabilities(
            self._ifconfig(f"ifconfig -m {interface_name(self.name, iface)}", iface).capabilities
        )

    def set_feature(self, iface: str, word: str, on: bool) -> Attempt[Features]:
        """Switch an offload by the word of ifconfig: ``tso4``."""
        command = f"ifconfig {interface_name(self.name, iface)} {'' if on else '-'}{self._word(word)}"
        return Attempt(self._told(command), self.features(iface))

    @partly(_SIZES)
    def set_rings(self, iface: str, sizes: Mapping[str, int]) -> Attempt[Rings]:
        """``rx`` and ``tx``. cxgbe takes them before the interface is first brought up, and refuses afterwards."""
        device = self._chelsio(iface, "takes ring sizes from loader.conf only")
        changes = [f"{device.tree}.{self._leaf(_RINGS, word)}={int(size)}" for word, size in sizes.items()]
        return Attempt(self._set(changes), self.rings(iface))

    @partly(_HELD)
    def set_coalescing(self, iface: str, values: Mapping[str, int | bool]) -> Attempt[Coalescing]:
        """``rx-usecs`` and ``rx-frames``: one of the values that the card's lists hold; anything else is refused."""
        device, changes = self._chelsio(iface, "has no coalescing that the lab sets"), list[str]()
        for word, value in values.items():
            if word not in _HOLDOFF and _PARAMETER.fullmatch(word):
                return Attempt(f"driver {device.driver} has no {word}", self.coalescing(iface))
            index, place = self._leaf(_HOLDOFF, word)
            known = self._list(device, place)
            if isinstance(value, bool) or value not in known:
                return Attempt(f"{word} {value}; expected one of {known}", self.coalescing(iface))
            changes.append(f"{device.tree}.{index}={known.index(value)}")
        return Attempt(self._set(changes), self.coalescing(iface))

    @partly(_PAUSED)
    def set_pause(self, iface: str, values: Mapping[str, bool]) -> Attempt[Pause]:
        """``autoneg`` (cxgbe), ``rx``, ``tx``; what is not named stays."""
        now, device = self.pause(iface), self._newbus(iface)
        if values.get("autoneg") and now.autoneg is None:
            return Attempt(f"{device.driver} has no switch for the negotiation of flow control", now)
        expected = {"autoneg": bool(now.autoneg), "rx": bool(now.rx), "tx": bool(now.tx)}
        for word, value in values.items():
            self._leaf(expected, word)
            expected[word] = value
        leaf = "fc" if device.driver in FLOW_CONTROL else "pause_settings"
        number = pause_word(expected["rx"], expected["tx"], expected["autoneg"])
        return Attempt(self._set([f"{device.tree}.{leaf}={number}"]), self.pause(iface))

    @not_available(_LOADER_ONLY)
    def set_channels(self, iface: str, counts: Mapping[str, int]) -> Attempt[Channels]:
        raise NotApplicable(f"{self.name}: {iface}: {dict(counts)} cannot be set: {_LOADER_ONLY}")

    def set_mtu(self, iface: str, mtu: int) -> Attempt[int]:
        """Bytes."""
        return Attempt(self._told(f"ifconfig {interface_name(self.name, iface)} mtu {int(mtu)}"), self.mtu(iface))

    def _list(self, device: Newbus, leaf: str) -> tuple[int, ...]:
        name = f"{self._parent(device).tree}.{leaf}"
        return numbers(name, self._text(name))

    def _held(self, device: Newbus, word: str) -> int | None:
        """The value an index points to; None when it points to none (-1: packets are not counted)."""
        leaf, place = _HOLDOFF[word]
        name = f"{device.tree}.{leaf}"
        index, known = self._index(name), self._list(device, place)
        if index >= len(known):
            raise unreadable("sysctl -n", name, str(index), f"an index into {known}")
        return known[index] if index >= 0 else None

    def _set(self, changes: list[str]) -> str | None:
        if not changes:
            raise BenchFault(f"{self.name}: no setting is named that could be changed")
        return self._told(f"sysctl {' '.join(changes)}")
