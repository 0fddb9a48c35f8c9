"""The text that a console has said, addressed by its position since the start; only the newest part is kept."""

from __future__ import annotations

import bisect


class Transcript:
    """A growing text of which about the last ``keep`` characters stay. Appending and reading the end cost little."""

    def __init__(self, keep: int = 8_000_000) -> None:
        self._keep = keep
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self.end = 0
        """The position after the last character."""

    @property
    def begin(self) -> int:
        """The position of the first character that is still kept."""
        return self._starts[0] if self._starts else self.end

    def append(self, text: str) -> None:
        if not text:
            return
        self._pieces.append(text)
        self._starts.append(self.end)
        self.end += len(text)
        if self.end - self.begin > 2 * self._keep:
            first = bisect.bisect_right(self._starts, self.end - self._keep) - 1
            del self._pieces[:first], self._starts[:first]

    def slice(self, start: int, end: int | None = None) -> str:
        """The text between two positions, as far as it is kept."""
        end = self.end if end is None else min(end, self.end)
        start = max(start, self.begin)
        if start >= end:
            return ""
        first = bisect.bisect_right(self._starts, start) - 1
        last = bisect.bisect_left(self._starts, end)
        return "".join(self._pieces[first:last])[start - self._starts[first] : end - self._starts[first]]
