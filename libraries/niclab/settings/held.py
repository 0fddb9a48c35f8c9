"""A setting of one port that is held for a while: put on, read back, and put back, with its undo in the journal first.

A setting that the card or its system does not offer is not applicable; one that is taken and not done is the card's
failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from niclab.bench.records import OperatingSystem, Port, Role
from niclab.card import Changeable, Setting, SettingKind
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable
from niclab.run.run import Run
from niclab.run.server import Server, quoted
from niclab.run.temporary import put_back

NO_LONGER_HEEDED = {"net.ipv4.tcp_low_latency": (4, 14)}
"""Sysctls of Linux without effect, and the first release without it (Documentation/networking/ip-sysctl.rst)."""


@dataclass(frozen=True)
class _Held:
    """The port whose setting is held."""

    run: Run
    server: Server
    port: str
    place: str
    iface: str

    @classmethod
    def of(cls, run: Run, port: Port) -> _Held:
        return cls(run, run.server_of(port), port.name, port.place, run.interface(port))

    def changing(self, what: str, restoring: str) -> AbstractContextManager[None]:
        return put_back(self.run, self.server, self.port, f"{self.iface}: {what}", restoring)

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
        raise BenchFault(f"setting {setting.kind.value}: {setting.to!r} is not wanted; wanted: a whole number")
    return setting.to


def _switch(setting: Setting) -> bool:
    if not isinstance(setting.to, bool):
        raise BenchFault(f"setting {setting.kind.value}: {setting.to!r} is not wanted; wanted: true or false")
    return setting.to


def held(run: Run, port: Port, setting: Setting) -> AbstractContextManager[None]:
    """Set one setting of a port for the ``with`` block, read it back, and put it back.

    Args:
        run: The current run.
        port: The port; a sysctl is set on its server.
        setting: The setting: an offload, sysctl, coalescing parameter, ring or part of pause.

    Raises:
        NotApplicable: The sheet or the system does not offer it.
        CardFailure: The dut takes it and does not show it.
        BenchFault: The peer or a system does not show it, or it could not be put back.
    """
    end = _Held.of(run, port)
    chosen = {
        SettingKind.OFFLOAD: _offload,
        SettingKind.SYSCTL: _sysctl,
        SettingKind.COALESCING: _coalescing,
        SettingKind.RING: _ring,
        SettingKind.PAUSE: _pause,
    }[setting.kind]
    return chosen(end, setting)


@contextmanager
def _offload(end: _Held, setting: Setting) -> Iterator[None]:
    card, system, on = end.run.card, end.server.description.os, _switch(setting)
    rows = card.section(card.offloads, "offloads").rows(system)
    row = next((row for name, row in rows.items() if name.value == setting.name), None)
    if row is None or row.set_with is None:
        raise NotApplicable(f"sheet {card.name} has no offload {setting.name} that can be switched on {system.value}")
    if row.change is not Changeable.BOTH:
        raise NotApplicable(f"sheet {card.name} does not say that offload {setting.name} can be switched")
    host = end.server.host
    words = {each.shown_as: each.set_with for each in rows.values() if each.set_with is not None}
    with end.changing(str(setting), host.undo.features(end.iface, words)):
        attempt = host.settings.set_feature(end.iface, row.set_with, on)
        end.expect(setting, attempt.now[row.shown_as].on, on, attempt.refused)
        yield


@contextmanager
def _coalescing(end: _Held, setting: Setting) -> Iterator[None]:
    host, name, value = end.server.host, str(setting.name), number_of(setting)
    shown = host.settings.coalescing(end.iface)
    if shown.parameters.get(name) is None:
        raise NotApplicable(f"{end.place}: coalescing shows no {name}")
    values: dict[str, int | bool] = {} if shown.adaptive_rx is None else {"adaptive-rx": False}
    with end.changing(str(setting), host.undo.coalescing(end.iface, (name,))):
        attempt = host.settings.set_coalescing(end.iface, values | {name: value})
        end.expect(setting, attempt.now.parameters.get(name), value, attempt.refused)
        yield


@contextmanager
def _ring(end: _Held, setting: Setting) -> Iterator[None]:
    host, name = end.server.host, str(setting.name)
    card = end.run.card
    if not card.section(card.rings, "rings").settable:
        raise NotApplicable(f"sheet {card.name} says that rings cannot be set")
    shown = host.settings.rings(end.iface)
    size = getattr(shown.max, name) if setting.to == "largest" else number_of(setting)
    if size is None:
        raise NotApplicable(f"{end.place}: no largest size of ring {name} is shown")
    if getattr(shown.current, name) == size:
        yield
        return
    with end.changing(str(setting), host.undo.rings(end.iface)):
        attempt = host.settings.set_rings(end.iface, {name: size})
        end.expect(setting, getattr(attempt.now.current, name), size, attempt.refused)
        yield


@contextmanager
def _pause(end: _Held, setting: Setting) -> Iterator[None]:
    host, name, on = end.server.host, str(setting.name), _switch(setting)
    card = end.run.card
    section = card.section(card.pause, "pause")
    if not section.settable:
        raise NotApplicable(f"sheet {card.name} says that pause frames cannot be set")
    with end.changing(str(setting), host.undo.pause(end.iface)):
        attempt = host.settings.set_pause(end.iface, section.asked(name, on))
        end.expect(setting, getattr(attempt.now, name), on, attempt.refused)
        yield


def _require_meaning(end: _Held, name: str) -> None:
    """Refuse a sysctl that a kernel still has, and no longer heeds."""
    since = NO_LONGER_HEEDED.get(name)
    if since is None or end.server.description.os is not OperatingSystem.LINUX:
        return
    kernel = end.server.host.system.kernel()
    release = tuple(int(part) for part in re.findall(r"\d+", kernel)[:2])
    if release >= since:
        first = ".".join(map(str, since))
        raise NotApplicable(f"{end.server.name}: {name} has no effect since Linux {first}, the kernel is {kernel}")


@contextmanager
def _sysctl(end: _Held, setting: Setting) -> Iterator[None]:
    """``sysctl name=value`` is the same on Linux and FreeBSD."""
    name, value = str(setting.name), str(setting.to)
    _require_meaning(end, name)
    shown = end.server.ssh.run(quoted("sysctl", "-n", name))
    if not shown.succeeded:
        system = end.server.description.os.value
        raise NotApplicable(f"{end.server.name}: {system} has no sysctl {name} ({shown.stderr.strip()[:200]})")
    if end.server.description.os is not OperatingSystem.LINUX and not value.isdigit():
        raise NotApplicable(f"{end.server.name}: sysctl {name} takes other words than {value} there")
    before = " ".join(shown.stdout.split())
    with end.changing(str(setting), quoted("sysctl", f"{name}={before}")):
        told = end.server.ssh.run(quoted("sysctl", f"{name}={value}"))
        found = " ".join(end.server.run(quoted("sysctl", "-n", name)).stdout.split())
        if found != value:
            said = told.stderr.strip()[:200]
            raise BenchFault(f"{end.server.name}: sysctl {name} is {found!r} when set to {value!r} ({said})")
        yield
