"""Taking and giving back the bench, and keeping evidence."""

from __future__ import annotations

from pathlib import Path

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

from BenchLibrary import BenchLibrary
from listeners import Abort
from niclab.bench.records import Role, chosen_systems
from niclab.card import load_card
from niclab.core.parallel import side_by_side
from niclab.links import wiring
from niclab.report.links import EvidenceLink
from niclab.report.runfolder import RUN_FILE, record_facts
from niclab.run.run import Run, current, give_back, take
from niclab.run.server import Server

CONSOLE_TAIL_CHARACTERS = 20_000


@library(scope="GLOBAL")
class Lab(BenchLibrary):
    """Keywords that concern the bench as a whole. Constructing the library connects to nothing."""

    def __init__(self) -> None:
        super().__init__()
        Abort.install()

    @keyword
    def take_bench(self, bench: str, card: str, dut_os: str = "", peer_os: str = "") -> None:
        """Take the bench described by the file ``bench`` to qualify the card on sheet ``card``.

        ``dut_os``, ``peer_os``: the operating systems (``linux``, ``freebsd``) where they are not those of the file.

        Locks it, undoes what a killed run left behind, brings it up if it is down, connects to both servers, sets the
        test ports up, and proves that the cables lie as the bench file says.
        """
        run_dir = Path(BuiltIn().get_variable_value("${OUTPUT DIR}"))
        systems = {Role.DUT: dut_os, Role.PEER: peer_os}
        run = take(bench, load_card(card), run_dir, _current_test, chosen_systems(systems))
        self.ready_the_bench()
        for line in wiring.prove(run):
            logger.info(line)
        self._record_facts(run)

    @keyword
    def give_bench_back(self) -> None:
        """Undo every change, and leave the bench as it was found."""
        give_back()

    @keyword
    def ready_the_bench(self) -> None:
        """Both servers answer, the driver on the sheet is loaded, the test ports are up with their addresses.

        A server that does not answer is recovered by its BMC, with a warning; what it lost is set up again.
        """
        run = self.run
        for server in run.servers.values():
            if server.description.console is not None:
                server.start_console_log()
        if run.prepared():
            return
        for name in run.ensure_ready():
            logger.warn(f"{name} did not answer and was recovered by a power cycle")
        missing = side_by_side(_missing_driver, run.servers.values())
        for server, module in zip(run.servers.values(), missing, strict=True):
            if module:
                logger.warn(f"{server.name}: driver {module} was not loaded; it is loaded now")
                server.run(server.host.loading_driver(module))
        run.prepare_links()

    @keyword
    def keep_evidence_if_test_failed(self) -> None:
        """After a failed test: kernel log, links, PCI and console of both servers as evidence."""
        if BuiltIn().get_variable_value("${TEST STATUS}") != "FAIL":
            return
        run = self.run
        for server in run.servers.values():
            if server.description.console is not None:
                self.attach_evidence(f"{server.name}-console.txt", server.console_text()[-CONSOLE_TAIL_CHARACTERS:])
            if server.answers():
                server.files(server.host.evidence_commands(), self.attach_evidence)

    @keyword
    def attach_evidence(self, name: str, text: str) -> None:
        """Keep ``text`` as a file of the run's evidence, linked in the log and attached in Allure."""
        path = self.run.evidence.add(name, text)
        logger.info(EvidenceLink(path.name, "text/plain", f"evidence/{path.name}").markup(), html=True)

    @staticmethod
    def _record_facts(run: Run) -> None:
        """What the certificate says of the card as it was found."""
        server = run.server(Role.DUT)
        info = server.host.driver_info(run.interface(run.ports(Role.DUT)[0]))
        facts = {
            "driver": f"{info.driver} {info.version or '(no version)'}",
            "firmware": info.firmware or "not reported",
            "kernel": server.host.kernel(),
            "system": server.host.os_release().pretty_name or server.host.os_release().id,
        }
        for name, value in facts.items():
            logger.info(f"{name}: {value}")
        if (run.run_dir / RUN_FILE).exists():
            record_facts(run.run_dir, **facts)


def _missing_driver(server: Server) -> str:
    """Name of the driver on the sheet when it is not loaded on the server, else nothing."""
    module = current().card.driver(server.description.os).module
    return module if server.host.loaded_module(module) is None else ""


def _current_test() -> str | None:
    name = BuiltIn().get_variable_value("${TEST NAME}")
    return None if name is None else str(name)
