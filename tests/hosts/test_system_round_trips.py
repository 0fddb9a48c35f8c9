"""Round trips: a record is printed as the tool would print it, and read back as it was."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from niclab.commands.parse import parse
from niclab.hosts.pcie import SPEEDS_GTS, WIDTHS

ID = st.integers(0, 0xFFFF).map(lambda number: f"{number:04x}")
BYTE = st.integers(0, 0xFF).map(lambda number: f"{number:02x}")
SLOT = st.builds(
    lambda domain, bus, device, function: f"{domain:04x}:{bus:02x}:{device:02x}.{function}",
    st.integers(0, 0xFFFF),
    st.integers(0, 0xFF),
    st.integers(0, 31),
    st.integers(0, 7),
)
NAME = st.from_regex(r"[A-Z][a-z]{2,8} [A-Z0-9]{2,6}( [a-z]{3,8})?", fullmatch=True)
DRIVER = st.sampled_from(["be2net", "bnx2x", "cxgb4", "ixgbe", "sfc", "e1000e"])
SERIAL = st.from_regex(r"[A-Z0-9]{4,12}", fullmatch=True)
UNCORRECTABLE = ("DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC", "UnsupReq")
LINK = st.tuples(st.sampled_from(SPEEDS_GTS), st.sampled_from(WIDTHS))

PCI_DEVICE = st.fixed_dictionaries(
    {
        "slot": SLOT,
        "class_code": ID,
        "vendor_id": ID,
        "device_id": ID,
        "revision": BYTE.filter(lambda value: value not in ("00", "ff")),
        "name": NAME,
        "subvendor": ID,
        "subdevice": ID,
        "numa_node": st.integers(0, 7),
        "capability": LINK,
        "status": LINK,
        "msix": st.integers(1, 2048),
        "enabled": st.booleans(),
        "uesta": st.sets(st.sampled_from(UNCORRECTABLE)),
        "part_number": SERIAL,
        "serial_number": SERIAL,
        "good": st.booleans(),
        "driver": DRIVER,
    }
)


def printed(device: dict[str, Any], *, old: bool) -> str:
    """As lspci -vvnn -D of pciutils 3.1 or 3.7 prints it."""
    (can_gts, can_width), (gts, width) = device["capability"], device["status"]
    sign = "+" if device["enabled"] else "-"
    words = ("", "") if old else (" (ok)", " (downgraded)")
    state = f"Speed {gts:g}GT/s{words[gts < can_gts]}, Width x{width}{words[width < can_width]}"
    flags = [name + ("+" if name in device["uesta"] else "-") for name in UNCORRECTABLE]
    broken = " ".join(flags) if old else " ".join(flags[:9]) + "\n\t\t\t" + " ".join(flags[9:])
    return "\n".join(
        (
            f"{device['slot']} Ethernet controller [{device['class_code']}]: {device['name']}"
            f" [{device['vendor_id']}:{device['device_id']}] (rev {device['revision']})",
            f"\tSubsystem: {device['name']} [{device['subvendor']}:{device['subdevice']}]",
            "\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR-",
            f"\tNUMA node: {device['numa_node']}",
            f"\tCapabilities: [70] MSI-X: Enable{sign} Count={device['msix']} Masked-",
            "\tCapabilities: [a0] Express (v2) Endpoint, MSI 00",
            f"\t\tLnkCap:\tPort #0, Speed {can_gts:g}GT/s, Width x{can_width}, ASPM L1, Exit Latency L1 <16us",
            f"\t\tLnkSta:\t{state}" + (", TrErr- Train- SlotClk+ DLActive-" if old else "\n\t\t\tTrErr- Train-"),
            "\t\tLnkCtl2: Target Link Speed: 2.5GT/s, EnterCompliance- SpeedDis-",
            "\tCapabilities: [e0] Vital Product Data",
            "\t\tRead-only fields:",
            f"\t\t\t[PN] Part number: {device['part_number']}",
            f"\t\t\t[SN] Serial number: {device['serial_number']}",
            f"\t\t\t[RV] Reserved: checksum {'good' if device['good'] else 'bad'}, 0 byte(s) reserved",
            "\t\tEnd",
            "\tCapabilities: [100 v2] Advanced Error Reporting",
            f"\t\tUESta:\t{broken}",
            "\t\tUEMsk:\t" + " ".join(f"{name}+" for name in UNCORRECTABLE),
            f"\tKernel driver in use: {device['driver']}",
            "",
        )
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(PCI_DEVICE, min_size=1, max_size=4, unique_by=lambda device: device["slot"]), st.booleans())
def test_lspci(devices: list[dict[str, Any]], old: bool) -> None:
    text = "\n".join(printed(device, old=old) for device in devices)
    found = parse("lspci", text)["devices"]
    assert isinstance(found, list)
    for wanted, read in zip(devices, found, strict=True):
        (can_gts, can_width), (gts, width) = wanted["capability"], wanted["status"]
        same = ("slot", "class_code", "vendor_id", "device_id", "revision", "name", "subvendor", "subdevice", "driver")
        assert {key: read[key] for key in same} == {key: wanted[key] for key in same}
        assert (read["lnkcap_gts"], read["lnkcap_width"]) == (can_gts, can_width)
        assert (read["lnksta_gts"], read["lnksta_width"]) == (gts, width)
        assert read["degraded"] is (gts < can_gts or width < can_width)
        assert (read["msix_count"], read["msix_enabled"]) == (wanted["msix"], wanted["enabled"])
        assert set(read["uesta"]) == wanted["uesta"] and read["numa_node"] == wanted["numa_node"]
        vpd = read["vpd"]
        assert (vpd["part_number"], vpd["serial_number"]) == (wanted["part_number"], wanted["serial_number"])
        assert vpd["checksum_good"] is wanted["good"] and vpd["complete"] is True


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_interrupts(data: st.DataObject) -> None:
    cpus = sorted(data.draw(st.sets(st.integers(0, 300), min_size=1, max_size=6)))
    counts = st.lists(st.integers(0, 2**32), min_size=len(cpus), max_size=len(cpus))
    new = data.draw(st.booleans())
    rows = data.draw(st.dictionaries(st.integers(0, 500), counts, min_size=1, max_size=5))
    actions = data.draw(st.lists(st.from_regex(r"eth[0-9]-(rx|tx)-[0-9]", fullmatch=True), max_size=3, unique=True))
    chip = "IR-PCI-MSIX-0000:08:00.0    7-edge   " if new else "IR-PCI-MSI-edge   "
    text = "  ".join(f"CPU{cpu}" for cpu in cpus) + "\n"
    for irq, row in rows.items():
        text += f"{irq:3d}: {' '.join(f'{count:10d}' for count in row)}  {chip}   {', '.join(actions)}\n"
    record = parse("interrupts", text + "ERR:          0\n")
    assert record["cpus"] == cpus
    irqs = record["irqs"]
    assert isinstance(irqs, list)
    for (irq, row), read in zip(rows.items(), irqs, strict=False):
        assert (read["irq"], read["counts"], read["total"]) == (irq, row, sum(row))
        assert (read["hwirq"], read["type"], read["actions"]) == (7 if new else None, "edge", actions)
        assert read["chip"] == ("IR-PCI-MSIX-0000:08:00.0" if new else "IR-PCI-MSI")


DEB_NAME = st.from_regex(r"[a-z][a-z0-9+.-]{1,20}[a-z0-9]", fullmatch=True)
DEB_VERSION = st.from_regex(
    r"([0-9]:)?[0-9]{1,3}(\.[0-9]{1,3}){0,3}(~rc[0-9])?(-[0-9]{1,2}(\+deb12u1)?)?", fullmatch=True
)
STATES = {"ii": "install ok installed", "rc": "deinstall ok config-files", "iU": "install ok unpacked"}


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(DEB_NAME, st.tuples(DEB_VERSION, st.sampled_from(sorted(STATES))), min_size=1, max_size=5))
def test_dpkg_in_all_three_forms(packages: dict[str, tuple[str, str]]) -> None:
    listed = "||/ Name Version Architecture Description\n+++-====-====-====-====\n"
    stanzas = shown = ""
    for name, (version, marks) in packages.items():
        listed += f"{marks}  {name:30} {version:20} amd64        some text\n"
        stanzas += f"Package: {name}\nStatus: {STATES[marks]}\nArchitecture: amd64\nVersion: {version}\n\n"
        shown += f"{name}\t{version}\n"
    wanted = [(name, version, "amd64", marks == "ii") for name, (version, marks) in packages.items()]
    for text in (listed, stanzas):
        assert [
            (read["name"], read["version"], read["architecture"], read["installed"])
            for read in parse("dpkg", text)["packages"]  # type: ignore[attr-defined]
        ] == wanted
    assert [(read["name"], read["version"]) for read in parse("dpkg", shown)["packages"]] == [  # type: ignore[attr-defined]
        (name, version) for name, (version, _) in packages.items()
    ]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[a-zA-Z][a-z0-9]{1,8}(-[a-z][a-z0-9]{1,6}){0,2}", fullmatch=True),
            st.from_regex(r"[0-9]{1,3}(\.[0-9a-z]{1,3}){0,3}", fullmatch=True),
            st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3})?\.el[5-9](_[0-9])?", fullmatch=True),
            st.sampled_from(["x86_64", "noarch", "i686", None]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_rpm(packages: list[tuple[str, str, str, str | None]]) -> None:
    text = "".join(f"{n}-{v}-{r}{'.' + a if a else ''}\n" for n, v, r, a in packages)
    read = parse("rpm", text)["packages"]
    assert isinstance(read, list)
    assert [(one["name"], one["version"], one["release"], one["arch"]) for one in read] == packages


@settings(max_examples=100, deadline=None)
@given(
    st.from_regex(r"(eth|em|enp|ens)[0-9]{1,2}(s[0-9])?", fullmatch=True),
    st.sampled_from([10, 100, 1000, 10000, 25000, 40000, 100000]),
    st.booleans(),
    st.sampled_from(["{d} {b} {i}: ", "{d} {b}: {i}: ", "{d}: {i} "]),
    st.sampled_from(["NIC Link is Up {s}, Flow Control: RX/TX", "NIC Link is Up, {s}, Flow control: none"]),
)
def test_link_up_of_the_kernel_log(iface: str, mbps: int, full: bool, subject: str, words: str) -> None:
    speed = f"{mbps // 1000} Gbps" if mbps > 1000 else f"{mbps} Mbps"
    duplex = "Full Duplex" if full else "Half Duplex"
    text = subject.format(d="ixgbe", b="0000:01:00.1", i=iface) + words.format(s=f"{speed} {duplex}")
    (event,) = parse("dmesg", f"[    1.000000] {text}\n")["events"]  # type: ignore[misc]
    assert (event["kind"], event["iface"], event["driver"]) == ("link up", iface, "ixgbe")
    assert (event["speed_mbps"], event["duplex"]) == (mbps, "full" if full else "half")
