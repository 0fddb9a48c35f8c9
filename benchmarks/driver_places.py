"""Places of the facts of each card sheet in its driver: file and C expression of each number, and the like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Places:
    """The places of the facts in the source of a driver.

    ``folder``: below drivers/net/ethernet. ``ethtool``: the file with the table of operations. ``module``: the word
    that the Makefile builds the module behind. ``ids``: file, and a pattern that the table of PCI IDs matches.
    ``numbers``: field of the sheet -> file and expressions, of which the first counts that the file defines.
    ``features``: file, function, depth of its statements, and lines behind which deeper ones count.
    ``explained``: field of the sheet -> why it may differ from the source.
    """

    folder: str
    ethtool: str
    module: str
    ids: tuple[str, str]
    numbers: Mapping[str, tuple[str, ...]]
    features: tuple[str, str, int, tuple[str, ...]]
    more_features: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    explained: Mapping[str, str] = field(default_factory=dict)


PLACES: Mapping[str, Places] = {
    "emulex-oce11102": Places(
        "emulex/benet",
        "be_ethtool.c",
        "CONFIG_BE2NET",
        ("be_main.c", r"PCI_DEVICE\(BE_VENDOR_ID, OC_DEVICE_ID2\)"),
        {
            "identity.device_id": ("be.h", "OC_DEVICE_ID2"),
            "rings.rx.max": ("be.h", "RX_Q_LEN"),
            "rings.rx.default": ("be.h", "RX_Q_LEN"),
            "rings.tx.max": ("be.h", "TX_Q_LEN"),
            "rings.tx.default": ("be.h", "TX_Q_LEN"),
            "coalescing.rx-usecs.max": ("be.h", "BE_MAX_EQD"),
            "channels.combined.max": ("be.h", "BE3_MAX_RSS_QS"),
            "mtu.min": ("be.h", "BE_MIN_MTU"),
            "mtu.max": ("be.h", "BE_MAX_JUMBO_FRAME_SIZE - ETH_HLEN - ETH_FCS_LEN"),
        },
        ("be_main.c", "be_netdev_init", 1, ("BE_IF_FLAGS_RSS",)),
    ),
    "chelsio-t580-cr": Places(
        "chelsio/cxgb4",
        "cxgb4_ethtool.c",
        "CONFIG_CHELSIO_T4",
        ("t4_pci_id_tbl.h", r"CH_PCI_ID_TABLE_FENTRY\(0x500d\)"),
        {
            "rings.rx.max": ("cxgb4.h", "MAX_RX_BUFFERS"),
            "rings.rx_mini.max": ("cxgb4.h", "MAX_RSPQ_ENTRIES"),
            "rings.tx.max": ("cxgb4.h", "MAX_TXQ_ENTRIES"),
            "mtu.max": ("t4_hw.h", "MAX_MTU"),
        },
        ("cxgb4_main.c", "init_one", 2, ()),
        explained={
            "rings.settable": "set_sge_param() answers EBUSY once a port of the card was up",
        },
    ),
    "broadcom-bcm57810": Places(
        "broadcom/bnx2x",
        "bnx2x_ethtool.c",
        "CONFIG_BNX2X",
        ("bnx2x_main.c", r"PCI_DEVICE_ID_NX2_57810\b"),
        {
            "rings.rx.max": ("bnx2x.h", "MAX_RX_AVAIL"),
            "rings.rx.default": ("bnx2x.h", "MAX_RX_AVAIL"),
            "rings.tx.max": ("bnx2x.h", "MAX_TX_AVAIL"),
            "rings.tx.default": ("bnx2x.h", "MAX_TX_AVAIL"),
            "coalescing.rx-usecs.default": ("bnx2x.h", "25 / BNX2X_BTR * BNX2X_BTR"),
            "coalescing.tx-usecs.default": ("bnx2x.h", "50 / BNX2X_BTR * BNX2X_BTR"),
            "coalescing.rx-usecs.max": ("bnx2x.h", "BNX2X_MAX_COALESCE_TOUT"),
            "coalescing.tx-usecs.max": ("bnx2x.h", "BNX2X_MAX_COALESCE_TOUT"),
            "mtu.min": ("bnx2x.h", "ETH_MIN_PACKET_SIZE"),
            "mtu.max": ("bnx2x.h", "ETH_MAX_JUMBO_PACKET_SIZE"),
        },
        ("bnx2x_main.c", "bnx2x_init_dev", 1, ("\t\telse", "if (!chip_is_e1x)")),
    ),
    "intel-x520": Places(
        "intel/ixgbe",
        "ixgbe_ethtool.c",
        "CONFIG_IXGBE",
        ("ixgbe_main.c", r"IXGBE_DEV_ID_82599_SFP\)"),
        {
            "identity.device_id": ("ixgbe_type.h", "IXGBE_DEV_ID_82599_SFP"),
            "rings.rx.max": ("ixgbe.h", "IXGBE_MAX_RXD_82599", "IXGBE_MAX_RXD"),
            "rings.rx.min": ("ixgbe.h", "IXGBE_MIN_RXD"),
            "rings.rx.default": ("ixgbe.h", "IXGBE_DEFAULT_RXD"),
            "rings.tx.max": ("ixgbe.h", "IXGBE_MAX_TXD_82599", "IXGBE_MAX_TXD"),
            "rings.tx.min": ("ixgbe.h", "IXGBE_MIN_TXD"),
            "rings.tx.default": ("ixgbe.h", "IXGBE_DEFAULT_TXD"),
            "coalescing.rx-usecs.max": ("ixgbe_type.h", "IXGBE_MAX_EITR >> 2"),
            "channels.combined.max": ("ixgbe.h", "IXGBE_MAX_FDIR_INDICES"),
            "mtu.max": ("ixgbe.h", "IXGBE_MAX_JUMBO_FRAME_SIZE - ETH_HLEN - ETH_FCS_LEN"),
        },
        ("ixgbe_main.c", "ixgbe_probe", 1, ("ixgbe_mac_82599EB", "IXGBE_FLAG2_RSC_CAPABLE")),
    ),
    "solarflare-sfn5122f": Places(
        "sfc/siena",
        "ethtool.c",
        "CONFIG_SFC_SIENA",
        ("efx.c", r"PCI_DEVICE\(PCI_VENDOR_ID_SOLARFLARE, 0x0803\)"),
        {
            "rings.rx.max": ("efx_common.h", "EFX_MAX_DMAQ_SIZE"),
            "rings.rx.default": ("efx_common.h", "EFX_DEFAULT_DMAQ_SIZE"),
            "rings.tx.max": ("efx_common.h", "EFX_MAX_DMAQ_SIZE"),
            "rings.tx.default": ("efx_common.h", "EFX_DEFAULT_DMAQ_SIZE"),
            "coalescing.rx-usecs.default": ("efx.c", "rx_irq_mod_usec"),
            "mtu.min": ("net_driver.h", "EFX_MIN_MTU"),
            "mtu.max": ("net_driver.h", "EFX_MAX_MTU"),
        },
        ("efx.c", "efx_pci_probe_post_io", 1, ("efx->type->offload_features & (NETIF_F_IPV6_CSUM",)),
        more_features={"features": ("siena.c", r"\.offload_features = \(([^)]*)\)")},
    ),
    "intel-82574l": Places(
        "intel/e1000e",
        "ethtool.c",
        "CONFIG_E1000E",
        ("netdev.c", r"E1000_DEV_ID_82574L\)"),
        {
            "identity.device_id": ("hw.h", "E1000_DEV_ID_82574L"),
            "rings.rx.max": ("e1000.h", "E1000_MAX_RXD"),
            "rings.rx.min": ("e1000.h", "E1000_MIN_RXD"),
            "rings.rx.default": ("e1000.h", "E1000_DEFAULT_RXD"),
            "rings.tx.max": ("e1000.h", "E1000_MAX_TXD"),
            "rings.tx.min": ("e1000.h", "E1000_MIN_TXD"),
            "rings.tx.default": ("e1000.h", "E1000_DEFAULT_TXD"),
            "coalescing.rx-usecs.default": ("param.c", "DEFAULT_ITR"),
            "coalescing.rx-usecs.max": ("e1000.h", "E1000_MAX_ITR_USECS"),
            "mtu.max": ("e1000.h", "DEFAULT_JUMBO - VLAN_ETH_HLEN - ETH_FCS_LEN"),
        },
        ("netdev.c", "e1000_probe", 1, ("FLAG_HAS_HW_VLAN_FILTER",)),
        explained={"offloads.vlan-insert": "e1000_fix_features(): insertion follows stripping"},
    ),
    "intel-82576": Places(
        "intel/igb",
        "igb_ethtool.c",
        "CONFIG_IGB",
        ("igb_main.c", r"E1000_DEV_ID_82576\)"),
        {
            "identity.device_id": ("e1000_hw.h", "E1000_DEV_ID_82576"),
            "rings.rx.max": ("igb.h", "IGB_MAX_RXD"),
            "rings.rx.min": ("igb.h", "IGB_MIN_RXD"),
            "rings.rx.default": ("igb.h", "IGB_DEFAULT_RXD"),
            "rings.tx.max": ("igb.h", "IGB_MAX_TXD"),
            "rings.tx.min": ("igb.h", "IGB_MIN_TXD"),
            "rings.tx.default": ("igb.h", "IGB_DEFAULT_TXD"),
            "coalescing.rx-usecs.default": ("igb.h", "IGB_DEFAULT_ITR"),
            "coalescing.rx-usecs.max": ("igb.h", "IGB_MAX_ITR_USECS"),
            "mtu.max": ("e1000_defines.h", "MAX_STD_JUMBO_FRAME_SIZE"),
        },
        ("igb_main.c", "igb_probe", 1, ("e1000_82576",)),
        explained={"offloads.vlan-insert": "igb_fix_features(): insertion follows stripping"},
    ),
    "alteon-acenic": Places(
        "alteon",
        "acenic.c",
        "CONFIG_ACENIC",
        ("acenic.c", r"PCI_DEVICE_ID_ALTEON_ACENIC_FIBRE\b"),
        {"mtu.max": ("acenic.h", "ACE_JUMBO_MTU")},
        ("acenic.c", "acenic_probe_one", 1, ()),
    ),
}
