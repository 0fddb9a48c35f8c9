"""SSHLibrary for suites that QA engineers write, logged in by this lab.

SSHLibrary accepts any host key, delays each command by Nagle's algorithm, and waits for ever for one that does not end.
Here the host key must be the known one, small packets are sent at once, and every command has a deadline.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from paramiko import RejectPolicy, SSHException
from robot.libraries.BuiltIn import BuiltIn
from SSHLibrary import SSHLibrary

from BenchLibrary import BenchLibrary
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.run.server import quoted
from niclab.run.temporary import put_back

TEXT = "first line\nsecond line: äöü\n"


class Shell(BenchLibrary, SSHLibrary):  # type: ignore[misc]  # the package has no types
    """The keywords of SSHLibrary for one server: ``Library    Shell.py    dut    AS    DutShell``.

    Args:
        server: ``dut`` or ``peer``.
        timeout_s: Deadline in s of each command that is given none.
    """

    ROBOT_LIBRARY_SCOPE = "GLOBAL"

    def __init__(self, server: Role, timeout_s: int = 30) -> None:
        super().__init__(timeout=f"{timeout_s} s")
        self._server, self._timeout = server, f"{timeout_s} s"

    def open_shell(self) -> None:
        """Log in to the server. `Close All Connections` ends it.

        Raises:
            BenchFault: The host key is not the known one, or the server is behind a jump host.
        """
        ssh = self.run.server(self._server).ssh.endpoint
        if ssh.jump is not None:
            raise BenchFault(f"{self._server.value}: SSHLibrary connections through a jump host are not supported")
        self.open_connection(ssh.address, alias=self._server.value, port=ssh.port, timeout=self._timeout)
        client = self.current.client
        client.set_missing_host_key_policy(RejectPolicy())  # before anything of the login is sent
        client.load_host_keys(str(ssh.known_hosts))
        try:
            self.login_with_public_key(ssh.user, str(ssh.key_file), delay="0 s", keep_alive_interval="10 s")
        except SSHException as error:
            self.close_connection()
            raise BenchFault(f"{self._server.value}: {error}; expected: a host key of {ssh.known_hosts}") from error
        client.get_transport().sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def execute_command(self, command: str, *options: Any, timeout: str | None = None, **named: Any) -> Any:
        """Run a command, as SSHLibrary's keyword does, with a deadline.

        Args:
            command: The command line.
            options: As of SSHLibrary, for example ``return_rc=True``.
            timeout: Deadline, for example ``5 s``; by default that of the import.
            named: As ``options``.
        """
        return super().execute_command(command, *options, timeout=timeout or self._timeout, **named)

    def read_command_output(self, *options: Any, timeout: str | None = None, **named: Any) -> Any:
        """Read the output of a command that was started, as SSHLibrary's keyword does, with a deadline.

        Args:
            options: As of SSHLibrary, for example ``return_rc=True``.
            timeout: Deadline, for example ``5 s``; by default that of the import.
            named: As ``options``.
        """
        return super().read_command_output(*options, timeout=timeout or self._timeout, **named)

    def commands_should_run_on_the_server(self) -> None:
        """Check that a command runs on this server and on no other, and that its exit status comes back.

        Raises:
            BenchFault: It runs elsewhere, or with another status; or both servers have the same name.
        """
        names = {role: self.run.server(role).run("uname -n").stdout.strip() for role in Role}
        if len(set(names.values())) == 1:
            raise BenchFault(f"dut, peer: both are called {names[Role.DUT]!r}; expected different names")
        found = self.execute_command("uname -n; exit 3", return_rc=True)
        self._expect("'uname -n; exit 3'", tuple(found), (names[self._server], 3))

    def background_program_should_be_read_when_it_ends(self) -> None:
        """Start a program, run a command meanwhile, and check that the output of both is read.

        Raises:
            BenchFault: Other output is read.
        """
        self.start_command("sleep 1; echo done")
        self._expect("'echo meanwhile'", self.execute_command("echo meanwhile"), "meanwhile")
        self._expect("'sleep 1; echo done'", self.read_command_output(), "done")

    def file_should_come_back_unchanged(self) -> None:
        """Copy a file to the server and back, and check that its content is the same.

        Raises:
            BenchFault: It has changed.
        """
        folder = Path(BuiltIn().get_variable_value("${OUTPUT DIR}"))
        there, back = (folder / f"shell-{self._server.value}-{word}.txt" for word in ("there", "back"))
        there.write_text(TEXT, encoding="utf-8")
        remote, server = f"/tmp/niclab-{folder.name}.txt", self.run.server(self._server)
        with put_back(self.run, server, server.name, f"{remote} is a copy of a file", quoted("rm", "-f", remote)):
            self.put_file(str(there), remote)
            self.get_file(remote, str(back))
        self._expect("a file that was copied there and back", back.read_text(encoding="utf-8"), TEXT)

    def _expect(self, what: str, found: object, wanted: object) -> None:
        if found != wanted:
            raise BenchFault(f"{self._server.value}: {what} gave {found!r}; expected {wanted!r}")
