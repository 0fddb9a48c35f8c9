"""Consoles to test against: a TCP server, an RFC 2217 server, and a program behind a pty behind TCP."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import threading
import tty
from collections.abc import Iterator

from serial import rfc2217

from niclab.core.wait import until


class TcpConsole:
    """Accepts one client at a time. What the client sends is in ``received``; ``say`` sends to it."""

    scheme = "tcp"

    def __init__(self) -> None:
        self.received = bytearray()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._client: socket.socket | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def say(self, data: bytes) -> None:
        until(lambda: self._client or self._stopping, within=10, what="a client", every=0.005)
        if self._client is not None:
            self._client.sendall(self.to_wire(data))

    def hang_up(self) -> None:
        """Close the client's connection; the next client is served."""
        until(lambda: self._client, within=10, what="a client", every=0.005)
        if self._client is not None:
            self._client.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        self._stopping = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if self._client is not None:
            with contextlib.suppress(OSError):  # it may have hung up
                self._client.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    def to_wire(self, data: bytes) -> bytes:
        return data

    def connected(self, client: socket.socket) -> None:
        """A client has come."""

    def heard(self, data: bytes) -> None:
        self.received += data

    def _serve(self) -> None:
        while not self._stopping:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                self.connected(client)
                self._client = client
                with contextlib.suppress(OSError):  # a reset is an end like another
                    while data := client.recv(65536):
                        self.heard(data)
                self._client = None


class _FakePort:
    """The line that pyserial's RFC 2217 server expects behind it; notes BREAK on and off."""

    baudrate, bytesize, parity, stopbits = 9600, 8, "N", 1
    rtscts = xonxoff = dsrdtr = rts = dtr = False
    cts = dsr = cd = True
    ri = False

    def __init__(self) -> None:
        self.breaks: list[bool] = []

    @property
    def break_condition(self) -> bool:
        return bool(self.breaks) and self.breaks[-1]

    @break_condition.setter
    def break_condition(self, on: bool) -> None:
        self.breaks.append(on)

    def reset_input_buffer(self) -> None: ...

    def reset_output_buffer(self) -> None: ...


class Rfc2217Console(TcpConsole):
    """A serial port server made of pyserial's own half of the protocol. ``line.breaks`` tells each BREAK on and off."""

    scheme = "rfc2217"

    def __init__(self) -> None:
        self.line = _FakePort()
        self._manager: rfc2217.PortManager | None = None
        super().__init__()

    def connected(self, client: socket.socket) -> None:
        class Connection:
            def write(self, data: bytes) -> None:
                client.sendall(data)

        self._manager = rfc2217.PortManager(self.line, Connection())  # type: ignore[arg-type]  # stubs want real ones

    def heard(self, data: bytes) -> None:
        assert self._manager is not None
        self.received += b"".join(self._manager.filter(data))

    def to_wire(self, data: bytes) -> bytes:
        return data.replace(b"\xff", b"\xff\xff")


class MachineConsole(TcpConsole):
    """A program on a terminal of its own, behind TCP: a getty, a shell."""

    def __init__(self, command: list[str]) -> None:
        self._master, slave = os.openpty()
        # as init would start it: a test run in the background may be one that ignores ^C, and children inherit that
        command = ["env", "--default-signal=INT", *command]
        self._process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env={"PATH": os.environ["PATH"]}
        )
        os.close(slave)
        self._pump = threading.Thread(target=self._shuttle, daemon=True)
        super().__init__()
        self._pump.start()

    def heard(self, data: bytes) -> None:
        os.write(self._master, data)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(10)
        super().stop()
        self._pump.join(10)
        os.close(self._master)

    def _shuttle(self) -> None:
        while not self._stopping:
            if select.select([self._master], [], [], 0.1)[0]:
                try:
                    self.say(os.read(self._master, 65536))
                except OSError:
                    return


@contextlib.contextmanager
def running(console: TcpConsole) -> Iterator[TcpConsole]:
    try:
        yield console
    finally:
        console.stop()


@contextlib.contextmanager
def pty_line() -> Iterator[tuple[int, str]]:
    """A local line: the machine's end as a file descriptor, ours as a path."""
    master, slave = os.openpty()
    tty.setraw(master)
    try:
        yield master, os.ttyname(slave)
    finally:
        os.close(slave)
        os.close(master)
