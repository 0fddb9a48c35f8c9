"""The test that left a value behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from niclab.core.verdict import BenchFault
from niclab.state.attribution import Ran, SentCommand, read_commands, who_left
from niclab.state.snapshot import Leftover

MTU = Leftover("dut", "enp1s0", "mtu", "1500", "9000")
FIRST, SECOND = Ran("First", 10.0, 20.0), Ran("Second", 20.5, 30.0)


def test_the_last_command_about_the_value_names_the_test() -> None:
    commands = [
        SentCommand("ip link set dev enp1s0 mtu 9000", 12.0),
        SentCommand("ip link set dev enp2s0 mtu 1500", 22.0),
        SentCommand("cat /sys/class/net/enp1s0/carrier", 23.0),
        SentCommand(": niclab state between\nip address show enp1s0 mtu", 29.0),
    ]
    assert who_left(MTU, commands, [FIRST, SECOND]) == "First"


@pytest.mark.parametrize(
    ("left", "command"),
    [
        (Leftover("dut", "enp1s0", "up", "yes", "no"), "ip link set dev enp1s0 down"),
        (Leftover("dut", "enp1s0", "offload tx-checksumming", "on", "off"), "ethtool -K enp1s0 tx off"),
        (Leftover("dut", "sysctl", "net.core.rmem_max", "1", "2"), "echo 2 > /proc/sys/net/core/rmem_max"),
        (
            Leftover("dut", "enp1s0", "sysctl arp_ignore", "0", "1"),
            "echo 1 > /proc/sys/net/ipv4/conf/enp1s0/arp_ignore",
        ),
        (Leftover("dut", "packages", "ethtool", "1", "absent"), "apt-get remove ethtool"),
        (Leftover("dut", "bond7", "interface", "absent", "bond"), "ip link add dev bond7 type bond"),
        (Leftover("dut", "iscsi", "node iqn.a", "absent", "present"), "iscsiadm -m node -T iqn.a -o new"),
        (Leftover("dut", "iscsi", "map 36001405", "absent", "present"), "exec multipathd -d -s"),
        (Leftover("peer", "iscsi", "target iqn.a", "absent", "present"), "mkdir /sys/kernel/config/target/iscsi/iqn.a"),
        (Leftover("dut", "nvme", "controller nqn.a", "absent", "present"), "env printf %s 'nqn=b' > /dev/nvme-fabrics"),
        (Leftover("peer", "nvme", "ports/1", "absent", "present"), "mkdir /sys/kernel/config/nvmet/ports/1"),
        (Leftover("peer", "nvme", "loop /tmp/niclab.nvme/v0", "absent", "present"), "losetup -f /tmp/niclab.nvme/v0"),
        (Leftover("dut", "nfs", "threads", "absent", "8"), "rpc.nfsd --udp 8"),
        (
            Leftover("dut", "nfs", "export /tmp/niclab.nfs to 198.18.10.2", "absent", "present"),
            "exportfs -o ro 198.18.10.2:/tmp/niclab.nfs",
        ),
    ],
)
def test_commands_of_other_kinds(left: Leftover, command: str) -> None:
    assert who_left(left, [SentCommand(command, 25.0)], [FIRST, SECOND]) == "Second"


def test_nobody_is_named_without_a_command_unless_there_is_one_test_alone() -> None:
    assert who_left(MTU, [], [FIRST, SECOND]) == ""
    assert who_left(MTU, [SentCommand("ip link set dev enp1s0 mtu 9000", 5.0)], [FIRST, SECOND]) == ""
    assert who_left(MTU, [], [SECOND]) == "Second"


def test_the_log_of_commands_is_read(tmp_path: Path) -> None:
    file = tmp_path / "commands-dut.jsonl"
    assert read_commands(file) == []
    file.write_text(json.dumps({"command": "true", "ended": 12.5, "seconds": 0.5}) + "\n")
    assert read_commands(file) == [SentCommand("true", 12.0)]
    file.write_text("{}\n")
    with pytest.raises(BenchFault, match="is no log of commands"):
        read_commands(file)
