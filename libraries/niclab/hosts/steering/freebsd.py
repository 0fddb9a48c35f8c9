"""FreeBSD host: receive queues, of which the system answers no question in common words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from niclab.core.verdict import NotApplicable
from niclab.hosts.parity import not_available
from niclab.hosts.settings.settings_records import Attempt
from niclab.hosts.steering.flow_rules import FlowRule
from niclab.hosts.steering.hash_records import FlowKind, HashField, HashFields, ReceiveHash

_OF_DRIVER = "each driver spreads flows by a table, key and fields that it shows nobody (sys/net/rss_config.h)"

_RULES = "drivers that have rules of flows take them by ioctls or sysctls of their own, if at all"


class FreeBsdQueues:
    """See :class:`niclab.hosts.host.HostQueues` for the meaning of each method."""

    def __init__(self, name: str) -> None:
        self._name = name

    @not_available(_OF_DRIVER)
    def receive_hash(self, iface: str) -> ReceiveHash:
        self._none(iface, "indirection table")

    @not_available(_OF_DRIVER)
    def set_weights(self, iface: str, weights: Sequence[int]) -> Attempt[ReceiveHash]:
        self._none(iface, f"weights {list(weights)}")

    @not_available(_OF_DRIVER)
    def set_key(self, iface: str, key: bytes) -> Attempt[ReceiveHash]:
        self._none(iface, f"hash key {key.hex()}")

    @not_available(_OF_DRIVER)
    def fields(self, iface: str, kind: FlowKind) -> HashFields:
        self._none(iface, f"fields of {kind.value}")

    @not_available(_OF_DRIVER)
    def set_fields(self, iface: str, kind: FlowKind, fields: frozenset[HashField]) -> Attempt[HashFields]:
        self._none(iface, f"fields {sorted(field.value for field in fields)} of {kind.value}")

    @not_available(_OF_DRIVER)
    def frames(self, iface: str) -> Mapping[int, int]:
        self._none(iface, "counts of queues")

    @not_available(_RULES)
    def rules(self, iface: str) -> Mapping[int, Mapping[str, str]]:
        self._none(iface, "rules of flows")

    @not_available(_RULES)
    def add_rules(self, iface: str, rules: Sequence[FlowRule]) -> Attempt[Mapping[int, Mapping[str, str]]]:
        self._none(iface, f"{len(rules)} rules of flows")

    @not_available(_RULES)
    def remove_rules(self, iface: str) -> Attempt[Mapping[int, Mapping[str, str]]]:
        self._none(iface, "rules of flows")

    @not_available(_RULES)
    def restoring_no_rules(self, iface: str) -> str:
        self._none(iface, "rules of flows")

    @not_available(_OF_DRIVER)
    def restoring_table(self, iface: str) -> str:
        self._none(iface, "indirection table")

    @not_available(_OF_DRIVER)
    def restoring_key(self, iface: str) -> str:
        self._none(iface, "hash key")

    @not_available(_OF_DRIVER)
    def restoring_fields(self, iface: str, kind: FlowKind) -> str:
        self._none(iface, f"fields of {kind.value}")

    def _none(self, iface: str, what: str) -> NoReturn:
        raise NotApplicable(f"{self._name}: {iface}: {what} cannot be asked for: FreeBSD: {_OF_DRIVER}")
