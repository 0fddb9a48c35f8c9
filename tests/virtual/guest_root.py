"""A server's files for the guest program of a FreeBSD server: a card behind a root port, and the tools below.

The card is Emulex', with a function for each port, or another one, with as many ports a function as its driver has.
``ethtool`` and ``ip`` are small programs that keep their state in files, with the rule of the kernel below that
segmentation needs checksums.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from freebsd import facts, ports
from vendor import medium

GUEST = Path(facts.__file__).parent / "guest"
FEATURES = """Features for oce0:
rx-checksumming: on
tx-checksumming: on
\ttx-checksum-ipv4: on
tcp-segmentation-offload: on
\ttx-tcp-segmentation: on
\ttx-tcp6-segmentation: on
generic-receive-offload: on
large-receive-offload: off [fixed]
rx-vlan-offload: on [fixed]
tx-vlan-offload: on
rx-vlan-filter: on [fixed]
"""
ETHTOOL = r"""#!/bin/sh
S=$BSD_ROOT/below
case $1 in
-k) cat "$S/features" ;;
-g|-c|-a) cat "$S/ethtool$1" ;;
-G|-C|-A) kind=-$(echo "${1#-}" | tr GCA gca); shift 2
    case $kind in
    -g) n=$(echo "$1" | sed 's/rx-mini/RX Mini/; s/tx/TX/'); sed -i "4,\$ s/^\($n:\).*/\1\t$2/" "$S/ethtool$kind" ;;
    -c) sed -i "s/^\($1:\).*/\1 $2/" "$S/ethtool$kind" ;;
    -a) if [ "$1" = autoneg ]; then sed -i "s/^\(Autonegotiate:\).*/\1 $2/" "$S/ethtool$kind"; shift 2
        elif grep -q '^Autonegotiate: on' "$S/ethtool$kind"; then exit 0; fi
        sed -i "s/^\(RX:\).*/\1 $2/; s/^\(TX:\).*/\1 $4/" "$S/ethtool$kind" ;;
    esac ;;
-i) printf 'driver: be2net\nversion: 6.1\nfirmware-version: 4.4.249.3\n' ;;
-S) printf 'NIC statistics:\n     txq0: tx_pkts: 90\n     txq0: tx_reqs: 4\n     txq1: tx_reqs: 3\n' ;;
-f) head -c 8 "$BSD_ROOT/usr/lib/firmware/$3" | grep -qx VCARDFW1 || exit 1
    cp "$BSD_ROOT/usr/lib/firmware/$3" "$S/flashed-$2" ;;
-K) echo "$*" >> "$S/told"
    case $3 in rx) f=rx-checksumming ;; tx) f=tx-checksumming ;; gro) f=generic-receive-offload ;;
        txvlan) f=tx-vlan-offload ;; rxvlan) f=rx-vlan-offload ;; *) f=$3 ;; esac
    [ -e "$S/stuck-$f" ] && exit 0
    sed -i "s/^\(\t*$f\): o[nf]*$/\1: $4/" "$S/features"
    if [ "$3 $4" = "tx off" ] && [ ! -e "$S/stuck-tso" ]; then
        sed -i 's/^\(\ttx-tcp6*-segmentation\): on$/\1: off/' "$S/features"
    fi ;;
*) exit 1 ;;
esac
"""
IP = r"""import os, shutil, sys
from pathlib import Path
root = Path(os.environ["BSD_ROOT"])
net, words = root / "sys/class/net", sys.argv[1:]
def put(name, **files):
    for file, text in files.items():
        path = net / name / file.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
def made(name, index, **files):
    (net / name).mkdir()
    put(name, ifindex=index, flags="0x1002", mtu="1500", address="00:00:c9:a3:00:00", carrier="1", uevent="", **files)
    counted = ("rx_packets", "rx_errors", "rx_dropped", "rx_bytes", "tx_packets", "tx_errors", "tx_bytes")
    put(name, **{f"statistics__{each}": "0" for each in (*counted, "collisions", "tx_dropped", "rx_missed_errors")})
def kept(name):
    return root / "below" / f"addresses-{name}"
with (root / "below/ip").open("a") as log:
    log.write(" ".join(words) + "\n")
match words:
    case ["address", "add", address, *_, "dev", name]:
        old = kept(name).read_text() if kept(name).exists() else ""
        family = "inet6" if ":" in address else "inet"
        scope = "link" if address.startswith("fe80") else "global"
        kept(name).write_text(f"{old}3: {name}    {family} {address} scope {scope} {name}\n")
    case ["address", "delete", address, "dev", name]:
        lines = kept(name).read_text().splitlines(keepends=True)
        kept(name).write_text("".join(line for line in lines if address not in line))
    case ["link", "add", name, "type", "bond", "mode", mode, *_]:
        made(name, "9", bonding__mode=f"{mode} 1", bonding__slaves="", bonding__active_slave="")
    case ["link", "add", "link", below, "name", name, "type", "vlan", "id", tag]:
        made(name, "10")
        put(name, uevent="DEVTYPE=vlan")
        (net / name / f"lower_{below}").mkdir()
        (root / "proc/net/vlan").mkdir(parents=True, exist_ok=True)
        (root / "proc/net/vlan" / name).write_text(f"{name}  VID: {tag}\t REORDER_HDR: 1\n")
    case ["link", "delete", "dev", name]:
        shutil.rmtree(net / name)
    case ["link", "set", "dev", name, "name", new]:
        if int((net / name / "flags").read_text(), 16) & 1:
            sys.exit("RTNETLINK answers: Device or resource busy")  # dev_change_name(), Linux before 6.2
        (net / name).rename(net / new)
        if (told := root / "proc/net/vlan" / name).exists():
            told.rename(told.with_name(new))
    case ["link", "set", "dev", port, "master", bond]:
        slaves = (net / bond / "bonding/slaves").read_text().split()
        put(bond, bonding__slaves=" ".join([*slaves, port]))
    case ["link", "set", "dev", port, "nomaster"]:
        for file in net.glob("*/bonding/slaves"):
            file.write_text(" ".join(name for name in file.read_text().split() if name != port) + "\n")
    case ["link", "set", "dev", bond, "type", "bond", "primary", port, "primary_reselect", "always"]:
        put(bond, bonding__active_slave=port)
    case ["link", "set", "dev", bond, "type", "bond", "xmit_hash_policy", policy]:
        put(bond, bonding__xmit_hash_policy=f"{policy} 1")
    case ["link", "set", "dev", bond, "type", "bond", "mode", mode]:
        put(bond, bonding__mode=f"{mode} 4")
    case ["link", "set", "dev", name, "mtu", mtu]:
        if int(mtu) > 9000:
            sys.exit("Error: mtu greater than device maximum.")
        put(name, mtu=mtu)
    case ["link", "set", "dev", name, "address", mac]:
        put(name, address=mac)
    case ["link", "set", "dev", name, ("up" | "down") as state]:
        put(name, flags="0x1003" if state == "up" else "0x1002")
    case _:
        sys.exit(f"no such ip: {words}")
"""
PING = r"""#!/bin/sh
n=3
while [ $# -gt 1 ]; do case $1 in -c) n=$2; shift ;; -[sWiIwM]) shift ;; esac; shift; done
i=0; while [ $((i += 1)) -le "$n" ]; do echo "64 bytes from $1: icmp_seq=$i ttl=64 time=0.05 ms"; done
printf '\n--- %s ping statistics ---\n%s packets transmitted, %s received, 0%% packet loss, time 9ms\n' "$1" "$n" "$n"
echo 'rtt min/avg/max/mdev = 0.05/0.05/0.05/0.00 ms'
"""
RINGS = """Ring parameters for cxl0:
Pre-set maximums:
RX Mini:\t16384
Current hardware settings:
RX Mini:\t1024
TX:\t1024
"""
COALESCING = """Coalesce parameters for cxl0:
rx-usecs: 5
rx-frames: 0
"""
PAUSE = """Pause parameters for cxl0:
Autonegotiate: off
RX: on
TX: on
"""
BUSYBOX = r"""#!/bin/sh
case "$*" in
"ip -o address show dev "*) cat "$BSD_ROOT/below/addresses-$6" 2>/dev/null || : ;;
"ip -o address show") cat "$BSD_ROOT"/below/addresses-* ;;
*) exit 1 ;;
esac
"""
ADDRESSES = """3: oce0    inet 198.18.10.1/24 brd 198.18.10.255 scope global oce0\\  valid_lft forever
3: oce0    inet6 fe80::200:c9ff:fea3:0/64 scope link \\  valid_lft forever
"""
ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
oce1\t00000000\tFE0A12C6\t0003\t0\t0\t0\t00000000\t0\t0\t0
oce0\t000A12C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""
"""/proc/net/route: a default route by 198.18.10.254, and the one of the address of oce0."""
ROUTES6 = f"""fe80{"0" * 28} 40 {"0" * 32} 00 {"0" * 32} 00000100 00000002 00000000 00000001     oce0
fe80{"0" * 12}0200c9fffea30000 80 {"0" * 32} 00 {"0" * 32} 00000000 00000003 00000000 80200001     oce0
ff{"0" * 30} 08 {"0" * 32} 00 {"0" * 32} 00000100 00000003 00000000 00000001     oce0
{"0" * 32} 00 {"0" * 32} 00 {"0" * 32} ffffffff 00000001 00000000 00200200       lo
"""


@dataclass(frozen=True)
class Said:
    status: int
    out: str
    err: str


class Root:
    """The files. The card's driver is loaded."""

    def __init__(self, folder: Path, card: str = "emulex-oce11102") -> None:
        self.path, self.card = folder / "root", card
        ((self.driver, self._facts),) = facts.of(card)["drivers"].items()
        self._pci("0000:80:02.0", "pci0000:80/0000:80:02.0", bridge_to=0x81)
        shared = self._facts["ports_per_function"]
        self.module = str(self._facts["module"])
        self.functions = tuple(f"0000:81:00.{function}" for function in range(2 // shared))
        self.ports = tuple(f"{self._facts['port']}{number}" for number in range(2))
        for address in self.functions:
            self._pci(address, f"pci0000:80/0000:80:02.0/{address}")
        for number, name in enumerate(self.ports):
            self._port(self.functions[number // shared], name, 3 + number, number % shared)
        (self.path / "sys/class/net/lo").mkdir()
        for name, text in (("ifindex", "1"), ("flags", "0x9"), ("mtu", "65536"), ("address", "00:00:00:00:00:00")):
            self.write(f"sys/class/net/lo/{name}", text)
        self.write("etc/bsd/facts.py", facts.rendered(card))
        for name, text in (
            ("ethtool", ETHTOOL),
            ("ip", f"#!{sys.executable} -ESs\n{IP}"),
            ("busybox", BUSYBOX),
            ("ping", PING),
            ("modprobe", "#!/bin/sh\n"),
            ("lspci", "#!/bin/sh\n"),
            ("ss", "#!/bin/sh\necho 'tcp LISTEN 0 5 0.0.0.0:5201 0.0.0.0:* users:((\"iperf3\",pid=501,fd=3))'\n"),
            ("init", '#!/bin/sh\necho "$1" > "$BSD_ROOT/below/init"\n'),
        ):
            self.write(f"tools/{name}", text)
            (self.path / "tools" / name).chmod(0o755)
        self.write("below/features", FEATURES)
        for option, text in (("g", RINGS), ("c", COALESCING), ("a", PAUSE)):
            self.write(f"below/ethtool-{option}", text)
        self.write(f"below/addresses-{self.ports[0]}", ADDRESSES.replace("oce0", self.ports[0]))
        self.write("proc/sys/kernel/hostname", "dut\n")
        for file, routes in (("route", ROUTES), ("ipv6_route", ROUTES6)):
            self.write(f"proc/net/{file}", routes.replace("oce", self._facts["port"]))
        names = "InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors"
        self.write("proc/net/snmp", f"Udp: {names}\nUdp: 90 3 9 80 5 0 4\n")
        self.write("below/addresses-lo", "1: lo    inet 127.0.0.1/8 scope host lo\\  valid_lft forever\n")
        self.write("proc/stat", "cpu  1 2 3 4 5 6 7 0\ncpu0 100 0 50 800 5 1 9 0\nbtime 1369826400\n")
        self.write("proc/meminfo", "MemTotal: 300000 kB\n")
        self.write("proc/cpuinfo", "model name : QEMU\n")
        self.write("proc/uptime", "100.5 90.0\n")
        self.write("proc/interrupts", f"     CPU0\n 24:  500  PCI-MSI  {self.ports[0]}-rx-0\nLOC: 900  Local timer\n")
        self.write("dev/kmsg", "14,1,1,-;bsd: oce0: Ethernet address: 00:00:c9:a3:00:00\n")
        ports.lay(self.path, card)
        files = [file.relative_to(self.path / "once") for file in self.path.glob(f"once/boot/*/{self.module}.ko")]
        self.write("run/bsd/klds", "".join(f"{file.name}\t2 /{file}\n" for file in files))  # none of one in the kernel
        for file, content in medium.firmware_of(card).items():
            for folder in ("boot/firmware", "usr/lib/firmware"):
                (self.path / folder).mkdir(parents=True, exist_ok=True)
                (self.path / folder / file).write_bytes(content)
        for file in sorted((self.path / "once").rglob("*")):
            if file.is_file():
                target = self.path / file.relative_to(self.path / "once")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read_bytes())

    def write(self, path: str, text: str) -> None:
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def package(self, full_name: str) -> None:
        """A package of no files is installed."""
        self.write(f"var/db/pkg/{full_name}/+CONTENTS", f"@name {full_name}\n@cwd /\n")

    def run(self, *words: str, **environment: str) -> Said:
        """One call of a tool."""
        place = {"BSD_ROOT": str(self.path), "BSD_TOOLS": f"{self.path}/tools:{os.environ['PATH']}"}
        done = subprocess.run(
            [sys.executable, "-ESsB", str(GUEST / "bsd.py"), *words],
            capture_output=True,
            text=True,
            env={**os.environ, **place, **environment},
            timeout=60,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def _pci(self, address: str, place: str, bridge_to: int | None = None) -> None:
        folder = self.path / "sys/devices" / place
        folder.mkdir(parents=True)
        link = self.path / "sys/bus/pci/devices" / address
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)
        own = (int(part, 16) for part in self._facts["ids"][0].split(":"))
        vendor, device = (0x8086, 0x3C08) if bridge_to else own
        (folder / "vendor").write_text(f"0x{vendor:04x}\n")
        (folder / "device").write_text(f"0x{device:04x}\n")
        (folder / "config").write_bytes(config(vendor, device, bridge_to))
        (folder / "resource").write_text("0x00000000f0480000 0x00000000f0483fff 0x0000000000140204\n")
        (folder / "irq").write_text("16\n")

    def _port(self, address: str, name: str, index: int, number: int) -> None:
        device = (self.path / "sys/bus/pci/devices" / address).resolve()
        driver = self.path / "sys/bus/pci/drivers" / self._facts["linux"]
        driver.mkdir(parents=True, exist_ok=True)
        if not (device / "driver").exists():
            (device / "driver").symlink_to(driver)
        folder = self.path / "sys/class/net" / name
        folder.parent.mkdir(parents=True, exist_ok=True)
        (device / "net" / name).mkdir(parents=True)
        folder.symlink_to(device / "net" / name)
        (folder / "queues/rx-0").mkdir(parents=True)
        (folder / "queues/tx-0").mkdir()
        values = {"ifindex": index, "flags": "0x1003", "mtu": 1500, "address": f"00:00:c9:a3:00:0{index - 3}"}
        values |= {"carrier": 1, "speed": self._facts["speed_mbps"], "duplex": "full", "dev_port": number}
        counted = ("rx_packets", "rx_errors", "rx_dropped", "rx_bytes", "tx_packets", "tx_errors", "tx_bytes")
        values |= {f"statistics/{name}": number for number, name in enumerate(counted, 10)}
        values |= {"statistics/collisions": 0, "statistics/tx_dropped": 5, "statistics/rx_missed_errors": 4}
        values |= {"statistics/multicast": 0, "statistics/rx_crc_errors": 0}
        for file, value in values.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(f"{value}\n")


def config(vendor: int, device: int, bridge_to: int | None) -> bytes:
    """Configuration space: ids, a power and an Express capability; x4 of x8 at 5 GT/s."""
    space = bytearray(256)
    struct.pack_into("<HHHHBBBB", space, 0, vendor, device, 6, 0x10, 3, 0, 4 if bridge_to else 0, 6 if bridge_to else 2)
    space[0x0E] = 1 if bridge_to else 0
    if bridge_to:
        space[0x19] = bridge_to
    else:
        struct.pack_into("<HH", space, 0x2C, 0x10DF, 0xE602)
    space[0x34] = 0x40
    struct.pack_into("<BBHH", space, 0x40, 1, 0x70, 0x0003, 0)
    flags = 0x0142 if bridge_to else 0x0002
    struct.pack_into("<BBHIHHIHH", space, 0x70, 0x10, 0, flags, 0x10000001, 0, 0, 0x82, 0, 0x0042)
    return bytes(space)
