"""Cards with several receive queues, whose drivers behave as the named ones do, and flows that come as they deal them.

Sources, Linux 6.1: igb (igb_setup_mrqc(), igb_get_rxfh(): no key), ixgbe (ixgbe_setup_reta() at each start; 16 queues
of the 82599 in the table), bnx2x (bnx2x_init_rss() at each start, no key), cxgb4 (get_rss_table(): no key; no channels,
no counters of queues), be2net (be_rx_qs_create() at each start), sfc of Siena (siena_rx_push_rss_config(): takes 16
bytes of a key; no channels).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fake_bench import FakeBench
from fake_settings import FakeSettings, settings_of

from niclab.bench.records import Role
from niclab.frames.queues.flow_agents import Came, Flows
from niclab.frames.queues.toeplitz import hash_input, toeplitz
from niclab.hosts.errors import NotOffered
from niclab.hosts.settings.ethtool_records import Channels, Feature
from niclab.hosts.settings.settings_records import Attempt
from niclab.hosts.steering.flow_rules import FlowRule
from niclab.hosts.steering.hash_records import ADDRESSES, PORTS, TOEPLITZ, FlowKind, HashField, HashFields, ReceiveHash

KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
UNSUPPORTED = "Cannot set RX flow hash configuration: Operation not supported"
FOUR = {kind: (ADDRESSES | PORTS if kind.value.startswith("tcp") else ADDRESSES) for kind in FlowKind}


@dataclass
class QueueCard:
    """One port. ``table_queues``: the most in the table. ``key_bytes``: so many of a key are taken."""

    rings: int = 4
    table_queues: int = 1 << 16
    entries: int = 128
    blocks: bool = False
    own_table_when_up: bool = False
    own_table_when_resized: bool = False
    shows_key: bool = True
    key_bytes: int = 40
    fields: dict[FlowKind, frozenset[HashField]] | None = field(default_factory=lambda: dict(FOUR))
    fields_settable: bool = True
    counts: bool = True

    function: str | None = TOEPLITZ
    transformed: bool = False
    notes: bool = True
    stuck: bool = False
    dead: int | None = None
    lost_entry: int | None = None
    ignores_table: bool = False
    miscounts: int = 0
    loses: frozenset[int] = frozenset()
    other_key: bool = False
    ignores_fields: bool = False
    breaks_when_refused: bool = False
    stays_when_restored: bool = False
    dies_when_up: int | None = None

    takes_rules: bool = True
    rules: dict[int, FlowRule] = field(default_factory=dict)
    in_force: list[FlowRule] = field(default_factory=list)
    rules_end_when_up: bool = False
    forgets_when_up: bool = False
    ignored_port_bits: int = 0
    rules_stay: bool = False
    rule_lost: bool = False
    doubles: frozenset[int] = frozenset()
    """Flows that come by another queue as well."""
    kills_ruled: bool = False

    vectors: str = "{iface}-TxRx-{queue}"
    """Name of each vector: another one where it has no place for the queue."""
    raises: Mapping[int, int | None] = field(default_factory=dict)
    """Queue -> that whose interrupt its frames raise; None: none."""
    raises_when_resized: Mapping[int, int | None] | None = None
    frames_per_interrupt: int = 8
    housekeeping: int = 1
    interrupts: dict[int, int] = field(default_factory=dict)

    configured: bool = False
    key: bytes = KEY
    table: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    counted: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.counted = dict.fromkeys(range(self.rings), 1000)
        self.interrupts = dict.fromkeys(range(self.rings), 77)
        self.write(self.default)

    @property
    def default(self) -> list[int]:
        queues = min(self.rings, self.table_queues)
        return [n * queues // self.entries if self.blocks else n % queues for n in range(self.entries)]

    def write(self, table: list[int]) -> None:
        kept = self.written or table
        self.table = table
        if not (self.ignores_table and self.written):
            self.written = [kept[n] if n == self.lost_entry else queue for n, queue in enumerate(table)]

    def up(self) -> None:
        self.dead = self.dies_when_up if self.dies_when_up is not None else self.dead
        if self.rules_end_when_up:
            self.remove_rules()
        if self.forgets_when_up:
            self.in_force = []
        if self.own_table_when_up:
            self.configured = False
            self.write(self.default)

    def resize(self, rings: int) -> bool:
        """False: the kernel refuses, ethnl_set_channels()."""
        if self.configured and rings <= max(self.table):
            if self.breaks_when_refused:
                self.write(self.default)
            return False
        self.rings = rings
        self.interrupts = dict.fromkeys(range(rings), 0)
        self.raises = self.raises if self.raises_when_resized is None else self.raises_when_resized
        if self.own_table_when_resized or self.own_table_when_up or not self.configured:
            self.write(self.default)
        return True

    def raise_interrupts(self, queues: Sequence[int]) -> None:
        self.interrupts = {queue: count + self.housekeeping for queue, count in self.interrupts.items()}
        for queue in queues[:: self.frames_per_interrupt]:
            raised = self.raises.get(queue, queue)
            if raised in self.interrupts:  # an entry that was lost may name a queue that is gone
                self.interrupts[raised] += 1

    def add_rule(self, rule: FlowRule) -> None:
        self.rules[2045 - len(self.rules)] = rule
        if not (self.rule_lost and self.in_force):
            self.in_force.append(rule)

    def remove_rules(self) -> None:
        self.rules = {}
        self.in_force = self.in_force if self.rules_stay else []

    def _ruled(self, flows: Flows, number: int) -> FlowRule | None:
        ports = [port >> self.ignored_port_bits for port in flows.ports[number]]
        for rule in self.in_force if flows.kind is FlowKind.UDP4 else ():
            if rule.addresses == flows.addresses and [port >> self.ignored_port_bits for port in rule.ports] == ports:
                return rule
        return None

    def deal(self, flows: Flows, number: int) -> int | None:
        if rule := self._ruled(flows, number):
            return None if self.kills_ruled else rule.queue
        fields = (self.fields or FOUR)[flows.kind]
        fields = FOUR[flows.kind] if self.ignores_fields else fields
        key = KEY[::-1] if self.other_key else self.key
        entry = 0 if self.stuck else toeplitz(key, hash_input(fields, flows.addresses, flows.ports[number]))
        queue = self.written[entry % self.entries]
        return None if queue == self.dead or number in self.loses else queue


class QueueCards:
    """The receive queues of every port of the dut, as the host's part ``queues``, and what is sent to them."""

    def __init__(self, bench: FakeBench, card: Callable[[], QueueCard]) -> None:
        self.settings: FakeSettings = settings_of(bench)
        self.cards = {nic.iface: card() for nic in bench.dut.nics}
        self.sent: list[Flows] = []
        self.channels_shown = True
        self.rules_taken, self.rules_left = 64, False
        self._kept: list[dict[str, QueueCard]] = []
        host: Any = bench.dut
        host.queues = self
        set_channels, channels = host.set_channels, host.channels

        def told(command: str) -> Any:
            reply = self._command(command) or shell(command)
            if up := re.fullmatch(r"ip link set dev (\w+) up", command):
                self.cards[up[1]].up()
            return reply

        def resized(iface: str, counts: Mapping[str, int]) -> Attempt[Channels]:
            if not self.cards[iface].resize(counts["combined"]):
                return Attempt("requested channel counts are too low", host.channels(iface))
            return set_channels(iface, counts)  # type: ignore[no-any-return]

        def shown(iface: str) -> Channels:
            if not self.channels_shown:
                raise NotOffered(f"dut: {iface}: Operation not supported")
            return channels(iface)  # type: ignore[no-any-return]

        host.set_channels, host.channels = resized, shown
        for iface, each in self.cards.items():
            self.settings.ports[iface].queues = each.rings
            self.settings.ports[iface].features["ntuple-filters"] = Feature(False, False, None)
        ssh: Any = bench.ssh[Role.DUT]
        shell = ssh._shell
        ssh._shell = told

    def exchange(self, run: Any, flows: Sequence[Flows]) -> list[Came]:
        """Replaces :meth:`~niclab.frames.queues.flow_agents.FlowAgents.exchange`."""
        found = []
        for one in flows:
            card, came = self.cards[run.interface(one.receiver)], Came(others=3)
            for number in range(one.count):
                queue = card.deal(one, number)
                if queue is None:
                    continue
                card.counted[queue] = card.counted.get(queue, 0) + 1
                if card.notes:
                    came.queues[number] = queue
                else:
                    came.unnoted.add(number)
            came.moved |= card.doubles
            card.raise_interrupts(list(came.queues.values()))
            card.counted[0] += 3 + card.miscounts
            self.sent.append(one)
            found.append(came)
        return found

    # --- asked

    def receive_hash(self, iface: str) -> ReceiveHash:
        card = self.cards[iface]
        key = card.key if card.shows_key else None
        return ReceiveHash(iface, card.rings, tuple(card.table), key, card.function, card.transformed)

    def set_weights(self, iface: str, weights: Sequence[int]) -> Attempt[ReceiveHash]:
        card = self.cards[iface]
        words = [queue for queue, weight in enumerate(weights) if weight]
        card.write(sorted(words[n % len(words)] for n in range(card.entries)))
        card.configured = True
        return Attempt(None, self.receive_hash(iface))

    def set_key(self, iface: str, key: bytes) -> Attempt[ReceiveHash]:
        card = self.cards[iface]
        if not card.key_bytes:
            raise NotOffered(UNSUPPORTED)
        card.key = key[: card.key_bytes] + card.key[card.key_bytes :]
        return Attempt(None, self.receive_hash(iface))

    def fields(self, iface: str, kind: FlowKind) -> HashFields:
        known = self.cards[iface].fields
        if known is None:
            raise NotOffered(f"dut: {iface}: Operation not supported")
        return HashFields(kind, known[kind])

    def set_fields(self, iface: str, kind: FlowKind, fields: frozenset[HashField]) -> Attempt[HashFields]:
        card = self.cards[iface]
        assert card.fields is not None
        if not card.fields_settable:
            return Attempt("Invalid argument", self.fields(iface, kind))
        card.fields[kind] = fields
        return Attempt(None, self.fields(iface, kind))

    def frames(self, iface: str) -> Mapping[int, int]:
        card = self.cards[iface]
        return dict(card.counted) if card.counts else {}

    def rules(self, iface: str) -> Mapping[int, Mapping[str, str]]:
        if not self.cards[iface].takes_rules:
            raise NotOffered(f"dut: `ethtool -n {iface}`: Operation not supported")
        return {number: rule.shown for number, rule in self.cards[iface].rules.items()}

    def add_rules(self, iface: str, rules: Sequence[FlowRule]) -> Attempt[Mapping[int, Mapping[str, str]]]:
        assert self.settings.ports[iface].features["ntuple-filters"].on
        for rule in rules[: self.rules_taken]:
            self.cards[iface].add_rule(rule)
        refused = None if len(rules) <= self.rules_taken else "rmgr: Cannot insert RX class rule: No space left"
        return Attempt(refused, self.rules(iface))

    def remove_rules(self, iface: str) -> Attempt[Mapping[int, Mapping[str, str]]]:
        self.cards[iface].remove_rules()
        return Attempt(None, self.rules(iface))

    def restoring_no_rules(self, iface: str) -> str:
        return f"queues rules {iface} {len(self._keep())}"

    def restoring_table(self, iface: str) -> str:
        return f"queues table {iface} {len(self._keep())}"

    def restoring_key(self, iface: str) -> str:
        return f"queues key {iface} {len(self._keep())}"

    def restoring_fields(self, iface: str, kind: FlowKind) -> str:
        return f"queues fields {iface} {len(self._keep())} {kind.value}"

    def _keep(self) -> list[dict[str, QueueCard]]:
        self._kept.append(copy.deepcopy(self.cards))
        return self._kept

    def _command(self, command: str) -> str:
        words = command.split()
        if command == "cat /proc/interrupts":
            return self._interrupts()
        if command.startswith("restore ") and "never back" not in self.settings.faults:
            for iface, each in self.cards.items():
                each.resize(self.settings._kept[int(words[1])][iface].queues)
        if words[:1] != ["queues"]:
            return ""
        card, kept = self.cards[words[2]], self._kept[int(words[3]) - 1][words[2]]
        if words[1] == "table" and not card.stays_when_restored:
            card.configured = False
            card.write(card.default)
        elif words[1] == "key":
            card.key = kept.key
        elif words[1] == "rules" and not self.rules_left:
            card.remove_rules()
        elif words[1] == "fields":
            card.fields = kept.fields
        return "put back"

    def _interrupts(self) -> str:
        """Two CPUs; each port has a vector of its own before those of its queues."""
        rows, number = ["            CPU0       CPU1"], 24
        for iface, card in self.cards.items():
            names = {card.vectors.format(iface=iface, queue=queue): queue for queue in card.interrupts}
            rows.append(f"  {number}:  5  0  PCI-MSIX-0000:00:02.0  0-edge  {iface}")
            for name, queue in names.items():
                number += 1
                rows.append(f"  {number}:  0  {card.interrupts[queue]}  PCI-MSIX-0000:00:02.0  {number}-edge  {name}")
            number += 1
        return "\n".join(rows) + "\n"


def igb() -> QueueCard:
    return QueueCard(blocks=True, own_table_when_resized=True, shows_key=False, key_bytes=0)


def ixgbe() -> QueueCard:
    return QueueCard(rings=20, table_queues=16, own_table_when_up=True, own_table_when_resized=True)


def bnx2x() -> QueueCard:
    return QueueCard(own_table_when_up=True, shows_key=False, key_bytes=0)


def cxgb4() -> QueueCard:
    return QueueCard(entries=64, shows_key=False, key_bytes=0, fields_settable=False, counts=False)


def be2net() -> QueueCard:
    return QueueCard(own_table_when_up=True, fields_settable=False)


def sfc_siena() -> QueueCard:
    return QueueCard(key_bytes=16, fields_settable=False)


Made = Callable[[Callable[[], QueueCard]], QueueCards]
DRIVERS = {each.__name__: each for each in (igb, ixgbe, bnx2x, cxgb4, be2net, sfc_siena)}
WITHOUT_CHANNELS = ("cxgb4", "sfc_siena")


def virtual() -> QueueCard:
    """A card that shows a key and does not say what it hashes: nobody predicts its queues."""
    return QueueCard(fields=None, key_bytes=0, other_key=True)


def spoilt(**defects: Any) -> Callable[[], QueueCard]:
    return lambda: replace(virtual(), **defects)
