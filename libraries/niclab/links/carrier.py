"""Carrier as the servers see it: lost and returned in the time that the card's sheet allows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from niclab.bench.records import Port
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure, apart
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, Trouble, Undecided, blame
from niclab.links.diagnosis import Reason
from niclab.links.witness import Witnesses
from niclab.run.run import Run


def expect(run: Run, ports: list[Port], *, up: bool, began: float, say: Callable[[str], object]) -> None:
    """See that every port reaches a state within the sheet's time.

    All ports are watched at once, each by its own server, once what makes them change has ended: a port that is not
    seen in the state for the whole time of the sheet is late for sure. That it is seen is known when the answer
    arrives: an upper bound, as the change may have come at the very beginning. Where that is past the time, the check
    is undecided.

    Args:
        run: The qualification run.
        ports: The ports.
        up: True for carrier, False for none.
        began: When that which makes them change began, in s of the controller's monotonic clock.
        say: Takes what was seen of each port.

    Raises:
        CardFailure: Naming the ports that are late, one of the dut among them.
        BenchFault: Only ports of the peer are late, peer or switch keep the link down, or all ends of a link that is
            lost have carrier: what was to make them lose it has not.
        Undecided: Naming the ports whose answer came too late to decide.
        NotApplicable: The sheet does not know the limit.
    """
    field = "carrier_return_within_ms" if up else "carrier_loss_within_ms"
    limit_ms = run.card.known(getattr(run.card.limits, field), f"limits.{field}")

    def watch(port: Port) -> tuple[bool, float]:
        seen = run.server_of(port).host.links.await_carrier(run.interface(port), up, within_s=limit_ms / 1000)
        return seen, (time.monotonic() - began) * 1000

    outcomes = _there_already(run, ports, began) if up else {}
    missing = [port for port in ports if port not in outcomes]
    outcomes |= dict(zip(missing, side_by_side(watch, missing), strict=True))
    problems, unknown = list[Trouble](), list[str]()
    for port, (seen, took_ms) in ((port, outcomes[port]) for port in ports):
        took = apart(took_ms, limit_ms)
        say(f"{port.name}: carrier {'up' if up else 'gone'}: {seen}, known after {took} ms of {limit_ms}")
        run.notes.figure(
            NotedFigure(
                kind=FigureKind.CARRIER,
                subject=f"carrier of {port.name} {'returned' if up else 'lost'}",
                found=f"after at most {took} ms" if seen else f"not within {limit_ms} ms",
                expected=f"within {limit_ms} ms",
                source=f"sheet {run.card.name}",
                outcome=_decision(seen, took_ms, limit_ms),
                unit="ms",
                high=took_ms if seen else None,
                at_most=float(limit_ms),
            )
        )
        if not seen:
            state = "no carrier" if up else "still carrier"
            text = f"has {state} after {limit_ms} ms, all that sheet {run.card.name} allows"
            problems.append(explained(run, port, text) if up else port.trouble(text))
        elif took_ms > limit_ms:
            unknown.append(f"{port.place}: known after {took} ms only, too late to tell about {limit_ms} ms")
    if not up and 1 < len(ports) == len(problems):
        raise BenchFault("\n".join(each.text for each in problems) + "\nexpected at least one of them without carrier")
    blame(problems)
    if unknown:
        raise Undecided("\n".join(unknown))


def not_back(run: Run, port: Port, limit_ms: int, after: str) -> list[Trouble]:
    """Say that a port has no link again in time, and whose fault that is.

    Args:
        run: The qualification run.
        port: The port.
        limit_ms: The time from now on, in ms.
        after: What was done to it, for the message.

    Returns:
        The problem, or nothing.
    """
    if run.server_of(port).host.links.await_carrier(run.interface(port), True, within_s=limit_ms / 1000):
        return []
    text = f"has no carrier {limit_ms} ms after {after}; expected a link (sheet {run.card.name})"
    return [explained(run, port, text)]


def require_back(run: Run, ports: Sequence[Port], after: str) -> None:
    """See that ports have a link in the sheet's time, and ask both ends whose fault it is where one has none.

    Args:
        run: The qualification run.
        ports: The ports.
        after: What was done, for the message.

    Raises:
        CardFailure: A port of the dut has none.
        BenchFault: Only ports of the peer have none, or peer or switch keep the link down.
        SheetUnknown: The sheet does not know the limit.
    """
    limit_ms = run.card.known(run.card.limits.carrier_return_within_ms, "limits.carrier_return_within_ms")
    late = run.await_carrier(ports, up=True, within_s=limit_ms / 1000)
    said = f"has no carrier {limit_ms} ms {after}; expected a link by then (sheet {run.card.name})"
    blame([explained(run, port, said) for port in late])


def explained(run: Run, port: Port, text: str) -> Trouble:
    """A port without a link: of the dut by the bench's fault where peer or switch keep the link down.

    Args:
        run: The qualification run.
        port: The port.
        text: The problem, without the port.
    """
    own = port.trouble(text)
    if not own.of_card:
        return own
    try:
        found = run.part(Witnesses).ask(run.bench.path_of(port))
    except BenchFault as error:
        return Trouble(f"{own.text}; nobody knows why: {error}", of_card=False)
    if found.reasons == (Reason.NO_LOSS,) or found.is_of_card:
        return own
    return Trouble(f"{own.text}; {found}", of_card=False)


def _there_already(run: Run, ports: Sequence[Port], began: float) -> dict[Port, tuple[bool, float]]:
    """The ports that have carrier at once, where servers have several: one question to each server."""
    if len(ports) <= len({port.role for port in ports}):
        return {}
    missing = run.without_carrier(ports)
    took_ms = (time.monotonic() - began) * 1000
    return {port: (True, took_ms) for port in ports if port not in missing}


def _decision(seen: bool, took_ms: float, limit_ms: float) -> Decision:
    if not seen:
        return Decision.MISSED
    return Decision.UNDECIDED if took_ms > limit_ms else Decision.MET
