"""Round trips: a record is made up, printed as the tool would print it, and read back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from niclab.hosts.ethtool_records import ChannelCounts as Counts
from niclab.hosts.ethtool_records import Channels, Coalescing, Feature, Features, Pause, Rings
from niclab.hosts.ethtool_records import RingSizes as Sizes
from niclab.hosts.link_records import Vlan, Vlans
from niclab.hosts.linux.bonding import read_bonding
from niclab.hosts.linux.ethtool_coalesce import read_coalescing, read_pause
from niclab.hosts.linux.ethtool_counters import read_counters
from niclab.hosts.linux.ethtool_features import read_features
from niclab.hosts.linux.ethtool_module import read_module
from niclab.hosts.linux.ethtool_sizes import read_channels, read_rings
from niclab.hosts.linux.ip_link import read_links
from niclab.hosts.linux.vlan import read_vlans

NAMES = st.from_regex(r"[a-z][a-z0-9._-]{0,13}[a-z0-9]", fullmatch=True)
COUNTS = st.integers(0, 2**32 - 1)
SOME = st.none() | COUNTS
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


@given(
    iface=NAMES,
    features=st.dictionaries(st.from_regex(r"[a-z][a-z0-9 -]{0,30}[a-z]", fullmatch=True), FEATURES, min_size=1),
)
def test_features(iface: str, features: dict[str, Feature]) -> None:
    notes = {name: " [fixed]" if feature.fixed else "" for name, feature in features.items()}
    notes |= {n: f" [requested {WORDS[f.requested]}]" for n, f in features.items() if f.requested is not None}
    lines = [f"\t{name}: {WORDS[feature.on]}{notes[name]}" for name, feature in features.items()]
    assert read_features(f"Features for {iface}:\n" + "\n".join(lines) + "\n") == Features(iface, features)


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


@given(
    iface=NAMES, modes=st.tuples(SWITCHES, SWITCHES, SWITCHES, SWITCHES), values=st.lists(SOME, min_size=7, max_size=7)
)
def test_coalescing(iface: str, modes: tuple[bool | None, ...], values: list[int | None]) -> None:
    parameters = dict(zip(PARAMETERS, values, strict=True))
    words = [WORDS[mode] for mode in modes]
    text = f"Coalesce parameters for {iface}:\nAdaptive RX: {words[0]}  TX: {words[1]}\n\n"
    text += "".join(f"{name}:\t{shown(value)}\n" for name, value in parameters.items())
    text += f"\nCQE mode RX: {words[2]}  TX: {words[3]}\n"
    assert read_coalescing(text) == Coalescing(iface, *modes, parameters)


@given(iface=NAMES, words=st.tuples(SWITCHES, SWITCHES, SWITCHES), negotiated=st.none() | st.tuples(SWITCHES, SWITCHES))
def test_pause(iface: str, words: tuple[bool | None, ...], negotiated: tuple[bool | None, ...] | None) -> None:
    text = f"Pause parameters for {iface}:\nAutonegotiate:\t{WORDS[words[0]]}\n"
    text += f"RX:\t\t{WORDS[words[1]]}\nTX:\t\t{WORDS[words[2]]}\n"
    if negotiated is not None:
        text += f"RX negotiated:\t{WORDS[negotiated[0]]}\nTX negotiated:\t{WORDS[negotiated[1]]}\n"
    assert read_pause(text) == Pause(iface, *words, *(negotiated or (None, None)), None)


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[a-z\[][A-Za-z0-9:_ .\[\]-]{0,30}[a-z0-9\]]", fullmatch=True), st.integers(0, 2**64 - 1)
        ),
        min_size=1,
    )
)
def test_counters(entries: list[tuple[str, int]]) -> None:
    text = "NIC statistics:\n" + "".join(f"     {name}: {value}\n" for name, value in entries)
    assert read_counters(text).entries == tuple(entries)


@given(
    temperature=st.integers(-4000, 12000),
    lanes=st.lists(
        st.tuples(st.integers(0, 131000), st.integers(1, 65535), st.integers(0, 65535)), min_size=1, max_size=8
    ),
)
def test_module(temperature: int, lanes: list[tuple[int, int, int]]) -> None:
    text = "\tIdentifier : 0x11 (QSFP28)\n\tVendor name : X\n\tVendor PN : Y\n"
    text += f"\tModule temperature : {temperature / 100:.2f} degrees C / {temperature / 100 * 1.8 + 32:.2f} degrees F\n"
    for number, (bias, tx, rx) in enumerate(lanes, start=1):
        text += f"\tLaser tx bias current (Channel {number}) : {bias / 1000:.3f} mA\n"
        text += f"\tTransmit avg optical power (Channel {number}) : {tx / 10000:.4f} mW / -1.00 dBm\n"
        dbm = "-2.00" if rx else "-inf"
        text += f"\tRcvr signal avg optical power(Channel {number})  : {rx / 10000:.4f} mW / {dbm} dBm\n"
    module = read_module(text)
    assert module.temperature_c == temperature / 100
    assert [(lane.bias_ma, lane.tx_power_mw, lane.rx_power_mw) for lane in module.lanes] == [
        (bias / 1000, tx / 10000, rx / 10000) for bias, tx, rx in lanes
    ]
    assert [lane.rx_power_dbm for lane in module.lanes] == [-2.0 if rx else None for _, _, rx in lanes]


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
    unknown_of_old = 65535
    wanted = [None if speed == unknown_of_old else speed for _, speed, _ in slaves]
    assert [slave.speed_mbps for slave in bond.slaves] == wanted
    assert [slave.link_failures for slave in bond.slaves] == [failures for _, _, failures in slaves]


@given(st.lists(st.tuples(NAMES, st.integers(0, 4095), NAMES)))
def test_vlans(rows: list[tuple[str, int, str]]) -> None:
    text = "VLAN Dev name\t | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n"
    text += "".join(f"{name:<15}| {number}  | {below}\n" for name, number, below in rows)
    vlans = tuple(Vlan(name, number, below) for name, number, below in rows)
    assert read_vlans(text) == Vlans("VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD", vlans)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            NAMES, st.integers(68, 65535), st.integers(0, 4095) | st.none(), st.lists(COUNTS, min_size=12, max_size=12)
        ),
        min_size=1,
        unique_by=lambda row: row[0],
    )
)
def test_interfaces(rows: list[tuple[str, int, int | None, list[int]]]) -> None:
    text = ""
    for index, (name, mtu, vlan, counters) in enumerate(rows, start=1):
        below = "@eth0" if vlan is not None else ""
        text += (
            f"{index}: {name}{below}: <BROADCAST,MULTICAST,UP> mtu {mtu} qdisc mq state DOWN group default qlen 1000\n"
        )
        text += "    link/ether 00:1b:21:aa:bb:cc brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 9216 \n"
        text += f"    vlan protocol 802.1Q id {vlan} <REORDER_HDR> addrgenmode eui64 \n" if vlan is not None else ""
        for direction, last, numbers in (("RX", "missed mcast", counters[:6]), ("TX", "carrier collsns", counters[6:])):
            text += f"    {direction}: bytes packets errors dropped {last}\n    {' '.join(map(str, numbers))} \n"
    links = read_links(text).interfaces
    assert [(link.name, link.mtu, link.vlan_id) for link in links] == [(name, mtu, vlan) for name, mtu, vlan, _ in rows]
    assert [list((link.statistics or {}).values()) for link in links] == [counters for _, _, _, counters in rows]
