"""The run folder and its run.json."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from niclab.core.verdict import BenchFault
from niclab.report.evidence.runfolder import finish_run, new_run, plan_run, read_run, record_facts


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return new_run(tmp_path / "results", "x710", "virtual", repository=tmp_path)


def test_new_run_tells_who_what_when_and_with_which_versions(tmp_path: Path) -> None:
    run_dir = new_run(tmp_path, "x710", "hall-3", command_line=["niclab", "--pin", "s3cret"], secrets=["s3cret"])
    run = read_run(run_dir)
    assert re.fullmatch(r"\d{8}-\d{6}-x710-hall-3", run_dir.name)
    assert (run["card"], run["bench"], run["run"]) == ("x710", "hall-3", run_dir.name)
    assert run["command_line"] == ["niclab", "--pin", "********"]
    assert run["versions"]["robotframework"] == "7.5"
    assert run["who"]["user"]
    assert run["finished"] is None
    assert (run_dir / "evidence").is_dir()


def test_runs_of_the_same_second_do_not_share_a_folder(tmp_path: Path) -> None:
    runs = [new_run(tmp_path, "x710", "virtual", repository=tmp_path) for _ in range(3)]
    assert len(set(runs)) == 3
    assert [read_run(run)["run"] for run in runs] == [run.name for run in runs]


@pytest.mark.parametrize("name", ["", "../x", "a b", "a/b", ".hidden"])
def test_name_that_is_no_file_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BenchFault, match="card"):
        new_run(tmp_path, name, "virtual")
    with pytest.raises(BenchFault, match="bench"):
        new_run(tmp_path, "x710", name)


def test_latest_is_switched_at_the_end_only(tmp_path: Path) -> None:
    first, second = (new_run(tmp_path, "x710", "virtual", repository=tmp_path) for _ in range(2))
    assert not (tmp_path / "latest").exists()
    finish_run(first, 0)
    assert (tmp_path / "latest").resolve() == first
    finish_run(second, 3)
    assert (tmp_path / "latest").resolve() == second
    assert read_run(second)["robot_rc"] == 3
    assert read_run(second)["finished"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([first.name, second.name, "latest"])


def test_git_commit_and_local_changes_are_noted(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=repository, check=True, capture_output=True, text=True, timeout=30
        )
        return done.stdout.strip()

    repository = tmp_path / "repository"
    repository.mkdir()
    git("init", "-q")
    assert read_run(new_run(tmp_path / "r", "x710", "v", repository=repository))["git"] is None
    git("commit", "-q", "--allow-empty", "-m", "x")
    clean = read_run(new_run(tmp_path / "r", "x710", "v", repository=repository))["git"]
    (repository / "new").touch()
    changed = read_run(new_run(tmp_path / "r", "x710", "v", repository=repository))["git"]
    assert clean == {"commit": git("rev-parse", "HEAD"), "local_changes": False}
    (repository / "new").write_text("other")
    other = read_run(new_run(tmp_path / "r", "x710", "v", repository=repository))["git"]
    assert changed == {**clean, "local_changes": True, "changes_sha256": changed["changes_sha256"]}
    assert other == {**changed, "changes_sha256": other["changes_sha256"]} != changed
    git("add", "new")
    git("commit", "-q", "-m", "y")
    (repository / "new").write_text("edited")
    edited = read_run(new_run(tmp_path / "r", "x710", "v", repository=repository))["git"]
    (repository / "new").write_text("edited again")
    again = read_run(new_run(tmp_path / "r", "x710", "v", repository=repository))["git"]
    assert edited["local_changes"] and edited["changes_sha256"] != again["changes_sha256"]


def test_facts_are_kept_and_may_not_change_within_a_run(run_dir: Path) -> None:
    record_facts(run_dir, driver="e1000e", firmware="1.8-0")
    record_facts(run_dir, driver="e1000e", kernel="6.1")
    assert read_run(run_dir)["facts"] == {"driver": "e1000e", "firmware": "1.8-0", "kernel": "6.1"}
    with pytest.raises(BenchFault, match=r"facts\.firmware: '1\.9-0' now, '1\.8-0' earlier"):
        record_facts(run_dir, firmware="1.9-0")
    with pytest.raises(BenchFault, match=r"facts\.system: ' ' is empty"):
        record_facts(run_dir, system=" ")


@pytest.mark.parametrize(("expected", "partial"), [(0, None), (-1, None), (5, ""), (5, " ")])
def test_plan_refuses_nonsense(run_dir: Path, expected: int, partial: str | None) -> None:
    with pytest.raises(BenchFault, match="expected"):
        plan_run(run_dir, expected_tests=expected, plan="quick", partial=partial)


@pytest.mark.parametrize(
    "change", [{"format": 2}, {"facts": []}, {"who": None}, {"git": "abc"}], ids=["format", "facts", "who", "git"]
)
def test_run_file_of_another_shape_is_an_error(run_dir: Path, change: dict[str, object]) -> None:
    file = run_dir / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(BenchFault, match=next(iter(change))):
        read_run(run_dir)
