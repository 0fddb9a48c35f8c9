"""Shared parts of the virtual BMC's tests: a machine of memory, a BMC at work in a thread, and clients."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pyipmi
import pyipmi.interfaces
import pyipmi.interfaces.rmcpplus as rmcpplus
import requests
from bench_fakes import wait_for
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import control
from bmc.config import Config, load
from bmc.ipmi.sessions import Sessions
from bmc.machine import MachineError
from bmc.server import serving
from bmc.service import Bmc

LOOPBACK = "127.0.0.1"
USERS = [
    {"name": "admin", "password": "secret", "privilege": "administrator"},
    {"name": "keeper", "password": "handle", "privilege": "operator"},
    {"name": "viewer", "password": "look", "privilege": "user"},
]
PASSWORDS = {user["name"]: user["password"] for user in USERS}


class FakeMachine:
    """A machine of memory.

    Attributes:
        done: What was done to it, in order.
        broken: The next action fails with this text.
        takes_s: How long every action takes.
        held: No action comes to its end before this is taken back.
    """

    def __init__(self) -> None:
        self.on = False
        self.done: list[str] = []
        self.broken = ""
        self.takes_s = 0.0
        self.held = False

    def is_on(self) -> bool:
        return self.on

    async def power_on(self) -> None:
        await self._do("on")
        self.on = True

    async def power_off(self) -> None:
        await self._do("off")
        self.on = False

    async def cycle(self) -> None:
        await self._do("cycle")

    async def reset(self) -> None:
        await self._do("reset")

    async def nmi(self) -> None:
        await self._do("nmi")

    async def soft_shutdown(self) -> None:
        await self._do("soft")

    async def _do(self, what: str) -> None:
        while self.held:
            await asyncio.sleep(0.01)
        await asyncio.sleep(self.takes_s)
        if self.broken:
            raise MachineError(self.broken)
        self.done.append(what)


def free_port(kind: socket.SocketKind) -> int:
    """A loopback port that is free now."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def write_certificate(folder: Path) -> None:
    """``cert.pem`` and ``key.pem`` for the loopback address, self-signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bmc")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address(LOOPBACK))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def config_content(folder: Path) -> dict[str, Any]:
    """A good configuration, its files in ``folder``."""
    (folder / "run").mkdir(exist_ok=True)
    if not (folder / "cert.pem").exists():
        write_certificate(folder)
    return {
        "name": "s1",
        "address": LOOPBACK,
        "ipmi_port": free_port(socket.SOCK_DGRAM),
        "redfish_port": free_port(socket.SOCK_STREAM),
        "tls_cert": str(folder / "cert.pem"),
        "tls_key": str(folder / "key.pem"),
        "users": USERS,
        "run_dir": str(folder / "run"),
        "sel_file": str(folder / "sel.json"),
        "control_socket": str(folder / "bmc.control"),
        "cycle_s": 0.1,
    }


def make_config(folder: Path) -> Config:
    """The configuration of :func:`config_content`, read as the BMC reads it."""
    (folder / "config.json").write_text(json.dumps(config_content(folder)))
    return load(folder / "config.json")


class RunningBmc:
    """A BMC at work in a thread: ``with RunningBmc(folder) as bmc``."""

    def __init__(self, folder: Path, config: Config | None = None) -> None:
        self.config = config or make_config(folder)
        self.machine = FakeMachine()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self.bmc: Bmc
        self.sessions: Sessions

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self.bmc = Bmc(self.config, self.machine)
        async with serving(self.bmc) as self.sessions:
            self._ready.set()
            await self._stop.wait()

    def __enter__(self) -> RunningBmc:
        self._thread.start()
        assert self._ready.wait(10), "the BMC does not start"
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    def reset(self) -> None:
        """As after the start: machine off, no faults, empty log. For tests that share a BMC."""
        self.control({"fault": {}})
        self.machine.held = False
        wait_for(lambda: not self.bmc.is_busy, "no power command at work")
        self.machine.on, self.machine.broken, self.machine.takes_s = False, "", 0.0
        self.machine.done.clear()
        wait_for(lambda: self.bmc.seen_on is False, "the watch has seen the power state")
        for info in self.config.sensors:
            self.control({"sensor": info.number, "value": info.value})
        self.call(self.bmc.sel.clear)

    def power(self, on: bool) -> None:
        """Let the machine be on or off, as if nobody had commanded it, and forget the event of it."""
        self.machine.on = on
        wait_for(lambda: self.bmc.seen_on is on, "the watch has seen the power state")
        self.call(self.bmc.sel.clear)

    def call(self, function: Callable[[], Any]) -> Any:
        """Run a function in the thread of the BMC."""

        async def run() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    def control(self, request: dict[str, Any]) -> dict[str, Any]:
        """Ask the control socket."""
        return control.ask(self.config.control_socket, request)

    @property
    def events(self) -> list[str]:
        """The texts of the event log."""
        return [record.text for record in self.bmc.sel.records]

    # -- clients

    def ipmitool(
        self,
        *words: str,
        user: str = "admin",
        password: str | None = None,
        options: tuple[str, ...] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run Debian's ipmitool."""
        target = ["-I", "lanplus", "-H", LOOPBACK, "-p", str(self.config.ipmi_port), "-U", user, "-E"]
        return subprocess.run(
            ["ipmitool", "-N", "1", "-R", "1", *target, *options, *words],
            env={**os.environ, "IPMI_PASSWORD": PASSWORDS.get(user, "") if password is None else password},
            capture_output=True,
            text=True,
            timeout=30,
        )

    def ipmitool_ok(self, *words: str, **how: Any) -> str:
        """Run ipmitool and insist on success."""
        done = self.ipmitool(*words, **how)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @contextmanager
    def python_ipmi(
        self,
        user: str = "admin",
        password: str | None = None,
        suite: int = 3,
        level: str = "ADMINISTRATOR",
        prepare: Callable[[Any], object] = bool,
    ) -> Iterator[Any]:
        """A python-ipmi session; ``prepare`` gets the interface before it is opened."""
        interface = pyipmi.interfaces.create_interface("rmcpplus", cipher_suite=suite, keep_alive_interval=0)
        prepare(interface)
        client = pyipmi.create_connection(interface)
        client.session.set_session_type_rmcp(LOOPBACK, port=self.config.ipmi_port)
        client.session.set_auth_type_user(user, PASSWORDS[user] if password is None else password)
        client.session.set_priv_level(level)
        client.target = pyipmi.Target(ipmb_address=0x20)
        client.open()
        try:
            yield client
        finally:
            client.close()

    def redfish(self, user: str | None = "admin", password: str | None = None) -> requests.Session:
        """An HTTPS client that checks the certificate; with ``None`` as user it sends no credentials."""
        session = requests.Session()
        session.verify = str(self.config.tls_cert)
        session.trust_env = False
        if user is not None:
            session.auth = (user, PASSWORDS.get(user, "") if password is None else password)
        return session

    def url(self, path: str) -> str:
        """A Redfish path as URL."""
        return f"https://{LOOPBACK}:{self.config.redfish_port}{path}"


class ConstantsOf20Bytes(rmcpplus.SessionKeys):  # type: ignore[misc]  # python-ipmi has no types
    """Session keys as ipmitool and OpenBMC make them; python-ipmi 0.6.1 is wrong for suite 17."""

    def __init__(self, suite: Any, sik: bytes) -> None:
        super().__init__(suite, sik)
        digest = rmcpplus.AUTH_ALGORITHMS[suite.authentication][0]
        self.k1, self.k2 = (rmcpplus.hmac.new(sik, number * 20, digest).digest() for number in (b"\x01", b"\x02"))


def seconds_of(action: Callable[[], Any]) -> float:
    """Return the duration of the action."""
    begin_s = time.monotonic()
    action()
    return time.monotonic() - begin_s
