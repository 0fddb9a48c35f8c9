"""Commands that may touch a link, and those that only look."""

from __future__ import annotations

import pytest
from fake_shell import FakeShell

from niclab.hosts.link_touching import may_touch_a_link
from niclab.hosts.linux_host import LinuxHost

TOUCHING = (
    "ip link set dev v0 up && ip -j -s -d addr show dev v0",
    "ip link set dev v0 mtu 9000",
    "ip -force -batch - <<END\nlink set dev v0 master bond0\nEND",
    "ip link delete dev bond0",
    "LC_ALL=C ethtool -G v0 rx 512 || test $? -eq 80",
    "ethtool -t v0 offline",
    "ethtool -s v0 speed 100",
    "ethtool -r v0",
    "ethtool --reset v0 all",
    "ethtool -i v0 && ethtool -K v0 tso off",
    "modprobe -r e1000e && modprobe e1000e",
    "echo 0000:01:00.0 > /sys/bus/pci/drivers/e1000e/unbind",
    "echo 1 > /sys/class/net/v0/device/reset",
    "ifconfig oce0 down",
    "sysctl dev.oce.0.x=1",
    "DEBIAN_FRONTEND=noninteractive dpkg --purge x",
    "setpci -s 0000:01:00.0 CAP_EXP+8.w=0007",
    "echo 4 > /sys/class/net/v0/queues/rx-0/size",
    "reboot",
)
LOOKING = (
    "ip -j -s -d addr show dev v0",
    "ip addr add 198.18.0.1/24 dev v0",
    "cat /sys/class/net/v0/carrier_changes",
    "ethtool v0",
    "ethtool --json -k v0; ethtool -S v0",
    "ethtool -i v0; ethtool -m v0 hex on",
    "dmesg --level=err > /tmp/x",
    "echo 'niclab mark 1' > /dev/kmsg",
    "iperf3 -c 198.18.0.1 -t 10",
    "ping -c 3 198.18.0.1",
    "ifconfig oce0",
    "ethtool --version",
    "modprobe --version",
    "command -v modprobe",
    "if [ -e aer_dev_correctable ]; then v=$(setpci -s 0000:01:00.0 CAP_EXP+8.w ECAP_AER+8.l) || exit; fi",
    "echo 00000001 > /sys/class/net/v0/queues/rx-0/rps_cpus",
    "echo 32768 > /proc/sys/net/core/rps_sock_flow_entries; echo 32768 > /sys/class/net/v0/queues/rx-0/rps_flow_cnt",
    "sysctl net.ipv4.tcp_window_scaling=0",
    "kill -USR1 42",
    "rm -f /tmp/niclab.x/result && printf %s x > plan && kill -USR1 42",
)


@pytest.mark.parametrize("command", TOUCHING)
def test_what_may_touch_a_link(command: str) -> None:
    assert may_touch_a_link(command)


@pytest.mark.parametrize("command", LOOKING)
def test_what_only_looks(command: str) -> None:
    assert not may_touch_a_link(command)


def test_every_undo_of_a_port_may() -> None:
    undo = LinuxHost(
        FakeShell({"cat /etc/os-release": "ID=debian\n", "modinfo -n e1000e": "/lib/modules/e1000e.ko\n"}), "dut"
    ).undo
    commands = (
        undo.link("v0", up=True),
        undo.port("v0", True, ["198.18.0.1/24"]),
        undo.upper("bond0"),
        undo.load_driver("e1000e"),
        undo.unload_driver("e1000e"),
        undo.firmware("v0", "image.bin"),
        undo.package("e1000e-modules", None, "e1000e"),
    )
    assert [each for each in commands if not may_touch_a_link(each)] == []
