"""The tools of a FreeBSD server, run here over a root of files: what they print is read by the lab's readers.

The shapes are those of the real captures in ``tests/hosts/captures``, which the same readers read.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from guest_root import GUEST, Root

from niclab.hosts.counts.netstat import read_netstat
from niclab.hosts.drivers.kldstat import read_kldstat
from niclab.hosts.kernel.freebsd_lines import kernel_lines, lines_after, link_changes
from niclab.hosts.links.ifconfig import read_ifconfig
from niclab.hosts.links.ifconfig_records import BsdInterface
from niclab.hosts.pci.newbus import read_path
from niclab.hosts.pci.pciconf import read_pciconf
from niclab.hosts.settings.sysctl import read_sysctl
from niclab.hosts.system.freebsd_texts import read_cpu_times, read_release

ALL = {
    *("RXCSUM", "TXCSUM", "VLAN_MTU", "VLAN_HWTAGGING", "JUMBO_MTU", "VLAN_HWCSUM", "TSO4", "TSO6", "LRO"),
    *("VLAN_HWFILTER", "VLAN_HWTSO"),
}


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path)


def shown(root: Root, *words: str) -> BsdInterface:
    said = root.run("ifconfig", *words)
    assert said.status == 0, said
    (interface,) = read_ifconfig(said.out).interfaces
    return interface


def options(root: Root) -> set[str]:
    found = shown(root, "oce0").options
    assert found is not None and found.names is not None
    return set(found.names)


class TestIfconfig:
    def test_an_interface_is_shown_as_in_the_document(self, root: Root) -> None:
        oce = shown(root, "-m", "oce0")
        assert (
            root.run("ifconfig", "-m", "oce0").out.splitlines()[1].startswith("\toptions=507bb<RXCSUM,TXCSUM,VLAN_MTU")
        )
        assert oce.capabilities == oce.options and set(oce.options.names) == ALL
        assert (oce.up, oce.mtu, oce.ether, oce.link, oce.speed_mbps) == (True, 1500, "00:00:c9:a3:00:00", True, 10000)
        assert (oce.inet[0].address, oce.inet[0].prefix_length) == ("198.18.10.1", 24)
        assert oce.inet6[0].zone == "oce0"
        assert oce.supported_media == ("autoselect",)

    def test_one_that_is_down_has_no_carrier_and_no_speed(self, root: Root) -> None:
        root.write("sys/class/net/oce0/flags", "0x1002\n")
        oce = shown(root, "oce0")
        assert (oce.up, oce.link, oce.speed_mbps) == (False, False, None)
        assert root.run("ifconfig", "oce0").out.startswith("oce0: flags=8002<BROADCAST,MULTICAST> metric 0 mtu 1500\n")

    def test_names_are_listed_in_the_order_of_their_making(self, root: Root) -> None:
        assert root.run("ifconfig", "-l").out == "oce0 oce1 lo0\n"

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("oce9",), "ifconfig: interface oce9 does not exist"),
            (("oce0", "lso"), "ifconfig: lso: bad value"),
            (("oce0", "-lso"), "ifconfig: -lso: bad value"),
            (("oce0", "toe"), "ifconfig: toe: Invalid argument"),
            (("oce0", "mtu", "99999"), "ifconfig: ioctl (set mtu): Invalid argument"),
            (("oce0", "mtu"), "ifconfig: 'mtu' requires 1 argument"),
            (
                ("oce0", "inet", "198.18.10.9", "-alias"),
                "ifconfig: ioctl (SIOCDIFADDR): Can't assign requested address",
            ),
            (("bond0", "create"), "ifconfig: SIOCIFCREATE2: Invalid argument"),
            (("oce0", "laggport", "oce1"), "ifconfig: SIOCSLAGGPORT: Invalid argument"),
        ],
    )
    def test_what_it_does_not_know_it_refuses(self, root: Root, words: tuple[str, ...], message: str) -> None:
        said = root.run("ifconfig", *words)
        assert (said.status, said.out, said.err.strip()) == (1, "", message)


class TestOptions:
    def test_checksums_take_segmentation_along_and_do_not_bring_it_back(self, root: Root) -> None:
        assert root.run("ifconfig", "oce0", "-txcsum").status == 0
        assert options(root) == ALL - {"TXCSUM", "TSO4", "TSO6"}
        assert root.run("ifconfig", "oce0", "txcsum").status == 0
        assert options(root) == ALL - {"TSO4", "TSO6"}
        assert root.run("ifconfig", "oce0", "tso4", "tso6").status == 0
        assert options(root) == ALL

    def test_segmentation_without_checksums_is_refused(self, root: Root) -> None:
        root.run("ifconfig", "oce0", "-txcsum")
        said = root.run("ifconfig", "oce0", "tso4")
        assert (said.status, said.err) == (1, "ifconfig: tso4: Resource temporarily unavailable\n")
        assert "TSO4" not in options(root)

    @pytest.mark.parametrize("word", ["tso", "tso4"])
    def test_tso_and_tso4_act_on_tso4_only(self, root: Root, word: str) -> None:
        root.run("ifconfig", "oce0", f"-{word}")
        assert options(root) == ALL - {"TSO4"}

    @pytest.mark.parametrize("word", ["-tso6", "-vlanhwcsum", "-vlanhwtso", "-vlanmtu"])
    def test_what_cannot_be_changed_stays_and_nobody_complains(self, root: Root, word: str) -> None:
        assert root.run("ifconfig", "oce0", word).status == 0
        assert options(root) == ALL

    @pytest.mark.parametrize(
        ("word", "label"), [("vlanhwfilter", "VLAN_HWFILTER"), ("lro", "LRO"), ("rxcsum", "RXCSUM")]
    )
    def test_the_rest_goes_alone(self, root: Root, word: str, label: str) -> None:
        root.run("ifconfig", "oce0", f"-{word}")
        assert options(root) == ALL - {label}
        root.run("ifconfig", "oce0", word)
        assert options(root) == ALL

    def test_what_the_card_does_wrong_is_seen(self, root: Root) -> None:
        root.write("below/stuck-tx-tcp-segmentation", "")
        root.run("ifconfig", "oce0", "-tso4")
        assert "TSO4" in options(root)
        root.write("below/stuck-tso", "")
        root.run("ifconfig", "oce0", "-txcsum")
        assert {"TSO4", "TSO6"} <= options(root) and "TXCSUM" not in options(root)

    def test_a_bit_whose_parts_the_kernel_below_cannot_change_is_kept_here(self, root: Root) -> None:
        """As it is of acenic, whose checksums are on for ever; ethtool does not mark the line of both as fixed."""
        below = (root.path / "below/features").read_text()
        parts = "\ttx-checksum-ipv4: on [fixed]\n\ttx-checksum-ipv6: on [fixed]\n"
        root.write("below/features", below.replace("\ttx-checksum-ipv4: on\n", parts))
        root.write("below/stuck-tx-checksumming", "")
        root.run("ifconfig", "oce0", "-txcsum")
        assert "TXCSUM" not in options(root)
        root.run("ifconfig", "oce0", "txcsum")
        assert "TXCSUM" in options(root)
        root.write("below/features", below.replace("\ttx-checksum-ipv4: on\n", parts.replace(" [fixed]", "", 1)))
        root.run("ifconfig", "oce0", "-txcsum")
        assert "TXCSUM" in options(root), "a part that can be changed was not"

    def test_a_bit_that_only_the_system_below_loses_is_held(self, tmp_path: Path) -> None:
        """The sheet of another card says that checksums take TSO4 along only; the kernel below takes both."""
        root = Root(tmp_path)
        text = (root.path / "etc/bsd/facts.py").read_text()
        root.write("etc/bsd/facts.py", text.replace("['tso4', 'tso6']", "['tso4']"))
        root.run("ifconfig", "oce0", "-txcsum")
        assert options(root) == ALL - {"TXCSUM", "TSO4"}
        assert "\ttx-tcp6-segmentation: off" in (root.path / "below/features").read_text()


class TestOtherTools:
    def test_counters_are_those_of_the_kernel_below(self, root: Root) -> None:
        said = root.run("netstat", "-I", "oce0", "-bdnW").out
        (own,) = read_netstat(said).rows
        counted = own.statistics
        assert (own.name, own.index) == ("oce0", 3)
        assert (counted.rx_packets, counted.rx_dropped, counted.tx_bytes, counted.tx_dropped) == (10, 12 + 4, 16, 5)
        assert " 198.18.10.0/24 " in said

    def test_the_card_is_described_by_sysctl_as_in_the_document(self, root: Root) -> None:
        said = root.run("sysctl", "dev.oce")
        first, second = read_sysctl(said.out).devices()
        assert (first.name, first.version, first.firmware) == ("oce0", "///4.2.116.0///", "4.4.249.3")
        assert second.name == "oce1" and "dev.oce.0.%parent: pci129\n" in said.out
        assert "dev.oce.0.max_rsp_handled: 64\n" in said.out and "dev.oce.0.stats.rx.total_pkts: 10\n" in said.out

    def test_what_the_driver_below_counts_is_added_up_over_its_queues(self, root: Root) -> None:
        assert root.run("sysctl", "-n", "dev.oce.0.stats.tx.total_tx_pkts").out == "7\n"
        assert "dev.oce.1.stats.tx.total_tx_pkts: 7\n" in root.run("sysctl", "dev.oce").out

    @pytest.mark.parametrize(
        ("words", "status", "out", "err"),
        [
            (("-n", "dev.oce.0.%parent"), 0, "pci129\n", ""),
            (("dev.oce.0.max_rsp_handled=512",), 0, "dev.oce.0.max_rsp_handled: 64 -> 512\n", ""),
            (("dev.oce.7",), 1, "", "sysctl: unknown oid 'dev.oce.7'\n"),
            (("kern.nothing",), 1, "", "sysctl: unknown oid 'kern.nothing'\n"),
            (("kern.ostype=Linux",), 1, "", "sysctl: oid 'kern.ostype' is read only\n"),
            (("net.inet.ip.forwarding=x",), 1, "", "sysctl: invalid integer 'x'\n"),
        ],
    )
    def test_sysctl_answers(self, root: Root, words: tuple[str, ...], status: int, out: str, err: str) -> None:
        said = root.run("sysctl", *words)
        assert (said.status, said.out, said.err) == (status, out, err)

    def test_what_is_set_lasts(self, root: Root) -> None:
        root.run("sysctl", "dev.oce.0.max_rsp_handled=512")
        assert root.run("sysctl", "-n", "dev.oce.0.max_rsp_handled").out == "512\n"
        root.write("run/bsd/kenv", "hw.oce.max_rsp_handled\t128\n")
        assert root.run("sysctl", "-n", "dev.oce.1.max_rsp_handled").out == "128\n"

    def test_times_are_read(self, root: Root) -> None:
        times = read_cpu_times(root.run("sysctl", "-n", "kern.cp_times").out).cpus[0]
        assert (times.user, times.softirq, times.idle) == (128, 13, 1030)
        assert root.run("sysctl", "-n", "kern.boottime").out.startswith("{ sec = ")
        assert read_release(root.run("uname", "-sr").out).version_id == "9.1"

    def test_the_functions_and_their_links_are_shown(self, root: Root) -> None:
        found = {one.slot: one for one in read_pciconf(root.run("pciconf", "-lc").out).devices}
        card, port = found["0000:81:00.0"], found["0000:80:02.0"]
        assert (card.driver, card.unit, card.vendor_id, card.subdevice) == ("oce", 0, "19a2", "e602")
        assert (card.lnksta_width, card.lnkcap_width, card.lnksta_gts) == (4, 8, 5.0)
        assert (port.driver, port.port_type) == ("pcib", "root port")

    def test_a_register_is_shown(self, root: Root) -> None:
        """In the words of readit() of pciconf.c: the vendor, as two octets and as four."""
        assert root.run("pciconf", "-r", "-h", "pci0:129:0:0", "0x0").out == "19a2 \n"
        assert root.run("pciconf", "-r", "pci0:129:0:0", "0").out == "071019a2 \n"
        assert "not supported" in root.run("pciconf", "-r", "-h", "pci0:9:0:0", "0x0").err

    def test_the_way_up_to_the_host_bridge_is_told(self, root: Root) -> None:
        at, steps = "oce1", []
        for _ in range(5):
            driver, unit = at.rstrip("0123456789"), at.lstrip("abcdefghijklmnopqrstuvwxyz")
            above = root.run("sysctl", "-n", f"dev.{driver}.{unit}.%parent").out.strip()
            steps.append(f"{at} {above}\n")
            at = above
        assert read_path("".join(steps), "oce1") == ("oce1", "pcib1")

    def test_modules_are_loaded_once(self, root: Root) -> None:
        text = root.run("kldstat", "-v").out
        files = {one.name: one for one in read_kldstat(text).modules}
        assert files["oce.ko"].contains == ("pci/oce",) and "(/boot/modules/oce.ko)" in text
        assert root.run("kldload", "oce").err == "kldload: can't load oce: File exists\n"
        assert root.run("kldload", "-n", "oce").status == 0
        assert root.run("kldload", "nix").err == "kldload: can't load nix: No such file or directory\n"
        assert root.run("kldstat", "-q", "-n", "oce").status == 0 and root.run("kldstat", "-q", "-n", "x").status == 1

    def test_a_module_of_the_wrong_architecture_is_not_loaded(self, root: Root) -> None:
        root.write("run/bsd/klds", "")
        assert root.run("pkg_delete", "oce-4.2.313.0").status == 0
        assert root.run("kldload", "oce").err == "kldload: can't load oce: No such file or directory\n"
        packages = {"PKG_PATH": "/usr/ports/packages/All"}
        assert root.run("pkg_add", "oce-4.2.313.0-i386.tbz", **packages).status == 0
        assert root.run("file", "-b", "/boot/modules/oce.ko").out.startswith(
            "ELF 32-bit LSB shared object, Intel 80386"
        )
        said = root.run("kldload", "oce")
        assert (said.status, said.err) == (1, "kldload: can't load oce: Exec format error\n")

    def test_packages_are_told_added_and_deleted(self, root: Root) -> None:
        assert root.run("pkg_info").out.split(maxsplit=1) == ["oce-4.2.313.0", "oce driver for freebsd\n"]
        assert root.run("pkg_info", "-E", "oce-[0-9]*").out == "oce-4.2.313.0\n"
        assert root.run("pkg_info", "-qL", "oce-4.2.313.0").out == "/boot/modules/oce.ko\n"
        assert root.run("pkg_info", "-qW", "/boot/modules/oce.ko").out == "oce-4.2.313.0\n"
        said = root.run("pkg_info", "-W", "/boot/modules/oce.ko").out
        assert said == "/boot/modules/oce.ko was installed by package oce-4.2.313.0\n"
        other = root.run("pkg_info", "-qW", "/boot/kernel/kernel")
        assert (other.status, other.out, other.err) == (0, "", "")
        assert root.run("pkg_delete", "-f", "oce-4.2.313.0").status == 0
        assert root.run("pkg_info", "-E", "oce-[0-9]*").status == 1
        missing = root.run("pkg_add", "oce-9")
        assert (missing.status, missing.err) == (1, "pkg_add: can't stat package file 'oce-9'\n")
        assert root.run("pkg_add", "oce-4.2.313.0", PKG_PATH="/usr/ports/packages/All").status == 0
        assert (root.path / "boot/modules/oce.ko").read_bytes()[:4] == b"\x7fELF"
        assert root.run("pkg", "-N").status == 1

    def test_the_log_tells_links_errors_and_marks_and_nothing_else_of_the_kernel_below(self, root: Root) -> None:
        root.write(
            "dev/kmsg",
            "6,1,1,-;Linux version 6.1\n14,2,2,-;bsd: Copyright (c) 1992-2012 The FreeBSD Project.\n"
            "14,3,3,-;bsd: \\x09The Regents\n6,4,4,-;be2net 0000:81:00.0 oce0: Link is Up - 10000 Mbps full duplex\n"
            "12,5,5,-;niclab mark 0123\n3,6,6,-;be2net 0000:81:00.0 oce0: adapter does not answer\n"
            "6,7,7,-;be2net 0000:81:00.0 oce0: Link is Down\n",
        )
        text = root.run("sysctl", "-n", "kern.msgbuf").out
        assert link_changes(text, "oce0") == (1, 1)
        after = lines_after(text, "niclab mark 0123")
        assert after is not None and [line.text for line in after] == [
            "be2net 0000:81:00.0 oce0: adapter does not answer",
            "oce0: link state changed to DOWN",
        ]
        assert not any("Linux" in line.text for line in kernel_lines(text))
        assert "niclab mark" not in root.run("dmesg").out and "\tThe Regents" in root.run("dmesg").out

    def test_interrupts_are_told(self, root: Root) -> None:
        rows = [line.split() for line in root.run("vmstat", "-i").out.splitlines()]
        assert [row[:-1] for row in rows[1:3]] == [["irq24:", "oce0:rx0", "500"], ["cpu0:timer", "900"]]

    def test_the_environment_of_the_kernel_lasts_until_the_next_boot(self, root: Root) -> None:
        assert (root.run("kenv", "-q", "niclab_boot_id").status, root.run("kenv", "-q", "x").err) == (1, "")
        assert root.run("kenv", "x").err == "kenv: unable to get x\n"
        assert root.run("kenv", "niclab_boot_id=ab12").out == 'niclab_boot_id="ab12"\n'
        assert root.run("kenv", "-q", "niclab_boot_id").out == "ab12\n"

    def test_the_loader_takes_the_last_value_of_its_files(self, root: Root) -> None:
        """A line that it does not understand ends the file."""
        root.write("boot/loader.conf", 'oce_load="YES"\na="1"\n')
        root.write("boot/loader.conf.d/b.conf", 'a="2"\nb="2"\nbroken\nb="3"\n')
        root.write("boot/loader.conf.d/b.conf~", 'a="7"\n')
        root.write("boot/loader.conf.local", 'oce_load="NO"\n')
        code = f"import sys; sys.path.insert(0, {str(GUEST)!r}); import boot; print(boot.loader_settings())"
        said = subprocess.run(
            [sys.executable, "-B", "-c", code],
            env={**os.environ, "BSD_ROOT": str(root.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ast.literal_eval(said.stdout) == {"oce_load": "NO", "a": "2", "b": "2"}
        assert said.stderr == "/boot/loader.conf.d/b.conf: line 3: syntax error\n"

    @pytest.mark.parametrize(
        "words",
        [
            ("uname", "-x"),
            ("netstat", "-Z"),
            ("pciconf", "-x"),
            ("vmstat",),
            ("kldload",),
            ("kldstat", "-z"),
            ("service", "nothing", "status"),
            ("shutdown",),
            ("dmesg", "-x"),
            ("sockstat", "-z"),
            ("cxgbetool", "t5nex0"),
        ],
    )
    def test_unknown_options_are_refused(self, root: Root, words: tuple[str, ...]) -> None:
        said = root.run(*words)
        assert said.status != 0 and said.err and not said.out
        assert "Traceback" not in said.err


def test_a_server_of_release_10_has_pkg_and_no_pkg_info(tmp_path: Path) -> None:
    root = Root(tmp_path)
    text = (root.path / "etc/bsd/facts.py").read_text()
    root.write("etc/bsd/facts.py", text.replace("9.1-RELEASE", "10.1-RELEASE"))
    assert root.run("pkg", "-N").status == 0
    assert root.run("pkg", "query", "%n %v %q", "oce").out == "oce 4.2.313.0 FreeBSD:10:amd64\n"
    assert root.run("pkg", "query", "%n %v %q", "nix").status == 1
    assert root.run("pkg", "which", "-q", "/boot/modules/oce.ko").out == "oce-4.2.313.0\n"
    other = root.run("pkg", "which", "-q", "/boot/kernel/kernel")
    assert (other.status, other.out, other.err) == (70, "", "")
    assert root.run("pkg", "which", "/x").out == "/x was not found in the database\n"
    assert root.run("pkg_info").status == 127


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        (("ifconfig", "oce0", "-txcsum"), True),
        (("ifconfig", "oce0"), False),
        (("ifconfig", "-m", "oce0"), False),
        (("ifconfig", "-l"), False),
        (("sysctl", "dev.oce.0.max_rsp_handled=1"), True),
        (("sysctl", "-n", "kern.hz"), False),
        (("kldload", "oce"), True),
        (("kenv", "-q", "x"), False),
    ],
)
def test_calls_that_change_something_wait_for_each_other(root: Root, words: tuple[str, ...], changes: bool) -> None:
    root.run(*words)
    assert (root.path / "run/bsd/lock").exists() is changes
