"""The recommended configuration of the sheet: made to survive a restart, read after it, and removed (DEL-06)."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TypeVar

from niclab.bench.records import OperatingSystem, Role
from niclab.card import Recommended, Unknown
from niclab.core.undo import Action, ActionKind, Entry
from niclab.core.verdict import BenchFault, Collected, NotApplicable, Trouble
from niclab.hosts.settings.persistent import (
    COALESCING_SINCE,
    PAUSE_SINCE,
    RINGS_SINCE,
    SYSCTL_FILE,
    Persistent,
    link_file_name,
    read_setup,
    removing,
    showing_setup,
    writing_link_file,
    writing_sysctls,
)
from niclab.run.run import Run
from niclab.settings import mtu
from niclab.settings.dut_ports import DutPort, Show, charged, dut_ports, end
from niclab.settings.pause import without_autoneg

T = TypeVar("T")


@dataclass(frozen=True)
class _Compared:
    """A setting of a port: its value now, the recommended one, and the first version of udev that sets it."""

    what: str
    found: object
    expected: object
    since: int = 0


class RecommendedConfiguration:
    """The recommended configuration on the dut: a part of the run, which remembers what it changed.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._entries: list[Entry] = []

    def make_persistent(self, show: Show) -> None:
        """Write what the sheet recommends into files that the dut reads at each start; journal how to undo it.

        Args:
            show: Takes what no file can hold as a sentence.

        Raises:
            BenchFault: A file cannot be written.
            NotApplicable: The sheet recommends nothing that can be written.
        """
        section = self._section()
        if section.irq_affinity_per_queue:
            show("interrupts of each queue are steered at run time only; no file holds that")
        for dut in dut_ports(self._run):
            self._write_link_file(dut, _persistent(section))
        if section.sysctls:
            self._write_sysctls(section)

    def require_in_force(self) -> None:
        """Judge whether every port of the dut, and its kernel, show every recommended value.

        Raises:
            CardFailure: A port shows another value.
            BenchFault: The dut's udev did not set it, or a setting of its kernel has another value.
            NotApplicable: The sheet recommends nothing that can be written.
        """
        section, judged, source = self._section(), Collected(), f"(recommended by sheet {self._run.card.name})"
        others = list[Trouble]()
        for dut in dut_ports(self._run):
            with judged.one():
                others += charged(judged, _not_in_force(dut, _persistent(section), source))
        with judged.one():
            for each in section.sysctls:
                found = self._sysctl(each.name)
                if found != " ".join(each.value.split()):
                    text = f"{Role.DUT.value}: {each.name} is {found}; expected {each.value} {source}"
                    others.append(Trouble(text, of_card=False))
        end(judged, others)

    def remove(self) -> None:
        """Remove the files and put the settings back; where the MTU was changed, both ends go down and up.

        Does nothing when there are no files.

        Raises:
            BenchFault: Something could not be undone; all the rest has been.
        """
        if not self._entries:
            return
        problems = []
        while self._entries:
            try:
                self._run.journal.undo(self._entries.pop(), self._run.undo)
            except BenchFault as error:
                problems.append(str(error))
        if problems:
            raise BenchFault("\n".join(problems))
        for path in self._run.bench.paths:
            mtu.wait_for_links(self._run, path)

    def _section(self) -> Recommended:
        card, server = self._run.card, self._run.server(Role.DUT)
        section = card.section(card.recommended, "recommended")
        system = server.description.os
        if system is not OperatingSystem.LINUX:
            raise NotApplicable(f"{server.name}: settings of {system.value} cannot be made to stay yet")
        if _persistent(section) == Persistent() and not section.sysctls:
            raise NotApplicable(f"sheet {card.name} recommends no value")
        return section

    def _write_link_file(self, dut: DutPort, settings: Persistent) -> None:
        mac = dut.host.links.interface(dut.iface).mac
        if mac is None:
            raise BenchFault(f"{dut.port.name}: {dut.iface} shows no MAC address to find it by")
        if settings.mtu is not None:
            self._entries += mtu.register_down_and_up(self._run, self._run.bench.path_of(dut.port))
        file = link_file_name(mac)
        command = " && ".join([removing(file), *_restoring(dut, settings)])
        self._register(dut.port.name, f"{file} makes {dut.iface} come up with the recommended settings", command)
        dut.server.run(writing_link_file(mac, settings))

    def _write_sysctls(self, section: Recommended) -> None:
        words = [removing(SYSCTL_FILE)]
        words += [f"sysctl {shlex.quote(f'{each.name}={self._sysctl(each.name)}')}" for each in section.sysctls]
        server = self._run.server(Role.DUT)
        self._register(server.name, f"{SYSCTL_FILE} sets sysctls", " && ".join(words))
        server.run(writing_sysctls({each.name: each.value for each in section.sysctls}))

    def _sysctl(self, name: str) -> str:
        return " ".join(self._run.server(Role.DUT).run(f"sysctl -n {shlex.quote(name)}").stdout.split())

    def _register(self, subject: str, what: str, command: str) -> None:
        undo = Action(ActionKind.SHELL, Role.DUT.value, command)
        self._entries.append(self._run.journal.register(subject, what, undo))


def _restoring(dut: DutPort, settings: Persistent) -> list[str]:
    """Get the commands that put back the settings of a port as they are now."""
    host, iface, words = dut.host, dut.iface, list[str]()
    if settings.mtu is not None:
        words += [host.undo.mtu(iface)]
    if _sets_rings(settings):
        words += [f"{{ {host.undo.rings(iface)}; }}"]
    if _sets_pause(settings):
        words += [f"{{ {host.undo.pause(iface)}; }}"]
    if settings.coalescing:
        words += [f"{{ {host.undo.coalescing(iface, tuple(settings.coalescing))}; }}"]
    return words


def _not_in_force(dut: DutPort, settings: Persistent, source: str) -> list[Trouble]:
    """Return the values of a port that are others: of the card, unless the dut's udev did not set them."""
    iface = dut.server.interface(dut.port)
    wrong = [each for each in _compared(dut, settings) if each.expected is not None and each.found != each.expected]
    if not wrong:
        return []
    setup, mac = read_setup(dut.server.run(showing_setup(iface)).stdout), dut.host.links.interface(iface).mac
    own, troubles = link_file_name(mac or ""), list[Trouble]()
    for each in wrong:
        text, why = f"{dut.place}: {each.what} is {each.found}; expected {each.expected} {source}", ""
        if setup.file != own:
            why = f"; udev took {setup.file or 'no file'} for {iface}, not {own}"
        elif setup.version < each.since:
            why = f"; udev {setup.version} does not set it, {each.since} does"
        troubles.append(Trouble(text + why, of_card=not why))
    return troubles


def _compared(dut: DutPort, settings: Persistent) -> list[_Compared]:
    """Read the settings of a port."""
    host, iface = dut.host, dut.server.interface(dut.port)
    compared = [_Compared("MTU", host.settings.mtu(iface), settings.mtu)]
    if _sets_rings(settings):
        rings = host.settings.rings(iface).current
        compared.append(_Compared("ring rx", rings.rx, settings.rx_ring, RINGS_SINCE))
        compared.append(_Compared("ring tx", rings.tx, settings.tx_ring, RINGS_SINCE))
    if _sets_pause(settings):
        pause = host.settings.pause(iface)
        compared.append(_Compared("pause autoneg", pause.autoneg, settings.pause_autoneg, PAUSE_SINCE))
        compared.append(_Compared("pause rx", pause.rx, settings.pause_rx, PAUSE_SINCE))
        compared.append(_Compared("pause tx", pause.tx, settings.pause_tx, PAUSE_SINCE))
    if settings.coalescing:
        shown, adaptive = host.settings.coalescing(iface), "adaptive receive coalescing"
        for name, value in settings.coalescing.items():
            compared.append(_Compared(name, shown.parameters.get(name), value, COALESCING_SINCE))
        if shown.adaptive_rx is not None:
            compared.append(_Compared(adaptive, shown.adaptive_rx, settings.adaptive_rx, COALESCING_SINCE))
    return compared


def _sets_rings(settings: Persistent) -> bool:
    return settings.rx_ring is not None or settings.tx_ring is not None


def _sets_pause(settings: Persistent) -> bool:
    return (settings.pause_autoneg, settings.pause_rx, settings.pause_tx) != (None, None, None)


def _persistent(section: Recommended) -> Persistent:
    values = {each.name: each.value for each in section.coalescing if isinstance(each.value, int)}
    rings, pauses = section.rings, _pause_frames(section)
    return Persistent(
        mtu=_known(section.mtu),
        rx_ring=_known(rings.rx) if rings else None,
        tx_ring=_known(rings.tx) if rings else None,
        pause_autoneg=pauses.get("autoneg"),
        pause_rx=pauses.get("rx"),
        pause_tx=pauses.get("tx"),
        coalescing=values,
        adaptive_rx=False if values else None,
    )


def _pause_frames(section: Recommended) -> dict[str, bool]:
    given = section.pause
    named = {"autoneg": given.autoneg, "rx": given.rx, "tx": given.tx} if given else {}
    values = {name: _known(value) for name, value in named.items()}
    return without_autoneg({name: value for name, value in values.items() if value is not None})


def _known(value: T | Unknown | None) -> T | None:
    return None if isinstance(value, Unknown) else value
