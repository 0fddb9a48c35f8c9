"""The hash of a card picks the queue that its key predicts, from the fields that are set."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack

from niclab.core.verdict import NotApplicable
from niclab.frames.queues.flow_agents import Came, Flows
from niclab.frames.queues.queue_ports import QueuePort, Say, exchange, fields_shown, queue_ports
from niclab.frames.queues.spread import Findings
from niclab.frames.queues.toeplitz import hash_input, predicted_queue
from niclab.hosts.errors import NotOffered
from niclab.hosts.steering.hash_records import ADDRESSES, PORTS, TOEPLITZ, FlowKind, HashField, ReceiveHash
from niclab.run.run import Run
from niclab.settings.dut_ports import refusal

UDP = (FlowKind.UDP4, FlowKind.UDP6)
"""Cards choose for these whether ports are hashed: fragments have none."""


def predicted(run: Run, say: Say) -> None:
    """Compare the queue of each flow with the one that key, fields and table of its port predict; twice, if settable.

    Args:
        run: The current run.
        say: Takes what came by each queue.

    Raises:
        CardFailure: A flow came by another queue, or the key is not taken by one port alone or does not come back.
        BenchFault: The key could not be put back, or the tool failed.
        Undecided: Flows did not come, or some ports show what the prediction needs, and others not.
        NotApplicable: No port shows a Toeplitz hash, its key, and the fields of any flows; or no port has several
            queues, or a server does not run Linux.
    """
    ports, without = queue_ports(run)
    why = {port: reason for port in ports if (reason := _unpredictable(port.before))}
    fields = {port: _fields(port) for port in ports if port not in why}
    why |= {port: "the driver does not say which fields it hashes" for port, known in fields.items() if not known}
    unjudged = [f"{port.place}: {reason}" for port, reason in why.items()]
    if len(unjudged) == len(ports):
        raise NotApplicable("\n".join([*unjudged, *without]))
    with Findings(undecided=[*unjudged, *without]) as findings:
        for kind in FlowKind:
            chosen = [port for port, known in fields.items() if kind in known]
            _judge(run, {port: fields[port][kind] for port in chosen}, kind, findings, say)
        with ExitStack() as restoring:
            asked = [port for port, known in fields.items() if known]
            changed = [port for port in asked if _set_key(port, restoring, findings, say)]
            findings.problems += _unlike(asked, changed, "no hash key")
            for kind in FlowKind:
                chosen = [port for port in changed if kind in fields[port]]
                _judge(run, {port: fields[port][kind] for port in chosen}, kind, findings, say)
        for port in changed:
            if port.shown().key != port.before.key:
                findings.problems.append(f"{port.place}: its hash key did not come back; expected the one of before")


def fields_settable(run: Run, say: Say) -> None:
    """Hash UDP by ports where it is not, and by addresses alone where it is, and see which queues flows come by.

    Args:
        run: The current run.
        say: Takes each change, and what came by each queue.

    Raises:
        CardFailure: The driver takes other fields and does not show them, takes them at one port alone, flows are not
            hashed by them, or they do not come back.
        BenchFault: The fields could not be put back, or the tool failed.
        Undecided: Flows did not come, or of some ports the driver says what it hashes, and of others not.
        NotApplicable: No driver takes other fields; or no port has several queues, or a server does not run Linux.
    """
    ports, without = queue_ports(run)
    judged, why = 0, list[str]()
    with Findings() as findings:
        for kind in UDP:
            before = {port: known[kind] for port in ports if kind in (known := _fields(port))}
            with ExitStack() as restoring:
                changed = {}
                for port, fields in before.items():
                    wanted = ADDRESSES if fields >= PORTS else ADDRESSES | PORTS
                    if _set_fields(port, kind, wanted, restoring, findings, why):
                        changed[port] = wanted
                findings.problems += _unlike(before, changed, f"no other fields of {kind.value}")
                if changed:
                    _judge_fields(run, changed, kind, findings, say)
            for port in changed:
                now = port.host.fields(port.dut.iface, kind).fields
                if now != before[port]:
                    said = f"{kind.value} shows {fields_shown(now)} after {fields_shown(before[port])} was put back"
                    findings.problems.append(f"{port.place}: {said}; expected the same")
            silent = [port for port in ports if port not in before]
            unsaid = [f"{port.place}: {kind.value}: the driver does not say what it hashes" for port in silent]
            findings.undecided += unsaid if changed else []
            why += unsaid
            judged += len(changed)
        for line in why:
            say(line)
        if not judged:
            raise NotApplicable("\n".join(why))
        findings.undecided += without


def _unlike(asked: Iterable[QueuePort], took: Collection[QueuePort], what: str) -> list[str]:
    """Say which ports took nothing where another port of the same card did: one driver serves both."""
    if not took:
        return []
    first = next(iter(took)).place
    return [f"{port.place} takes {what}, and {first} does; expected both alike" for port in asked if port not in took]


def _unpredictable(shown: ReceiveHash) -> str:
    """The reason why nobody can predict the queue of a flow; empty where one can."""
    if shown.key is None:
        return "the driver shows no hash key"
    if shown.function != TOEPLITZ or shown.transformed:
        mixed = " of fields that are mixed before" if shown.transformed else ""
        return f"its hash function is {shown.function or 'not shown'}{mixed}, which is not {TOEPLITZ} alone"
    if len(shown.table) & len(shown.table) - 1:
        return f"its table has {len(shown.table)} entries, which no bits of a hash choose"
    return ""


def _fields(port: QueuePort) -> dict[FlowKind, frozenset[HashField]]:
    """The fields of each kind of flows of which the driver says them, and of which all are known here."""
    found = {}
    for kind in FlowKind:
        try:
            fields = port.host.fields(port.dut.iface, kind).fields
        except NotOffered:
            continue
        if fields and fields <= ADDRESSES | PORTS:
            found[kind] = fields
    return found


def _judge(
    run: Run, fields: Mapping[QueuePort, frozenset[HashField]], kind: FlowKind, findings: Findings, say: Say
) -> None:
    if not fields:
        return
    shown = {port: port.shown() for port in fields}
    for port, flows, came in exchange(run, list(fields), kind, findings, say):
        what = f"{port.place}: {kind.value} by {fields_shown(fields[port])}"
        _compare(what, shown[port], fields[port], (flows, came), findings)


def _compare(
    what: str,
    shown: ReceiveHash,
    fields: frozenset[HashField],
    exchanged: tuple[Flows, Came],
    findings: Findings,
) -> None:
    flows, came = exchanged
    findings.judge_moved(what, came)
    assert shown.key is not None  # what is unpredictable is not judged
    wrong = list[str]()
    for flow, queue in sorted(came.queues.items()):
        ports = flows.ports[flow]
        wanted = predicted_queue(shown.key, shown.table, hash_input(fields, flows.addresses, ports))
        if queue != wanted:
            wrong.append(f"port {ports[0]} to port {ports[1]} by queue {queue}, predicted {wanted}")
    if wrong:
        said = f"{len(wrong)} of {came.flows} flows came by another queue than its key predicts, {wrong[0]}"
        findings.problems.append(f"{what}: {said}; expected the queues of the Toeplitz hash")
    findings.judge_lost(what, came, flows.count)


def _set_key(port: QueuePort, restoring: ExitStack, findings: Findings, say: Say) -> bool:
    """Set another key; false where the driver takes none."""
    assert port.before.key is not None  # what is unpredictable is not judged
    iface, key = port.dut.iface, secrets.token_bytes(len(port.before.key))
    restoring.enter_context(port.dut.put_back("the hash key is set", port.host.restoring_key(iface)))
    try:
        attempt = port.host.set_key(iface, key)
    except NotOffered as error:
        say(f"{port.place}: the driver takes no hash key: {error}")
        return False
    shown = attempt.now.key.hex(":") if attempt.now.key else "none"
    say(f"{port.place}: hash key set to {key.hex(':')}, is {shown}{refusal(attempt)}")
    if attempt.refused is not None:
        return False
    # sfc of Siena takes the first 16 bytes and keeps the others (siena_rx_push_rss_config()): what is shown is judged.
    if attempt.now.key == port.before.key:
        findings.problems.append(
            f"{port.place}: its hash key is as before when set; expected {key.hex(':')}, or refused"
        )
    return True


def _set_fields(
    port: QueuePort,
    kind: FlowKind,
    wanted: frozenset[HashField],
    restoring: ExitStack,
    findings: Findings,
    why: list[str],
) -> bool:
    """Set other fields; false where the driver takes none."""
    iface = port.dut.iface
    restoring.enter_context(port.dut.put_back("hash fields are set", port.host.restoring_fields(iface, kind)))
    try:
        attempt = port.host.set_fields(iface, kind, wanted)
    except NotOffered as error:
        why.append(f"{port.place}: {kind.value}: {fields_shown(wanted)} refused: {error}")
        return False
    if attempt.refused is not None:
        why.append(f"{port.place}: {kind.value}: {fields_shown(wanted)} refused{refusal(attempt)}")
        return False
    if attempt.now.fields != wanted:
        said = f"{kind.value} shows {fields_shown(attempt.now.fields)} when set to {fields_shown(wanted)}"
        findings.problems.append(f"{port.place}: {said}; expected as set, or refused")
    return True


def _judge_fields(
    run: Run, fields: Mapping[QueuePort, frozenset[HashField]], kind: FlowKind, findings: Findings, say: Say
) -> None:
    ports: Sequence[QueuePort] = list(fields)
    for port, flows, came in exchange(run, ports, kind, findings, say):
        what = f"{port.place}: {kind.value} by {fields_shown(fields[port])}"
        if fields[port] >= PORTS:
            findings.judge_spread(what, came, flows.count, port.shown().shares)
            continue
        findings.judge_moved(what, came)
        counts = Counter(came.queues.values())
        if len(counts) > 1:
            said = f"flows between the same addresses came by queues {sorted(counts)}"
            findings.problems.append(f"{what}: {said}; expected one, as their ports are not hashed")
        findings.judge_lost(what, came, flows.count)
