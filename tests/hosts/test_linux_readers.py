"""Readers of Linux: small texts, defects that are named, and facts of single records."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from examples import load, text_of
from hypothesis import given, settings
from hypothesis import strategies as st

from niclab.commands.parse import parse
from niclab.core.plain import as_json
from niclab.hosts.bonds.proc_bonding import read_bonding
from niclab.hosts.counts.ethtool_counters import read_counters
from niclab.hosts.drivers.modules import read_proc_modules
from niclab.hosts.errors import ReadError
from niclab.hosts.host_records import ModuleState
from niclab.hosts.kernel.dmesg import read_dmesg
from niclab.hosts.links.ethtool import read_driver_info, read_link_settings
from niclab.hosts.links.ping_output import read_ping
from niclab.hosts.pci.lspci import read_lspci
from niclab.hosts.pci.sysfs_links import read_sysfs_speed_gts, read_sysfs_width
from niclab.hosts.settings.ethtool_records import Feature, Features
from niclab.hosts.steering.interrupts import read_interrupts
from niclab.hosts.system.common import read_kernel, read_tool_version
from niclab.hosts.system.linux_texts import read_boot_id, read_clock_s, read_os_release
from niclab.hosts.system.oldest import too_old

SMALL_READERS: dict[str, Callable[[str], object]] = {
    "sysfs speed": read_sysfs_speed_gts,
    "sysfs width": read_sysfs_width,
    "clock": read_clock_s,
    "boot id": read_boot_id,
    "kernel": read_kernel,
    "os-release": read_os_release,
    "tool version": read_tool_version,
    "ping": read_ping,
    "/proc/modules": read_proc_modules,
}
MODULES = (
    "be2net 315392 0 - Live 0xffffffffc0a3b000 (OE+)\n"
    "bonding 204800 1 - Live 0xffffffffc0900000\n"
    "tls 151552 2 bonding,mlx5_core, Live 0xffffffffc08d0000\n"
)

# kind, example, what is there, what is put in its place, what the error must say
DEFECTS = [
    ("ethtool-i", "e1000e", "driver: e1000e", "driver: ", "the rows driver, version"),
    ("ethtool-i", "e1000e", "version: 6.1.74-production+truenas", "6.1.74", "line 2 '6.1.74'; expected 'NAME: VALUE'"),
    ("ethtool-i", "e1000e", "firmware-version:", "driver:", "line 3 .*each once"),
    ("ethtool", "realtek-partner", "Speed: 1000Mb/s", "Speed: 1000", "'1000'; expected Speed: '1000Mb/s'"),
    ("ethtool", "realtek-partner", "Speed: 1000Mb/s", "Speed: 0Mb/s", "'0Mb/s'"),
    ("ethtool", "realtek-partner", "Speed: 1000Mb/s", "Speed: 987654321Mb/s", "Speed: '1000Mb/s'"),
    ("ethtool", "realtek-partner", "Speed: 1000Mb/s", "Speed: Unknown! (abc)", "Speed: '1000Mb/s'"),
    ("ethtool", "realtek-partner", "Duplex: Full", "Duplex: full", "Duplex: one of Full, Half"),
    (
        "ethtool",
        "realtek-partner",
        "Auto-negotiation: on",
        "Auto-negotiation: maybe",
        "Auto-negotiation: one of on, off",
    ),
    ("ethtool", "realtek-partner", "Link detected: yes", "Link detected: ", "Link detected: yes or no"),
    ("ethtool", "realtek-partner", "\tLink detected: yes\n", "", "a row 'Link detected: yes'"),
    ("ethtool", "realtek-partner", "Duplex: Full", "Speed: 10Mb/s", "'Speed' once"),
    ("ethtool", "realtek-partner", "modes:   10baseT/Half", "modes:   10baseT", "names such as 1000baseT"),
    ("ethtool", "realtek-partner", "modes:   10baseT/Half", "modes:   0baseT/Half", "names such as 1000baseT"),
    ("ethtool", "veth", "Settings for v0:", "Settings for v0", "the heading 'Settings for IFACE:'"),
    ("ethtool-S", "veth", "peer_ifindex: 2", "peer_ifindex: -2", "line 2 .*'NAME: WHOLE NUMBER'"),
    ("ethtool-S", "veth", "peer_ifindex: 2", "peer_ifindex", "line 2 .*'NAME: WHOLE NUMBER'"),
    ("ethtool-S", "veth", "peer_ifindex: 2", "peer_ifindex: 2.5", "'NAME: WHOLE NUMBER'"),
    ("ethtool-S", "veth", "NIC statistics:", "Settings for v0:", "'NIC statistics:'"),
    ("ip-link", "veth-addr", '"mtu":1500', '"mtu":"1500"', r"\[0\].mtu '1500'; expected a whole number"),
    ("ip-link", "veth-addr", '"mtu":1500', '"mtu":-1', "expected a whole number"),
    ("ip-link", "veth-addr", '"bytes":90', '"bytes":true', r"stats64.rx.bytes 'True'"),
    ("ip-link", "veth-addr", '"operstate":"UP"', '"operstate":"FINE"', "operstate 'FINE'; expected one of"),
    ("ip-link", "veth-addr", '"ifname":"v0",', "", "ifname"),
    ("ip-link", "veth-addr", "}]\n", "}", "one JSON document"),
    ("bonding", "fedora-up-all-down", "layer2 (0)", "layer2 (abc)", "a policy such as"),
    ("bonding", "fedora-up-all-down", "Partner Key: 1", "Partner Key: 987654321", "at most 65535"),
    ("bonding", "fedora-up-all-down", "Partner Mac Address: 00:00:00:00:00:00", "Partner Mac Address:", "was cut"),
    ("bonding", "arp-monitor", "Speed: 1000 Mbps", "Speed: 987654321 Mbps", "Speed: '1000 Mbps'"),
    ("bonding", "arp-monitor", "Primary Slave: None", "Primary Slave: eth0 (primar", "Primary Slave: 'None'"),
    ("bonding", "arp-monitor", "Slave Interface: eth1", "Slave Interface: eth0", "each slave once"),
    ("lspci", "ixgbe-domain", "Speed 5GT/s (ok)", "Speed 7GT/s (ok)", "a speed of"),
    ("lspci", "ixgbe-domain", "Width x8", "Width x7", "a width of"),
    (
        "lspci",
        "ixgbe-domain",
        "LnkSta: Speed 5GT/s (ok), Width x1",
        "LnkSta: Speed 5GT/s (ok)",
        "'Speed 8GT/s, Width",
    ),
    ("lspci", "ixgbe-domain", "LnkCtl2: Target", "LnkSta: Target", "'Speed 8GT/s, Width x8'|LnkSta once"),
    ("lspci", "ixgbe-domain", "Target Link Speed: 16GT/s", "Target Link Speed: 7GT/s", "'Target Link Speed: 8GT/s'"),
    ("lspci", "ixgbe-domain", "Target Link Speed: 16GT/s", "Target Speed: 16GT/s", "'Target Link Speed: 8GT/s'"),
    ("lspci", "ixgbe-domain", "0000:01:00.1 Eth", "0000:01:00.9 Eth", "line 1 .*a device such as"),
    ("lspci", "cx4lx-vpd", "MaxPayload 256 bytes, Max", "MaxPayload abc bytes, Max", "'MaxPayload 256 bytes"),
    ("lspci", "cx4lx-vpd", "MaxPayload 256 bytes, Max", "MaxPayload 987 bytes, Max", "'MaxPayload 256 bytes"),
    ("lspci", "cx4lx-vpd", "Express (v2) Endpoint, MSI 00", "Express (v2) Endpoint abc", "a kind of port"),
    ("lspci", "cx4lx-vpd", "[60] Express", "[60.5] Express", r"'Capabilities: \[40\] NAME'"),
    ("interrupts", "offline-cpus", "IO-APIC  16-fasteoi", "IO-APIC  abc-fasteoi", "chip, number at the chip and type"),
    ("modinfo", "e1000e-intree", "name:           e1000e", "vermagic:       5", "vermagic once"),
    ("modinfo", "e1000e-intree", "srcversion:     66B", "srcversion:     -66B", "a value of srcversion"),
    ("modinfo", "e1000e-intree", "vermagic:       5.9", "vermagic:       -5.9", "a value of vermagic"),
    ("modinfo", "builtin", "license:        GPL", "license GPL", "line 3 'license GPL'"),
]


@pytest.mark.parametrize(
    ("kind", "name", "old", "new", "said"), DEFECTS, ids=[f"{d[0]}: {d[3].strip()[:40]!r}" for d in DEFECTS]
)
def test_a_defect_is_named(kind: str, name: str, old: str, new: str, said: str) -> None:
    text = text_of(kind, name)
    assert old in text
    parse(kind, text)
    with pytest.raises(ReadError, match=f"^cannot read .*(?:{said})"):
        parse(kind, text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2 packets transmitted, 2 received", "2 packets transmitted, 3 received", "no more received"),
        ("2 packets transmitted, 2 received", "0 packets transmitted, 0 received", "at least one packet sent"),
        (", 0% packet loss", "", "N% packet loss"),
    ],
)
def test_a_defect_of_ping_is_named(old: str, new: str, said: str) -> None:
    text = text_of("ping", "iputils-answered")
    assert old in text
    with pytest.raises(ReadError, match=said):
        read_ping(text.replace(old, new, 1))


@pytest.mark.parametrize("example", load("ping"), ids=lambda example: example.name)
def test_ping_reads_as_expected(example) -> None:  # type: ignore[no-untyped-def]
    assert as_json(read_ping(example.text)) == example.expected


def test_standard_error_of_ping_is_kept() -> None:
    result = read_ping(text_of("ping", "iputils-silent"), "ping: sendmsg: Operation not permitted\n")
    assert result.errors == ("ping: sendmsg: Operation not permitted",)
    assert result.lost == 2


def test_loaded_modules() -> None:
    be2net, bonding, tls = read_proc_modules(MODULES)
    assert [each.name for each in (be2net, bonding, tls)] == ["be2net", "bonding", "tls"]
    assert be2net.state is ModuleState.LIVE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Live", "Alive"),
        ("315392", "0x100"),
        ("(OE+)", "OE"),
        ("bonding 204800", "be2net 204800"),
        (" 0xffffffffc0a3b000", ""),
    ],
)
def test_a_defect_of_proc_modules_is_an_error(old: str, new: str) -> None:
    assert old in MODULES
    with pytest.raises(ReadError, match=r"cannot read /proc/modules: "):
        read_proc_modules(MODULES.replace(old, new, 1))


def test_supported_and_partner_modes_are_never_mixed_up() -> None:
    text = text_of("ethtool", "realtek-partner").replace(
        "Advertised link modes:  10baseT/Half", "Advertised link modes:  10baseT/Full", 1
    )
    settings = read_link_settings(text)
    assert settings.supported is not None and settings.supported[0] == "10baseT/Half"
    assert settings.partner is not None and settings.partner[-1] == "1000baseT/Full"


@pytest.mark.parametrize(
    "kind", ["ethtool", "ethtool-i", "ethtool-S", "ethtool-g", "ethtool-l", "ethtool-c", "bonding"]
)
def test_outputs_of_two_interfaces_are_refused(kind: str) -> None:
    for example in load(kind):
        if not example.refused:
            with pytest.raises(ReadError):
                parse(kind, example.text + example.text)


def test_a_driver_of_no_version_is_read() -> None:
    text = text_of("ethtool-i", "e1000e").replace("version: 6.1.74-production+truenas", "version: N/A")
    assert read_driver_info(text).version is None


def test_an_empty_pci_slot_is_an_error() -> None:
    """lspci -s of an empty slot prints nothing and exits with 0."""
    with pytest.raises(ReadError, match=r"at least one device"):
        read_lspci("")


def test_revision_ff_is_a_dead_device() -> None:
    line = "0000:03:00.0 Ethernet controller [0200]: Intel Corporation 82574L [8086:10d3] (rev ff)\n"
    assert read_lspci(line)[0].dead is True
    assert read_lspci(line.replace("ff)", "f0)"))[0].dead is False


@pytest.mark.parametrize(
    ("line", "readable"),
    [
        ("", None),
        ("\tStatus: Cap- 66MHz- UDF-\n", True),
        ("\tCapabilities: [40] MSI-X: Enable+ Count=4 Masked-\n", True),
        ("\tCapabilities: <access denied>\n", False),
    ],
)
def test_only_capabilities_tell_whether_they_can_be_read(line: str, readable: bool | None) -> None:
    head = "0000:01:00.0 Ethernet controller [0200]: Intel Corporation 82574L [8086:10d3]\n"
    assert read_lspci(head + line)[0].capabilities_readable is readable


def test_decoys_do_not_set_the_pcie_link() -> None:
    lines = text_of("lspci", "ixgbe-domain").splitlines(keepends=True)
    text = "".join(line for line in lines if "LnkCap:" not in line and "LnkSta:" not in line)
    assert "LnkCap2" in text and "LnkCtl2" in text
    (device,) = read_lspci(text)
    assert (device.lnkcap_gts, device.lnkcap_width, device.lnksta_gts) == (None, None, None)


def test_a_counter_name_that_occurs_twice_is_ambiguous_and_spoils_no_other() -> None:
    counters = read_counters("NIC statistics:\n     drops: 1\n     drops: 2\n     bytes: 7\n")
    assert counters["bytes"] == 7
    assert list(counters) == ["drops", "drops", "bytes"]
    with pytest.raises(ReadError, match=r"'drops' occurs 2 times with the values \[1, 2\]"):
        counters["drops"]
    with pytest.raises(ReadError, match=r"no counter 'rx_bytes' among 3"):
        counters["rx_bytes"]


def test_a_group_of_features_is_fixed_when_all_its_members_are() -> None:
    fixed, free = Feature(True, True, None), Feature(True, False, None)
    features = Features("e0", {"tx-checksumming": free, "tx-checksum-ipv4": fixed, "tx-checksum-ipv6": fixed})
    assert features["tx-checksumming"].fixed is True
    assert Features("e0", {"tx-checksumming": free, "tx-checksum-ipv4": free})["tx-checksumming"].fixed is False
    with pytest.raises(ReadError, match=r"no feature 'gso' among 3"):
        features["gso"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("ethtool-k", '[{"ifname": "e0", "gso": {"active": true}, "gso": {"active": false}}]'),
        ("ip-link", '[{"ifname": "e0", "ifindex": 2, "flags": [], "mtu": 1500, "mtu": 9000}]'),
    ],
)
def test_two_values_of_one_name_are_not_the_last(kind: str, text: str) -> None:
    with pytest.raises(ReadError, match="has two values"):
        parse(kind, text)


def test_a_bond_keeps_its_own_status_and_counts_its_slaves() -> None:
    bond = read_bonding(text_of("bonding", "fedora-up-all-down"))
    assert (bond.mii_status, bond.slaves_up, len(bond.slaves) > 0) == ("up", 0, True)


def test_an_action_may_be_named_like_a_type() -> None:
    """virtio names its interrupts so."""
    rows = " 41:   3   0  PCI-MSIX-0000:00:04.0   3-edge      virtio3-event\n"
    (row,) = read_interrupts("       CPU0 CPU1\n" + rows).irqs
    assert (row.irq, row.type, row.actions) == (41, "edge", ("virtio3-event",))


@pytest.mark.parametrize("text", ["rcu " * 100_000, "NETDEV WATCHDOG: " + "a" * 300_000, "a:" * 150_000 + "link is up"])
def test_trouble_in_a_long_kernel_line_is_found_in_linear_time(text: str) -> None:
    started = time.process_time()
    parse("dmesg", f"[    1.000000] {text}")
    assert time.process_time() - started < 2


def test_a_kernel_line_keeps_its_stamp_apart() -> None:
    stamped, called, bare = read_dmesg("[   12.345678] igb: up\n[    1.000000][    T1] a: b\n  more of it\n")
    assert (stamped.seconds, stamped.text) == (12.345678, "igb: up")
    assert (called.seconds, called.text) == (1.0, "a: b")
    assert (bare.seconds, bare.text) == (None, "  more of it")


def test_boot_messages_of_a_healthy_host_are_no_trouble() -> None:
    quiet = "".join(
        f"[    1.00000{number}] {line}\n"
        for number, line in enumerate(
            (
                "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org)",
                "rcu: Hierarchical RCU implementation.",
                "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
                "pcieport 0000:00:1c.0: AER: enabled with IRQ 122",
                "EDAC MC: Ver: 3.0.0",
            )
        )
    )
    assert parse("dmesg", quiet) == {"lines": 5, "trouble": []}


@pytest.mark.parametrize("reader", SMALL_READERS.values(), ids=SMALL_READERS)
@settings(max_examples=60, deadline=None)
@given(text=st.text() | st.text(alphabet=" \t\n:[]{}()<>.,-=#0123456789abfxU", max_size=200))
def test_random_text_raises_nothing_but_read_error(reader: Callable[[str], object], text: str) -> None:
    try:
        reader(text)
    except ReadError as error:
        assert str(error).startswith("cannot read ")


@pytest.mark.parametrize(
    ("text", "gts"),
    [
        ("8.0 GT/s PCIe\n", 8.0),
        ("2.5 GT/s\n", 2.5),
        ("5 GT/s\n", 5.0),
        ("32.0 GT/s PCIe\n", 32.0),
        ("Unknown\n", None),
        ("Unknown speed\n", None),
        ("", None),
    ],
)
def test_sysfs_speed(text: str, gts: float | None) -> None:
    assert read_sysfs_speed_gts(text) == gts


@pytest.mark.parametrize("text", ["7.0 GT/s PCIe", "8.0", "GT/s", "8,0 GT/s PCIe", "8.0 GT/s x8"])
def test_sysfs_speed_that_is_none(text: str) -> None:
    with pytest.raises(ReadError, match=r"sysfs link attribute"):
        read_sysfs_speed_gts(text)


@pytest.mark.parametrize(
    ("text", "width"), [("8\n", 8), ("1", 1), ("0\n", None), ("63\n", None), ("255\n", None), ("", None)]
)
def test_sysfs_width(text: str, width: int | None) -> None:
    assert read_sysfs_width(text) == width


@pytest.mark.parametrize("text", ["3", "x8", "-1", "8 8", "٨"])
def test_sysfs_width_that_is_none(text: str) -> None:
    with pytest.raises(ReadError, match=r"sysfs link attribute"):
        read_sysfs_width(text)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("ethtool version 6.1\n", "6.1"),
        ("lspci version 3.9.0\n", "3.9.0"),
        ("ip utility, iproute2-6.1.0, libbpf 1.1.2\n", "6.1.0"),
        ("ping from iputils 20221126\nlibcap: yes\n", "20221126"),
        ("iperf 3.12 (cJSON 1.7.15)\nLinux dut 6.1.0\n", "3.12"),
        ("kmod version 30\n+ZSTD +XZ\n", "30"),
        ("Python 3.11.2\n", "3.11.2"),
        ("OpenSSH_9.2p1 Debian-2+deb12u3, OpenSSL 3.0.15 3 Sep 2024\n", "9.2p1"),
        ("OpenSSH_9.7p1, OpenSSL 3.0.13 30 Jan 2024\n", "9.7p1"),
        (
            "ping: invalid option -- 'V'\nBusyBox v1.35.0 (Debian 1:1.35.0-4+deb12u1+b1) multi-call binary.\n",
            "busybox 1.35.0",
        ),
        ("no version here\n", "unknown"),
    ],
)
def test_tool_version(text: str, version: str) -> None:
    assert read_tool_version(text) == version


def test_what_is_older_is_named() -> None:
    oldest = {"kernel": "5.7", "ip": "4.17", "ethtool": "5.10"}
    assert too_old({"kernel": "6.1.0-18-amd64", "ip": "4.17.0", "ethtool": "5.10"}, oldest) == {}
    assert too_old({"kernel": "3.10.0-1160.el7", "ip": "unknown", "ethtool": "5.9"}, oldest) == {
        "kernel": "5.7",
        "ethtool": "5.10",
    }
    assert too_old({"kernel": "9.1-RELEASE"}, {"kernel": "9.1"}) == {}
    assert too_old({"kernel": "8.4-RELEASE"}, {"kernel": "9.1"}) == {"kernel": "9.1"}


def test_numbers_of_a_usage_text_are_no_version() -> None:
    assert read_tool_version("Usage: foo [-4] HOST", refused=True) == "unknown"


def test_os_release() -> None:
    release = read_os_release('# comment\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n')
    assert (release.id, release.version_id, release.pretty_name) == ("debian", "12", "Debian GNU/Linux 12 (bookworm)")


@pytest.mark.parametrize("text", ['ID="debian\n', "NAME=x\n", "ID=\n", "debian 12\n"])
def test_os_release_that_is_none(text: str) -> None:
    with pytest.raises(ReadError, match=r"os-release"):
        read_os_release(text)
