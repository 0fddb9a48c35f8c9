"""The evidence of all runs in one place, addressed by hash: a folder, or any store that fsspec knows, such as S3.

``blobs/ab/abcd...`` holds the content of a file once, whoever has it; ``runs/CONTROLLER/RUN.json`` names the files of a
run: controllers may have runs of one name. The blobs of a run are written before its list, so that a killed writer
leaves no list of missing files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from niclab.core.verdict import BenchFault
from niclab.report import read_json_object, sha256_of, write_atomically
from niclab.report.evidence.runfolder import CERTIFICATE_FILE, RUN_FILE, read_run
from niclab.report.pages.content import CERTIFIED

try:
    import fsspec
except ImportError as missing:
    raise BenchFault("evidence store: fsspec is not installed; expected it: pip install 'niclab[store]'") from missing

KEPT_FOR_EVER = ("certificate.", "run.json", "measurements.json")
"""Beginnings of the names that no rule removes."""


YOUNG = timedelta(days=1)
"""Assumption: nobody takes longer to put a run into the store."""
_CONTROLLER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _controller(run_dir: Path, run: dict[str, Any]) -> str:
    name = str(run["who"].get("controller", ""))
    if not _CONTROLLER.fullmatch(name):
        raise BenchFault(f"{run_dir / RUN_FILE}: who.controller: {name!r}; expected the name of a host")
    return name


class EvidenceArchive:
    """A store of run folders.

    Args:
        url: URL of fsspec, such as ``s3://bucket/niclab``; or a folder.
    """

    def __init__(self, url: str) -> None:
        self._files, self._root = fsspec.core.url_to_fs(url)

    def put(self, run_dir: Path) -> int:
        """Keep a finished run; return how many files were not in the store.

        Args:
            run_dir: Folder of the run.

        Raises:
            BenchFault: The run has no certificate, a file cannot be read, or the store has another run of this name.
        """
        run, certificate = read_run(run_dir), read_json_object(run_dir / CERTIFICATE_FILE)
        names = {file.relative_to(run_dir).as_posix(): file for file in sorted(run_dir.rglob("*")) if file.is_file()}
        sums = {name: sha256_of(file) for name, file in names.items()}
        list_ = f"{self._root}/runs/{_controller(run_dir, run)}/{run_dir.name}.json"
        known = self._read(list_)["files"] if self._files.exists(list_) else {}
        if other := [name for name, sum_ in sums.items() if known.get(name, sum_) != sum_]:
            raise BenchFault(
                f"evidence store: {list_}: {other[0]}: sha256 {known[other[0]]}; expected {sums[other[0]]} (the file "
                f"of {run_dir}), or another name of the run"
            )
        new = self._write_missing(names, sums)
        record = {"green": certificate.get("verdict") == CERTIFIED, "started": run["started"], "files": sums}
        self._write(list_, json.dumps(record, indent=2).encode())
        self._write_missing(names, sums)  # what was removed between the look and the list
        return new

    def _write_missing(self, names: Mapping[str, Path], sums: Mapping[str, str]) -> int:
        new = {sums[name]: file for name, file in names.items() if not self._files.exists(self._blob(sums[name]))}
        for sum_, file in new.items():
            self._write(self._blob(sum_), file.read_bytes())
        return len(new)

    def get(self, run: str, target: Path) -> None:
        """Write the files of a run into a folder.

        Args:
            run: Name of the run; ``CONTROLLER/RUN`` where several controllers have one of this name.
            target: The folder.

        Raises:
            BenchFault: The run is not in the store or not the only one, or a file of it is not what it was.
        """
        for name, sum_ in self._read(self._list(run))["files"].items():
            content = self._cat(self._blob(sum_))
            if (found := hashlib.sha256(content).hexdigest()) != sum_:
                raise BenchFault(f"evidence store: {run}: {name}: sha256 {found}; expected {sum_} (list of the run)")
            if not (target / name).resolve().is_relative_to(target.resolve()):
                raise BenchFault(f"evidence store: {run}: {name}: leaves the folder; expected a name within it")
            write_atomically(target / name, content)

    def prune(self, green_days: int, now: datetime, confirm: Callable[[int], bool] = lambda _: True) -> int:
        """Remove the evidence of old certified runs; certificates and the evidence of all other runs stay.

        A blob that was written within :data:`YOUNG` stays: the list of its run may be still to come. So does one that
        a run has come to use while the question was open.

        Args:
            green_days: Age in days up to which the evidence of a certified run is kept.
            now: The time, with its offset.
            confirm: Is asked with the number of blobs that would go; nothing is changed unless it returns True.

        Returns:
            How many blobs were removed.

        Raises:
            BenchFault: The store has blobs and no list of a run, so that nobody can say what is used.
        """
        before = now - timedelta(days=green_days)
        _, asked = self._unused(before, now)
        if not confirm(len(asked)):
            return 0
        self._files.invalidate_cache()  # a store such as S3 remembers its listings
        changed, still = self._unused(before, now)
        unused = sorted(set(asked) & set(still))
        for path, record in changed.items():
            self._write(path, json.dumps(record, indent=2).encode())
        for path in unused:
            self._files.rm_file(path)
        return len(unused)

    def _unused(self, before: datetime, now: datetime) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """The lists that lose files, as they are to be, and the blobs that no list needs then."""
        used, changed = set[str](), dict[str, dict[str, Any]]()
        lists, blobs = list(self._all("runs")), list(self._all("blobs"))
        if blobs and not lists:
            raise BenchFault(
                f"evidence store {self._root}: {len(blobs)} blobs and no list of a run; expected lists in "
                f"{self._root}/runs (moved away, or hidden from this user?)"
            )
        for path in lists:
            record = self._read(path)
            if record["green"] and datetime.fromisoformat(record["started"]) < before:
                kept = {name: sum_ for name, sum_ in record["files"].items() if name.startswith(KEPT_FOR_EVER)}
                if kept != record["files"]:
                    changed[path] = record | {"files": kept}
                record["files"] = kept
            used |= set(record["files"].values())
        free = (path for path in blobs if PurePosixPath(path).name not in used)
        return changed, [path for path in free if self._written(path) < now - YOUNG]

    def _written(self, path: str) -> datetime:
        when: datetime = self._files.modified(path)
        return when if when.tzinfo is not None else when.replace(tzinfo=UTC)

    def _blob(self, sum_: str) -> str:
        return f"{self._root}/blobs/{sum_[:2]}/{sum_}"

    def _list(self, run: str) -> str:
        """The list of a run, whichever controller it is of."""
        wanted = PurePosixPath(f"{run}.json")
        found = [path for path in self._all("runs") if PurePosixPath(path).parts[-len(wanted.parts) :] == wanted.parts]
        if len(found) != 1:
            raise BenchFault(
                f"evidence store {self._root}: {len(found)} runs {run!r} ({', '.join(found) or 'none'}); "
                f"expected one, by RUN or CONTROLLER/RUN"
            )
        return found[0]

    def _all(self, folder: str) -> Iterator[str]:
        yield from self._files.find(f"{self._root}/{folder}")

    def _cat(self, path: str) -> bytes:
        try:
            content: bytes = self._files.cat_file(path)
        except OSError as error:
            raise BenchFault(f"{path}: cannot be read: {error}") from error
        return content

    def _read(self, path: str) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self._cat(path))
        return record

    def _write(self, path: str, content: bytes) -> None:
        """Write a file whole or not at all."""
        try:
            self._files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            with self._files.transaction, self._files.open(path, "wb") as file:
                file.write(content)
        except OSError as error:
            raise BenchFault(f"{path}: cannot be written: {error}") from error
