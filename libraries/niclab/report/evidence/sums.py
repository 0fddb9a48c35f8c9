"""The hashes that cover a run: those on the certificate, and those of every file in the run folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.report import sha256_of, write_atomically
from niclab.report.allure.allure import REPORT_FOLDER
from niclab.report.evidence.evidence import INDEX_NAME, LOCK_NAME
from niclab.report.evidence.runfolder import ALLURE_RESULTS_FOLDER, CERTIFICATE_FILE, EVIDENCE_FOLDER, RUN_FILE
from niclab.report.evidence.signature import signature_of

OUTPUT_NAME = "output.xml"
PAGE_NAME = "certificate.html"
PAPER_NAME = "certificate.pdf"
SUMS_NAME = "certificate.sha256"
MEASUREMENTS = "measurements.json"
COVERED: Mapping[str, str] = {
    OUTPUT_NAME: "Robot Framework output",
    "log.html": "log",
    "report.html": "report of Robot Framework",
    RUN_FILE: "description of the run",
    MEASUREMENTS: "measurements",
    f"{EVIDENCE_FOLDER}/{INDEX_NAME}": "index of the evidence",
    ALLURE_RESULTS_FOLDER: "results of the tests",
    REPORT_FOLDER: "Allure report",
}
"""The files of which the certificate gives a hash -> title. Of a folder, the hash is that of its list of sums."""


def covered(run_dir: Path) -> dict[str, str | None]:
    """Return the SHA-256 of everything a certificate names; None for what is not there.

    That of a folder is taken over the lines ``<sha256>  <name>`` of its files, sorted by name.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: A file cannot be read.
    """
    return {name: _digest(run_dir / name) for name in COVERED}


def write_sums(run_dir: Path) -> None:
    """Write the sum of every file in the run folder; an older signature is of other sums and is removed.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: A file cannot be read or written.
    """
    sums = run_dir / SUMS_NAME
    signature_of(sums).unlink(missing_ok=True)
    write_atomically(sums, "".join(_lines(run_dir, _files(run_dir))))


def differences(run_dir: Path) -> list[str]:
    """Compare every file in the run folder with the sums.

    Args:
        run_dir: Folder of the run.

    Returns:
        One line for each file that differs, is missing, or was added.

    Raises:
        BenchFault: The sums cannot be read, or do not name the certificate.
    """
    expected = _read(run_dir / SUMS_NAME)
    present = {file.relative_to(run_dir).as_posix(): file for file in _files(run_dir)}
    problems = [f"{name}: is missing" for name in expected if name not in present]
    problems += [f"{name}: was added; {SUMS_NAME} does not name it" for name in present if name not in expected]
    problems += [
        f"{name}: is not the file that {SUMS_NAME} was made for"
        for name, file in present.items()
        if name in expected and sha256_of(file) != expected[name]
    ]
    return problems


def _digest(path: Path) -> str | None:
    if path.is_file():
        return sha256_of(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return hashlib.sha256("".join(_lines(path, files)).encode()).hexdigest() if files else None


def _lines(folder: Path, files: list[Path]) -> Iterator[str]:
    return (f"{sha256_of(file)}  {file.relative_to(folder).as_posix()}\n" for file in files)


def _files(run_dir: Path) -> list[Path]:
    """Every file of the run apart from the sums themselves, their signature, and the lock of the evidence."""
    sums = run_dir / SUMS_NAME
    own = {sums, signature_of(sums), run_dir / EVIDENCE_FOLDER / LOCK_NAME}
    return sorted(file for file in run_dir.rglob("*") if (file.is_file() or file.is_symlink()) and file not in own)


def _read(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BenchFault(f"{path}: cannot be read: {error}") from error
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    if not {CERTIFICATE_FILE, PAGE_NAME} <= set(sums):
        raise BenchFault(f"{path}: does not name {CERTIFICATE_FILE} and {PAGE_NAME}; expected the sums of both")
    return sums
