"""The products of a run: run folder, evidence, Allure report, certificate.

Files of a run are written whole or not at all, so that a killed run leaves nothing that reads like a result but is not.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import secrets
import socket
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault

LOOK = Path(__file__).with_name("templates")  # logo, style sheet and Allure configuration
_CHUNK_BYTES = 1 << 20


def write_atomically(path: Path, data: str | bytes, *, durable: bool = True) -> None:
    """Write ``data`` (text as UTF-8) to ``path``: under another name first, then renamed.

    Folders above ``path`` are made. Who may read it is for the umask to say.

    Args:
        path: The path of the bench.
        data: Content of the file.
        durable: Wait until the disk has it, so that it survives a power cut as well; without, a killed process.

    Raises:
        BenchFault: When the file cannot be written; the old content, if any, is then untouched.
    """
    content = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.parent / f".{path.name[:100]}.{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)  # cut by the umask
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BenchFault(f"{path}: cannot be written: {error}") from error


def write_json(path: Path, value: object) -> None:
    """Write ``value`` to ``path`` as readable JSON, atomically.

    Raises:
        BenchFault: When the file cannot be written.
    """
    write_atomically(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def read_json_object(path: Path) -> dict[str, Any]:
    """The JSON object in ``path``.

    Raises:
        BenchFault: When the file is missing, unreadable, not JSON, or not an object.
    """
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise BenchFault(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BenchFault(f"{path}: is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BenchFault(f"{path}: holds a {type(value).__name__}; expected a JSON object")
    return value


def sha256_of(path: Path) -> str:
    """SHA-256 of the content of ``path``, in hexadecimal digits.

    Raises:
        BenchFault: When the file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        raise BenchFault(f"{path}: cannot be read: {error.strerror}") from error
    return digest.hexdigest()


def now() -> str:
    """The time of the controller with its offset from UTC, to the second: ``2026-11-21T10:58:03+00:00``."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def who() -> str:
    """Return the user of this process and its controller: ``user@host``."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def warn(text: str) -> None:
    """Print a warning: something of a report is missing, and the verdict does not depend on it."""
    print(f"niclab: warning: {text}", file=sys.stderr, flush=True)
