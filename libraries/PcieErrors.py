"""Errors of the PCI Express links above the card, counted by the kernel: before against after."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, NotApplicable, Undecided, fail_with
from niclab.hosts.settings_records import AerCounters
from niclab.run.run import current


@library(scope="GLOBAL")
class PcieErrors(BenchLibrary):
    """Keywords about PCI Express errors. Constructing the library connects to nothing."""

    def __init__(self) -> None:
        self._before: tuple[str, dict[str, AerCounters]] | None = None

    @keyword
    def remember_pcie_errors(self) -> None:
        """Keep the error counters of every device from the root ports to the dut's ports.

        Skips the test where the card has no PCI Express link, or nothing counts errors for the dut's ports.
        """
        self.run.card.pcie_link()
        host = self.run.server(Role.DUT).host
        self._before = (host.boot_id(), self._counters())

    @keyword
    def pcie_errors_should_not_have_grown(self) -> None:
        """No error counter has grown since `Remember PCIe Errors`, correctable ones included."""
        if self._before is None:
            raise BenchFault("no error counters were kept: 'Remember PCIe Errors' comes first")
        boot_id, before = self._before
        if self.run.server(Role.DUT).host.boot_id() != boot_id:
            raise Undecided("dut: has started anew since the error counters were kept; they begin at zero then")
        problems, after = [], self._counters()
        for slot, counters in after.items():
            if slot not in before:
                raise Undecided(f"dut: {slot} was not there when the error counters were kept")
            grown = counters.growth_since(before[slot])
            logger.info(f"{slot}: {grown or 'no new errors'}")
            shown = ", ".join(f"{name} by {count}" for name, count in grown.items())
            if grown:
                problems.append(f"dut: PCI Express errors of {slot} grew: {shown}; wanted: none")
        gone = sorted(set(before) - set(after))
        problems += [f"dut: {slot} is gone, or counts its errors no more" for slot in gone]
        fail_with(problems)

    @staticmethod
    def _counters() -> dict[str, AerCounters]:
        """:raises NotApplicable: when nothing counts the errors of one of the dut's ports."""
        server, found = current().server(Role.DUT), {}
        for port in current().ports(Role.DUT):
            own = server.host.aer(port.pci)
            if own is None:
                raise NotApplicable(f"{port.place}: the kernel counts no PCI Express errors of it")
            found[port.pci] = own
            for link in server.host.pcie_path(port.pci):
                for slot in (link.upstream.slot, link.downstream.slot):
                    counters = found.get(slot) or server.host.aer(slot)
                    if counters is not None:
                        found[slot] = counters
        return found
