"""The network settings of the guest, applied in a network namespace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import network_namespaces
import pytest

SETTINGS = Path(__file__).parents[2] / "lab/virtual/guest/root/etc/sysctl.d/60-ip.conf"
INTERRUPTED = """
import socket, struct, sys
from pathlib import Path

HOST = "127.0.0.1"


def fragment(protocol, number, offset, more, payload):
    flags = (0x2000 if more else 0) | offset // 8
    ends = 2 * socket.inet_aton(HOST)
    return struct.pack("!BBHHHBBH8s", 0x45, 0, 20 + len(payload), number, flags, 64, protocol, 0, ends) + payload


sender = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind((HOST, 7300))
receiver.settimeout(1.0)
Path("/proc/sys/net/ipv4/ipfrag_max_dist").write_text(sys.argv[1])
datagram = struct.pack("!HHHH", 7300, 7300, 2968, 0) + bytes(2960)
segments = [fragment(6, 1 + n // 40, n % 40 * 1480, n % 40 != 39, bytes(1480)) for n in range(80)]
halves = [fragment(17, 99, 0, True, datagram[:1480]), fragment(17, 99, 1480, False, datagram[1480:])]
for each in (halves[0], *segments, halves[1]):
    sender.sendto(each, (HOST, 0))
print(len(receiver.recv(65536)))
"""


@pytest.mark.skipif(not network_namespaces.are_possible(), reason="needs root and network namespaces with veth")
def test_a_datagram_whose_fragments_are_far_apart_is_put_together() -> None:
    lines = [line.partition(" = ") for line in SETTINGS.read_text().splitlines() if not line.startswith("#")]
    most = {name: value for name, _, value in lines}.get("net.ipv4.ipfrag_max_dist", "64")
    command = ["unshare", "-n", "sh", "-ec", 'ip link set lo up && exec "$@"', "sh", sys.executable, "-c", INTERRUPTED]
    shown = subprocess.run([*command, most], capture_output=True, text=True, timeout=30)
    assert shown.stdout == "2960\n", shown.stderr
