"""Changes under traffic in network namespaces: a change takes the port down, and it comes back by itself later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from namespaces import Namespaces

from niclab.bench.records import Role
from niclab.card import At, Setting, SettingKind
from niclab.core.profile import Profile
from niclab.core.verdict import CardFailure
from niclab.frames import changes

AWAY_S, LIMIT_MS = 1.5, 20_000


def restarts(clean: Namespaces, monkeypatch: pytest.MonkeyPatch, away_s: float, limit_ms: int) -> None:
    """Let each setting, when it is put back, take p0 of the dut down; it is up again after ``away_s``."""
    dut = clean.servers[Role.DUT]

    @contextmanager
    def applied(*_: object) -> Iterator[None]:
        yield
        dut.run("ip link set p0 down")
        dut.run(f"(sleep {away_s}; ip link set p0 up) >/dev/null 2>&1 &")

    setting = Setting(kind=SettingKind.RING, name="rx", to=64, at=At.SENDER)
    known: Any = SimpleNamespace(name="veth", limits=SimpleNamespace(carrier_return_within_ms=limit_ms))
    known.known = lambda fact, _: fact
    monkeypatch.setattr(clean.run, "card", known)
    monkeypatch.setattr(changes, "applied", applied)
    monkeypatch.setattr(changes, "candidates", lambda _: [setting])
    monkeypatch.setattr(changes, "CHANGES", {Profile.QUICK: 1})


def test_a_port_has_the_time_of_the_sheet_to_return_from_the_last_change(
    clean: Namespaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    restarts(clean, monkeypatch, AWAY_S, LIMIT_MS)
    said = list[str]()
    changes.under_traffic(clean.run, Profile.QUICK, said.append, seed=1)
    assert [line for line in said if "frames after seed 1: 199 sent, 199 at the port" in line], said


def test_a_port_that_returns_too_late_from_the_last_change_is_named(
    clean: Namespaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    restarts(clean, monkeypatch, AWAY_S, limit_ms=500)
    with pytest.raises(CardFailure, match=r"dut\.p0 .*no carrier 500 ms after .*seed 1.*sheet veth"):
        changes.under_traffic(clean.run, Profile.QUICK, str, seed=1)
    assert clean.servers[Role.DUT].host.links.await_carrier("p0", True, 5)
