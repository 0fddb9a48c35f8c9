"""Readers of FreeBSD's tools: what a terminal adds changes nothing, what is broken is refused, what is printed read."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from goldens import CAPTURES, FREEBSD, capture, captures, text_of
from hypothesis import given, settings
from hypothesis import strategies as st
from niclab.hosts.freebsd.packages import not_installed, read_pkg

from niclab.commands.parse import parse
from niclab.hosts.errors import ReadError
from niclab.hosts.freebsd.sysctl import read_sysctl

COMMANDS = {
    "dmesg-freebsd": "dmesg -a",
    "ifconfig-freebsd": "/sbin/ifconfig -a",
    "kldstat": "kldstat",
    "loader-conf": "cat /boot/loader.conf",
    "netstat-freebsd": "netstat -ibn",
    "pciconf": "sudo pciconf -lvbc",
    "pkg": "pkg info",
    "sysctl-freebsd": "sysctl dev",
    "vmstat-freebsd": "vmstat -i",
}
PROMPTS = (
    "# ",
    "$ ",
    "❯ ",
    "> ",
    "% ",
    "root@dut:~ # ",
    "[root@dut ~]# ",
    "[root@dut]~# ",
    "root@dut:/usr/home/qa # ",
    "dut# ",
)
BSD_CAPTURES = [path for path in captures() if path.parent.name in FREEBSD]


def ids(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", BSD_CAPTURES, ids=ids)
def test_what_a_terminal_adds_changes_nothing(path: Path) -> None:
    kind, text = path.parent.name, text_of(path)
    wanted = parse(kind, text)
    assert parse(kind, text.replace("\n", "\r\n")) == wanted
    assert parse(kind, "\n\n" + text + "\n \n\n") == wanted
    assert parse(kind, text.replace("\n", "  \n")) == wanted
    if "\n\t\t" not in text or kind != "sysctl-freebsd":
        assert parse(kind, text.expandtabs(8)) == without_tabs(wanted)
    for prompt in PROMPTS:
        assert parse(kind, f"{prompt}{COMMANDS[kind]}\n{text}") == wanted, prompt
        assert parse(kind, f"{text}\n{prompt.rstrip()}\n") == wanted, prompt
    assert parse(kind, f"{COMMANDS[kind]}\n{text}") == wanted


def without_tabs(record: dict[str, object]) -> object:
    return json.loads(json.dumps(record).replace("\\t", "        "))


# A console's log may hold a whole session.
@pytest.mark.parametrize("path", [path for path in BSD_CAPTURES if path.parent.name != "dmesg-freebsd"], ids=ids)
def test_a_prompt_of_another_tool_is_not_taken_away(path: Path) -> None:
    kind, text = path.parent.name, text_of(path)
    with pytest.raises(ReadError):
        parse(kind, f"{text}\nroot@dut:~ # ethtool -i eth0\ndriver: be2net\n")


COMPLAINTS = {
    "dmesg-freebsd": "dmesg: sysctl kern.msgbuf: Operation not permitted\n",
    "ifconfig-freebsd": "ifconfig: interface oce7 does not exist\n",
    "kldstat": "kldstat: can't find file oce: No such file or directory\n",
    "loader-conf": "cat: /boot/loader.conf: No such file or directory\n",
    "netstat-freebsd": "netstat: kvm not available: /dev/mem: No such file or directory\n",
    "pciconf": "pciconf: /dev/pci: Permission denied\n",
    "pkg": "pkg: No package(s) matching oce\n",
    "sysctl-freebsd": "sysctl: unknown oid 'dev.oce.7.%desc'\n",
    "vmstat-freebsd": "vmstat: sysctl: hw.intrcnt: No such file or directory\n",
}
SHELL = ("{tool}: Command not found.\n", "-sh: {tool}: not found\n", "bash: {tool}: command not found\n")


@pytest.mark.parametrize("kind", FREEBSD)
def test_a_complaint_alone_is_an_error_that_quotes_it(kind: str) -> None:
    complaint = COMPLAINTS[kind]
    with pytest.raises(ReadError) as caught:
        parse(kind, f"root@dut:~ # {COMMANDS[kind]}\n{complaint}")
    assert "cannot read " in str(caught.value) and complaint.strip() in str(caught.value)
    tool = COMMANDS[kind].split()[-2 if kind == "loader-conf" else 0].rpartition("/")[2]
    for form in SHELL:
        with pytest.raises(ReadError):
            parse(kind, form.format(tool=tool))


# kind, capture, what stands there, what is put in its place, what the error must say
DEFECTS = [
    ("ifconfig-freebsd", "lagg-loadbalance", "mtu 1500", "mtu abc", "line 1 'abc': expected mtu: a whole number"),
    ("ifconfig-freebsd", "lagg-loadbalance", "mtu 1500", "mtu -1", "line 1 '-1': expected mtu"),
    ("ifconfig-freebsd", "lagg-loadbalance", "metric 0", "metric x", "expected metric"),
    ("ifconfig-freebsd", "lagg-loadbalance", "flags=28943<", "flags=zz<", "line 1 .*bits such as"),
    ("ifconfig-freebsd", "lagg-loadbalance", "PPROMISC>", "PPROMISC", "line 1 .*bits such as"),
    ("ifconfig-freebsd", "lagg-loadbalance", "options=812098<", "options=2<", "line 2 .*no more names than 0x2 has"),
    ("ifconfig-freebsd", "lagg-loadbalance", "VLAN_HWFILTER>", "VLAN_HWFILTER", "line 2 .*bits such as"),
    ("ifconfig-freebsd", "lagg-loadbalance", "VLAN_MTU,", "VLAN_MTU,,", "names of bits between commas"),
    ("ifconfig-freebsd", "lagg-loadbalance", "94:de:80:6b:27:6c", "94:de:80:6b:27", "'ether 00:00:c9:e6:67:a8'"),
    ("ifconfig-freebsd", "lagg-loadbalance", "10.0.0.105", "10.0.0.305", "an IPv4 address"),
    ("ifconfig-freebsd", "lagg-loadbalance", "0xffffff00", "0xff00ff00", "without gaps"),
    ("ifconfig-freebsd", "lagg-loadbalance", "0xffffff00 broadcast", "broadcast", "pairs of"),
    ("ifconfig-freebsd", "lagg-loadbalance", "status: active", "status: ", "a status of active, no carrier"),
    ("ifconfig-freebsd", "lagg-loadbalance", "status: active", "status: maybe", "a status of active, no carrier"),
    ("ifconfig-freebsd", "lagg-loadbalance", "status: active", "media: Ethernet autoselect", "media once per"),
    ("ifconfig-freebsd", "lagg-loadbalance", "media: Ethernet", "media: Etherwet", "a medium of IEEE 802.11"),
    ("ifconfig-freebsd", "lagg-loadbalance", "media: Ethernet", "meida: Ethernet", "one of options, capabilities"),
    ("ifconfig-freebsd", "lagg-loadbalance", "laggport: em0 flags=4", "laggport: em0 flags=", "bits such as"),
    ("ifconfig-freebsd", "igb-unindented", "<full-duplex>)", "<full-duplex", "a medium such as 'autoselect'"),
    ("ifconfig-freebsd", "em-and-lo", "lo0: flags", "em0: flags", "line 8 .*em0 once"),
    ("ifconfig-freebsd", "em-and-lo", "prefixlen 128", "prefixlen many", "prefix length: a whole number"),
    ("ifconfig-freebsd", "em-and-lo", "scopeid 0x2", "scopeid two", "a scope id"),
    ("ifconfig-freebsd", "em-and-lo", "groups: lo", "RX packets 12  bytes 3", "a line of FreeBSD's ifconfig"),
    ("ifconfig-freebsd", "m-carp-lagg-vlan-bridge", "vlan: 7 ", "vlan: x ", "vlan: a whole number"),
    ("ifconfig-freebsd", "ix-v-sfp-blotted", "36.13 C", "hot C", "'module temperature: 34.84 C"),
    ("ifconfig-freebsd", "ix-v-sfp-blotted", "RX: 0.55 mW", "RX: much mW", "'lane 1: RX power"),
    ("ifconfig-freebsd", "ix-v-sfp-blotted", "SN: AM411QD ", "", "'vendor: NAME PN"),
    ("ifconfig-freebsd", "oce-m-broken-lines", "_HWCUM, TSO4", "!!", "bits such as"),
    ("sysctl-freebsd", "oce-max-rsp", "max_rsp_handled: 64\n", "max_rsp_handled\n", "'name: value' such as"),
    ("sysctl-freebsd", "oce-max-rsp", "dev.oce.1.max_rsp_handled: 64", "dev.oce.1.max_rsp", "'name: value' such as"),
    ("sysctl-freebsd", "ix-x550", "dev.ix.1.%desc: Intel(R) X550-T2\n", "dev.ix.1.%desc", "'name: value' such as"),
    ("sysctl-freebsd", "oce-max-rsp", "oce.1.max_rsp_handled: 64", "oce.0.max_rsp_handled: 65", "once, or always with"),
    ("sysctl-freebsd", "ix-x550", ": Intel(R) X550-T2", ": device description", "values; this is what -d"),
    ("sysctl-freebsd", "ix-x550", ": Intel(R) X550-T2", ": string", "values; this is what -d or -t prints"),
    ("pciconf", "igc-release13", "vendor=0x8086 device", "device", "the words class, card"),
    ("pciconf", "igc-release13", "vendor=0x8086 device", "vendor=0x80 device", "words such as class=0x020000"),
    ("pciconf", "igc-release13", "vendor=0x8086 device", "vendor=8086 device", "words such as class=0x020000"),
    ("pciconf", "igc-release13", "@pci0:2:0:0:", "@pci0:2:32:0:", "bus up to 255"),
    ("pciconf", "igc-release13", "link x1(x1) speed", "link x1(x3) speed", "'3': expected a width of"),
    ("pciconf", "igc-release13", "link x1(x1) speed", "link x1(x speed", "'link x4.x8. speed 5.0.8.0.'"),
    ("pciconf", "igc-release13", "speed 5.0(5.0)", "speed 7.0(5.0)", "'7.0': expected a speed of"),
    ("pciconf", "igc-release13", "speed 5.0(5.0)", "speed 5.0(", "'link x4.x8. speed 5.0.8.0.'"),
    ("pciconf", "igc-release13", "1 corrected", "one corrected", "'AER 1 0 fatal 0 non-fatal 0 corrected'"),
    ("pciconf", "igc-release13", "646266ffff253dc7", "646266ffff253d", "'Serial 1 ' and 16"),
    ("pciconf", "igc-release13", "MSI-X supports 5", "MSI-X supports few", "'MSI-X supports N messages'"),
    ("pciconf", "igc-release13", "    device     = 'Ethernet Controller I226-V'", "    garbage", "a line of pciconf"),
    ("pciconf", "igc-release13", "'Intel Corporation'", "'Intel Corp", "vendor = 'NAME'"),
    ("pciconf", "ix-82599-release10", "size 524288,", "size big,", "'bar .10. = type Memory"),
    ("pciconf", "ixl-lv-release14", "ixl1@pci0:1:0:1", "ixl1@pci0:1:0:0", "line 7 .*0000:01:00.0 once"),
    ("kldstat", "release13", "5d5958", "5d59xx", "'ID REFS ADDRESS SIZE NAME'"),
    ("kldstat", "release13", " 3    1", " 2    1", "id 2 once"),
    ("kldstat", "release13", " 2    1 0xffffffff81f35000", " 2   -1 0xffffffff81f35000", "the reference count"),
    ("kldstat", "release13", "Size Name", "Size Nmae", "'Id Refs Address Size Name' and at least one row"),
    ("pkg", "pkg-info-oce", "oce-4.2.313.0  ", "oce  ", "'NAME-VERSION COMMENT'"),
    ("pkg", "pkg-info-oce", "oce driver for freebsd", "=", "a comment after the version"),
    ("pkg", "info-plex", "Version        : 1.17.0.1841\n", "", "the fields Name and Version"),
    ("pkg", "info-plex", "191MiB", "191 pounds", "a size such as 9.14MiB"),
    ("pkg", "info-plex", "Origin         : ", "Version        : ", "Version once per package"),
    ("vmstat-freebsd", "igb-hp", "749022 ", "-3 ", "'-3': expected the total: a whole number"),
    ("vmstat-freebsd", "igb-hp", "    583", "", "the total: a whole number|'interrupt total rate'"),
    (
        "vmstat-freebsd",
        "igb-hp",
        "Total  ",
        "Total                           1491512       1161\nTotal  ",
        "interrupt total",
    ),
    ("netstat-freebsd", "ibn-re", "227328955324", "227G", "'227G': expected rx_bytes: a whole number"),
    ("netstat-freebsd", "ibn-re", "   9078351364     0", "", "expected"),
    ("netstat-freebsd", "ibn-re", "Ipkts Ierrs", "Ipkts Ierrz", "Name Mtu Network Address and some of"),
    ("netstat-freebsd", "ibn-re", "<Link#1>", "<Link#", "'<Link#1>', or a network"),
    ("netstat-freebsd", "ibn-re", "re0    1500", "re0     big", "mtu: a whole number"),
    ("netstat-freebsd", "interval-total", "154241     0    9256550", "154k     0       9256k", "'154k'"),
    ("netstat-freebsd", "interval-total", "9244982     0", "9244982", "8 counts|7 counts"),
    ("netstat-freebsd", "interval-release8", "(oce0)", "(oce1)", "one interface, oce1"),
    ("loader-conf", "oce", 'oce_load="YES"', 'oce_load="YES', "'name=\"value\"' or a comment"),
    ("loader-conf", "oce", 'oce_load="YES"', "oce_load", "'name=\"value\"' or a comment"),
    ("loader-conf", "oce", 'oce_load="YES"', 'oce load="YES"', "'name=\"value\"' or a comment"),
]


@pytest.mark.parametrize(
    ("kind", "name", "old", "new", "said"), DEFECTS, ids=[f"{d[0]}: {d[3][:40]!r}" for d in DEFECTS]
)
def test_defect_is_named(kind: str, name: str, old: str, new: str, said: str) -> None:
    text = capture(kind, name)
    assert old in text
    with pytest.raises(ReadError, match=said):
        parse(kind, text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("pciconf", "usage: pciconf -l [-bcv]\n       pciconf -a selector\n", "a device such as"),
        ("ifconfig-freebsd", "no such device\n", "an interface such as"),
        ("ifconfig-freebsd", "eth0      Link encap:Ethernet  HWaddr 00:1b:21:d4:3f:28\n", "an interface such as"),
        (
            "ifconfig-freebsd",
            "eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500\n        inet 10.0.0.1  netmask 255.255.255.0\n"
            "        ether 00:1b:21:d4:3f:28  txqueuelen 1000  (Ethernet)\n",
            "bit 15 set",
        ),
        ("sysctl-freebsd", "net.ipv4.tcp_window_scaling = 1\n", "'name: value' such as"),
        ("sysctl-freebsd", "sysctl: unknown oid 'x'\nsysctl: unknown oid 'y'\n", "unknown oid 'x'"),
        ("netstat-freebsd", "Kernel Interface table\nIface      MTU    RX-OK RX-ERR\n", "'Name Mtu Network"),
        ("netstat-freebsd", "Routing tables\n\nInternet:\nDestination        Gateway\n", "'Name Mtu Network"),
        ("netstat-freebsd", "tcp:\n\t123 packets sent\n", "'Name Mtu Network"),
        (
            "vmstat-freebsd",
            " procs      memory      page\n r b w     avm    fre\n 0 0 0  1234M  567M\n",
            "interrupt total rate",
        ),
        ("kldstat", "Id Refs Address            Size     Name\n", "at least one row"),
        ("pkg", "pkg_info: can't find package 'oce' installed or in a file!\n", "none of this name is installed"),
        ("pkg", "lsof-4.90.b,8                      =\n", "pkg version is another tool"),
        ("pkg", "The package management tool is not yet installed on your system.\n", "'NAME-VERSION COMMENT'"),
        ("dmesg-freebsd", "[    0.000000] Linux version 6.1.0-18-amd64\n[    1.0] e1000e0: up\n", "FreeBSD kernel"),
        ("dmesg-freebsd", "Hello world\nNo kernel here\n", "FreeBSD kernel"),
        ("loader-conf", "#!/bin/sh\nif true; then\n", "'name=\"value\"'"),
    ],
)
def test_texts_of_other_tools_are_refused(kind: str, text: str, said: str) -> None:
    with pytest.raises(ReadError, match=said):
        parse(kind, text)


@pytest.mark.parametrize("command", ["sysctl -d dev.oce.0", "sysctl -ad", "sysctl -t hw.ncpu", "sysctl -aN"])
def test_sysctl_forms_without_values_are_refused(command: str) -> None:
    with pytest.raises(ReadError, match=r"cannot read sysctl: command .*expected values"):
        read_sysctl("hw.ncpu: Number of active CPUs\n", command)


def test_sysctl_values_alone_get_their_names_from_the_command() -> None:
    assert read_sysctl("4.4.249.3\n", "sysctl -n dev.oce.0.firmware_version").values == {
        "dev.oce.0.firmware_version": "4.4.249.3"
    }
    text = "root@dut:~ # sysctl -n hw.ncpu kern.ostype\n8\nFreeBSD\n"
    assert read_sysctl(text).values == {"hw.ncpu": 8, "kern.ostype": "FreeBSD"}
    with pytest.raises(ReadError, match=r"one value of each of 2 names"):
        read_sysctl("8\n", "sysctl -n hw.ncpu kern.ostype")
    with pytest.raises(ReadError, match=r"'name: value'"):
        read_sysctl("8\n")


def test_kernel_log_among_other_values_belongs_to_none_of_them() -> None:
    log = "oce0: <Emulex CNA NIC function:0> mem 0xfe778000-0xfe77bfff irq 16 at device 0.0 on pci1"
    record = read_sysctl(f"kern.ostype: FreeBSD\n{log}\nkern.msgbuf: Copyright\n{log}\n")
    assert record.values == {"kern.ostype": "FreeBSD", "kern.msgbuf": f"Copyright\n{log}"}
    assert record.unnamed == (log,)


def test_a_package_that_is_not_installed_can_be_told_from_an_unreadable_text() -> None:
    for text, wanted in (("pkg: No package(s) matching oce\n", True), ("Segmentation fault\n", False)):
        with pytest.raises(ReadError) as caught:
            read_pkg(text)
        assert not_installed(caught.value) is wanted


def test_pkg_query_is_read_by_its_format() -> None:
    record = parse("pkg", "oce|4.2.313.0|oce driver\npkg|1.20.9|Package manager\n", "pkg query '%n|%v|%c'")
    packages: Any = record["packages"]
    assert [(one["name"], one["version"], one["comment"]) for one in packages] == [
        ("oce", "4.2.313.0", "oce driver"),
        ("pkg", "1.20.9", "Package manager"),
    ]
    record = parse("pkg", "bash 5.2.15 FreeBSD:13:amd64\n", 'pkg query -x "%n %v %q" ba')
    assert (record["name"], record["version"], record["arch"]) == ("bash", "5.2.15", "FreeBSD:13:amd64")
    record = parse("pkg", "bash-completion-2.11,2\n", "pkg query %n-%v")
    assert (record["name"], record["version"]) == ("bash-completion", "2.11,2")
    record = parse("pkg", "4.2.313.0\n", "pkg query %v oce")
    assert (record["name"], record["version"]) == ("oce", "4.2.313.0")
    for command in ("pkg query %n", "pkg query %v oce bash", "pkg query '%n %v %d'", "pkg query '%n %v %n'"):
        with pytest.raises(ReadError, match=r"cannot read pkg: command"):
            parse("pkg", "oce 1.0\n", command)


def test_an_interval_of_rounded_figures_is_refused() -> None:
    text = """            input        (Total)           output
   packets  errs idrops      bytes    packets  errs      bytes colls
      387k  983k     0        22M       387k     0        15M     0
"""
    with pytest.raises(ReadError, match=r"'387k': expected rx_packets: a whole number"):
        parse("netstat-freebsd", text)


@pytest.mark.parametrize(
    ("media", "speed", "duplex", "active"),
    [
        ("Ethernet autoselect (10Gbase-SR <full-duplex,rxpause,txpause>)", 10000, "full", "10Gbase-SR"),
        ("Ethernet 10Gbase-Twinax <full-duplex,rxpause,txpause>", 10000, "full", None),
        ("Ethernet autoselect (100baseTX <half-duplex>)", 100, "half", "100baseTX"),
        ("Ethernet autoselect (10baseT/UTP <half-duplex>)", 10, "half", "10baseT/UTP"),
        ("Ethernet autoselect (2500Base-T <full-duplex>)", 2500, "full", "2500Base-T"),
        ("Ethernet autoselect <flowcontrol> (1000baseT <full-duplex,flowcontrol,master>)", 1000, "full", "1000baseT"),
        ("Ethernet autoselect (autoselect <full-duplex>)", None, "full", "autoselect"),
        ("Ethernet autoselect (Unknown <rxpause,txpause>)", None, None, "Unknown"),
        ("Ethernet autoselect <full-duplex> (none)", None, None, "none"),
        ("Ethernet <unknown subtype> <full-duplex>", None, "full", None),
        ("Ethernet 100GBASE-SR4 <full-duplex>", 100000, "full", None),
        ("Ethernet none", None, None, None),
        ("<unknown type>", None, None, None),
    ],
)
def test_media_words(media: str, speed: int | None, duplex: str | None, active: str | None) -> None:
    text = f"oce0: flags=8843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST> metric 0 mtu 1500\n\tmedia: {media}\n"
    record: Any = parse("ifconfig-freebsd", text + "\tstatus: active\n")
    assert (record["media"], record["speed_mbps"], record["duplex"]) == (media, speed, duplex)
    assert (record["media_active"] or {}).get("subtype") == active
    down: Any = parse("ifconfig-freebsd", text + "\tstatus: no carrier\n")
    assert (down["link"], down["speed_mbps"], down["duplex"]) == (False, None, None)


@pytest.mark.parametrize(
    ("line", "kind", "iface"),
    [
        ("oce0: link state changed to UP", "link up", "oce0"),
        ("oce0: link state changed to DOWN", "link down", "oce0"),
        ("em0: Link is up 1000 Mbps Full Duplex", "link up", "em0"),
        ("ixl0: Link is up, 10 Gbps Full Duplex, Requested FEC: None", "link up", "ixl0"),
        ("em0.100: link state changed to DOWN", "link down", "em0.100"),
        ("login: panic: page fault", "panic", None),
        ("\x00\x00panic: page fault\x00", "panic", None),
        ("Fatal trap 12: page fault while in kernel mode", "trap", None),
        ("KDB: enter: Break to debugger", "debugger", None),
        ("oce0: watchdog timeout -- resetting", "transmit timeout", "oce0"),
        ("ix1: Watchdog timeout -- resetting", "transmit timeout", "ix1"),
        ("ix0: Warning queue 3 appears to be hung!", "transmit timeout", "ix0"),
        ("t5nex0: failed to load firmware image t5fw_cfg", "firmware load failed", "t5nex0"),
        ("device_attach: oce0 attach returned 6", "attach failed", "oce0"),
        ("oce0: detached", "detached", "oce0"),
        ("KLD oce.ko: depends on kernel - not available or version mismatch", "module load failed", None),
        ("linker_load_file: /boot/modules/oce.ko - unsupported file type", "module load failed", None),
        ("link_elf_obj: symbol if_getflags undefined", "module load failed", None),
        ("igc4: Interface stopped DISTRIBUTING, possible flapping", "LACP flapping", "igc4"),
        ("MCA: Bank 5, Status 0xbe00000000800400", "machine check", None),
    ],
)
def test_notable_kernel_lines(line: str, kind: str, iface: str | None) -> None:
    for before in (
        "",
        "May 30 09:00:05 dut kernel: ",
        "<2>",
        "[17.250] ",
        "2023-05-30T09:02:00.123456+00:00 dut kernel: ",
    ):
        record: Any = parse("dmesg-freebsd", f"{before}{line}\n")
        (event,) = record["events"]
        assert (event["kind"], event["iface"]) == (kind, iface), before
        assert event["seconds"] == (17.25 if before.startswith("[") else None)


@pytest.mark.parametrize(
    "line",
    [
        "savecore: reboot after panic: page fault",
        "oce0: Ethernet address: 00:00:c9:e6:67:a8",
        "acpi0: Power Button (fixed)",
        "em0: Using MSI-X interrupts with 3 vectors",
        "watchdogd0: started",
        "hwpstate0: link error threshold set",
    ],
)
def test_everyday_kernel_lines_are_no_events(line: str) -> None:
    assert parse("dmesg-freebsd", f"pci0: <ACPI PCI bus> on pcib0\n{line}\n")["events"] == []


names = st.from_regex(r"[a-z]{2,6}[0-9]{1,2}", fullmatch=True)
macs = st.lists(st.integers(0, 255), min_size=6, max_size=6).map(lambda m: ":".join(f"{b:02x}" for b in m))
BITS = [
    "RXCSUM",
    "TXCSUM",
    "NETCONS",
    "VLAN_MTU",
    "VLAN_HWTAGGING",
    "JUMBO_MTU",
    "POLLING",
    "VLAN_HWCSUM",
    "TSO4",
    "TSO6",
]


@settings(max_examples=60, deadline=None)
@given(
    name=names,
    mtu=st.integers(72, 65535),
    options=st.sets(st.sampled_from(range(10))),
    capabilities=st.none() | st.sets(st.sampled_from(range(10))),
    ether=macs,
    status=st.sampled_from(["active", "no carrier"]),
    length=st.integers(0, 32),
)
def test_a_printed_interface_is_read_back(
    name: str,
    mtu: int,
    options: set[int],
    capabilities: set[int] | None,
    ether: str,
    status: str,
    length: int,
) -> None:
    def bits(chosen: set[int]) -> str:
        number = sum(1 << bit for bit in chosen)
        return f"{number:x}" + (f"<{','.join(BITS[bit] for bit in sorted(chosen))}>" if chosen else "")

    mask = (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF
    text = f"{name}: flags=8802<BROADCAST,SIMPLEX,MULTICAST> metric 0 mtu {mtu}\n\toptions={bits(options)}\n"
    text += "" if capabilities is None else f"\tcapabilities={bits(capabilities)}\n"
    text += f"\tether {ether}\n\tinet 10.1.1.1 netmask 0x{mask:08x} broadcast 10.1.1.255\n\tstatus: {status}\n"
    record: Any = parse("ifconfig-freebsd", text)
    assert (record["name"], record["mtu"], record["ether"], record["status"]) == (name, mtu, ether, status)
    assert record["options"] == {
        "hex": f"{sum(1 << bit for bit in options):x}",
        "names": [BITS[bit] for bit in sorted(options)],
    }
    assert (record["capabilities"] is None) == (capabilities is None)
    assert record["inet"][0]["prefix_length"] == length


@settings(max_examples=60, deadline=None)
@given(
    address=st.tuples(st.integers(0, 65535), st.integers(0, 255), st.integers(0, 31), st.integers(0, 7)),
    ids=st.tuples(*[st.integers(0, 65534)] * 4),
    widths=st.tuples(st.sampled_from([0, 1, 2, 4, 8, 16]), st.sampled_from([1, 2, 4, 8, 16])),
    speeds=st.tuples(st.sampled_from([2.5, 5.0, 8.0, 16.0]), st.sampled_from([2.5, 5.0, 8.0, 16.0])),
    old=st.booleans(),
    driver=st.sampled_from([None, "oce", "t5nex", "mlx5_core"]),
)
def test_a_printed_device_is_read_back(
    address: tuple[int, int, int, int],
    ids: tuple[int, int, int, int],
    widths: tuple[int, int],
    speeds: tuple[float, float],
    old: bool,
    driver: str | None,
) -> None:
    vendor, device, subvendor, subdevice = ids
    words = f"class=0x020000 card=0x{subdevice:04x}{subvendor:04x} chip=0x{device:04x}{vendor:04x} rev=0x01 hdr=0x00"
    if not old:
        words = f"class=0x020000 rev=0x01 hdr=0x00 vendor=0x{vendor:04x} device=0x{device:04x}"
        words += f" subvendor=0x{subvendor:04x} subdevice=0x{subdevice:04x}"
    selector = f"{driver or 'none'}0@pci{':'.join(str(part) for part in address)}"
    now = f"{speeds[0]:.1f}" if widths[0] else "0.0"
    text = f"{selector}:\t{words}\n    cap 10[a0] = PCI-Express 2 endpoint max data 256(512) FLR"
    text += f" link x{widths[0]}(x{widths[1]})\n"
    text += f"                 speed {now}({speeds[1]:.1f}) ASPM disabled(L0s/L1)\n"
    (record,) = parse("pciconf", text)["devices"]  # type: ignore[misc]
    assert record["slot"] == f"{address[0]:04x}:{address[1]:02x}:{address[2]:02x}.{address[3]}"
    read = tuple(record[key] for key in ("vendor_id", "device_id", "subvendor", "subdevice"))
    assert read == tuple(f"{number:04x}" for number in ids)
    assert (record["driver"], record["lnkcap_width"], record["lnkcap_gts"]) == (driver, widths[1], speeds[1])
    assert record["lnksta_width"] == (widths[0] or None)
    narrow, slow = widths[0] < widths[1], speeds[0] < speeds[1]
    assert record["degraded"] == (None if not widths[0] else narrow or slow)


words_of_a_value = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]), min_size=1, max_size=40)


@settings(max_examples=100, deadline=None)
@given(
    values=st.dictionaries(
        st.from_regex(r"dev\.[a-z]{2,5}\.[0-9]\.[a-z_]{1,12}", fullmatch=True),
        st.integers(-(2**63), 2**64 - 1)
        | words_of_a_value.filter(lambda text: text == text.strip() and " -> " not in text and "&" not in text),
        min_size=1,
        max_size=8,
    ),
    separator=st.sampled_from([": ", "="]),
)
def test_printed_sysctls_are_read_back(values: dict[str, int | str], separator: str) -> None:
    text = "".join(f"{name}{separator}{value}\n" for name, value in values.items())
    read = parse("sysctl-freebsd", text)["values"]
    assert isinstance(read, dict)
    assert {name: str(value) for name, value in read.items()} == {name: str(value) for name, value in values.items()}
    assert all(isinstance(read[name], int) for name, value in values.items() if isinstance(value, int))


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 10**6)), min_size=1, max_size=20))
def test_printed_interrupts_are_read_back(rows: list[tuple[int, int]]) -> None:
    text = "interrupt                          total       rate\n"
    text += "".join(
        f"irq{256 + at}: ix0:que {at:<11} {total:>12} {rate:>10}\n" for at, (total, rate) in enumerate(rows)
    )
    read: Any = parse("vmstat-freebsd", text)["interrupts"]
    assert [(row["total"], row["rate"]) for row in read] == rows
    assert [(row["source"], row["device"]) for row in read] == [
        (f"irq{256 + at}", f"ix0:que {at}") for at in range(len(rows))
    ]


@settings(max_examples=60, deadline=None)
@given(values=st.dictionaries(st.from_regex(r"[a-z]{1,8}(_load)?", fullmatch=True), words_of_a_value, max_size=6))
def test_a_printed_loader_conf_is_read_back(values: dict[str, str]) -> None:
    quoted = {name: value.replace("\\", "\\\\").replace('"', '\\"') for name, value in values.items()}
    text = "# tunables\n" + "".join(f'{name}="{value}"  # why\n' for name, value in quoted.items())
    assert parse("loader-conf", text)["values"] == values


@pytest.mark.parametrize("kind", FREEBSD)
def test_a_large_text_is_read_in_linear_time(kind: str) -> None:
    """A capture hundreds of times over, 0.2 s where measured; time in the square of the size would be minutes."""
    text = text_of(sorted((CAPTURES / kind).glob("*.txt"))[0])
    started = time.process_time()
    try:
        parse(kind, "".join(text.replace("0: flags=", f"{number}: flags=") for number in range(400)))
    except ReadError as error:
        assert len(str(error)) < 1000
    assert time.process_time() - started < 2
