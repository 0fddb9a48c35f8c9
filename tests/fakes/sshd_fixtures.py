"""Throw-away SSH servers on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from throwaway_sshd import SshdMaker, ThrowawaySshd, sshd_program


def need_sshd() -> None:
    if sshd_program() is None:
        pytest.skip("sshd is not installed (Debian: openssh-server)")


@pytest.fixture
def make_sshd(tmp_path: Path) -> Iterator[SshdMaker]:
    """Makes servers that a test may freeze and kill."""
    need_sshd()
    servers: list[ThrowawaySshd] = []

    def make(name: str = "dut") -> ThrowawaySshd:
        server = ThrowawaySshd(tmp_path / name, name)
        servers.append(server)
        server.start()
        return server

    yield make
    for server in servers:
        server.stop()
