"""Two servers that are network namespaces of this machine, with two cables between them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest
from namespaces import Namespaces

from niclab.frames import spec


def _possible() -> bool:
    look = ["unshare", "-n", "ip", "link", "add", "test0", "type", "veth", "peer", "name", "test1"]
    try:
        return os.geteuid() == 0 and subprocess.run(look, capture_output=True).returncode == 0
    except OSError:
        return False


@pytest.fixture(scope="session")
def namespaces() -> Iterator[Namespaces]:
    if not _possible():
        pytest.skip("needs root and network namespaces with veth")
    with Namespaces() as made:
        yield made


@pytest.fixture
def clean(namespaces: Namespaces, monkeypatch: pytest.MonkeyPatch) -> Iterator[Namespaces]:
    """Cables that do nothing wrong, also afterwards. Nothing here is slow, so that silence is short."""
    monkeypatch.setattr(spec, "QUIET_S", 0.5)
    yield namespaces
    namespaces.spoil("")
