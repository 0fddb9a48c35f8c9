"""What ``ethtool`` says of an interface's features, rings, channels, coalescing, pause frames and module.

A field the text does not have, and one the tool answers with "n/a", is None. It never means zero or off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from niclab.hosts.errors import ReadError


@dataclass(frozen=True)
class Feature:
    """``fixed``: cannot be changed, says the tool. ``requested``: what was asked for, where that is not what is."""

    on: bool
    fixed: bool
    requested: bool | None


# How the names of a group's members begin (off_flag_def of ethtool.c; the kernel's are in net/ethtool/common.c).
_MEMBERS = {
    "tx-checksumming": "tx-checksum-",
    "scatter-gather": "tx-scatter-gather",
    "tcp-segmentation-offload": "tx-tcp",
}


@dataclass(frozen=True)
class Features:
    """``ethtool -k``."""

    iface: str
    features: Mapping[str, Feature]

    def __getitem__(self, name: str) -> Feature:
        """The feature of that name. Of a group ethtool never says that it is fixed: it is when all its members are."""
        if name not in self.features:
            raise ReadError(f"no feature {name!r} among {len(self.features)}")
        feature, begin = self.features[name], _MEMBERS.get(name)
        members = [each for word, each in self.features.items() if begin and word.startswith(begin)]
        return replace(feature, fixed=feature.fixed or (bool(members) and all(one.fixed for one in members)))


@dataclass(frozen=True)
class RingSizes:
    """Descriptors per ring. ``rx_buf_len``, ``cqe_size``, ``tx_push_buff_len``, ``hds_thresh`` are bytes."""

    rx: int | None
    rx_mini: int | None
    rx_jumbo: int | None
    tx: int | None
    rx_buf_len: int | None = None
    cqe_size: int | None = None
    tx_push: bool | None = None
    rx_push: bool | None = None
    tx_push_buff_len: int | None = None
    tcp_data_split: bool | None = None
    hds_thresh: int | None = None


@dataclass(frozen=True)
class Rings:
    """``ethtool -g``."""

    iface: str
    max: RingSizes
    current: RingSizes


@dataclass(frozen=True)
class ChannelCounts:
    """Queues of each sort."""

    rx: int | None
    tx: int | None
    other: int | None
    combined: int | None


@dataclass(frozen=True)
class Channels:
    """``ethtool -l``."""

    iface: str
    max: ChannelCounts
    current: ChannelCounts


@dataclass(frozen=True)
class Coalescing:
    """``ethtool -c``. ``parameters`` by the tool's names: microseconds where the name ends in usecs, else counts."""

    iface: str
    adaptive_rx: bool | None
    adaptive_tx: bool | None
    cqe_mode_rx: bool | None
    cqe_mode_tx: bool | None
    parameters: Mapping[str, int | None]


@dataclass(frozen=True)
class Pause:
    """``ethtool -a``. ``rx_negotiated`` and ``tx_negotiated`` are printed by newer tools, with ``autoneg`` on."""

    iface: str
    autoneg: bool | None
    rx: bool | None
    tx: bool | None
    rx_negotiated: bool | None
    tx_negotiated: bool | None
    statistics: Mapping[str, int] | None = None


@dataclass(frozen=True)
class ModuleLane:
    """One channel of a module. Power in dBm is None where there is no light ("-inf dBm": 0 mW has no logarithm)."""

    number: int
    bias_ma: float | None = None
    tx_power_mw: float | None = None
    tx_power_dbm: float | None = None
    rx_power_mw: float | None = None
    rx_power_dbm: float | None = None


@dataclass(frozen=True)
class ModuleEeprom:
    """``ethtool -m``, decoded. ``identifier`` and ``connector`` are as printed, ``0x03 (SFP)``.

    ``lengths`` (metres) by the tool's names; ``alarms`` by flag, True where raised; ``thresholds`` by name in mA, mW,
    degrees Celsius and volts. Bias and powers at the top are those of a module with one lane; ``lanes`` of the others.
    """

    identifier: str | None
    connector: str | None
    vendor_name: str | None
    vendor_oui: str | None
    vendor_pn: str | None
    vendor_rev: str | None
    vendor_sn: str | None
    date_code: str | None
    transceiver_types: tuple[str, ...]
    wavelength_nm: float | None
    nominal_rate_mbps: int | None
    lengths: Mapping[str, float]
    temperature_c: float | None
    voltage_v: float | None
    bias_ma: float | None
    tx_power_mw: float | None
    tx_power_dbm: float | None
    rx_power_mw: float | None
    rx_power_dbm: float | None
    lanes: tuple[ModuleLane, ...]
    alarms: Mapping[str, bool]
    thresholds: Mapping[str, float]
