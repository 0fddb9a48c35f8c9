"""The pipeline restores, publishes and unlocks whatever happens to the run of a card."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
PIPELINE = REPOSITORY / "ci" / "Jenkinsfile"
GROOVY = "org.codehaus.groovy:groovy-all:2.4.21"
JAR = Path.home() / ".m2/repository/org/codehaus/groovy/groovy-all/2.4.21/groovy-all-2.4.21.jar"
LINTER = Path.home() / ".cache/niclab/groovy-lint-16.2.0"
FAST_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
CARD, OTHER = "intel-x520", "solarflare-sfn5122f"
PUBLISHED = ["archiveArtifacts", "junit", "robot", "allure", "publishHTML"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="needs default-jre-headless, maven"),
]


@pytest.fixture(scope="module")
def groovy() -> Path:
    """The Groovy of Jenkins, in Maven's own cache."""
    if not JAR.is_file():
        fetch = ["mvn", "--quiet", "dependency:get", f"-Dartifact={GROOVY}", "-Dtransitive=false"]
        subprocess.run(fetch, check=True, timeout=300)
    return JAR


class Pipeline:
    """Runs the Jenkinsfile with faults of its steps."""

    def __init__(self, jar: Path, folder: Path) -> None:
        self._jar, self._scenario = jar, folder / "scenario.json"

    def run(self, *faults: tuple[str, int | str], file: Path = PIPELINE, **params: str) -> list[str]:
        """Return the events of all cells in which the steps of CARD end as said, and the result."""
        asked = [{"cell": CARD, "step": step, "does": does} for step, does in faults]
        self._scenario.write_text(json.dumps({"params": params, "faults": asked}))
        program = [str(HERE / "Declarative.groovy"), str(file), str(self._scenario)]
        command = ["java", *FAST_JAVA, "-cp", str(self._jar), "groovy.ui.GroovyMain", *program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return [f"{cell} {event}".strip() for cell, event in map(json.loads, done.stdout.splitlines())]


@pytest.fixture
def pipeline(groovy: Path, tmp_path: Path) -> Pipeline:
    return Pipeline(groovy, tmp_path)


def steps(events: list[str], cell: str = CARD) -> list[str]:
    """First words of the events of a cell; of niclab, its command."""
    own = [event.removeprefix(f"{cell} ") for event in events if event.startswith(f"{cell} ")]
    return [
        event.split(".venv/bin/niclab ")[1].split()[0] if ".venv/bin/niclab" in event else event.split()[0]
        for event in own
    ]


END = ["restore", *PUBLISHED, "unlock"]


@pytest.mark.parametrize(
    ("status", "said", "result"),
    [
        (0, None, "SUCCESS"),
        (1, "unstable intel-x520: card failure", "UNSTABLE"),
        (2, "error intel-x520: wrong usage of niclab", "FAILURE"),
        (3, "error intel-x520: bench fault", "FAILURE"),
        (4, "unstable intel-x520: undecided", "UNSTABLE"),
        (5, "unstable intel-x520: partial run", "UNSTABLE"),
        (6, "unstable intel-x520: certified with waivers", "UNSTABLE"),
        (143, "error intel-x520: niclab ended with status 143", "FAILURE"),
    ],
)
def test_exit_codes_are_reported_apart(pipeline: Pipeline, status: int, said: str | None, result: str) -> None:
    events = pipeline.run(("niclab certify", status), CARDS=CARD)
    assert events[-1] == f"RESULT {result}"
    assert said is None or f"{CARD} {said}" in events
    assert [step for step in steps(events) if step not in ("unstable", "error", "failed")] == [
        *("lock", "sh", "certify"),
        *END,
    ]


@pytest.mark.parametrize("step", ["make setup", "niclab certify"])
@pytest.mark.parametrize(("does", "result"), [("abort", "ABORTED"), ("fail", "FAILURE")])
def test_the_bench_is_restored_and_free_after_any_end(pipeline: Pipeline, step: str, does: str, result: str) -> None:
    events = pipeline.run((step, does))
    assert steps(events)[-len(END) :] == END
    assert steps(events, OTHER) == ["lock", "sh", "certify", *END]  # the other cells go on
    assert events[-1] == f"RESULT {result}"


@pytest.mark.parametrize("broken", ["niclab restore", *PUBLISHED])
@pytest.mark.parametrize("does", ["abort", "fail"])
def test_a_failure_after_the_run_keeps_no_bench(pipeline: Pipeline, broken: str, does: str) -> None:
    done = steps(pipeline.run((broken, does), CARDS=CARD))
    assert done[-1] == "unlock" and "restore" in done and "archiveArtifacts" in done


def test_a_cell_that_was_not_asked_for_takes_no_bench(pipeline: Pipeline) -> None:
    assert {event.split()[0] for event in pipeline.run(CARDS=CARD)} == {CARD, "RESULT"}


def test_a_wrong_section_is_found(pipeline: Pipeline, tmp_path: Path) -> None:
    """Negative control of the stand-in."""
    (tmp_path / "wrong").write_text((PIPELINE).read_text().replace("always {", "alwayss {"))
    with pytest.raises(AssertionError, match="unknown section alwayss"):
        pipeline.run(file=tmp_path / "wrong")


def test_the_linter_finds_no_error() -> None:
    program = LINTER / "node_modules" / ".bin" / "npm-groovy-lint"  # what the package itself says its program is
    if not program.exists():
        install = ["npm", "install", "--silent", "--ignore-scripts", "--prefix", str(LINTER), "npm-groovy-lint@16.2.0"]
        LINTER.mkdir(parents=True, exist_ok=True)
        subprocess.run(install, check=True, timeout=300)
    options = ["--config", "recommended-jenkinsfile", "--failon", "error", "--noserver"]
    done = subprocess.run(
        ["node", str(program), *options, str(PIPELINE)],
        env={**os.environ, "JAVA_TOOL_OPTIONS": " ".join(FAST_JAVA)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
