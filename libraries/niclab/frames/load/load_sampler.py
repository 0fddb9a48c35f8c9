"""Samples the load of both servers once a second, on the servers: questions from outside would be a load themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from niclab.bench.records import Port, Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault
from niclab.core.wait import pause, persistent_problems
from niclab.frames.load.load_rates import LoadLook
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.transports.ssh.ssh import Job

EVERY_S = 1
ONE_LASTS_S = 3.0
"""Longest time from one sample to the next on a server that has hardly any CPU left, the pause included."""
LATE_TRIES, LATE_S = 5, 0.02
"""A sample waits so often and so long for counters that have not moved since the last one.

Some drivers fill the kernel's counters in once a second: bnx2x by a timer of HZ jiffies (Linux, bnx2x_main.c,
bnx2x_timer), which the timer wheel rounds up to 1.024 s at 250 and 1000 Hz, and to 1.04 s at 100 Hz (Linux,
kernel/time/timer.c). Samples that come faster find a second without a frame now and then; those that wait see one
filling each. A port that carries nothing is sampled a tenth of a second later, and shows that.
"""
_BEGIN, _PORT = "@ ", "# "


@dataclass(frozen=True)
class Sampler:
    """Samples that are being taken.

    Attributes:
        run: The current run.
        jobs: What takes them on each server.
        ports: The ports that are looked at.
    """

    run: Run
    jobs: dict[Role, Job]
    ports: Sequence[Port]

    def looks(self, count: int) -> dict[Port, list[LoadLook]]:
        """Wait until there are as many looks at each port, or for 3 s each, and return those that came.

        Args:
            count: Looks from the first one on.

        Raises:
            BenchFault: Fewer than two came of a port, or they cannot be read.
        """
        pause(max(0, count - len(self._taken()[self.ports[0]])) * EVERY_S)
        within = count * ONE_LASTS_S
        persistent_problems(lambda: self._short(count), within=within, every=EVERY_S)
        if short := self._short(2):
            raise BenchFault(f"samples of the load within {within:g} s; expected {count}: {', '.join(short)}")
        return {port: seen[:count] for port, seen in self._taken().items()}

    def _short(self, count: int) -> list[str]:
        return [f"{len(seen)} of {port.name}" for port, seen in self._taken().items() if len(seen) < count]

    def _taken(self) -> dict[Port, list[LoadLook]]:
        texts = dict(zip(self.jobs, side_by_side(lambda job: job.output(), self.jobs.values()), strict=True))
        return {port: self._of(port, texts[port.role]) for port in self.ports}

    def _of(self, port: Port, text: str) -> list[LoadLook]:
        server, iface = self.run.server_of(port), self.run.interface(port)
        found = []
        for sample in text.split(_BEGIN)[1:-1]:  # the last one may not be whole
            moment, *shown = sample.split(_PORT)
            for each in shown:
                name, _, counted = each.partition("\n")
                if name == iface:
                    found.append(LoadLook(_seconds(server, moment), server.host.counts.read_load(iface, counted)))
        return found


@contextmanager
def sampled(run: Run, ports: Sequence[Port], at_most_s: float) -> Iterator[Sampler]:
    """Take samples inside the ``with`` block.

    Args:
        run: The current run.
        ports: The ports that are looked at.
        at_most_s: The servers end by themselves after this time in s.

    Raises:
        BenchFault: A server cannot begin.
    """
    roles = {port.role for port in ports}
    with ExitStack() as jobs:
        yield Sampler(run, {role: jobs.enter_context(_job(run, role, ports, at_most_s)) for role in roles}, ports)


@contextmanager
def _job(run: Run, role: Role, ports: Sequence[Port], at_most_s: float) -> Iterator[Job]:
    server = run.server(role)
    ifaces = [run.interface(port) for port in ports if port.role is role]
    files = [f"/sys/class/net/{iface}/statistics/rx_bytes" for iface in ifaces]
    moved = [f'read -r now < {file} && [ "$now" != "$seen{number}" ]' for number, file in enumerate(files)]
    late = f"for try in {' '.join(map(str, range(LATE_TRIES)))}; do {' && '.join(moved)} && break; sleep {LATE_S}; done"
    moment = f'read -r up rest < /proc/uptime; echo "{_BEGIN}$up"'
    asked = [f"echo '{_PORT}{iface}'; ({server.host.counts.load_command(iface)})" for iface in ifaces]
    seen = [f"read -r seen{number} < {file}" for number, file in enumerate(files)]
    every = "; ".join((late, moment, *asked, *seen, f"sleep {EVERY_S}"))
    job = server.start(f"while :; do {every}; done", limit_s=at_most_s)
    try:
        yield job
    finally:
        job.stop()


def _seconds(server: Server, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ReadError(f"{server.name}: sample of its load: time {text.strip()!r}; expected seconds") from None
