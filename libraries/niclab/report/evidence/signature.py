"""A detached signature over the sums of a run, made and checked by ``ssh-keygen -Y``."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from niclab.core.verdict import BenchFault

NAMESPACE = "niclab-certificate"
SUFFIX = ".sig"
_WITHIN_S = 30


def sign(file: Path, key: Path) -> Path:
    """Sign a file.

    Args:
        file: What is signed.
        key: Private key of SSH, or a public one whose private key an agent holds.

    Returns:
        The signature, next to the file.

    Raises:
        BenchFault: It cannot be signed; a key with a passphrase needs an agent.
    """
    signature = signature_of(file)
    signature.unlink(missing_ok=True)
    _keygen("sign", "-f", str(key.expanduser()), "-n", NAMESPACE, str(file))
    return signature


def check_key(key: Path) -> None:
    """Sign something, so that a key that cannot sign is found before a run and not after it.

    Args:
        key: See :func:`sign`.

    Raises:
        BenchFault: It cannot sign.
    """
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / "trial"
        trial.write_text("trial\n")
        sign(trial, key)


def problems_of(file: Path, signers: Path) -> list[str]:
    """Check the signature of a file.

    Args:
        file: What was signed.
        signers: Who may sign: a file as ``ALLOWED SIGNERS`` of ssh-keygen(1) describes it.

    Returns:
        What is wrong; nothing when one of the signers has signed this very content.
    """
    signature = signature_of(file)
    if not signature.is_file():
        return [f"{signature.name}: is missing; expected a signature of {file.name}"]
    arguments = ["-f", str(signers.expanduser()), "-n", NAMESPACE, "-s", str(signature)]
    try:
        names = _keygen("find-principals", *arguments).splitlines()
        _keygen("verify", *arguments, "-I", names[0], text=file.read_bytes())
    except (BenchFault, OSError) as error:
        return [f"{signature.name}: {error}; expected a signature of {file.name} by one of {signers}"]
    return []


def signature_of(file: Path) -> Path:
    """Return where the signature of a file is.

    Args:
        file: What is signed.
    """
    return file.with_name(file.name + SUFFIX)


def _keygen(operation: str, *arguments: str, text: bytes = b"") -> str:
    command = ["ssh-keygen", "-Y", operation, *arguments]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, check=False, timeout=_WITHIN_S, start_new_session=True
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchFault(f"ssh-keygen -Y {operation}: {error}") from error
    if done.returncode or (not done.stdout.strip() and operation == "find-principals"):
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise BenchFault(f"ssh-keygen -Y {operation}: {said[-1] if said else f'status {done.returncode}'}")
    return done.stdout.decode(errors="replace")
