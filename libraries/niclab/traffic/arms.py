"""The arms of a comparison: settings of a card sheet put on both ends of a path, read back, and put back.

A setting that the card or its system does not offer makes the comparison not applicable; one that is taken and not
done is the card's failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace

from niclab.bench.records import BenchPath, OperatingSystem, Role, Wiring
from niclab.card import At, Changeable, Setting, SettingKind
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, fail_with
from niclab.core.wait import until
from niclab.hosts.bond_settings import BondMode, BondSettings, PrimaryReselect
from niclab.links import upper
from niclab.links.upper import Stack
from niclab.run.run import Run
from niclab.run.server import Server, quoted
from niclab.run.temporary import put_back
from niclab.settings import mtu

MIIMON_MS = 100


@dataclass(frozen=True)
class Way:
    """Where traffic flows.

    ``over``: the interface of each server that has the address of ``path``, where it is not its port; ``bonds``: what
    a VLAN can be made on.
    """

    path: BenchPath
    sender: Role
    over: Mapping[Role, str] | None = None
    bonds: Mapping[Role, Stack] | None = None

    def roles(self, at: At) -> list[Role]:
        """The servers that ``at`` means."""
        receiver = Role.PEER if self.sender is Role.DUT else Role.DUT
        return {At.SENDER: [self.sender], At.RECEIVER: [receiver], At.BOTH: [self.sender, receiver]}[at]


@contextmanager
def applied(run: Run, way: Way, settings: tuple[Setting, ...]) -> Iterator[Way]:
    """Everything in ``settings`` is so inside the ``with`` block, one after the other; yields the way to use then.

    Raises:
        NotApplicable: When the sheet or a system does not offer a setting.
        CardFailure: When the dut takes a setting and does not show it.
        BenchFault: When the peer or a system does not, or a change could not be put back.
    """
    with ExitStack() as undoing:
        for setting in settings:
            way = undoing.enter_context(_applied(run, way, setting))
        yield way


@contextmanager
def _applied(run: Run, way: Way, setting: Setting) -> Iterator[Way]:
    match setting.kind:
        case SettingKind.MTU | SettingKind.MTU_IN_FLIGHT:
            size = _number(setting)
            mtu.want_allowed(run, size)
            with mtu.both_ends(run, way.path, size, bounce=setting.kind is SettingKind.MTU):
                yield way
        case SettingKind.VLAN:
            with _tagged_path(run, way, setting) as tagged:
                yield tagged
        case SettingKind.BOND:
            with _bonded(run, way, setting) as bonded:
                yield bonded
        case SettingKind.VLAN_ON_BOND:
            with _tagged(run, way, setting) as tagged:
                yield tagged
        case _:
            with ExitStack() as undoing:
                for role in way.roles(setting.at):
                    undoing.enter_context(_on_one(_End.of(run, way, role), setting))
                yield way


@dataclass(frozen=True)
class _End:
    """One end of a way."""

    run: Run
    server: Server
    port: str
    place: str
    iface: str

    @classmethod
    def of(cls, run: Run, way: Way, role: Role) -> _End:
        (port,) = [each for each in map(run.bench.port, way.path.ends) if each.role is role]
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


def _number(setting: Setting) -> int:
    if isinstance(setting.to, bool) or not isinstance(setting.to, int):
        raise BenchFault(f"setting {setting.kind.value}: {setting.to!r} is not wanted; wanted: a whole number")
    return setting.to


def _switch(setting: Setting) -> bool:
    if not isinstance(setting.to, bool):
        raise BenchFault(f"setting {setting.kind.value}: {setting.to!r} is not wanted; wanted: true or false")
    return setting.to


def _on_one(end: _End, setting: Setting) -> AbstractContextManager[None]:
    chosen = {
        SettingKind.OFFLOAD: _offload,
        SettingKind.SYSCTL: _sysctl,
        SettingKind.COALESCING: _coalescing,
        SettingKind.RING: _ring,
        SettingKind.PAUSE: _pause,
    }[setting.kind]
    return chosen(end, setting)


@contextmanager
def _offload(end: _End, setting: Setting) -> Iterator[None]:
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
def _coalescing(end: _End, setting: Setting) -> Iterator[None]:
    host, name, value = end.server.host, str(setting.name), _number(setting)
    shown = host.settings.coalescing(end.iface)
    if shown.parameters.get(name) is None:
        raise NotApplicable(f"{end.place}: coalescing shows no {name}")
    values: dict[str, int | bool] = {} if shown.adaptive_rx is None else {"adaptive-rx": False}
    with end.changing(str(setting), host.undo.coalescing(end.iface, (name,))):
        attempt = host.settings.set_coalescing(end.iface, values | {name: value})
        end.expect(setting, attempt.now.parameters.get(name), value, attempt.refused)
        yield


@contextmanager
def _ring(end: _End, setting: Setting) -> Iterator[None]:
    host, name = end.server.host, str(setting.name)
    card = end.run.card
    if not card.section(card.rings, "rings").settable:
        raise NotApplicable(f"sheet {card.name} says that rings cannot be set")
    shown = host.settings.rings(end.iface)
    size = getattr(shown.max, name) if setting.to == "largest" else _number(setting)
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
def _pause(end: _End, setting: Setting) -> Iterator[None]:
    host, name, on = end.server.host, str(setting.name), _switch(setting)
    card = end.run.card
    if not card.section(card.pause, "pause").settable:
        raise NotApplicable(f"sheet {card.name} says that pause frames cannot be set")
    with end.changing(str(setting), host.undo.pause(end.iface)):
        attempt = host.settings.set_pause(end.iface, {name: on})
        end.expect(setting, getattr(attempt.now, name), on, attempt.refused)
        yield


@contextmanager
def _sysctl(end: _End, setting: Setting) -> Iterator[None]:
    """``sysctl name=value`` is the same on Linux and FreeBSD."""
    name, value = str(setting.name), str(setting.to)
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


@contextmanager
def _bonded(run: Run, way: Way, setting: Setting) -> Iterator[Way]:
    """Both ports of each server in a bond, which has the addresses of the first path.

    A bond that uses one link at a time prefers that of the first path: where paths are cables, two bonds that use
    different ones do not reach each other.
    """
    if len(run.bench.paths) < 2:
        raise NotApplicable(f"bench {run.bench.name} has one path; a bond takes two")
    mode = BondMode(str(setting.to))
    one_at_a_time = mode is BondMode.ACTIVE_BACKUP
    reselect = PrimaryReselect.ALWAYS if one_at_a_time else None
    settings = BondSettings(mode, miimon_ms=MIIMON_MS, primary_reselect=reselect)
    made: dict[Role, Stack] = {}
    with ExitStack() as undoing:
        for path in run.bench.paths:
            undoing.callback(mtu.wait_for_links, run, path)
        for role in Role:
            made[role] = upper.bond(run, role, settings, first_is_primary=one_at_a_time)
            undoing.callback(_removed, run, made[role])

        def ready() -> bool:
            seen = [(bond, bond.server.host.bonds.bond(bond.name)) for bond in made.values()]
            whole = all(each.slaves_up == len(run.bench.paths) for _, each in seen)
            first = all(each.active_slave == next(iter(bond.below.values())).name for bond, each in seen)
            return whole and (first or not one_at_a_time)

        what = "every member of both bonds to have its link"
        what += ", and that of the first path to be used" if one_at_a_time else ""
        until(ready, within=mtu.LINKS_WITHIN_S, what=what)
        over = {role: stack.name for role, stack in made.items()}
        yield replace(way, path=run.bench.paths[0], over=over, bonds=made)


@contextmanager
def _tagged(run: Run, way: Way, setting: Setting) -> Iterator[Way]:
    """A VLAN on each bond, with the addresses of the second path."""
    if way.bonds is None:
        raise BenchFault("a VLAN on a bond is wanted without a bond; wanted: a bond among the settings before it")
    over: dict[Role, str] = {}
    with ExitStack() as undoing:
        for role, bond in way.bonds.items():
            vlan = upper.vlan_on_bond(run, bond, _number(setting))
            undoing.callback(_removed, run, vlan)
            over[role] = vlan.name
        yield replace(way, path=run.bench.paths[1], over=over)


@contextmanager
def _tagged_path(run: Run, way: Way, setting: Setting) -> Iterator[Way]:
    """A VLAN on each end of the path, with the address of its port."""
    if way.path.through is not Wiring.DIRECT:
        raise NotApplicable(f"path {way.path.name} leads through a switch, which carries only the VLANs it is set to")
    over: dict[Role, str] = {}
    with ExitStack() as undoing:
        for port in map(run.bench.port, way.path.ends):
            vlan = upper.vlan_on_port(run, port, _number(setting))
            undoing.callback(_removed, run, vlan)
            over[port.role] = vlan.name
        yield replace(way, over=over)


def _removed(run: Run, stack: Stack) -> None:
    fail_with(upper.remove(run, stack))
