"""UDP datagrams that the network must cut into fragments: does each arrive whole, with the content it was sent with?

With checksum offload the card sums; of a datagram in fragments it cannot, because no frame holds all of it (NFS-03). A
datagram whose checksum is wrong is thrown away by the receiver's system, which counts it.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass

from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.run import program
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.traffic.fragments import datagram_program
from niclab.traffic.runs import endpoints
from niclab.traffic.runs.endpoints import Ends

PORT = 7111
COUNT, BYTES = 60, 32 << 10
"""23 fragments each at MTU 1500, the size of a read of NFSv3 over UDP."""
SECONDS = 30.0


@dataclass(frozen=True)
class Delivery:
    """The fate of the datagrams. ``wrong_sums``: more wrong checksums on the receiver; None: not counted."""

    sent: int
    whole: int
    twice: int
    damaged: int
    wrong_sums: int | None

    @property
    def is_certain(self) -> bool:
        """Is there a defect that no server makes by standing still, as it may lose datagrams?"""
        return bool(self.twice or self.damaged or self.wrong_sums)

    @property
    def problem(self) -> str:
        """The defect in words; empty when every datagram arrived once with its content."""
        if self.whole == self.sent and not (self.twice or self.damaged or self.wrong_sums):
            return ""
        sums = "" if self.wrong_sums is None else f", {self.wrong_sums} with a wrong checksum"
        return (
            f"{self.whole} of {self.sent} datagrams of {BYTES} bytes arrived whole, {self.twice} twice, "
            f"{self.damaged} with another content{sums}"
        )


def deliver(run: Run, ends: Ends) -> Delivery:
    """Send datagrams from one end to the other.

    Raises:
        BenchFault: When a program does not begin, end or say what it saw.
    """
    route = endpoints.route(run, ends)
    with ExitStack() as undoing:
        files = [program.placed(undoing, server, datagram_program) for server in (ends.sender, ends.receiver)]
        before = _wrong_sums(ends.receiver)
        words = ("receive", route.receiver, PORT, COUNT, BYTES, SECONDS)
        job = ends.receiver.start(program.command(files[1], *words), limit_s=2 * SECONDS)
        undoing.callback(job.stop)
        program.wait_until_ready(ends.receiver, job, "datagram receiver")
        words_of_sender = ("send", route.sender, route.receiver, PORT, COUNT, BYTES)
        ends.sender.run(program.command(files[0], *words_of_sender), timeout_s=SECONDS)
        ended = job.wait(2 * SECONDS)
        if not ended.succeeded:
            raise BenchFault(f"{ends.receiver.name}: datagram receiver: {ended.ending}: {ended.stderr.strip()[-300:]}")
        after = _wrong_sums(ends.receiver)
    try:
        return read_delivery(ended.stdout, None if before is None or after is None else after - before)
    except ReadError as error:
        raise error.about(f"{ends.receiver.name}: datagram receiver") from error


def read_delivery(text: str, wrong_sums: int | None) -> Delivery:
    """Read what the receiver printed.

    Raises:
        ReadError: When it is not whole.
    """
    found = re.fullmatch(r"ready\nnumbers((?: [0-9]+)*)\ndamaged ([0-9]+)\nend\n", text)
    if found is None:
        raise ReadError(f"{text[-200:]!r}; expected ready, numbers, damaged, end")
    numbers = [int(word) for word in found[1].split()]
    if numbers and max(numbers) >= COUNT:
        raise ReadError(f"datagram {max(numbers)} of {COUNT}")
    return Delivery(COUNT, len(set(numbers)), len(numbers) - len(set(numbers)), int(found[2]), wrong_sums)


def _wrong_sums(server: Server) -> int | None:
    """``InCsumErrors`` of UDP (Linux 3.10 and later); None where the system does not count them so.

    Raises:
        BenchFault: When the table is there and cannot be read.
    """
    shown = server.ssh.run("cat /proc/net/snmp")
    if not shown.succeeded:
        return None
    lines = [line.split() for line in shown.stdout.splitlines() if line.startswith("Udp:")]
    if len(lines) != 2 or len(lines[0]) != len(lines[1]):
        raise BenchFault(f"{server.name}: /proc/net/snmp: no two lines of UDP that fit each other")
    counts = dict(zip(lines[0][1:], lines[1][1:], strict=True))
    return int(counts["InCsumErrors"]) if "InCsumErrors" in counts else None
