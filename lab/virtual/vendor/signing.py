"""Signatures by GnuPG, with a key that is made once per controller."""

from __future__ import annotations

import fcntl
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wholefile import draft_of

SIGNER = "Virtual bench vendor key <vendor@localhost>"


class SigningError(Exception):
    """GnuPG refuses."""


class Signer:
    """Signs with the key in a GnuPG home; see :func:`signer`."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def clear_sign(self, source: Path, target: Path) -> None:
        self._gpg("--armor", "--digest-algo", "SHA256", "--clear-sign", "--output", str(target), str(source))

    def detach_sign(self, source: Path, target: Path) -> None:
        self._gpg("--armor", "--digest-algo", "SHA256", "--detach-sign", "--output", str(target), str(source))

    def export(self, target: Path) -> None:
        """Write the public key, as apt and gpgv take it for a keyring."""
        self._gpg("--export", "--output", str(target))

    def _gpg(self, *arguments: str) -> None:
        run_gpg(self._home, *arguments)


def run_gpg(home: Path, *arguments: str) -> None:
    """Run GnuPG in ``home``.

    Raises:
        SigningError: When it fails; the message holds its own.
    """
    command = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--yes", "--pinentry-mode", "loopback"]
    command += ["--passphrase", "", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SigningError(f"gpg {arguments[0]} failed with status {done.returncode}: {done.stderr.strip()}")


@contextmanager
def signer(key: Path) -> Iterator[Signer]:
    """Sign with the secret key in the file ``key``, which is made when it is not there.

    GnuPG's agent runs in a folder of its own with a short name (its socket is in it) and ends with the context.
    """
    key.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="vb-gpg-") as folder, key.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        home = Path(folder)
        try:
            if not key.exists():
                _make_key(home, key)
            else:
                run_gpg(home, "--import", str(key))
            yield Signer(home)
        finally:
            subprocess.run(["gpgconf", "--homedir", folder, "--kill", "gpg-agent"], check=True)


def _make_key(home: Path, key: Path) -> None:
    run_gpg(home, "--quick-generate-key", SIGNER, "ed25519", "sign", "never")
    draft = draft_of(key)
    draft.touch(mode=0o600)
    run_gpg(home, "--output", str(draft), "--export-secret-keys")
    draft.replace(key)
