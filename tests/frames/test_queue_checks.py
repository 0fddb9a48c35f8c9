"""Receive queues: sound cards of every driver are green and left as they were, each defect is red by its own words."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from fake_bench import FakeBench
from queue_cards import DRIVERS, WITHOUT_CHANNELS, Made, QueueCard, QueueCards, spoilt, virtual

from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.frames.queues.flow_agents import Came, FlowAgents, Flows
from niclab.hosts.errors import NotOffered
from niclab.hosts.settings.settings_records import Attempt
from niclab.hosts.steering.hash_records import ADDRESSES, PORTS, FlowKind
from niclab.run.run import Run
from ReceiveQueues import ReceiveQueues

Checks = Callable[[ReceiveQueues], object]
Unnoted = Callable[[Flows, int], Sequence[int]]

SPREAD: Checks = ReceiveQueues.flows_should_spread_over_every_queue
TABLE: Checks = ReceiveQueues.flows_should_follow_the_indirection_table
CHANGES: Checks = ReceiveQueues.flows_should_follow_the_table_after_changes
KEY: Checks = ReceiveQueues.flows_should_come_by_the_queues_that_the_key_predicts
FIELDS: Checks = ReceiveQueues.hash_fields_should_be_settable
ALWAYS = (SPREAD, TABLE, CHANGES)


def failure(check: Checks) -> str:
    with pytest.raises(CardFailure) as caught:
        check(ReceiveQueues())
    return str(caught.value)


def state(cards: QueueCards) -> list[dict[str, Any]]:
    left_out = ("counted", "in_force", "interrupts", "table", "written")
    return [
        {name: value for name, value in vars(each).items() if name not in left_out} for each in cards.cards.values()
    ]


@pytest.mark.parametrize("check", ALWAYS, ids=("spread", "table", "changes"))
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_sound_card_of_every_driver_is_green_and_left_as_it_was(
    made: Made, taken: Run, driver: str, check: Checks
) -> None:
    cards = made(DRIVERS[driver])
    cards.channels_shown = driver not in WITHOUT_CHANNELS
    before, shares = copy.deepcopy(state(cards)), [cards.receive_hash(iface).shares for iface in cards.cards]
    pending = taken.journal.pending()
    check(ReceiveQueues())
    assert state(cards) == before
    assert [cards.receive_hash(iface).shares for iface in cards.cards] == shares
    assert taken.journal.pending() == pending
    ports = {"dut.p0"} if check is CHANGES else {"dut.p0", "dut.p1"}
    assert {flows.receiver.name for flows in cards.sent} == ports


@pytest.mark.parametrize("check", (KEY, FIELDS), ids=("key", "fields"))
@pytest.mark.parametrize("driver", DRIVERS)
def test_key_and_fields_are_judged_where_a_driver_shows_and_takes_them(made: Made, driver: str, check: Checks) -> None:
    cards = made(DRIVERS[driver])
    before, judged = (
        copy.deepcopy(state(cards)),
        {KEY: ("ixgbe", "be2net", "sfc_siena"), FIELDS: ("igb", "ixgbe", "bnx2x")},
    )
    if driver in judged[check]:
        check(ReceiveQueues())
        assert cards.sent
    else:
        with pytest.raises(NotApplicable, match=r"no hash key|refused"):
            check(ReceiveQueues())
    assert state(cards) == before


@pytest.mark.parametrize("check", ALWAYS, ids=("spread", "table", "changes"))
def test_a_card_that_does_not_say_what_it_hashes_is_judged_by_tcp(made: Made, check: Checks) -> None:
    cards = made(virtual)
    check(ReceiveQueues())
    assert {flows.kind for flows in cards.sent} == {FlowKind.TCP4}


@pytest.mark.parametrize("check", (KEY, FIELDS), ids=("key", "fields"))
def test_what_it_does_not_say_is_not_applicable(made: Made, check: Checks) -> None:
    made(virtual)
    with pytest.raises(NotApplicable, match="does not say"):
        check(ReceiveQueues())


@pytest.mark.parametrize(
    ("defect", "check", "says"),
    [
        ({"stuck": True}, SPREAD, "came unevenly, queue 0: 512, queue 1: 0, queue 2: 0, queue 3: 0; expected "),
        ({"stuck": True}, CHANGES, "after its queues|with half its queues: 512 of 512 flows came unevenly"),
        ({"dead": 2}, SPREAD, "queue 2: 0, queue 3: "),
        ({"dead": 2}, TABLE, "queue 2: 0, queue 3: "),
        ({"dies_when_up": 1}, CHANGES, "after down and up: .* flows came unevenly, queue 0: [0-9]+, queue 1: 0"),
        (
            {"lost_entry": 7},
            TABLE,
            "table of queue 0 alone: flows came by other queues, queue 3: [0-9]+; expected all by 0",
        ),
        (
            {"lost_entry": 127},
            CHANGES,
            "after down and up: flows came by other queues, queue 3: [0-9]+; the table has queues",
        ),
        ({"ignores_table": True}, TABLE, "table of queue 1 alone: flows came by other queues, queue 0: "),
        ({"miscounts": 900}, TABLE, "counted 90[0-9] frames more in queue 0 than the [0-9]+ flows that came by it"),
        (
            {"stays_when_restored": True},
            TABLE,
            "indirection table did not come back: it has queue 3: 1, before queue 0: 0.25",
        ),
        (
            {"breaks_when_refused": True},
            CHANGES,
            "after a change that was refused it has 4 queues and a table of \\[0, 1, 2",
        ),
    ],
)
def test_each_defect_is_red(made: Made, defect: dict[str, Any], check: Checks, says: str) -> None:
    made(spoilt(**defect))
    said = failure(check)
    assert re.search(says, said), said


@pytest.mark.parametrize(
    ("defect", "check"), [({"lost_entry": 7}, SPREAD), ({"stuck": True}, TABLE), ({"dies_when_up": 1}, TABLE)]
)
def test_a_defect_does_not_spoil_what_it_does_not_touch(made: Made, defect: dict[str, Any], check: Checks) -> None:
    cards = made(spoilt(**defect))
    if "stuck" in defect:  # all flows follow the entry, but with its own table they are not spread
        assert "its own table: 512 of 512 flows came unevenly" in failure(check)
        return
    check(ReceiveQueues())
    assert cards.sent


def test_a_queue_that_loses_what_is_steered_to_it_is_red(made: Made) -> None:
    cards = made(virtual)
    weights = cards.set_weights

    def dies(iface: str, words: Any) -> Any:
        cards.cards[iface].dead = 3 if len(words) == 4 else None
        return weights(iface, words)

    cards.set_weights = dies  # type: ignore[method-assign]
    said = failure(TABLE)
    assert "table of queue 3 alone: 512 of 512 flows never came, each was sent 3 times" in said
    assert "expected queue 3 to deliver what is steered to it" in said


def test_flows_that_no_queue_loses_alone_decide_nothing(made: Made) -> None:
    made(spoilt(loses=frozenset({5, 300})))
    for check in ALWAYS:
        with pytest.raises(Undecided, match="2 of 512 flows never came, each was sent 3 times, and no queue lost them"):
            check(ReceiveQueues())


def test_counters_that_miss_flows_are_red(made: Made) -> None:
    cards = made(virtual)
    cards.frames = lambda _: {0: 5, 1: 5, 2: 5, 3: 5}  # type: ignore[method-assign]
    assert "the driver counted 0 frames in queue 2; expected at least the 512 flows that came by it" in failure(TABLE)


def test_a_hash_by_another_key_is_red(made: Made) -> None:
    made(lambda: QueueCard(other_key=True))
    said = failure(KEY)
    assert "tcp4 by destination, destination port, source, source port: " in said
    assert "flows came by another queue than its key predicts, port " in said


@pytest.mark.parametrize("check", [SPREAD, TABLE, CHANGES, KEY, FIELDS])
def test_a_frame_that_comes_by_two_queues_is_red(made: Made, check: Checks) -> None:
    made(lambda: QueueCard(doubles=frozenset({7})))
    assert re.search(r"1 flows came by two queues, flow 7 is one; expected frames of a flow by one", failure(check))


def test_a_frame_that_comes_by_two_queues_as_ports_are_not_hashed_is_red(made: Made) -> None:
    """Fields that are addresses and ports as delivered are set to the addresses alone."""
    made(lambda: QueueCard(doubles=frozenset({7}), fields=dict.fromkeys(FlowKind, ADDRESSES | PORTS)))
    assert "udp4 by destination, source: 1 flows came by two queues, flow 7 is one" in failure(FIELDS)


def test_fields_that_are_taken_and_not_in_force_are_red(made: Made) -> None:
    made(lambda: QueueCard(ignores_fields=True))
    assert "udp4 by destination, destination port, source, source port: 512 of 512 flows came unevenly" in failure(
        FIELDS
    )


def test_ports_that_are_hashed_all_the_same_are_red(made: Made) -> None:
    def card() -> QueueCard:
        made = QueueCard(ignores_fields=True)
        made.fields = dict.fromkeys(FlowKind, PORTS | made.fields[FlowKind.TCP4])  # type: ignore[index]
        return made

    cards = made(card)
    for each in cards.cards.values():
        each.deal = lambda _, number: number % 4  # type: ignore[method-assign]
    assert "flows between the same addresses came by queues [0, 1, 2, 3]; expected one" in failure(FIELDS)


@pytest.mark.parametrize(
    ("other", "check", "says"),
    [
        (QueueCard(fields_settable=False), FIELDS, "takes no other fields of udp4, and "),
        (QueueCard(key_bytes=0), KEY, "takes no hash key, and "),
    ],
)
def test_a_port_that_takes_less_than_the_others_is_red(made: Made, other: QueueCard, check: Checks, says: str) -> None:
    cards = iter([QueueCard(), other])
    made(lambda: next(cards))
    assert says in failure(check)


@pytest.mark.parametrize("check", (SPREAD, TABLE, KEY, FIELDS), ids=("spread", "table", "key", "fields"))
def test_a_port_with_one_queue_next_to_one_with_several_leaves_the_check_undecided(made: Made, check: Checks) -> None:
    cards = iter([QueueCard(), QueueCard(table_queues=1)])
    made(lambda: next(cards))
    with pytest.raises(Undecided, match=r"dut.p1 .* spreads flows over no queues: its indirection table has"):
        check(ReceiveQueues())


def test_a_port_that_alone_hashes_no_ports_leaves_the_check_undecided(made: Made) -> None:
    cards = iter([QueueCard(), QueueCard(fields=dict.fromkeys(FlowKind, ADDRESSES))])
    made(lambda: next(cards))
    with pytest.raises(Undecided, match=r"dut.p1 .* alone does not say that it hashes tcp4 by ports"):
        SPREAD(ReceiveQueues())


def test_a_port_that_alone_does_not_say_what_it_hashes_leaves_the_check_undecided(made: Made) -> None:
    cards = iter([QueueCard(), QueueCard(fields=None)])
    made(lambda: next(cards))
    with pytest.raises(Undecided, match="udp4: the driver does not say what it hashes"):
        FIELDS(ReceiveQueues())


@pytest.mark.parametrize(
    ("card", "why"),
    [
        (lambda: QueueCard(shows_key=False), "shows no hash key"),
        (lambda: QueueCard(function="xor"), "its hash function is xor, which is not toeplitz alone"),
        (lambda: QueueCard(transformed=True), "its hash function is toeplitz of fields that are mixed before"),
        (lambda: QueueCard(entries=100), "its table has 100 entries, which no bits of a hash choose"),
    ],
)
def test_a_hash_that_nobody_can_predict_is_not_applicable(made: Made, card: Callable[[], QueueCard], why: str) -> None:
    made(card)
    with pytest.raises(NotApplicable, match=why):
        KEY(ReceiveQueues())


def test_one_port_whose_hash_nobody_can_predict_is_undecided(made: Made) -> None:
    keys = iter((True, False))
    made(lambda: QueueCard(shows_key=next(keys)))
    with pytest.raises(Undecided, match=r"^dut\.p1 .*: the driver shows no hash key$"):
        KEY(ReceiveQueues())


@pytest.mark.parametrize("check", (*ALWAYS, KEY, FIELDS))
def test_a_card_with_one_queue_is_not_applicable(made: Made, check: Checks) -> None:
    made(lambda: QueueCard(rings=1))
    with pytest.raises(NotApplicable, match=r"dut.p0 .* spreads flows over no queues: its .* table has queue 0: 1"):
        check(ReceiveQueues())


@pytest.mark.parametrize("check", (*ALWAYS, KEY, FIELDS))
def test_a_driver_without_a_table_is_not_applicable(made: Made, check: Checks) -> None:
    def none(iface: str) -> Any:
        raise NotOffered(f"dut: `ethtool -x {iface}` failed")

    made(virtual).receive_hash = none  # type: ignore[method-assign]
    with pytest.raises(NotApplicable, match="spreads flows over no queues: dut: `ethtool -x enp1s0` failed"):
        check(ReceiveQueues())


def test_one_queue_where_the_sheet_knows_more_is_red(made: Made) -> None:
    cards = made(lambda: QueueCard(rings=1))
    for port in cards.settings.ports.values():
        port.queues = port.most_queues = 1
    assert "most receive queues is 1; expected " in failure(SPREAD)


def test_a_table_that_names_no_queue_of_the_port_is_red(made: Made) -> None:
    cards = made(virtual)
    cards.cards["enp2s0"].rings = 3
    assert "names queue 3; expected one of the 3 that it shows" in failure(SPREAD)


def test_a_driver_that_notes_no_queue_is_not_applicable(made: Made) -> None:
    made(spoilt(notes=False))
    with pytest.raises(NotApplicable, match="has noted no queue for 512 of 512 packets"):
        SPREAD(ReceiveQueues())


def test_a_driver_that_takes_no_table_is_not_applicable(made: Made) -> None:
    def none(iface: str, words: Any) -> Any:
        raise NotOffered(f"dut: `ethtool -X {iface} weight {words}`: Operation not supported")

    made(virtual).set_weights = none  # type: ignore[method-assign]
    with pytest.raises(NotApplicable, match=r"weight .*: Operation not supported"):
        TABLE(ReceiveQueues())


def test_a_link_that_does_not_return_is_red(made: Made, bench: FakeBench) -> None:
    cards = made(virtual)
    for card in cards.cards.values():
        card.up = lambda: setattr(bench.nic("dut.p0"), "admin_up", False)  # type: ignore[method-assign]
    assert "has no carrier 5000 ms after down and up" in failure(CHANGES)


def test_a_link_that_the_peer_keeps_down_is_of_the_bench(made: Made, bench: FakeBench) -> None:
    cards = made(virtual)
    for card in cards.cards.values():
        card.up = lambda: setattr(bench.nic("peer.p0"), "admin_up", False)  # type: ignore[method-assign]
    with pytest.raises(BenchFault, match=r"^dut\.p0 .* has no carrier 5000 ms after down and up; .*; partner-link"):
        CHANGES(ReceiveQueues())


def test_a_table_that_cannot_be_put_back_is_of_the_bench(made: Made) -> None:
    cards = made(virtual)

    def none(_: str) -> str:
        raise BenchFault("dut: a pattern that ethtool cannot put back")

    cards.restoring_table = none  # type: ignore[method-assign]
    with pytest.raises(BenchFault, match="a pattern"):
        TABLE(ReceiveQueues())


def test_a_table_that_is_refused_is_red(made: Made) -> None:
    cards = made(virtual)
    cards.set_weights = lambda iface, _: Attempt("Invalid argument", cards.receive_hash(iface))  # type: ignore[method-assign]
    said = failure(TABLE)
    assert "all flows to queue 0: the indirection table has queue 0: 0.25, queue 1: 0.25" in said
    assert said.endswith("(Invalid argument); expected queues 0 alone")


def test_a_key_that_is_taken_and_changes_nothing_is_red(made: Made) -> None:
    cards = made(QueueCard)
    cards.set_key = lambda iface, _: Attempt(None, cards.receive_hash(iface))  # type: ignore[method-assign]
    assert "its hash key is as before when set; expected " in failure(KEY)


def test_a_driver_that_does_not_take_hash_fields_is_not_applicable(made: Made) -> None:
    def none(iface: str, *_: Any) -> Any:
        raise NotOffered(f"dut: `ethtool -N {iface}`: Operation not supported")

    made(QueueCard).set_fields = none  # type: ignore[method-assign]
    with pytest.raises(NotApplicable, match="source, source port refused: dut: `ethtool -N enp1s0`"):
        FIELDS(ReceiveQueues())


def unnote(made: Made, monkeypatch: pytest.MonkeyPatch, card: Callable[[], QueueCard], lost: Unnoted) -> QueueCards:
    """The driver notes no queue for some of the packets that came."""
    cards = made(card)

    def exchange(agents: Any, flows: Sequence[Flows]) -> list[Came]:
        came = cards.exchange(agents._run, flows)
        for one, each in zip(flows, came, strict=True):
            for flow in lost(one, len(cards.sent)):
                if flow in each.queues:
                    del each.queues[flow]
                    each.unnoted.add(flow)
        return came

    monkeypatch.setattr(FlowAgents, "exchange", exchange)
    return cards


@pytest.mark.parametrize("flows", [range(1), range(4096)], ids=("one", "all"))
def test_packets_without_a_queue_hide_no_failure(
    made: Made, monkeypatch: pytest.MonkeyPatch, flows: Sequence[int]
) -> None:
    unnote(made, monkeypatch, lambda: QueueCard(dead=2), lambda one, _: flows if one.kind is FlowKind.TCP6 else ())
    assert "tcp4: " in failure(SPREAD)


def test_a_port_without_queues_hides_no_failure_of_another(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    unnote(
        made, monkeypatch, spoilt(stuck=True), lambda one, _: range(one.count) if one.receiver.name == "dut.p0" else ()
    )
    said = failure(SPREAD)
    proven, _, doubt = said.partition("\nundecided: ")
    assert "dut.p1 " in proven and "dut.p0" not in proven and "dut.p0 " in doubt


@pytest.mark.parametrize("check", (*ALWAYS, KEY, FIELDS))
def test_a_packet_without_a_queue_is_undecided(made: Made, monkeypatch: pytest.MonkeyPatch, check: Checks) -> None:
    unnote(made, monkeypatch, QueueCard, lambda *_: (7,))
    with pytest.raises(Undecided, match=r"noted no queue for 1 of 512 packets \(skb_record_rx_queue\(\)\); expected"):
        check(ReceiveQueues())


@pytest.mark.parametrize("check", (*ALWAYS, KEY, FIELDS))
def test_queues_that_are_noted_no_more_are_undecided(
    made: Made, monkeypatch: pytest.MonkeyPatch, check: Checks
) -> None:
    unnote(made, monkeypatch, QueueCard, lambda one, sent: range(one.count) if sent > 2 else ())
    with pytest.raises(Undecided, match="the driver has noted no queue for 512 of 512 packets"):
        check(ReceiveQueues())


def test_an_operation_that_is_missing_later_hides_no_failure(made: Made) -> None:
    cards = made(spoilt(lost_entry=7))
    weights = cards.set_weights

    def once(iface: str, words: Sequence[int]) -> Any:
        if len(words) > 1:
            raise NotOffered("dut: `ethtool -X`: Operation not supported")
        return weights(iface, words)

    cards.set_weights = once  # type: ignore[method-assign]
    assert "table of queue 0 alone: flows came by other queues, queue 3: " in failure(TABLE)


def test_a_table_that_is_not_shown_any_more_is_red(made: Made) -> None:
    cards = made(virtual)
    shown = cards.receive_hash

    def until_sent(iface: str) -> Any:
        if cards.sent:
            raise NotOffered(f"dut: `ethtool -x {iface}` failed")
        return shown(iface)

    cards.receive_hash = until_sent  # type: ignore[method-assign]
    assert "`ethtool -x enp1s0` failed; expected the indirection table that dut.p0 " in failure(CHANGES)
