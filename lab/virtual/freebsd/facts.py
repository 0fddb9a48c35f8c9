"""The facts of a server for the guest's program: the release it answers for, and the card as its model describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pprint import pformat
from typing import Any

import cardmodel


@dataclass(frozen=True)
class Release:
    """A release of FreeBSD, as its tools print it."""

    name: str
    version: str
    osreldate: int
    year: int


RELEASE_9 = Release(
    "9.1-RELEASE",
    "FreeBSD 9.1-RELEASE #0 r243825: Tue Dec  4 09:23:10 UTC 2012"
    "     root@farrell.cse.buffalo.edu:/usr/obj/usr/src/sys/GENERIC",
    901000,
    2012,
)
"""The one that the Emulex document was written of; its packages are those of pkg_add."""
RELEASE_10 = Release(
    "10.1-RELEASE",
    "FreeBSD 10.1-RELEASE #0 r274401: Tue Nov 11 21:02:49 UTC 2014"
    "     root@releng1.nyi.freebsd.org:/usr/obj/usr/src/sys/GENERIC",
    1001000,
    2014,
)
"""That of the time of the Chelsio paper, with T5 cards in its kernel's drivers and pkg."""
RELEASE_13 = Release(
    "13.2-RELEASE",
    "FreeBSD 13.2-RELEASE releng/13.2-n254617-525ecfdad597 GENERIC",
    1302001,
    2021,
)
"""Its Intel drivers are those of iflib(4), here with what those of 14 show (``fw_version``). Its version is what users'
``uname -v`` printed, the year that of boot messages of 13.0 to 13.2; the number follows the scheme of sys/param.h."""


@dataclass(frozen=True)
class Driver:
    """A driver of FreeBSD for the card of a driver of Linux; from its manual page (section 4) and its sources.

    ``name``: of the newbus device of a PCI function, ``port``: of its ports. ``module``: its file, without ``.ko``.
    ``built_in``: in the kernel GENERIC. ``firmware_form``: what of the firmware string below is shown, and how.
    ``counters``: sysctl -> file of the kernel's statistics below, and what the
    count is divided by. ``acting``: settings of a port that act on the card. ``flashes``: the setting of a function
    that takes the name of a firmware module, and has its image written. ``statistics``: sysctl -> counter of
    ``ethtool -S``, of which all queues are added up.
    """

    name: str
    port: str
    module: str
    description: str
    built_in: bool = False
    plug_and_play: bool = False
    media: str | None = None
    version_name: str | None = None
    firmware_name: str | None = None
    firmware_form: tuple[str, str] = (r"([^ ,]*).*", r"\1")
    release: Release = RELEASE_10
    simplex_when_down: bool = True
    constants: Mapping[str, str] = field(default_factory=dict)
    counters: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    acting: tuple[str, ...] = ()
    flashes: str | None = None
    statistics: Mapping[str, str] = field(default_factory=dict)


_INTEL_COUNTERS: Mapping[str, tuple[str, int]] = {
    "mac_stats.good_octets_recvd": ("rx_bytes", 1),
    "mac_stats.good_pkts_recvd": ("rx_packets", 1),
    "mac_stats.mcast_pkts_recvd": ("multicast", 1),
    "mac_stats.crc_errs": ("rx_crc_errors", 1),
    "mac_stats.missed_packets": ("rx_missed_errors", 1),
    "mac_stats.good_octets_txd": ("tx_bytes", 1),
    "mac_stats.good_pkts_txd": ("tx_packets", 1),
}
"""Counters of em and igb (sys/dev/e1000/if_em.c, em_add_hw_stats())."""

DRIVERS: Mapping[str, Driver] = {
    "be2net": Driver(
        "oce",
        "oce",
        "oce",
        "Emulex CNA NIC function:///{version}///",
        media="10Gbase-SR",
        version_name="component_revision",
        firmware_name="firmware_version",
        release=RELEASE_9,
        simplex_when_down=False,
        counters={
            "stats.rx.total_pkts": ("rx_packets", 1),
            "stats.rx.total_bytes": ("rx_bytes", 1),
            "stats.rx.total_mcast_pkts": ("multicast", 1),
            "stats.rx.err.rx_drops_no_pbuf": ("rx_missed_errors", 1),
            "stats.rx.err.crc_alignsymbol_errors": ("rx_crc_errors", 1),
            "stats.tx.total_tx_bytes": ("tx_bytes", 1),
        },
        flashes="fw_upgrade",
        statistics={"stats.tx.total_tx_pkts": "tx_reqs"},
    ),
    "cxgb4": Driver(
        "t5nex",
        "cxl",
        "if_cxgbe",
        "Chelsio {part}",
        plug_and_play=True,
        media="40Gbase-SR4",
        firmware_name="firmware_version",
        constants={"holdoff_timers": "1 5 10 50 100 200", "holdoff_pkt_counts": "1 8 16 32", "nports": "2"},
        counters={
            "stats.rx_octets": ("rx_bytes", 1),
            "stats.rx_frames": ("rx_packets", 1),
            "stats.rx_mcast_frames": ("multicast", 1),
            "stats.rx_ovflow0": ("rx_missed_errors", 1),
            "stats.rx_fcs_err": ("rx_crc_errors", 1),
            "stats.tx_octets": ("tx_bytes", 1),
            "stats.tx_frames": ("tx_packets", 1),
        },
        acting=("nrxq", "ntxq", "holdoff_tmr_idx", "holdoff_pktc_idx", "qsize_rxq", "qsize_txq", "pause_settings"),
        statistics={
            "rxq.0.lro_queued": "gro_merged",
            "rxq.0.rxcsum": "rx_csum_good",
            "rxq.0.vlan_extraction": "vlan_extractions",
            "txq.0.txcsum": "tx_csum_offload",
            "txq.0.vlan_insertion": "vlan_insertions",
            "txq.0.tso_wrs": "tso",
        },
    ),
    "bnx2x": Driver(
        "bxe",
        "bxe",
        "if_bxe",
        "QLogic NetXtreme II BCM57810 10GbE",
        built_in=True,
        media="10Gbase-SR",
        firmware_name="bc_version",
        firmware_form=(r".*\bbc (\S+).*", r"\1"),
        release=RELEASE_13,
        # fw_version is what it brings along for the chip's processors, the same on every card (bxe_add_sysctls(),
        # BCM_5710_FW_*_VERSION); its value is made up.
        constants={"version": "1.78.91", "fw_version": "7.13.11.0"},
        counters={
            "rx_bytes": ("rx_bytes", 1),
            "rx_ucast_packets": ("rx_packets", 1),
            "rx_mcast_packets": ("multicast", 1),
            "rx_crc_errors": ("rx_crc_errors", 1),
            "rx_discards": ("rx_missed_errors", 1),
            "tx_bytes": ("tx_bytes", 1),
            "tx_ucast_packets": ("tx_packets", 1),
        },
    ),
    "ixgbe": Driver(
        "ix",
        "ix",
        "if_ix",
        "Intel(R) X520 82599ES (SFI/SFP+)",
        built_in=True,
        media="10Gbase-SR",
        release=RELEASE_13,
        # The form is that of ixgbe_sbuf_fw_version(); the number is made up.
        constants={"iflib.driver_version": "4.0.1-k", "fw_version": "eTrack 0x80000887"},
        counters={
            "mac_stats.good_octets_rcvd": ("rx_bytes", 1),
            "mac_stats.good_pkts_rcvd": ("rx_packets", 1),
            "mac_stats.mcast_pkts_rcvd": ("multicast", 1),
            "mac_stats.crc_errs": ("rx_crc_errors", 1),
            "mac_stats.good_octets_txd": ("tx_bytes", 1),
            "mac_stats.good_pkts_txd": ("tx_packets", 1),
        },
        acting=("fc",),
    ),
    "sfc_siena": Driver(
        "sfxge",
        "sfxge",
        "sfxge",
        "Solarflare SFC9000 family",  # until sfxge_vpd_init() puts the product's name there, where the card has one
        media="10Gbase-SR",
        release=RELEASE_13,
        constants={"version": "v4.8.0.1019"},
        counters={
            "stats.rx_octets": ("rx_bytes", 1),
            "stats.rx_pkts": ("rx_packets", 1),
            "stats.rx_multicst_pkts": ("multicast", 1),
            "stats.rx_fcs_errors": ("rx_crc_errors", 1),
            "stats.tx_octets": ("tx_bytes", 1),
            "stats.tx_pkts": ("tx_packets", 1),
        },
    ),
    "acenic": Driver(
        "ti",
        "ti",
        "if_ti",
        "Alteon AceNIC 1000baseSX Gigabit Ethernet",
        built_in=True,
        media="1000baseSX",
        release=RELEASE_13,
        constants={"rx_coal_ticks": "170", "rx_max_coal_bds": "64", "tx_max_coal_bds": "32"},
    ),
    "e1000e": Driver(
        "em",
        "em",
        "if_em",
        "Intel(R) Gigabit CT 82574L",
        built_in=True,
        firmware_name="fw_version",
        firmware_form=(r"(\S+).*", r"EEPROM V\1"),
        release=RELEASE_13,
        constants={"iflib.driver_version": "7.7.8-fbsd"},
        counters=_INTEL_COUNTERS,
        acting=("fc",),
        statistics={"mac_stats.tso_txd": "tx_tcp_seg_good"},
    ),
    "igb": Driver(
        "igb",
        "igb",
        "if_igb",
        "Intel(R) PRO/1000 82576",
        built_in=True,
        firmware_name="fw_version",
        firmware_form=(r"([0-9]+\.[0-9]+)\.([0-9]+).*", r"EEPROM V\1-\2"),
        release=RELEASE_13,
        constants={"iflib.driver_version": "2.5.19-fbsd"},
        counters=_INTEL_COUNTERS,
        acting=("fc",),
        statistics={"mac_stats.tso_txd": "tx_tcp_seg_good"},
    ),
}
"""By the driver of Linux of the card's model."""

BELOW: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "rx-checksum": ("rx-checksumming", ("rx",)),
    "tx-checksum": ("tx-checksumming", ("tx",)),
    "tso4": ("tx-tcp-segmentation", ("tx-tcp-segmentation",)),
    "tso6": ("tx-tcp6-segmentation", ("tx-tcp6-segmentation",)),
    "lro": ("generic-receive-offload", ("gro",)),
    "vlan-insert": ("tx-vlan-offload", ("txvlan", "rxvlan")),
    "vlan-filter": ("rx-vlan-filter", ("rx-vlan-filter",)),
}
"""Offload -> feature of the kernel below, and the words of ethtool that switch it. LRO is in the driver on FreeBSD;
below, received segments are merged by GRO."""


def of(card: str) -> dict[str, Any]:
    """The facts of a server with that card.

    Raises:
        ModelError: When the model lacks what the bench needs.
    """
    driver = driver_of(card)
    return {
        "release": driver.release.name,
        "version": driver.release.version,
        "osreldate": driver.release.osreldate,
        "year": driver.release.year,
        "machine": "amd64",
        "drivers": {driver.name: _driver(card, cardmodel.read(card), driver)},
    }


def driver_of(card: str) -> Driver:
    """FreeBSD's driver for a card.

    Raises:
        ModelError: When none is known here.
    """
    module = cardmodel.field(cardmodel.read(card), card, "driver", str)
    if module not in DRIVERS:
        raise cardmodel.ModelError(f"{card}: no driver of FreeBSD is known for a card of {module}")
    return DRIVERS[module]


def rendered(card: str) -> str:
    """The facts as the module that the guest's program imports."""
    head = '"""Facts of this server and its card, made of the model of the card."""'
    return f"{head}\n\nFACTS = {pformat(of(card), width=110)}\n"


def _driver(card: str, model: Mapping[str, Any], driver: Driver) -> dict[str, Any]:
    pci, own = model["pci"], cardmodel.field(model, card, "freebsd", dict)
    version, tunables = own.get("version", ""), own.get("tunables", {})
    return {
        "linux": model["driver"],
        "module": driver.module,
        "port": driver.port,
        "ports_per_function": model["ports"] // pci["functions"],
        "built_in": driver.built_in,
        "plug_and_play": driver.plug_and_play,
        "ids": [f"{pci['vendor']}:{pci['device']}"],
        "description": driver.description.format(version=version, part=model["part_number"]),
        "speed_mbps": cardmodel.field(model, card, "link.mbps", int),
        "media": driver.media,
        "simplex_when_down": driver.simplex_when_down,
        "version_name": driver.version_name if version else None,
        "version_text": f"///{version}///",
        "firmware_name": driver.firmware_name,
        "firmware_form": list(driver.firmware_form),
        "mtu": dict(own.get("mtu", {})),
        "tunables": tunables,
        "loader_tunables": {f"hw.{driver.name}.{name}": value for name, value in tunables.items()},
        "constants": dict(driver.constants),
        "counters": {name: list(place) for name, place in driver.counters.items()},
        "acting": list(driver.acting),
        "flashes": driver.flashes,
        "statistics": dict(driver.statistics),
        "options": [_rule(row) for row in own["options"]],
        "toe": dict(own.get("toe", {})),
    }


def _rule(row: Mapping[str, Any]) -> dict[str, Any]:
    """A rule of a bit: what the model leaves out is as usual."""
    below, words_below = BELOW.get(row["name"], (None, ()))
    return {
        "name": row["name"],
        "label": row["label"],
        "bit": row["bit"],
        "words": list(row.get("words", ())),
        "change": row.get("change", "both"),
        "clears": list(row.get("clears", ())),
        "default": row.get("enabled", True),
        "error": row.get("error"),
        "below": below,
        "set_below": list(words_below),
    }
