"""The kernel's selftests for network drivers, and ping with iperf3, on the two servers of a virtual bench.

The selftests are those of Debian's ``linux-source-6.12``, copied unmodified. They run on the dut, which reaches the
peer by SSH through the controller: a defect of the card does not cut them off. Each reader turns what a tool printed
into ``{case: "ok" or what it said}``; a case ``""`` says why none of a tool is ok.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "lab" / "virtual"))

import driver_source  # noqa: E402 - as above

import debian  # noqa: E402
import lifecycle  # noqa: E402
import slots  # noqa: E402
from identity import Identity  # noqa: E402
from wait import until  # noqa: E402

KERNEL = "6.12"
SELFTESTS = "tools/testing/selftests"
MEMBERS = (
    "Documentation/netlink/specs",
    "tools/net/ynl",
    *(
        f"{SELFTESTS}/{name}"
        for name in (
            "kselftest.h",
            "drivers/net",
            "net/forwarding",
            "net/lib",
            "net/lib.sh",
            "net/net_helper.sh",
        )
    ),
)
PACKAGES = {
    "jq": "libjq1 libonig5",
    "netsniff-ng": "libcli1.10 libgeoip1 libncurses6 libtinfo6 libnet1 libnetfilter-conntrack3 libnfnetlink0 libmnl0 "
    "libnl-3-200 libnl-genl-3-200 libnl-route-3-200 libpcap0.8 libsodium23 liburcu8",
    "python3-yaml": "libyaml-0-2",
    "socat": "libwrap0",
}
"""Needs of the selftests that the servers do not have -> what each needs in turn."""
PLACE = "/srv/kernel"
PEER_PORT = 2222
PROGRAMS = (
    "ping.py",
    "queues.py",
    "stats.py",
    "hw/csum.py",
    "hw/rss_ctx.py",
    "hw/pp_alloc_fail.py",
    "hw/devlink_port_split.py",
)
CSUM = {
    "rx_tcp": "-t",
    "rx_tcp_invalid": "-t -E",
    "rx_udp": "",
    "rx_udp_invalid": "-E",
    "tx_udp_csum_offload": "-U -r 1",
    "tx_udp_zero_checksum": "-U -Z",
}
"""The cases of ``hw/csum.py``, with the arguments that it gives its program ``net/lib/csum``."""
CSUM_LISTENS = "grep -q :84D0 /proc/net/udp /proc/net/udp6"
"""Port 34000, to which the program ``net/lib/csum`` binds."""
IPERF3_LISTENS = "grep -q ':1451 .* 0A ' /proc/net/tcp /proc/net/tcp6"
IPERF3_PID = "/run/rival-iperf3.pid"
LISTENS_S = 10
_LEFT_BEHIND = """for kind in macvlan vlan bridge vrf; do
ip -o link show type $kind | cut -d: -f2 | cut -d@ -f1 | while read name; do ip link delete $name; done; done"""
"""Deletes the interfaces of a selftest that was ended."""
SSH_S, COPY_S, CARRIER_S = 30, 120, 30
_KTAP = re.compile(r"^(ok|not ok) \d+ (\S+)(?: # (SKIP|XFAIL) ?(.*))?$", re.MULTILINE)
_SHELL = re.compile(r"^TEST: (.*?) +\[ *(OK|FAIL|XFAIL|SKIP) *\]$", re.MULTILINE)
_PINGED = re.compile(r"^(\d+) packets transmitted, (\d+) received", re.MULTILINE)

Cases = dict[str, str]


def read_ktap(text: str) -> Cases:
    """The cases of a selftest in Python, as it reports them."""
    cases = {}
    for word, name, excuse, reason in _KTAP.findall(text):
        cases[name] = f"{excuse.lower()}: {reason}" if excuse else "ok" if word == "ok" else "failed"
    if "ok" in cases.values():
        return cases
    raised = re.findall(r"^(?:# Exception\| )?(\w*(?:Error|Exception|Failure): .*)$", text, re.MULTILINE)
    return cases | {"": raised[-1] if raised else _last_line(text)}


def read_shell(text: str) -> Cases:
    """The cases of a selftest of ``net/forwarding``, as it reports them."""
    cases = {name: "ok" if word == "OK" else word.lower() for name, word in _SHELL.findall(text) if "SKIP:" not in name}
    skipped = re.search(r"SKIP: ([^\[\n]*)", text)
    return cases or {"": skipped[1].strip() if skipped else _last_line(text)}


def read_ping(text: str) -> str:
    """``ok`` when each ping was answered once with its own data, else what ping said."""
    counts = _PINGED.search(text)
    if counts is None:
        return _last_line(text)
    sent, received = int(counts[1]), int(counts[2])
    twice, damaged = text.count("(DUP!)"), text.count("wrong data byte")
    if sent == received and not twice and not damaged:
        return "ok"
    return f"{received} of {sent} pings answered, {twice} twice, {damaged} damaged"


def _last_line(text: str) -> str:
    lines = [line.strip("# ") for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


class Servers:
    """The servers of a bench that is up, with the tools on them.

    Args:
        name: The bench.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._bench = slots.bench(name)
        self._identity = Identity(self._bench)
        self._interfaces: dict[tuple[str, int], str] = {}

    def vbench(self, *words: str) -> str:
        """Run ``vbench`` on this bench; returns what it printed."""
        first = 2 if words[0] == "fault" else 1
        program = str(REPOSITORY / "lab/virtual/vbench")
        command = [sys.executable, program, *words[:first], "--name", self.name, *words[first:]]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise SystemExit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def _ssh(self, role: str) -> list[str]:
        """The command of a login; logins of a minute share one connection, as each costs the server a second."""
        *command, host = lifecycle.ssh_command(self._bench.server(role), self._identity)
        shared = ("ControlMaster=auto", "ControlPersist=60", f"ControlPath={self._bench.folder}/ssh-{role}")
        return [*command, *(word for option in shared for word in ("-o", option)), host]

    def said(self, role: str, command: str, within_s: float = SSH_S) -> str:
        """Run a command; returns what it printed, whatever its exit status."""
        words = [*self._ssh(role), f"timeout -k 5 {within_s:g} bash -c {shlex.quote(command)} 2>&1"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=within_s + SSH_S, stdin=subprocess.DEVNULL)
        return done.stdout

    def _copy(self, role: str, folder: Path, target: str) -> None:
        pack = subprocess.Popen(["tar", "-c", "-C", str(folder), "."], stdout=subprocess.PIPE)
        unpack = f"mkdir -p {target} && tar -x --no-same-owner --no-overwrite-dir --keep-directory-symlink -C {target}"
        subprocess.run([*self._ssh(role), unpack], stdin=pack.stdout, check=True, timeout=COPY_S)
        if pack.wait():
            raise SystemExit(f"tar could not read {folder}")

    def interface(self, role: str, number: int) -> str:
        """The interface of a port."""
        if (role, number) not in self._interfaces:
            place = f"/sys/bus/pci/devices/{self._bench.server(role).ports[number].pci}/net"
            (self._interfaces[role, number],) = self.said(role, f"ls {place}").split()
        return self._interfaces[role, number]

    def prepare(self) -> None:
        """Put selftests and what they need on both servers; a disk that has them is left alone."""
        sources = driver_source.folder(KERNEL, members=MEMBERS)
        mark = f"{PLACE}/{sources.name}"
        roles = [role for role in ("dut", "peer") if "ready" not in self.said(role, f"test -e {mark} && echo ready")]
        if roles:
            with tempfile.TemporaryDirectory() as scratch:
                root = Path(scratch)
                _unpacked_packages(root)
                _built_programs(root, sources)
                for role in roles:
                    self._copy(role, sources, PLACE)
                    self._copy(role, root, "/")
                    self.said(role, f"ln -f /usr/local/bin/csum {PLACE}/{SELFTESTS}/net/lib/csum; touch {mark}")
        self._give_key()

    def _give_key(self) -> None:
        """The dut may log in to the peer, by the port of the tunnel."""
        options = ("HostName 127.0.0.1", f"Port {PEER_PORT}", "IdentityFile /root/.ssh/peer")
        checks = ("StrictHostKeyChecking no", "UserKnownHostsFile /dev/null", "LogLevel ERROR")
        shared = ("ControlMaster auto", "ControlPath /run/peer-ssh")
        with tempfile.TemporaryDirectory() as scratch:
            key = Path(scratch, "peer")
            key.write_bytes(self._identity.user_key.read_bytes())
            key.chmod(0o600)
            Path(scratch, "config").write_text(
                "Host peer\n" + "".join(f"  {line}\n" for line in (*options, *checks, *shared))
            )
            self._copy("dut", Path(scratch), "/root/.ssh")

    @contextmanager
    def tunnel(self) -> Iterator[None]:
        """While it lasts, the dut reaches the peer's SSH, past the cards."""
        peer = self._bench.server("peer").address
        *command, host = lifecycle.ssh_command(self._bench.server("dut"), self._identity)
        forward = f"127.0.0.1:{PEER_PORT}:{peer}:{lifecycle.SSH_PORT}"
        with subprocess.Popen([*command, "-N", "-R", forward, host], stdin=subprocess.DEVNULL) as process:
            try:
                if not until(self._is_let_in, within_s=SSH_S, every_s=1):
                    raise SystemExit(f"the dut cannot log in to the peer within {SSH_S} s")
                yield
            finally:
                self.said("dut", "ssh -q -O exit peer")
                process.terminate()

    def _is_let_in(self) -> bool:
        return "peer" in self.said("dut", "ssh -fNM peer > /dev/null 2>&1; ssh -q peer hostname")

    def connect(self) -> None:
        """Both cables direct, every port up with addresses of its own and nothing else, carrier on all."""
        self.vbench("wiring", "direct")
        for role in ("dut", "peer"):
            self.said(role, _LEFT_BEHIND)
        names = {role: [self.interface(role, number) for number in (0, 1)] for role in ("dut", "peer")}
        for role, host in (("dut", 1), ("peer", 2)):
            commands = []
            for number, name in enumerate(names[role]):
                net = 10 + number
                commands += [f"ip address flush dev {name}", f"ip link set {name} down"]
                commands += [f"ip link set {name} mtu 1500 up"]
                commands += [f"ip address add 198.18.{net}.{host}/24 dev {name}"]
                commands += [f"ip address add fd00:{net}::{host}/64 dev {name} nodad"]
            self.said(role, "; ".join(commands))
        self._write_config(names["dut"][0])
        # not required: a defect may leave a link down
        until(lambda: all(map(self._has_carrier, names, names.values())), within_s=CARRIER_S, every_s=1)

    def _has_carrier(self, role: str, names: Sequence[str]) -> bool:
        return self.said(role, f"cat /sys/class/net/{{{','.join(names)}}}/carrier").split() == ["1", "1"]

    def _write_config(self, name: str) -> None:
        """``net.config``, as ``drivers/net/README.rst`` wants it."""
        lines = [f"NETIF={name}", "LOCAL_V4=198.18.10.1", "REMOTE_V4=198.18.10.2", "LOCAL_V6=fd00:10::1"]
        lines += ["REMOTE_V6=fd00:10::2", "REMOTE_TYPE=ssh", "REMOTE_ARGS=peer"]
        folder = f"{PLACE}/{SELFTESTS}/drivers/net"
        printed = " ".join(f'"{line}"' for line in lines)
        self.said("dut", f'printf "%s\n" {printed} | tee {folder}/net.config > {folder}/hw/net.config')

    def versions(self) -> dict[str, str]:
        """Versions of what was run, and of the kernel that it ran on."""
        return {
            "selftests of Debian's": driver_source.folder(KERNEL, members=MEMBERS).name.rpartition("-")[0],
            "servers' kernel": self.said("dut", "uname -v").strip(),
            "ping of": self.said("dut", "ping -V | sed -n 's/^ping from //p'").strip(),
            "iperf3 of": self.said("dut", "iperf3 --version | head -n 1").strip(),
        }

    def program(self, name: str) -> Cases:
        """Run a selftest of ``drivers/net`` in Python."""
        folder, _, file = f"{PLACE}/{SELFTESTS}/drivers/net/{name}".rpartition("/")
        return read_ktap(self.said("dut", f"cd {folder} && python3 {file}", within_s=90))

    def csum(self) -> Cases:
        """Run the program of ``hw/csum.py`` with the arguments of each of its cases; both ends must end with 0."""
        dut, peer = self.interface("dut", 0), self.interface("peer", 0)
        ends = {"ipv4": ("-4", "198.18.10.1", "198.18.10.2"), "ipv6": ("-6", "fd00:10::1", "fd00:10::2")}
        cases = {}
        for family, (option, mine, other) in ends.items():
            for name, words in CSUM.items():
                sends = name.startswith("tx")
                source, target = (mine, other) if sends else (other, mine)
                fixed = f"{'-L 1' if sends else ''} -n 100 {option} -S {source} -D {target} {words}"
                fixed += "" if sends else " -r 1"
                here = f"timeout 10 csum -i {dut} {fixed} {'-T' if sends else '-R'} > /dev/null 2>&1"
                there = f"ssh -q peer timeout 10 csum -i {peer} {fixed} {'-R' if sends else '-T'} > /dev/null 2>&1"
                receiver, sender = (there, here) if sends else (here, there)
                listens = f"ssh -q peer {shlex.quote(_awaited(CSUM_LISTENS))}" if sends else _awaited(CSUM_LISTENS)
                line = f"{receiver} & p=$!; {listens}; {sender}; s=$?; wait $p; echo ended $s $?"
                ended = self.said("dut", line, within_s=40)
                cases[f"{family}_{name}"] = "ok" if "ended 0 0" in ended else "failed"
        return cases

    def forwarding(self, file: str, tests: str = "") -> Cases:
        """Run a selftest of ``net/forwarding`` for two ports of one server: p1 sends to p0, through the switch."""
        sender, receiver = self.interface("dut", 1), self.interface("dut", 0)
        self.vbench("wiring", "switch")
        self.said("dut", f"for each in {sender} {receiver}; do ip address flush dev $each; done")
        chosen = f'TESTS="{tests}" ' if tests else ""
        command = f"cd {PLACE}/{SELFTESTS}/net/forwarding && {chosen}WAIT_TIME=2 bash ./{file} {sender} {receiver}"
        cases = read_shell(self.said("dut", command, within_s=200))
        self.connect()
        return {name.replace(receiver, "port").replace(sender, "other port"): said for name, said in cases.items()}

    def plain(self) -> tuple[Cases, dict[str, float]]:
        """Ping over both cables, and iperf3 over the first in both directions.

        Returns:
            What ping said of each cable, and what iperf3 received in Mbit/s.
        """
        cases = {}
        for number, cable in enumerate("ab"):
            command = f"ping -c 100 -i 0.05 -W 1 -s 1400 198.18.{10 + number}.2"
            cases[f"ping over cable {cable}"] = read_ping(self.said("dut", command))
        rates = {}
        for way, option in (("dut to peer", ""), ("peer to dut", "-R")):
            self.said("peer", f"iperf3 -s -1 -D -I {IPERF3_PID}; {_awaited(IPERF3_LISTENS)}")
            text = self.said("dut", f"iperf3 -J -t 5 {option} -c 198.18.10.2", within_s=25)
            self.said("peer", f"test ! -e {IPERF3_PID} || kill $(cat {IPERF3_PID})")
            try:
                rates[f"iperf3 {way}"] = round(json.loads(text)["end"]["sum_received"]["bits_per_second"] / 1e6, 1)
            except (ValueError, KeyError):
                rates[f"iperf3 {way}"] = 0.0
        return cases, rates


def _awaited(condition: str) -> str:
    """The command that asks ``condition`` until it holds, for :data:`LISTENS_S` at most."""
    return f"timeout {LISTENS_S} bash -c {shlex.quote(f'until {condition}; do sleep 0.1; done')}"


def _unpacked_packages(root: Path) -> None:
    """The files of :data:`PACKAGES`, without what nobody reads."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        debian.download([*PACKAGES, *" ".join(PACKAGES.values()).split()], folder)
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
    subprocess.run(["rm", "-r", "-f", str(root / "usr/share/doc"), str(root / "usr/share/man")], check=True)


def _built_programs(root: Path, sources: Path) -> None:
    """The selftests' own program, and the stand-ins for mtools."""
    folder = root / "usr/local/bin"
    folder.mkdir(parents=True)
    tests = sources / SELFTESTS
    build = ["gcc", "-O2", "-static", f"-I{tests}", "-o", str(folder / "csum"), str(tests / "net/lib/csum.c")]
    subprocess.run(build, check=True)
    for name in ("msend", "mreceive"):
        (folder / name).write_bytes(Path(__file__).with_name("rival_multicast.py").read_bytes())
        (folder / name).chmod(0o755)
