"""net-snmp's agent on loopback, for tests and measurements: an agent that is not of this repository's making."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path
from types import TracebackType

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.transports.snmp.snmp import Communities, Snmp, SnmpEndpoint, User
from niclab.transports.snmp.snmp_records import VARIABLES

READ, WRITE = "throwaway-read", "throwaway-write"
USER, READER, AUTH, PRIV = "throwaway-user", "throwaway-reader", "throwaway-auth-password", "throwaway-priv-password"
CONFIGURATION = f"""\
rocommunity {READ} 127.0.0.1
rwcommunity {WRITE} 127.0.0.1
createUser {USER} SHA-256 "{AUTH}" AES "{PRIV}"
createUser {READER} SHA-256 "{AUTH}" AES "{PRIV}"
rwuser {USER} priv
rouser {READER} priv
sysLocation nowhere
"""


def snmpd_program() -> str | None:
    """The agent, where it is installed (Debian: snmpd)."""
    return shutil.which("snmpd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


class ThrowawaySnmpd:
    """An agent that answers while the ``with`` block runs; its files are in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    def endpoint(self, login: Communities | User) -> SnmpEndpoint:
        return SnmpEndpoint("sw1", "127.0.0.1", self.port, login)

    def __enter__(self) -> ThrowawaySnmpd:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "snmpd.conf"
        file.write_text(CONFIGURATION)
        program = snmpd_program()
        assert program is not None
        command = [program, "-f", "-Lf", str(self.folder / "log"), "-C", "-c", str(file), f"udp:127.0.0.1:{self.port}"]
        environment = {**os.environ, "SNMP_PERSISTENT_DIR": str(self.folder / "state"), "MIBS": ""}
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
        until(self._answers, within=20, what=f"{program} answers")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(20)

    def _answers(self) -> bool:
        try:
            Snmp(self.endpoint(Communities(READ, WRITE))).get(VARIABLES["sysUpTime"].at(0))
        except BenchFault:
            return False
        return True
