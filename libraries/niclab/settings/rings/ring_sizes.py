"""Rings of descriptors: as delivered, and over their range."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from niclab.card import Ring, RingFacts
from niclab.core.verdict import Collected, Trouble
from niclab.hosts.settings.ethtool_records import Rings, RingSizes
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.settings.dut_ports import (
    DutPort,
    NotBack,
    Show,
    charged,
    chosen_rows,
    driver_section,
    dut_ports,
    end,
    is_unknown,
    require_known,
)
from niclab.settings.trial import Trial


def as_delivered(run: Run) -> None:
    """Judge size and maximum of every ring of every port of the dut against the sheet.

    Args:
        run: The current run.

    Raises:
        CardFailure: A ring has another size or maximum.
        NotApplicable: The sheet knows nothing of rings that the driver does not offer.
        SheetUnknown: The sheet knows nothing of those that it shows.
    """
    section, judged = _section(run), Collected()
    rings = _by_name(section)
    facts = [fact for ring in rings.values() for fact in (ring.default, ring.max)]
    require_known(run, "rings", facts, None if section.settable else read_rings)
    for dut in dut_ports(run):
        with judged.one():
            shown = dut.ask("rings", dut.host.settings.rings)
            for name, ring in rings.items():
                judged.problems += _not_as_delivered(dut, name, ring, _size(shown.current, name))
                judged.problems += dut.compare(f"largest ring {name}", _size(shown.max, name), ring.max)
    judged.end()


def over_range(run: Run, ring: str, show: Show, not_back: NotBack) -> None:
    """Set rings of every port of the dut to the least and largest size of the sheet, and to one more.

    The link is up before, and up again after the changes, within the sheet's time for a link to return. Where the
    sheet says that rings cannot be set, every attempt must be refused or have no effect.

    Args:
        run: The current run.
        ring: ``rx``, ``tx``, ``rx_mini``, ``rx_jumbo`` or ``every``.
        show: Takes each attempt as a sentence.
        not_back: Judges a link that does not return.

    Raises:
        CardFailure: A ring does not keep to the sheet, does not come back, or costs the link.
        BenchFault: A size could not be put back, or peer or switch keep a link down.
        NotApplicable: The sheet names no such ring, or knows no size of one that the driver does not offer.
        SheetUnknown: The sheet does not know the largest size of any of them.
    """
    section, judged, links = _section(run), Collected(), list[Trouble]()
    rows = chosen_rows(run, ring, _by_name(section), "ring")
    if not section.settable:
        require_known(run, "rings", map(section.largest, rows.values()), read_rings)
    known = {name: fact for name, fact in rows.items() if not is_unknown(section.largest(fact))}
    for name, fact in (known or rows).items():
        largest = run.card.known(section.largest(fact), f"rings.{name}.max")
        least = fact.min if isinstance(fact.min, int) else None
        for dut in dut_ports(run):
            with judged.one():
                links += charged(judged, _link_not_back(dut, "the bench was made ready", not_back))
                Trial(RingSize(dut, name), least, largest, settable=section.settable).judge(show)
            with judged.one():
                links += charged(judged, _link_not_back(dut, f"ring {name} was changed", not_back))
    end(judged, links)


@dataclass(frozen=True)
class RingSize:
    """The size of one ring of one port, in descriptors, as a :class:`~niclab.settings.trial.Quantity`."""

    dut: DutPort
    ring: str

    @property
    def what(self) -> str:
        """Name of the ring, as messages say it."""
        return f"ring {self.ring}"

    def read(self) -> int | None:
        """Read the size."""
        return _size(self.dut.ask("rings", self.dut.host.settings.rings).current, self.ring)

    def set(self, value: int) -> Attempt[int | None]:
        """Set the size."""
        attempt = self.dut.host.settings.set_rings(self.dut.iface, {self.ring.replace("_", "-"): value})
        return Attempt(attempt.refused, _size(attempt.now.current, self.ring))

    def put_back(self) -> AbstractContextManager[None]:
        """Put every ring of the port back after the ``with`` block."""
        return self.dut.put_back(f"{self.what} is set", self.dut.host.undo.rings(self.dut.iface))


def read_rings(dut: DutPort) -> Rings:
    """Read the rings of a port.

    Raises:
        NotOffered: Its driver has none to show.
    """
    return dut.host.settings.rings(dut.iface)


def _section(run: Run) -> RingFacts:
    return driver_section(run, "rings", RingFacts, read_rings)


def _not_as_delivered(dut: DutPort, name: str, ring: Ring, found: int | None) -> list[str]:
    if not ring.shared:
        return dut.compare(f"ring {name}", found, ring.default)
    queues = dut.ask("queues", dut.host.settings.channels).current.combined
    if queues is None:
        return [dut.expected("number of combined queues", None, f"one, which ring {name} is shared by")]
    sizes = ring.delivered(queues)
    if not sizes or found in sizes:
        return []
    wanted = " or ".join(map(str, dict.fromkeys(sizes)))
    return [dut.expected(f"ring {name}", found, f"{wanted}: {ring.default} shared by {queues} queues or more")]


def _by_name(rings: RingFacts) -> dict[str, Ring]:
    named = {"rx": rings.rx, "rx_mini": rings.rx_mini, "rx_jumbo": rings.rx_jumbo, "tx": rings.tx}
    return {name: ring for name, ring in named.items() if ring is not None}


def _size(sizes: RingSizes, name: str) -> int | None:
    return {"rx": sizes.rx, "rx_mini": sizes.rx_mini, "rx_jumbo": sizes.rx_jumbo, "tx": sizes.tx}[name]


def _link_not_back(dut: DutPort, after: str, not_back: NotBack) -> list[Trouble]:
    limits = dut.run.card.limits
    limit_ms = dut.run.card.known(limits.carrier_return_within_ms, "limits.carrier_return_within_ms")
    return not_back(dut.run, dut.port, limit_ms, after)
