"""Parts of a FreeBSD server's tools: what ifconfig sets, modules of the kernel, capabilities of PCI functions."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from guest_root import GUEST, Root, config

from niclab.hosts.drivers.kldstat import read_kldstat
from niclab.hosts.links.ifconfig import read_ifconfig
from niclab.hosts.pci.pciconf import read_pciconf

CARD = "0000:81:00.0"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path)


def call(root: Root, code: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` with the modules of the guest's program."""
    place = {"BSD_ROOT": str(root.path), "BSD_TOOLS": f"{root.path}/tools:{os.environ['PATH']}"}
    command = [sys.executable, "-B", "-c", f"import sys; sys.path.insert(0, {str(GUEST)!r})\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **place})


class TestWhatIfconfigSets:
    def test_words_are_carried_out_in_their_order(self, root: Root) -> None:
        words = ("oce1", "inet", "10.0.0.1", "netmask", "255.255.255.0", "mtu", "9000", "down")
        assert root.run("ifconfig", *words).status == 0
        (oce,) = read_ifconfig(root.run("ifconfig", "oce1").out).interfaces
        assert (oce.inet[0].address, oce.inet[0].prefix_length) == ("10.0.0.1", 24)
        assert (oce.mtu, oce.up) == (9000, False)

    @pytest.mark.parametrize(
        ("words", "length"),
        [
            (("10.0.0.1/30",), 30),
            (("inet", "10.0.0.1", "netmask", "0xffff0000"), 16),
            (("inet", "10.0.0.1", "prefixlen", "20", "alias"), 20),
            (("inet", "10.0.0.1"), 24),
        ],
    )
    def test_a_mask_is_written_in_many_ways(self, root: Root, words: tuple[str, ...], length: int) -> None:
        assert root.run("ifconfig", "oce1", *words).status == 0
        (oce,) = read_ifconfig(root.run("ifconfig", "oce1").out).interfaces
        assert oce.inet[0].prefix_length == length

    def test_an_address_is_removed_once(self, root: Root) -> None:
        assert root.run("ifconfig", "oce0", "inet", "198.18.10.1", "-alias").status == 0
        again = root.run("ifconfig", "oce0", "inet", "198.18.10.1", "-alias")
        assert again.err == "ifconfig: ioctl (SIOCDIFADDR): Can't assign requested address\n"

    def test_a_lagg_takes_its_protocol_before_its_ports(self, root: Root) -> None:
        assert root.run("ifconfig", "lagg", "create").out == "lagg0\n"
        assert root.run("ifconfig", "lagg0", "create").err == "ifconfig: SIOCIFCREATE2: File exists\n"
        assert root.run("ifconfig", "lagg0", "laggproto", "magic").err == (
            "ifconfig: Invalid aggregation protocol: magic\n"
        )
        assert (
            root.run("ifconfig", "lagg0", "laggproto", "lacp", "laggport", "oce0", "laggport", "oce1", "up").status == 0
        )
        lagg = read_ifconfig(root.run("ifconfig", "lagg0").out).interfaces[0].lagg
        assert lagg is not None and lagg.protocol == "lacp" and [port.name for port in lagg.ports] == ["oce0", "oce1"]
        assert all(port.flags.has("DISTRIBUTING", 4) for port in lagg.ports)
        refused = {
            ("laggproto", "failover"): "SIOCSLAGG: Device busy",
            ("laggport", "oce0"): "SIOCSLAGGPORT: File exists",
            ("laggport", "oce9"): "SIOCSLAGGPORT: No such device",
        }
        for words, message in refused.items():
            assert root.run("ifconfig", "lagg0", *words).err == f"ifconfig: {message}\n"

    @pytest.mark.parametrize(
        ("protocol", "layers", "below"),
        [("loadbalance", "l3,l4", "layer3+4"), ("lacp", "l2", "layer2"), ("roundrobin", "l2,l3", None)],
    )
    def test_a_lagg_hashes_what_it_is_told_and_shows_its_protocol(
        self, root: Root, protocol: str, layers: str, below: str | None
    ) -> None:
        root.run("ifconfig", "lagg0", "create")
        assert root.run("ifconfig", "lagg0", "laggproto", protocol, "lagghash", layers, "laggport", "oce0").status == 0
        lagg = read_ifconfig(root.run("ifconfig", "lagg0").out).interfaces[0].lagg
        assert lagg is not None and (lagg.protocol, lagg.hash) == (protocol, tuple(layers.split(",")))
        told = f"link set dev lagg0 type bond xmit_hash_policy {below}"
        assert (told in (root.path / "below/ip").read_text().splitlines()) is (below is not None)
        wrong = root.run("ifconfig", "lagg0", "lagghash", "l3,l5")
        assert (wrong.status, wrong.err) == (1, "ifconfig: Invalid lagghash option: l5\n")

    def test_a_destroyed_lagg_takes_its_vlans_along_and_gives_its_ports_back(self, root: Root) -> None:
        root.run("ifconfig", "lagg0", "create", "laggport", "oce0", "up")
        root.run("ifconfig", "lagg0.7", "create")
        assert root.run("ifconfig", "lagg0", "destroy").status == 0
        assert root.run("ifconfig", "-l").out == "oce0 oce1 lo0\n"
        assert "link set dev oce0 up" in (root.path / "below/ip").read_text().splitlines()
        assert root.run("ifconfig", "oce0", "destroy").err == "ifconfig: SIOCIFDESTROY: Invalid argument\n"

    def test_a_vlan_gets_its_name_while_the_interface_below_it_is_up(self, root: Root) -> None:
        assert root.run("ifconfig", "oce0", "up").status == 0
        made = root.run("ifconfig", "vlan", "create", "vlan", "2", "vlandev", "oce0", "name", "niclab.2")
        assert (made.status, made.out, made.err) == (0, "niclab.2\n", "")
        assert root.run("ifconfig", "niclab.2", "up").status == 0
        assert root.run("ifconfig", "niclab.2", "destroy").status == 0
        assert root.run("ifconfig", "-l").out == "oce0 oce1 lo0\n"

    @pytest.mark.parametrize("name", ["oce0.0", "oce0.4095", "oce0.x", "tap0"])
    def test_what_cannot_be_made_is_refused(self, root: Root, name: str) -> None:
        assert root.run("ifconfig", name, "create").err == "ifconfig: SIOCIFCREATE2: Invalid argument\n"


class TestModules:
    def test_one_is_told_by_file_number_or_name(self, root: Root) -> None:
        for words in (("-n", "oce"), ("-n", "oce.ko"), ("-i", "2")):
            (one,) = read_kldstat(root.run("kldstat", "-v", *words).out).modules
            assert (one.id, one.name) == (2, "oce.ko")
        assert root.run("kldstat", "-q", "-m", "pci/oce").status == 0
        assert root.run("kldstat", "-m", "nix").err == "kldstat: can't find module nix: No such file or directory\n"
        assert root.run("kldstat", "-i", "9").err == "kldstat: can't find file 9: No such file or directory\n"

    def test_one_of_the_base_system_gets_the_next_number(self, root: Root) -> None:
        assert root.run("kldload", "-v", "if_tap").out == "Loaded if_tap, id=3\n"
        assert [one.name for one in read_kldstat(root.run("kldstat", "-v").out).modules] == [
            "kernel",
            "oce.ko",
            "if_tap.ko",
        ]
        assert root.run("kldunload", "if_tap").status == 0
        assert root.run("kldunload", "if_tap").err == "kldunload: can't find file if_tap\n"

    def test_one_in_use_stays(self, root: Root) -> None:
        modprobe = root.path / "tools/modprobe"
        modprobe.write_text("#!/bin/sh\necho 'FATAL: Module be2net is in use.' >&2\nexit 1\n")
        assert root.run("kldunload", "oce").err == "kldunload: can't unload file: Device busy\n"
        assert root.run("kldstat", "-q", "-n", "oce").status == 0

    def test_an_unloaded_driver_forgets_what_was_set_of_its_ports(self, root: Root) -> None:
        root.run("ifconfig", "oce0", "-vlanhwfilter", "down")
        assert (root.path / "run/bsd/were-up").read_text() == "oce0\t1\n"
        assert root.run("kldunload", "oce").status == 0
        assert (root.path / "run/bsd/were-up").read_text() == "" == (root.path / "run/bsd/options-oce0").read_text()


class TestSettingsBeforeAPortIsUp:
    CODE = """
import settings
from below import Refusal
for leaf in ("qsize_rxq", "qsize_txq", "holdoff_pktc_idx", "holdoff_tmr_idx"):
    try:
        settings.change("oce0", leaf, "1")
    except Refusal as refusal:
        print(leaf, refusal)
"""

    @pytest.mark.parametrize("state", ["up", "was up"])
    def test_sizes_and_packet_counts_are_busy_once_it_was(self, root: Root, state: str) -> None:
        if state == "was up":
            root.run("ifconfig", "oce0", "down")
        said = call(root, self.CODE).stdout
        assert said.splitlines()[:3] == [
            f"{leaf} dev.oce.0.{leaf}: Device busy" for leaf in ("qsize_rxq", "qsize_txq", "holdoff_pktc_idx")
        ]
        assert "holdoff_tmr_idx" not in said

    def test_they_are_asked_of_the_card_before(self, root: Root) -> None:
        root.write("sys/class/net/oce0/flags", "0x1002\n")
        assert "busy" not in call(root, self.CODE).stdout


class TestCapabilities:
    def shown(self, root: Root, space: bytes) -> str:
        device = (root.path / "sys/bus/pci/devices" / CARD).resolve()
        (device / "config").write_bytes(space)
        return root.run("pciconf", "-lc", "oce0").out

    def space(self, extended: bytes = b"") -> bytearray:
        space = bytearray(config(0x19A2, 0x0710, None))
        return bytearray(bytes(space) + extended.ljust(4096 - len(space), b"\0")) if extended else space

    def test_the_link_is_told_in_two_lines(self, root: Root) -> None:
        said = self.shown(root, self.space())
        assert "    cap 01[40] = powerspec 3  supports D0 D3  current D0\n" in said
        assert "    cap 10[70] = PCI-Express 2 endpoint max data 128(256) FLR link x4(x8)\n" in said
        assert f"\n{'':17}speed 5.0(5.0)\n" in said

    def test_a_link_that_is_not_trained_has_no_speed(self, root: Root) -> None:
        space = self.space()
        struct.pack_into("<H", space, 0x70 + 18, 0x0000)
        said = self.shown(root, space)
        assert "link x0(x8)" in said and "speed 0.0(5.0)" in said
        (one,) = read_pciconf(said).devices
        assert (one.lnksta_width, one.lnkcap_width) == (None, 8)

    def test_errors_and_the_serial_number_stand_behind(self, root: Root) -> None:
        errors = struct.pack("<IIIIII", 0x1C010001, 0x00100010, 0, 0x00000010, 0x00001041, 0)
        serial = struct.pack("<III", 0x00010003, 0xFFE667A8, 0x0000C9FF)
        said = self.shown(root, self.space(errors.ljust(0xC0, b"\0") + serial))
        assert "    ecap 0001[100] = AER 1 1 fatal 1 non-fatal 3 corrected\n" in said
        assert "    ecap 0003[1c0] = Serial 1 0000c9ffffe667a8\n" in said
        (one,) = read_pciconf(said).devices
        assert one.serial_number is not None

    def test_a_list_that_leads_to_itself_ends(self, root: Root) -> None:
        space = self.space()
        space[0x41] = 0x40
        assert self.shown(root, space).count("powerspec") == 48

    def test_a_dead_function_shows_its_head_only(self, root: Root) -> None:
        said = self.shown(root, b"\xff" * 256)
        assert said.count("\n") == 1 and "hdr=0x7f" in said
