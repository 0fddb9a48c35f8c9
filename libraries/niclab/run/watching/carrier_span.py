"""The changes of one port's carrier between two looks: those that a touch explains, and those that nothing does.

All times are those of the server's kernel, in s since its boot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from niclab.hosts.kernel.link_lines import LinkNews
from niclab.run.watching.link_touches import Touch


@dataclass(frozen=True)
class Rest:
    """The time after a touch in which a link may still change.

    Attributes:
        kept_s: Where the touch has not changed its carrier: longer than a loss may take to be seen. As long after each
            change where it has: a link may train again.
        back_s: At least, where it has: longer than a return may take.
        lost_s: At most, where it has.
    """

    kept_s: float
    back_s: float
    lost_s: float


@dataclass(frozen=True)
class Span:
    """The time between two looks at a port.

    Attributes:
        begin_s: The first look.
        end_s: The second one.
        was_up: The port had carrier at the first look.
        touches: Those that may have a part in it, of before the first look as well.
        news: The driver's words, of before the first look as well, the first one first.
    """

    begin_s: float
    end_s: float
    was_up: bool
    touches: Sequence[Touch]
    news: Sequence[LinkNews]

    def excused(self, rest: Rest) -> list[Touch]:
        """Return the times in which a change is no surprise.

        A driver that restarts its port may say nothing of the link that it takes down itself. The word that it is back
        then comes first.

        Args:
            rest: How long links may change.
        """
        return [Touch(each.begin_s, each.end_s + self._rest_s(each, rest)) for each in self.touches]

    def unexpected(self, rest: Rest) -> list[LinkNews]:
        """Return the changes that no touch explains: each loss, and its return.

        Args:
            rest: How long links may change.
        """
        excused = self.excused(rest)
        returning = [Touch(each.begin_s, each.end_s + rest.lost_s) for each in self.touches]
        found, is_up, is_lost = list[LinkNews](), self.was_up, False
        for each in self.news:
            if not self.begin_s <= each.at_s <= self.end_s:
                continue
            if not each.up:
                is_lost = not _within(excused, each)
            unsaid = each.up and is_up and not _within(returning, each)
            if is_lost or unsaid:
                found.append(each)
            is_lost, is_up = is_lost and not each.up, each.up
        return found

    def watched_s(self, rest: Rest) -> float:
        """Return the seconds in which a change would have been unexpected.

        Args:
            rest: How long links may change.
        """
        watched, at = 0.0, self.begin_s
        for each in sorted(self.excused(rest), key=lambda touch: touch.begin_s):
            watched += max(0.0, min(each.begin_s, self.end_s) - at)
            at = max(at, each.end_s)
        return watched + max(0.0, self.end_s - at)

    def _rest_s(self, touch: Touch, rest: Rest) -> float:
        after = [each.at_s - touch.end_s for each in self.news if each.at_s >= touch.begin_s]
        first = next((each for each in self.news if each.at_s >= touch.begin_s), None)
        if first is None or after[0] > (rest.lost_s if first.up else rest.kept_s):
            return rest.kept_s
        until_s = max(rest.back_s, after[0] + rest.kept_s)
        for each in after:
            until_s = max(until_s, each + rest.kept_s) if each <= until_s else until_s
        return min(until_s, rest.lost_s)


def _within(times: Sequence[Touch], news: LinkNews) -> bool:
    return any(each.begin_s <= news.at_s <= each.end_s for each in times)
