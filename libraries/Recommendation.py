"""The recommended configuration of the card, and the memory that its rings take."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import Role
from niclab.card import Rings
from niclab.core.undo import Entry
from niclab.core.verdict import BenchFault, fail_with
from niclab.settings import recommended

TSO_BYTES = 64 << 10
"""What one descriptor of sending may stand for with segmentation offload."""


@library(scope="GLOBAL")
class Recommendation(BenchLibrary):
    """Keywords about the sheet's recommendation. Constructing the library connects to nothing."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    @keyword
    def make_the_recommended_configuration_stay(self) -> None:
        """Write the sheet's ``recommended`` into files of the dut that are read at each start.

        `Take The Recommended Configuration Away` undoes it.
        """
        run = self.run
        wish = recommended.wish_of(run)
        if wish.irq_affinity_per_queue:
            logger.info("interrupts for each queue: tried at run time; no file makes them stay")
        self._entries += recommended.make_persistent(run, wish)

    @keyword
    def restart_the_dut(self) -> None:
        """Restart the dut in an orderly way, and wait until it answers."""
        self.run.server(Role.DUT).reboot()

    @keyword
    def recommended_configuration_should_be_in_force(self) -> None:
        """Every recommended value is shown by every port of the dut."""
        run = self.run
        fail_with(recommended.problems(run, recommended.wish_of(run)))

    @keyword
    def take_the_recommended_configuration_away(self) -> None:
        """The files are removed, and the settings are as they were. Does nothing when there are none."""
        run, problems = self.run, list[str]()
        while self._entries:
            try:
                run.journal.undo(self._entries.pop(), run.undo)
            except BenchFault as error:
                problems.append(str(error))
        if problems:
            raise BenchFault("\n".join(problems))

    @keyword
    def largest_rings_should_fit_in_memory(self) -> None:
        """What the largest receive rings of all ports take at the largest MTU is free on the dut.

        An estimate: descriptors times MTU for receiving; for sending with segmentation, descriptors times 64 KiB.
        """
        run = self.run
        card, system = run.card, run.server(Role.DUT).description.os
        rings = card.section(card.of_driver("rings", system), f"rings of {system.value}'s driver")
        assert isinstance(rings, Rings)
        mtu = card.known(card.section(card.mtu, "mtu").max, "mtu.max")
        rx = card.known(rings.largest(rings.rx), "rings.rx.max")
        tx = card.known(rings.largest(rings.tx), "rings.tx.max")
        ports = len(run.ports(Role.DUT))
        receiving, sending = rx * mtu, tx * TSO_BYTES
        free = run.server(Role.DUT).host.available_bytes()
        logger.info(
            f"largest rings: {receiving / 2**20:.0f} MiB a port for receiving ({rx} descriptors of {mtu} bytes), up to "
            f"{sending / 2**20:.0f} MiB for sending with segmentation; dut has {free / 2**20:.0f} MiB available"
        )
        if ports * receiving > free:
            raise BenchFault(
                f"dut: {free / 2**20:.0f} MiB of memory are available; wanted: {ports * receiving / 2**20:.0f} MiB for "
                f"the largest receive rings of {ports} ports, sheet {card.name}"
            )
