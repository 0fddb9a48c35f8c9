"""The arrivals of numbered frames on a server: part of the frame program, Python 3.7 and its library only."""

from __future__ import annotations

import time
from typing import Any

from niclab.frames.frame_content import FrameContent


class Flow:
    """The arrivals of a flow at one place. ``late``: behind one of a higher number, and of the same connection."""

    def __init__(self, connections: int = 1) -> None:
        self.frames = self.bytes = self.twice = self.late = self.damaged = self.valid = 0
        self.seen: set[int] = set()
        self.last, self.example = [-1] * connections, ""
        self.tags: dict[str, int] = {}
        self.at, self.gap_s = time.monotonic(), 0.0

    def take(self, number: int, wrong: str, size: int, tag: str, valid: bool) -> None:
        now = time.monotonic()
        self.gap_s, self.at = max(self.gap_s, now - self.at), now
        self.frames += 1
        self.bytes += size
        self.valid += valid
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if wrong:
            self.damaged += 1
            self.example = self.example or f"frame {number}: {wrong}"
        if number in self.seen:
            self.twice += 1
            return
        self.seen.add(number)
        connection = number % len(self.last)
        if number < self.last[connection]:
            self.late += 1
            self.example = self.example or f"frame {number} behind {self.last[connection]}"
        self.last[connection] = max(self.last[connection], number)

    def said(self) -> dict[str, Any]:
        names = ("frames", "bytes", "twice", "late", "damaged", "valid", "tags", "example")
        return dict({name: getattr(self, name) for name in names}, distinct=len(self.seen), holes=self.holes())

    def holes(self) -> list[tuple[int, int]]:
        """The numbers that are missing before the last one: the first of each run of them, and how many."""
        found, expected = [], 0
        for number in sorted(self.seen):
            if number > expected:
                found.append((expected, number - expected))
            expected = number + 1
        return found


class Arrivals:
    """All flows at all places of this server; complete once as many frames have come as are awaited."""

    def __init__(
        self,
        content: FrameContent,
        awaited: list[list[Any]],
        flowing: list[list[Any]],
        connections: list[tuple[int, int]],
    ) -> None:
        self.connections = dict(connections)
        self.content, self.last = content, time.monotonic()
        self.flows: dict[tuple[str, int], Flow] = {}
        self.awaited = {(place, flow): count for place, flow, count in awaited}
        self.flowing = [(place, flow) for place, flow in flowing]
        self.again_from: dict[tuple[str, int], int] = {}
        self.again_by: float | None = None

    def take(self, place: str, data: bytes, size: int, padded_to: int = 0, tag: str = "", valid: bool = False) -> bool:
        found = self.content.judge(data, padded_to)
        if found is None:
            return False
        flow, number, wrong = found
        if (place, flow) not in self.flows:
            self.flows[place, flow] = Flow(self.connections.get(flow, 1))
        self.flows[place, flow].take(number, wrong, size, tag, valid)
        self.last = time.monotonic()
        return True

    @property
    def complete(self) -> bool:
        return all(key in self.flows and self.flows[key].frames >= count for key, count in self.awaited.items())

    def await_again(self, within_s: float) -> None:
        """Wait for one more frame of each flow that flows, for so long at most."""
        self.again_by = time.monotonic() + within_s
        for key in self.flowing:
            self.again_from[key] = self.flows.setdefault(key, Flow()).frames

    def gaps(self) -> list[dict[str, Any]]:
        """The longest gap of each flow since the last time, once all flow again or the time is over; empty before.

        Of a flow that does not flow, the gap until now.
        """
        if self.again_by is None:
            return []
        now = time.monotonic()
        still = [key for key in self.flowing if self.flows[key].frames == self.again_from[key]]
        if still and now < self.again_by:
            return []
        self.again_by, found = None, []
        for key in self.flowing:
            flow = self.flows[key]
            gap_s = max(flow.gap_s, now - flow.at) if key in still else flow.gap_s
            found.append({"kind": "gap", "place": key[0], "flow": key[1], "gap_s": gap_s})
            flow.gap_s = 0.0
        return [*found, {"kind": "end"}]
