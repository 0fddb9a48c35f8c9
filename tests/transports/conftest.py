"""Throw-away servers on loopback for the transport tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sshd_fixtures import make_sshd, need_sshd
from throwaway_sshd import ThrowawaySshd

from niclab.transports.ssh.ssh import SshHost

__all__ = ["make_sshd"]


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThrowawaySshd]:
    """A server shared by the tests of a module; do not hurt it."""
    need_sshd()
    with ThrowawaySshd(tmp_path_factory.mktemp("sshd"), "dut") as server:
        yield server


@pytest.fixture(scope="module")
def host(sshd: ThrowawaySshd) -> Iterator[SshHost]:
    with SshHost(sshd.endpoint) as host:
        yield host


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """3 s less of grace, for tests of the deadline's effect; its real length has a test of its own."""
    monkeypatch.setattr("niclab.transports.ssh.ssh.GRACE_S", 5.0)
    for module in ("ssh", "ssh_pool", "ssh_stream"):
        monkeypatch.setattr(f"niclab.transports.ssh.{module}.KILL_AFTER_S", 1)
