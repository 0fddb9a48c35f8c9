"""A finished run against its certificate: what differs, is missing or was added, and who signed it."""

from __future__ import annotations

from pathlib import Path

from niclab.report import read_json_object
from niclab.report.certificate import certificate
from niclab.report.evidence import signature
from niclab.report.evidence.runfolder import CERTIFICATE_FILE
from niclab.report.evidence.sums import SUMS_NAME


def run(run_dir: Path, signers: Path | None) -> int:
    """Check every file of a run; print what is wrong, or what the certificate says.

    Args:
        run_dir: Folder of the run.
        signers: Who may sign, see :func:`niclab.report.evidence.signature.problems_of`; None leaves the signature
            unchecked.

    Returns:
        0 when all is as it was issued, else 1. Whether the card was certified does not matter here.

    Raises:
        BenchFault: There is no readable certificate.
    """
    sums = run_dir / SUMS_NAME
    problems = certificate.verify(run_dir)
    if signers is not None:
        problems += signature.problems_of(sums, signers)
    for problem in problems:
        print(problem)
    if problems:
        print(f"{len(problems)} difference{'s' * (len(problems) != 1)}: {run_dir} is not as it was issued")
        return 1
    issued = read_json_object(run_dir / CERTIFICATE_FILE)
    print(f"{issued['verdict']}, {issued['scope']}, issued {issued['issued']}: every file is as it was issued")
    if signers is not None:
        print(f"signed by one of {signers}")
    elif signature.signature_of(sums).is_file():
        print("the signature was not checked; name who may sign: --signers FILE")
    return 0
