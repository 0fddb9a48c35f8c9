"""The effect of a setting on the traffic of a card: predicted on the sheet, measured in turns with and without it."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from pydantic import Field

from niclab.bench.records import Role
from niclab.card.values import RequirementId, Section, Word
from niclab.files.types import Record, Text, Wanted


class SettingKind(Enum):
    """The kind of setting. ``mtu-in-flight``: the MTU without taking the ports down and up (EMX-08)."""

    OFFLOAD = "offload"
    MTU = "mtu"
    MTU_IN_FLIGHT = "mtu-in-flight"
    SYSCTL = "sysctl"
    COALESCING = "coalescing"
    RING = "ring"
    PAUSE = "pause"
    QUEUES = "queues"
    VLAN = "vlan"
    BOND = "bond"
    VLAN_ON_BOND = "vlan-on-bond"


class At(Enum):
    """The end of the traffic at which it is set."""

    SENDER = "sender"
    RECEIVER = "receiver"
    BOTH = "both"


class Workload(Enum):
    """The kind of traffic; the names are those of the traffic tools."""

    TCP_STREAM = "TCP_STREAM"
    TCP_SENDFILE = "TCP_SENDFILE"
    TCP_RR = "TCP_RR"


class Figure(Enum):
    """The compared figure. CPU is seconds of all processors of that end for each gigabit that passed its port."""

    MBPS = "mbps"
    TRANSACTIONS_PER_S = "transactions-per-s"
    SENDER_CPU = "sender-cpu"
    RECEIVER_CPU = "receiver-cpu"


_KINDS = ", ".join(kind.value for kind in SettingKind)
PercentChange = Annotated[float, Field(gt=0, lt=1000), Wanted("a percentage of more than 0 and less than 1000")]
PercentLess = Annotated[float, Field(gt=0, lt=100), Wanted("a percentage of more than 0 and less than 100")]


class Setting(Record):
    """One setting: ``{kind: offload, name: tso4, to: false, at: sender}``.

    ``name``: of the offload, sysctl, coalescing parameter, ring (rx, tx), part of pause (autoneg, rx, tx) or kind of
    queues (combined). ``to``: a number, a word, true or false; a ring may be set to ``largest``; of a bond its mode, of
    a VLAN its ID. An MTU, a bond and a VLAN are always set at both ends.
    """

    kind: Annotated[SettingKind, Wanted(f"one of: {_KINDS}")]
    name: Word | None = None
    to: Annotated[bool | int | str, Wanted("a number, a word, true or false")]
    at: Annotated[At, Wanted("sender, receiver or both")] = At.BOTH

    def __str__(self) -> str:
        end = f" at the {self.at.value}" if self.at is not At.BOTH else ""
        shown = {True: "on", False: "off"}[self.to] if isinstance(self.to, bool) else str(self.to)
        return " ".join(filter(None, (self.kind.value, self.name, shown))) + end


FORMS = (
    *("ratio", "more_percent", "less_percent", "loses_at_most_percent", "gains_at_most_percent"),
    *("window_bytes", "unknown"),
)
"""The ways to predict an effect; a prediction has exactly one, or both bounds of a small change."""


class Prediction(Record):
    """The expected change of the figure, in percent of the figure without it: one of these, or both ``at_most``.

    ``ratio`` with ``within_percent``: with it it is ``ratio`` times as much, give or take; ``more_percent``,
    ``less_percent``: it changes at least so much that way; ``loses_at_most_percent``: it may become less by so much;
    ``gains_at_most_percent``: it may become more by so much; ``window_bytes``: it is what a receive window of that size
    allows each round trip, which is measured before;
    ``unknown``: nobody knows, and why; the effect is measured and shown, and not judged.
    """

    ratio: Annotated[float, Field(gt=0, le=100), Wanted("a number of more than 0 and at most 100")] | None = None
    within_percent: PercentLess | None = None
    more_percent: PercentChange | None = None
    less_percent: PercentLess | None = None
    loses_at_most_percent: PercentLess | None = None
    gains_at_most_percent: PercentChange | None = None
    window_bytes: Annotated[int, Field(ge=1, le=1 << 30), Wanted("a size of 1..1073741824 bytes")] | None = None
    unknown: Text | None = None

    @property
    def forms(self) -> list[str]:
        """Names of the forms that are given; exactly one is wanted, and what it may lose and gain at most is one."""
        given = [name for name in FORMS if getattr(self, name) is not None]
        return [" and ".join(given)] if given == ["loses_at_most_percent", "gains_at_most_percent"] else given

    def allows(self, ratio: float) -> bool:
        """Is a figure that is ``ratio`` times the one without the setting as predicted?

        Always where nobody knows, or where that takes the round trip of a bench.
        """
        if self.ratio is not None and self.within_percent is not None:
            return abs(ratio / self.ratio - 1) <= self.within_percent / 100
        if self.more_percent is not None:
            return ratio >= 1 + self.more_percent / 100
        if self.less_percent is not None:
            return ratio <= 1 - self.less_percent / 100
        gains_little = self.gains_at_most_percent is None or ratio <= 1 + self.gains_at_most_percent / 100
        return gains_little and (self.loses_at_most_percent is None or ratio >= 1 - self.loses_at_most_percent / 100)


class Effect(Section):
    """A prediction. ``change``: settings of the one variant; ``against``: of the other; ``under``: of both.

    ``part``: the part of the requirement that it decides, if that has parts. ``cpu``: the processor both ends are
    bound to.
    """

    name: Word
    requirement: RequirementId
    part: Word | None = None
    change: tuple[Setting, ...]
    against: tuple[Setting, ...] = ()
    under: tuple[Setting, ...] = ()
    sender: Annotated[Role, Wanted("dut or peer")] = Role.DUT
    workload: Annotated[Workload, Wanted("TCP_STREAM, TCP_SENDFILE or TCP_RR")] = Workload.TCP_STREAM
    message_bytes: Annotated[int, Field(ge=1, le=1_048_576), Wanted("a size of 1..1048576 bytes")] | None = None
    connections: Annotated[int, Field(ge=1, le=128), Wanted("a number 1..128")] = 1
    cpu: Annotated[int, Field(ge=0, le=1023), Wanted("the number of a processor")] | None = None
    figure: Annotated[Figure, Wanted("mbps, transactions-per-s, sender-cpu or receiver-cpu")] = Figure.MBPS
    wanted: Prediction

    @property
    def decides(self) -> str:
        """The id of what it decides: a requirement, or a part of one."""
        return f"{self.requirement}/{self.part}" if self.part else self.requirement


class Step(Record):
    """One step of a sequence, next to its baseline. ``settings``: what is set in it, all of it.

    ``iscsi``: of the loads over iSCSI; None where nothing predicts them.
    """

    name: Word
    settings: tuple[Setting, ...]
    wanted: Prediction
    iscsi: Prediction | None = None


class Sequence(Section):
    """Settings changed one at a time from a baseline, and back (DEL-02). ``baseline``: all that is set in it."""

    requirement: RequirementId
    sender: Annotated[Role, Wanted("dut or peer")] = Role.DUT
    baseline: tuple[Setting, ...]
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
