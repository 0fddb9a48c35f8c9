"""The PCI Express links above the card: negotiated width and speed, and the errors that the kernel counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from niclab.bench.records import Port, Role, SiliconFact
from niclab.checks.asked import Say, dut
from niclab.checks.pcie_party import SPEED, WIDTH, judged, link_shown
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.verdict import BenchFault, Blamed, Charge, Collected, NotApplicable, Undecided, blame_charged
from niclab.hosts.errors import NoDevice
from niclab.hosts.host_records import PcieLink
from niclab.hosts.settings.settings_records import AerCounters
from niclab.run.run import Run


def require_link(run: Run, say: Say) -> None:
    """Compare the narrowest and slowest link from the root port to every port with the sheet.

    The negotiated state (LnkSta) of both ends counts, never what the slot looks like or could do (EMX-01, CARD-03). Of
    each link that falls short, what its ends can do (LnkCap), what its upper end is set to (LnkCtl2), and whether the
    card is an end of it decide who is to blame.

    Args:
        run: The run.
        say: Takes every link of every path.

    Raises:
        CardFailure: The card's own link is narrower or slower than the sheet says and nothing above it accounts for
            that, or every link is wider or faster.
        BenchFault: Links are narrower or slower only because a slot, riser or bridge can do no more, or is set so; or
            a path cannot be read.
        NotApplicable: The card is on conventional PCI, or the sheet does not know width or speed.
        Deviation: Speeds are right, and the bench declares that its emulated card deviates in width.
        Undecided: No link above a port can be read, only a link between two bridges falls short of what both can do, or
            a slot is set to 2.5 GT/s, as a kernel sets one whose link did not train.
    """
    card, found, faults = run.card, list[Charge](), list[BenchFault]()
    expected = card.pcie_link()
    width, speed_gts = card.known(expected.width, "pcie.width"), card.known(expected.speed_gts, "pcie.speed_gts")
    deviation = run.bench.deviation(card.name, SiliconFact.PCIE_WIDTH)
    for port in run.ports(Role.DUT):
        try:
            path = dut(run).pci.path(port.pci)
        except BenchFault as fault:
            faults.append(fault)
            continue
        if not path:
            found.append(Charge(f"{port.place}: no PCI Express link above it could be read", None))
            continue
        for link in path:
            say(f"{port.name}: {link_shown(link)}")
        run.notes.figure(_figure(run, port, path, None if deviation else width, speed_gts))
        for measure, wanted in ((WIDTH, width), (SPEED, speed_gts)):
            if measure is SPEED or not deviation:
                subject, source = f"{port.place} trained to", f"expected {measure.shown(wanted)} (sheet {card.name})"
                found += judged(path, measure, wanted, subject, source)
    _end(found, faults)
    if deviation:
        raise deviation.verdict(f"x{width}")


def _figure(run: Run, port: Port, path: Sequence[PcieLink], width: int | None, speed_gts: float) -> NotedFigure:
    """The least width and speed of a path, next to those of the sheet; None for any width."""
    narrowest, slowest = min(link.width for link in path), min(link.gts for link in path)
    good = width in (None, narrowest) and slowest == speed_gts
    return NotedFigure(
        kind=FigureKind.PCIE,
        subject=f"PCI Express of {port.place}",
        found=f"x{narrowest} at {slowest:g} GT/s",
        expected=f"{'any width' if width is None else f'x{width}'} at {speed_gts:g} GT/s",
        source=f"sheet {run.card.name}",
        outcome=Decision.MET if good else Decision.MISSED,
    )


def _end(found: Sequence[Charge], faults: Sequence[BenchFault]) -> None:
    """End a check of several devices, some of which could not be read: that hides no failure of the card."""
    ends = Collected()
    with ends.one():
        blame_charged(found)
    with ends.one():
        if faults:
            raise faults[0]
    ends.end()


@dataclass
class _Kept:
    """``own``: the ports of the card, and the upper ends of their links. ``unseen``: why errors of these are not."""

    boot_id: str
    counters: dict[str, AerCounters]
    own: frozenset[str]
    unseen: tuple[str, ...]


class PcieErrorCounters:
    """The error counters (AER) of every device from the root ports to the dut's ports. A part of the run.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._kept: _Kept | None = None
        self._uncounted: dict[str, str] = {}

    def keep(self) -> None:
        """Read all counters and keep them for :meth:`require_no_growth`.

        Raises:
            NotApplicable: The card has no PCI Express link, or nobody counts errors of the dut's ports: the kernel does
                not, a port reports none, or firmware has them.
        """
        self._run.card.pcie_link()
        self._kept, self._uncounted = None, {}
        read = {slot: counters for slot in self._slots() if (counters := self._counters(slot)) is not None}
        for port in self._run.ports(Role.DUT):
            if port.pci not in read:
                raise NotApplicable(f"{port.place}: {self._uncounted[port.pci]}")
        own = self._own()
        masked = {slot: f"it masks {', '.join(counters.masked)}" for slot, counters in read.items() if counters.masked}
        reasons = self._uncounted | masked
        unseen = tuple(f"{slot}: {reasons[slot]}" for slot in sorted(own) if slot in reasons)
        self._kept = _Kept(dut(self._run).system.boot_id(), read, own, unseen)

    def require_no_growth(self, say: Say) -> None:
        """Compare all counters with those kept, correctable errors included.

        An error is of the link at whose end it is counted: the card is an end of its own link alone.

        Args:
            say: Takes the growth of each device.

        Raises:
            CardFailure: At an end of the card's own link a counter grew, or is gone.
            Undecided: Only at devices above that link; or a device is new, or was removed and found again. The dut has
                booted since.
            BenchFault: No counters were kept, or a device cannot be read.
            NotApplicable: No counter grew, and nobody counts errors of one end of the card's own link, or not all.
        """
        if self._kept is None:
            raise BenchFault("no error counters were kept: 'Remember PCIe Errors' comes first")
        if dut(self._run).system.boot_id() != self._kept.boot_id:
            raise Undecided("dut: has booted since the error counters were kept; they begin at zero then")
        changes, faults = list[Charge](), list[BenchFault]()
        for slot in self._kept.counters:
            try:
                changes += self._changes(slot, self._kept, say)
            except BenchFault as fault:
                faults.append(fault)
        try:
            changes += self._new(self._kept)
        except BenchFault as fault:
            faults.append(fault)
        _end(changes, faults)
        if self._kept.unseen:
            raise NotApplicable(f"dut: not all PCI Express errors are counted: {'; '.join(self._kept.unseen)}")

    def _changes(self, slot: str, kept: _Kept, say: Say) -> Iterator[Charge]:
        """Yield the growth of the counters of a device, or why it cannot be seen."""
        before, is_own = kept.counters[slot], slot in kept.own
        try:
            counters = self._counters(slot)
        except NoDevice:
            counters = None
        if counters is None:
            yield _charge(f"dut: {slot} is gone, or counts its errors no more", is_own=is_own)
            return
        grown = counters.growth_since(before)
        say(f"{slot}: {grown or 'no new errors'}")
        if grown:
            shown = ", ".join(f"{name} by {count}" for name, count in grown.items())
            yield _charge(f"dut: PCI Express errors of {slot} grew: {shown}; expected none", is_own=is_own)
        elif counters.began_again_since(before):
            again = f"dut: {slot} counts its errors from 0 again; expected no device to leave the bus"
            yield Charge(again, None)

    def _new(self, kept: _Kept) -> list[Charge]:
        """Return the devices that were not there, or did not count, when the counters were kept."""
        new = [slot for slot in self._slots() if slot not in kept.counters and self._counters(slot) is not None]
        return [Charge(f"dut: {slot} was not there when the error counters were kept", None) for slot in new]

    def _own(self) -> frozenset[str]:
        ports = [port.pci for port in self._run.ports(Role.DUT)]
        return frozenset([*ports, *(link.upstream.slot for pci in ports for link in dut(self._run).pci.path(pci)[-1:])])

    def _slots(self) -> list[str]:
        """Every device from the ports up to their root ports, each once."""
        found = dict[str, None]()
        for port in self._run.ports(Role.DUT):
            links = dut(self._run).pci.path(port.pci)
            found |= dict.fromkeys(
                [port.pci, *(end.slot for link in links for end in (link.upstream, link.downstream))]
            )
        return list(found)

    def _counters(self, slot: str) -> AerCounters | None:
        """Return the counters of a device; None where it has none, and why is remembered."""
        try:
            counters = dut(self._run).pci.aer(slot)
        except NotApplicable as error:
            self._uncounted[slot] = str(error)
            return None
        if counters is None:
            self._uncounted[slot] = "the kernel counts no PCI Express errors of it"
        return counters


def _charge(text: str, *, is_own: bool) -> Charge:
    if is_own:
        return Charge(text, Blamed.CARD)
    return Charge(f"{text}; it is at no end of the card's own link", None)
