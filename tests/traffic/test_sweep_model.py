"""The predictions of a sweep's points about each other."""

from __future__ import annotations

import pytest

from niclab.traffic.limits.sweep_model import Spot, by_frame_rate, floor
from niclab.traffic.tools.tool import TrafficTest

STREAM, UDP = TrafficTest.TCP_STREAM, TrafficTest.UDP_STREAM


@pytest.mark.parametrize(
    ("spot", "frames"),
    [
        (Spot(UDP, 1500, 64), 1),
        (Spot(UDP, 1500, 1472), 1),
        (Spot(UDP, 1500, 1473), 2),
        (Spot(UDP, 1500, 8192), 6),
        (Spot(UDP, 576, 8192), 15),
        (Spot(UDP, 9000, 8192), 1),
        (Spot(STREAM, 1500, 65536), 65536 / 1448),
        (Spot(STREAM, 576, 512), 512 / 524),
    ],
)
def test_frames_of_a_message(spot: Spot, frames: float) -> None:
    assert spot.frames == frames


def test_a_smaller_message_by_the_next_larger_one() -> None:
    known = {Spot(STREAM, 1500, 256): 40.0, Spot(STREAM, 1500, 128): 30.0, Spot(UDP, 1500, 128): 1.0}
    found = floor(Spot(STREAM, 1500, 64), known, 1500)
    assert found is not None and found.mbps == pytest.approx(0.75 * 15)
    assert found.why == (
        "assumption: as many messages a second as TCP_STREAM of 128 bytes at MTU 1500, 15 Mbit/s, less 25 %"
    )


def test_smaller_frames_by_their_number_and_larger_ones_by_what_they_carry() -> None:
    known = {Spot(UDP, 1500, 8192): 40.0}
    small, large = (floor(Spot(UDP, mtu, 8192), known, 1500) for mtu in (576, 9000))
    assert small is not None and small.mbps == pytest.approx(0.75 * 40 * 6 / 15)
    assert large is not None and large.mbps == pytest.approx(30) and "no less than UDP_STREAM of 8192" in large.why


@pytest.mark.parametrize(
    ("spot", "mbps", "why"),
    [
        (Spot(STREAM, 9000, 2048), 930, "no less than TCP_STREAM of 2048 bytes at MTU 1500"),
        (Spot(STREAM, 576, 2048), 930 * 524 / 1448, "as many frames a second as TCP_STREAM of 2048 bytes at MTU 1500"),
        (Spot(STREAM, 9000, 32768), 490, "as many messages a second as TCP_STREAM of 65536 bytes at MTU 9000"),
    ],
)
def test_the_highest_floor_counts(spot: Spot, mbps: float, why: str) -> None:
    rates = {(1500, 65536): 940.0, (1500, 32768): 300.0, (1500, 2048): 930.0, (9000, 65536): 980.0, (576, 65536): 350.0}
    found = floor(spot, {Spot(STREAM, *point): mbps for point, mbps in rates.items()}, 1500)
    assert found is not None and found.mbps == pytest.approx(0.75 * mbps) and why in found.why


@pytest.mark.parametrize("message", [64, 512, 1024, 2048, 4096, 65536])
def test_a_card_with_a_limit_of_frames_is_sound_at_small_frames(message: int) -> None:
    """TCP fills frames with small messages: 1250 a second carry what their payload is, whatever the messages are."""
    rate = {mtu: 1250 * (mtu - 52) * 8e-6 for mtu in (576, 1500)}
    found = floor(Spot(STREAM, 576, message), {Spot(STREAM, 1500, message): rate[1500]}, 1500)
    assert found is not None and found.mbps == pytest.approx(0.75 * rate[576])


def test_the_first_point_has_nothing_to_compare_with() -> None:
    assert floor(Spot(UDP, 1500, 65500), {Spot(STREAM, 1500, 65500): 1.0}, 1500) is None


@pytest.mark.parametrize(
    ("message", "frames_per_s", "mbps"),
    [(1472, 1250, 14.72), (64, 1250, 0.64), (8192, 1250, 13.65), (1472, 90_000, 47.85)],
)
def test_a_frame_rate_or_the_line_limits_datagrams(message: int, frames_per_s: float, mbps: float) -> None:
    assert by_frame_rate(Spot(UDP, 1500, message), frames_per_s, 50.0) == pytest.approx(mbps, rel=1e-3)
