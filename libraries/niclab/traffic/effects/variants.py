"""The variants of a comparison: settings of a card sheet put on both ends of a path, read back, and put back.

A setting that the card or its system does not offer makes the comparison not applicable; one that is taken and not
done is the card's failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from niclab.bench.records import BenchPath, Role
from niclab.card import At, Setting, SettingKind
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import until
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, PrimaryReselect
from niclab.links.upper import upper_devices
from niclab.links.upper.upper_devices import Stack
from niclab.run.run import Run
from niclab.settings import mtu
from niclab.settings.held import held, number_of
from niclab.traffic.flows import in_vlan

MIIMON_MS = 100


@dataclass(frozen=True)
class Way:
    """The way that traffic takes.

    ``over``: the interface of each server that has the address of ``path``, where it is not its port; ``bonds``: what
    a VLAN can be made on; ``only``: the server at which alone settings of one port are changed, if it is one.
    """

    path: BenchPath
    sender: Role
    over: Mapping[Role, str] | None = None
    bonds: Mapping[Role, Stack] | None = None
    only: Role | None = None

    def roles(self, at: At) -> list[Role]:
        """The servers that ``at`` means."""
        if self.only is not None:
            return [self.only]
        receiver = Role.PEER if self.sender is Role.DUT else Role.DUT
        return {At.SENDER: [self.sender], At.RECEIVER: [receiver], At.BOTH: [self.sender, receiver]}[at]


@dataclass
class Variants:
    """Puts the settings of a variant on the path before its run, and leaves them there until another is wanted."""

    run: Run
    base: Way
    settings: Mapping[str, tuple[Setting, ...]]
    _stack: ExitStack = field(default_factory=ExitStack)
    _now: tuple[str, Way] | None = None

    def way(self, variant: str) -> Way:
        """The way to use with the settings of ``variant``."""
        if self._now is None or self._now[0] != variant:
            self.close()
            self._now = (variant, self._stack.enter_context(applied(self.run, self.base, self.settings[variant])))
        return self._now[1]

    def close(self) -> None:
        """Put everything back."""
        self._now = None
        stack, self._stack = self._stack, ExitStack()
        stack.close()


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
            size = number_of(setting)
            mtu.want_allowed(run, size)
            with mtu.both_ends(run, way.path, size, bounce=setting.kind is SettingKind.MTU):
                yield way
        case SettingKind.VLAN:
            with in_vlan.vlans(run, way.path, number_of(setting)) as over:
                yield replace(way, over=over)
        case SettingKind.BOND:
            with _bonded(run, way, setting) as bonded:
                yield bonded
        case SettingKind.VLAN_ON_BOND:
            with _tagged(run, way, setting) as on_bonds:
                yield on_bonds
        case _:
            with ExitStack() as undoing:
                for role in way.roles(setting.at):
                    undoing.enter_context(held(run, run.bench.end(way.path, role), setting))
                yield way


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
            made[role] = upper_devices.bond(run, role, settings, first_is_primary=one_at_a_time)
            undoing.callback(in_vlan.removed, run, made[role])

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
        raise BenchFault("a VLAN on a bond is wanted without a bond; expected a bond among the settings before it")
    over: dict[Role, str] = {}
    with ExitStack() as undoing:
        for role, bond in way.bonds.items():
            vlan = upper_devices.vlan_on_bond(run, bond, number_of(setting))
            undoing.callback(in_vlan.removed, run, vlan)
            over[role] = vlan.name
        yield replace(way, path=run.bench.paths[1], over=over)
