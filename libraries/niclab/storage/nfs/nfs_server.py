"""The NFS server of a Linux server under test: the kernel's own, over UDP and TCP, with one file in memory.

All that it changes is in the journal before: the file and the memory that it lies in, the export, the threads of the
kernel's server. What a killed run has left ends with ``niclab restore``, or when the next run begins.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from niclab.bench.records import BenchPath, Role
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back
from niclab.storage.server_needs import Needs, missing, require_linux

FOLDER, FILE = "/tmp/niclab.nfs", "cached"
"""A place where the state of a server (:mod:`niclab.state`) is looked at for what the lab has left."""
FILE_BYTES = 1 << 20
"""Small, so that the server has all of it in memory, and the client knows what it must be."""
THREADS = 8
"""As many as Debian's own configuration starts (nfs.conf(5), threads)."""
PROGRAMS = ("exportfs", "rpc.nfsd", "rpc.mountd", "rpcbind", "rpcinfo")
NEEDS = Needs(PROGRAMS, ("nfsd",), 2 * FILE_BYTES)
ON_LINUX = "NFS is served and read by programs for Linux"
LIMIT_S = 3600.0
BEGINS_WITHIN_S = 20.0
_FSID = 7114
"""A file system in memory has no number of its own by which clients find it again (exports(5), fsid)."""
_THREADS_FILE = "/proc/fs/nfsd/threads"
_RPCBIND_LISTENS = "rpcinfo -p 127.0.0.1 >/dev/null 2>&1"


@dataclass(frozen=True)
class NfsExport:
    """A file that is served. ``here``: address of the client; ``there``: of the server; ``seed``: of its content."""

    here: str
    there: str
    seed: str


@contextmanager
def serving(run: Run, path: BenchPath) -> Iterator[NfsExport]:
    """Serve a file from the dut to the peer over a path inside the ``with`` block.

    Args:
        run: The current run.
        path: The path, whose addresses server and client use.

    Raises:
        BenchFault: The dut has no NFS server installed, another one runs there, or it does not begin.
        NotApplicable: A server does not run Linux.
    """
    require_linux(run, ON_LINUX)
    dut = run.server(Role.DUT)
    here, there = (run.bench.address_on(path, role) for role in (Role.PEER, Role.DUT))
    export = NfsExport(here, there, secrets.token_hex(8))
    had_files = require_free(dut)
    with ExitStack() as undoing:
        if not dut.ssh.run(_RPCBIND_LISTENS).succeeded:
            _begun(undoing, dut, "rpcbind -f", _RPCBIND_LISTENS, "rpcbind")
        undoing.enter_context(put_back(run, dut, dut.name, "a file is served over NFS", _undo(here, had_files)))
        dut.run(_do(export))
        dut.run(f"rpc.nfsd --no-nfs-version 4 --udp --tcp --host {shlex.quote(there)} {THREADS}")
        listens = f"rpcinfo -u {shlex.quote(there)} mountd 3 >/dev/null 2>&1"
        _begun(undoing, dut, "rpc.mountd --foreground --no-nfs-version 4", listens, "rpc.mountd")
        yield export


@contextmanager
def to_itself(run: Run, export: NfsExport) -> Iterator[NfsExport]:
    """Serve the file to the dut itself as well inside the ``with`` block; yields it as the dut finds it.

    Args:
        run: The current run.
        export: The file, as the peer finds it.

    Raises:
        BenchFault: The dut does not export it.
    """
    dut, own = run.server(Role.DUT), replace(export, here=export.there)
    is_there = f"grep -qs '^{FOLDER}[[:space:]]*{re.escape(own.here)}(' /var/lib/nfs/etab"
    undo = f"! {is_there} || exportfs -u {shlex.quote(f'{own.here}:{FOLDER}')}"
    with put_back(run, dut, dut.name, "a file is served over NFS to its own server", undo):
        dut.run(_export(own))
        yield own


def require_free(dut: Server) -> bool:
    """Require that a server can serve files, and does not yet.

    Args:
        dut: The server.

    Returns:
        Is the file system of the kernel's NFS server mounted?

    Raises:
        BenchFault: A program is not installed, or somebody else's server runs.
    """
    if lacks := missing(dut, NEEDS):
        raise BenchFault(f"{dut.name}: has no {', '.join(lacks)}; expected an NFS server (Debian: nfs-kernel-server)")
    threads = dut.run(f"if [ -r {_THREADS_FILE} ]; then cat {_THREADS_FILE}; fi").stdout.strip()
    if threads not in ("", "0"):
        raise BenchFault(
            f"{dut.name}: an NFS server runs with {threads} threads; expected none, "
            "as the lab starts its own over UDP and ends it (systemctl disable --now nfs-server)"
        )
    return bool(threads)


def _do(export: NfsExport) -> str:
    """The commands that make the file and export it. The content is that of :mod:`niclab.storage.nfs.nfs_program`."""
    write = (
        f"import hashlib; open('{FOLDER}/{FILE}', 'wb').write(hashlib.shake_128(b'{export.seed}').digest({FILE_BYTES}))"
    )
    return " && ".join(
        (
            f"mkdir -p {FOLDER}",
            f"mount -t tmpfs -o size={2 * FILE_BYTES},mode=755 niclab.nfs {FOLDER}",
            f"python3 -c {shlex.quote(write)}",
            "modprobe nfsd",
            f"{{ [ -e {_THREADS_FILE} ] || mount -t nfsd nfsd /proc/fs/nfsd; }}",
            _export(export),
        )
    )


def _export(export: NfsExport) -> str:
    options = f"ro,insecure,no_subtree_check,fsid={_FSID}"
    return f"exportfs -o {options} {shlex.quote(f'{export.here}:{FOLDER}')}"


def _undo(client: str, had_files: bool) -> str:
    """The commands that end all of it, in whatever state it is: also after a boot, which leaves the list of exports."""
    exported = f"grep -qs '^{FOLDER}[[:space:]]' /var/lib/nfs/etab"
    steps = [
        f"{{ [ ! -e {_THREADS_FILE} ] || rpc.nfsd 0; }}",
        f"{{ ! {exported} || exportfs -u {shlex.quote(f'{client}:{FOLDER}')}; }}",
        f"{{ [ ! -e {_THREADS_FILE} ] || exportfs -f; }}",
        f"{{ ! grep -qs ' {FOLDER} ' /proc/mounts || umount {FOLDER}; }}",
        f"rm -rf {FOLDER}",
    ]
    if not had_files:
        steps.append("{ ! grep -qs ' /proc/fs/nfsd ' /proc/mounts || umount /proc/fs/nfsd; }")
    return " && ".join(steps)


def _begun(undoing: ExitStack, dut: Server, command: str, listens: str, name: str) -> None:
    """Start a program, which is ended with ``undoing``, and wait until it listens."""
    job = dut.start(f"exec {command}", limit_s=LIMIT_S)
    undoing.callback(job.stop)
    job.await_begin(listens, f"{name} to listen", BEGINS_WITHIN_S)
