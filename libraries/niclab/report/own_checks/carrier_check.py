"""Changes of carrier over the whole run that nobody has brought about, as an own check on the certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.report import read_json_object, write_json
from niclab.report.allure.allure_results import TestRecord, check_of_run
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER

FILE = "carrier.json"
"""File of the evidence."""
FORMAT = 1
CHECK = "Carrier over the whole run"


@dataclass(frozen=True)
class KeptCarrier:
    """``watched_s``: seconds in which a change would have been seen; each finding begins with its verdict's name."""

    watched_s: float
    findings: Sequence[str]


def keep_carrier(evidence: Path, kept: KeptCarrier) -> None:
    """Write what is known so far.

    Args:
        evidence: The evidence folder of the run.
        kept: What is known.

    Raises:
        BenchFault: It cannot be written.
    """
    write_json(evidence / FILE, {"format": FORMAT, **asdict(kept)})


def carrier_check(run_dir: Path) -> TestRecord | None:
    """Judge the changes of carrier of a run; None where not one second was watched.

    Args:
        run_dir: Folder of the run.

    Returns:
        The check: passed, or with the worst verdict of all findings and the words of each.
    """
    file = run_dir / EVIDENCE_FOLDER / FILE
    if not file.exists():
        return None
    try:
        kept = _read(file)
    except BenchFault as fault:
        return check_of_run(CHECK, [f"{BenchFault.__name__}: {fault}"])
    return check_of_run(CHECK, list(kept.findings)) if kept.watched_s or kept.findings else None


def _read(file: Path) -> KeptCarrier:
    content = read_json_object(file)
    try:
        if content["format"] != FORMAT:
            raise BenchFault(f"{file}: format {content['format']!r}; expected {FORMAT}")
        return KeptCarrier(float(content["watched_s"]), tuple(map(str, content["findings"])))
    except (KeyError, TypeError, ValueError) as error:
        raise BenchFault(f"{file}: is no record of carriers: {error}; expected watched_s and findings") from error
