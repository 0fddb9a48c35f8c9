"""The right to start a build is not the right to run commands on the agent."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import yaml

from niclab.card.driver_choice import INBOX, VENDOR
from niclab.core.exit_status import ExitStatus

REPOSITORY = Path(__file__).resolve().parents[1]
PIPELINE = (REPOSITORY / "ci/Jenkinsfile").read_text()


def choices(name: str) -> list[str]:
    """The choices of a parameter, which is a choice and nothing else."""
    found = re.search(rf"choice\(name: '{name}', choices: \[(.*?)\]", PIPELINE, re.DOTALL)
    assert found, f"{name} is no choice"
    return re.findall(r"'([^']*)'", found[1])


def test_every_parameter_is_a_choice() -> None:
    parameters = PIPELINE[PIPELINE.index("parameters {") : PIPELINE.index("options {")]
    assert set(re.findall(r"(\w+)\(name:", parameters)) == {"choice"}
    cards = sorted(file.stem for file in (REPOSITORY / "lab" / "cards").glob("*.yaml"))
    assert sorted(choices("CARDS")) == sorted(["all", *cards])
    axis = PIPELINE[PIPELINE.index("values ") : PIPELINE.index("stages {", PIPELINE.index("values "))]
    assert sorted(re.findall(r"'([^']*)'", axis)) == cards
    assert choices("DRIVER") == ["", INBOX, VENDOR] and '${DRIVER:+--driver "$DRIVER"}' in PIPELINE
    assert sorted(choices("PLAN")) == sorted(file.stem for file in (REPOSITORY / "lab" / "plans").glob("*.yaml"))


def test_the_shell_reads_parameters_as_variables_and_make_does_not_get_them() -> None:
    commands = re.findall(r"\bsh[ (](?:[^\n]*?script: )?(\'\'\'.*?\'\'\'|[^\n]+)", PIPELINE, re.DOTALL)
    assert len(commands) == 3
    for command in commands:
        assert re.fullmatch(r"('''|')[^']*\1", command), "the pipeline would put values into the text of the command"
        unquoted = re.sub(r'"[^"]*"', "", re.sub(r"\$\{\w+:\+([^}]*)\}", r"\1", command))
        assert "$" not in unquoted, "a value is not in quotes"
        assert not (command.startswith("'make") and "$" in command), "make runs what a variable contains"
        assert re.match(r"\W*(exec )?(make|\.venv/bin/niclab) ", command)


def test_every_exit_status_is_known_everywhere() -> None:
    statuses = {status.value for status in ExitStatus}
    cases = {int(found) for found in re.findall(r"case (\d+):", PIPELINE)}
    page = (REPOSITORY / "docs" / "certificate.md").read_text()
    rows = dict(re.findall(r"^\| (\d) \| ([a-z ]+) \|", page, re.MULTILINE))
    assert cases == statuses
    assert {int(status): name.upper().replace(" ", "_") for status, name in rows.items()} == {
        status.value: status.name for status in ExitStatus
    }
    for status in ExitStatus:
        assert re.search(rf"^{status.value} +{status.name} +\S", str(inspect.getdoc(ExitStatus)), re.MULTILINE)


def test_a_job_of_gitlab_fails_for_a_card_and_for_a_bench_only() -> None:
    job = yaml.safe_load((REPOSITORY / "ci" / "gitlab-ci.yml").read_text())["certify"]
    red = {ExitStatus.CERTIFIED, ExitStatus.CARD_FAILURE, ExitStatus.WRONG_USAGE, ExitStatus.BENCH_FAULT}
    assert set(job["allow_failure"]["exit_codes"]) == set(ExitStatus) - red


def test_the_example_for_gitlab_has_every_card() -> None:
    job = yaml.safe_load((REPOSITORY / "ci" / "gitlab-ci.yml").read_text())["certify"]
    assert job["parallel"]["matrix"][0]["CARD"] == sorted(
        file.stem for file in (REPOSITORY / "lab" / "cards").glob("*.yaml")
    )
    assert job["script"][-1].endswith(' ${DRIVER:+--driver "$DRIVER"}') and job["variables"]["DRIVER"] == ""
    assert job["after_script"] == ['.venv/bin/niclab restore "$BENCH" --wait 3600']
