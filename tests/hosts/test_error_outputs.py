"""The errors of the tools, and the output of other systems' tools of the same name, are refused."""

from __future__ import annotations

import pytest

from niclab.commands.parse import parse
from niclab.hosts.errors import ReadError

REFUSED = [
    ("ethtool-i", "Cannot get driver information: No such device\n"),
    ("ethtool-i", "Cannot get driver information: Operation not supported\n"),
    (
        "ethtool",
        "Settings for eth7:\n"
        "Cannot get device settings: No such device\n"
        "Cannot get wake-on-lan settings: No such device\n"
        "Cannot get message level: No such device\n"
        "Cannot get link status: No such device\n"
        "No data available\n",
    ),
    ("ethtool", "Settings for eth7:\n\tNo data available\n"),
    ("ethtool-S", "no stats available\n"),
    ("ethtool-S", "NIC statistics:\n     rx_packets: -5\n"),
    ("ethtool-S", "NIC statistics:\n     rx_packets: abc\n"),
    ("ethtool-g", "Cannot get device ring settings: Operation not supported\n"),
    ("ethtool-g", "Ring parameters for eth0:\nCannot get device ring settings: Operation not supported\n"),
    ("ethtool-g", "netlink error: Operation not supported\n"),
    ("ethtool-l", "Channel parameters for eth0:\nCannot get device channel parameters\n: Operation not supported\n"),
    ("ethtool-x", "Cannot get RX ring count: Operation not supported\n"),
    ("ethtool-n", "Cannot get RX network flow hashing options: Operation not supported\n"),
    ("ethtool-c", "Cannot get device coalesce settings: Operation not supported\n"),
    ("ethtool-a", "Pause parameters for eth0:\nCannot get device pause settings: Operation not supported\n"),
    ("bonding", "cat: /proc/net/bonding/bond0: No such file or directory\n"),
    ("bonding", "Bonding Mode: fast\n"),
    ("lspci", "pcilib: Cannot open /proc/bus/pci\nlspci: Cannot find any working access method.\n"),
    ("lspci", "-[0000:00]-+-00.0\n           +-01.0\n"),
    ("modinfo", "modinfo: ERROR: Module nosuch not found.\n"),
    ("modinfo", "modinfo: could not find module nosuch\n"),
    ("modinfo", "version:        5.1.0-k\n"),
    ("sysctl-freebsd", "hw.ncpu="),
    ("dmesg", "dmesg: read kernel buffer failed: Operation not permitted\n"),
    ("dmesg", "dmesg: klogctl: Operation not permitted\n"),
    ("ifconfig-freebsd", "ifconfig: interface oce7 does not exist\n"),
    (
        "ifconfig-freebsd",
        "eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500\n"
        "        inet 192.168.1.5  netmask 255.255.255.0  broadcast 192.168.1.255\n"
        "        ether 00:0c:29:01:02:03  txqueuelen 1000  (Ethernet)\n"
        "        RX packets 123  bytes 456 (456.0 B)\n",
    ),
    (
        "ifconfig-freebsd",
        "eth0      Link encap:Ethernet  HWaddr 00:0C:29:01:02:03\n"
        "          inet addr:10.0.0.5  Bcast:10.0.0.255  Mask:255.255.255.0\n"
        "          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1\n",
    ),
    ("pciconf", "pciconf: /dev/pci: Operation not permitted\n"),
    ("sysctl-freebsd", "net.ipv4.ip_forward = 1\n"),
    (
        "netperf",
        "establish control: are you sure there is a netserver listening on 10.0.0.2 at port 12865?\n"
        "establish_control could not establish the control connection from 0.0.0.0 port 0 address family AF_UNSPEC"
        " to 10.0.0.2 port 12865 address family AF_INET\n",
    ),
    (
        "netperf",
        "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n"
        "Recv   Send    Send                          \n"
        "Socket Socket  Message  Elapsed              \n"
        "Size   Size    Size     Time     Throughput  \n"
        "bytes  bytes   bytes    secs.    10^6bits/sec  \n"
        "\n",
    ),
    (
        "netperf",
        "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n"
        "Recv   Send    Send                          \n"
        "Socket Socket  Message  Elapsed              \n"
        "Size   Size    Size     Time     Throughput  \n"
        "bytes  bytes   bytes    secs.    10^6bits/sec  \n"
        "\n"
        " 87380  16384  16384    10.00       0.00   \n",
    ),
    ("iperf3", "iperf3: error - unable to connect to server: Connection refused\n"),
    ("iperf3", '{"start":{},"error":"unable to connect to server: Connection refused"}\n'),
    ("interrupts", "cat: /proc/interrupts: Permission denied\n"),
    ("ip-link", 'Device "eth9" does not exist.\n'),
    ("vlan", "cat: /proc/net/vlan/config: No such file or directory\n"),
    ("kldstat", "Module                  Size  Used by\nbe2net                 98304  0\n"),
    (
        "netstat-freebsd",
        "Kernel Interface table\n"
        "Iface   MTU Met   RX-OK RX-ERR RX-DRP RX-OVR    TX-OK TX-ERR TX-DRP TX-OVR Flg\n"
        "eth0       1500 0   100      0      0      0      100      0      0      0 BMRU\n",
    ),
    ("ethtool-k", "Features for eth0:\nrx-checksumming: maybe\n"),
    ("ethtool-k", "Cannot get device feature names: No such device\n"),
    ("interrupts", "Sorry, try again.\n[sudo] password for joe: \nsudo: 1 incorrect password attempt\n"),
]


@pytest.mark.parametrize(("kind", "text"), REFUSED)
def test_an_error_is_no_record(kind: str, text: str) -> None:
    with pytest.raises(ReadError, match=r"cannot read .*; expected |worthless result: "):
        parse(kind, text)
