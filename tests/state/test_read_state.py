"""The programs run in a real shell, and the reader of what they print."""

from __future__ import annotations

import json
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from niclab.hosts.errors import ReadError
from niclab.hosts.settings.persistent import SYSCTL_FILE, link_file_name
from niclab.state.read import read_state
from niclab.state.snapshot import Depth
from niclab.state.state_program import freebsd_program, linux_program

LINK = {"ifname": "enp1s0", "flags": ["UP", "PROMISC"], "mtu": 9000, "txqlen": 1000, "address": "52:54:00:00:00:01"}
INET = {"family": "inet", "local": "198.18.1.1", "prefixlen": 24, "scope": "global"}
INET6 = {"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link"}
RINGS = (
    "Ring parameters for enp1s0:\nPre-set maximums:\nRX:\t\t4096\nTX:\t\t4096\n"
    "Current hardware settings:\nRX:\t\t256\nTX:\t\tn/a\n"
)
COALESCING = (
    "Coalesce parameters for enp1s0:\nAdaptive RX: on  TX: off\nstats-block-usecs:\t0\n\nrx-usecs:\t3\ntx-usecs:\t5\n"
)
PAUSE = "Pause parameters for enp1s0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\ton\n"
FEATURES = (
    "Features for enp1s0:\nrx-checksumming: on\ntx-checksumming: on\n"
    "\ttx-checksum-ipv4: off [fixed]\nlarge-receive-offload: off [requested on]\n"
)
DRIVER = (
    "driver: e1000e\nversion: 6.1.0\nfirmware-version: 1.8-0, 0x8000\nexpansion-rom-version: \nbus-info: 0000:01:00.0\n"
)


def shown(*sections: str) -> str:
    return "".join(sections) + "@ end\n"


def links(**other: object) -> str:
    return f"@ links\n{json.dumps([LINK | other])}\n"


@pytest.mark.parametrize("depth", Depth)
def test_the_linux_program_runs_in_any_shell(depth: Depth) -> None:
    done = subprocess.run(["sh", "-c", linux_program(depth, ["0000:ff:1f.7"])], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("@ end\n")
    if "@ refused" not in done.stdout:  # ip is there
        table = read_state(done.stdout)
        assert "net.core.rmem_max" in table["sysctl"] or table["sysctl"] == {}
        assert ("boot" in table) is (depth is Depth.FULL)


@pytest.mark.parametrize("depth", Depth)
def test_the_freebsd_program_is_a_program(depth: Depth) -> None:
    assert subprocess.run(["sh", "-n", "-c", freebsd_program(depth)], capture_output=True).returncode == 0


def test_an_interface() -> None:
    table = read_state(shown(links(master="bond0", addr_info=[INET, INET6], linkinfo={"info_slave_kind": "bond"})))
    assert table["enp1s0"] == {
        **{"interface": "device", "mtu": "9000", "up": "yes", "promiscuous": "yes", "all-multicast": "no"},
        **{"mac": "52:54:00:00:00:01", "master": "bond0", "txqlen": "1000", "address 198.18.1.1/24": "present"},
    }


def test_a_vlan() -> None:
    info = {"info_kind": "vlan", "info_data": {"protocol": "802.1Q", "id": 3}}
    own = read_state(shown(links(linkinfo=info, link="enp2s0")))["enp1s0"]
    assert (own["interface"], own["vlan"], own["below"]) == ("vlan", "3", "enp2s0")


def test_routes_that_follow_an_address_are_left_out() -> None:
    kept = {"dst": "default", "gateway": "10.0.2.2", "dev": "enp0s3", "protocol": "boot"}
    made = {"dst": "198.18.1.0/24", "dev": "enp1s0", "protocol": "kernel"}
    assert read_state(shown(f"@ routes\n{json.dumps([kept, made])}\n"))["routes"] == {"default enp0s3": "via 10.0.2.2"}


def ethtool(option: str, text: str) -> dict[str, str]:
    return read_state(shown(f"@ ethtool {option} enp1s0\n{text}"))["enp1s0"]


def test_settings_of_a_port() -> None:
    assert ethtool("-g", RINGS) == {"ring rx": "256", "ring tx": "n/a"}
    assert ethtool("-c", COALESCING)["coalescing tx-usecs"] == "5"
    later = ethtool("-c", f"{COALESCING}tx-aggr-time-usecs\tn/a\nrx-profile:\n{{.usec =   1, .pkts = 256,}},\n")
    assert later["coalescing tx-aggr-time-usecs"] == "n/a"
    assert later["coalescing profile {.usec = 1, .pkts = 256,},"] == "present"
    assert ethtool("-k", FEATURES) == {
        **{"offload rx-checksumming": "on", "offload tx-checksumming": "on", "offload tx-checksum-ipv4": "off"},
        "offload large-receive-offload": "off",
    }
    assert ethtool("-i", DRIVER) == {
        **{"driver driver": "e1000e", "driver version": "6.1.0", "driver firmware-version": "1.8-0, 0x8000"}
    }
    assert ethtool("-l", "@ refused 80\n") == {"channels": "not offered"}


def test_results_of_negotiation_and_adaptation_are_no_settings() -> None:
    assert ethtool("-a", PAUSE) == {"pause autonegotiate": "on"}
    assert ethtool("-a", PAUSE.replace("Autonegotiate:\ton", "Autonegotiate:\toff"))["pause rx"] == "on"
    assert "coalescing rx-usecs" not in ethtool("-c", COALESCING)
    both = ethtool("-c", COALESCING.replace("TX: off", "TX: on"))
    assert "coalescing tx-usecs" not in both and both["coalescing tx"] == "on"


def test_names_and_pairs() -> None:
    table = read_state(
        shown(
            "@ sysctl\nnet/core/rmem_max\t212992\nnet/ipv4/conf/bond0/arp_ignore\t1\nnet/ipv4/conf/all/rp_filter\t0\n",
            "@ modules\ne1000e\n@ processes\niperf3\niperf3\n@ files\n",
            "@ packages\nii \tethtool\t1:6.1-1\nrc \told\t1\nii \tkernel\t2\nii \tkernel\t1\n",
            "@ sums\n123 45 /etc/default/grub\n",
            "@ cmdline\n/proc/cmdline\troot=/dev/vda1 quiet\n@ interrupts\nenp1s0\t0-1\n",
            "@ steering\n/sys/class/net/enp1s0/queues/rx-0/rps_cpus\t0\n",
        )
    )
    assert table["sysctl"] == {"net.core.rmem_max": "212992", "net.ipv4.conf.all.rp_filter": "0"}
    assert table["bond0"] == {"sysctl arp_ignore": "1"}
    assert table["processes"] == {"iperf3": "2 times"} and table["files"] == {}
    assert table["packages"] == {"ethtool": "1:6.1-1", "kernel": "1, 2"}
    assert table["boot"] == {"/etc/default/grub": "checksum 123, 45 bytes", "/proc/cmdline": "root=/dev/vda1 quiet"}
    assert table["steering"] == {"enp1s0 rx-0/rps_cpus": "0"}


def test_the_nfs_server_and_what_it_exports(tmp_path: Path) -> None:
    """Mounts of others, which come and go by themselves, are no state of the lab."""
    threads, exports, mounts = (tmp_path / name for name in ("threads", "etab", "mounts"))
    threads.write_text("8\n")
    exports.write_text("/tmp/niclab.nfs\t198.18.10.2(ro,sync,fsid=7114)\n/home\t10.0.0.0/8(rw)\n")
    mounts.write_text(
        "niclab.nfs /tmp/niclab.nfs tmpfs rw 0 0\nnfsd /proc/fs/nfsd nfsd rw 0 0\nfiler:/home /home nfs4 rw 0 0\n"
    )
    program = linux_program(Depth.BETWEEN, [])
    for path, file in {"/proc/fs/nfsd/threads": threads, "/var/lib/nfs/etab": exports, "/proc/mounts": mounts}.items():
        assert path in program
        program = program.replace(path, str(file))
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=True)
    found = done.stdout.partition("@ nfs\n")[2]
    assert read_state(f"@ nfs\n{found}")["nfs"] == {
        "threads": "8",
        "export /tmp/niclab.nfs to 198.18.10.2": "present",
        "export /home to 10.0.0.0/8": "present",
        "mount /tmp/niclab.nfs": "tmpfs",
        "mount /proc/fs/nfsd": "nfsd",
    }
    for file, text in {threads: "0\n", exports: "", mounts: "proc /proc proc rw 0 0\n"}.items():
        file.write_text(text)
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=True)
    assert read_state(done.stdout[done.stdout.index("@ nfs") :])["nfs"] == {}


def test_iscsi_sessions_records_and_targets(tmp_path: Path) -> None:
    target = "iqn.2026-01.net.niclab:a"
    for place in (f"session/session1/{target}", f"etc/nodes/{target}", f"target/iscsi/{target}", "etc/ifaces"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "session/session1/targetname").write_text(f"{target}\n")
    (tmp_path / f"etc/nodes/{target}").mkdir()
    (tmp_path / "etc/ifaces").mkdir()
    (tmp_path / "etc/ifaces/niclab.a").touch()
    (tmp_path / f"target/iscsi/{target}").mkdir()
    (tmp_path / "target/core/rd_mcp_7114/v0").mkdir(parents=True)
    (tmp_path / "target/core/rd_mcp_7114/v0/udev_path").touch()
    (tmp_path / "block/dm-0/dm").mkdir(parents=True)
    (tmp_path / "block/dm-0/dm/name").write_text("36001405\n")
    program = linux_program(Depth.BETWEEN, [])
    places = {"/sys/class/iscsi_session": "session", "/sys/kernel/config/target": "target", "/etc/iscsi": "etc"}
    for path, folder in {**places, "/var/lib/iscsi": "var", "/sys/block": "block"}.items():
        assert path in program
        program = program.replace(path, str(tmp_path / folder))
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=True)
    found = read_state(done.stdout[done.stdout.index("@ iscsi") :])["iscsi"]
    names = (f"session {target}", f"node {target}", "iface niclab.a", f"target {target}", "volume rd_mcp_7114/v0")
    assert found == dict.fromkeys((*names, "map 36001405"), "present")


def test_controllers_subsystems_and_loop_devices_of_nvme(tmp_path: Path) -> None:
    """Not those of disks in the server, and of others' files."""
    for name, transport, target in (("nvme0", "pcie", "nqn.x:disk"), ("nvme1", "tcp", "nqn.a:b")):
        (tmp_path / f"nvme/{name}").mkdir(parents=True)
        (tmp_path / f"nvme/{name}/transport").write_text(f"{transport}\n")
        (tmp_path / f"nvme/{name}/subsysnqn").write_text(f"{target}\n")
    for place in ("subsystems/nqn.a:b", "ports/7114"):
        (tmp_path / "nvmet" / place).mkdir(parents=True)
    for number, file in enumerate(("/tmp/niclab.nvme/v0", "/var/snap/core.snap")):
        (tmp_path / f"block/loop{number}/loop").mkdir(parents=True)
        (tmp_path / f"block/loop{number}/loop/backing_file").write_text(f"{file}\n")
    program = linux_program(Depth.BETWEEN, [])
    places = {"/sys/class/nvme/": "nvme/", "/sys/kernel/config/nvmet": "nvmet", "/sys/block": "block"}
    for path, folder in places.items():
        assert path in program
        program = program.replace(path, f"{tmp_path}/{folder}")
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=True)
    found = read_state(done.stdout[done.stdout.index("@ nvme") :])["nvme"]
    names = ("controller nqn.a:b", "subsystems/nqn.a:b", "ports/7114", "loop /tmp/niclab.nvme/v0")
    assert found == dict.fromkeys(names, "present")


def test_a_freebsd_server() -> None:
    table = read_state(
        shown(
            "@ interfaces\noce0: flags=8843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST> metric 0 mtu 1500\n",
            "\toptions=3<RXCSUM,TXCSUM>\n\tether 00:00:c9:e6:67:a8\n",
            "\tinet 198.18.1.1 netmask 0xffffff00 broadcast 198.18.1.255\n",
            "@ bsdroutes\nRouting tables\n\nInternet:\nDestination  Gateway  Flags  Nhop#  Mtu  Netif\n",
            "default  10.0.2.2  UGS  1  1500  vtnet0\n198.18.1.0/24  link#2  U  2  1500  oce0\n",
            "198.18.1.1  link#2  UHS  3  16384  lo0\n198.18.9.9  link#2  UHS  4  1500  oce0\n",
            "@ bsdsysctl\nnet.inet.tcp.tso=1\n@ bsdmodules\nId Refs Address Size Name\n",
            " 1 5 0xffffffff80200000 1f3 kernel\n",
            " 2 1 0xffffffff82000000 1f3 if_oce.ko\n",
        )
    )
    assert table["oce0"]["options"] == "RXCSUM,TXCSUM" and table["oce0"]["address 198.18.1.1/24"] == "present"
    assert table["routes"] == {"default": "via 10.0.2.2", "198.18.9.9": "via link#2"}, "not that of its own address"
    assert table["sysctl"] == {"net.inet.tcp.tso": "1"}
    assert table["modules"] == {"kernel": "present", "if_oce": "present"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'@ end' as the last line"),
        (links(), "'@ end' as the last line"),
        (shown("enp1s0\n"), "a heading '@ NAME'"),
        (shown("@ gossip\nx\n"), "expected one of links"),
        (shown("@ links\n@ refused 127\n"), "a tool that succeeds"),
        (shown("@ links\n[{]\n"), "cannot read ip -json address"),
        (shown("@ sysctl\nno tabulator\n"), "a name, a tabulator, a value"),
        (shown("@ packages\nii ethtool\n"), "a status, a name and a version"),
        (shown("@ sums\nx /etc/hosts\n"), "a sum, a size and a file"),
        (shown("@ ethtool -g enp1s0\n@ refused 127\n"), "a tool that can be run"),
        (shown("@ ethtool -g enp1s0\nRX: 1\n"), "Current hardware settings"),
        (shown("@ ethtool -k enp1s0\nnonsense\n"), "NAME: VALUE"),
    ],
)
def test_what_the_programs_do_not_print_is_refused(text: str, words: str) -> None:
    with pytest.raises(ReadError, match=words):
        read_state(text)


@pytest.mark.parametrize(
    "file",
    [SYSCTL_FILE, link_file_name("52:54:00:00:00:01"), "/etc/modules-load.d/niclab-sfc.conf", "/etc/modprobe.d/x"],
)
def test_every_file_of_the_boot_that_the_lab_writes_is_of_the_state(file: str) -> None:
    patterns = [word for line in linux_program(Depth.FULL, []).splitlines() for word in line.split() if "/etc/" in word]
    assert any(fnmatch(file, pattern) for pattern in patterns)
