"""Two servers that are network namespaces of this machine, with two cables between them and a panel."""

from __future__ import annotations

from collections.abc import Iterator

import network_namespaces
import pytest
from namespaces import Namespaces
from paneled import Paneled

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


@pytest.fixture(scope="session")
def panel(namespaces: Namespaces) -> Iterator[Paneled]:
    """Servers whose cables a patch panel lays to a switch."""
    assert namespaces  # where they are possible
    with Paneled() as made:
        yield made


@pytest.fixture
def paneled(panel: Paneled, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paneled]:
    """Cables that do nothing wrong, also afterwards."""
    monkeypatch.setattr(spec, "QUIET_S", 0.5)
    panel.commands.clear()
    yield panel
    panel.spoil("")
