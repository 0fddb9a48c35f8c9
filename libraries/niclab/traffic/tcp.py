"""TCP traffic over one path of the bench with iperf3: measured, or just kept flowing.

Every run has its own server process; nothing of it stays on the servers. What iperf3 says is believed only after
:mod:`niclab.traffic.iperf3` has refused what is worthless.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from niclab.bench import BenchPath, Port, Role
from niclab.hosts.errors import ReadError
from niclab.lab import Lab
from niclab.server import Server, quoted
from niclab.traffic.iperf3 import Iperf3Result, read_iperf3
from niclab.transports.ssh import Job
from niclab.verdict import BenchFault
from niclab.wait import until

PORT = 5201
SLACK_S = 20.0
LISTEN_WITHIN_S = 10.0
OMIT_S = 1
"""Seconds at the start that are not counted: TCP's slow start."""


@dataclass(frozen=True)
class Ends:
    """Sender and receiver of a run, each with its port."""

    sender: Server
    receiver: Server
    from_port: Port
    to_port: Port


def ends(lab: Lab, path: BenchPath, sender: Role) -> Ends:
    """Who sends to whom on ``path`` when the server ``sender`` sends."""
    ports = sorted(map(lab.bench.port, path.ends), key=lambda port: port.role is not sender)
    return Ends(lab.server_of(ports[0]), lab.server_of(ports[1]), ports[0], ports[1])


@contextmanager
def _listening(lab: Lab, run: Ends) -> Iterator[str]:
    """An iperf3 server at the receiver; yields its address.

    :raises BenchFault: when it does not listen in time (its own words are in the message).
    """
    address = str(lab.bench.address(run.to_port).ip)
    job = run.receiver.ssh.start(quoted("iperf3", "--server", "--one-off", "--bind", address, "--port", str(PORT)))
    try:
        listening = f"ss -Hltn src {address} and sport = :{PORT}"

        def ready() -> bool:
            if (status := job.poll()) is not None:
                said = (job.errors() + job.output()).strip()[-300:]
                raise BenchFault(f"{run.receiver.name}: iperf3 server ended with status {status}: {said}")
            return bool(run.receiver.run(listening).stdout.strip())

        until(ready, within=LISTEN_WITHIN_S, what=f"{run.receiver.name}: iperf3 to listen on {address}:{PORT}")
        yield address
    finally:
        job.stop()


def _client(lab: Lab, run: Ends, address: str, duration_s: int) -> str:
    source = str(lab.bench.address(run.from_port).ip)
    options = ("--time", str(duration_s), "--omit", str(OMIT_S), "--json")
    return quoted("iperf3", "--client", address, "--bind", source, "--port", str(PORT), *options)


def measure(lab: Lab, path: BenchPath, sender: Role, duration_s: int) -> Iperf3Result:
    """Send TCP for ``duration_s`` seconds (after one that is not counted) and return what was received.

    :raises BenchFault: when the run fails or its result is worthless.
    """
    run = ends(lab, path, sender)
    with _listening(lab, run) as address:
        command = _client(lab, run, address, duration_s)
        result = run.sender.ssh.run(command, timeout_s=duration_s + OMIT_S + SLACK_S)
        try:
            return read_iperf3(result.stdout, asked_s=duration_s)
        except ReadError as error:
            said = (
                f" ({result.ending}; {result.stderr.strip()[-200:]})"
                if result.stderr.strip()
                else f" ({result.ending})"
            )
            raise error.about(f"{run.sender.name}: `{command}`{said}") from error


@contextmanager
def steady(lab: Lab, path: BenchPath, sender: Role, at_most_s: int = 600) -> Iterator[Job]:
    """Keep TCP flowing over ``path`` inside the ``with`` block; ends when the block does.

    :raises BenchFault: when it does not start to flow, or has stopped by the end of the block.
    """
    run = ends(lab, path, sender)
    with _listening(lab, run) as address:
        job = run.sender.ssh.start(_client(lab, run, address, at_most_s))
        try:
            iface = run.sender.interface(run.from_port)
            start = run.sender.host.statistics(iface).tx_bytes
            until(
                lambda: run.sender.host.statistics(iface).tx_bytes - start > 100_000,
                within=LISTEN_WITHIN_S,
                what=f"traffic from {run.from_port.name} to {run.to_port.name} to flow",
            )
            yield job
            if (status := job.poll()) is not None:
                said = job.output().strip()[-300:]
                raise BenchFault(f"{run.sender.name}: `{job.command}` ended early with status {status}: {said}")
        finally:
            job.stop()
