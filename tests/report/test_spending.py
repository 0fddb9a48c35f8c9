"""The commands that a run sent: by form, by test and by keyword."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from niclab.commands import cli
from niclab.core.verdict import BenchFault
from niclab.report.evidence.runfolder import new_run
from niclab.report.spending import Sent, form_of, spending_of

BEGIN = datetime(2026, 11, 23, 10, 0, 0, tzinfo=UTC).timestamp()
SUITE = """<robot><suite name="Qualification">
<kw name="Acquire The Bench"><kw name="Acquire Bench">{0}</kw>{0}</kw>
<test name="Links Are Up"><kw name="Ready The Bench">{1}</kw><kw name="Links Should Be Up">{2}</kw>{3}</test>
{4}</suite></robot>"""


def status(begin_s: int, seconds: int) -> str:
    return f'<status status="PASS" start="2026-11-23T10:00:{begin_s:02}.000000" elapsed="{seconds}.0"/>'


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run of 50 s: acquired in 10, a test from 20 to 40 with two keywords."""
    folder = new_run(tmp_path / "results", "x710", "hall-3", repository=tmp_path)
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(run | {"started": "2026-11-23T09:59:50+00:00"}))
    spans = [status(0, 10), status(20, 5), status(25, 10), status(20, 20), status(0, 50)]
    (folder / "output.xml").write_text(SUITE.format(*spans))
    commands = [
        ("export LC_ALL=C; ip -j addr show dev enp1s0", 2, 1),
        ("export LC_ALL=C; ip -j addr show dev enp12s0", 23, 1),
        ("export LC_ALL=C; ip -j addr show dev enp1s0", 27, 2),
        ("iperf3 --client 198.18.0.2", 30, 2),
        ("iperf3 --server --one-off", 34, 8),
        ("true", 38, 1),
    ]
    lines = [json.dumps({"command": c, "ended": BEGIN + ended, "seconds": s}) for c, ended, s in commands]
    (folder / "evidence" / "commands-dut.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_commands_are_counted_by_form_test_and_keyword(run_dir: Path) -> None:
    found = spending_of(run_dir)
    assert found.forms == [Sent("ip -j addr show dev enpNsN", 3, 4), Sent("true", 1, 1)]
    assert found.tests == [Sent("Links Are Up", 3, 4), Sent("(outside tests)", 1, 1)]
    assert [each.what for each in found.keywords] == [
        "(between keywords)",
        "Acquire Bench",
        "Links Should Be Up",
        "Ready The Bench",
    ]


def test_they_are_printed_on_request(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["timing", str(run_dir), "--commands"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "  sent  seconds  command" in said and "     3      4.0  ip -j addr show dev enpNsN" in said
    assert "     3      4.0  Links Are Up" in said
    assert cli.main(["timing", str(run_dir)]) == 0
    assert "  sent  seconds  command" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "form"),
    [
        ("export LC_ALL=C; ping -c 10 198.18.10.2", "ping -c N IP"),
        ("readlink -e /sys/bus/pci/devices/0000:01:00.0", "readlink -e /sys/bus/pci/devices/PCI"),
        ("ip link set dev enp1s0 address 52:54:00:12:34:56", "ip link set dev enpNsN address MAC"),
        ('echo "niclab mark 0123456789abcdef" > /dev/kmsg', 'echo "niclab mark ID" > /dev/kmsg'),
    ],
)
def test_commands_of_one_form_differ_by_places_only(command: str, form: str) -> None:
    assert form_of(command) == form


@pytest.mark.parametrize("name", ["output.xml", "evidence/commands-dut.jsonl"])
def test_what_cannot_be_read_is_named(run_dir: Path, name: str) -> None:
    (run_dir / name).write_text("{")
    with pytest.raises(BenchFault, match=Path(name).name):
        spending_of(run_dir)
