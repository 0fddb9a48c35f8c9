"""The MTU: the one place that changes it, judges it as delivered, and tries its range.

Both ends of a path go down and up after every change and after every restore. Some cards stay slow until then (EMX-08).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from niclab.bench.records import BenchPath, Port, Role
from niclab.card import Unknown
from niclab.core.parallel import side_by_side
from niclab.core.undo import Action, ActionKind, Entry
from niclab.core.verdict import BenchFault, CardFailure, Collected, NotApplicable, ended_by, fail_with
from niclab.hosts.host import Host
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.run.temporary import put_back
from niclab.settings.dut_ports import DutPort, Show, dut_ports
from niclab.settings.trial import Trial

LINKS_WITHIN_S = 30.0
"""Assumption: a link is back by then, autonegotiation included; how fast it is, the link suite judges."""


def want_allowed(run: Run, mtu: int) -> None:
    """Require that the card takes an MTU.

    Args:
        run: The current run.
        mtu: Bytes.

    Raises:
        NotApplicable: The sheet does not say that the card takes it.
    """
    fact = run.card.section(run.card.mtu, "mtu")
    least, most = fact.min, run.card.known(fact.max, "mtu.max")
    if mtu > most or (isinstance(least, int) and mtu < least):
        raise NotApplicable(f"sheet {run.card.name} has an MTU of {least}..{most}, not {mtu}")


@contextmanager
def both_ends(run: Run, path: BenchPath, mtu: int, *, bounce: bool = True, wait: bool = True) -> Iterator[None]:
    """Give both ports of a path an MTU inside the ``with`` block. Does nothing where they have it already.

    Args:
        run: The current run.
        path: The path.
        mtu: Bytes.
        bounce: Take both ports down and up after the change. The restore always does.
        wait: Wait for the link before the block begins. False where the block judges how fast it returns.

    Raises:
        CardFailure: The dut's port does not take it.
        BenchFault: The peer's port does not take it, or a link does not return.
    """
    others = [port for port in _ends(run, path) if run.server_of(port).host.settings.mtu(run.interface(port)) != mtu]
    if not others:
        yield
        return
    with _restored(run, path, others, f"MTU is set to {mtu}"):
        for port in others:
            _set(run, port, mtu)
        if bounce:
            take_down_and_up(run, path)
        if wait:
            wait_for_links(run, path)
        yield


def take_down_and_up(run: Run, path: BenchPath) -> None:
    """Take both ports of a path down, then up. Does not wait for the link.

    Args:
        run: The current run.
        path: The path.
    """
    for up in (False, True):
        side_by_side(partial(_set_link, run, up), _ends(run, path))


def _set_link(run: Run, up: bool, port: Port) -> None:
    run.server_of(port).host.links.set_link(run.interface(port), up)


def wait_for_links(run: Run, path: BenchPath) -> None:
    """Wait until both ports of a path have carrier.

    Args:
        run: The current run.
        path: The path.

    Raises:
        BenchFault: One has none after :data:`LINKS_WITHIN_S`.
    """
    if late := run.await_carrier(_ends(run, path), up=True, within_s=LINKS_WITHIN_S):
        names = ", ".join(port.name for port in late)
        raise BenchFault(f"path {path.name} to have its link: not within {LINKS_WITHIN_S:g} s (no carrier: {names})")


def register_down_and_up(run: Run, path: BenchPath) -> list[Entry]:
    """Register in the journal that both ports of a path go down and up, once all later entries are undone.

    Args:
        run: The current run.
        path: The path.

    Returns:
        The entries, oldest first.
    """
    entries = []
    for port in _ends(run, path):
        server, iface = run.server_of(port), run.interface(port)
        undo = Action(ActionKind.SHELL, server.name, _down_and_up(server.host, iface), iface=iface)
        entries.append(run.journal.register(port.name, _why(iface), undo))
    return entries


def as_delivered(run: Run) -> None:
    """Judge the MTU of every port of the dut against the sheet.

    Args:
        run: The current run.

    Raises:
        CardFailure: A port has another MTU.
        NotApplicable: The sheet does not know the MTU as delivered.
    """
    default = run.card.known(run.card.section(run.card.mtu, "mtu").default, "mtu.default")
    fail_with(
        [text for dut in dut_ports(run) for text in dut.compare("MTU", dut.host.settings.mtu(dut.iface), default)]
    )


def over_range(run: Run, show: Show) -> None:
    """Give every port of the dut the least and the largest MTU of the sheet, and one byte less and more.

    Args:
        run: The current run.
        show: Takes each attempt as a sentence.

    Raises:
        CardFailure: A port does not take an MTU of its range, takes one beyond it, or does not get its own back.
        BenchFault: An MTU could not be put back, or a link does not return.
        NotApplicable: The sheet does not know the largest MTU.
    """
    fact = run.card.section(run.card.mtu, "mtu")
    largest = run.card.known(fact.max, "mtu.max")
    least = None if isinstance(fact.min, Unknown) else fact.min
    ports = Collected()
    for dut in dut_ports(run):
        with ports.one():
            Trial(PortMtu(dut), least, largest, refuses_less=True).judge(show)
    ports.end()


@dataclass(frozen=True)
class PortMtu:
    """The MTU of one port of the dut, as a :class:`~niclab.settings.trial.Quantity`."""

    dut: DutPort
    what: str = "MTU"

    def read(self) -> int | None:
        """Read the MTU in bytes."""
        return self.dut.host.settings.mtu(self.dut.iface)

    def set(self, value: int) -> Attempt[int | None]:
        """Set the MTU in bytes; where that changes it, both ends of the path go down and up."""
        before = self.read()
        attempt = self.dut.host.settings.set_mtu(self.dut.iface, value)
        if attempt.now != before:
            take_down_and_up(self.dut.run, self._path)
        return Attempt(attempt.refused, attempt.now)

    def put_back(self) -> AbstractContextManager[None]:
        """Put the MTU back after the ``with`` block; then both ends of the path go down and up."""
        return _restored(self.dut.run, self._path, [self.dut.port], "MTU is set")

    @property
    def _path(self) -> BenchPath:
        return self.dut.run.bench.path_of(self.dut.port)


@contextmanager
def _restored(run: Run, path: BenchPath, ports: Sequence[Port], what: str) -> Iterator[None]:
    """Put the MTU of ``ports`` back after the block, then take both ends down and up and wait for the link.

    The journal undoes the newest entry first, so those that take the ports down and up are registered first.
    """
    with ended_by(lambda: wait_for_links(run, path)), ExitStack() as undoing:
        for port in _ends(run, path):
            server, iface = run.server_of(port), run.interface(port)
            down_and_up = _down_and_up(server.host, iface)
            undoing.enter_context(put_back(run, server, port.name, _why(iface), down_and_up, iface))
        for port in ports:
            server, iface = run.server_of(port), run.interface(port)
            changed = f"{iface}: {what}"
            undoing.enter_context(put_back(run, server, port.name, changed, server.host.undo.mtu(iface), iface))
        yield


def _set(run: Run, port: Port, mtu: int) -> None:
    attempt = run.server_of(port).host.settings.set_mtu(run.interface(port), mtu)
    if attempt.now == mtu:
        return
    why = f" ({attempt.refused})" if attempt.refused else ""
    said = f"{port.place}: MTU is {attempt.now} when set to {mtu}{why}; expected it (sheet {run.card.name})"
    raise CardFailure(said) if port.role is Role.DUT else BenchFault(said)


def _ends(run: Run, path: BenchPath) -> list[Port]:
    return [run.bench.port(end) for end in path.ends]


def _down_and_up(host: Host, iface: str) -> str:
    return f"{host.undo.link(iface, up=False)} && {host.undo.link(iface, up=True)}"


def _why(iface: str) -> str:
    return f"{iface} goes down and up after its MTU is put back"
