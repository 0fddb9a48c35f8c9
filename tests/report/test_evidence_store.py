"""Evidence is kept once by content, comes back as it was, and goes by rule."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("fsspec", reason="the extra `store` is not installed")

from niclab.commands import cli
from niclab.core.verdict import BenchFault
from niclab.report.evidence.evidence_store import EvidenceArchive

STARTED = datetime.fromisoformat("2026-01-01T00:00:00+00:00")


def run(folder: Path, name: str, verdict: str) -> Path:
    made = folder / name
    (made / "evidence").mkdir(parents=True)
    noted = {"format": 1, "who": {}, "versions": {}, "facts": {}, "git": None, "started": STARTED.isoformat()}
    (made / "run.json").write_text(json.dumps(noted))
    (made / "certificate.json").write_text(json.dumps({"verdict": verdict}))
    (made / "evidence" / "own").write_text(name)
    (made / "evidence" / "same").write_text("same")
    return made


@pytest.fixture
def store(tmp_path: Path) -> EvidenceArchive:
    return EvidenceArchive(str(tmp_path / "store"))


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
    assert store.prune(90, STARTED + timedelta(days=89)) == 0
    assert store.prune(90, STARTED + timedelta(days=91)) == 1  # "same" is of the other run too
    store.get("red", tmp_path / "red-back")
    store.get("green", tmp_path / "green-back")
    assert sorted(each.name for each in (tmp_path / "green-back").iterdir()) == ["certificate.json", "run.json"]
    assert (tmp_path / "red-back" / "evidence" / "own").read_text() == "red"
