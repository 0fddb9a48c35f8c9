"""Counters of a port, as the frame program reads them: of one moment, whatever passes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from niclab.frames import frame_program


def looks(monkeypatch: pytest.MonkeyPatch, each: Iterator[tuple[int, int]]) -> None:
    monkeypatch.setattr(frame_program, "statistics", lambda _: dict(zip(("frames", "bytes"), next(each), strict=True)))


def test_a_frame_that_passes_while_counters_are_read_is_in_both_or_in_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As e1000e did: 60 bytes were counted before an exchange, their frame in it, and the card was blamed."""
    looks(monkeypatch, iter([(7, 560), (8, 560), (8, 560)]))
    assert frame_program.agreed("eth0") == {"frames": 8, "bytes": 560}


def test_a_port_that_never_rests_is_read_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_program, "AGREE_S", 0.01)
    looks(monkeypatch, zip(count(), count(), strict=False))
    assert frame_program.agreed("eth0")["frames"] > 0
