"""Receive queues after changes of their port: flows follow the indirection table that is shown then.

Whether a table that somebody has set survives is the driver's choice: cxgb4 and sfc keep it; ixgbe of Linux 6.1
(ixgbe_setup_reta()), bnx2x (bnx2x_init_rss()) and be2net (be_rx_qs_create()) write their own whenever the port comes
up, igb when the number of queues is another (igb_setup_mrqc()). What is shown must be in force in each case. The
kernel's own selftest, drivers/net/hw/rss_drv.py, asks more of drivers that change the size of the table, and the same
of a change that is refused: nothing is different.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from niclab.core.verdict import blame
from niclab.frames.queues.queue_ports import QueuePort, Say, exchange, queue_ports
from niclab.frames.queues.spread import Findings
from niclab.hosts.errors import NotOffered
from niclab.hosts.steering.hash_records import FlowKind
from niclab.links import carrier
from niclab.run.run import Run
from niclab.settings.dut_ports import refusal


def after_changes(run: Run, say: Say) -> None:
    """Take the first port down and up, change its receive ring and its number of queues, and send flows after each.

    Args:
        run: The current run.
        say: Takes each change, and what came by each queue.

    Raises:
        CardFailure: Flows do not follow the table that is shown afterwards, a queue delivers nothing, a change that was
            refused has changed something, or the link or the table does not come back.
        BenchFault: A setting could not be put back, or the tool failed.
        Undecided: Flows did not come, and no queue lost them alone.
        NotApplicable: No port has several queues or takes a table, or a server does not run Linux.
    """
    ports = queue_ports(run)[0][:1]
    with Findings() as findings:
        with _tables_of_half(ports):
            for port in ports:
                port.dut.down_and_up()
            _judge(run, ports, "after down and up", findings, say)
            _judge_ring(run, ports, findings, say)
        _judge_refused(run, ports, findings, say)
        _judge_resized(run, ports, findings, say)


@contextmanager
def _tables_of_half(ports: Sequence[QueuePort]) -> Iterator[None]:
    """The first half of the queues has the whole table of each port; afterwards it is put back."""
    with ExitStack() as restoring:
        for port in ports:
            restoring.enter_context(port.restored())
            half = port.queues[: len(port.queues) // 2]
            port.steer(dict.fromkeys(half, 1), f"all flows to queues {', '.join(map(str, half))}")
        yield


def _judge(run: Run, ports: Sequence[QueuePort], what: str, findings: Findings, say: Say) -> None:
    """Flows follow the table that is shown now."""
    await_links(run, ports, what)
    tables = {port: port.shown() for port in ports}
    for port, flows, came in exchange(run, ports, FlowKind.TCP4, findings, say):
        by_ports = port.by_ports(FlowKind.TCP4)
        shares = tables[port].shares
        findings.judge_spread(f"{port.place}: {what}", came, flows.count, shares, by_ports=by_ports)


def await_links(run: Run, ports: Sequence[QueuePort], what: str) -> None:
    """See that ports and their partners have carrier in the time of the sheet.

    Args:
        run: The current run.
        ports: The ports.
        what: What was done, for messages.

    Raises:
        CardFailure: A port has none.
        BenchFault: Its partner alone has none, or peer or switch keep the link down.
    """
    limit_ms = run.card.known(run.card.limits.carrier_return_within_ms, "limits.carrier_return_within_ms")
    ends = [each for port in ports for each in (port.dut.port, run.bench.partner(port.dut.port))]
    dark = [
        port
        for port in ends
        if not run.server_of(port).host.links.await_carrier(run.interface(port), True, within_s=limit_ms / 1000)
    ]
    said = f"has no carrier {limit_ms} ms {what}; expected a link (sheet {run.card.name})"
    blame([carrier.explained(run, port, said) for port in dark])


def _judge_ring(run: Run, ports: Sequence[QueuePort], findings: Findings, say: Say) -> None:
    """Half the receive ring, where the driver takes it."""
    with ExitStack() as restoring:
        changed = []
        for port in ports:
            host, iface = port.dut.host, port.dut.iface
            try:
                size = host.settings.rings(iface).current.rx or 0
                restoring.enter_context(port.dut.put_back("the receive ring is set", host.undo.rings(iface)))
            except NotOffered as error:
                say(f"{port.place}: no change of its ring: {error}")
                continue
            attempt = host.settings.set_rings(iface, {"rx": size // 2})
            found = attempt.now.current.rx
            say(f"{port.place}: receive ring of {size} set to {size // 2}, is {found}{refusal(attempt)}")
            changed += [port] if found != size else []
        if changed:
            _judge(run, changed, "after its ring was changed", findings, say)
    await_links(run, ports, "after its ring was put back")


def settable(ports: Sequence[QueuePort], say: Say) -> dict[QueuePort, int]:
    """The ports whose number of queues can be asked for, and that number.

    Args:
        ports: The ports.
        say: Takes the reasons of the others.
    """
    found = {}
    for port in ports:
        try:
            now = port.dut.host.settings.channels(port.dut.iface).current.combined
        except NotOffered as error:
            say(f"{port.place}: no change of its number of queues: {error}")
            continue
        if now and now > 1:
            found[port] = now
    return found


def _judge_refused(run: Run, ports: Sequence[QueuePort], findings: Findings, say: Say) -> None:
    """Fewer queues than a table names: where that is refused nothing has changed, else what is shown is in force."""
    numbers = settable(ports, say)
    with ExitStack() as restoring:
        for port, number in numbers.items():
            host, iface, last = port.dut.host, port.dut.iface, port.queues[-1]
            restoring.enter_context(port.restored())
            restoring.enter_context(port.dut.put_back("its queues are set", host.undo.channels(iface)))
            before = port.steer({last: 1}, f"all flows to queue {last}")
            attempt = host.settings.set_channels(iface, {"combined": last})
            found, table = attempt.now.current.combined, port.shown()
            say(f"{port.place}: {number} queues set to {last}, are {found}{refusal(attempt)}")
            if attempt.refused and (found, table) != (number, before):
                said = f"after a change that was refused it has {found} queues and a table of {list(table.shares)}"
                findings.problems.append(f"{port.place}: {said}; expected {number}, and a table of queue {last} alone")
        if numbers:
            _judge(run, list(numbers), "after fewer queues than its table names were asked for", findings, say)
    await_links(run, ports, "after its queues were put back")


def _judge_resized(run: Run, ports: Sequence[QueuePort], findings: Findings, say: Say) -> None:
    """Half the queues, and all of them again, each with the table that the driver makes."""
    numbers = settable(ports, say)
    with ExitStack() as restoring:
        changed = []
        for port, number in numbers.items():
            host, iface = port.dut.host, port.dut.iface
            restoring.enter_context(port.dut.put_back("its queues are set", host.undo.channels(iface)))
            half = max(2, number // 2)
            attempt = host.settings.set_channels(iface, {"combined": half})
            found = attempt.now.current.combined
            say(f"{port.place}: {number} queues set to {half}, are {found}{refusal(attempt)}")
            changed += [port] if found != number else []
        if changed:
            _judge(run, changed, "with half its queues", findings, say)
    if changed:
        _judge(run, changed, "with all its queues again", findings, say)
