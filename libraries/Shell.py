"""SSHLibrary for suites that QA engineers write, logged in by this lab.

SSHLibrary accepts any host key, delays commands by Nagle's algorithm, and waits for ever for one that does not end.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from paramiko import RejectPolicy, SSHException
from robot.libraries.BuiltIn import BuiltIn
from SSHLibrary import SSHLibrary

from BenchLibrary import BenchLibrary, keyword
from niclab.bench.records import Role
from niclab.checks import shells
from niclab.core.verdict import BenchFault
from niclab.run.watching.carrier_watch import CarrierWatch


class Shell(BenchLibrary, SSHLibrary):  # type: ignore[misc]  # the package has no types
    """The keywords of SSHLibrary for one server: ``Library    Shell.py    dut    AS    DutShell``.

    Each check of a connection raises BenchFault where it finds something else.

    | ${kernel} = | DutShell.`Execute Command` | uname -r |
    | DutShell.Start Command | sleep 2 && date |
    | ${date} = | DutShell.`Read Command Output` | timeout=5 s |

    Args:
        server: ``dut`` or ``peer``.
        timeout_s: Deadline in s of each command that is given none.
    """

    ROBOT_LIBRARY_SCOPE = "GLOBAL"

    def __init__(self, server: Role, timeout_s: int = 30) -> None:
        super().__init__(timeout=f"{timeout_s} s")
        self._server, self._timeout = server, f"{timeout_s} s"

    @keyword
    def open_shell(self) -> None:
        """Log in to the server. `Close All Connections` ends it. The server cannot be behind a jump host."""
        self.run.part(CarrierWatch).let(f"shell of {self._server.value}", may=True)
        ssh = shells.endpoint(self.run, self._server)
        self.open_connection(ssh.address, alias=self._server.value, port=ssh.port, timeout=self._timeout)
        client = self.current.client
        client.set_missing_host_key_policy(RejectPolicy())  # before the login sends anything
        client.load_host_keys(str(ssh.known_hosts))
        try:
            self.login_with_public_key(ssh.user, str(ssh.key_file), delay="0 s", keep_alive_interval="10 s")
        except SSHException as error:
            self.close_connection()
            raise BenchFault(f"{self._server.value}: {error}; expected a host key of {ssh.known_hosts}") from error
        client.get_transport().sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @keyword
    def close_all_connections(self) -> None:
        """Log out of the server."""
        super().close_all_connections()
        self.run.part(CarrierWatch).let(f"shell of {self._server.value}", may=False)

    @keyword
    def execute_command(
        self,
        command: str,
        return_stdout: bool = True,
        return_stderr: bool = False,
        return_rc: bool = False,
        timeout: str | None = None,
    ) -> Any:
        """Run a command, as SSHLibrary's keyword does, with a deadline.

        Args:
            command: The command line.
            return_stdout: Return what it prints.
            return_stderr: Return its errors as well.
            return_rc: Return its exit status as well.
            timeout: Deadline, for example ``5 s``; by default that of the import.
        """
        said = (return_stdout, return_stderr, return_rc)
        return super().execute_command(command, *said, timeout=timeout or self._timeout)

    @keyword
    def read_command_output(
        self,
        return_stdout: bool = True,
        return_stderr: bool = False,
        return_rc: bool = False,
        timeout: str | None = None,
    ) -> Any:
        """Read the output of a command that was started, as SSHLibrary's keyword does, with a deadline.

        Args:
            return_stdout: Return what it printed.
            return_stderr: Return its errors as well.
            return_rc: Return its exit status as well.
            timeout: Deadline, for example ``5 s``; by default that of the import.
        """
        return super().read_command_output(return_stdout, return_stderr, return_rc, timeout or self._timeout)

    @keyword
    def commands_should_run_on_the_server(self) -> None:
        """Check that a command runs on this server and on no other, and that its exit status comes back."""
        shells.runs_on_its_server(self.run, self._server, lambda it: self.execute_command(it, return_rc=True))

    @keyword
    def background_program_should_be_read_when_it_ends(self) -> None:
        """Start a program, run a command meanwhile, and check that the output of both is read."""
        shells.background_is_read_at_its_end(
            self._server, self.start_command, self.execute_command, self.read_command_output
        )

    @keyword
    def file_should_come_back_unchanged(self) -> None:
        """Copy a file to the server and back, and check that its content is the same."""
        folder = Path(BuiltIn().get_variable_value("${OUTPUT DIR}"))
        shells.file_comes_back(self.run, self._server, self.put_file, self.get_file, folder)
