"""Readers of ethtool, ip, bonds and VLANs: what people record around an output, what is none, and one defect each."""

from __future__ import annotations

import json
import re
from textwrap import indent

import pytest
from goldens import CAPTURES, READERS, capture, plain, text_of

from niclab.commands.parse import KINDS, parse
from niclab.hosts.errors import ReadError
from niclab.hosts.linux.bonding import read_bonding
from niclab.hosts.linux.ethtool import read_driver_info, read_link_settings
from niclab.hosts.linux.ethtool_features import read_features
from niclab.hosts.linux.ethtool_module import read_module
from niclab.hosts.linux.ip_link import read_links

ETHTOOL = (
    "ethtool",
    "ethtool-i",
    "ethtool-S",
    "ethtool-k",
    "ethtool-g",
    "ethtool-l",
    "ethtool-c",
    "ethtool-a",
    "ethtool-m",
)
ETHERNET = (*ETHTOOL, "ip-link", "bonding", "vlan")
COMMANDS = {"bonding": "cat /proc/net/bonding/bond0", "vlan": "cat /proc/net/vlan/config", "ip-link": "ip -d link"}

# What stands for the command and for the text.
SURROUNDINGS = {
    "blank lines": "\n \n{text}\n\n\n",
    "console padding": "{text}\x00\x00",
    "byte order mark": "\ufeff{text}",
    "command alone": "{command}\n{text}",
    "root prompt": "# {command}\n{text}# \n",
    "Red Hat prompt": "[root@host ~]# {command}\n{text}[root@host ~]# ",
    "Debian prompt": "root@host:~# {command}\n{text}root@host:~# exit\n",
    "SUSE prompt": "host:~ # {command}\n{text}host:~ # \n",
    "user with sudo": "joe@host:/tmp/a b$ sudo /usr/sbin/{command} 2>&1\n{text}",
    "over ssh": "[joe@gate ~]$ ssh host sudo {command}\n{text}[joe@gate ~]$\n",
}
LINE_ENDS = {"Windows": "\r\n", "blanks": "  \n", "console": "\r\r\n"}

NO_OUTPUTS = [
    "Cannot get driver information: No such device\n",
    "Cannot get device settings: No such device\nCannot get link status: No such device\n",
    "Settings for eth9:\nNo data available\n",
    "Cannot get device pause settings: Operation not supported\nPause parameters for __wlp3s0:\n",
    "Cannot get device ring settings: No such device\nRing parameters for bond0.102@bond0:\n\n",
    "ethtool version 6\nUsage:\nethtool DEVNAME Display standard information about device\n",
    "NIC statistics:\nNothing to see here\n",
    "Features for bond0:\nrx-checksumming off [fixed]\ntx-checksumming on\n",
    "Settings for eth1:\n    Supported ports\n    Supported link modes 10baseT/Half 10baseT/Full\n",
    "Settings for eth9:\n\tNo data available\n",
    "netlink error: Operation not supported\n",
    "netlink error: no device matches name (offset 24)\nnetlink error: No such device\n",
    "no stats available\n",
    "no feature info available\n",
    "NIC statistics:\n",
    "Features for eth0:\n",
    "Offload parameters for eth0:\nCannot get device rx csum settings: Operation not supported\n"
    "no offload info available\n",
    "Ring parameters for eth0:\nCannot get device ring settings: Operation not supported\n",
    "Channel parameters for eth0:\nCannot get device channel parameters\n: Operation not supported\n",
    "Coalesce parameters for eth0:\nCannot get device coalesce settings: Operation not supported\n",
    "Pause parameters for eth0:\nCannot get device pause settings: Operation not supported\n",
    "Cannot get module EEPROM information: Operation not supported\n",
    "Offset\t\tValues\n------\t\t------\n0x0000:\t\t03 04 07 10 00 00 00 00\n",
    "ethtool: bad command line argument(s)\nFor more information run ethtool -h\n",
    "-bash: /sbin/ethtool: No such file or directory\n",
    'Device "eth9" does not exist.\n',
    "cat: /proc/net/bonding/bond9: No such file or directory\n",
    "[root@host ~]# ethtool -k eth0\n",
    "[ ]\n",
    "[{}]\n",
    "{}\n",
    "null\n",
    '[ {"ifname": "eth0"} ]\n',
]

# kind, capture, what stands there, what is put in its place, what the error must say
DEFECTS = [
    ("ethtool-i", "ixgbe", "supports-test: yes", "supports-test: ye", "line 7 'supports-test: ye': expected one of"),
    ("ethtool", "json", '"speed":10000', '"speed":-1', "speed '-1': expected a whole number"),
    ("ethtool", "json", '"duplex":"Full"', '"duplex":"Fast"', "duplex: Full, Half"),
    ("ethtool-k", "rhel5-blanks", "scatter-gather: on", "scatter-gather: maybe", "line 4 'scatter-gather: maybe'"),
    (
        "ethtool-k",
        "rhel5-blanks",
        "scatter-gather: on",
        "rx-checksumming: on",
        "rx-checksumming once, of one interface",
    ),
    ("ethtool-k", "rhel5-blanks", "Offload parameters for eth0:", "Offload", "'Features for IFACE:'"),
    ("ethtool-k", "requested", "[requested on]", "[perhaps]", r"line 4 .*\[perhaps\].*expected 'NAME: on'"),
    ("ethtool-k", "virtio-6.1-json", '"active": true', '"active": "yes"', "active 'yes': expected true or false"),
    ("ethtool-g", "ixgbe-rhel6", "RX:		4096", "RX:		-4096", "line 4 '-4096': expected RX: a whole number"),
    ("ethtool-g", "ixgbe-rhel6", "TX:		4096", "TX:		abc", "line 7 'abc': expected TX: a whole number"),
    ("ethtool-g", "ixgbe-rhel6", "Current hardware settings:\n", "", "RX once a section"),
    ("ethtool-g", "ixgbe-rhel6", "RX Mini:	0", "RX Nano:	0", "line 5 .*one of rx, rx_mini"),
    ("ethtool-g", "ixgbe-json", '"rx": 512', '"rx": "512"', "rx '512': expected a whole number"),
    ("ethtool-l", "ixgbe-3.x", "Combined:	63", "Combined:	6 3", "line 6 .*NAME: SIZE"),
    ("ethtool-c", "igc-5.15", "rx-usecs:	3", "rx-usecs:	3us", "line 8 '3us': expected rx-usecs: a whole number"),
    (
        "ethtool-c",
        "igc-5.15",
        "Adaptive RX: n/a",
        "Adaptive RX: auto",
        "line 2 'auto': expected Adaptive: on, off or n/a",
    ),
    ("ethtool-c", "igc-5.15", "tx-usecs:	3", "rx-usecs:	3", "each once"),
    ("ethtool-a", "igb-negotiated", "TX:		off", "TX:		maybe", "line 4 'maybe': expected TX: on, off"),
    ("ethtool-a", "mlx5-statistics", "frames: 12", "frames: 1.5", "tx_pause_frames: a whole number"),
    ("ethtool-m", "sfp-inf", "41.05 degrees C", "warm", "Module temperature: warm .*a number in degrees C"),
    ("ethtool-m", "sfp-inf", "32.066 mA", "32.066 A", "Laser bias current: 32.066 A.*a number in mA"),
    ("ethtool-m", "sfp-inf", "0.5547 mW / -2.56 dBm", "0.5547 mW", "'0.5671 mW / -2.46 dBm'"),
    ("ethtool-m", "sfp-inf", "rx power low alarm                  : On", "rx power low alarm    : Maybe", "On or Off"),
    ("ip-link", "bond-lacp", "mtu 1500 qdisc mq master", "mtu big qdisc mq master", "line 2 'big': expected mtu"),
    ("ip-link", "bond-lacp", "state UP mode", "state FINE mode", "operstate 'FINE': expected one of"),
    ("ip-link", "bond-lacp", "link/ether 00:1b:21:aa:bb:cc", "link/ether 00:1b:21", "link/ether 00:1b:21:aa:bb:cc"),
    ("ip-link", "bond-lacp", "miimon 100", "miimon often", "miimon 'often': expected a whole number"),
    ("ip-link", "bond-lacp", "3: eth1:", "3: eth0:", "each interface once"),
    ("ip-link", "rhel6-statistics", "26531    0", "26531", "6 numbers: bytes packets"),
    ("ip-link", "rhel6-statistics", "3104783", "-3104783", "rx statistics: a whole number"),
    (
        "bonding",
        "lacp-no-partner",
        "IEEE 802.3ad Dynamic",
        "IEEE 802.3ae Dynamic",
        "Bonding Mode: one of load balancing",
    ),
    ("bonding", "lacp-no-partner", "MII Status: up", "MII Status: fine", "line 5 'fine': expected MII Status: one of"),
    (
        "bonding",
        "lacp-no-partner",
        "Link Failure Count: 0",
        "Link Failure Count: x",
        "Link Failure Count: a whole number",
    ),
    ("bonding", "lacp-no-partner", "1000 Mbps", "1000", "Speed: '1000 Mbps'"),
    ("bonding", "lacp-no-partner", "Duplex: full", "Duplex: wide", "Duplex: full, half"),
    ("bonding", "lacp-no-partner", "LACP active: on", "LACP active: 1", "LACP active: on or off"),
    ("vlan", "config", "| 3  |", "| 5000  |", "line 3 '5000': expected VLAN id: 0 to 4095"),
    ("vlan", "config", "Name-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n", "", "one 'Name-Type: X'"),
    ("vlan", "device", "51362", "lots", "total frames received: a whole number"),
    ("vlan", "device", "Device: eth0\n", "", "counters and a line 'Device: IFACE'"),
    ("vlan", "ip-d-link", "    vlan protocol 802.1Q id 3", "    dummy id 3", "at least one interface of kind vlan"),
]


# What people leave out when they quote, and the fields that are then None: kind, text, fields that were read.
SHORTENED = [
    ("ethtool-i", "driver: oce\nversion: 4.2.313\n", {"driver": "oce", "version": "4.2.313", "bus": None}),
    ("ethtool-i", "driver: be2net\nfirmware-version: 4.9.416.0\n", {"firmware": "4.9.416.0", "version": None}),
    ("ethtool", "Settings for eth0:\n\tDuplex: Half\n", {"duplex": "half", "speed_mbps": None, "link": None}),
    ("ethtool-c", "Coalesce parameters for eth0:\nrx-usecs: 3\n", {"parameters": {"rx-usecs": 3}, "adaptive_rx": None}),
    ("ethtool-c", "Coalesce parameters for eth0:\nAdaptive RX: on  TX: off\n", {"adaptive_rx": True, "parameters": {}}),
    ("ethtool-a", "Pause parameters for eth0:\nRX:\t\ton\n", {"rx": True, "tx": None, "autoneg": None}),
    ("ethtool-m", "\tVendor PN : FTLX8571D3BCL\n", {"vendor_pn": "FTLX8571D3BCL", "identifier": None, "alarms": {}}),
    ("bonding", "Slave Interface: eth0\nMII Status: up\n", {"mode": None, "mode_id": None, "mii_status": None}),
    ("bonding", "Bonding Mode: load balancing (xor)\n", {"mode_id": 2, "slaves": [], "miimon_ms": None}),
]


@pytest.mark.parametrize(("kind", "text", "fields"), SHORTENED)
def test_what_a_shortened_text_does_not_have_is_none(kind: str, text: str, fields: dict[str, object]) -> None:
    record = parse(kind, text)
    assert {name: record[name] for name in fields} == fields


@pytest.mark.parametrize(("kind", "name"), [("ethtool-g", "ixgbe-rhel6"), ("ethtool-l", "ixgbe-3.x")])
def test_sizes_need_both_sections_with_a_row_each(kind: str, name: str) -> None:
    text = capture(kind, name)
    shortened = re.sub(r"(?m)^TX:.*\n", "", text)
    assert parse(kind, shortened)["max"]["tx"] is None  # type: ignore[index]
    before, current, _ = text.partition("Current hardware settings:\n")
    for half in (before, before + current):
        with pytest.raises(ReadError, match=r"Current hardware settings.*this section with at least one row"):
            parse(kind, half)


@pytest.mark.parametrize("kind", ETHERNET)
@pytest.mark.parametrize("around", SURROUNDINGS)
def test_what_people_record_around_an_output_changes_nothing(kind: str, around: str) -> None:
    command = COMMANDS.get(kind, "ethtool -x eth0")
    for path in sorted((CAPTURES / kind).glob("*.txt")):
        text = text_of(path)
        if any(sign in text.split("\n", 1)[0] for sign in ("# ", "$ ", "cat ")):
            continue
        recorded = SURROUNDINGS[around].format(command=command, text=text)
        assert plain(READERS[kind](recorded)) == plain(READERS[kind](text)), path.stem


@pytest.mark.parametrize("kind", ETHERNET)
def test_a_margin_changes_nothing(kind: str) -> None:
    for path in sorted((CAPTURES / kind).glob("*.txt")):
        text = text_of(path)
        assert plain(READERS[kind](indent(text, "        "))) == plain(READERS[kind](text)), path.stem


@pytest.mark.parametrize("kind", ETHERNET)
@pytest.mark.parametrize("end", LINE_ENDS)
def test_line_ends_change_nothing(kind: str, end: str) -> None:
    for path in sorted((CAPTURES / kind).glob("*.txt")):
        text = text_of(path).replace("\r", "")
        assert plain(READERS[kind](text.replace("\n", LINE_ENDS[end]))) == plain(READERS[kind](text)), path.stem


@pytest.mark.parametrize("kind", ETHERNET)
@pytest.mark.parametrize("text", NO_OUTPUTS)
def test_what_is_no_output_is_refused(kind: str, text: str) -> None:
    with pytest.raises(ReadError, match=r"^cannot read .*: expected "):
        READERS[kind](text)


@pytest.mark.parametrize(
    ("kind", "name", "old", "new", "said"), DEFECTS, ids=[f"{d[0]}: {d[3][:40]!r}" for d in DEFECTS]
)
def test_defect_is_named(kind: str, name: str, old: str, new: str, said: str) -> None:
    text = capture(kind, name)
    assert old in text
    with pytest.raises(ReadError, match=said):
        READERS[kind](text.replace(old, new, 1))


@pytest.mark.parametrize("kind", [*sorted(set(ETHTOOL) - {"ethtool-S"}), "bonding"])
def test_outputs_of_two_interfaces_are_ambiguous(kind: str) -> None:
    for path in sorted((CAPTURES / kind).glob("*.txt")):
        with pytest.raises(ReadError):
            READERS[kind](text_of(path) + "\n" + text_of(path))


@pytest.mark.parametrize(
    ("kind", "text", "document"),
    [
        ("ethtool-k", "virtio-6.1", "virtio-6.1-json"),
        ("ethtool-k", "veth-6.1", "veth-6.1-json"),
        ("ethtool-k", "bridge-6.1", "bridge-6.1-json"),
        ("ethtool-a", "igb-negotiated", "igb-json"),
        ("ethtool-S", "standard-groups", "standard-groups-json"),
    ],
)
def test_text_and_json_give_one_record(kind: str, text: str, document: str) -> None:
    assert plain(READERS[kind](capture(kind, text))) == plain(READERS[kind](capture(kind, document)))


def test_text_and_json_of_interfaces_give_one_record() -> None:
    """Of the same capture; JSON holds more statistics than the text."""
    text, document = read_links(capture("ip-link", "bond-lacp")), read_links(capture("ip-link", "bond-lacp-json"))
    of_text = {link.name: link for link in text.interfaces}
    assert [link == of_text[link.name] for link in document.interfaces] == [True, True, True]


def test_every_ethernet_capture_is_printed_as_json() -> None:
    assert set(ETHERNET) <= set(KINDS)
    for kind in ETHERNET:
        for path in sorted((CAPTURES / kind).glob("*.txt")):
            assert json.loads(json.dumps(parse(kind, text_of(path)), allow_nan=False))


def test_a_number_of_any_length_is_no_crash() -> None:
    with pytest.raises(ReadError, match=r"info_data.id '9+"):
        READERS["vlan"](capture("vlan", "ip-d-link").replace("id 3", "id " + "9" * 5000))


def test_features_are_found_with_blanks_and_with_dashes() -> None:
    features = read_features(capture("ethtool-k", "rhel5-blanks"))
    assert features["tcp-segmentation-offload"].on is True
    assert features["udp fragmentation offload"].on is False
    with pytest.raises(ReadError, match=r"no feature 'rx-lro' among 7"):
        features["rx-lro"]


def test_a_bond_is_left_as_it_speaks_of_itself() -> None:
    """It says up, but no slave is; and its partner is nobody."""
    bond = read_bonding(capture("bonding", "mode-rr"))
    assert (bond.mii_status, bond.slaves_up) == ("up", 0)
    bond = read_bonding(capture("bonding", "lacp-no-partner"))
    assert bond.mii_status == "up" and bond.aggregator is not None
    assert bond.aggregator.partner_mac == "00:00:00:00:00:00"


def test_no_light_is_no_number() -> None:
    module = read_module(capture("ethtool-m", "sfp-inf"))
    assert (module.rx_power_mw, module.rx_power_dbm) == (0.0, None)


def test_lanes_of_a_json_document() -> None:
    """One number a lane; dBm follows from mW."""
    document = {
        "identifier": 17,
        "identifier_description": "QSFP28",
        "vendor_name": "FS",
        "vendor_pn": "QSFP28-SR4-100G",
        "laser_tx_bias_current": [6.1, 6.2],
        "transmit_avg_optical_power": [0.8422, 1],
        "rx_power": {"values": [0.5, 0], "type": "Rcvr signal avg optical power"},
        "laser_bias_current_high_alarm": [False, True],
    }
    module = read_module(json.dumps([document]))
    assert (module.identifier, module.bias_ma) == ("0x11 (QSFP28)", None)
    first, second = module.lanes
    assert (first.bias_ma, first.tx_power_dbm, first.rx_power_mw, first.rx_power_dbm) == (6.1, -0.75, 0.5, -3.01)
    assert (second.bias_ma, second.tx_power_dbm, second.rx_power_mw, second.rx_power_dbm) == (6.2, 0.0, 0.0, None)
    assert module.alarms == {"laser_bias_current_high_alarm_1": False, "laser_bias_current_high_alarm_2": True}
    with pytest.raises(ReadError, match=r"a number in mA"):
        read_module(json.dumps([document | {"laser_tx_bias_current": [6.1, "much"]}]))


@pytest.mark.parametrize("speed", ["Unknown!", "Unknown! (65535)", "Unknown! (0)", "65535Mb/s", "4294967295Mb/s"])
def test_unknown_speed_in_every_shape(speed: str) -> None:
    text = capture("ethtool", "veth").replace("Speed: 10000Mb/s", f"Speed: {speed}")
    assert read_link_settings(text).speed_mbps is None


@pytest.mark.parametrize(
    "firmware",
    [
        "bc 5.2.3 NCSI 2.0.6",
        "7.8.16 bc 6.2.26 phy aa0.406",
        "FFV7.12.17 bc 7.12.4",
        "mbi 7.12.17 bc 7.12.4",
        "FFV08.07.26 bc 7.8.79 phy 1.45",
        "218.0.152.0/pkg 21.85.21.92",
        "20.6.5.11",
        "5.05 0x80002927 1.313.0",
        "f4.40.35115 a1.4 n04.53 e80001dca",
        "16.35.2000 (MT_0000000359)",
        "4.4.249.3",
    ],
)
def test_firmware_is_kept_as_it_stands(firmware: str) -> None:
    text = capture("ethtool-i", "ixgbe").replace("0x80000887, 1.2688.0", firmware)
    assert read_driver_info(text).firmware == firmware


@pytest.mark.parametrize("bus", ["0001:04:00.0", "10000:e1:00.1", "usb-0000:00:14.0-1", "virtio0", "ssb0:1", "4-1.2"])
def test_bus_address_is_kept_as_it_stands(bus: str) -> None:
    text = capture("ethtool-i", "ixgbe").replace("0000:04:00.0", bus)
    assert read_driver_info(text).bus == bus


def test_a_shortened_driver_text_needs_no_last_line_end() -> None:
    shortened = "driver: be2net\n    version: 10.4.0.6\n  firmware-version: 4.2.313.0"
    assert READERS["ethtool-i"](shortened).firmware == "4.2.313.0"
    with pytest.raises(ReadError, match="the output was cut"):
        READERS["ethtool-i"]("driver: be2n")
