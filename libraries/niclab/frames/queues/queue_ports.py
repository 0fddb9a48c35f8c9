"""The ports of the dut that have several receive queues, and flows to all of them at once."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.card import ChannelFacts
from niclab.core.verdict import CardFailure, NotApplicable
from niclab.core.wait import Deadline, pause
from niclab.frames.queues.flow_agents import Came, FlowAgents, Flows, flow_addresses
from niclab.frames.queues.spread import Findings, flows_for, said_of_unnoted
from niclab.hosts.errors import NotOffered
from niclab.hosts.host import HostQueues
from niclab.hosts.settings.settings_records import Attempt
from niclab.hosts.steering.hash_records import ADDRESSES, PORTS, FlowKind, HashField, ReceiveHash
from niclab.run.run import Run
from niclab.settings.dut_ports import DutPort, refusal

Say = Callable[[str], object]
"""Takes a sentence for the log."""

COUNTED_WITHIN_S, LOOK_EVERY_S = 5.0, 0.5
"""Some drivers fetch their counters once a second (bnx2x), or once in two (be2net)."""


@dataclass(frozen=True)
class QueuePort:
    """A port of the dut on a path, and what its table says as the check begins."""

    dut: DutPort
    before: ReceiveHash

    @property
    def place(self) -> str:
        """As messages name it."""
        return self.dut.place

    @property
    def host(self) -> HostQueues:
        """The questions about its queues."""
        return self.dut.host.queues

    @property
    def queues(self) -> list[int]:
        """The queues of the table."""
        return list(self.before.shares)

    def shown(self) -> ReceiveHash:
        """Ask for the table as it is now.

        Raises:
            CardFailure: The driver does not show it any more, or it names a queue that is not there.
        """
        try:
            return shown_hash(self.dut)
        except NotOffered as error:
            raise CardFailure(f"{error}; expected the indirection table that {self.place} showed before") from error

    def steer(self, weights: Mapping[int, int], what: str) -> ReceiveHash:
        """Give queues their parts of the table, and read it back.

        Args:
            weights: Queue -> its weight; the others get none.
            what: What is steered, for messages.

        Raises:
            NotApplicable: The driver takes no table.
            CardFailure: It does not show what was set.
        """
        words = [weights.get(queue, 0) for queue in range(max(weights) + 1)]
        attempt = self.host.set_weights(self.dut.iface, words)
        wanted = sorted(queue for queue, weight in weights.items() if weight)
        if list(attempt.now.shares) != wanted:
            raise CardFailure(_not_taken(self.place, what, attempt, wanted))
        return attempt.now

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Put the table back after the ``with`` block, and see that its parts are those of before.

        Raises:
            BenchFault: It could not be put back.
            CardFailure: Its parts are others.
        """
        with self.dut.put_back("the indirection table is set", self.host.restoring_table(self.dut.iface)):
            yield
        now = self.shown()
        if not _alike(now, self.before):
            found, wanted = _parts(now), _parts(self.before)
            raise CardFailure(f"{self.place}: indirection table did not come back: it has {found}, before {wanted}")

    def by_ports(self, kind: FlowKind) -> bool:
        """Are flows of a kind hashed by their ports as well as their addresses?

        Where a driver does not say, TCP in IPv4 is: no card spreads flows that does not (Microsoft, "RSS Hashing
        Types"); of other kinds nobody knows.
        """
        try:
            fields = self.host.fields(self.dut.iface, kind).fields
        except NotOffered:
            return kind is FlowKind.TCP4
        return fields >= PORTS | ADDRESSES

    def counted(self, before: Mapping[int, int], least: Mapping[int, int]) -> Mapping[int, int]:
        """Ask for the counts of each queue, until so much is counted, or the time of slow counters is over.

        Args:
            before: Counts of before.
            least: Queue -> frames that it must have counted since.

        Returns:
            Queue -> its count; empty where the driver counts no single queue.
        """
        deadline = Deadline(COUNTED_WITHIN_S)
        while True:
            now = self.host.frames(self.dut.iface)
            done = all(now.get(queue, 0) - before.get(queue, 0) >= count for queue, count in least.items())
            if not now or done or deadline.expired:
                return now
            pause(LOOK_EVERY_S)


def queue_ports(run: Run) -> tuple[list[QueuePort], list[str]]:
    """List the ports on paths that have several queues in their table.

    Args:
        run: The current run.

    Returns:
        The ports, and for each other one the reason why it cannot be judged.

    Raises:
        CardFailure: A table names a queue that is not there, or the sheet knows several queues and a port shows one.
        NotApplicable: No port has several queues, or the system does not answer.
    """
    found, why = list[QueuePort](), list[str]()
    for path in run.bench.paths:
        dut = DutPort(run, run.bench.end(path, Role.DUT))
        try:
            shown = shown_hash(dut)
        except NotOffered as error:
            why.append(_one_queue(dut, str(error)))
            continue
        if len(shown.shares) > 1:
            found.append(QueuePort(dut, shown))
        else:
            why.append(_one_queue(dut, f"its indirection table has {_parts(shown)}"))
    if not found:
        raise NotApplicable("\n".join(why))
    return found, why


def shown_hash(dut: DutPort) -> ReceiveHash:
    """Ask a port for its table.

    Raises:
        NotOffered: The driver has none.
        CardFailure: It names a queue that is not there.
    """
    shown = dut.host.queues.receive_hash(dut.iface)
    if not shown.table:
        raise NotOffered(f"{dut.place}: the driver shows no indirection table")
    if max(shown.table) >= shown.rings:
        said = f"its indirection table names queue {max(shown.table)}"
        raise CardFailure(f"{dut.place}: {said}; expected one of the {shown.rings} that it shows, 0 the first")
    return shown


def exchange(
    run: Run, ports: Sequence[QueuePort], kind: FlowKind, findings: Findings, say: Say
) -> Iterator[tuple[QueuePort, Flows, Came]]:
    """Send flows of a kind to ports at once.

    Args:
        run: The current run.
        ports: The ports.
        kind: Kind of the flows.
        findings: Takes the ports whose driver notes the queues of packets.
        say: Takes what came by each queue.

    Yields:
        Each port, the flows to it, and what came of them.

    Raises:
        BenchFault: A program fails.
        NotApplicable: A server does not run Linux; or, after all other ports, the driver of a port notes the queue of
            no packet, here and before.
    """
    seed, flows, silent = secrets.randbits(32), list[Flows](), list[str]()
    for port in ports:
        receiver = port.dut.port
        count = flows_for(len(port.before.table), len(port.queues))
        flows.append(Flows(receiver, kind, seed, count, flow_addresses(run, receiver, kind)))
    came = run.part(FlowAgents).exchange(flows)
    for port, one, each in zip(ports, flows, came, strict=True):
        if each.queues:
            findings.noting.add(port.place)
        if each.unnoted and port.place not in findings.noting:
            silent.append(f"{port.place}: {said_of_unnoted(each)}")
            continue
        counts = [list(each.queues.values()).count(queue) for queue in range(max(each.queues.values(), default=0) + 1)]
        say(f"{port.place}: {each.flows} of {one.count} {kind.value} flows came, seed {seed}, by queues {counts}")
        yield port, one, each
    if silent:
        raise NotApplicable("\n".join(silent))


def fields_shown(fields: frozenset[HashField]) -> str:
    """Name fields for a message."""
    return ", ".join(sorted(field.name.lower().replace("_", " ") for field in fields)) or "nothing"


def _one_queue(dut: DutPort, why: str) -> str:
    """The reason why a port has one queue.

    Raises:
        CardFailure: The sheet knows that it can have more, and the port shows that it cannot.
    """
    section = dut.run.card.of_driver("channels", dut.server.description.os)
    kinds = [section.rx, section.combined] if isinstance(section, ChannelFacts) else []
    named = max((kind.max for kind in kinds if kind is not None and isinstance(kind.max, int)), default=1)
    try:
        most = dut.host.settings.channels(dut.iface).max
        shown = max(most.rx or 0, most.combined or 0)
    except NotOffered:
        shown = named
    if shown < 2 <= named:
        raise CardFailure(dut.expected("most receive queues", shown, named))
    return f"{dut.place} spreads flows over no queues: {why}"


def _not_taken(place: str, what: str, attempt: Attempt[ReceiveHash], wanted: Sequence[int]) -> str:
    expected = f"queues {', '.join(map(str, wanted))} alone"
    return f"{place}: {what}: the indirection table has {_parts(attempt.now)}{refusal(attempt)}; expected {expected}"


def _alike(now: ReceiveHash, before: ReceiveHash) -> bool:
    """Have the same queues the same parts? Patterns of equal parts differ by an entry where they do not fit."""
    pairs = [(now.shares.get(queue, 0), share) for queue, share in before.shares.items()]
    return now.shares.keys() == before.shares.keys() and all(
        abs(found - share) * len(before.table) <= 1 for found, share in pairs
    )


def _parts(shown: ReceiveHash) -> str:
    return ", ".join(f"queue {queue}: {share:.3g}" for queue, share in shown.shares.items()) or "no queue"
