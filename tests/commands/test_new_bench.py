"""A bench file that is written by a command passes the checks of one that was written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from niclab.bench.bench_file import load_bench
from niclab.bench.records import Role
from niclab.card import load_card
from niclab.commands import cli, new_bench
from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault
from niclab.run.acquiring.whole_card import require_whole_card

FLAGS = [
    "--dut",
    "dut.lab.example",
    "--peer",
    "192.0.2.11",
    "--key-file",
    "~/.ssh/lab",
    "--known-hosts",
    "~/.ssh/known",
]
FUNCTIONS = {
    "intel-82574l": ("0000:01:00.0", "0000:02:00.0"),
    "emulex-oce11102": ("0000:81:00.0", "0000:81:00.1"),
    "chelsio-t580-cr": ("0000:81:00.0",),
}


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that each server answers with; nothing is connected to."""
    addresses: list[str] = []

    class Host:
        def __init__(self, ssh: object, name: str) -> None:
            self.pci, self.of = self, (ssh, name)

        def functions(self, vendor_id: str, device_id: str) -> tuple[str, ...]:
            assert len(vendor_id) == len(device_id) == 4
            return tuple(addresses)

    monkeypatch.setattr(new_bench, "LinuxHost", Host)
    return addresses


def made(folder: Path, card: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(new_bench, "BENCHES", folder)
    return cli.main(["new-bench", "mine", "--card", card, "--folder", str(folder), *FLAGS])


@pytest.mark.parametrize("card", FUNCTIONS)
def test_a_bench_of_what_the_servers_say(
    card: str, functions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    functions.extend(FUNCTIONS[card])
    assert made(tmp_path, card, monkeypatch) == 0
    bench = load_bench(tmp_path / "mine.yaml")
    require_whole_card(bench.with_card(card), load_card(card))
    assert bench.server(Role.DUT).ssh.address == "dut.lab.example" and len(bench.paths) == 2
    assert f"niclab doctor {tmp_path / 'mine.yaml'} --card {card}" in capsys.readouterr().out
    assert made(tmp_path, card, monkeypatch) == ExitStatus.BENCH_FAULT
    assert "exists; expected the name of a new bench" in capsys.readouterr().err


def test_a_server_with_too_few_ports_leaves_no_file(
    functions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    functions.append("0000:01:00.0")
    assert made(tmp_path, "intel-82574l", monkeypatch) == ExitStatus.BENCH_FAULT
    assert "1 ports of 8086:10d3; expected 2 (identity.ports of sheet" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_missing_answer_names_its_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(BenchFault, match="new-bench: --dut: missing; expected Host name or address"):
        new_bench.run(new_bench.BenchAnswers("mine", card="intel-82574l"), tmp_path)
