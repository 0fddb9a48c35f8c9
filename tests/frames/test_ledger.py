"""The ledger of answers that are made here: what both ports counted is judged against what passed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from niclab.bench.records import Port, Role
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.frames.answers import ArrivedFlow, PortLook, SentFlow, ServerAnswer
from niclab.frames.blame.frame_findings import Culprit, FrameDifference, FrameFinding, Suspicion, judge
from niclab.frames.ledger import Ledger
from niclab.frames.spec import FramePlan, FrameSpec, FrameStream
from niclab.run.watching.standstill import Stood

DUT, PEER = (Port(role, "p0", "0000:01:00.0", None, None) for role in (Role.DUT, Role.PEER))
FRAMES, SIZE = 1000, 1000
ARP, PADDED = 42, 64
LOST = FrameDifference.LOST


@dataclass
class Side:
    """One server: its port's counters before and after, and what its system sent and received by itself."""

    before: dict[str, int] = field(default_factory=dict)
    gained: dict[str, int] = field(default_factory=dict)
    look: dict[str, int] = field(default_factory=dict)

    def said(self) -> PortLook:
        names = ("rx_packets", "rx_bytes", "rx_dropped", "rx_missed_errors", "rx_errors")
        names += ("tx_packets", "tx_bytes", "tx_dropped", "tx_errors")
        before = dict.fromkeys(names, 1 << 31) | self.before
        after = {name: count + self.gained.get(name, 0) for name, count in before.items()}
        nothing = ("others", "others_bytes", "others_most", "leaving", "leaving_bytes", "leaving_most")
        seen: dict[str, Any] = dict.fromkeys([*nothing, "strange", "resets", "dropped"], 0) | self.look
        return PortLook(port="p0", before=before, after=after, **seen)


def exchanged(sender: Port, here: Side, there: Side, arrived: int = FRAMES, **came: Any) -> Ledger:
    """The ledger of 1000 frames of 1000 bytes; each side's counters are exact, but for what a test adds."""
    receiver = DUT if sender is PEER else PEER
    stream = FrameStream("frames", sender, receiver, FRAMES, (SIZE,), FrameSpec("02:00:00:00:00:01", "ff" * 6))
    exact = dict.fromkeys(("tx_packets",), FRAMES) | {"tx_bytes": FRAMES * SIZE}
    here.gained = _sum(exact, here.gained)
    there.gained = _sum({"rx_packets": arrived, "rx_bytes": arrived * SIZE}, there.gained)
    flow: dict[str, Any] = dict.fromkeys(("twice", "late", "damaged"), 0) | {"holes": []}
    flow |= {"frames": arrived, "bytes": arrived * SIZE, "distinct": arrived}
    kept = ArrivedFlow(place="p0", flow=0, valid=0, tags={}, example="", **flow | came)
    sent = SentFlow(flow=0, frames=FRAMES, bytes=FRAMES * SIZE, refused="")
    answers = {
        sender.role: ServerAnswer({0: sent}, {}, {"p0": here.said()}, {}, {}, {}),
        receiver.role: ServerAnswer({}, {("p0", 0): kept}, {"p0": there.said()}, {}, {}, {}),
    }
    return Ledger(FramePlan((stream,)), answers, lambda _: "p0")


def one_stream(sender: Port) -> tuple[FrameStream, ...]:
    (leg,) = exchanged(sender, Side(), Side()).legs
    return tuple(leg.streams.values())


def _sum(exact: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {name: exact.get(name, 0) + more.get(name, 0) for name in {*exact, *more}}


def found(ledger: Ledger) -> list[FrameFinding]:
    return ledger.findings()


@pytest.mark.parametrize("sender", [DUT, PEER])
@pytest.mark.parametrize("fcs", [0, 4])
def test_exact_counts_are_right_with_and_without_fcs(sender: Port, fcs: int) -> None:
    with_fcs = Side(gained={"tx_bytes": fcs * FRAMES}), Side(gained={"rx_bytes": fcs * FRAMES})
    assert found(exchanged(sender, *with_fcs)) == []


@pytest.mark.parametrize("counted_bytes", [ARP, 60, PADDED])
def test_a_frame_of_the_system_is_subtracted_whatever_its_padding(counted_bytes: int) -> None:
    here = Side(
        gained={"tx_packets": 1, "tx_bytes": counted_bytes},
        look={"leaving": 1, "leaving_bytes": ARP, "leaving_most": PADDED},
    )
    there = Side(
        gained={"rx_packets": 1, "rx_bytes": counted_bytes},
        look={"others": 1, "others_bytes": ARP, "others_most": PADDED},
    )
    assert found(exchanged(DUT, here, there)) == []


@pytest.mark.parametrize(("sender", "way"), [(DUT, "sent"), (PEER, "received")])
@pytest.mark.parametrize("stray", [0, 1])
@pytest.mark.parametrize("short", [FRAMES * SIZE * 16 // 1000, FRAMES * SIZE // 2, -FRAMES * SIZE * 16 // 1000])
def test_bytes_of_the_card_are_judged_next_to_a_frame_of_the_system(
    sender: Port, way: str, stray: int, short: int
) -> None:
    strays = {"leaving": stray, "leaving_bytes": ARP * stray, "leaving_most": PADDED * stray}
    others = {"others": stray, "others_bytes": ARP * stray, "others_most": PADDED * stray}
    here = Side(gained={"tx_packets": stray, "tx_bytes": ARP * stray}, look=strays)
    there = Side(gained={"rx_packets": stray, "rx_bytes": ARP * stray}, look=others)
    (here.gained if sender is DUT else there.gained)["tx_bytes" if sender is DUT else "rx_bytes"] -= short
    ledger = exchanged(sender, here, there)
    (one,) = found(ledger)
    assert one.difference is FrameDifference.MISCOUNTED and f" bytes {way} in {FRAMES + stray} frames" in one.text
    with pytest.raises(CardFailure, match=r"dut\.p0 .* counted \d+ bytes"):
        judge(ledger.findings())


@pytest.mark.parametrize("sender", [DUT, PEER])
def test_a_frame_that_no_system_sent_is_the_firmwares_and_its_bytes_are_possible_ones(sender: Port) -> None:
    hidden = {"tx_packets": 1, "tx_bytes": 300}, {"rx_packets": 1, "rx_bytes": 300}
    assert found(exchanged(sender, Side(gained=dict(hidden[0])), Side(gained=dict(hidden[1])))) == []
    (one,) = found(exchanged(sender, Side(gained={"tx_packets": 1, "tx_bytes": -16_000}), Side()))
    assert "bytes sent" in one.text
    (one,) = found(exchanged(sender, Side(gained={"tx_packets": 6, "tx_bytes": 600}), Side()))
    assert "counted 1006 frames sent; expected 1000" in one.text


def test_what_a_filter_refuses_behind_its_counter_was_sent_by_the_partners_system() -> None:
    here = Side(
        gained={"tx_packets": 9, "tx_bytes": 900},
        look={"leaving": 9, "leaving_bytes": 900, "leaving_most": 900},
    )
    assert found(exchanged(PEER, here, Side(gained={"rx_packets": 9, "rx_bytes": 900}))) == []


def test_a_frame_that_arrived_and_was_not_counted_is_missed_next_to_one_of_the_system() -> None:
    others = {"others": 1, "others_bytes": 60, "others_most": 64}
    (one,) = found(exchanged(PEER, Side(gained={"tx_packets": 1, "tx_bytes": 60}), Side(look=others)))
    assert "dut.p0 (0000:01:00.0) counted 1000 frames received; expected 1001" in one.text


LOSSES: Any = [
    ("rx_dropped", 40, Culprit.PEER),
    ("rx_missed_errors", 40, Culprit.PEER),
    ("rx_dropped", 1, None),
    ("rx_missed_errors", 39, None),
    ("rx_errors", 40, None),
]


@pytest.mark.parametrize(("counter", "count", "sure"), LOSSES)
def test_a_counter_that_does_not_cover_the_loss_excuses_nobody(counter: str, count: int, sure: Culprit | None) -> None:
    there = Side(gained={counter: count})
    (one,) = (each for each in found(exchanged(DUT, Side(), there, FRAMES - 40)) if each.difference is LOST)
    assert f"{count} {counter}" in one.text and "960 of 1000 frames arrived at peer.p0" in one.text
    assert one.culprit is (sure or Culprit.CARD)
    assert one.suspicion == (None if sure else Suspicion(PEER, one_stream(DUT), 40))


@pytest.mark.parametrize(("counter", "count", "sure"), LOSSES)
def test_a_loss_that_the_card_counts_itself_is_the_cards(counter: str, count: int, sure: Culprit | None) -> None:
    there = Side(gained={counter: count})
    (one,) = (each for each in found(exchanged(PEER, Side(), there, FRAMES - 40)) if each.difference is LOST)
    assert one.culprit is Culprit.CARD
    assert one.suspicion == (None if sure else Suspicion(PEER, one_stream(PEER), 40))


@pytest.mark.parametrize(
    ("here", "there", "says"),
    [
        (Side(gained={"tx_packets": -40, "tx_bytes": -40 * SIZE}), Side(), "lost at dut.p0, which counted 960 of 1000"),
        (Side(gained={"tx_dropped": 40}), Side(), "40 counted as dropped by dut.p0"),
    ],
)
def test_a_loss_that_the_sending_card_counts_is_the_cards(here: Side, there: Side, says: str) -> None:
    (one,) = (each for each in found(exchanged(DUT, here, there, FRAMES - 40)) if each.difference is LOST)
    assert says in one.text and one.culprit is Culprit.CARD and one.suspicion is None


def test_a_loss_behind_the_port_is_the_ports_in_spite_of_a_frame_of_the_system() -> None:
    there = Side(gained={"rx_packets": 41}, look={"others": 1, "others_bytes": 60, "others_most": 64})
    (one,) = (each for each in found(exchanged(PEER, Side(), there, FRAMES - 40)) if each.difference is LOST)
    assert "lost behind dut.p0, which counted 1001" in one.text and one.suspicion is None
    there = Side(gained={"rx_packets": 40}, look={"others": 40, "others_bytes": 2400, "others_most": 2560})
    (one,) = (each for each in found(exchanged(PEER, Side(), there, FRAMES - 40)) if each.difference is LOST)
    assert "lost between the ports" in one.text and one.suspicion


@pytest.mark.parametrize("sender", [DUT, PEER])
@pytest.mark.parametrize("name", ["twice", "late", "damaged"])
def test_damage_order_and_doubles_may_be_the_peers(sender: Port, name: str) -> None:
    (one,) = found(exchanged(sender, Side(), Side(), **{name: 3}))
    assert one.culprit is Culprit.CARD and one.suspicion == Suspicion(PEER, one_stream(sender), 3)
    with pytest.raises(Undecided):
        judge([one])
    verdicts = {Culprit.CARD: CardFailure, Culprit.PEER: BenchFault, Culprit.TOOL: Undecided}
    for culprit, verdict in verdicts.items():
        shown = replace(one, culprit=culprit, suspicion=None, text="what the trial has shown")
        with pytest.raises(verdict, match="what the trial has shown"):
            judge([one], trying=lambda _, shown=shown: [shown])  # type: ignore[misc]


@pytest.mark.parametrize(("sender", "verdict"), [(DUT, CardFailure), (PEER, BenchFault)])
def test_who_counts_more_frames_sent_than_it_was_given_has_doubled_them(sender: Port, verdict: type[Exception]) -> None:
    here, there = Side(gained={"tx_packets": 40, "tx_bytes": 40 * SIZE}), Side()
    ledger = exchanged(sender, here, there, FRAMES + 40, distinct=FRAMES, twice=40)
    (one,) = (each for each in found(ledger) if each.difference is FrameDifference.TWICE)
    assert one.suspicion is None
    with pytest.raises(verdict):
        judge([one])


def test_a_loss_that_a_standstill_excuses_is_not_tried() -> None:
    ledger = exchanged(PEER, Side(), Side(), FRAMES - 40)
    with pytest.raises(Undecided, match="dut stood still for 900 ms"):
        judge(found(ledger), (Stood("dut", 900),), trying=list[FrameFinding].copy)  # type: ignore[arg-type]


def test_what_the_tool_lost_is_no_wrong_count() -> None:
    there = Side(gained={"rx_packets": 40, "rx_bytes": 40 * SIZE}, look={"dropped": 40})
    (one,) = found(exchanged(PEER, Side(), there, arrived=FRAMES - 40))
    assert one.difference is FrameDifference.LOST and "40 lost by the tool of dut" in one.text


@pytest.mark.parametrize(
    ("backwards", "verdict"), [(DUT, CardFailure), (PEER, BenchFault)], ids=["of the dut", "of the peer"]
)
@pytest.mark.parametrize("sender", [DUT, PEER])
@pytest.mark.parametrize("stood", [(), (Stood("dut", 900),)], ids=["", "stood still"])
def test_a_counter_that_wraps_early_is_its_ports(
    sender: Port, backwards: Port, verdict: type[Exception], stood: tuple[Stood, ...]
) -> None:
    name = "tx_bytes" if backwards is sender else "rx_bytes"
    wraps = Side(before={name: (1 << 32) - 1}, gained={name: -(1 << 32)})
    ledger = exchanged(sender, *((wraps, Side()) if backwards is sender else (Side(), wraps)))
    said = rf"^{backwards.name} .* {name} runs backwards, from 4294967295 to 999999; expected 64 bits that only grow"
    with pytest.raises(verdict, match=said):
        judge(ledger.findings(), stood)


def test_frames_that_are_lost_while_a_counter_runs_backwards_are_lost_nowhere_known() -> None:
    wraps = Side(before={"tx_bytes": (1 << 32) - 1}, gained={"tx_bytes": -(1 << 32)})
    with pytest.raises(BenchFault, match=r"tx_bytes runs backwards"):
        judge(exchanged(PEER, wraps, Side(), arrived=FRAMES - 1).findings())
