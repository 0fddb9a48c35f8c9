"""Shared parts of the virtual bench's tests: a bench in a folder of its own, a QEMU of one socket, a part's process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import layout
import parts
from wait import until

T = TypeVar("T")


def wait_for(condition: Callable[[], T | None], what: str, within_s: float = 30.0) -> T:
    """Wait until the condition holds; fail with ``what`` when it does not. A busy host is slow, and no failure."""
    answer = until(condition, within_s=within_s, every_s=0.005)
    assert answer, f"{what}: not within {within_s:g} s"
    return answer


def undisturbed(measure: Callable[[], object], wanted: object, within_s: float = 60.0) -> None:
    """Measure until the result is the wanted one: a busy host holds processes up and so disturbs one try, not each."""
    seen: list[object] = []

    def as_wanted() -> bool:
        seen.append(measure())
        return bool(seen[-1] == wanted)

    assert until(as_wanted, within_s=within_s), f"expected {wanted}, measured {seen}"


def wait_for_part(process: subprocess.Popen[bytes], name: str) -> None:
    """Wait until a ``sleep`` with the identity of a part can be found: its environment is there after its name."""
    started = Path(f"/proc/{process.pid}")
    wait_for(
        lambda: (started / "comm").read_text() == "sleep\n" and name.encode() in (started / "environ").read_bytes(),
        f"{name} is started",
    )


def own_address(host: int) -> str:
    """A loopback address which no other test process uses at the same time."""
    pid = os.getpid()
    return f"127.{200 + host}.{pid >> 8 & 255}.{pid & 255}"


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder whose path leaves room for the names of unix sockets; pytest's own is often too long."""
    folder = Path(tempfile.mkdtemp(prefix="vbench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def process_state(pid: int) -> str:
    """One letter, as in proc(5): S sleeps, T stands still, Z is a zombie."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


class FakeQemu:
    """The QMP socket of a machine that has power from :meth:`power_on` to :meth:`power_off`.

    Attributes:
        commands: ``(command, arguments)`` of all that it did since the last power-on.
        received: How many commands have come since then.
        awake: While it is cleared the machine stands still: it does and answers what it received when it is set.
        refuse: It answers every command with an error.
        returns: Command -> what it returns; the others return nothing.
        lost: How the last client broke off, if one did.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.commands: list[tuple[str, dict[str, Any]]] = []
        self.received = 0
        self.awake = threading.Event()
        self.awake.set()
        self.refuse = False
        self.returns: dict[str, Any] = {}
        self.lost: ConnectionError | None = None
        self._sockets: list[socket.socket] = []

    def power_on(self) -> None:
        self.commands, self.received = [], 0
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen()
        self._sockets = [listener]
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def power_off(self) -> None:
        self.path.unlink(missing_ok=True)
        for open_socket in self._sockets:
            try:
                open_socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits on it
            except OSError as error:
                assert error.errno is not None  # the client has hung up already
        self._sockets = []

    def links(self) -> dict[str, bool]:
        """Port -> carrier, as told since the last power-on."""
        told = [arguments for command, arguments in self.commands if command == "set_link"]
        return {arguments["name"]: arguments["up"] for arguments in told}

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                listener.close()
                return  # power off
            self._sockets.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            self._talk(connection)
        except ConnectionError as error:
            self.lost = error  # the client was killed

    def _talk(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rwb", buffering=0) as stream:
            stream.write(b'{"QMP": {"version": {}, "capabilities": []}}\n')
            for line in stream:
                request = json.loads(line)
                command = request["execute"]
                if command == "qmp_capabilities":
                    stream.write(b'{"return": {}}\n')
                    continue
                self.received += 1
                self.awake.wait()
                if connection not in self._sockets:
                    return  # it lost its power while it stood still
                self.commands.append((command, request.get("arguments", {})))
                stream.write(b'{"event": "NIC_RX_FILTER_CHANGED", "data": {}}\n')  # events come in between
                answer = {"error": {"desc": "no"}} if self.refuse else {"return": self.returns.get(command, {})}
                number = {"id": request["id"]} if "id" in request else {}
                stream.write(json.dumps(answer | number).encode() + b"\n")


class PartProcess:
    """A part of the bench as a process: ``python -m MODULE CONFIG``."""

    def __init__(self, module: str, config: Path) -> None:
        self._command = [sys.executable, "-m", module, str(config)]
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self._command, env={**os.environ, "PYTHONPATH": str(parts.HERE)}, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.stdout.close()
        return process

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(5)

    def restart(self) -> None:
        """Die at once, and be started again."""
        self.kill()
        self.process = self._start()


class ControlSocket:
    """A part's control socket that answers everything with ``answer`` and remembers what was asked."""

    def __init__(self, path: Path, answer: dict[str, Any]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                self._listener.close()
                return  # closed
            with connection, connection.makefile("rwb", buffering=0) as stream:
                for line in stream:
                    self.requests.append(json.loads(line))
                    stream.write(json.dumps(self._answer).encode() + b"\n")

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)


def bench_in(folder: Path, name: str = "t") -> layout.Bench:
    """The bench of that name with its state below ``folder``; its folders exist."""
    saved, layout.STATE = layout.STATE, folder
    try:
        bench = layout.bench(name)
    finally:
        layout.STATE = saved
    for server in bench.servers:
        server.folder.mkdir(parents=True)
    return bench
