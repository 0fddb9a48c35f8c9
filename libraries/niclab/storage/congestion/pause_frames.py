"""The pause frames of a port on a congested SAN, as its driver counts them by the sheet's names of these counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from niclab.bench.records import Port
from niclab.card import PauseFacts
from niclab.run.run import Run


@dataclass(frozen=True)
class PortPauses:
    """Pause frames that a port has received, and sent. None: its driver has no such counter that only grows."""

    received: int | None
    sent: int | None

    def since(self, before: PortPauses) -> PortPauses:
        """Return those of the time since another look.

        Args:
            before: The other look.
        """
        return PortPauses(_grown(before.received, self.received), _grown(before.sent, self.sent))


def look(run: Run, port: Port) -> PortPauses:
    """Return the pause frames that a port has received and sent until now.

    Args:
        run: The current run.
        port: The port.

    Raises:
        BenchFault: The counters cannot be read.
    """
    facts = run.card.pause
    names = (facts.received_counter, facts.sent_counter) if isinstance(facts, PauseFacts) else (None, None)
    if not any(names):
        return PortPauses(None, None)
    counters = run.server_of(port).host.counts.counters(run.interface(port))
    # the peer may have another card
    received, sent = (counters[name] if name and name in counters else None for name in names)
    return PortPauses(received, sent)


def total(found: Sequence[PortPauses]) -> PortPauses:
    """Return those of several times together.

    Args:
        found: Those of each, at least one.
    """
    return PortPauses(_sum([each.received for each in found]), _sum([each.sent for each in found]))


def counted(number: int | None) -> str:
    """Return a number of pause frames in words.

    Args:
        number: The number; None: nobody counts it.
    """
    return "not counted" if number is None else str(number)


def _grown(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None or now < before else now - before


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [each for each in numbers if each is not None]
    return sum(known) if len(known) == len(numbers) else None
