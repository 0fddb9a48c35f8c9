"""Readers of Linux against printers: whatever a tool prints by its format is read back as it was."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from niclab.hosts.bonds.bond_records import Vlan
from niclab.hosts.bonds.proc_bonding import read_bonding
from niclab.hosts.counts.ethtool_counters import read_counters
from niclab.hosts.links.ip_command import read_interfaces, read_vlan
from niclab.hosts.pci.lspci import read_lspci
from niclab.hosts.pci.pcie_speeds import SPEEDS_GTS, WIDTHS
from niclab.hosts.settings.ethtool_coalesce import read_coalescing
from niclab.hosts.settings.ethtool_features import read_features
from niclab.hosts.settings.ethtool_pause import read_pause
from niclab.hosts.settings.ethtool_records import ChannelCounts as Counts
from niclab.hosts.settings.ethtool_records import Channels, Coalescing, Feature, Features, Pause, Rings
from niclab.hosts.settings.ethtool_records import RingSizes as Sizes
from niclab.hosts.settings.ethtool_sizes import read_channels, read_rings
from niclab.hosts.steering.interrupts import read_interrupts

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[0-9]{1,4})?", fullmatch=True)
COUNTS = st.integers(0, 2**64 - 1)
SOME = COUNTS | st.none()
SWITCHES = st.sampled_from([None, True, False])
WORDS = {None: "n/a", True: "on", False: "off"}
PARAMETERS = ["rx-usecs", "rx-frames", "tx-usecs", "tx-frames", "rx-usecs-high", "tx-usecs-high", "pkt-rate-low"]
MODES = {
    0: "load balancing (round-robin)",
    1: "fault-tolerance (active-backup)",
    2: "load balancing (xor)",
    3: "fault-tolerance (broadcast)",
    4: "IEEE 802.3ad Dynamic link aggregation",
    5: "transmit load balancing",
    6: "adaptive load balancing",
}
FEATURES = st.builds(
    lambda on, fixed, asked: Feature(on, fixed, None if fixed or asked == on else asked),
    st.booleans(),
    st.booleans(),
    SWITCHES,
)


def shown(value: int | None) -> str:
    return "n/a" if value is None else str(value)


@settings(deadline=None)
@given(
    iface=NAMES,
    features=st.dictionaries(st.from_regex(r"[a-z][a-z0-9-]{0,30}[a-z]", fullmatch=True), FEATURES, min_size=1),
)
def test_features(iface: str, features: dict[str, Feature]) -> None:
    features.pop("ifname", None)
    rows = {
        name: {"active": one.on, "fixed": one.fixed, "requested": one.on if one.requested is None else one.requested}
        for name, one in (features or {"gso": Feature(True, False, None)}).items()
    }
    wanted = Features(iface, features or {"gso": Feature(True, False, None)})
    assert read_features(json.dumps([{"ifname": iface, **rows}], indent=4)) == wanted


@settings(deadline=None)
@given(iface=NAMES, most=st.tuples(SOME, SOME, SOME, SOME), now=st.tuples(SOME, SOME, SOME, SOME), push=SWITCHES)
def test_rings_and_channels(
    iface: str, most: tuple[int | None, ...], now: tuple[int | None, ...], push: bool | None
) -> None:
    for what, rows in (("Ring", ("RX", "RX Mini", "RX Jumbo", "TX")), ("Channel", ("RX", "TX", "Other", "Combined"))):
        text = f"{what} parameters for {iface}:\nPre-set maximums:\n"
        text += "".join(f"{row}:\t\t{shown(value)}\n" for row, value in zip(rows, most, strict=True))
        text += "Current hardware settings:\n"
        text += "".join(f"{row}:\t\t{shown(value)}\n" for row, value in zip(rows, now, strict=True))
        if what == "Channel":
            assert read_channels(text) == Channels(iface, Counts(*most), Counts(*now))
        else:
            text += f"TX Push:\t{WORDS[push]}\n"
            assert read_rings(text) == Rings(iface, Sizes(*most), Sizes(*now, tx_push=push))


@settings(deadline=None)
@given(iface=NAMES, modes=st.tuples(SWITCHES, SWITCHES), values=st.lists(SOME, min_size=7, max_size=7))
def test_coalescing(iface: str, modes: tuple[bool | None, ...], values: list[int | None]) -> None:
    parameters = dict(zip(PARAMETERS, values, strict=True))
    words = [WORDS[mode] for mode in modes]
    text = f"Coalesce parameters for {iface}:\nAdaptive RX: {words[0]}  TX: {words[1]}\n\n"
    text += "".join(f"{name}:\t{shown(value)}\n" for name, value in parameters.items())
    text += "\nCQE mode RX: n/a  TX: n/a\n\n"
    assert read_coalescing(text) == Coalescing(iface, *modes, parameters)


@settings(deadline=None)
@given(
    iface=NAMES, words=st.tuples(*[st.booleans()] * 3), negotiated=st.none() | st.tuples(st.booleans(), st.booleans())
)
def test_pause(iface: str, words: tuple[bool, ...], negotiated: tuple[bool, ...] | None) -> None:
    rows = list(zip(("Autonegotiate", "RX", "TX"), words, strict=True))
    rows += zip(("RX negotiated", "TX negotiated"), negotiated or (), strict=negotiated is not None)
    text = "".join(f"{name}:\t{'on' if on else 'off'}\n" for name, on in rows)
    assert read_pause(f"Pause parameters for {iface}:\n{text}\n") == Pause(iface, *words)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.from_regex(r"[a-z\[][A-Za-z0-9:_ .\[\]-]{0,30}[a-z0-9\]]", fullmatch=True), COUNTS), min_size=1
    )
)
def test_counters(entries: list[tuple[str, int]]) -> None:
    text = "NIC statistics:\n" + "".join(f"     {name}: {value}\n" for name, value in entries)
    assert read_counters(text).entries == tuple(entries)


@settings(deadline=None)
@given(
    mode=st.sampled_from(sorted(MODES)),
    slaves=st.lists(st.tuples(st.booleans(), st.integers(1, 400000) | st.none(), COUNTS), max_size=6),
)
def test_bonding(mode: int, slaves: list[tuple[bool, int | None, int]]) -> None:
    text = f"Ethernet Channel Bonding Driver: v6.1.0\n\nBonding Mode: {MODES[mode]}\nMII Status: up\n"
    text += "MII Polling Interval (ms): 100\nUp Delay (ms): 0\nDown Delay (ms): 0\n"
    for number, (up, speed, failures) in enumerate(slaves):
        text += f"\nSlave Interface: eth{number}\nMII Status: {'up' if up else 'down'}\n"
        text += "Speed: Unknown\nDuplex: Unknown\n" if speed is None else f"Speed: {speed} Mbps\nDuplex: full\n"
        text += f"Link Failure Count: {failures}\nPermanent HW addr: 00:1b:21:aa:bb:{number:02x}\nSlave queue ID: 0\n"
        text += f"Aggregator ID: {number + 1}\n" if mode == 4 else ""
    bond = read_bonding(text)
    assert (bond.mode_id, bond.slaves_up) == (mode, sum(up for up, _, _ in slaves))
    assert [slave.speed_mbps for slave in bond.slaves] == [speed for _, speed, _ in slaves]


@settings(deadline=None)
@given(NAMES, st.integers(0, 4094), NAMES, st.sampled_from(["802.1Q", "802.1ad"]))
def test_vlan(name: str, number: int, below: str, protocol: str) -> None:
    info = {"info_kind": "vlan", "info_data": {"protocol": protocol, "id": number, "flags": ["REORDER_HDR"]}}
    text = json.dumps([{"ifindex": 9, "ifname": name, "link": below, "linkinfo": info}])
    assert read_vlan(text) == Vlan(name, number, below, protocol)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(NAMES, st.integers(68, 65535), st.lists(COUNTS, min_size=8, max_size=8)),
        min_size=1,
        unique_by=lambda row: row[0],
    )
)
def test_interfaces(rows: list[tuple[str, int, list[int]]]) -> None:
    words = ("bytes", "packets", "errors", "dropped")
    document = [
        {
            **{"ifindex": index, "ifname": name, "flags": ["BROADCAST", "UP"], "mtu": mtu, "operstate": "DOWN"},
            "stats64": {
                "rx": dict(zip(words, counters[:4], strict=True)),
                "tx": dict(zip(words, counters[4:], strict=True)),
            },
        }
        for index, (name, mtu, counters) in enumerate(rows, start=1)
    ]
    found = read_interfaces(json.dumps(document))
    assert [(one.name, one.mtu, one.admin_up, one.carrier) for one in found] == [
        (name, mtu, True, False) for name, mtu, _ in rows
    ]
    assert [(one.statistics and (one.statistics.rx_bytes, one.statistics.tx_dropped)) for one in found] == [
        (counters[0], counters[7]) for _, _, counters in rows
    ]


@settings(deadline=None)
@given(
    bus=st.integers(0, 255),
    ids=st.tuples(st.integers(0, 65535), st.integers(0, 65535)),
    can=st.tuples(st.sampled_from(SPEEDS_GTS), st.sampled_from(WIDTHS)),
    does=st.tuples(st.sampled_from(SPEEDS_GTS), st.sampled_from(WIDTHS)),
    driver=st.none() | st.from_regex(r"[a-z][a-z0-9_]{1,12}", fullmatch=True),
)
def test_lspci(
    bus: int, ids: tuple[int, int], can: tuple[float, int], does: tuple[float, int], driver: str | None
) -> None:
    vendor, device = (f"{one:04x}" for one in ids)
    text = f"0000:{bus:02x}:00.0 Ethernet controller [0200]: Example Corporation X [{vendor}:{device}] (rev 01)\n"
    text += f"\tSubsystem: Example Corporation Device [{device}:{vendor}]\n\tStatus: Cap+ 66MHz- UDF-\n"
    text += "\tCapabilities: [a0] Express (v2) Endpoint, MSI 00\n"
    text += f"\t\tLnkCap:\tPort #0, Speed {can[0]:g}GT/s, Width x{can[1]}, ASPM L1\n"
    text += f"\t\tLnkSta:\tSpeed {does[0]:g}GT/s, Width x{does[1]}\n"
    text += f"\tKernel driver in use: {driver}\n" if driver else ""
    (found,) = read_lspci(text)
    assert (found.slot, found.vendor_id, found.subvendor, found.driver) == (
        f"0000:{bus:02x}:00.0",
        vendor,
        device,
        driver,
    )
    assert (found.lnkcap_gts, found.lnkcap_width, found.lnksta_gts, found.lnksta_width) == (*can, *does)


@settings(deadline=None)
@given(
    cpus=st.integers(1, 8),
    rows=st.lists(st.tuples(st.integers(0, 4096), NAMES), min_size=1, unique_by=lambda row: row[0]),
)
def test_interrupts(cpus: int, rows: list[tuple[int, str]]) -> None:
    text = "".join(f"{f'CPU{cpu}':>11}" for cpu in range(cpus)) + "\n"
    for irq, action in rows:
        text += f"{irq:4}:{'         7' * cpus}  IR-PCI-MSI-0000:01:00.0    {irq}-edge      {action}-rx-0\n"
    found = read_interrupts(text)
    assert [(one.irq, one.counts, one.actions) for one in found.irqs] == [
        (irq, (7,) * cpus, (f"{action}-rx-0",)) for irq, action in rows
    ]
