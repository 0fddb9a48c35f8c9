"""The right to start a build is not the right to run commands on the agent."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PIPELINE = (REPOSITORY / "Jenkinsfile").read_text()


def choices(name: str) -> list[str]:
    """The choices of a parameter, which is a choice and nothing else."""
    found = re.search(rf"choice\(name: '{name}', choices: \[(.*?)\]", PIPELINE, re.DOTALL)
    assert found, f"{name} is no choice"
    return re.findall(r"'([^']*)'", found[1])


def test_every_parameter_is_a_choice() -> None:
    parameters = PIPELINE[PIPELINE.index("parameters {") : PIPELINE.index("options {")]
    assert set(re.findall(r"(\w+)\(name:", parameters)) == {"choice"}
    assert sorted(choices("CARD")) == sorted(file.stem for file in (REPOSITORY / "lab" / "cards").glob("*.yaml"))
    assert all((REPOSITORY / bench).is_file() for bench in choices("BENCH"))


def test_the_shell_reads_parameters_as_variables_and_make_does_not_get_them() -> None:
    commands = re.findall(r"\bsh (.+)", PIPELINE)
    assert commands
    for command in commands:
        assert re.fullmatch(r"'[^']*'", command), "the pipeline would put values into the text of the command"
        assert not re.search(r"(?<!\")\$", command), "a value is not in quotes"
        assert not (command.startswith("'make") and "$" in command), "make runs what a variable contains"
