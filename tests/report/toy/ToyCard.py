"""A library that ends every way a check of the lab can end."""

from __future__ import annotations

from pathlib import Path

from robot.api import logger
from robot.libraries.BuiltIn import BuiltIn

from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.report.evidence.evidence import EvidenceStore
from niclab.report.evidence.evidence_links import EvidenceLink
from niclab.transports import ConnectionLost


class ToyCard:
    def card_fails(self, message: str = "dut.p0 trained to x4; expected x8 (sheet)") -> None:
        raise CardFailure(message)

    def bench_faults(self, message: str = "dut BMC: silent for 5 s") -> None:
        raise BenchFault(message)

    def line_is_lost(self) -> None:
        raise ConnectionLost("dut: gone while 'lspci' ran")

    def cannot_tell(self) -> None:
        raise Undecided("throughput 940 +- 80 Mbit/s; expected 900 Mbit/s (sheet)")

    def not_applicable(self, message: str = "bench virtual has no switch") -> None:
        raise NotApplicable(message)

    def keep_evidence(self, name: str, data: str) -> None:
        folder = Path(BuiltIn().get_variable_value("${OUTPUT DIR}")) / "evidence"
        path = EvidenceStore(folder).add(name, data)
        logger.info(EvidenceLink(name, "text/plain", f"evidence/{path.name}").markup(), html=True)

    def link_lost_evidence(self) -> None:
        logger.info(EvidenceLink("gone", "text/plain", "evidence/gone.txt").markup(), html=True)

    def tell_and_hang(self, file: str) -> None:
        """Say on disk that the test has begun, then wait to be killed."""
        Path(file).write_text("begun")
        BuiltIn().run_keyword("Sleep", "60s")
