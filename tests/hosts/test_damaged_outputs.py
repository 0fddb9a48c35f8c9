"""Good outputs with one damage each that a careful person sees: a word or a number that the tool never prints, a line
cut short, a colon lost. None of them may become a record in which the damage is a null or a part of a name."""

from __future__ import annotations

import pytest
from goldens import capture

from niclab.commands.parse import parse
from niclab.hosts.errors import ReadError

# kind, capture (of another folder where it is named), what stands there, what the damage made of it
DAMAGES = [
    ("ethtool-i", "e1000e", "bus-info: 0000:00:1f.6", "bus-info: -0000:00:1f.6"),
    ("ethtool-i", "e1000e", "bus-info: 0000:00:1f.6", "bus-info: 987654321:00:1f.6"),
    ("ethtool-i", "e1000e", "bus-info: 0000:00:1f.6", "bus-info: 0000"),
    ("ethtool-i", "e1000e", "version: 0.2-4", "version: -0.2-4"),
    ("ethtool", "realtek-partner", "Speed: 1000Mb/s", "Speed: 987654321Mb/s"),
    ("ethtool", "realtek-partner", "Speed: 1000Mb/s", "Speed: Unknown! (abc)"),
    ("ethtool", "realtek-partner", "PHYAD: 0", "PHYAD: abc"),
    ("ethtool", "realtek-partner", "modes:   10baseT/Half", "modes:   10baseT"),
    ("ethtool", "realtek-partner", "modes:   10baseT/Half", "modes:   0baseT/Half"),
    ("bonding", "fedora-up-all-down", "layer2 (0)", "layer2 (abc)"),
    ("bonding", "fedora-up-all-down", "layer2 (0)", "l"),
    ("bonding", "fedora-up-all-down", "LACP rate: fast", "LACP rate: f"),
    ("bonding", "fedora-up-all-down", "(ad_select): stable", "(ad_select): sta"),
    ("bonding", "fedora-up-all-down", "Partner Key: 1", "Partner Key: 987654321"),
    ("bonding", "fedora-up-all-down", "Churn State: churned", "Churn State: chur"),
    ("bonding", "fedora-up-all-down", "Partner Mac Address: 00:00:00:00:00:00", "Partner Mac Address:"),
    ("bonding", "arp-monitor", "form): 10.0.0.1,", "form): abc.0.0.1,"),
    ("bonding", "arp-monitor", "Speed: 1000 Mbps", "Speed: 987654321 Mbps"),
    ("bonding", "arp-monitor", "Primary Slave: None", "Primary Slave: eth0 (primar"),
    ("bonding", "arp-monitor", "Slave Interface: eth1", "Slave Interface: eth0"),
    ("lspci", "cx4lx-vpd", "routed to IRQ 56", "routed to IRQ abc"),
    ("lspci", "cx4lx-vpd", "Interrupt: pin A routed to IRQ 56", "Interrupt: pin A ro"),
    ("lspci", "cx4lx-vpd", "MaxPayload 256 bytes, Max", "MaxPayload abc bytes, Max"),
    ("lspci", "cx4lx-vpd", "MaxPayload 256 bytes, Max", "MaxPayload 987 bytes, Max"),
    ("lspci", "cx4lx-vpd", "Express (v2) Endpoint, MSI 00", "Express (v2) Endpoint abc"),
    ("lspci", "cx4lx-vpd", "Express (v2) Endpoint, MSI 00", "Expre"),
    ("lspci", "cx4lx-vpd", "[60] Express", "[60.5] Express"),
    ("lspci", "cx4lx-vpd", "Count=64", "Count=abc"),
    ("lspci", "cx4lx-vpd", "Physical Slot: 2", "Physical Slot:"),
    ("lspci", "aer-three-lines-wrapped", "(rev f1)", "(rev abc)"),
    ("lspci", "aer-three-lines-wrapped", "secondary=01", "secondary=abc"),
    ("lspci", "aer-three-lines-wrapped", "Count=1/1", "Count=1/abc"),
    ("lspci", "aer-three-lines-wrapped", "[1028:075b]", "[abc:075b]"),
    ("lspci", "cisco-k", "Cisco Systems Inc Device 0101", "Cisco Systems Inc Device abc"),
    ("lspci", "cisco-k", "Subsystem: Device 0037:0001", "Subsystem: Device 0037"),
    ("lspci", "cisco-k", "Port 1 (rev 13)", "Port 1 (rev 13) and more"),
    ("lspci", "82571-old-link", "[0200]", "[abc]"),
    ("lspci", "82571-mail-wrapped", "        Control: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop-\n", ""),
    ("lspci", "lspci-vmm/driver-and-modules", "Device:\t10d3", "Device:\t1"),
    ("ip-link", "bond-lacp", "bond mode 802.3ad", "bond mode abc.3ad"),
    ("ip-link", "bond-lacp", "xmit_hash_policy layer2+3", "xmit_hash_policy layer2+abc"),
    ("ip-link", "bond-lacp", "ad_partner_mac 00:", "ad_partner_mac -00:"),
    ("ip-link", "bond-lacp", "perm_hwaddr 00:1b:", "perm_hwaddr 001b:"),
    ("ip-link", "bond-lacp", "protocol 802.1Q", "protocol abc.1Q"),
    ("ip-link", "bond-lacp", "    altname ens1f0", "    altname enp3s0f0"),
    ("ip-link", "rhel5", "inet 127.0.0.1/8 ", "inet 127.0.0.1/8.5 "),
    ("ip-link", "rhel5", "inet 127.0.0.1/8 ", "inet 127.0.0.1/98 "),
    ("ip-link", "rhel5", "inet6 ::1/128", "inet6 :1/128"),
    ("ip-link", "rhel5", "inet6 ::1/128 scope host", "inet6 ::1/128 scope ho"),
    ("vlan", "ip-d-link", "protocol 802.1Q", "protocol -802.1Q"),
    ("ethtool-m", "cmis-dr4", "current (Channel 1)", "current (Channel abc)"),
    ("ethtool-m", "cmis-dr4", ": 75.000 mA", ": -75.000 mA"),
    ("ethtool-m", "cmis-dr4", ": 1.5000 mW", ": -1.5000 mW"),
    ("ethtool-m", "cmis-dr4", ": 0.50km", ": -0.50km"),
    ("ethtool-m", "cmis-dr4", ": 0x0c (MPO Parallel Optic)", ": 0"),
    ("ethtool-m", "cmis-dr4", ": 0x0c (MPO Parallel Optic)", ":"),
    ("ethtool-m", "cmis-dr4", ": 44:7c:7f", ": 44:7c"),
    ("ethtool-m", "sfp-json", '"vendor_oui": [ 0,192,242 ]', '"vendor_oui": [ 0,-192,242 ]'),
    ("interrupts", "arm-its", "GICv3  27 Level", "GICv3  abc Level"),
    ("interrupts", "offline-cpus", "IO-APIC  16-fasteoi", "IO-APIC  abc-fasteoi"),
    ("modinfo", "e1000e-intree", "srcversion:     66B", "srcversion:     -66B"),
    ("modinfo", "e1000e-intree", "vermagic:       5.9", "vermagic:       -5.9"),
    (
        "modinfo",
        "e1000e-intree",
        "parm:           copybreak:Maximum size of packet that is copied to a new buffer on receive\n",
        "",
    ),
    ("dpkg", "status-two", "Version: 1:6.1-1", "Version:"),
    ("dpkg", "status-two", "Version: 1:6.1-1", "Version: 1:"),
    ("rpm", "info-two-columns", "Install Date: Mon 03 Jul 2017 12:53:49 AM CST ", "Install Date: "),
    ("rpm", "info-two-columns", "Mon 03 Jul 2017 12:53:49", "Mon 03 Jul abc 12:53:49"),
    ("rpm", "info-two-columns", ": 5.1.73 ", ": -5.1.73 "),
    ("rpm", "last", "Wed Jan 27 09:18:52 2016", "Wed Jan 27 09:"),
]


@pytest.mark.parametrize(
    ("kind", "name", "old", "new"), DAMAGES, ids=[f"{damage[0]}: {damage[3].strip()[:40]!r}" for damage in DAMAGES]
)
def test_a_damage_is_an_error(kind: str, name: str, old: str, new: str) -> None:
    folder, _, file = name.rpartition("/")
    text = capture(folder or kind, file)
    assert old in text
    parse(kind, text)
    with pytest.raises(ReadError, match=r"^cannot read "):
        parse(kind, text.replace(old, new, 1))


def test_two_outputs_without_headings_are_not_one() -> None:
    text = "     rx_errors: 0\n     tx_errors: 7\n"
    assert parse("ethtool-S", text)["counters"] == {"rx_errors": 0, "tx_errors": 7}
    with pytest.raises(ReadError, match="once"):
        parse("ethtool-S", text + text)


def test_what_cannot_be_told_is_not_called_readable() -> None:
    """Whether the capabilities can be read is said by a line of them, or by the flag that there are none."""
    flags = "01:00.0 Ethernet controller: Intel Corporation 82574L\n\tFlags: bus master, IRQ 16\n"
    for more, readable in (("", None), ("\tCapabilities: [40] MSI-X: Enable+ Count=4 Masked-\n", True)):
        devices = parse("lspci", flags + more)["devices"]
        assert isinstance(devices, list) and devices[0]["capabilities_readable"] is readable
    for denied in ("<access denied>", "<available only to root>"):
        devices = parse("lspci", f"{flags}\tCapabilities: {denied}\n")["devices"]
        assert isinstance(devices, list) and devices[0]["capabilities_readable"] is False


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("ethtool-g", '[{"ifname": "e0", "rx-max": 4096, "rx": 512, "rx": 4096, "tx-max": 1, "tx": 1}]'),
        ("ethtool-c", '[{"ifname": "e0", "rx-usecs": 3, "rx-usecs": 30}]'),
        ("ethtool-m", '[{"identifier": 3, "identifier": 17, "vendor_pn": "X"}]'),
        ("ip-link", '[{"ifname": "e0", "ifindex": 2, "flags": [], "mtu": 1500, "mtu": 9000}]'),
    ],
)
def test_two_values_of_one_name_are_not_the_last(kind: str, text: str) -> None:
    with pytest.raises(ReadError, match="has two values"):
        parse(kind, text)
