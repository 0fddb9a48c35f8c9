"""Acquire the bench, have it ready, release it."""

from __future__ import annotations

from pathlib import Path

from robot.api import logger
from robot.api.deco import library
from robot.libraries.BuiltIn import BuiltIn

from BenchLibrary import BenchLibrary, keyword
from listeners import Abort
from listeners.Evidence import Evidence
from listeners.Hygiene import Hygiene
from listeners.KernelLog import KernelLog
from listeners.MessageMasking import MessageMasking
from listeners.OutOfService import OutOfService
from log_report import attach
from niclab.bench.records import Role
from niclab.card import load_card
from niclab.card.driver_choice import DriverChoice
from niclab.checks.chosen_driver import ChosenDriver
from niclab.checks.releasing import release_bench
from niclab.links import wiring
from niclab.run.acquiring import ready
from niclab.run.run import acquire, acquired
from niclab.run.watching import failure_evidence
from niclab.run.watching.facts import CardFacts
from niclab.run.watching.hygiene import BenchHygiene
from niclab.run.watching.kernel_watch import KernelWatch


@library(scope="GLOBAL", listener=[KernelLog(), MessageMasking(), Evidence(), Hygiene(), OutOfService()])
class Bench(BenchLibrary):
    """Keywords about the bench as a whole.

    With this library both kernels judge every test, a run masks the secrets of the bench and keeps evidence of every
    failure, and its teardown runs when the run is ended by signals.

    | `Acquire Bench` | lab/benches/mine.yaml | intel-82574l | dut_os=freebsd |
    """

    def __init__(self) -> None:
        Abort.install()

    @keyword
    def acquire_bench(self, bench: str, card: str, dut_os: str = "", peer_os: str = "", driver: str = "") -> None:
        """Acquire a bench to qualify a card: lock it, undo what a killed run left, bring it up, prove its wiring.

        Args:
            bench: The bench file.
            card: Name or file of the card sheet.
            dut_os: ``linux``, ``freebsd`` or a name in ``systems`` of the bench file, where the dut is to run another
                system than the file says.
            peer_os: The same of the peer.
            driver: The driver that is qualified: ``inbox``, ``vendor`` or a version of the vendor's package, which both
                servers have during the run; empty: the one that they have.

        Raises:
            BenchFault: The bench is in use, cannot be restored or made ready, leaves ports of the card out, or its
                cables are not as in the file. Or the sheet has no such driver, or a package is in place of ``inbox``.
            CardFailure: A port has no interface or link by fault of the card, or the dut's kernel reports its trouble.
                Or the vendor's package is refused, or its driver is not the one that is used then.
            Undecided: The dut has booted by itself meanwhile, or the card has less PCI Express bandwidth than expected.
        """
        run_dir = Path(BuiltIn().get_variable_value("${OUTPUT DIR}"))
        systems = {Role.DUT: dut_os, Role.PEER: peer_os}
        run = acquire(bench, load_card(card), run_dir, _current_test, systems, DriverChoice(driver))
        run.part(BenchHygiene).begin()
        with run.part(KernelWatch).beginning():
            run.part(ChosenDriver).provide(logger.info)
            self.ready_the_bench()
            run.part(ChosenDriver).require_in_use(logger.info)
            for line in wiring.prove(run):
                logger.info(line)
        for name, value in run.part(CardFacts).record().items():
            logger.info(f"{name}: {value}")
        run.part(BenchHygiene).settle()

    @keyword
    def release_bench(self) -> None:
        """Undo every change, judge both kernels for the last time, and leave the bench as it was found.

        What a kernel reported after the last test, and what is not as it was found, are warnings here and own checks on
        the certificate. Driver, package, firmware and system of the card are read again, of every port.

        Raises:
            BenchFault: Something could not be undone; the next run, or ``niclab restore``, tries again. Or the card is
                not in the state in which it was when the bench was acquired.
        """
        run = acquired()
        if run is not None:
            release_bench(run, logger.warn)

    @keyword
    def ready_the_bench(self) -> None:
        """Make both servers answer, load the driver on the sheet, and set the test ports up with their addresses.

        A server that does not answer is recovered, with a warning; what it lost is set up again.

        Raises:
            CardFailure: A port of the dut has no interface, and the card or its driver is to blame.
            BenchFault: A server stays out of service: the rest of the run is skipped. Or a port cannot be set up.
        """
        ready.make_ready(self.run, logger.warn)

    @keyword
    def evidence_should_be_complete(self) -> None:
        """Collect from both servers what is kept after a failure, and see that every tool says something.

        Raises:
            BenchFault: A tool is not installed, or shows nothing.
        """
        failure_evidence.require_complete(self.run, attach)


def _current_test() -> str | None:
    name: str | None = BuiltIn().get_variable_value("${TEST NAME}")
    return name
