"""Settings that survive when their port goes down and up, and the card's self test."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

from niclab.bench.records import OperatingSystem, Role
from niclab.card import CoalescingFacts, RingFacts
from niclab.core.verdict import Collected, NotApplicable, SheetSilent, Trouble, require_judged
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.settings import coalescing
from niclab.settings.dut_ports import DutPort, NotBack, Show, charged, driver_section, dut_ports, end
from niclab.settings.rings.ring_sizes import RingSize
from niclab.settings.trial import Quantity


@dataclass(frozen=True)
class CoalescingValue:
    """A parameter of coalescing of one port, as a :class:`~niclab.settings.trial.Quantity`."""

    dut: DutPort
    what: str

    def read(self) -> int | None:
        """Read its value."""
        return self.dut.host.settings.coalescing(self.dut.iface).parameters.get(self.what)

    def set(self, value: int) -> Attempt[int | None]:
        """Set it, with adaptive coalescing off where there is such."""
        host, iface = self.dut.host, self.dut.iface
        return coalescing.put(host, host.settings.coalescing(iface), self.what, value)

    def put_back(self) -> AbstractContextManager[None]:
        """Put it back after the ``with`` block."""
        restoring = self.dut.host.undo.coalescing(self.dut.iface, (self.what,))
        return self.dut.put_back(f"{self.what} is set", restoring)


def over_down_and_up(run: Run, show: Show, not_back: NotBack) -> None:
    """Change rings and coalescing of every port of the dut, take it down and up, and read them again.

    Args:
        run: The current run.
        show: Takes each setting as a sentence.
        not_back: Judges a link that does not return.

    Raises:
        CardFailure: A setting is not taken, another one after down and up, or the link does not return in time.
        BenchFault: A setting could not be put back, or peer or switch keep a link down.
        NotApplicable: The sheet says of no setting that it can be set.
    """
    limit_ms = run.card.known(run.card.limits.carrier_return_within_ms, "limits.carrier_return_within_ms")
    judged, links = Collected(), list[Trouble]()
    for dut in dut_ports(run):
        with judged.one(), ExitStack() as undoing:
            kept = _changed(dut, undoing, judged)
            dut.down_and_up()
            for quantity, value in kept:
                found = quantity.read()
                show(f"{dut.place}: {quantity.what} set to {value}, {found} after down and up")
                if found != value:
                    lost = f"{dut.place}: {quantity.what} is {found} after down and up; expected {value} as set"
                    judged.problems.append(lost)
            links += charged(judged, not_back(run, dut.port, limit_ms, "down and up"))
    end(judged, links)


def _changed(dut: DutPort, undoing: ExitStack, judged: Collected) -> list[tuple[Quantity, int]]:
    """Change the settings that can be set, to be put back by ``undoing``; return those that were taken."""
    chosen = [(quantity, most // 2 if quantity.read() != most // 2 else most // 4) for quantity, most in _chosen(dut)]
    kept = list[tuple[Quantity, int]]()
    for quantity, value in chosen:
        undoing.enter_context(quantity.put_back())
        found = quantity.set(value).now
        if found == value:
            kept.append((quantity, value))
        else:
            judged.problems.append(dut.expected(quantity.what, f"{found} when set to {value}", value))
    return kept


def self_test(run: Run, offline: bool, show: Show, not_back: NotBack) -> None:
    """Let every port of the dut that has a link test itself; the driver's verdict counts.

    What a result says is the driver's own matter: 0 is well of most, and sfc shows 1 for success, -1 for failure, and
    counts of frames (Linux, drivers/net/ethernet/sfc/selftest.h).

    Args:
        run: The current run.
        offline: Every test, which takes the link down meanwhile; else those that leave the port in use.
        show: Takes the result of each test.
        not_back: Judges a link that does not return.

    Raises:
        CardFailure: The test fails, the link does not return in time, or the driver has no self test and the sheet says
            that it has.
        BenchFault: The result cannot be read, or peer or switch keep a link down.
        Undecided: The driver has none for one port, and has for another.
        NotApplicable: The driver has no self test.
    """
    facts = run.card.self_test
    is_declared = facts is not None and facts.offered and run.server(Role.DUT).description.os is OperatingSystem.LINUX
    limit_ms = run.card.known(run.card.limits.carrier_return_within_ms, "limits.carrier_return_within_ms")
    judged, links, unjudged, ports = Collected(), list[Trouble](), list[str](), dut_ports(run)
    for dut in ports:
        with judged.one():
            if down := not_back(run, dut.port, limit_ms, "the bench was made ready"):
                links += charged(judged, down)  # a driver's own test of the link would fail
                continue
            try:
                found = dut.host.drivers.self_test(dut.iface, offline)
            except NotApplicable as error:
                if not is_declared:
                    unjudged.append(str(error))
                    continue
                judged.problems.append(f"{dut.place}: {error}; sheet {run.card.name} says self_test.offered: true")
                continue
            show(f"{dut.place}: {'passed' if found.passed else 'failed'}: {dict(found.results)}")
            if not found.passed:
                others = ", ".join(f"{name} {result}" for name, result in found.results if result) or "none"
                fails = f"{dut.place}: its self test fails: results other than 0: {others}"
                judged.problems.append(f"{fails}; expected the verdict PASS (ethtool -t)")
            links += charged(judged, not_back(run, dut.port, limit_ms, "its self test"))
    end(judged, links)
    require_judged(unjudged, some=len(unjudged) < len(ports))


def _chosen(dut: DutPort) -> list[tuple[Quantity, int]]:
    """Settings that the sheet says can be set, each with its largest value.

    Raises:
        NotApplicable: There is none.
    """
    found = list[tuple[Quantity, int]]()
    try:
        rings = driver_section(dut.run, "rings", RingFacts, lambda each: each.host.settings.rings(each.iface))
        if rings.settable:
            for name, ring in (("rx", rings.rx), ("tx", rings.tx)):
                found += [(RingSize(dut, name), ring.max)] if isinstance(ring.max, int) else []
    except SheetSilent:
        pass
    try:
        read = dut.host.settings.coalescing
        facts = driver_section(dut.run, "coalescing", CoalescingFacts, lambda each: read(each.iface))
        for parameter in facts.parameters:
            if parameter.settable is True and isinstance(parameter.max, int):
                found.append((CoalescingValue(dut, parameter.name), parameter.max))
    except SheetSilent:
        pass
    if not found:
        raise NotApplicable(f"sheet {dut.run.card.name} says of no ring and no coalescing that it can be set")
    return found
