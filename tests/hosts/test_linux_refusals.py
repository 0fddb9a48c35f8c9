"""One defect each, and the one clear error each reader answers with."""

from __future__ import annotations

import pytest
from goldens import READERS, capture

from niclab.hosts.errors import ReadError
from niclab.hosts.linux.ethtool import read_link_settings
from niclab.hosts.linux.ethtool_counters import read_counters
from niclab.hosts.linux.lspci import read_lspci
from niclab.hosts.linux.ping import read_ping

# kind, capture, what stands there, what is put in its place, what the error must say
DEFECTS = [
    ("ethtool-i", "e1000e", "driver: e1000e", "driver: ", "line 'driver: NAME'|'driver: NAME'"),
    ("ethtool-i", "e1000e", "version: 6.1.74-production+truenas", "6.1.74", "line 2 '6.1.74': expected 'name: value'"),
    ("ethtool-i", "e1000e", "firmware-version:", "driver:", "line 3 .*driver once, of one interface"),
    ("ethtool", "realtek-partner", "Speed: 1000Mb/s", "Speed: 1000", "line 21 '1000': expected Speed: '1000Mb/s'"),
    ("ethtool", "realtek-partner", "Speed: 1000Mb/s", "Speed: 0Mb/s", "'0Mb/s'"),
    ("ethtool", "realtek-partner", "Duplex: Full", "Duplex: full", "Duplex: Full, Half"),
    ("ethtool", "realtek-partner", "Auto-negotiation: on", "Auto-negotiation: maybe", "Auto-negotiation: on or off"),
    ("ethtool", "realtek-partner", "Link detected: yes", "Link detected: ", "Link detected: yes or no"),
    ("ethtool", "realtek-partner", "Duplex: Full", "Speed: 10Mb/s", "'Speed' once"),
    (
        "ethtool",
        "veth",
        "Advertised link modes:  Not reported",
        "Advertised link modes:  fast",
        "names such as 1000baseT",
    ),
    ("ethtool", "veth", "Settings for v0:", "Settings for v0", "one heading 'Settings for IFACE:'"),
    ("ethtool-S", "veth", "peer_ifindex: 2", "peer_ifindex: -2", "counter peer_ifindex: a whole number"),
    ("ethtool-S", "veth", "peer_ifindex: 2", "peer_ifindex", "line 2 .*expected 'name: number'"),
    ("ethtool-S", "veth", "peer_ifindex: 2", "peer_ifindex: 2.5", "a whole number"),
    ("ethtool-S", "veth", "NIC statistics:", "Settings for v0:", "heading 'NIC statistics:'"),
    ("lspci", "ixgbe-domain", "Speed 5GT/s (ok)", "Speed 7GT/s (ok)", "a speed of"),
    ("lspci", "ixgbe-domain", "Width x8", "Width x7", "a width of"),
    (
        "lspci",
        "ixgbe-domain",
        "LnkSta: Speed 5GT/s (ok), Width x1",
        "LnkSta: Speed 5GT/s (ok)",
        "'Speed 8GT/s, Width x8'",
    ),
    ("lspci", "ixgbe-domain", "LnkCtl2: Target", "LnkSta: Target", "'Speed 8GT/s, Width x8'|LnkSta once"),
    ("lspci", "ixgbe-domain", "0000:01:00.1 Eth", "0000:01:00.9 Eth", "line 1 .*a device such as '01:00.0 ...'"),
    ("lspci-vmm", "driver-and-modules", "Slot:\t0000:01:00.0", "Slot:\t01-00", "an address such as"),
    ("lspci-vmm", "driver-and-modules", "Vendor:\t8086\nDevice", "Vendor:\t8086\nVendor", "Vendor once per device"),
    ("ip", "veth-addr", '"mtu":1500', '"mtu":"1500"', r"\[0\].mtu '1500': expected a whole number"),
    ("ip", "veth-addr", '"mtu":1500', '"mtu":-1', "expected a whole number"),
    ("ip", "veth-addr", '"bytes":90', '"bytes":true', r"stats64.rx.bytes 'True'"),
    ("ip", "veth-addr", '"operstate":"UP"', '"operstate":"FINE"', "operstate 'FINE': expected one of"),
    ("ip", "veth-addr", '"ifname":"v0",', "", "ifname"),
    ("ip", "veth-addr", "}]\n", "}", "one JSON document"),
    (
        "ping",
        "iputils-answered",
        "2 packets transmitted, 2 received",
        "2 packets transmitted, 3 received",
        "no more received",
    ),
    ("ping", "iputils-silent", "2 packets transmitted", "0 packets transmitted", "at least one packet sent"),
    ("ping", "iputils-answered", ", 0% packet loss", "", "N% packet loss"),
    ("ping", "iputils-answered", "0.044/0.347", "x/0.347", "rtt min/avg/max"),
    ("modinfo", "e1000e-intree", "name:           e1000e", "vermagic:       5", "vermagic once"),
    ("modinfo", "builtin", "license:        GPL", "license GPL", "line 3 'license GPL'"),
    ("proc-modules", "debian", "Live 0xffffffffc0a3b000", "Alive 0xffffffffc0a3b000", "a state of Live"),
    ("proc-modules", "debian", "315392", "0x100", "the size in bytes"),
    ("proc-modules", "debian", "(OE+)", "OE", "an address such as"),
]


@pytest.mark.parametrize(
    ("kind", "name", "old", "new", "said"), DEFECTS, ids=[f"{d[0]}: {d[3][:40]!r}" for d in DEFECTS]
)
def test_defect_is_named(kind: str, name: str, old: str, new: str, said: str) -> None:
    text = capture(kind, name)
    assert old in text
    with pytest.raises(ReadError, match=said):
        READERS[kind](text.replace(old, new, 1))


def test_supported_advertised_and_partner_are_never_mixed_up() -> None:
    text = capture("ethtool", "realtek-partner").replace(
        "Advertised link modes:  10baseT/Half", "Advertised link modes:  10baseT/Full", 1
    )
    settings = read_link_settings(text)
    assert settings.advertised is not None and settings.advertised[0] == "10baseT/Full"
    assert settings.supported is not None and settings.supported[0] == "10baseT/Half"
    assert settings.partner is not None and settings.partner[-1] == "1000baseT/Full"


def test_two_interfaces_in_one_text_are_refused() -> None:
    text = capture("ethtool", "veth")
    with pytest.raises(ReadError, match=r"one heading"):
        read_link_settings(text + text.replace("v0", "v1"))


def test_an_empty_slot_is_an_error() -> None:
    """lspci -s of an empty slot prints nothing and exits with 0."""
    with pytest.raises(ReadError, match=r"at least one device"):
        read_lspci("")


def test_revision_ff_alone_is_a_dead_device() -> None:
    """Plain lspci, without -v, shows nothing else."""
    (device,) = read_lspci("03:00.0 Ethernet controller: Intel Corporation 82574L (rev ff)\n")
    assert device.dead is True
    (device,) = read_lspci("03:00.0 Ethernet controller: Intel Corporation 82574L (rev f0)\n")
    assert device.dead is False


def test_decoys_do_not_set_the_link() -> None:
    text = "".join(
        line
        for line in capture("lspci", "ixgbe-domain").splitlines(keepends=True)
        if "LnkCap:" not in line and "LnkSta:" not in line
    )
    assert "LnkCap2" in text and "LnkCtl2" in text
    (device,) = read_lspci(text)
    assert (device.lnkcap_gts, device.lnkcap_width, device.lnksta_gts, device.degraded) == (None, None, None, None)


@pytest.mark.parametrize(
    ("status", "degraded"),
    [("Speed 5GT/s, Width x8", False), ("Speed 5GT/s, Width x4", True), ("Speed 2.5GT/s, Width x8", True)],
)
def test_degraded_is_computed_not_believed(status: str, degraded: bool) -> None:
    """Old lspci never prints "downgraded"; here it is absent, and present where it is untrue."""
    text = capture("lspci", "ixgbe-domain").replace("Speed 5GT/s (ok), Width x1 (downgraded)", status)
    assert read_lspci(text)[0].degraded is degraded
    lying = text.replace(status, status.replace(",", " (downgraded),"))
    assert read_lspci(lying)[0].degraded is degraded


def test_a_narrow_link_of_unknown_speed_is_degraded() -> None:
    text = capture("lspci", "cx7-speed-unknown").replace("Speed 16GT/s, Width x16", "Speed unknown, Width x8")
    assert read_lspci(text)[0].degraded is True


def test_counter_with_one_name_twice_is_ambiguous_and_spoils_no_other() -> None:
    counters = read_counters("NIC statistics:\n     drops: 1\n     drops: 2\n     bytes: 7\n")
    assert counters["bytes"] == 7
    assert list(counters) == ["drops", "drops", "bytes"]
    with pytest.raises(ReadError, match=r"'drops' stands 2 times with the values \[1, 2\]"):
        counters["drops"]
    with pytest.raises(ReadError, match=r"no counter 'rx_bytes' among 3"):
        counters["rx_bytes"]


def test_standard_error_of_ping_is_kept() -> None:
    result = read_ping(capture("ping", "iputils-silent"), "ping: sendmsg: Operation not permitted\n")
    assert result.errors == ("ping: sendmsg: Operation not permitted",)
    assert result.lost == 2
