"""The words of drivers that a link came or went, from the sources of Linux 6.1."""

from __future__ import annotations

import pytest

from niclab.hosts.kernel.kernel_log import KernelLine
from niclab.hosts.kernel.link_lines import link_news

UP = (
    "e1000e 0000:01:00.0 v0: NIC Link is Up 1000 Mbps Full Duplex, Flow Control: Rx/Tx",
    "igb 0000:01:00.0 v0: igb: v0 NIC Link is Up 1000 Mbps Full Duplex, Flow Control: RX",
    "ixgbe 0000:01:00.0 v0: NIC Link is Up 10 Gbps, Flow Control: RX/TX",
    "bnx2x 0000:01:00.0 v0: NIC Link is Up, 10000 Mbps full duplex, Flow control: none",
    "be2net 0000:01:00.0 v0: Link is Up",
    "cxgb4 0000:01:00.4 v0: link up, 40Gbps, full-duplex, Tx/Rx PAUSE",
    "sfc 0000:01:00.0 v0: link up at 10000Mbps full-duplex (MTU 1500)",
    "acenic 0000:01:00.0 v0: Optical link UP (Full Duplex, Flow Control: TX RX)",
)
DOWN = (
    "e1000e 0000:01:00.0 v0: NIC Link is Down",
    "bnx2x 0000:01:00.0 v0: NIC Link is Down",
    "be2net 0000:01:00.0 v0: Link is Down",
    "cxgb4 0000:01:00.4 v0: link down, reason: Link Down",
    "sfc 0000:01:00.0 v0: link down",
    "acenic 0000:01:00.0 v0: Optical link DOWN",
)
OTHERS = (
    "IPv6: ADDRCONF(NETDEV_CHANGE): v0: link becomes ready",
    "niclab0: (slave v0): link status definitely down, disabling slave",
    "niclab0: (slave v0): link status definitely up, 1000 Mbps full duplex",
    "e1000e 0000:01:00.0 v0: renamed from eth0",
    "e1000e 0000:01:00.0 v01: NIC Link is Down",
    "e1000e 0000:01:00.0 eth0: NIC Link is Down",
    "e1000e 0000:01:00.0 v0: Reset adapter unexpectedly",
)


@pytest.mark.parametrize(("lines", "up"), [(UP, True), (DOWN, False)])
def test_every_driver_is_understood(lines: tuple[str, ...], up: bool) -> None:
    found = link_news([KernelLine(float(number), line) for number, line in enumerate(lines)], "v0")
    assert [each.at_s for each in found] == list(range(len(lines))) and {each.up for each in found} == {up}


@pytest.mark.parametrize("line", OTHERS)
def test_other_lines_say_nothing_of_it(line: str) -> None:
    assert link_news([KernelLine(1.0, line)], "v0") == ()


def test_a_line_without_a_stamp_is_of_no_use() -> None:
    assert link_news([KernelLine(None, DOWN[0])], "v0") == ()
