"""A setting of one port that is held for a while: put on, read back, and put back, with its undo in the journal first.

A setting that the card or its system does not offer is not applicable; one that is taken and not done is the card's
failure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from niclab.bench.records import OperatingSystem, Port, Role
from niclab.card import (
    Changeable,
    ChannelFacts,
    CoalescingFacts,
    OffloadName,
    PauseFacts,
    RingFacts,
    Setting,
    SettingKind,
)
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable
from niclab.hosts.settings.ethtool_records import Coalescing
from niclab.run.run import Run
from niclab.run.server import Server, quoted
from niclab.run.temporary import put_back
from niclab.settings import coalescing, pause
from niclab.settings.offloads.unsafe import switch_offload

COMBINED = "combined"
"""The queues whose number can be set: those that receive and send."""
NO_LONGER_HEEDED = {"net.ipv4.tcp_low_latency": (4, 14)}
"""Sysctls of Linux without effect, and the first release without it (Documentation/networking/ip-sysctl.rst)."""


@dataclass(frozen=True)
class _Held:
    """The port whose setting is held."""

    run: Run
    server: Server
    port: Port
    iface: str

    @classmethod
    def of(cls, run: Run, port: Port) -> _Held:
        return cls(run, run.server_of(port), port, run.interface(port))

    @property
    def place(self) -> str:
        return self.port.place

    @property
    def system(self) -> OperatingSystem:
        return self.server.description.os

    def changing(self, what: str, restoring: str) -> AbstractContextManager[None]:
        return put_back(self.run, self.server, self.port.name, f"{self.iface}: {what}", restoring, self.iface)

    def expect(self, setting: Setting, found: object, expected: object, refused: str | None) -> None:
        """Judge what was read back: the dut's is the card's business, the peer's the bench's."""
        if found == expected:
            return
        why = f" ({refused})" if refused else ""
        said = f"{self.place}: {setting} was set, it shows {found}{why}"
        raise CardFailure(said) if self.server.role is Role.DUT else BenchFault(said)


def number_of(setting: Setting) -> int:
    """Return the number that a setting is set to.

    Args:
        setting: The setting.

    Raises:
        BenchFault: It is set to something else.
    """
    if isinstance(setting.to, bool) or not isinstance(setting.to, int):
        raise BenchFault(f"setting {setting.kind.value}: {setting.to!r} is not wanted; expected a whole number")
    return setting.to


def _switch(setting: Setting) -> bool:
    if not isinstance(setting.to, bool):
        raise BenchFault(f"setting {setting.kind.value}: {setting.to!r} is not wanted; expected true or false")
    return setting.to


def held(run: Run, port: Port, setting: Setting) -> AbstractContextManager[None]:
    """Set one setting of a port for the ``with`` block, read it back, and put it back.

    Args:
        run: The current run.
        port: The port; a sysctl is set on its server.
        setting: The setting: an offload, sysctl, coalescing parameter, ring, part of pause or number of queues.

    Raises:
        NotApplicable: The sheet or the system does not offer it; before the block, and before anything is changed.
        CardFailure: The dut takes it and does not show it.
        BenchFault: The peer or a system does not show it, or it could not be put back.
    """
    return _KINDS[setting.kind](_Held.of(run, port), setting)


def require_offered(run: Run, port: Port, setting: Setting) -> None:
    """Require that a setting can be made at a port. Nothing is changed.

    Args:
        run: The current run.
        port: The port; a sysctl is set on its server.
        setting: The setting.

    Raises:
        NotApplicable: The sheet or the system does not offer it.
    """
    held(run, port, setting)


def _offload(end: _Held, setting: Setting) -> AbstractContextManager[None]:
    card, system = end.run.card, end.system
    rows = card.section(card.offloads, "offloads").rows(system)
    row = next((row for name, row in rows.items() if name.value == setting.name), None)
    if row is None or row.set_with is None:
        raise NotApplicable(f"sheet {card.name} has no offload {setting.name} that can be switched on {system.value}")
    if card.known(row.change, f"how offload {setting.name} can be changed") is not Changeable.BOTH:
        raise NotApplicable(f"sheet {card.name} does not say that offload {setting.name} can be switched")
    words = {each.shown_as: each.set_with for each in rows.values() if each.set_with is not None}
    return _with_offload(end, setting, row.shown_as, words)


@contextmanager
def _with_offload(end: _Held, setting: Setting, shown_as: str, words: dict[str, str]) -> Iterator[None]:
    host, on = end.server.host, _switch(setting)
    with end.changing(str(setting), host.undo.features(end.iface, words)):
        attempt = switch_offload(end.run, end.port, OffloadName(setting.name), words[shown_as], on)
        end.expect(setting, attempt.now[shown_as].on, on, attempt.refused)
        yield


def _coalescing(end: _Held, setting: Setting) -> AbstractContextManager[None]:
    shown = end.server.host.settings.coalescing(end.iface)
    if shown.parameters.get(str(setting.name)) is None:
        raise NotApplicable(f"{end.place}: coalescing shows no {setting.name}")
    if end.server.role is Role.DUT:
        _require_settable(end, str(setting.name))
    return _with_coalescing(end, setting, shown)


def _require_settable(end: _Held, name: str) -> None:
    """Refuse a parameter of coalescing that the sheet knows as one that is shown only."""
    card, facts = end.run.card, end.run.card.of_driver("coalescing", end.system)
    for row in facts.parameters if isinstance(facts, CoalescingFacts) else ():
        if row.name == name and not card.known(row.settable, f"coalescing.parameters.{name}.settable"):
            raise NotApplicable(f"sheet {card.name} says that coalescing {name} cannot be set")


@contextmanager
def _with_coalescing(end: _Held, setting: Setting, shown: Coalescing) -> Iterator[None]:
    host, name, value = end.server.host, str(setting.name), number_of(setting)
    with end.changing(str(setting), host.undo.coalescing(end.iface, (name,))):
        attempt = coalescing.put(host, shown, name, value)
        end.expect(setting, attempt.now, value, attempt.refused)
        yield


def _ring(end: _Held, setting: Setting) -> AbstractContextManager[None]:
    card = end.run.card
    facts = card.section(card.of_driver("rings", end.system), f"rings of {end.system.value}'s driver")
    assert isinstance(facts, RingFacts)
    if not facts.settable:
        raise NotApplicable(f"sheet {card.name} says that rings cannot be set")
    shown = end.server.host.settings.rings(end.iface)
    name = str(setting.name)
    size = getattr(shown.max, name) if setting.to == "largest" else number_of(setting)
    if size is None:
        raise NotApplicable(f"{end.place}: no largest size of ring {name} is shown")
    return _with_ring(end, setting, name, size, changed=getattr(shown.current, name) != size)


@contextmanager
def _with_ring(end: _Held, setting: Setting, name: str, size: int, *, changed: bool) -> Iterator[None]:
    host = end.server.host
    if not changed:
        yield
        return
    with end.changing(str(setting), host.undo.rings(end.iface)):
        attempt = host.settings.set_rings(end.iface, {name.replace("_", "-"): size})
        end.expect(setting, getattr(attempt.now.current, name), size, attempt.refused)
        yield


def _pause(end: _Held, setting: Setting) -> AbstractContextManager[None]:
    card = end.run.card
    facts = card.section(card.pause, "pause")
    if not facts.settable:
        raise NotApplicable(f"sheet {card.name} says that pause frames cannot be set")
    return _with_pause(end, setting, facts)


@contextmanager
def _with_pause(end: _Held, setting: Setting, facts: PauseFacts) -> Iterator[None]:
    host, name, on = end.server.host, str(setting.name), _switch(setting)
    shown = host.settings.pause(end.iface)
    with end.changing(str(setting), host.undo.pause(end.iface)):
        attempt = pause.put(host, facts, shown, name, on)
        end.expect(setting, pause.switches(attempt.now)[name], on, attempt.refused)
        yield


def _queues(end: _Held, setting: Setting) -> AbstractContextManager[None]:
    card = end.run.card
    facts = card.section(card.of_driver("channels", end.system), f"queues of {end.system.value}'s driver")
    assert isinstance(facts, ChannelFacts)
    if not facts.settable:
        raise NotApplicable(f"sheet {card.name} says that queues cannot be set")
    if facts.combined is None or setting.name != COMBINED:
        raise NotApplicable(f"sheet {card.name} names no {setting.name} queues")
    if end.server.host.settings.channels(end.iface).current.combined is None:
        raise NotApplicable(f"{end.place}: no {setting.name} queues are shown")
    return _with_queues(end, setting)


@contextmanager
def _with_queues(end: _Held, setting: Setting) -> Iterator[None]:
    host, number = end.server.host, number_of(setting)
    with end.changing(str(setting), host.undo.channels(end.iface)):
        attempt = host.settings.set_channels(end.iface, {COMBINED: number})
        end.expect(setting, attempt.now.current.combined, number, attempt.refused)
        yield


def _require_meaning(end: _Held, name: str) -> None:
    """Refuse a sysctl that a kernel still has, and no longer heeds."""
    since = NO_LONGER_HEEDED.get(name)
    if since is None or end.system is not OperatingSystem.LINUX:
        return
    kernel = end.server.host.system.kernel()
    release = tuple(int(part) for part in re.findall(r"\d+", kernel)[:2])
    if release >= since:
        first = ".".join(map(str, since))
        raise NotApplicable(f"{end.server.name}: {name} has no effect since Linux {first}, the kernel is {kernel}")


def _sysctl(end: _Held, setting: Setting) -> AbstractContextManager[None]:
    """``sysctl name=value`` is the same on Linux and FreeBSD."""
    name, value = str(setting.name), str(setting.to)
    _require_meaning(end, name)
    shown = end.server.ssh.run(quoted("sysctl", "-n", name))
    if not shown.succeeded:
        raise NotApplicable(
            f"{end.server.name}: {end.system.value} has no sysctl {name} ({shown.stderr.strip()[:200]})"
        )
    if end.system is not OperatingSystem.LINUX and not value.isdigit():
        raise NotApplicable(f"{end.server.name}: sysctl {name} takes other words than {value} there")
    return _with_sysctl(end, setting, " ".join(shown.stdout.split()))


@contextmanager
def _with_sysctl(end: _Held, setting: Setting, before: str) -> Iterator[None]:
    name, value = str(setting.name), str(setting.to)
    with end.changing(str(setting), quoted("sysctl", f"{name}={before}")):
        told = end.server.ssh.run(quoted("sysctl", f"{name}={value}"))
        found = " ".join(end.server.run(quoted("sysctl", "-n", name)).stdout.split())
        if found != value:
            said = told.stderr.strip()[:200]
            raise BenchFault(f"{end.server.name}: sysctl {name} is {found!r} when set to {value!r} ({said})")
        yield


_KINDS: dict[SettingKind, Callable[[_Held, Setting], AbstractContextManager[None]]] = {
    SettingKind.OFFLOAD: _offload,
    SettingKind.SYSCTL: _sysctl,
    SettingKind.COALESCING: _coalescing,
    SettingKind.RING: _ring,
    SettingKind.PAUSE: _pause,
    SettingKind.QUEUES: _queues,
}
"""Functions that check whether a setting is offered, and return the block that holds it."""
