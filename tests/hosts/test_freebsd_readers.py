"""Readers of FreeBSD's tools: what is broken is refused with its place, and what is printed is read back."""

from __future__ import annotations

from typing import Any

import pytest
from examples import text_of
from hypothesis import given, settings
from hypothesis import strategies as st

from niclab.commands.parse import parse
from niclab.hosts.errors import ReadError

IFCONFIG = text_of("ifconfig-freebsd", "lagg-loadbalance")
PCICONF = text_of("pciconf", "igc-release13")
SYSCTL = text_of("sysctl-freebsd", "oce-max-rsp")
KLDSTAT = text_of("kldstat", "two-files")
NETSTAT = text_of("netstat-freebsd", "people-bdn")
# kind, text, its original words, what is put in their place, what the error must say
DEFECTS = [
    ("ifconfig-freebsd", IFCONFIG, "mtu 1500", "mtu abc", "line 1 .*an interface such as"),
    ("ifconfig-freebsd", IFCONFIG, "mtu 1500", "mtu 60", "an mtu of at least 68"),
    ("ifconfig-freebsd", IFCONFIG, "flags=28943<", "flags=zz<", "line 1 .*an interface such as"),
    ("ifconfig-freebsd", IFCONFIG, "options=812098<", "options=2<", "line 2 .*no more names than 0x2 has"),
    ("ifconfig-freebsd", IFCONFIG, "options=812098<", "options=812090<", "bit 3 set, which is VLAN_MTU"),
    ("ifconfig-freebsd", IFCONFIG, "VLAN_HWFILTER>", "VLAN_HWFILTER", "line 2 .*bits such as"),
    ("ifconfig-freebsd", IFCONFIG, "VLAN_MTU,", "VLAN_MTU,,", "bits such as"),
    ("ifconfig-freebsd", IFCONFIG, "94:de:80:6b:27:6c", "94:de:80:6b:27", "'ether 00:00:c9:e6:67:a8'"),
    ("ifconfig-freebsd", IFCONFIG, "10.0.0.105", "10.0.0.305", "'inet 10.1.1.1 netmask"),
    ("ifconfig-freebsd", IFCONFIG, "10.0.0.105", "10.0.0.205", "each address once"),
    ("ifconfig-freebsd", IFCONFIG, "0xffffff00", "0xff00ff00", "without gaps"),
    ("ifconfig-freebsd", IFCONFIG, "0xffffff00 broadcast", "broadcast", "'inet 10.1.1.1 netmask"),
    ("ifconfig-freebsd", IFCONFIG, "status: active", "status: maybe", "a status of active, no carrier"),
    ("ifconfig-freebsd", IFCONFIG, "status: active", "media: Ethernet autoselect", "media once per"),
    ("ifconfig-freebsd", IFCONFIG, "media: Ethernet", "media: Etherwet", "a medium such as"),
    ("ifconfig-freebsd", IFCONFIG, "media: Ethernet", "meida: Ethernet", "one of options, capabilities"),
    ("ifconfig-freebsd", IFCONFIG, "laggport: em0 flags=4", "laggport: em0 flags=", "bits such as"),
    ("ifconfig-freebsd", IFCONFIG, "laggport: igb0", "laggport: em0", "each port once"),
    ("ifconfig-freebsd", IFCONFIG, "loadbalance", "magic", "NAME of failover, lacp"),
    ("ifconfig-freebsd", IFCONFIG + IFCONFIG, "mtu 1500", "mtu 1500", "lagg0 once"),
    ("sysctl-freebsd", SYSCTL, "max_rsp_handled: 64\n", "max_rsp_handled\n", "'name: value' such as"),
    ("sysctl-freebsd", SYSCTL, "dev.oce.1.max_rsp_handled: 64", "dev.oce.1.max_rsp", "'name: value' such as"),
    ("sysctl-freebsd", SYSCTL, "oce.1.max_rsp_handled", "oce.0.max_rsp_handled", "each name once"),
    ("pciconf", PCICONF, "vendor=0x8086 device", "device", "the words class, card"),
    ("pciconf", PCICONF, "vendor=0x8086 device", "vendor=0x80 device", "words such as class=0x020000"),
    ("pciconf", PCICONF, "vendor=0x8086 device", "vendor=8086 device", "words such as class=0x020000"),
    ("pciconf", PCICONF, "@pci0:2:0:0:", "@pci0:2:32:0:", "bus up to 255"),
    ("pciconf", PCICONF, "link x1(x1) speed", "link x1(x3) speed", "'3'; expected a width of"),
    ("pciconf", PCICONF, "link x1(x1) speed", "link x1(x speed", "'link x4.x8.'"),
    ("pciconf", PCICONF, "speed 5.0(5.0)", "speed 7.0(5.0)", "'7.0'; expected a speed of"),
    ("pciconf", PCICONF, "speed 5.0(5.0)", "speed 5.0(", "'speed 5.0.8.0.'"),
    ("pciconf", PCICONF, "646266ffff253dc7", "646266ffff253d", "'Serial 1 ' and 16"),
    ("pciconf", PCICONF, "    cap 01", "  cap 01", "line 2 .*a capability, 'cap 01"),
    ("pciconf", PCICONF + PCICONF, "rev", "rev", "each function once"),
    ("kldstat", KLDSTAT, " 2    1", " 1    1", "id 1 once"),
    ("kldstat", KLDSTAT, "Size", "Siez", "'Id Refs Address Size Name' and at least one row"),
    ("kldstat", KLDSTAT, "Contains modules:", "Contains:", "and its modules"),
    ("netstat-freebsd", NETSTAT, "98765432", "98M", "9 counts"),
    ("netstat-freebsd", NETSTAT, "Ipkts Ierrs", "Ipkts Ierrz", "expected Name Mtu Network Address Ipkts Ierrs"),
    ("netstat-freebsd", NETSTAT, "<Link#8>", "<Link#", "'<Link#1>', or a network"),
    ("netstat-freebsd", NETSTAT, "123456 ", "- ", "rx_packets: a whole number"),
]


@pytest.mark.parametrize(("kind", "text", "old", "new", "said"), DEFECTS)
def test_a_defect_is_refused_with_its_place(kind: str, text: str, old: str, new: str, said: str) -> None:
    assert old in text
    with pytest.raises(ReadError, match=f"cannot read .*{said}"):
        parse(kind, text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("media", "speed", "duplex"),
    [
        ("autoselect (10Gbase-SR <full-duplex,rxpause,txpause>)", 10000, "full"),
        ("10Gbase-Twinax <full-duplex,rxpause,txpause>", 10000, "full"),
        ("autoselect (100baseTX <half-duplex>)", 100, "half"),
        ("autoselect (10baseT/UTP <half-duplex>)", 10, "half"),
        ("autoselect (2500Base-T <full-duplex>)", 2500, "full"),
        ("autoselect <flowcontrol> (1000baseT <full-duplex,flowcontrol,master>)", 1000, "full"),
        ("autoselect (autoselect <full-duplex>)", None, "full"),
        ("autoselect (Unknown <rxpause,txpause>)", None, None),
        ("autoselect <full-duplex> (none)", None, None),
        ("<unknown subtype> <full-duplex>", None, "full"),
        ("100GBASE-SR4 <full-duplex>", 100000, "full"),
        ("none", None, None),
    ],
)
def test_media_words(media: str, speed: int | None, duplex: str | None) -> None:
    text = f"oce0: flags=8843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST> metric 0 mtu 1500\n\tmedia: Ethernet {media}\n"
    (record,) = interfaces(text + "\tstatus: active\n")
    assert (record["speed_mbps"], record["duplex"]) == (speed, duplex)
    (down,) = interfaces(text + "\tstatus: no carrier\n")
    assert (down["link"], down["speed_mbps"], down["duplex"]) == (False, None, None)


def interfaces(text: str) -> Any:
    return parse("ifconfig-freebsd", text)["interfaces"]


@pytest.mark.parametrize(
    ("line", "kind", "name"),
    [
        ("login: panic: page fault", "panic", None),
        ("Fatal trap 12: page fault while in kernel mode", "trap", None),
        ("oce0: watchdog timeout -- resetting", "transmit timeout", "oce0"),
        ("ix0: Warning queue 3 appears to be hung!", "transmit timeout", "ix0"),
        ("t5nex0: failed to load firmware image t5fw_cfg", "firmware load failed", "t5nex0"),
        ("device_attach: oce0 attach returned 6", "attach failed", "oce0"),
        ("KLD oce.ko: depends on kernel - not available or version mismatch", "module load failed", None),
        ("linker_load_file: /boot/modules/oce.ko - unsupported file type", "module load failed", None),
        ("MCA: Bank 5, Status 0xbe00000000800400", "machine check", None),
    ],
)
def test_trouble_in_kernel_lines(line: str, kind: str, name: str | None) -> None:
    for before in ("", "<2>", "[17.250] "):
        record: Any = parse("dmesg-freebsd", f"{before}{line}\n")
        (trouble,) = record["trouble"]
        assert (trouble["kind"], trouble["words"], name is None or name in trouble["devices"]) == (kind, line, True), (
            before
        )


@pytest.mark.parametrize(
    "line",
    [
        "savecore: reboot after panic: page fault",
        "oce0: link state changed to DOWN",
        "KDB: enter: Break to debugger",
        "oce0: Ethernet address: 00:00:c9:e6:67:a8",
        "acpi0: Power Button (fixed)",
        "watchdogd0: started",
        "hwpstate0: link error threshold set",
        "<118>oce0: watchdog timeout, as a program writes it to the console",
    ],
)
def test_everyday_kernel_lines_are_no_trouble(line: str) -> None:
    assert parse("dmesg-freebsd", f"pci0: <ACPI PCI bus> on pcib0\n{line}\n")["trouble"] == []


names = st.from_regex(r"[a-z]{2,6}[0-9]{1,2}", fullmatch=True)
macs = st.lists(st.integers(0, 255), min_size=6, max_size=6).map(lambda m: ":".join(f"{b:02x}" for b in m))
BITS = (
    *("RXCSUM", "TXCSUM", "NETCONS", "VLAN_MTU", "VLAN_HWTAGGING", "JUMBO_MTU", "POLLING", "VLAN_HWCSUM"),
    *("TSO4", "TSO6"),
)


@settings(max_examples=60, deadline=None)
@given(
    name=names,
    mtu=st.integers(72, 65535),
    options=st.sets(st.sampled_from(range(10))),
    ether=macs,
    status=st.sampled_from(["active", "no carrier"]),
    length=st.integers(0, 32),
)
def test_a_printed_interface_is_read_back(
    name: str, mtu: int, options: set[int], ether: str, status: str, length: int
) -> None:
    number = sum(1 << bit for bit in options)
    bits = f"{number:x}" + (f"<{','.join(BITS[bit] for bit in sorted(options))}>" if options else "")
    mask = (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF
    text = f"{name}: flags=8802<BROADCAST,SIMPLEX,MULTICAST> metric 0 mtu {mtu}\n\toptions={bits}\n"
    text += f"\tether {ether}\n\tinet 10.1.1.1 netmask 0x{mask:08x} broadcast 10.1.1.255\n\tstatus: {status}\n"
    (record,) = interfaces(text)
    assert (record["name"], record["mtu"], record["ether"], record["status"]) == (name, mtu, ether, status)
    assert record["options"] == {"hex": f"{number:x}", "names": [BITS[bit] for bit in sorted(options)]}
    assert record["inet"][0]["prefix_length"] == length


@settings(max_examples=60, deadline=None)
@given(
    address=st.tuples(st.integers(0, 65535), st.integers(0, 255), st.integers(0, 31), st.integers(0, 7)),
    ids=st.tuples(*[st.integers(0, 65534)] * 4),
    widths=st.tuples(st.sampled_from([0, 1, 2, 4, 8, 16]), st.sampled_from([1, 2, 4, 8, 16])),
    old=st.booleans(),
    driver=st.sampled_from([None, "oce", "t5nex", "mlx5_core"]),
)
def test_a_printed_device_is_read_back(
    address: tuple[int, int, int, int],
    ids: tuple[int, int, int, int],
    widths: tuple[int, int],
    old: bool,
    driver: str | None,
) -> None:
    vendor, device, subvendor, subdevice = ids
    words = f"class=0x020000 card=0x{subdevice:04x}{subvendor:04x} chip=0x{device:04x}{vendor:04x} rev=0x01 hdr=0x00"
    if not old:
        words = f"class=0x020000 rev=0x01 hdr=0x00 vendor=0x{vendor:04x} device=0x{device:04x}"
        words += f" subvendor=0x{subvendor:04x} subdevice=0x{subdevice:04x}"
    now = "5.0" if widths[0] else "0.0"
    text = f"{driver or 'none'}0@pci{':'.join(map(str, address))}:\t{words}\n"
    text += f"    cap 10[a0] = PCI-Express 2 endpoint max data 256(512) FLR link x{widths[0]}(x{widths[1]})\n"
    text += f"                 speed {now}(8.0) ASPM disabled(L0s/L1)\n"
    (record,) = parse("pciconf", text)["devices"]  # type: ignore[misc]
    assert record["slot"] == f"{address[0]:04x}:{address[1]:02x}:{address[2]:02x}.{address[3]}"
    read = tuple(record[key] for key in ("vendor_id", "device_id", "subvendor", "subdevice"))
    assert read == tuple(f"{number:04x}" for number in ids)
    assert (record["driver"], record["lnkcap_width"], record["lnkcap_gts"]) == (driver, widths[1], 8.0)
    assert (record["lnksta_width"], record["lnksta_gts"]) == ((widths[0], 5.0) if widths[0] else (None, None))


words_of_a_value = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]), min_size=1, max_size=40)


@settings(max_examples=100, deadline=None)
@given(
    values=st.dictionaries(
        st.from_regex(r"dev\.[a-z]{2,5}\.[0-9]\.[a-z_]{1,12}", fullmatch=True),
        st.integers(-(2**63), 2**64 - 1) | words_of_a_value.filter(lambda text: text == text.strip()),
        min_size=1,
        max_size=8,
    )
)
def test_printed_sysctls_are_read_back(values: dict[str, int | str]) -> None:
    read = parse("sysctl-freebsd", "".join(f"{name}: {value}\n" for name, value in values.items()))["values"]
    assert isinstance(read, dict)
    assert {name: str(value) for name, value in read.items()} == {name: str(value) for name, value in values.items()}
    assert all(isinstance(read[name], int) for name, value in values.items() if isinstance(value, int))
