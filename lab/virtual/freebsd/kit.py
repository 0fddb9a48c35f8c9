"""The kit that makes a server FreeBSD's: an archive for its initial RAM disk, from which a fresh disk is laid out.

``ensure()`` returns ``~/.cache/niclab/freebsd-CARD-KEY/initrd.cpio``, cached by content:

- ``/os/lay`` is run by the server's first program and lays the rest when ``/os/key`` is not that of the disk;
- ``/os/root`` is laid each time: the tools, root's shell, what keeps the system below from naming and loading things;
- ``/os/once`` is laid on a fresh disk only: what an administrator may change, as it is after the system and the card's
  driver were installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import cardmodel
import cardsheet
import debian
import image
from freebsd import facts, ports

HERE = Path(__file__).resolve().parent
SHELL = "tcsh"
PROGRAM = "usr/libexec/bsd"
TOOLS = (
    *("ifconfig", "sysctl", "kldload", "kldunload", "kldstat", "pciconf", "netstat", "sockstat", "vmstat", "dmesg"),
    *("cxgbetool", "uname", "kenv", "service", "shutdown", "reboot", "halt", "poweroff", "file", "ping", "ping6"),
    *("pkg", "rc.bsd"),
)
"""Names under which the program is there, and before release 10 ``OLD_PACKAGE_TOOLS``."""
OLD_PACKAGE_TOOLS = ("pkg_add", "pkg_delete", "pkg_info")
BASE = (
    *("awk", "basename", "cat", "chmod", "chown", "cksum", "cmp", "cp", "csh", "cut", "date", "dd", "df", "diff"),
    *("dirname", "du", "echo", "env", "expr", "false", "find", "grep", "head", "hostname", "id", "kill", "ln"),
    *("logger", "login", "ls", "mkdir", "mkfifo", "mktemp", "mv", "nice", "nohup", "od", "printf", "ps", "pwd"),
    *("rm", "rmdir", "sed", "seq", "sh", "sleep", "sort", "stat", "stty", "sync", "tail", "tar", "tcsh", "tee"),
    *("test", "touch", "tr", "true", "tty", "uniq", "uptime", "wc", "which", "who", "xargs", "yes"),
)
"""Tools of the system below that FreeBSD has too: their common options are those of POSIX."""
PACKAGED = ("iperf3", "python3", "timeout", "tcpdump")
"""Programs of packages (timeout came to the base system with 10.3)."""
DRIVERS_BELOW = tuple(facts.DRIVERS)


class FreeBsdError(Exception):
    """The archive cannot be made."""


def ensure(card: str) -> Path:
    """The archive for a server with that card; made first when it is not there.

    Raises:
        FreeBsdError: When a program is missing or fails.
        SheetError: When the card's sheet lacks what it takes.
    """
    cache = image.CACHE
    with image.locked("freebsd"):
        shell = _shell_package(cache)
        key = _key(card, shell)
        archive = cache / f"freebsd-{card}-{key}" / "initrd.cpio"
        if not archive.exists():
            with image.made_whole(archive.parent) as made, tempfile.TemporaryDirectory() as work:
                _make(Path(work), made / "initrd.cpio", card, shell, key)
    return archive


def _key(card: str, shell: Path) -> str:
    digest = hashlib.sha256(f"{card} {shell.name}\n".encode())
    for file in sorted(HERE.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".md":
            digest.update(f"{file.relative_to(HERE)}\n".encode() + file.read_bytes())
    digest.update((cardmodel.MODELS / f"{card}.yaml").read_bytes())
    digest.update(repr(cardsheet.package(card, "freebsd")).encode())
    for name, content in ports.firmware_modules(card).items():
        digest.update(name.encode() + content)
    return digest.hexdigest()[:16]


def _shell_package(cache: Path) -> Path:
    """Debian's package of root's shell, fetched once."""
    folder = cache / SHELL
    if not folder.exists():
        with image.made_whole(folder) as made:
            try:
                debian.download([SHELL], made)
            except debian.PackageError as error:
                raise FreeBsdError(str(error)) from error
    found = sorted(folder.glob("*.deb"))
    if len(found) != 1:
        raise FreeBsdError(f"{folder}: {len(found)} packages; expected one of {SHELL}: remove the folder")
    return found[0]


def _make(work: Path, archive: Path, card: str, shell: Path, key: str) -> None:
    tree = work / "os"
    shutil.copytree(HERE / "guest", tree / "root" / PROGRAM, ignore=shutil.ignore_patterns("__pycache__", "laid"))
    client = tree / "root" / PROGRAM / "client"
    _run(["gcc", "-O2", "-static", "-o", str(client), str(client.with_suffix(".c"))])
    shutil.copytree(HERE / "guest/laid/root", tree / "root", dirs_exist_ok=True)
    shutil.copytree(HERE / "guest/laid/once", tree / "once")
    shutil.copy(HERE / "guest/laid/lay", tree / "lay")
    _write(tree / "key", f"{key}\n")
    _write(tree / "root/etc/bsd/facts.py", facts.rendered(card))
    _put_shell(tree / "root", work / "shell", shell)
    _put_links(tree / "root", card)
    ports.lay(tree, card)
    for path in tree.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    archive.write_bytes(_run(["sh", "-c", "find os | sort | cpio --quiet -o -H newc -R 0:0"], work))


def _put_shell(root: Path, unpacked: Path, package: Path) -> None:
    _run(["dpkg-deb", "-x", str(package), str(unpacked)])
    target = root / "usr/bin/tcsh"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(next(path for path in unpacked.rglob("bin/tcsh") if path.is_file()), target)
    target.chmod(0o755)
    (root / "usr/bin/csh").symlink_to("tcsh")


def _put_links(root: Path, card: str) -> None:
    """The folders of root's PATH, and what keeps the system below from loading drivers by itself."""
    old = OLD_PACKAGE_TOOLS if facts.driver_of(card).release is facts.RELEASE_9 else ()
    _link(root / "freebsd/sbin", f"/{PROGRAM}/client", (*TOOLS, *old))
    for folder, names in (("freebsd/bin", BASE), ("freebsd/local/bin", PACKAGED)):
        for name in names:
            _link(root / folder, f"/usr/bin/{name}", (name,))
    blacklist = "".join(f"blacklist {name}\n" for name in DRIVERS_BELOW)
    _write(root / "etc/modprobe.d/bsd.conf", f"# drivers are loaded by kldload and at boot\n{blacklist}")
    _link(root / "etc/udev/rules.d", "/dev/null", ("80-net-setup-link.rules",))
    _link(root / "boot", "/srv/vendor/firmware", ("firmware",))


def _link(folder: Path, target: str, names: Iterable[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).symlink_to(target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _run(command: list[str], folder: Path | None = None) -> bytes:
    """Run the program and return its output.

    Raises:
        FreeBsdError: When it is missing or fails.
    """
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise FreeBsdError(f"this machine lacks {command[0]}: run 'make setup'") from error
    if done.returncode:
        raise FreeBsdError(f"{command[0]} failed with status {done.returncode}: {done.stderr.decode().strip()}")
    return done.stdout
