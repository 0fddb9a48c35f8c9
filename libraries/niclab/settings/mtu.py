"""The MTU of both ends of a path, for as long as it is wanted.

After a change the ports are always taken down and up: some cards are slow until then (EMX-08).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from niclab.bench.records import BenchPath, Port, Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable
from niclab.core.wait import until
from niclab.hosts.host import Host
from niclab.run.run import Run
from niclab.run.temporary import put_back

LINKS_WITHIN_S = 30.0
"""House rule: a link is back by then, autonegotiation included; how fast it is, the link suite judges."""


def want_allowed(run: Run, mtu: int) -> None:
    """:raises NotApplicable: when the sheet does not say that the card takes ``mtu``."""
    fact = run.card.section(run.card.mtu, "mtu")
    least, most = fact.min, run.card.known(fact.max, "mtu.max")
    if mtu > most or (isinstance(least, int) and mtu < least):
        raise NotApplicable(f"sheet {run.card.name} has an MTU of {least}..{most}, not {mtu}")


@contextmanager
def both_ends(run: Run, path: BenchPath, mtu: int, *, bounce: bool = True) -> Iterator[None]:
    """Both ports of ``path`` have ``mtu`` inside the ``with`` block. Does nothing where they have it already.

    :param bounce: take the ports down and up after the change. Putting back always does.
    :raises CardFailure: when the dut's port does not take it.
    :raises BenchFault: when the peer's does not, or a link does not return.
    """
    ports = [run.bench.port(end) for end in path.ends]
    others = [port for port in ports if run.server_of(port).host.mtu(run.interface(port)) != mtu]
    if not others:
        yield
        return
    with ExitStack() as undoing:
        undoing.callback(wait_for_links, run, path)
        for port in others:
            undoing.enter_context(_prepared(run, port, mtu))
        for port in others:
            _set(run, port, mtu, bounce=bounce)
        wait_for_links(run, path)
        yield


def restoring(host: Host, iface: str) -> str:
    """The command that puts back the MTU of now and takes the port down and up, for the journal."""
    words = (
        host.restoring_mtu(iface),
        host.restoring_link(iface, up=False),
        host.restoring_link(iface, up=True),
    )
    return " && ".join(words)


def _prepared(run: Run, port: Port, mtu: int) -> AbstractContextManager[None]:
    server, iface = run.server_of(port), run.interface(port)
    return put_back(run, server, port.name, f"{iface} gets MTU {mtu}", restoring(server.host, iface))


def _set(run: Run, port: Port, mtu: int, *, bounce: bool) -> None:
    host, iface = run.server_of(port).host, run.interface(port)
    attempt = host.set_mtu(iface, mtu)
    if attempt.now != mtu:
        why = f" ({attempt.refused})" if attempt.refused else ""
        said = f"{port.place}: the MTU is {attempt.now} when set to {mtu}{why}"
        if port.role is Role.DUT:
            raise CardFailure(f"{said}, sheet {run.card.name} wants it taken")
        raise BenchFault(said)
    if bounce:
        host.set_link(iface, False)
        host.set_link(iface, True)


def wait_for_links(run: Run, path: BenchPath) -> None:
    """:raises BenchFault: when a port of ``path`` has no carrier after ``LINKS_WITHIN_S``."""
    ports = [run.bench.port(end) for end in path.ends]
    until(
        lambda: not run.without_carrier(ports),
        within=LINKS_WITHIN_S,
        what=f"path {path.name} to have its link",
        every=0.1,
    )
