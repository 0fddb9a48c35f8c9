"""The PCIe ceiling against figures known from elsewhere."""

from __future__ import annotations

import pytest

from niclab.hosts.host_records import PciDevice, PcieLink
from niclab.traffic.limits.pcie_ceiling import ceiling


def link(gts: float, width: int, payload: int | None) -> PcieLink:
    return PcieLink(PciDevice("0000:00:01.0"), PciDevice("0000:01:00.0", max_payload_bytes=payload), gts, width)


@pytest.mark.parametrize(
    ("gts", "width", "payload", "gbps"),
    [
        (2.5, 1, None, 2.0 * 128 / 152),  # 8b/10b leaves 2 Gbit/s a lane
        (5.0, 8, 256, 32.0 * 256 / 280),
        (8.0, 8, 256, 63.015 * 256 / 280),  # 7.877 Gbit/s a lane
        (16.0, 16, 512, 252.06 * 512 / 536),
        (64.0, 4, 512, 236.0 * 512 / 536),
    ],
)
def test_ceilings(gts: float, width: int, payload: int | None, gbps: float) -> None:
    assert ceiling([link(gts, width, payload)]).bps == pytest.approx(gbps * 1e9, rel=1e-4)


def test_the_narrowest_link_of_a_path_counts() -> None:
    found = ceiling([link(8, 16, 256), link(8, 2, 256), link(8, 8, 256)])
    assert found.text.startswith("14.40 Gbit/s over PCIe 8 GT/s x2 with payloads of 256 bytes (0000:00:01.0 ->")


def test_no_link_is_no_ceiling() -> None:
    with pytest.raises(ValueError, match="no links"):
        ceiling([])
