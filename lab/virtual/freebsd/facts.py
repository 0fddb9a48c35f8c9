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


@dataclass(frozen=True)
class Driver:
    """A driver of FreeBSD for the card of a driver of Linux; from its manual page (section 4) and its sources.

    ``name``: of the newbus device of a PCI function, ``port``: of its ports. ``module``: its file, without ``.ko``.
    ``built_in``: in the kernel GENERIC. ``counters``: sysctl -> file of the kernel's statistics below, and what the
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
    release: Release = RELEASE_10
    simplex_when_down: bool = True
    constants: Mapping[str, str] = field(default_factory=dict)
    counters: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    acting: tuple[str, ...] = ()
    flashes: str | None = None
    statistics: Mapping[str, str] = field(default_factory=dict)


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
    "bnx2x": Driver("bxe", "bxe", "if_bxe", "QLogic NetXtreme II BCM57810 10GbE", built_in=True, media="10Gbase-SR"),
    "ixgbe": Driver(
        "ix",
        "ix",
        "ixgbe",
        "Intel(R) PRO/10GbE PCI-Express Network Driver, Version - 2.5.15",
        built_in=True,
        media="10Gbase-SR",
        acting=("fc",),
    ),
    "sfc_siena": Driver("sfxge", "sfxge", "sfxge", "Solarflare SFC9000 family", plug_and_play=True, media="10Gbase-SR"),
    "acenic": Driver("ti", "ti", "if_ti", "Alteon AceNIC 1000baseSX Gigabit Ethernet", built_in=True),
    "e1000e": Driver(
        "em",
        "em",
        "if_em",
        "Intel(R) PRO/1000 Network Connection 7.4.2",
        built_in=True,
        acting=("fc",),
    ),
    "igb": Driver(
        "igb",
        "igb",
        "if_igb",
        "Intel(R) PRO/1000 Network Connection, Version - 2.5.3-k",
        built_in=True,
        acting=("fc",),
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

_USUAL_OPTIONS: tuple[Mapping[str, Any], ...] = (
    {"name": "rx-checksum", "label": "RXCSUM", "bit": 0, "words": ("rxcsum",)},
    {"name": "tx-checksum", "label": "TXCSUM", "bit": 1, "words": ("txcsum",), "clears": ("tso4",)},
    {"name": "vlan-mtu", "label": "VLAN_MTU", "bit": 3, "change": "fixed"},
    {"name": "vlan-insert", "label": "VLAN_HWTAGGING", "bit": 4, "words": ("vlanhwtag",)},
    {"name": "vlan-checksum", "label": "VLAN_HWCSUM", "bit": 7, "words": ("vlanhwcsum",)},
    {"name": "tso4", "label": "TSO4", "bit": 8, "words": ("tso4",)},
)
"""Options that ifconfig(8) calls usual, for a card whose model does not say what it can on FreeBSD."""


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
    pci, own = model["pci"], model.get("freebsd") or {}
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
        "tunables": tunables,
        "loader_tunables": {f"hw.{driver.name}.{name}": value for name, value in tunables.items()},
        "constants": dict(driver.constants),
        "counters": {name: list(place) for name, place in driver.counters.items()},
        "acting": list(driver.acting),
        "flashes": driver.flashes,
        "statistics": dict(driver.statistics),
        "options": [_rule(row) for row in own.get("options", _USUAL_OPTIONS)],
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
