"""Constants of a model of the card. No check reads them, and no verdict may depend on them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from niclab.card.values import Cost, Section, Subsystem
from niclab.files.types import Wanted


class Costs(Section):
    """What each stage of the model takes, at nominal speed: nanoseconds a packet, picoseconds a byte.

    Sending: ``tx_skb_ns`` for each buffer the host hands over, ``tx_segment_ns`` for each frame made of it,
    ``tx_byte_ps`` and, where the host sums, ``tx_checksum_byte_ps`` for each byte. Receiving: ``rx_frame_ns`` for each
    frame, ``rx_stack_ns`` for each packet handed to the host (merged frames are one), ``rx_byte_ps`` and
    ``rx_checksum_byte_ps`` for each byte.
    """

    tx_skb_ns: Cost
    tx_segment_ns: Cost
    tx_byte_ps: Cost
    tx_checksum_byte_ps: Cost
    rx_frame_ns: Cost
    rx_stack_ns: Cost
    rx_byte_ps: Cost
    rx_checksum_byte_ps: Cost


class Model(Section):
    """How the model shows itself where the sheet leaves room, and how it is slowed down.

    ``scale``: it runs at line rate divided by this. ``flash_ms``: how long writing firmware takes.
    """

    scale: Annotated[int, Field(ge=1, le=10_000), Wanted("a whole number 1..10000")]
    subsystem: Subsystem
    revision: Annotated[int, Field(ge=0, le=255), Wanted("a PCI revision 0..255")]
    bar_bytes: Annotated[
        tuple[Annotated[int, Field(ge=4096, le=16_777_216), Wanted("a size of 4096..16777216 bytes")], ...],
        Field(min_length=1, max_length=3),
    ]
    msix_vectors: Annotated[int, Field(ge=0, le=2048), Wanted("a number of vectors 0..2048 (0: it has no MSI-X)")]
    queues: Annotated[int, Field(ge=1, le=64), Wanted("a number of queues 1..64")]
    flash_ms: Annotated[int, Field(ge=0, le=600_000), Wanted("milliseconds 0..600000")]
    costs: Costs
