"""Robot Framework's log as a place for reports: sentences, warnings, progress, and files of evidence."""

from __future__ import annotations

from robot.api import logger

from niclab.report.evidence.evidence_links import EvidenceLink
from niclab.report.reporter import Reporter
from niclab.run.run import current


def attach(name: str, text: str, mime: str = "text/plain") -> None:
    """Keep a text as a file of the run's evidence, linked in the log and attached in Allure.

    Args:
        name: What a reader sees, with the suffix of the file.
        text: Content of the file.
        mime: Type of the content.

    Raises:
        BenchFault: No bench is acquired, or the file cannot be written.
    """
    path = current().evidence.add(name, text, mime)
    logger.info(EvidenceLink(path.name, mime, f"evidence/{path.name}").markup(), html=True)


def reporter() -> Reporter:
    """Return the reporter that writes into the log."""
    return Reporter(logger.info, logger.warn, logger.console, attach)
