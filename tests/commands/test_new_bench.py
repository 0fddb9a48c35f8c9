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


def made(folder: Path, card: str, monkeypatch: pytest.MonkeyPatch, *flags: str) -> int:
    monkeypatch.setattr(new_bench, "BENCHES", folder)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    return cli.main(["new-bench", "mine", "--card", card, "--folder", str(folder), *FLAGS, *flags])


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
    with pytest.raises(BenchFault, match="new-bench: --dut: missing; expected Server with the card under test"):
        new_bench.run(new_bench.BenchAnswers("mine", card="intel-82574l"), tmp_path)


def test_a_bench_behind_a_jump_host_with_users_who_have_sudo(
    functions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions.extend(FUNCTIONS["intel-82574l"])
    ways = ["--dut", "admin@dut.lab.example:2222", "--peer", "ops@[fd00::11]:2022", "--jump", "me@gate.lab.example"]
    assert made(tmp_path, "intel-82574l", monkeypatch, *ways) == 0
    dut, peer = (load_bench(tmp_path / "mine.yaml").server(role).ssh for role in Role)
    assert (dut.address, dut.port, dut.user, dut.sudo) == ("dut.lab.example", 2222, "admin", True)
    assert (peer.address, peer.port, peer.user, peer.sudo) == ("fd00::11", 2022, "ops", True)
    assert dut.jump is not None and (dut.jump.address, dut.jump.port, dut.jump.user) == ("gate.lab.example", 22, "me")
    assert dut.jump.key_file == dut.key_file == Path("~/.ssh/lab").expanduser()


def test_root_needs_no_sudo(functions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions.extend(FUNCTIONS["intel-82574l"])
    assert made(tmp_path, "intel-82574l", monkeypatch) == 0
    assert "sudo" not in (tmp_path / "mine.yaml").read_text()


@pytest.mark.parametrize("place", ["a b", "dut:ssh", "dut:0", "dut:65536", "a@b@c", "fd00::1]:22", "@dut", "dut:"])
def test_a_place_that_is_none_names_its_option(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--dut", "--jump"):
        assert made(tmp_path, "intel-82574l", monkeypatch, option, place) == ExitStatus.BENCH_FAULT
        assert f"new-bench: {option}: {place!r}; expected [USER@]HOST[:PORT]" in capsys.readouterr().err


def test_files_are_found_from_the_bench_file_too(
    functions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions.extend(FUNCTIONS["intel-82574l"])
    monkeypatch.chdir(tmp_path)
    odd = "my keys: #1/id"
    assert made(tmp_path / "benches", "intel-82574l", monkeypatch, "--key-file", odd) == 0
    assert load_bench(tmp_path / "benches" / "mine.yaml").server(Role.DUT).ssh.key_file == tmp_path / odd


def test_a_card_without_a_sheet_is_named_by_its_pci_id(
    functions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    functions.extend(["0000:17:00.0", "0000:17:00.1", "0000:17:00.2"])
    folder = tmp_path / "my lab"
    assert made(folder, "[8086:1572]", monkeypatch, "--peer-card", "intel-82574l") == 0
    bench = load_bench(folder / "mine.yaml")
    assert (len(bench.servers.dut.ports), len(bench.servers.peer.ports), len(bench.paths)) == (3, 2, 2)
    assert f"niclab new-card NAME --from '{folder / 'mine.yaml'}'" in capsys.readouterr().out


def test_a_server_without_the_card_is_an_error(
    functions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert functions == []
    assert made(tmp_path, "8086:1572", monkeypatch) == ExitStatus.BENCH_FAULT
    assert "0 ports of 8086:1572; expected 1 (at least, as `lspci -nn` shows them)" in capsys.readouterr().err


def test_an_unknown_card_may_be_named_by_its_pci_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made(tmp_path, "no-such-card", monkeypatch) == ExitStatus.BENCH_FAULT
    said = capsys.readouterr().err
    assert "new-bench: --card: there is no card sheet 'no-such-card'" in said and "or VENDOR:DEVICE" in said


def test_the_cure_of_a_login_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "no key"
    assert made(tmp_path, "intel-82574l", monkeypatch, "--key-file", str(key)) == ExitStatus.BENCH_FAULT
    assert f"mend: correct ssh.key_file, or make a key: ssh-keygen -t ed25519 -f '{key}'" in capsys.readouterr().err
