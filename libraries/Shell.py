"""SSHLibrary for suites that QA engineers write, logged in by this lab: host keys and secrets are handled right.

SSHLibrary accepts any host key, waits 40 ms per command for Nagle's algorithm, can hang for ever on a server that
stands still, and shows passwords at TRACE level. Opened here, the host key it was shown must be the one known for the
server, small packets are sent at once, every wait has an end, and the key file is handed over from Python.
"""

from __future__ import annotations

import socket

from paramiko import HostKeys
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

from BenchLibrary import BenchLibrary
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault

SSH_PORT = 22


@library(scope="GLOBAL")
class Shell(BenchLibrary):
    """Opens and closes SSHLibrary connections. Constructing the library connects to nothing."""

    @keyword
    def open_shell(self, library: str, server: Role, timeout_s: int = 30) -> None:
        """Log the SSHLibrary instance imported as ``library`` in to ``server`` (``dut`` or ``peer``).

        Import one instance per server (``Library    SSHLibrary    AS    DutShell``): each has one current connection.

        :param timeout_s: deadline of each of its commands, in seconds.
        """
        target = self.run.server(server)
        ssh = target.ssh.endpoint
        if ssh.jump is not None:
            raise BenchFault(f"{target.name}: SSHLibrary connections through a jump host are not supported")
        instance = BuiltIn().get_library_instance(library)
        instance.open_connection(ssh.address, alias=server.value, port=ssh.port, timeout=f"{timeout_s} s")
        instance.login_with_public_key(ssh.user, str(ssh.key_file), delay="0 s")
        transport = instance.current.client.get_transport()
        place = ssh.address if ssh.port == SSH_PORT else f"[{ssh.address}]:{ssh.port}"
        if not HostKeys(str(ssh.known_hosts)).check(place, transport.get_remote_server_key()):
            instance.close_connection()
            raise BenchFault(f"{target.name}: SSHLibrary was shown a host key that is not in {ssh.known_hosts}")
        transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @keyword
    def close_connections_of(self, *libraries: str) -> None:
        """Close every connection of these SSHLibrary instances."""
        for name in libraries:
            BuiltIn().get_library_instance(name).close_all_connections()
