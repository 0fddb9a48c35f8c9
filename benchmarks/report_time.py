"""Say how long the reports of a run of 2,000 tests take: certificate, PDF file, and Allure with what we add to it.

PYTHONPATH=libraries python benchmarks/report_time.py RUN

RUN is a finished run; its results are copied until there are 2,000 of them, below a temporary folder. What is ours must
take at most 5 s beyond the time of Allure itself.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from niclab.report.allure import allure, allure_tools
from niclab.report.allure.allure import REPORT_FOLDER
from niclab.report.certificate import certificate
from niclab.report.evidence.runfolder import ALLURE_RESULTS_FOLDER, read_run

TESTS = 2000
ALLOWED_S = 5.0


def grow(results: Path) -> None:
    """Copy results until there are enough."""
    files = sorted(results.glob("*-result.json"))
    contents = [json.loads(file.read_text()) for file in files]
    for number, content in zip(range(len(files), TESTS), itertools.cycle(contents), strict=False):
        ident, name = str(uuid.uuid4()), f"{content['fullName']} {number}"
        copy = {**content, "uuid": ident, "fullName": name, "historyId": name, "testCaseId": name, "name": name}
        (results / f"{ident}-result.json").write_text(json.dumps(copy))


def seconds(work: Callable[[], object]) -> float:
    """Measure one call."""
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def main(source: Path) -> int:
    """Measure, and return 0 when our own part is short enough."""
    of_allure = 0.0

    def timed(*arguments: object, **options: object) -> None:
        nonlocal of_allure
        of_allure += seconds(lambda: real(*arguments, **options))  # type: ignore[arg-type]

    real, allure.run_tool = allure.run_tool, timed  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / source.resolve().name
        shutil.copytree(source, run_dir)
        results = run_dir / ALLURE_RESULTS_FOLDER
        grow(results)
        run, found = read_run(run_dir), allure_tools.find()
        report = seconds(lambda: allure.generate(results, run_dir / REPORT_FOLDER, run, found))
        issued = seconds(lambda: certificate.certify(run_dir, 0))
    own = report - of_allure + issued
    print(f"{TESTS} tests: Allure itself {of_allure:.1f} s")
    print(f"around it {report - of_allure:.1f} s, certificate {issued:.1f} s")
    print(f"ours: {own:.1f} s; expected at most {ALLOWED_S:g} s")
    return 0 if own <= ALLOWED_S else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
