"""Rules that choose the queue of a flow: sound cards are green and left as they were, each defect is red."""

from __future__ import annotations

from typing import Any

import pytest
from queue_cards import Made, QueueCards, spoilt, virtual

from niclab.core.verdict import CardFailure, NotApplicable, Undecided
from niclab.hosts.errors import ReadError
from niclab.hosts.settings.ethtool_records import Feature
from niclab.hosts.steering.flow_rules import FlowRule, read_flow_rules
from niclab.hosts.steering.hash_records import FlowKind
from ReceiveQueues import ReceiveQueues

NTUPLE = "ntuple-filters"


def check() -> None:
    ReceiveQueues().rules_should_steer_their_own_flows()


def failure() -> str:
    with pytest.raises(CardFailure) as caught:
        check()
    return str(caught.value)


def left(cards: QueueCards) -> list[Any]:
    return [card.rules for card in cards.cards.values()] + [
        port.features[NTUPLE].on for port in cards.settings.ports.values() if port.iface in cards.cards
    ]


@pytest.mark.parametrize("ends", [False, True], ids=["stay", "end when the port goes down, as ixgbe's"])
@pytest.mark.parametrize("on", [False, True], ids=["off", "on as delivered"])
def test_a_sound_card_is_green_and_left_as_it_was(made: Made, ends: bool, on: bool) -> None:
    cards = made(spoilt(rules_end_when_up=ends))
    for iface in cards.cards:
        cards.settings.ports[iface].features[NTUPLE] = Feature(on, False, None)
    check()
    assert left(cards) == [{}, {}, on, on]
    assert {(flows.receiver.name, flows.kind) for flows in cards.sent} == {
        ("dut.p0", FlowKind.UDP4),
        ("dut.p1", FlowKind.UDP4),
    }
    assert len(cards.sent) == 2 * 4 and len({flows.seed for flows in cards.sent}) == 2


@pytest.mark.parametrize(
    ("defect", "says"),
    [
        (
            {"ignored_port_bits": 1},
            r"with rules: 2 flows without a rule were moved, port [0-9]+ to port [0-9]+ by",
        ),
        ({"ignored_port_bits": 16}, r"with rules: [0-9]+ flows without a rule were moved"),
        ({"rule_lost": True}, r"with rules: 7 flows with a rule came by other queues than it says, port"),
        ({"rules_stay": True}, r"without rules again: 8 flows without a rule were moved, "),
        ({"rules_stay": True, "rules_end_when_up": True}, r"after down and up: 8 flows without a rule were moved, "),
        ({"forgets_when_up": True}, r"after down and up: 8 flows with a rule came by other queues than it says"),
        ({"doubles": frozenset({3})}, r"with rules: 1 flows came by two queues, flow 3 is one; expected frames of a"),
        ({"kills_ruled": True}, r"with rules: 8 flows with a rule never came, each was sent 3 times, and all others"),
    ],
)
def test_each_defect_is_red(made: Made, defect: dict[str, Any], says: str) -> None:
    cards = made(spoilt(**defect))
    with pytest.raises(CardFailure, match=says):
        check()
    assert left(cards) == [{}, {}, False, False]


def test_each_bit_of_both_ports_is_missed_once(made: Made) -> None:
    cards, added = made(virtual), list[FlowRule]()
    card = next(iter(cards.cards.values()))
    card.add_rule = lambda rule: (added.append(rule), type(card).add_rule(card, rule))  # type: ignore[method-assign]
    check()
    flows = cards.sent[0]
    turned = [
        bit
        for rule in added
        for ports in flows.ports
        for bit in range(32)
        if (ports[0] << 16 | ports[1]) ^ (rule.ports[0] << 16 | rule.ports[1]) == 1 << bit
    ]
    assert sorted(turned) == list(range(32)) and sum(rule.ports in flows.ports for rule in added) == 8


def test_rules_that_are_not_taken_are_red(made: Made) -> None:
    cards = made(virtual)
    cards.rules_taken = 12
    said = failure()
    assert "28 of 40 rules are not shown as set (rmgr: Cannot insert RX class rule: No space left), the" in said
    assert left(cards) == [{}, {}, False, False]


def test_rules_that_are_left_are_red(made: Made) -> None:
    cards = made(virtual)
    cards.rules_left = True
    cards.remove_rules = lambda _: None  # type: ignore[method-assign,assignment,return-value]
    assert "rules of flows are left when removed; expected none" in failure()


def test_flows_that_come_with_a_rule_alone_are_undecided(made: Made) -> None:
    """Nobody knows which queue they come by without one."""
    cards = made(spoilt(loses=frozenset({500})))
    add = cards.add_rules

    def comes(iface: str, rules: Any) -> Any:
        cards.cards[iface].loses = frozenset()
        return add(iface, rules)

    cards.add_rules = comes  # type: ignore[method-assign]
    with pytest.raises(Undecided, match="without rules: 1 of 512 flows never came"):
        check()


def test_flows_that_come_no_more_are_undecided(made: Made) -> None:
    cards = made(virtual)
    add = cards.add_rules

    def loses(iface: str, rules: Any) -> Any:
        cards.cards[iface].loses = frozenset({500})
        return add(iface, rules)

    cards.add_rules = loses  # type: ignore[method-assign]
    with pytest.raises(Undecided, match="with rules: 1 of 512 flows never came"):
        check()


def test_a_driver_without_rules_is_not_applicable(made: Made) -> None:
    made(spoilt(takes_rules=False))
    with pytest.raises(NotApplicable, match="Operation not supported"):
        check()


def test_a_driver_whose_rules_cannot_be_switched_on_is_not_applicable(made: Made) -> None:
    cards = made(virtual)
    for iface in cards.cards:
        cards.settings.ports[iface].features[NTUPLE] = Feature(False, True, None)
    with pytest.raises(NotApplicable, match="ntuple-filters is off and fixed"):
        check()


def test_rules_that_stay_off_are_red(made: Made) -> None:
    cards = made(virtual)
    cards.settings.faults.add("ntuple-filters stuck")
    assert "ntuple-filters is off when switched on; expected on" in failure()


def test_rules_of_somebody_else_are_left_alone(made: Made) -> None:
    cards = made(virtual)
    rule = FlowRule(("10.0.0.1", "10.0.0.2"), (5, 6), 1)
    for card in cards.cards.values():
        card.add_rule(rule)
    with pytest.raises(NotApplicable, match="has rules of flows already"):
        check()
    assert all(list(card.rules.values()) == [rule] for card in cards.cards.values())


def test_one_port_without_rules_hides_no_failure_of_the_other(made: Made) -> None:
    cards = made(virtual)
    first, second = cards.cards.values()
    first.takes_rules = False
    with pytest.raises(Undecided, match="Operation not supported"):
        check()
    second.rule_lost = True
    assert "7 flows with a rule came by other queues" in failure()


SHOWN = """\
4 RX rings available
Total 2 rules

Filter: 2044
\tRule Type: UDP over IPv4
\tSrc IP addr: 10.0.0.1 mask: 0.0.0.0
\tDest IP addr: 10.0.0.2 mask: 0.0.0.0
\tTOS: 0x0 mask: 0xff
\tSrc port: 5 mask: 0x0
\tDest port: 6 mask: 0x0
\tAction: Direct to queue 3

Filter: 2045
\tRule Type: Raw Ethernet
\tSrc MAC addr: 00:00:00:00:00:00 mask: FF:FF:FF:FF:FF:FF
\tAction: Drop

"""


def test_what_ethtool_shows_is_read() -> None:
    found = read_flow_rules(SHOWN)
    assert list(found) == [2044, 2045]
    assert found[2044] == FlowRule(("10.0.0.1", "10.0.0.2"), (5, 6), 3).shown
    assert found[2045]["Action"] == "Drop"
    assert read_flow_rules("4 RX rings available\nTotal 0 rules\n\n") == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [("Total 2", "Total 3"), ("\tAction: Drop", "Action, Drop"), ("Total 2 rules", ""), ("Filter: 2044\n", "")],
)
def test_other_texts_are_refused(old: str, new: str) -> None:
    with pytest.raises(ReadError):
        read_flow_rules(SHOWN.replace(old, new))
