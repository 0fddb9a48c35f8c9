"""Evidence of a run: files with an index of hashes, and a log of every command sent to a server.

What is stored here ends up in reports that leave the lab, so every text passes through a mask first
(:class:`~niclab.files.mask.Mask`).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import mimetypes
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from niclab.core.verdict import BenchFault
from niclab.files.append import append_whole
from niclab.files.mask import Mask
from niclab.report import now, read_json_object, sha256_of, who, write_atomically, write_json

INDEX_NAME = "index.json"
LOCK_NAME = ".lock"
_FORMAT = 1
_SLUG_LENGTH = 80
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}\Z")
_MIME_BY_SUFFIX = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".pcap": "application/vnd.tcpdump.pcap",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


@dataclass(frozen=True)
class EvidenceEntry:
    """One file of the index. ``file`` is relative to the evidence folder; ``when`` is an ISO time of the controller."""

    file: str
    name: str
    mime: str
    size_bytes: int
    sha256: str
    subject: str | None
    test: str | None
    who: str
    when: str


class EvidenceStore:
    """Files of one run, each with an entry in ``index.json`` next to them.

    Several stores, also of several processes, may write to one folder.

    Args:
        folder: The evidence folder of the run, by custom ``<run>/evidence``; it is made, with an empty index.
        secrets: Values that must appear in no file.
        current_test: Tells the full name of the running test, or None outside of tests.

    Raises:
        BenchFault: When the folder or its index cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        secrets: Iterable[str] = (),
        current_test: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.folder = folder
        self._mask = Mask(secrets)
        self._current_test = current_test
        with _held(folder):
            if not (folder / INDEX_NAME).exists():
                _write_index(folder, [])

    def add(self, name: str, data: str | bytes, mime: str | None = None, subject: str | None = None) -> Path:
        """Store ``data`` under a name made from ``name`` and return the path of the file.

        Args:
            name: What a reader sees; its suffix decides the MIME type unless ``mime`` is given.
            data: Text (stored as UTF-8) or bytes. Nothing at all is stored as well: that a console said nothing is
                evidence too, and the index notes the size.
            mime: MIME type; by the name's suffix without it.
            subject: The machine or port it is about, for example ``dut.p0``.

        Raises:
            BenchFault: When the name is empty or the file cannot be written.
        """
        if not name.strip():
            raise BenchFault(f"{self.folder}: name of evidence: {name!r} is empty; expected words for the reader")
        shown = self._mask(name.strip())
        content = self._mask(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
        with _held(self.folder):
            entries = read_index(self.folder)
            path = self.folder / self._free_name(shown, subject, {entry.file for entry in entries})
            write_atomically(path, content)
            entries.append(
                EvidenceEntry(
                    file=path.name,
                    name=shown,
                    mime=mime or _mime_of(path.name),
                    size_bytes=len(content),
                    sha256=hashlib.sha256(content).hexdigest(),
                    subject=self._mask(subject) if subject else None,
                    test=self._current_test(),
                    who=who(),
                    when=now(),
                )
            )
            _write_index(self.folder, entries)
        return path

    def _free_name(self, name: str, subject: str | None, taken: set[str]) -> str:
        suffix = found[0] if (found := _SUFFIX.search(name)) else ""
        stem = name.removesuffix(suffix)
        slug = _slug(f"{self._mask(subject)}-{stem}" if subject else stem)
        number, candidate = 1, f"{slug}{suffix}"
        while candidate in taken or candidate == INDEX_NAME or (self.folder / candidate).exists():
            number += 1
            candidate = f"{slug}-{number}{suffix}"
        return candidate


def seal(folder: Path, secrets: Iterable[str] = ()) -> list[EvidenceEntry]:
    """Mask every file of ``folder`` that is not in the index yet (command logs, console logs), then take it in.

    To be called once, when nothing writes there any more; an index is made when there is none. Files in folders below
    count too.

    Args:
        folder: The evidence folder of the run.
        secrets: Values that must appear in no file. Consoles are logged as they speak, and are masked here.

    Returns:
        All entries.

    Raises:
        BenchFault: The folder or its index cannot be used, or a secret cannot be masked.
    """
    mask = Mask(secrets)
    with _held(folder):
        entries = read_index(folder) if (folder / INDEX_NAME).exists() else []
        known = {entry.file for entry in entries}
        for file in stored_files(folder):
            if file not in known:
                path = folder / file
                _mask_file(path, mask)
                size_bytes, digest = path.stat().st_size, sha256_of(path)
                mime = _mime_of(file)
                entries.append(EvidenceEntry(file, path.name, mime, size_bytes, digest, None, None, who(), now()))
        _write_index(folder, entries)
    return entries


def mask_unsealed(folder: Path, secrets: Iterable[str]) -> None:
    """Mask what a killed run has left in its evidence folder. It may still be continued: nothing is sealed.

    Args:
        folder: The evidence folder of the run.
        secrets: Values that must appear in no file.

    Raises:
        BenchFault: A file cannot be read or written, or a secret cannot be masked.
    """
    mask = Mask(secrets)
    with _held(folder):
        known = {entry.file for entry in read_index(folder)} if (folder / INDEX_NAME).exists() else set()
        for file in stored_files(folder):
            if file not in known:
                _mask_file(folder / file, mask)


def _mask_file(path: Path, mask: Mask) -> None:
    """Replace the secrets in a file; a file without any is left alone."""
    content = path.read_bytes()
    masked = mask(content)
    if masked != content:
        write_atomically(path, masked)


def stored_files(folder: Path) -> list[str]:
    """The files of an evidence folder that belong into its index, relative to it, sorted."""
    own = {INDEX_NAME, LOCK_NAME}
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(file for file in found if file not in own)


def read_index(folder: Path) -> list[EvidenceEntry]:
    """The entries of the index in ``folder``, in the order in which they were added.

    Raises:
        BenchFault: When the index is missing or not of this format.
    """
    path = folder / INDEX_NAME
    index = read_json_object(path)
    files = index.get("files")
    if index.get("format") != _FORMAT or not isinstance(files, list):
        raise BenchFault(f"{path}: is no evidence index; expected format {_FORMAT} with a list of files")
    try:
        return [EvidenceEntry(**file) for file in files]
    except TypeError as error:
        raise BenchFault(f"{path}: files: {error}; expected the fields of an evidence entry") from error


class LoggedCommand(Protocol):
    """A transport's record of a remote command that has ended. ``seconds`` is how long it took."""

    @property
    def command(self) -> str: ...
    @property
    def exit_status(self) -> int | None: ...
    @property
    def signal(self) -> str | None: ...
    @property
    def stdout(self) -> str: ...
    @property
    def stderr(self) -> str: ...
    @property
    def seconds(self) -> float: ...


class CommandLog:
    """Every command sent to one server, as JSON lines in ``commands-<host>.jsonl``.

    It is called with each result, so it can be handed to a transport as its observer.

    Args:
        folder: The evidence folder of the run.
        host: Name of the server, for example ``dut``.
        secrets: Values that must not appear in the log.
        limit_kb: Kilobytes (1024 characters) kept of stdout and of stderr each: beginning and end, and between them a
            mark that says how much was cut.

    Raises:
        BenchFault: When the limit is not positive or the host has no name.
    """

    def __init__(self, folder: Path, host: str, secrets: Iterable[str] = (), limit_kb: int = 64) -> None:
        if limit_kb < 1:
            raise BenchFault(f"command log of {host}: limit_kb: {limit_kb} is not wanted; expected at least 1")
        if not host.strip():
            raise BenchFault(f"{folder}: command log: host: {host!r} is empty; expected the name of a server")
        self.path = folder / f"commands-{_slug(host)}.jsonl"
        self._host = host
        self._mask = Mask(secrets)
        self._limit = limit_kb * 1024
        self._lock = threading.Lock()

    def __call__(self, result: LoggedCommand) -> None:
        """Append ``result``.

        Raises:
            BenchFault: When the log cannot be written.
        """
        line = {
            "when": now(),
            "host": self._host,
            "command": self._mask(result.command),
            "exit_status": result.exit_status,
            "signal": result.signal,
            "ended": round(time.time(), 3),
            "seconds": round(result.seconds, 6),
            "stdout": self._shortened(result.stdout),
            "stderr": self._shortened(result.stderr),
        }
        data = (json.dumps(line) + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock, self.path.open("ab", buffering=0) as file:
                end = file.seek(0, os.SEEK_END)
                try:
                    append_whole(file, data)
                except OSError:
                    file.truncate(end)  # half a line would spoil the next one too
                    raise
        except OSError as error:
            raise BenchFault(f"{self.path}: cannot be written: {error}") from error

    def _shortened(self, text: str) -> str:
        text = self._mask(text)
        if len(text) <= self._limit:
            return text
        half = self._limit // 2
        return f"{text[:half]}\n[... {len(text) - 2 * half} characters cut ...]\n{text[-half:]}"


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold ``folder`` against other processes and threads while its index is read, changed and written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOCK_NAME).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise BenchFault(f"{folder}: evidence cannot be stored: {error}") from error


def _write_index(folder: Path, entries: list[EvidenceEntry]) -> None:
    write_json(folder / INDEX_NAME, {"format": _FORMAT, "files": [asdict(entry) for entry in entries]})


def _slug(text: str) -> str:
    """``text`` as a part of a file name: letters, digits, dot, dash and underscore of ASCII."""
    slug = re.sub(r"[^\w.]+", "-", text, flags=re.ASCII).strip(".-")
    return slug[:_SLUG_LENGTH] or "evidence"


def _mime_of(file_name: str) -> str:
    known = _MIME_BY_SUFFIX.get(Path(file_name).suffix.lower())
    return known or mimetypes.guess_type(file_name)[0] or "application/octet-stream"
