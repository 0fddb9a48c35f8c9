"""Throw-away servers on loopback for the transport tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

from throwaway_sshd import SshdMaker, ThrowawaySshd, sshd_program

from niclab.transports.ssh import SshHost


def _need_sshd() -> None:
    if sshd_program() is None:
        pytest.skip("sshd is not installed (Debian: openssh-server)")


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThrowawaySshd]:
    """A server shared by the tests of a module; do not hurt it."""
    _need_sshd()
    with ThrowawaySshd(tmp_path_factory.mktemp("sshd"), "dut") as server:
        yield server


@pytest.fixture(scope="module")
def host(sshd: ThrowawaySshd) -> Iterator[SshHost]:
    with SshHost(sshd.endpoint) as host:
        yield host


@pytest.fixture
def make_sshd(tmp_path: Path) -> Iterator[SshdMaker]:
    """Makes servers that a test may freeze and kill."""
    _need_sshd()
    servers: list[ThrowawaySshd] = []

    def make(name: str = "dut") -> ThrowawaySshd:
        server = ThrowawaySshd(tmp_path / name, name)
        servers.append(server)
        server.start()
        return server

    yield make
    for server in servers:
        server.stop()


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """3 s less of grace, for tests of the deadline's effect; its real length has a test of its own."""
    monkeypatch.setattr("niclab.transports.ssh.GRACE_S", 5.0)
    for module in ("ssh", "ssh_pool", "ssh_stream"):
        monkeypatch.setattr(f"niclab.transports.{module}.KILL_AFTER_S", 1)
