"""Two looks at the carrier of a port, and what happened to it between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from niclab.bench.records import Port
from niclab.hosts.host_records import CarrierLook
from niclab.hosts.kernel.link_lines import LinkNews
from niclab.report.own_checks.carrier_check import Unwatched
from niclab.run.watching.carrier_span import Rest, Span
from niclab.run.watching.link_touches import LinkTouches, Touch


@dataclass(frozen=True)
class CarrierMoment:
    """One look at a server.

    Attributes:
        began_s: When it was begun, in s of the controller's clock.
        at_s: When the answer had come.
        kernel_s: When it was, in s of the kernel's clock; None where the log does not show that.
        boots: Of both servers, by then.
        carriers: The counts.
        news: The drivers' words since the look before.
    """

    began_s: float
    at_s: float
    kernel_s: float | None
    boots: tuple[object, ...]
    carriers: Mapping[Port, CarrierLook]
    news: Mapping[Port, Sequence[LinkNews]]


@dataclass(frozen=True)
class Flap:
    """Changes of carrier that nobody has brought about.

    Attributes:
        port: The port.
        changes: How many.
        begin_s: When the first one came at the earliest, in s of the controller's clock.
        end_s: When the last one came at the latest.
        words: Where the kernel log has them; empty where it does not.
    """

    port: Port
    changes: int
    begin_s: float
    end_s: float
    words: str


class CarrierPair:
    """Two looks at a port, one after the other.

    Args:
        port: The port.
        looks: Both looks, and those before that may still matter; the last one last.
        touches: The touches of links so far.
        rest: How long after a touch a link may change.
    """

    def __init__(self, port: Port, looks: Sequence[CarrierMoment], touches: LinkTouches, rest: Rest) -> None:
        self._port, self._rest = port, rest
        self._early, self._late = looks[-2:]
        self._before, self._after = self._early.carriers.get(port), self._late.carriers.get(port)
        touched = touches.since(self._early.began_s - rest.lost_s)
        self._touches = [each for each in touched if each.begin_s <= self._late.at_s]
        self._news = [news for look in looks for news in look.news.get(port, ())]

    @property
    def seconds(self) -> float:
        """The time between the looks."""
        early, late = self._early.kernel_s, self._late.kernel_s
        if early is None or late is None or late < early:
            return self._late.at_s - self._early.at_s
        return late - early

    @property
    def counted(self) -> int:
        """The changes that the kernel has counted; 0 where it began again."""
        if self._before is None or self._after is None or self._before.index != self._after.index:
            return 0
        return max(0, self._after.changes - self._before.changes)

    @property
    def unclear(self) -> Unwatched | None:
        """The reason for which nobody can tell whether a change was unexpected; None if one can."""
        if self._before is None or self._after is None or self._before.index != self._after.index:
            return Unwatched.REMADE
        return None if self._is_untouched or self._span is not None else Unwatched.UNSAID

    @property
    def watched_s(self) -> float:
        """The seconds in which a change would have been unexpected."""
        if self._is_untouched or self._span is None:
            return self.seconds
        return self._span.watched_s(self._rest)

    def flap(self) -> Flap | None:
        """Return the changes that nobody has brought about; None if there are none."""
        if self._is_untouched or self._span is None:
            begin_s, end_s, counted = self._early.at_s, self._late.at_s, self.counted
            return Flap(self._port, counted, begin_s, end_s, "") if counted else None
        found = self._span.unexpected(self._rest)
        if not found:
            return None
        low, high = self._offsets
        words = f", the first at {found[0].at_s:.3f} s of its kernel's log"
        return Flap(self._port, len(found), found[0].at_s - high, found[-1].at_s - low, words)

    def changes_within(self, begin_s: float, end_s: float) -> int | None:
        """Return how many changes came between two times of the controller's clock; None if nobody knows.

        Args:
            begin_s: The earlier one.
            end_s: The later one.
        """
        if self.unclear is Unwatched.REMADE:
            return None
        if self._span is None:
            return self.counted if self._is_untouched or not self.counted else None
        low, high = self._offsets
        inside = (each for each in self._span.news if self._span.begin_s <= each.at_s <= self._span.end_s)
        return sum(begin_s <= each.at_s - low and each.at_s - high <= end_s for each in inside)

    @property
    def _is_untouched(self) -> bool:
        return not self._touches and self._before is not None and self._before.up

    @property
    def _offsets(self) -> tuple[float, float]:
        """The least and the greatest time that the kernel's clock may have been ahead of the controller's, in s.

        Each look bounds it by its own duration. Where the bounds exclude each other, one clock has stood still.
        """
        looks = [(each, each.kernel_s) for each in (self._early, self._late) if each.kernel_s is not None]
        lows, highs = [at - each.at_s for each, at in looks], [at - each.began_s for each, at in looks]
        low, high = max(lows), min(highs)
        return (low, high) if low <= high else (min(lows), max(highs))

    @property
    def _span(self) -> Span | None:
        """The time between the looks with the driver's words; None where they do not name every return of the link."""
        begin_s, end_s = self._early.kernel_s, self._late.kernel_s
        if begin_s is None or end_s is None or self._before is None or self._after is None:
            return None
        low, high = self._offsets
        touches = [Touch(each.begin_s + low, each.end_s + high) for each in self._touches]
        returns = sum(each.up and begin_s <= each.at_s <= end_s for each in self._news)
        if 2 * returns != self.counted + self._after.up - self._before.up:
            return None
        return Span(begin_s, end_s, self._before.up, touches, self._news)
