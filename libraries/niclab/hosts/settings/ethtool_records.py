"""Features, rings, channels, coalescing and pause frames of an interface, as ``ethtool`` reports them.

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
    parameters: Mapping[str, int | None]


@dataclass(frozen=True)
class Pause:
    """``ethtool -a``."""

    iface: str
    autoneg: bool | None
    rx: bool | None
    tx: bool | None
