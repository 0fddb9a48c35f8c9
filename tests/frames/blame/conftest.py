"""Two servers whose cables a patch panel lays to a switch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from namespaces import Namespaces
from paneled import Paneled

from niclab.frames import spec


@pytest.fixture(scope="session")
def panel(namespaces: Namespaces) -> Iterator[Paneled]:
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
