"""An OpenSSH server of one's own on loopback: own keys, own configuration, nothing of the system's is read or changed.

For measurements and tests. It serves the user who runs it; when that is root, OpenSSH wants /run/sshd to exist.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from niclab.core.wait import until
from niclab.transports.ssh.ssh_records import SshEndpoint

SERVING = ("sshd", "sshd-session")
"""The names of the programs that serve a connection: the latter since OpenSSH 9.8."""

_CONFIGURATION = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {directory}/host_key
AuthorizedKeysFile {directory}/user_key.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp internal-sftp
SetEnv SHLVL=5 NICLAB_HOST={name}
"""  # SHLVL: Debian's bash runs .bashrc for every command otherwise


def sshd_program() -> str | None:
    """The path of sshd, None where it is not installed."""
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


class ThrowawaySshd:
    """An sshd in ``directory`` (empty, kept by the caller). Use as a context manager, or start() and stop()."""

    def __init__(self, directory: Path, name: str = "host") -> None:
        self.directory = directory
        self.name = name
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)
        for key in ("host_key", "user_key"):
            self.make_key(key)
        configuration = _CONFIGURATION.format(port=self.port, directory=directory, name=name)
        (directory / "sshd_config").write_text(configuration, encoding="utf-8")
        self.trust_host_key()

    def make_key(self, name: str) -> None:
        """(Re)place a key pair."""
        path = self.directory / name
        path.unlink(missing_ok=True)
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
        subprocess.run(command, check=True, timeout=20)

    def trust_host_key(self) -> None:
        """Write known_hosts with the present host key."""
        key = (self.directory / "host_key.pub").read_text(encoding="utf-8")
        (self.directory / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {key}", encoding="utf-8")

    @property
    def endpoint(self) -> SshEndpoint:
        return SshEndpoint(
            name=self.name,
            address="127.0.0.1",
            port=self.port,
            user=getpass.getuser(),
            key_file=self.directory / "user_key",
            known_hosts=self.directory / "known_hosts",
        )

    def start(self) -> None:
        program = sshd_program()
        if program is None:
            raise FileNotFoundError("sshd is not installed (Debian: openssh-server)")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        log = self.directory / "sshd.log"
        self._process = subprocess.Popen(
            [program, "-D", "-f", str(self.directory / "sshd_config"), "-E", str(log)], start_new_session=True
        )
        until(self._answers, within=10, what=f"sshd on port {self.port} answers (its log: {log})", every=0.02)

    def stop(self) -> None:
        """End the server and every session, stopped ones too."""
        if self._process is None:
            return
        for pid in [*self.sessions(), self._process.pid]:
            _signal(pid, signal.SIGKILL)
        self._process.wait(timeout=10)
        self._process = None

    def __enter__(self) -> ThrowawaySshd:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def sessions(self) -> list[int]:
        """The process ids that serve connections now."""
        if self._process is None:
            return []
        return [pid for pid in _descendants(self._process.pid) if _name(pid) in SERVING]

    def connections(self) -> int:
        """The connections that are served now: each has one process of its own, which may have others."""
        return 0 if self._process is None else len(_children(self._process.pid))

    def signal_sessions(self, number: signal.Signals) -> None:
        """Stop, continue or kill what serves connections; the listening server goes on."""
        for pid in self.sessions():
            _signal(pid, number)

    def signal_listener(self, number: signal.Signals) -> None:
        """Stop or continue the listening server: stopped, the kernel accepts connections and nobody speaks."""
        if self._process is not None:
            _signal(self._process.pid, number)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # ended meanwhile


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""  # ended meanwhile


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]
    except OSError:
        return []  # ended meanwhile


def _descendants(pid: int) -> list[int]:
    return [descendant for child in _children(pid) for descendant in (child, *_descendants(child))]


SshdMaker = Callable[..., ThrowawaySshd]
"""Makes a started server; takes its name, ``dut`` by default."""
