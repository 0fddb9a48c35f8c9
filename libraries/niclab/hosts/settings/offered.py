"""Readers of what an interface offers and no check of the lab tries. Certificates name it."""

from __future__ import annotations

import re

from niclab.hosts.links.bits import Bits

WAKES = "wake-on-LAN"
EEE, FEC = "Energy-Efficient Ethernet", "forward error correction"
FEATURES = {
    "hw-tc-offload": "rules of tc in the card",
    "l2-fwd-offload": "forwarding for macvlan in the card",
    "tx-udp-segmentation": "segmentation of UDP",
    "tx-gre-segmentation": "segmentation in GRE tunnels",
    "tx-udp_tnl-segmentation": "segmentation in UDP tunnels",
    "esp-hw-offload": "IPsec in the card",
    "macsec-hw-offload": "MACsec in the card",
    "tls-hw-tx-offload": "sending TLS in the card",
    "tls-hw-rx-offload": "receiving TLS in the card",
}
"""Features of Linux by their names in ``ethtool -k`` (net/ethtool/common.c), in words."""
CAPABILITIES = {
    "TOE4": "TCP offload over IPv4",
    "TOE6": "TCP offload over IPv6",
    "WOL_UCAST": "wake-on-LAN (unicast)",
    "WOL_MCAST": "wake-on-LAN (multicast)",
    "WOL_MAGIC": "wake-on-LAN (magic packet)",
    "NETMAP": "netmap",
    "HWRXTSTMP": "time stamps of received packets",
    "TXRTLMT": "limits of the rate of a connection",
    "TXTLS4": "sending TLS in the card over IPv4",
    "TXTLS6": "sending TLS in the card over IPv6",
    "VXLAN_HWCSUM": "checksums in VXLAN tunnels",
    "VXLAN_HWTSO": "segmentation in VXLAN tunnels",
}
"""Capabilities of FreeBSD by their labels (net/if.h, IFCAP_*), in words."""
_WAKES = re.compile(r"^\tSupports Wake-on: ([a-z]+)$", re.M)
_FEC = re.compile(r"^\tSupported FEC modes: (.+)$", re.M)
_EEE = re.compile(r"^\s*EEE status: (enabled|disabled)", re.M)
_FEATURE = re.compile(r"^([a-z0-9_-]+): (on|off)( \[[^\]]*\])?$", re.M)


def read_offered(text: str) -> tuple[str, ...]:
    """Read the output of ``ethtool`` without option, with ``--show-eee`` and ``-k``, one after the other.

    A part that the driver or this ``ethtool`` does not have is not offered; whatever else it prints is no matter.
    """
    found = [EEE] if _EEE.search(text) else []
    wakes, modes = _WAKES.search(text), _FEC.search(text)
    if wakes and wakes[1] != "d":
        found.append(f"{WAKES} ({wakes[1]})")
    named = [] if modes is None else [each for each in modes[1].split() if each not in ("None", "Not", "reported")]
    if named:
        found.append(f"{FEC} ({', '.join(named)})")
    switches = {match[1]: match[2] == "on" or match[3] is None for match in _FEATURE.finditer(text)}
    return (*found, *(words for name, words in FEATURES.items() if switches.get(name)))


def offered_capabilities(able: Bits | None) -> tuple[str, ...]:
    """The same of the capabilities that ``ifconfig -m`` shows; None: there are none."""
    return () if able is None else tuple(words for label, words in CAPABILITIES.items() if label in able.names)
