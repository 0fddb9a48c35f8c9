"""The evidence of all runs in one place, addressed by hash: a folder, or any store that fsspec knows, such as S3.

``blobs/ab/abcd...`` holds the content of a file once, whoever has it; ``runs/RUN.json`` names the files of a run. The
blobs of a run are written before its list, so that a killed writer leaves no list of missing files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from niclab.core.verdict import BenchFault
from niclab.report import read_json_object, sha256_of, write_atomically
from niclab.report.evidence.runfolder import CERTIFICATE_FILE, read_run
from niclab.report.pages.content import CERTIFIED

try:
    import fsspec
except ImportError as missing:
    raise BenchFault("evidence store: fsspec is not installed; expected: pip install 'niclab[store]'") from missing

KEPT_FOR_EVER = ("certificate.", "run.json", "measurements.json")
"""Beginnings of the names that no rule removes."""


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
            BenchFault: The run has no certificate, or a file cannot be read.
        """
        run, certificate = read_run(run_dir), read_json_object(run_dir / CERTIFICATE_FILE)
        names = {file.relative_to(run_dir).as_posix(): file for file in sorted(run_dir.rglob("*")) if file.is_file()}
        sums = {name: sha256_of(file) for name, file in names.items()}
        new = {sums[name]: file for name, file in names.items() if not self._files.exists(self._blob(sums[name]))}
        for sum_, file in new.items():
            self._write(self._blob(sum_), file.read_bytes())
        record = {"green": certificate.get("verdict") == CERTIFIED, "started": run["started"], "files": sums}
        self._write(self._list(run_dir.name), json.dumps(record, indent=2).encode())
        return len(new)

    def get(self, run: str, target: Path) -> None:
        """Write the files of a run into a folder.

        Args:
            run: Name of the run.
            target: The folder.

        Raises:
            BenchFault: The run is not in the store, or a file of it is not what it was.
        """
        for name, sum_ in self._read(self._list(run))["files"].items():
            content = self._cat(self._blob(sum_))
            if (found := hashlib.sha256(content).hexdigest()) != sum_:
                raise BenchFault(f"evidence store: {run}: {name}: sha256 {found}; expected: {sum_} (list of the run)")
            if not (target / name).resolve().is_relative_to(target.resolve()):
                raise BenchFault(f"evidence store: {run}: {name}: leaves the folder; expected: a name within it")
            write_atomically(target / name, content)

    def prune(self, green_days: int, now: datetime) -> int:
        """Remove the evidence of old certified runs; certificates and the evidence of all other runs stay.

        Nobody may write into the store meanwhile.

        Args:
            green_days: Age in days up to which the evidence of a certified run is kept.
            now: The time, with its offset.

        Returns:
            How many blobs were removed.
        """
        used = set[str]()
        for path in self._all("runs"):
            record = self._read(path)
            if record["green"] and datetime.fromisoformat(record["started"]) < now - timedelta(days=green_days):
                kept = {name: sum_ for name, sum_ in record["files"].items() if name.startswith(KEPT_FOR_EVER)}
                if kept != record["files"]:
                    self._write(path, json.dumps(record | {"files": kept}, indent=2).encode())
                record["files"] = kept
            used |= set(record["files"].values())
        unused = [path for path in self._all("blobs") if PurePosixPath(path).name not in used]
        for path in unused:
            self._files.rm_file(path)
        return len(unused)

    def _blob(self, sum_: str) -> str:
        return f"{self._root}/blobs/{sum_[:2]}/{sum_}"

    def _list(self, run: str) -> str:
        return f"{self._root}/runs/{PurePosixPath(run).name}.json"

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
