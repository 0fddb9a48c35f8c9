"""The resident program: answers each call of a tool in a child of its own, with the caller's input and outputs."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
from collections.abc import Callable

from below import STATE, facts

SOCKET = f"{STATE}/socket"
_MOST = 65536
_MODULES = (
    *("boot", "devices", "features", "ifconfig", "ifset", "kld", "links", "messages", "netstat", "newbus", "oids"),
    *("packages", "pcicaps", "pciconf", "ping", "probe", "routes", "settings", "sysctl", "system", "toe", "vmstat"),
    *("select", "getopt"),
)


def serve(run: Callable[[list[str]], int]) -> None:
    """Answer until the end of the system.

    Args:
        run: Carries out a command line and returns its exit status.
    """
    for name in _MODULES:
        importlib.import_module(name)
    facts()
    os.makedirs(STATE, exist_ok=True)
    new = f"{SOCKET}.new"
    if os.path.exists(new):
        os.unlink(new)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(new)
    os.chmod(new, 0o600)
    listening.listen(64)
    os.rename(new, SOCKET)  # where it is there, somebody listens
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are nobody's business
    while True:
        line, _ = listening.accept()
        if not os.fork():
            listening.close()
            _answer(line, run)
        line.close()


def _answer(line: socket.socket, run: Callable[[list[str]], int]) -> None:
    """One call; ends the process."""
    status = 70  # EX_SOFTWARE of sysexits(3)
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        data, files, _, _ = socket.recv_fds(line, _MOST, 3)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        folder, packages, *words = data.decode(errors="surrogateescape").split("\0")[:-1]
        os.chdir(folder)
        os.environ["PKG_PATH"] = packages
        status = run(words)
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else 1
    except Exception:  # noqa: BLE001 - whatever it was is reported to the caller, who must get an answer
        import traceback

        traceback.print_exc()
    finally:
        try:
            line.send(bytes((status & 255,)))
        finally:
            os._exit(status & 255)
