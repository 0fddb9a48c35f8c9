"""Readers of lspci, modules, the kernel log, interrupts and packages: what they refuse, and what changes nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from goldens import CAPTURES, READERS, capture, plain, text_of

from niclab.commands.parse import parse
from niclab.hosts.errors import ReadError

KINDS = ("lspci", "lspci-vmm", "lspci-mm", "modinfo", "lsmod", "proc-modules", "dmesg", "interrupts", "dpkg", "rpm")
# The name of each kind in niclab parse, and a command that prints it.
COMMANDS = {
    "lspci": ("lspci", "lspci -vv -s 01:00.0"),
    "lspci-vmm": ("lspci", "sudo lspci -vmmnnk"),
    "lspci-mm": ("lspci", "lspci -mm"),
    "modinfo": ("modinfo", "/sbin/modinfo be2net"),
    "lsmod": ("lsmod", "lsmod"),
    "proc-modules": ("proc-modules", "cat /proc/modules"),
    "dmesg": ("dmesg", "dmesg | grep be2net"),
    "interrupts": ("interrupts", "cat /proc/interrupts"),
    "dpkg": ("dpkg", "dpkg -l"),
    "rpm": ("rpm", "rpm -qa"),
}

# kind of niclab parse, the whole text, what the error must say
REFUSED = [
    ("lspci", "lspci: -s: Invalid slot number\n", "at least one device"),
    ("lspci", "pcilib: Cannot open /proc/bus/pci\nlspci: Cannot find any working access method.\n", "at least one"),
    ("lspci", "-bash: lspci: command not found\n", "line 1 .*a device such as"),
    ("lspci", "-[0000:00]-+-00.0  Intel Corporation Device 3e1f\n           +-01.0-[01]----00.0\n", "a device such as"),
    ("lspci", "\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x8, ASPM L1\n\t\tLnkSta:\tSpeed 8GT/s, Width x8\n", "line 1"),
    ("lspci", "04:00.0 Ethernet contr\n", "line 1 .*'SLOT CLASS: NAME'"),
    ("lspci", "04:20.0 Ethernet controller: Intel Corporation 82574L\n", "line 1 .*a device such as"),
    ("lspci", "01:00.0 A: B\n01:00.0 A: B\n", "line 2 .*each device once, 01:00.0 began at line 1"),
    ("lspci", "01:00.0 A: B\n--\n\tKernel driver in use: igb\n", "line 3"),
    ("lspci", "01:00.0 A: B\nSettings for eth0:\n", "line 2"),
    ("lspci", "01:00.0 A: B\n\tDevSta:\tCorrErr+ Unc\n", "line 2 .*DevSta: flags such as"),
    ("lspci", "01:00.0 A: B\n\tUESta:\t\n", "line 2 .*UESta: flags such as"),
    ("lspci", "01:00.0 A: B\n\t\tLink: Supported Speed 3Gb/s, Width x4, ASPM L0s L1, Port 1\n", "a speed of"),
    ("lspci", "01:00.0 A: B\n\t\tLink: Speed 2.5Gb/s, Width x5\n", "a width of"),
    ("lspci", "01:00.0 A: B\n\t\tLnkSta:\tSpeed 5GT/s, Wid", "'Speed 8GT/s, Width x8'"),
    ("lspci", "01:00.0 A: B\n\tNUMA node: many\n", "NUMA node: a whole number"),
    ("lspci", "Slot:\t01:00.0\nClass:\t0200\nVendor:\t8086\n", "also Device"),
    ("lspci", "Slot:\t01:00.0\nClass:\t0200\nVendor:\t8086\nDevice:\t10d3\n\n" * 2, "each device once"),
    ("lspci", '01:00.0 "A" "B" "C" "" ""\n01:00.0 "A" "B" "C" "" ""\n', "each device once"),
    ("lspci", '01:00.0 "A" "B" "C"\n02:00.0 "A" "B\n', 'line 2 .*\'SLOT "Class"'),
    ("modinfo", "modinfo: ERROR: Module be2net not found.\n", "line 1 .*the tool complains"),
    ("modinfo", "modinfo: could not find module be2net\n", "the tool complains"),
    ("modinfo", "ERROR: modinfo: could not find module ena\n", "line 1 .*'name: value'"),
    ("modinfo", "modinfo ERROR Module i40e not found.\n", "a line .filename: PATH"),
    (
        "modinfo",
        "filename:       /lib/x.ko\nmodinfo: ERROR: could not get modinfo from 'x': Invalid argument\n",
        "line 2 .*the tool complains",
    ),
    ("modinfo", "filename:       /lib/a.ko\nname: a\nfilename:       /lib/b.ko\nname: b\n", "line 3 .*filename once"),
    ("modinfo", "license:        GPL\nversion:        1.0\n", "a line 'filename: PATH'"),
    ("modinfo", "filename:       /lib/a.ko\nsignature:      30:66\n\t\tGARBAGE\n", "line 3"),
    ("lsmod", "Module                  Size  Used by\n", "at least one module"),
    ("lsmod", "Module                  Size  Used by\nbe2net  big  0\n", "line 2 .*'NAME SIZE COUNT"),
    ("lsmod", "Module                  Size  Used by\nbe2net  123\n", "line 2"),
    ("lsmod", "be2net  123  0\nbe2net  123  0\n", "each module once"),
    ("lsmod", "be2net 147456 0 - Live\n", "names of modules as its users"),
    ("lsmod", "libkmod: ERROR ../libkmod/libkmod-module.c: could not open /proc/modules\n", "line 1"),
    ("proc-modules", "be2net 147456 0 - Live\n", "line 1 .*'NAME SIZE REFCOUNT"),
    ("proc-modules", "Module                  Size  Used by\nbe2net  123  0\n", "line 1"),
    ("dmesg", "dmesg: read kernel buffer failed: Operation not permitted\n", "the tool complains"),
    ("dmesg", "klogctl: Operation not permitted\n", "the tool complains"),
    ("dmesg", "hello world\nthis is no log\n", "lines of a kernel log"),
    ("dmesg", "May 26 11:37:28 dut systemd[1]: Link is down\n", "lines of a kernel log"),
    ("interrupts", "           CPU0       CPU1\n", "at least one interrupt"),
    ("interrupts", "           CPU0       CPU1\n 24:        100\n", "line 2 .*2 counts, found 1"),
    ("interrupts", "           CPU0       CPU1       CPU2\nNMI:        100   200\n", "line 2 .*3 counts"),
    (
        "interrupts",
        "           CPU0       CPU1\n 24:        -1      0  PCI-MSI-edge eth0\n",
        "line 2 .*a count for each CPU",
    ),
    ("interrupts", "           CPU0\n 24:        1  PCI-MSI-edge eth0\n 24:        1  PCI-MSI-edge eth0\n", "once"),
    ("interrupts", " 24:   1   2  PCI-MSI 1-edge eth0\n 25:   1  PCI-MSI 2-edge eth1\n", "equally many counts"),
    ("interrupts", " 24:   1   2\n", "equally many counts and a chip"),
    ("interrupts", "cat: /proc/interrupts: No such file or directory\n", "line 1"),
    ("dpkg", "dpkg: error: requested operation requires superuser privilege\n", "line 1"),
    ("dpkg", "bash: dpkg: command not found\n", "line 1"),
    ("dpkg", "E: Unable to locate package be2net\n", "line 1"),
    ("dpkg", "ii  be2net-dkms\n", "line 1"),
    ("dpkg", "Package: a\nStatus: install ok\nVersion: 1\n", "a status such as 'install ok installed'"),
    ("dpkg", "Package: a\nStatus: install ok fine-enough\nVersion: 1\n", "a status such as"),
    ("dpkg", "Package: a\nStatus: install ok installed\nVersion: abc\n", "a version that begins with a digit"),
    ("dpkg", "Package: a\nVersion: 1\nVersion: 2\n", "line 3 .*Version once per package"),
    (
        "dpkg",
        "Desired=Unknown/Install/Remove/Purge/Hold\n||/ Name Version Architecture Description\n",
        "at least one package",
    ),
    ("rpm", "error: cannot open Packages database in /var/lib/rpm\n", "the tool complains"),
    (
        "rpm",
        "error: rpmdbNextIterator: skipping h# 753: BAD\nyum-security-1.1.16-21.el5.noarch\n",
        "line 1 .*the tool complains",
    ),
    ("rpm", "openssl-1.0.0-27.el6.x86_64\nopenssh-server#$%^5.3p1$%^104.el6.x86_64\n", "line 2"),
    ("rpm", "mysql.x86_64                               5.1.73-8.el6_8                @base\n", "line 1"),
    ("rpm", "file /etc/nothing is not owned by any package\n", "line 1"),
    ("rpm", "just-some-words\n", "line 1"),
    ("rpm", "Name        : x\nVersion     : 1\nDescription :\ntext\n", "also Release"),
    ("rpm", "Name        : x\nVersion     : 1\nRelease     : 1\nbroken line\n", "line 4"),
]


@pytest.mark.parametrize(("kind", "text", "said"), REFUSED, ids=[f"{r[0]}: {r[1][:40]!r}" for r in REFUSED])
def test_what_is_no_such_output_is_refused(kind: str, text: str, said: str) -> None:
    with pytest.raises(ReadError, match=said):
        parse(kind, text)


def own_captures() -> list[Path]:
    return [path for kind in KINDS for path in sorted((CAPTURES / kind).glob("*.txt"))]


def test_every_kind_has_captures() -> None:
    assert {path.parent.name for path in own_captures()} == set(KINDS)
    assert len(own_captures()) > 75


@pytest.mark.parametrize("path", own_captures(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_line_ends_prompts_and_blank_lines_change_nothing(path: Path) -> None:
    kind, text = path.parent.name, text_of(path)
    name, command = COMMANDS[kind]
    plain_record = plain(parse(name, text))
    dressed = (
        text.replace("\n", "\r\n"),
        f"\n\n{text}\n\n",
        "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True)),
        f"[root@dut ~]# {command}\n{text}[root@dut ~]#",
        f"root@dut:~# {command}\r\n" + text.replace("\n", "\r\n") + "root@dut:~# ",
        f"# {command}\n{text}",
        f"{command}\n{text}",
    )
    already = text.lstrip().startswith(("[", "#", "$", "COMMAND", "cat ", "root@", "host:"))
    for variant in dressed[: 3 if already else None]:
        assert plain(parse(name, variant)) == plain_record, variant[:60]


@pytest.mark.parametrize("path", own_captures(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_first_line_alone_is_a_record_or_an_error_but_never_empty(path: Path) -> None:
    text = text_of(path)
    for length in range(1, min(len(text), 400), 23):
        try:
            record = READERS[path.parent.name](text[:length])
        except ReadError:
            continue
        assert plain(record), text[:length]


def test_a_link_line_cut_short_is_an_error_at_every_place() -> None:
    """A text that ends within the speed or width must not give another speed or width."""
    whole = "01:00.0 A: B\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1\n"
    start = whole.index("Port")
    for end in range(start, whole.index("x16") + 1):
        with pytest.raises(ReadError, match="line 2"):
            parse("lspci", whole[:end])


@pytest.mark.parametrize(
    ("status", "gts", "width", "degraded"),
    [
        ("Speed 8GT/s (ok), Width x8 (ok)", 8.0, 8, False),
        ("Speed 8GT/s, Width x8", 8.0, 8, False),
        ("Speed 8GT/s (ok), Width x4 (downgraded)", 8.0, 4, True),
        ("Speed 2.5GT/s (downgraded), Width x8", 2.5, 8, True),
        ("Speed 8GT/s (downgraded), Width x8 (downgraded)", 8.0, 8, False),
        ("Speed unknown, Width x0 (downgraded)", None, None, None),
        ("Speed unknown (downgraded), Width x0 (downgraded)", None, None, None),
        ("Speed 2.5GT/s, Width x0", 2.5, None, None),
        ("Speed 2.5GT/s (downgraded), Width x63 (overdriven)", 2.5, None, None),
        ("Speed unknown (overdriven), Width x4", None, 4, True),
        ("Speed 16GT/s (overdriven), Width x8 (ok)", 16.0, 8, False),
    ],
)
def test_status_is_compared_and_words_are_not_believed(
    status: str, gts: float | None, width: int | None, degraded: bool | None
) -> None:
    text = f"01:00.0 A: B\n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x8, ASPM L1\n\t\tLnkSta:\t{status}\n"
    (device,) = parse("lspci", text)["devices"]  # type: ignore[misc]
    assert (device["lnksta_gts"], device["lnksta_width"], device["degraded"]) == (gts, width, degraded)


def test_only_header_type_7f_means_a_dead_device() -> None:
    header = "01:00.0 Ethernet controller: Intel Corporation 82574L (rev 01)\n\t!!! Unknown header type "
    (dead,) = parse("lspci", header + "7f\n")["devices"]  # type: ignore[misc]
    (odd,) = parse("lspci", header + "03\n")["devices"]  # type: ignore[misc]
    assert (dead["dead"], odd["dead"]) == (True, False)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("igb: eth0 NIC Link is Up 1000 Mbps Full Duplex, Flow Control: None", ("link up", "eth0", 1000, "full")),
        ("e1000e: enp0s25 NIC Link is Up 10 Mbps Half Duplex, Flow Control: Rx/Tx", ("link up", "enp0s25", 10, "half")),
        ("r8169 0000:03:00.0 eth0: Link is Up - 2.5Gbps/Full - flow control off", ("link up", "eth0", 2500, "full")),
        ("bnx2x 0000:01:00.0: eth0: NIC Link is Down", ("link down", "eth0", None, None)),
        ("igb: eth0 NIC Link is Down, was 1000 Mbps Full Duplex", ("link down", "eth0", None, None)),
    ],
)
def test_a_link_tells_interface_speed_and_duplex(line: str, fields: tuple[object, ...]) -> None:
    (event,) = parse("dmesg", f"[    1.0] {line}\n")["events"]  # type: ignore[misc]
    assert (event["kind"], event["iface"], event["speed_mbps"], event["duplex"]) == fields


@pytest.mark.parametrize(
    "line",
    [
        "ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        "ata2: SATA link down (SStatus 0 SControl 300)",
        "lpfc 0000:06:00.0: 0:1305 Link Down Event x2 received",
        "qla2xxx [0000:04:00.0]-500a:1: LOOP UP detected (8 Gbps).",
        "IPv6: ADDRCONF(NETDEV_UP): eth0: link is not ready",
        "bonding: bond0: link status definitely up for interface eth0, 10000 Mbps full duplex.",
        "pcieport 0000:00:1c.0: AER: enabled with IRQ 24",
        "usb 1-1: new high-speed USB device number 2 using ehci-pci",
        "Bluetooth: Core ver 2.22",
        "mpt3sas version 33.100.00.00 loaded",
        "firmware: requesting amd-ucode/microcode_amd.bin",
    ],
)
def test_lines_of_other_parts_are_no_events(line: str) -> None:
    assert parse("dmesg", f"[    1.000000] {line}\n") == {"lines": 1, "events": []}


def test_a_queue_that_hangs_is_told_with_driver_and_interface() -> None:
    (event,) = parse("dmesg", "NETDEV WATCHDOG: p4p1 (bnx2x): transmit queue 3 timed out\n")["events"]  # type: ignore[misc]
    assert (event["kind"], event["iface"], event["driver"]) == ("transmit timeout", "p4p1", "bnx2x")


def test_removed_and_half_configured_packages_are_not_installed() -> None:
    heading = "||/ Name Version Architecture Description\n"
    states = {"ii": True, "hi": True, "rc": False, "iU": False, "iF": False, "iH": False, "pn": False, "iiR": False}
    for marks, installed in states.items():
        (package,) = parse("dpkg", f"{heading}{marks}  a-package  1.0-1  all  text\n")["packages"]  # type: ignore[misc]
        assert package["installed"] is installed, marks


def test_an_architecture_is_read_where_its_column_is() -> None:
    old = "||/ Name Version Description\nii  a  1.0  all sorts of things\n"
    new = "||/ Name Version Architecture Description\nii  a  1.0  all sorts of things\n"
    assert parse("dpkg", old)["packages"][0]["architecture"] is None  # type: ignore[index]
    assert parse("dpkg", new)["packages"][0]["architecture"] == "all"  # type: ignore[index]


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (
            "lspci",
            "{0:02x}:{1:02x}.0 Ethernet controller: Intel Corporation 82574L (rev 01)\n\tKernel modules: e1000e\n",
        ),
        ("dmesg", "[{0:5d}.{1:06d}] igb 0000:02:00.0 eth0: NIC Link is Up 1000 Mbps Full Duplex\n"),
        ("interrupts", "{2}: " + "12345 " * 8 + "PCI-MSI 1-edge eth0\n"),
        ("dpkg", "ii  package-{2}  1.0-1  all  text\n"),
        ("rpm", "package-{2}-1.0-1.el6.x86_64\n"),
        ("lsmod", "module_{2} 123 0\n"),
    ],
)
def test_time_grows_no_faster_than_the_text(kind: str, line: str) -> None:
    def seconds(count: int) -> float:
        text = "".join(line.format(number // 32, number % 32, number) for number in range(count))
        started = time.process_time()
        parse(kind, text)
        return time.process_time() - started

    seconds(100)
    small = min(seconds(300) for _ in range(3))
    assert min(seconds(2400) for _ in range(3)) < 24 * small + 0.05


def test_captures_of_lspci_cover_old_and_new_shapes() -> None:
    text = "".join(text_of(path) for path in (CAPTURES / "lspci").glob("*.txt"))
    wanted = ("Link: Supported Speed 2.5Gb/s", "(ok)", "(downgraded)", "Unknown header type 7f", "<access denied>")
    assert [word for word in wanted if word not in text] == []
    assert "Kernel modules: ipmi_si" in capture("lspci", "igb-old")
