"""Outages: what is proven, what is possible; a pause of the prober is never taken for an outage of the card."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from niclab.traffic import WorthlessResult
from niclab.traffic.outage import outage, outage_analysis
from niclab.traffic.outage.outage import Allowed
from niclab.traffic.outage.outage_analysis import Rules, analyse, direction
from niclab.traffic.outage.outage_records import EndLog, OutageReport, ProbedDirection

T0 = 1_700_000_000_000_000
AHEAD_US = 250_000
"""The receiver's clock is ahead of the sender's."""
DELAY_US = 400
NAMES = ("dut", "peer")


def steady(count: int, start: int = T0, step: int = 1000) -> tuple[int, ...]:
    return tuple(range(start, start + count * step, step))


def ends(
    count: int = 1000,
    *,
    lost: range | set[int] = range(0),
    ticks: tuple[int, ...] | None = None,
    receiver_ticks: tuple[int, ...] | None = None,
    delays: dict[int, int] | None = None,
) -> tuple[EndLog, EndLog]:
    """Sender and receiver of one direction: every packet arrives after ``DELAY_US``, but those that are ``lost``."""
    ticks = ticks or steady(count)
    # the receiver ticks from 5 ms before the first packet to 5 ms after the last
    listens = receiver_ticks or steady((ticks[-1] - ticks[0]) // 1000 + 11, T0 + AHEAD_US - 5000)
    arrivals = [
        (n, ticks[n] + AHEAD_US + DELAY_US + (delays or {}).get(n, 0)) for n in range(len(ticks)) if n not in lost
    ]
    sender = EndLog(ticks, frozenset(), frozenset(), (), 0, 0)
    return sender, EndLog(listens, frozenset(), frozenset(), tuple(sorted(arrivals, key=lambda pair: pair[1])), 0, 0)


def found(sender: EndLog, receiver: EndLog) -> ProbedDirection:
    return direction(sender, receiver, NAMES, Rules())


def test_nothing_lost_is_no_outage() -> None:
    seen = found(*ends())
    assert (seen.sent, seen.arrived, seen.lost, seen.outages) == (1000, 1000, 0, ())
    assert (seen.proven_ms, seen.at_most_ms, seen.over) == (0, 1.0, True)
    assert (seen.worst_delay_ms, seen.first_us) == (0, T0)


def test_the_first_packet_that_arrived_tells_when_it_began() -> None:
    assert found(*ends(lost=range(200))).first_us == T0 + 200_000


def test_an_outage_has_a_start_a_length_and_a_bound() -> None:
    seen = found(*ends(lost=range(300, 400)))
    (outage,) = seen.outages
    assert outage.start_us == T0 + 300_000
    assert (outage.proven_ms, outage.at_most_ms, outage.packets, outage.over) == (99.0, 101.0, 100, True)
    assert (seen.proven_ms, seen.at_most_ms, seen.lost) == (99.0, 101.0, 100)


def test_a_single_packet_proves_a_loss_and_no_length() -> None:
    (outage,) = found(*ends(lost={500})).outages
    assert (outage.proven_ms, outage.at_most_ms, outage.packets, outage.heard) == (0, 2.0, 1, 1)


def test_two_outages_add_up() -> None:
    seen = found(*ends(lost={*range(100, 150), *range(700, 800)}))
    assert [outage.packets for outage in seen.outages] == [50, 100]
    assert (seen.proven_ms, seen.at_most_ms) == (148.0, 152.0)


def test_an_outage_that_is_not_over_says_so() -> None:
    seen = found(*ends(lost=range(600, 1000)))
    assert seen.over is False and seen.outages[0].proven_ms == 399.0
    assert "or more" in str(seen.outages[0]) and "not over" in str(seen)


def test_a_pause_of_the_sender_is_not_an_outage_but_one_may_hide_in_it() -> None:
    ticks = (*steady(500), *steady(500, T0 + 700_000))
    seen = found(*ends(ticks=ticks))
    assert (seen.outages, seen.proven_ms, seen.at_most_ms) == ((), 0, 201.0)
    assert [blind.length_ms for blind in seen.sender.blind] == [201.0]


def test_a_pause_of_the_sender_in_an_outage_proves_nothing() -> None:
    ticks = (*steady(500), *steady(500, T0 + 700_000))
    (outage,) = found(*ends(ticks=ticks, lost=range(490, 510))).outages
    assert (outage.proven_ms, outage.at_most_ms) == (18.0, 221.0)


def test_a_pause_of_the_receiver_is_not_an_outage() -> None:
    sender, receiver = ends(lost=range(400, 450))
    pause = range(T0 + AHEAD_US + 399_000, T0 + AHEAD_US + 452_000)
    receiver = replace(receiver, ticks_us=tuple(tick for tick in receiver.ticks_us if tick not in pause))
    seen = found(sender, receiver)
    assert (seen.proven_ms, seen.at_most_ms, seen.outages[0].heard) == (0, 51.0, 0)
    assert [blind.length_ms for blind in seen.receiver.blind] == [54.0]


def test_what_is_lost_beside_a_pause_of_the_receiver_counts() -> None:
    sender, receiver = ends(lost=range(400, 500))
    pause = range(T0 + AHEAD_US + 450_000, T0 + AHEAD_US + 480_000)
    receiver = replace(receiver, ticks_us=tuple(tick for tick in receiver.ticks_us if tick not in pause))
    seen = found(sender, receiver)
    assert 60 <= seen.proven_ms <= 70 and seen.at_most_ms == 101.0


def test_ends_that_cannot_keep_the_pace_are_measured_by_their_own() -> None:
    """Every other step of both ends is 20 ms: a run of lost packets is an outage all the same."""
    ticks = [T0]
    for number in range(399):
        ticks.append(ticks[-1] + (1000 if number % 2 else 20_000))
    listens = tuple(tick + AHEAD_US - 5000 for tick in (*ticks, ticks[-1] + 20_000))
    seen = found(*ends(ticks=tuple(ticks), receiver_ticks=listens, lost=range(100, 200)))
    assert seen.sender.pause_ms == seen.receiver.pause_ms == 20.0
    assert seen.proven_ms == (ticks[199] - ticks[100]) / 1000 > 1000


def test_a_pace_that_is_too_coarse_proves_nothing() -> None:
    ticks = steady(100, step=60_000)
    listens = steady(6100, T0 + AHEAD_US - 5000)
    seen = found(*ends(ticks=ticks, receiver_ticks=listens, lost=range(10, 20)))
    assert (seen.sender.pause_ms, seen.proven_ms, seen.at_most_ms) == (50.0, 0, 660.0)


def test_packets_held_too_long_are_an_outage() -> None:
    held = {number: (1600 - number) * 1000 for number in range(500, 1600)}
    seen = found(*ends(2000, delays=held))
    assert seen.lost == 0 and seen.late == 100 and seen.worst_delay_ms == 1100.0
    assert (seen.outages[0].proven_ms, seen.outages[0].late) == (99.0, 100)


def test_packets_held_for_a_while_are_a_silence_that_an_outage_may_be() -> None:
    held = {number: (500 - number) * 1000 for number in range(300, 500)}
    seen = found(*ends(delays=held))
    assert (seen.lost, seen.late, seen.outages, seen.proven_ms) == (0, 0, (), 0)
    assert (seen.silent_most_ms, seen.at_most_ms) == (201.0, 201.0)


def test_packets_outside_the_receivers_time_are_not_judged() -> None:
    sender, receiver = ends(lost={*range(100), *range(900, 1000)})
    receiver = replace(receiver, ticks_us=steady(801, T0 + AHEAD_US + DELAY_US + 100_000))
    seen = found(sender, receiver)
    assert (seen.sent, seen.lost, seen.outages) == (800, 0, ())


def test_duplicates_and_reordering_are_counted() -> None:
    sender, receiver = ends(10)
    swapped = list(receiver.arrivals)
    swapped[3], swapped[4] = swapped[4], swapped[3]
    seen = found(sender, replace(receiver, arrivals=(*swapped, swapped[-1], swapped[0])))
    assert (seen.duplicated, seen.reordered, seen.lost) == (2, 1, 0)


def test_packets_that_the_kernel_refused_are_an_outage() -> None:
    sender, receiver = ends(lost=range(10, 40))
    seen = found(replace(sender, refused=frozenset(range(10, 40))), receiver)
    assert (seen.refused, seen.proven_ms) == (30, 29.0)


def test_packets_that_found_no_room_in_the_queue_prove_nothing_by_themselves() -> None:
    """A path that is slower than the probes: every second one finds no room, the others come through."""
    sender, receiver = ends(lost=[number for number in range(100, 500) if number % 3])
    full = frozenset(number for number in range(100, 500) if number % 3)
    seen = found(replace(sender, full=full), receiver)
    assert (seen.full, seen.lost, seen.proven_ms) == (len(full), len(full), 0)
    assert seen.at_most_ms >= 300
    assert f"{len(full)} not sent for a full queue" in str(seen)
    assert found(sender, receiver).proven_ms > 100  # the same packets, sent and lost
    report = OutageReport(seen, found(*ends()))
    assert outage.too_many_lost(report, Allowed(100, "sheet")) == []
    assert outage.unbroken(report).proven == [] and outage.unbroken(report).possible


def test_a_queue_that_is_full_behind_packets_that_were_lost_is_an_outage() -> None:
    sender, receiver = ends(lost=range(10, 400))
    seen = found(replace(sender, full=frozenset(range(287, 400))), receiver)
    assert (seen.full, seen.proven_ms, seen.outages[0].heard) == (113, 389.0, 277)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arrivals": ()}, "dut to peer: outage prober: no packet arrived at all"),
        ({"arrivals": ((1000, T0),)}, "dut to peer: outage prober: packet 1000 arrived, 1000 were sent"),
        ({"overflowed": 3}, "peer: outage prober: the receive buffer overflowed, 3 packets dropped"),
        ({"clock_step_us": -2001}, "peer: outage prober: the wall clock was stepped by -2001 us meanwhile"),
        ({"ticks_us": (T0,)}, "peer: outage prober: 1 packets were sent"),
        ({"ticks_us": (T0, T0 - 1)}, "peer: outage prober: the wall clock went back"),
        ({"ticks_us": (T0, T0 + 1)}, "dut to peer: outage prober: no packet arrived while both ends were at work"),
    ],
)
def test_notes_that_prove_nothing_are_refused(change: dict[str, object], said: str) -> None:
    sender, receiver = ends()
    with pytest.raises(WorthlessResult) as caught:
        analyse(sender, replace(receiver, **change), NAMES)  # type: ignore[arg-type]
    assert str(caught.value) == said


def test_the_clocks_of_both_ends_are_aligned_by_the_packets() -> None:
    first, second = ends()
    back = tuple((n, tick - AHEAD_US + 600) for n, tick in enumerate(second.ticks_us))
    report = analyse(replace(first, arrivals=back), second, NAMES)
    assert [(each.over, each.worst_delay_ms) for each in report.directions] == [(True, 0), (True, 0)]
    assert [each.name for each in report.directions] == ["dut to peer", "peer to dut"]


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.integers(900, 30_000), min_size=30, max_size=80),
    hole=st.tuples(st.integers(2, 20), st.integers(0, 60_000)),
)
def test_the_true_outage_lies_between_proven_and_at_most(steps: list[int], hole: tuple[int, int]) -> None:
    """However unsteady the sender: a link that is dead for a time loses what is sent in it, and nothing else."""
    ticks = [T0]
    for step in steps:
        ticks.append(ticks[-1] + step)
    begin = ticks[hole[0]] - 500
    dead = range(begin, begin + hole[1])
    lost = {n for n, tick in enumerate(ticks) if tick in dead}
    seen = found(*ends(ticks=tuple(ticks), lost=lost))
    assert seen.proven_ms * 1000 <= hole[1]
    if seen.over:
        assert seen.at_most_ms * 1000 >= min(hole[1], ticks[-1] - begin) or not lost
    assert seen.lost == len([n for n in lost if n < seen.sent])


@settings(max_examples=60, deadline=None)
@given(lost=st.sets(st.integers(1, 198)), pauses=st.lists(st.tuples(st.integers(0, 200), st.integers(5, 60))))
def test_a_pause_never_adds_to_what_is_proven(lost: set[int], pauses: list[tuple[int, int]]) -> None:
    sender, receiver = ends(200, lost=lost)
    calm = found(sender, receiver)
    first = T0 + AHEAD_US
    paused = [range(first + start * 1000, first + (start + length) * 1000) for start, length in pauses]
    kept = tuple(tick for tick in receiver.ticks_us if not any(tick in pause for pause in paused))
    shaken = found(sender, replace(receiver, ticks_us=(receiver.ticks_us[0], *kept[1:-1], receiver.ticks_us[-1])))
    assert shaken.proven_ms <= calm.proven_ms and shaken.at_most_ms == calm.at_most_ms
    assert shaken.lost == calm.lost == len(lost)


def test_rules_are_house_rules() -> None:
    assert Rules() == Rules(outage_analysis.BLIND_MS, outage_analysis.COARSEST_MS, outage_analysis.LATE_MS)
