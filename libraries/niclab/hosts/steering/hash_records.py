"""The spread of received flows over the queues of a card (RSS): indirection table, key, hash function, fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

TOEPLITZ = "toeplitz"


class FlowKind(Enum):
    """Flows of one protocol, by the words of ``ethtool -n IFACE rx-flow-hash``."""

    TCP4 = "tcp4"
    UDP4 = "udp4"
    TCP6 = "tcp6"
    UDP6 = "udp6"

    @property
    def version(self) -> int:
        """Version of IP."""
        return int(self.value[-1])


@dataclass(frozen=True)
class ReceiveHash:
    """``ethtool -x``: what a port hashes with, and the queue of each entry of its table.

    ``rings``: receive queues, which need not all be in the table. ``key`` and ``function`` None: the driver does not
    show it. ``transformed``: fields are mixed before they are hashed, as for a hash that is the same in both
    directions.
    """

    iface: str
    rings: int
    table: tuple[int, ...]
    key: bytes | None
    function: str | None
    transformed: bool

    @property
    def shares(self) -> Mapping[int, float]:
        """Queue -> its part of the table, of the queues that have one, in their order."""
        return {queue: count / len(self.table) for queue, count in sorted(Counter(self.table).items())}


class HashField(Enum):
    """A part of a frame that is hashed, by its letter of ``ethtool -N IFACE rx-flow-hash``."""

    SOURCE = "s"
    DESTINATION = "d"
    SOURCE_PORT = "f"
    DESTINATION_PORT = "n"
    DESTINATION_MAC = "m"
    VLAN = "v"
    PROTOCOL = "t"
    FLOW_LABEL = "l"
    DISCARDED = "r"


ADDRESSES = frozenset({HashField.SOURCE, HashField.DESTINATION})
PORTS = frozenset({HashField.SOURCE_PORT, HashField.DESTINATION_PORT})


@dataclass(frozen=True)
class HashFields:
    """``ethtool -n IFACE rx-flow-hash KIND``."""

    kind: FlowKind
    fields: frozenset[HashField]
