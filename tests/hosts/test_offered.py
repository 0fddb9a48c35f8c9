"""Abilities that no check tries, by the words of ethtool 6.1 and of ifconfig."""

from __future__ import annotations

import pytest

from niclab.hosts.links.bits import Bits
from niclab.hosts.settings.offered import offered_capabilities, read_offered

IGB = """Settings for enp1s0:
\tSupported ports: [ TP ]
\tSupported FEC modes: Not reported
\tSupports Wake-on: pumbg
\tWake-on: g
EEE settings for enp1s0:
\tEEE status: disabled
\tTx LPI: disabled
Features for enp1s0:
rx-checksumming: on
tx-udp-segmentation: on
ntuple-filters: off
hw-tc-offload: off
l2-fwd-offload: off [fixed]
tls-hw-tx-offload: off [fixed]
"""
SOFTWARE = """Settings for eth0:
\tSupported FEC modes: None BaseR RS
\tSupports Wake-on: d
Features for eth0:
ntuple-filters: off [fixed]
esp-hw-offload: on [fixed]
"""


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        (
            IGB,
            "Energy-Efficient Ethernet|wake-on-LAN (pumbg)|rules of tc in the card|segmentation of UDP",
        ),
        (SOFTWARE, "forward error correction (BaseR, RS)|IPsec in the card"),
        ("", ""),
        ("netlink error: Operation not supported\n", ""),
    ],
    ids=["igb", "software", "nothing", "refused"],
)
def test_what_ethtool_shows(text: str, offered: str) -> None:
    assert "|".join(read_offered(text)) == offered


def test_what_ifconfig_shows() -> None:
    names = ("RXCSUM", "TSO4", "TOE4", "TOE6", "WOL_MAGIC")
    assert offered_capabilities(Bits(None, names)) == (
        "TCP offload over IPv4",
        "TCP offload over IPv6",
        "wake-on-LAN (magic packet)",
    )
    assert offered_capabilities(None) == ()
