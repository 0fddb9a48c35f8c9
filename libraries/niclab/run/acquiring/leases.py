"""The leases of both servers of a run: taken before anything of them is changed, given back at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from functools import partial

from niclab.core.parallel import side_by_side
from niclab.core.undo import Journal
from niclab.core.verdict import BenchFault
from niclab.run.acquiring.lease import Holder, Lease, Stolen
from niclab.run.acquiring.server_copy import ServerCopy
from niclab.run.server import Server


def prepare_leases(servers: Iterable[Server], journal: Journal, bench: str) -> None:
    """Let each server know its lease and its copy of the journal; nothing is taken or written.

    Args:
        servers: The servers of a bench.
        journal: The journal that the run holds.
        bench: Name of the bench.
    """
    holder = Holder.of(journal, bench)
    for server in servers:
        lease = server.lease = Lease(server.name, server.ssh, holder, journal.is_own)
        server.copy = server.ssh.errands = ServerCopy(server.role, server.ssh, holder, partial(getattr, lease, "held"))
        lease.proof = server.copy.proof


def take_leases(servers: Collection[Server]) -> None:
    """Take the lease of each server that answers; one that does not takes its lease when it is recovered.

    Every run takes the leases in the same order, whatever roles its bench file gives to the servers.

    Args:
        servers: The servers of a bench, with their leases prepared.

    Raises:
        BenchFault: Somebody else uses one of them.
    """
    ordered = sorted(servers, key=lambda server: (server.description.ssh.address, server.description.ssh.port))
    for server, up in zip(ordered, side_by_side(Server.answers, ordered), strict=True):
        if up and server.lease is not None:
            server.lease.take()


def steal_leases(servers: Iterable[Server]) -> list[Stolen]:
    """Break the leases of the servers that answer, whoever has them: a server that was started has none any more.

    Args:
        servers: The servers of a bench, with their leases prepared.

    Returns:
        Each lease that was broken.

    Raises:
        BenchFault: No server answers.
    """
    asked = list(servers)
    up = [server for server, answers in zip(asked, side_by_side(Server.answers, asked), strict=True) if answers]
    if not up:
        names = " and ".join(server.name for server in asked)
        raise BenchFault(f"{names}: no answer, and no lease to be read; expected one of them to run a command")
    had = [server.lease.steal() for server in up if server.lease is not None]
    return [each for each in had if each is not None]


def finish_copies(servers: Iterable[Server], *, settled: bool) -> None:
    """Bring the copies of the journal on leased servers that are about to stop up to date, and forget the leases.

    A server that does not answer keeps the copy that it has.

    Args:
        servers: The servers.
        settled: Nothing is left to undo on servers or to compare: the copies are removed.
    """
    for server in servers:
        if server.lease is not None and server.lease.held and server.copy is not None:
            with contextlib.suppress(BenchFault):
                server.ssh.run(server.copy.removal() if settled else "true")  # what waits for the copy goes ahead of it
        if server.lease is not None:
            server.lease.forget()


def give_leases_back(servers: Iterable[Server], *, settled: bool = False) -> None:
    """Give every lease back that is held, also when one server does not answer any more.

    Args:
        servers: The servers of a bench.
        settled: Nothing is left to undo or to compare: the copies of the journal are removed.

    Raises:
        BenchFault: A server does not answer; its lease is gone when it restarts.
    """
    with contextlib.ExitStack() as ending:
        for server in servers:
            if server.lease is not None:
                last = [] if server.copy is None else [server.copy.take(), server.copy.removal() if settled else ""]
                ending.callback(server.lease.give_back, "\n".join(filter(None, last)) or ":")


def give_leases_back_quietly(servers: Iterable[Server]) -> None:
    """Give leases back where another error is to be reported.

    Args:
        servers: The servers of a bench.
    """
    with contextlib.suppress(BenchFault):
        give_leases_back(servers)
