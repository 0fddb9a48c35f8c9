"""Roots with rpm, dnf and zypper, or with DKMS and a compiler, for the real words of these tools: built of Debian's
packages, cached by content.

``ensure()`` returns a folder ``~/.cache/niclab/rpmroot-<key>/``. :class:`Machine` is a shell in a copy of it that is
in memory and gone at the end: it needs user namespaces and no root, and nothing is installed on this machine.
"""

from __future__ import annotations

import fcntl
import hashlib
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import image

SUITE = image.BOOKWORM
PACKAGES = ("createrepo-c", "dnf", "gpg", "gpg-agent", "kmod", "mount", "procps", "python3", "rpm", "zypper")
KERNELS = ("amd64", "cloud-amd64")
"""Kernels of Debian whose headers the root of DKMS has."""
DKMS = ("dkms", "gcc", "kmod", "make", "mount", "openssl", "procps", *(f"linux-headers-{each}" for each in KERNELS))
EXCLUDED_PATHS = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/info/*")
TOOLS = {"mmdebstrap": "mmdebstrap", "unshare": "util-linux", "nsenter": "util-linux"}
MACROS = "%_dbpath /var/lib/rpm\n%__gpg /usr/bin/gpg\n"
"""Settings of rpm: its database is where RHEL and SLES have it, not in the user's home, and gpg is what signs."""

_ENTER = """set -e
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t tmpfs -o mode=755 none /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o "lowerdir=$1,upperdir=/mnt/upper,workdir=/mnt/work,userxattr" none /mnt/root
cd /mnt/root
mount -t proc none proc
for each in null zero random urandom; do : > dev/$each; mount --bind /dev/$each dev/$each; done
ln -s /proc/self/fd dev/fd
mkdir .old
pivot_root . .old
cd /
exec chroot . /bin/sh -c 'umount -l /.old && rmdir /.old && echo ready && exec sleep infinity > /dev/null 2>&1'
"""
"""Leaves this machine's own files: nothing of them but four devices can be reached any more when it says ``ready``."""


class RpmRootError(Exception):
    """The root cannot be built, or a machine of it does not start; the message says why."""


@dataclass(frozen=True)
class Said:
    """The words of a command, and its exit status; None: it was ended after its time."""

    exit_status: int | None
    stdout: str
    stderr: str


def key(packages: Sequence[str] = PACKAGES) -> str:
    """Hash of what the root depends on (16 hex digits): this recipe."""
    recipe = "\n".join((SUITE, *packages, *EXCLUDED_PATHS, MACROS))
    return hashlib.sha256(recipe.encode()).hexdigest()[:16]


def ensure(packages: Sequence[str] = PACKAGES) -> Path:
    """Return the folder of the root; build it first when it is not there (needs network, about two minutes).

    Args:
        packages: What is installed in it.

    Raises:
        RpmRootError: When a tool is missing or a step fails.
    """
    target = image.CACHE / f"rpmroot-{key(packages)}"
    image.CACHE.mkdir(parents=True, exist_ok=True)
    with (image.CACHE / "rpmroot.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _build(target, packages)
    return target


def _build(target: Path, packages: Sequence[str]) -> None:
    if missing := image.missing_tools(TOOLS):
        raise RpmRootError(f"this machine lacks {', '.join(missing)}")
    with tempfile.TemporaryDirectory(dir=image.CACHE, prefix="rpmroot-build-") as folder:
        work = Path(folder)
        _step(
            [
                *("mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(packages)}"),
                *('--aptopt=Apt::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"'),
                *(f"--dpkgopt=path-exclude={path}" for path in EXCLUDED_PATHS),
                *(SUITE, str(work / "root.tar")),
            ]
        )
        root = work / "root"
        root.mkdir()
        unpack = ["tar", "--no-same-owner", "--exclude=./dev/*", "-xf", str(work / "root.tar"), "-C", str(root)]
        _step(["unshare", "-Ur", *unpack])
        (root / "etc/rpm").mkdir(exist_ok=True)
        (root / "etc/rpm/macros").write_text(MACROS)
        root.rename(target)


def _step(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise RpmRootError(f"{command[0]} failed with status {done.returncode}: {done.stderr.strip()[-400:]}")


class Machine:
    """A shell in the root, with layers of files above it. What it writes is in memory, and gone when it is closed.

    Args:
        layers: Folders whose files are seen in the root; the first is the uppermost.
        packages: What is installed in the root.
    """

    def __init__(self, *layers: Path, packages: Sequence[str] = PACKAGES) -> None:
        below = ":".join(str(each) for each in (*layers, ensure(packages)))
        command = ["unshare", "-Urmpf", "--kill-child", "sh", "-c", _ENTER, "sh", below]
        self._holder = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._holder.stdout is not None and self._holder.stderr is not None
        if self._holder.stdout.readline() != "ready\n":
            said = self._holder.stderr.read().strip()
            self.close()
            raise RpmRootError(f"no root of its own: {said}")
        holder = self._holder.pid
        self._pid = int(Path(f"/proc/{holder}/task/{holder}/children").read_text().split()[0])

    def __enter__(self) -> Machine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def entering(self, command: str) -> list[str]:
        """Return the words that run a command of the shell in it.

        Raises:
            RpmRootError: It has ended, and its number may be that of a process of this machine by now.
        """
        if self._holder.poll() is not None:
            raise RpmRootError("the machine has ended")
        entered = ["nsenter", "-t", str(self._pid), "-U", "-m", "-p", "-r", "-w", "--preserve-credentials"]
        clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C"]
        return [*entered, *clean, "sh", "-c", command]

    def run(self, command: str, timeout_s: float = 120) -> Said:
        """Run a command of the shell in it."""
        try:
            done = subprocess.run(
                self.entering(command), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout_s
            )
        except subprocess.TimeoutExpired:
            return Said(None, "", "")
        return Said(done.returncode, done.stdout, done.stderr)

    def must(self, command: str) -> str:
        """Run a command that must end well; return its output.

        Raises:
            RpmRootError: It does not.
        """
        said = self.run(command)
        if said.exit_status != 0:
            raise RpmRootError(f"`{command}` failed with status {said.exit_status}: {said.stderr.strip()[-400:]}")
        return said.stdout

    def write(self, name: str, content: bytes) -> None:
        """Write a file, from within: a link in its name must not lead to a file of this machine."""
        words = f"mkdir -p {shlex.quote(str(Path(name).parent))} && cat > {shlex.quote(name)}"
        subprocess.run(self.entering(words), input=content, check=True)

    def copy_out(self, names: Sequence[str], target: Path) -> None:
        """Copy files and folders (absolute names) into ``target``, a folder in the place of its root."""
        packed = subprocess.run(
            self.entering(f"tar -c -C / {' '.join(name.lstrip('/') for name in names)}"),
            check=True,
            capture_output=True,
        )
        target.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "-x", "--no-same-owner", "-C", str(target)], input=packed.stdout, check=True)

    def close(self) -> None:
        """End it, with all that runs in it."""
        self._holder.kill()
        self._holder.communicate()
