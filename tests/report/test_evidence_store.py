"""Evidence is kept once by content, comes back as it was, and goes by rule."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("fsspec", reason="the extra `store` is not installed")

from niclab.commands import cli
from niclab.core.verdict import BenchFault
from niclab.report.evidence.evidence_store import EvidenceArchive

STARTED = datetime.fromisoformat("2026-01-01T00:00:00+00:00")


def run(folder: Path, name: str, verdict: str, controller: str = "one") -> Path:
    made = folder / name
    (made / "evidence").mkdir(parents=True)
    noted = {
        "format": 1,
        "who": {"controller": controller},
        "versions": {},
        "facts": {},
        "git": None,
        "started": STARTED.isoformat(),
    }
    (made / "run.json").write_text(json.dumps(noted))
    (made / "certificate.json").write_text(json.dumps({"verdict": verdict}))
    (made / "evidence" / "own").write_text(name)
    (made / "evidence" / "same").write_text("same")
    return made


@pytest.fixture
def store(tmp_path: Path) -> EvidenceArchive:
    return EvidenceArchive(str(tmp_path / "store"))


def written(folder: Path, when: datetime) -> None:
    """Everything in the store was written then."""
    for file in (folder / "store").rglob("*"):
        os.utime(file, (when.timestamp(), when.timestamp()))


def test_runs_of_one_name_of_two_controllers_do_not_replace_each_other(store: EvidenceArchive, tmp_path: Path) -> None:
    store.put(run(tmp_path / "a", "first", "NOT CERTIFIED", "one"))
    store.put(run(tmp_path / "b", "first", "CERTIFIED", "two"))
    with pytest.raises(BenchFault, match=r"2 runs 'first' .*; expected one, by RUN or CONTROLLER/RUN"):
        store.get("first", tmp_path / "back")
    for controller, verdict in (("one", "NOT CERTIFIED"), ("two", "CERTIFIED")):
        store.get(f"{controller}/first", tmp_path / controller)
        assert json.loads((tmp_path / controller / "certificate.json").read_text())["verdict"] == verdict
    with pytest.raises(BenchFault, match="0 runs 'second'"):
        store.get("second", tmp_path / "back")


def test_another_run_of_the_same_name_and_controller_is_refused(store: EvidenceArchive, tmp_path: Path) -> None:
    store.put(run(tmp_path / "a", "first", "NOT CERTIFIED"))
    with pytest.raises(BenchFault, match=r"first\.json: certificate\.json: sha256"):
        store.put(run(tmp_path / "b", "first", "CERTIFIED"))
    store.get("first", tmp_path / "back")
    assert "NOT CERTIFIED" in (tmp_path / "back" / "certificate.json").read_text()


def test_a_store_whose_lists_are_gone_is_not_emptied(store: EvidenceArchive, tmp_path: Path) -> None:
    store.put(run(tmp_path, "first", "CERTIFIED"))
    (tmp_path / "store" / "runs").rename(tmp_path / "moved")
    with pytest.raises(BenchFault, match="4 blobs and no list of a run"):
        store.prune(90, datetime.now().astimezone() + timedelta(days=100))
    assert len([file for file in (tmp_path / "store" / "blobs").rglob("*") if file.is_file()]) == 4


def test_what_is_just_being_written_stays(store: EvidenceArchive, tmp_path: Path) -> None:
    store.put(run(tmp_path, "first", "CERTIFIED"))
    blob = tmp_path / "store" / "blobs" / "ab" / "abcd"
    blob.parent.mkdir(exist_ok=True)
    blob.write_text("of a run whose list is still to come")
    assert store.prune(90, datetime.now().astimezone()) == 0 and blob.exists()


def test_what_a_run_has_come_to_use_while_it_was_asked_stays(store: EvidenceArchive, tmp_path: Path) -> None:
    store.put(run(tmp_path, "green", "CERTIFIED"))
    written(tmp_path, STARTED)

    def asked(count: int) -> bool:
        EvidenceArchive(str(tmp_path / "store")).put(run(tmp_path, "red", "NOT CERTIFIED"))
        return count == 2

    assert store.prune(90, STARTED + timedelta(days=91), asked) == 1
    store.get("red", tmp_path / "back")
    assert (tmp_path / "back" / "evidence" / "same").read_text() == "same"


def test_nobody_at_the_terminal_removes_nothing(
    store: EvidenceArchive, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.put(run(tmp_path, "first", "CERTIFIED"))
    written(tmp_path, STARTED)
    prune = ["store", "prune", "--evidence", str(tmp_path / "store")]
    assert cli.main(prune) == 0 and "2 files of the store are evidence of no run" in capsys.readouterr().out
    store.get("first", tmp_path / "back")
    assert (tmp_path / "back" / "evidence" / "own").exists()
    assert cli.main([*prune, "--yes"]) == 0
    store.get("first", tmp_path / "after")
    assert not (tmp_path / "after" / "evidence").exists()


def test_a_content_is_kept_once_and_comes_back(store: EvidenceArchive, tmp_path: Path) -> None:
    first, second = run(tmp_path, "first", "CERTIFIED"), run(tmp_path, "second", "CERTIFIED")
    assert [store.put(first), store.put(first), store.put(second)] == [4, 0, 1]
    url = ["--evidence", str(tmp_path / "store")]
    assert cli.main(["store", "get", "first", str(tmp_path / "back"), *url]) == 0
    files = [each.relative_to(first) for each in first.rglob("*") if each.is_file()]
    assert files and all((tmp_path / "back" / each).read_bytes() == (first / each).read_bytes() for each in files)


def test_a_changed_file_is_refused(store: EvidenceArchive, tmp_path: Path) -> None:
    store.put(run(tmp_path, "first", "CERTIFIED"))
    for blob in (tmp_path / "store" / "blobs").rglob("*"):
        if blob.is_file() and blob.read_text() == "same":
            blob.write_text("other")
    with pytest.raises(BenchFault, match="evidence/same: sha256"):
        store.get("first", tmp_path / "back")


def test_only_the_evidence_of_old_certified_runs_is_removed(store: EvidenceArchive, tmp_path: Path) -> None:
    for name, verdict in (("green", "CERTIFIED"), ("red", "NOT CERTIFIED")):
        store.put(run(tmp_path, name, verdict))
    written(tmp_path, STARTED)
    assert store.prune(90, STARTED + timedelta(days=89)) == 0
    assert store.prune(90, STARTED + timedelta(days=91), lambda count: count != 1) == 0
    assert store.prune(90, STARTED + timedelta(days=91)) == 1  # "same" is of the other run too
    store.get("red", tmp_path / "red-back")
    store.get("green", tmp_path / "green-back")
    assert sorted(each.name for each in (tmp_path / "green-back").iterdir()) == ["certificate.json", "run.json"]
    assert (tmp_path / "red-back" / "evidence" / "own").read_text() == "red"
