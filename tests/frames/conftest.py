"""Two servers that are network namespaces of this machine, with two cables between them."""

from __future__ import annotations

from collections.abc import Iterator

import network_namespaces
import pytest
from namespaces import Namespaces

from niclab.frames import spec


@pytest.fixture(scope="session")
def namespaces() -> Iterator[Namespaces]:
    if not network_namespaces.are_possible():
        pytest.skip("needs root and network namespaces with veth")
    with Namespaces() as made:
        yield made


@pytest.fixture
def clean(namespaces: Namespaces, monkeypatch: pytest.MonkeyPatch) -> Iterator[Namespaces]:
    """Cables that do nothing wrong, also afterwards. Nothing here is slow, so that silence is short."""
    monkeypatch.setattr(spec, "QUIET_S", 0.5)
    yield namespaces
    namespaces.spoil("")
