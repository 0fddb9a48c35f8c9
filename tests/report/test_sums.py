"""Everything a person can open is covered, and what was changed, lost or added afterwards is named."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from robot_runs import RobotRun

from niclab.commands import cli
from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault
from niclab.report.certificate.certificate import certify, cover_report, verify
from niclab.report.evidence import signature
from niclab.report.evidence.sums import SUMS_NAME

OPENED = ["log.html", "report.html", "measurements.json", "evidence/chart.svg", "allure-report/index.html"]


@pytest.fixture
def run_dir(good_run: RobotRun, tmp_path: Path) -> Path:
    """A certified run with all that a person can open."""
    folder = Path(shutil.copytree(good_run.folder, tmp_path / good_run.folder.name))
    for name in OPENED:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("as it was issued")
    certify(folder, 0)
    return folder


def changed(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b" ")


@pytest.mark.parametrize("name", OPENED)
@pytest.mark.parametrize(
    ("spoil", "said"), [(changed, "is not the file that"), (Path.unlink, "is missing")], ids=["changed", "lost"]
)
def test_whatever_can_be_opened_is_covered(
    run_dir: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    spoil: Callable[[Path], None],
    said: str,
) -> None:
    before = set(verify(run_dir))
    spoil(run_dir / name)
    assert any(problem.startswith(f"{name}: {said}") for problem in set(verify(run_dir)) - before)
    assert cli.main(["verify", str(run_dir)]) == 1
    assert "is not as it was issued" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["new.html", "evidence/more/new.txt", "allure-report/x.js", "allure-results/x.txt"])
def test_an_added_file_is_named(run_dir: Path, name: str) -> None:
    (run_dir / name).parent.mkdir(exist_ok=True)
    (run_dir / name).write_text("slipped in")
    assert f"{name}: was added; certificate.sha256 does not name it" in verify(run_dir)


def test_an_intact_run_is_verified_wherever_it_lies(
    good_run: RobotRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(good_run.folder, tmp_path / "first"))
    certify(folder, 0)
    moved = folder.rename(tmp_path / "moved")
    assert cli.main(["verify", str(moved)]) == 0
    assert capsys.readouterr().out.startswith("CERTIFIED, plan toy: 0 of 54 requirements verified, 2 in part; ")


def test_a_certificate_of_another_format_is_refused(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = run_dir / "certificate.json"
    file.write_text(file.read_text().replace('"format": 5', '"format": 1'))
    assert cli.main(["verify", str(run_dir)]) == ExitStatus.BENCH_FAULT
    assert "certificate.json: format: 1 is not known; expected 5" in capsys.readouterr().err


def test_a_later_report_is_covered(good_run: RobotRun, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(good_run.folder, tmp_path / "run"))
    cover_report(folder)
    assert not (folder / SUMS_NAME).exists()
    certify(folder, 0)
    (folder / "allure-report").mkdir()
    (folder / "allure-report" / "index.html").write_text("report")
    assert any("allure-report" in problem for problem in verify(folder))
    cover_report(folder)
    assert verify(folder) == []


def test_a_later_report_heals_nothing_else(run_dir: Path) -> None:
    changed(run_dir / "log.html")
    with pytest.raises(BenchFault, match=r"does not cover the new report:\nlog.html: sha256"):
        cover_report(run_dir)
    assert any("log.html" in problem for problem in verify(run_dir))


class TestSignature:
    @pytest.fixture
    def keys(self, tmp_path: Path) -> Path:
        """Two keys, and a file that lets the first one sign."""
        folder = tmp_path / "keys"
        folder.mkdir()
        for name in ("lab", "other", "locked"):
            phrase = "secret" if name == "locked" else ""
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-C", name, "-f", str(folder / name)]
            subprocess.run(command, check=True, timeout=30)
        (folder / "signers").write_text(f"qa@lab {(folder / 'lab.pub').read_text()}")
        return folder

    def verify(self, run_dir: Path, keys: Path) -> int:
        return cli.main(["verify", str(run_dir), "--signers", str(keys / "signers")])

    def test_a_signed_run(self, run_dir: Path, keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
        signature.sign(run_dir / SUMS_NAME, keys / "lab")
        assert self.verify(run_dir, keys) == 0
        assert capsys.readouterr().out.splitlines()[-1] == f"signed by one of {keys / 'signers'}"
        assert cli.main(["verify", str(run_dir)]) == 0
        assert capsys.readouterr().out.splitlines()[-1].startswith("the signature was not checked")

    def test_a_forger_who_makes_all_sums_again_is_found(
        self, run_dir: Path, keys: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        made = signature.sign(run_dir / SUMS_NAME, keys / "lab")
        kept = made.read_bytes()
        changed(run_dir / "log.html")
        certify(run_dir, 0)
        assert not made.exists()
        assert self.verify(run_dir, keys) == 1
        assert "certificate.sha256.sig: is missing" in capsys.readouterr().out
        made.write_bytes(kept)
        assert self.verify(run_dir, keys) == 1
        assert "certificate.sha256.sig: ssh-keygen -Y verify:" in capsys.readouterr().out

    def test_another_key_is_refused(self, run_dir: Path, keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
        signature.sign(run_dir / SUMS_NAME, keys / "other")
        assert self.verify(run_dir, keys) == 1
        assert "expected a signature of certificate.sha256 by one of" in capsys.readouterr().out

    @pytest.mark.parametrize("name", ["locked", "missing", "signers"])
    def test_a_key_that_cannot_sign_is_found_before_the_run(self, keys: Path, name: str) -> None:
        with pytest.raises(BenchFault, match="ssh-keygen -Y sign: "):
            signature.check_key(keys / name)
