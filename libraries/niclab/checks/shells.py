"""SSHLibrary sessions of the servers: commands, programs in the background, files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, Blamed, require
from niclab.run.run import Run
from niclab.run.server import quoted
from niclab.run.temporary import put_back
from niclab.transports.ssh.ssh import SshEndpoint

TEXT = "first line\nsecond line: äöü\n"


def endpoint(run: Run, role: Role) -> SshEndpoint:
    """Return where a session of a server logs in.

    Args:
        run: The current run.
        role: The server.

    Raises:
        BenchFault: The server is behind a jump host, which SSHLibrary does not take.
    """
    found = run.server(role).ssh.endpoint
    if found.jump is not None:
        raise BenchFault(f"{role.value}: no SSHLibrary connections through a jump host")
    return found


def runs_on_its_server(run: Run, role: Role, execute: Callable[[str], tuple[str, int]]) -> None:
    """Run a command by a session; it must run on this server and on no other, and its exit status must come back.

    Args:
        run: The current run.
        role: The server of the session.
        execute: Runs a command; returns its output and exit status.

    Raises:
        BenchFault: It runs elsewhere, or with another status; or both servers have the same name.
    """
    names = {each: run.server(each).run("uname -n").stdout.strip() for each in Role}
    if len(set(names.values())) == 1:
        raise BenchFault(f"dut, peer: both are called {names[Role.DUT]!r}; expected different names")
    _require(role, "uname -n; exit 3", tuple(execute("uname -n; exit 3")), (names[role], 3))


def background_is_read_at_its_end(
    role: Role, start: Callable[[str], object], execute: Callable[[str], str], read: Callable[[], str]
) -> None:
    """Start a program by a session, run a command meanwhile, and read the output of both.

    Args:
        role: The server of the session.
        start: Starts a program.
        execute: Runs a command; returns its output.
        read: Returns the output of the started program when it has ended.

    Raises:
        BenchFault: Other output is read.
    """
    start("sleep 1; echo done")
    _require(role, "echo meanwhile", execute("echo meanwhile"), "meanwhile")
    _require(role, "sleep 1; echo done", read(), "done")


def file_comes_back(
    run: Run, role: Role, put: Callable[[str, str], object], get: Callable[[str, str], object], folder: Path
) -> None:
    """Copy a file to a server and back by a session; its content must be the same.

    Args:
        run: The current run.
        role: The server of the session.
        put: Copies a file to the server.
        get: Copies a file from the server.
        folder: Folder of both copies.

    Raises:
        BenchFault: It has changed.
    """
    there, back = (folder / f"shell-{role.value}-{word}.txt" for word in ("there", "back"))
    there.write_text(TEXT, encoding="utf-8")
    remote, server = f"/tmp/niclab-{folder.name}.txt", run.server(role)
    with put_back(run, server, server.name, f"{remote} is a copy of a file", quoted("rm", "-f", remote)):
        put(str(there), remote)
        get(remote, str(back))
    _require(role, "a file that was copied there and back", back.read_text(encoding="utf-8"), TEXT)


def _require(role: Role, what: str, found: object, expected: object) -> None:
    require(Blamed.BENCH, f"{role.value}: {what}", repr(found), repr(expected), met=found == expected)
