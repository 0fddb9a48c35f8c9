"""The limits of a card, what was measured of it elsewhere, and its known oddities."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from pydantic import Field

from niclab.card.effects import Prediction
from niclab.card.values import (
    Fraction,
    FrameBytes,
    KnownRate,
    LessThanWhole,
    Milliseconds,
    Module,
    Percent,
    Rate,
    RequirementId,
    Section,
)
from niclab.files.types import Text, Wanted


class Metric(Enum):
    """The unit of a reference figure."""

    MBPS = "mbps"
    MBYTES_PER_S = "mbytes-per-s"
    TRANSACTIONS_PER_S = "transactions-per-s"
    FRAMES_PER_S = "frames-per-s"
    READS_PER_S = "reads-per-s"
    CPU_PERCENT_SAVED = "cpu-percent-saved"
    THROUGHPUT_PERCENT_LOST = "throughput-percent-lost"
    GAIN = "gain"
    IO_WAIT_PERCENT = "io-wait-percent"


_METRICS = ", ".join(metric.value for metric in Metric)


class NfsLimits(Section):
    """The rate at which the card must serve reads of a cached file over NFS version 3, as a fraction of line rate.

    ``udp_fraction_of_line_rate``: over UDP at MTU 1500; ``jumbo_udp_fraction_of_line_rate``: at MTU 9000.
    """

    udp_fraction_of_line_rate: Fraction | None = None
    jumbo_udp_fraction_of_line_rate: Fraction | None = None


class ZeroLossLimit(Section):
    """The frames of a size that the card must carry in a second, in each direction, and lose none (RFC 2544, 26.1).

    ``frame_bytes``: with FCS.
    """

    frame_bytes: FrameBytes
    frames_per_s: KnownRate


class StorageLoad(Enum):
    """A load of disks over a network."""

    RANDOM = "random"
    READ = "sequential-read"
    WRITE = "sequential-write"


_LOADS = ", ".join(load.value for load in StorageLoad)


class StorageFacts(Section):
    """The loads of disks over a network that somebody asks for. They have no limit: only their ratios carry over."""

    workloads: Annotated[tuple[Annotated[StorageLoad, Wanted(f"one of {_LOADS}")], ...], Field(min_length=1)]


class IscsiOffload(Section):
    """The engine of the card that speaks iSCSI in place of the server.

    ``transport``: its name for open-iscsi, which is that of its kernel module; ``mac_offset``: its MAC address is that
    of its port plus so much, 0: it shares the port's addresses; ``transfer_bytes``: most data of one command that it
    sends; ``wanted``: operations a second, against those of the software initiator, under each load.
    """

    transport: Module
    mac_offset: Annotated[int, Field(ge=0, le=255), Wanted("a number 0..255")]
    transfer_bytes: Annotated[int, Field(ge=512, le=1 << 24), Wanted("512..16777216 bytes")]
    wanted: Prediction


class Limits(Section):
    """The limits that the card must reach.

    Throughput is a fraction of line rate, so that it holds at every speed and scale.
    """

    tcp_fraction_of_line_rate: Fraction
    carrier_loss_within_ms: Milliseconds
    carrier_return_within_ms: Milliseconds
    jumbo_tcp_fraction_of_line_rate: Fraction | None = None
    udp_fraction_of_line_rate: Fraction | None = None
    vlan_fraction_of_untagged: LessThanWhole | None = None
    full_load_fraction: Fraction | None = None
    failover_within_ms: Milliseconds | None = None
    receiver_cpu_percent: Percent | None = None
    frames_per_s: Rate | None = None
    frame_rate_same_within_percent: Percent | None = None
    retransmitted_percent: Percent | None = None
    zero_loss: tuple[ZeroLossLimit, ...] = ()
    nfs: NfsLimits | None = None


class Reference(Section):
    """A figure somebody measured on this card, and under which conditions.

    ``baseline``: the same figure without the change, where it was measured too; only their *ratio* carries over to
    another bench. ``defect``: the figure shows a defect; an effect of the same requirement excludes it, so that a card
    that repeats it fails.
    """

    requirement: RequirementId
    conditions: Text
    metric: Annotated[Metric, Wanted(_METRICS)]
    value: Annotated[float, Field(gt=0), Wanted("a number above 0")]
    baseline: Annotated[float, Field(gt=0), Wanted("a number above 0")] | None = None
    defect: bool = False

    def __str__(self) -> str:
        against = f" against {self.baseline:g}" if self.baseline is not None else ""
        known = ", a defect" if self.defect else ""
        return f"{self.value:g} {self.metric.value}{against}{known}: {self.conditions} ({self.source})"


class HarmlessMessage(Section):
    """Words of a kernel message that names the card and means no harm; any other trouble it reports fails the test."""

    text: Text


class Erratum(Section):
    """A known issue of the card, for readers of its results. ``requirement``: the one that looks for it."""

    text: Text
    requirement: RequirementId | None = None
