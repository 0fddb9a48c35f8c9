"""A failure quotes what a server has said: no page of Robot Framework shows it as HTML."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from robot.run import run as robot  # type: ignore[import-untyped]  # the package has no marker

from listeners import MessageMasking

HOSTILE = "<img src=x onerror=alert(1)>"
SUITE = """*** Test Cases ***
Fails
    Fail    {said}
In Teardown
    No Operation
    [Teardown]    Fail    {said}
In A Loop
    FOR    ${{each}}    IN    a
        Run Keyword And Continue On Failure    Evaluate    int({said!r})
    END
"""


@pytest.mark.parametrize("mark", ["*HTML*", "*HTML* *HTML*", " *HTML*"])
def test_a_failure_that_asks_to_be_html_stays_text(tmp_path: Path, mark: str) -> None:
    (tmp_path / "toy.robot").write_text(SUITE.format(said=f"{mark}{HOSTILE}"))
    listener = Path(MessageMasking.__file__)
    robot(str(tmp_path / "toy.robot"), outputdir=str(tmp_path), listener=str(listener), stdout=io.StringIO())
    output = (tmp_path / "output.xml").read_text()
    assert output.count("onerror") >= 3 and HOSTILE not in output
    assert 'html="true"' not in output
    assert HOSTILE not in (tmp_path / "log.html").read_text().replace("\\x3c", "<").replace("\\x3e", ">")
