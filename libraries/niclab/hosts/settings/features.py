"""Offloads by their neutral names: what ethtool calls them on Linux, and ifconfig on FreeBSD.

Sources: net/ethtool/common.c and ethtool.c of Linux and ethtool for the words; FreeBSD's sys/net/if.h for labels and
bits (``IFCAP_*``), sbin/ifconfig (ifconfig.c, ifvlan.c) for the words that set them. A word that ends a row as None:
the tool has none, so that the offload cannot be changed with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from niclab.card.offload_facts import OffloadName


@dataclass(frozen=True)
class EthtoolWord:
    """``shown`` by ``ethtool -k``, ``set`` with ``ethtool -K``."""

    shown: str
    set: str


@dataclass(frozen=True)
class Capability:
    """A capability of an interface of FreeBSD: its label and bit in the options, the word of ifconfig that sets it."""

    label: str
    bit: int
    word: str | None


CAPABILITIES = (
    Capability("RXCSUM", 0, "rxcsum"),
    Capability("TXCSUM", 1, "txcsum"),
    Capability("NETCONS", 2, None),
    Capability("VLAN_MTU", 3, "vlanmtu"),
    Capability("VLAN_HWTAGGING", 4, "vlanhwtag"),
    Capability("JUMBO_MTU", 5, None),
    Capability("POLLING", 6, "polling"),
    Capability("VLAN_HWCSUM", 7, "vlanhwcsum"),
    Capability("TSO4", 8, "tso4"),
    Capability("TSO6", 9, "tso6"),
    Capability("LRO", 10, "lro"),
    Capability("WOL_UCAST", 11, "wol_ucast"),
    Capability("WOL_MCAST", 12, "wol_mcast"),
    Capability("WOL_MAGIC", 13, "wol_magic"),
    Capability("TOE4", 14, "toe"),
    Capability("TOE6", 15, "toe"),
    Capability("VLAN_HWFILTER", 16, "vlanhwfilter"),
    Capability("VLAN_HWTSO", 18, "vlanhwtso"),
    Capability("LINKSTATE", 19, None),
    Capability("NETMAP", 20, None),
    Capability("RXCSUM_IPV6", 21, "rxcsum6"),
    Capability("TXCSUM_IPV6", 22, "txcsum6"),
    Capability("HWSTATS", 23, None),
    Capability("TXRTLMT", 24, "txrtlmt"),
    Capability("HWRXTSTMP", 25, "hwrxtstmp"),
    Capability("MEXTPG", 26, "mextpg"),
    Capability("TXTLS4", 27, "txtls"),
    Capability("TXTLS6", 28, "txtls"),
    Capability("VXLAN_HWCSUM", 29, "vxlanhwcsum"),
    Capability("VXLAN_HWTSO", 30, "vxlanhwtso"),
    Capability("TXTLS_RTLMT", 31, "txtlsrtlmt"),
)
"""Every capability of FreeBSD 9 to 14 by its bit (bit 17 has had different meanings and is left out)."""

_BY_LABEL = {capability.label: capability for capability in CAPABILITIES}

LINUX = {
    OffloadName.RX_CHECKSUM: EthtoolWord("rx-checksumming", "rx"),
    OffloadName.TX_CHECKSUM: EthtoolWord("tx-checksumming", "tx"),
    OffloadName.SCATTER_GATHER: EthtoolWord("scatter-gather", "sg"),
    OffloadName.TSO4: EthtoolWord("tx-tcp-segmentation", "tx-tcp-segmentation"),
    OffloadName.TSO6: EthtoolWord("tx-tcp6-segmentation", "tx-tcp6-segmentation"),
    OffloadName.LRO: EthtoolWord("large-receive-offload", "lro"),
    OffloadName.GRO: EthtoolWord("generic-receive-offload", "gro"),
    OffloadName.GSO: EthtoolWord("generic-segmentation-offload", "gso"),
    OffloadName.VLAN_INSERT: EthtoolWord("tx-vlan-offload", "txvlan"),
    OffloadName.VLAN_STRIP: EthtoolWord("rx-vlan-offload", "rxvlan"),
    OffloadName.VLAN_FILTER: EthtoolWord("rx-vlan-filter", "rx-vlan-filter"),
    OffloadName.RX_HASH: EthtoolWord("receive-hashing", "rxhash"),
    OffloadName.NTUPLE: EthtoolWord("ntuple-filters", "ntuple"),
}
"""Linux has no switch for the others: frames with a tag, jumbo frames, and both behind a tag are the driver's own."""

FREEBSD = {
    OffloadName.RX_CHECKSUM: _BY_LABEL["RXCSUM"],
    OffloadName.TX_CHECKSUM: _BY_LABEL["TXCSUM"],
    OffloadName.TSO4: _BY_LABEL["TSO4"],
    OffloadName.TSO6: _BY_LABEL["TSO6"],
    OffloadName.LRO: _BY_LABEL["LRO"],
    OffloadName.VLAN_INSERT: _BY_LABEL["VLAN_HWTAGGING"],
    OffloadName.VLAN_FILTER: _BY_LABEL["VLAN_HWFILTER"],
    OffloadName.VLAN_MTU: _BY_LABEL["VLAN_MTU"],
    OffloadName.VLAN_CHECKSUM: _BY_LABEL["VLAN_HWCSUM"],
    OffloadName.VLAN_TSO: _BY_LABEL["VLAN_HWTSO"],
    OffloadName.JUMBO_MTU: _BY_LABEL["JUMBO_MTU"],
    OffloadName.TOE: _BY_LABEL["TOE4"],
}
"""FreeBSD inserts and strips tags by one switch, and merges received segments (LRO) in the driver only."""
