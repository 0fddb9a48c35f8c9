"""The settings of a card and their values as delivered: link, rings, coalescing, pause, queues, MTU."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from pydantic import Field

from niclab.card.kernels import ByKernel
from niclab.card.values import (
    UNKNOWN,
    CounterName,
    Descriptors,
    KnownSpeedMbps,
    MtuBytes,
    PciId,
    Queues,
    Section,
    Setting,
    SpeedMbps,
    Switch,
    Unknown,
    Word,
)
from niclab.core.names import Duplex
from niclab.files.types import Record, Text, Wanted


class Medium(Enum):
    """The medium of a port. For a cage, each medium for which there are modules."""

    TWISTED_PAIR = "twisted-pair"
    FIBRE = "fibre"
    DIRECT_ATTACH = "direct-attach"
    BACKPLANE = "backplane"


CAGES = frozenset({Medium.FIBRE, Medium.DIRECT_ATTACH})
"""The media of a port that has a cage for a module."""


class LinkFacts(Section):
    """The network link the card must come up with.

    ``speeds_mbps``: every speed that a port may offer; with a module in its cage it offers those of the module alone.
    ``media``: what a port may connect to.
    """

    speed_mbps: SpeedMbps
    duplex: Annotated[Duplex | Unknown, Wanted(f"full, half, or {UNKNOWN}")]
    autoneg: Switch
    speeds_mbps: tuple[KnownSpeedMbps, ...] = ()
    media: tuple[Annotated[Medium, Wanted("twisted-pair, fibre, direct-attach or backplane")], ...] = ()


class Ring(Record):
    """One kind of ring, in descriptors: the largest that can be set, and the size as delivered.

    ``shared``: the driver gives every queue the same part of ``default``, and no ring less than ``min``.
    ``hidden_queues``: so many more queues at most have a part than ``ethtool -l`` shows.
    """

    max: Annotated[Descriptors, ByKernel()]
    default: Annotated[Descriptors, ByKernel()]
    min: Annotated[Descriptors, ByKernel()] | None = None
    shared: bool = False
    hidden_queues: Annotated[int, Field(ge=0, le=8), Wanted("a number of queues 0..8")] = 0

    def delivered(self, queues: int) -> tuple[int, ...]:
        """The sizes that a ring may have as delivered, with as many queues shown; none where nobody knows it."""
        if isinstance(self.default, Unknown):
            return ()
        if not self.shared:
            return (self.default,)
        least = self.min if isinstance(self.min, int) else 1
        return tuple(max(least, self.default // (queues + hidden)) for hidden in range(self.hidden_queues + 1))


class RingFacts(Section):
    """Rings as ``ethtool -g`` shows them. ``settable``: false when the driver has one size only."""

    settable: bool
    rx: Ring
    tx: Ring
    rx_mini: Ring | None = None
    rx_jumbo: Ring | None = None

    def largest(self, ring: Ring) -> int | Unknown:
        """The largest size of a ring; of one that cannot be set the size it has, where nobody knows the largest."""
        return ring.default if isinstance(ring.max, Unknown) and not self.settable else ring.max


class CoalescingParameter(Record):
    """A parameter of ``ethtool -c`` that the driver supports: its value as delivered, and the largest it takes.

    ``settable``: false when it is shown only, or a new value is taken and has no effect; unknown when it depends on the
    server.
    """

    name: Word
    default: Annotated[Setting, ByKernel()]
    max: Annotated[Setting, ByKernel()] | None = None
    settable: Annotated[Switch, ByKernel()] = True


class CoalescingFacts(Section):
    """Interrupt coalescing. A parameter that is not listed is not supported: setting it must be refused.

    ``adaptive_rx``, ``adaptive_tx``: as delivered; left out where the driver has none.
    """

    adaptive_rx: Switch | None = None
    adaptive_tx: Switch | None = None
    parameters: tuple[CoalescingParameter, ...] = ()


class FullRing(Enum):
    """The way in which a card treats a frame that finds no room in a ring, while it is to send pause frames."""

    PAUSES = "pauses"
    DROPS = "drops"


class PauseFacts(Section):
    """Flow control as delivered: its negotiation, and pause frames received and sent.

    ``send_needs_receive``: the driver refuses to send pause frames while it does not heed those that come.
    ``received_counter``: the counter of Linux' driver (``ethtool -S``) that grows with each pause frame
    that comes while they are heeded. ``sent_counter``: the one that grows with each that the port sends.
    ``full_ring``: it ``pauses`` the partner when a receive ring is full, or ``drops`` the frame.
    """

    autoneg: Switch
    rx: Switch
    tx: Switch
    settable: bool
    send_needs_receive: bool = False
    received_counter: CounterName | None = None
    sent_counter: CounterName | None = None
    full_ring: Annotated[FullRing | Unknown, Wanted(f"pauses, drops, or {UNKNOWN}")] | None = None


class QueueCount(Record):
    """Queues of one kind: the most, and the number as delivered (often one a CPU: then ``unknown``)."""

    max: Annotated[Queues, ByKernel()]
    default: Annotated[Queues, ByKernel()]


class ChannelFacts(Section):
    """Queues as ``ethtool -l`` shows them; a kind that is left out is not there. Without any the driver shows none."""

    settable: bool
    rx: QueueCount | None = None
    tx: QueueCount | None = None
    combined: QueueCount | None = None


class Mtu(Section):
    """The MTU in bytes: the least, the most, and as delivered."""

    min: MtuBytes
    max: MtuBytes
    default: MtuBytes


class RecommendedRings(Record):
    """Ring sizes to set, in descriptors."""

    rx: Descriptors | None = None
    tx: Descriptors | None = None


class RecommendedPause(Record):
    """Flow control to set."""

    autoneg: Switch | None = None
    rx: Switch | None = None
    tx: Switch | None = None


class RecommendedCoalescing(Record):
    """A parameter of ``ethtool -C`` to set, and the value."""

    name: Word
    value: Setting


class Sysctl(Record):
    """A kernel setting of the server."""

    name: Word
    value: Text


class Recommended(Section):
    """The configuration the card is recommended to run with: what differs from delivery (DEL-06, SUS-08)."""

    mtu: MtuBytes | None = None
    rings: RecommendedRings | None = None
    pause: RecommendedPause | None = None
    coalescing: tuple[RecommendedCoalescing, ...] = ()
    sysctls: tuple[Sysctl, ...] = ()
    irq_affinity_per_queue: bool = False


class MulticastFilter(Enum):
    """The rule by which a card tells groups that were joined from others."""

    EXACT = "exact"
    HASH = "hash"
    NONE = "none"


class ExactFilter(Enum):
    """A filter that passes its own and nothing else; there is no other kind that could be judged."""

    EXACT = "exact"


class FilterFacts(Section):
    """The frames that a port takes in.

    ``multicast``: by the whole address, by its hash, or every group. ``unicast``, ``vlan``: nothing but the own.
    """

    multicast: Annotated[MulticastFilter, Wanted("exact, hash or none")]
    unicast: Annotated[ExactFilter | Unknown, Wanted(f"exact, or {UNKNOWN}")]
    vlan: Annotated[ExactFilter | Unknown, Wanted(f"exact, or {UNKNOWN}")]


class SelfTestFacts(Section):
    """The card's own test, which the Linux driver offers or not."""

    offered: bool


class FunctionFacts(Section):
    """The virtual functions of a port (SR-IOV). ``most``: how many a port offers with the driver of Linux."""

    most: Annotated[int, Field(ge=1, le=256), Wanted("1 to 256")]


class EepromFacts(Section):
    """The sum that the first words of the EEPROM have, 16 bits each, little-endian, as ``ethtool -e`` shows them.

    ``words``: how many are added up, the word of the checksum among them. ``sum``: its last 16 bits.
    """

    words: Annotated[int, Field(ge=1, le=512), Wanted("words from the first on, 1 to 512")]
    sum: PciId
