"""Disks of a session that are loaded while a link below them changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fake_bench import FakeBench

from niclab.card import StorageLoad
from niclab.run.watching.standstill import Stood
from niclab.storage.disk_loads import LoadCounts


def counts(elapsed_s: float, silent_s: float, slowest_s: float) -> LoadCounts:
    """The counts of a load in which nothing was wrong."""
    return LoadCounts(
        reads=67,
        written=33,
        bytes_read=67 << 13,
        bytes_written=33 << 13,
        damaged=0,
        failed=0,
        elapsed_s=elapsed_s,
        silent_s=silent_s,
        slowest_s=slowest_s,
        example="block 7",
    )


class LoadedDisks:
    """The program that loads them.

    ``finds``: changes of the counts of each load, the last one again; ``whole``: of those of the fill; ``stood``: the
    standstills meanwhile; ``stood_at_begin``: further ones, right after a load has begun; ``did``: loads in their
    order.
    """

    def __init__(self, bench: FakeBench, good: LoadCounts) -> None:
        self.finds: list[dict[str, Any]] = [{}]
        self.whole: dict[str, Any] = {}
        self.stood: tuple[Stood, ...] = ()
        self.stood_at_begin: tuple[Stood, ...] = ()
        self.did = list[str]()
        self._bench, self._good, self._loads = bench, good, 0

    def told(self) -> int:
        """Return how much was done until now, as the answer of the watch for standstills."""
        return len(self.did)

    def between(self, before: int, after: int) -> tuple[Stood, ...]:
        """Return the standstills between two answers of :meth:`told`."""
        begins = StorageLoad.RANDOM.value in self.did[before:after]
        return (*self.stood, *(self.stood_at_begin if begins else ()))

    def fill(self) -> LoadCounts:
        self.did.append("fill")
        return self._good.model_copy(update=self.whole)

    def check(self) -> LoadCounts:
        self.did.append("check")
        return self._good

    def end(self) -> None:
        self.did.append("end")

    @contextmanager
    def going_on(self, load: StorageLoad) -> Iterator[Callable[[], LoadCounts]]:
        self.did.append(load.value)
        yield self.ended

    def ended(self) -> LoadCounts:
        """The counts of a load that goes on, once it is ended."""
        self._loads += 1
        return self._good.model_copy(update=self.finds[min(self._loads, len(self.finds)) - 1])
