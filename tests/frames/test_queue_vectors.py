"""Interrupt vectors of receive queues: which are green, which red, and what cannot be judged."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from queue_cards import DRIVERS, Made, QueueCard, spoilt, virtual

from niclab.core.verdict import CardFailure, NotApplicable, Undecided
from niclab.frames.queues.spread import Findings
from niclab.frames.queues.vectors import judged
from niclab.hosts.errors import NotOffered
from niclab.hosts.steering.queue_vectors import interrupts_by_queue
from ReceiveQueues import ReceiveQueues


def check() -> None:
    ReceiveQueues().each_queue_should_raise_its_own_interrupt()


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_sound_card_is_green_and_has_its_table_again(made: Made, driver: str) -> None:
    cards = made(DRIVERS[driver])
    shares = [cards.receive_hash(iface).shares for iface in cards.cards]
    check()
    assert [cards.receive_hash(iface).shares for iface in cards.cards] == shares
    assert {flows.receiver.name for flows in cards.sent} == {"dut.p0", "dut.p1"}


@pytest.mark.parametrize(
    ("raises", "says"),
    [
        ({1: 2}, r"queue 1 alone: its frames raised interrupts of other queues, queue 2: 65, and 1 of its own; exp"),
        ({0: 1, 1: 0}, r"queue 0 alone: its frames raised interrupts of other queues, queue 1: "),
        (dict.fromkeys(range(4), 0), r"queue 3 alone: its frames raised interrupts of other queues, queue 0: "),
    ],
)
def test_the_interrupt_of_another_queue_is_red(made: Made, raises: Mapping[int, int], says: str) -> None:
    made(spoilt(raises=raises))
    with pytest.raises(CardFailure, match=says):
        check()


def test_frames_that_raise_no_interrupt_are_red(made: Made) -> None:
    made(spoilt(raises={2: None}, housekeeping=0))
    with pytest.raises(CardFailure, match="queue 2 alone: its frames came, and its interrupt vector counted none"):
        check()


def test_interrupts_of_the_driver_itself_prove_nothing(made: Made) -> None:
    made(spoilt(raises={2: None}))
    with pytest.raises(Undecided, match="table of queue 2 alone: 3 interrupts of it, not more than the "):
        check()


def test_a_busy_server_is_asked_again(made: Made) -> None:
    cards = made(spoilt(frames_per_interrupt=128))
    check()
    assert len(cards.sent) > 2 * 6


def test_a_queue_whose_flows_do_not_come_is_red_as_such(made: Made) -> None:
    cards = made(virtual)
    weights = cards.set_weights

    def dies(iface: str, words: Any) -> Any:
        cards.cards[iface].dead = 3
        return weights(iface, words)

    cards.set_weights = dies  # type: ignore[method-assign]
    with pytest.raises(CardFailure, match=r"512 of 512 flows never came, .*; expected queue 3") as caught:
        check()
    assert "interrupt" not in str(caught.value)


@pytest.mark.parametrize("names", ["{iface}", "{iface}-tx-{queue}"])
def test_a_driver_without_vectors_of_queues_is_not_applicable(made: Made, names: str) -> None:
    made(spoilt(vectors=names))
    with pytest.raises(NotApplicable, match="no interrupt vector of enp1s0 has the number of a queue: enp1s0"):
        check()


def test_fewer_vectors_than_queues_are_not_applicable(made: Made) -> None:
    cards = made(virtual)
    for card in cards.cards.values():
        card.interrupts = {0: 5, 1: 5}
        card.raises = {2: 0, 3: 1}
    with pytest.raises(NotApplicable, match="no vector of queues 2, 3 alone: the driver has 0, 1"):
        check()


def test_one_port_without_vectors_hides_no_failure_of_the_other(made: Made) -> None:
    cards = made(virtual)
    first, second = cards.cards.values()
    first.vectors = "{iface}"
    with pytest.raises(Undecided, match="has the number of a queue"):
        check()
    second.raises = {1: 2}
    with pytest.raises(CardFailure, match="queue 1 alone"):
        check()


def resized() -> None:
    ReceiveQueues().each_queue_should_raise_its_own_interrupt_when_resized()


@pytest.mark.parametrize("driver", ["igb", "bnx2x", "be2net"])
def test_a_sound_card_is_green_with_half_its_queues_and_all(made: Made, driver: str) -> None:
    cards = made(DRIVERS[driver])
    before = {iface: (each.rings, cards.receive_hash(iface).shares) for iface, each in cards.cards.items()}
    resized()
    assert {iface: (each.rings, cards.receive_hash(iface).shares) for iface, each in cards.cards.items()} == before
    assert {flows.receiver.name for flows in cards.sent} == {"dut.p0", "dut.p1"}
    assert len(cards.sent) == 2 * (1 + 2 + 1 + 4)


def test_a_vector_lost_by_another_number_of_queues_is_red(made: Made) -> None:
    made(spoilt(raises_when_resized={1: 0}))
    check()
    with pytest.raises(CardFailure, match="queue 1 alone: its frames raised interrupts of other queues, queue 0: "):
        resized()


def test_a_vector_lost_by_all_queues_again_is_red(made: Made) -> None:
    cards = made(spoilt(rings=2, raises_when_resized={1: 0}))
    shown = cards.receive_hash

    def of_several(iface: str) -> Any:
        if cards.cards[iface].rings == 1:
            raise NotOffered("no table of one queue")
        return shown(iface)

    cards.receive_hash = of_several  # type: ignore[method-assign]
    with pytest.raises(CardFailure, match="queue 1 alone: its frames raised interrupts of other queues, queue 0: "):
        resized()


def test_queues_that_share_a_vector_after_a_change_are_not_decided(made: Made) -> None:
    cards = made(virtual)
    set_channels = cards.settings.host.set_channels

    def loses(iface: str, counts: Mapping[str, int]) -> Any:
        attempt = set_channels(iface, counts)
        cards.cards[iface].interrupts = {0: 0}
        return attempt

    cards.settings.host.set_channels = loses
    with pytest.raises(Undecided, match="no vector of queues 1 alone: the driver has 0"):
        resized()


def test_what_is_not_decided_with_all_queues_hides_no_failure_with_half(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(spoilt(raises_when_resized={1: 0}))
    resize = QueueCard.resize

    def shared(card: QueueCard, rings: int) -> bool:
        taken = resize(card, rings)
        card.interrupts = {0: 0} if rings == 4 else card.interrupts
        return taken

    monkeypatch.setattr(QueueCard, "resize", shared)
    with pytest.raises(CardFailure, match="queue 1 alone: its frames raised interrupts of other queues, queue 0: "):
        resized()


def test_a_port_that_keeps_its_queues_hides_no_failure_of_the_other(made: Made) -> None:
    cards = made(virtual)
    first, second = cards.cards.values()
    second.configured = True
    with pytest.raises(Undecided, match=r"^dut.p1 .*: its number of queues cannot be changed$"):
        resized()
    second.configured = True
    first.raises_when_resized = {1: 0}
    with pytest.raises(CardFailure, match="queue 1 alone"):
        resized()


def test_a_number_of_queues_that_cannot_be_changed_is_not_applicable(made: Made) -> None:
    cards = made(virtual)
    cards.channels_shown = False
    with pytest.raises(NotApplicable, match=r"dut.p0 .*: its number of queues cannot be changed\ndut.p1"):
        resized()
    assert not cards.sent


@pytest.mark.parametrize(
    ("gained", "sees", "problem"),
    [
        ({0: 40, 1: 5}, True, ""),
        ({0: 40, 1: 21}, True, "queue 1: 21, and 40 of its own"),
        ({0: 6, 1: 5}, True, ""),
        ({0: 5, 1: 5}, False, ""),
        ({0: 0, 1: 5}, True, "counted none"),
        ({0: 0, 1: 6}, True, "queue 1: 6, and 0 of its own"),
    ],
)
def test_so_many_interrupts_are_judged(gained: Mapping[int, int], sees: bool, problem: str) -> None:
    findings = Findings()
    assert judged("dut.p0", 0, gained, 5, findings) is sees
    assert (problem in "".join(findings.problems)) and bool(findings.problems) is bool(problem)


def shell(text: str) -> Any:
    return SimpleNamespace(run=lambda *_, **__: SimpleNamespace(stdout=text))


HEAD = "      CPU0  CPU1\n"


def row(irq: int, name: str) -> str:
    return f" {irq}:  {irq}  100  PCI-MSI 524288-edge  {name}\n"


@pytest.mark.parametrize("names", ["eth1-TxRx-{}", "eth1-rx-{}", "eth1-fp-{}", "eth1-q{}", "eth1-Rx{}", "eth1-{}"])
def test_the_names_of_each_driver_are_read(names: str) -> None:
    others = row(1, "eth1") + row(2, "eth1-sp") + row(3, "eth1-tx-0") + row(4, "eth10-rx-0") + row(5, "eth1-txrx")
    text = HEAD + others + row(30, names.format(0)) + row(31, names.format(1))
    found = interrupts_by_queue(shell(text), "dut", "eth1")
    assert found == {0: 130, 1: 131}


def test_two_vectors_of_a_number_are_not_applicable() -> None:
    text = HEAD + row(30, "eth1-rx-0") + row(31, "eth1-fcoe-0")
    with pytest.raises(NotApplicable, match="two interrupt vectors of eth1 have number 0"):
        interrupts_by_queue(shell(text), "dut", "eth1")
