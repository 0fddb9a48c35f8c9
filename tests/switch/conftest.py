"""A fake switch, and the framework's view of it."""

from __future__ import annotations

import pytest
from fake_switch import FakeSwitch

from niclab.switch import model
from niclab.switch.switch import Switch


@pytest.fixture
def fake() -> FakeSwitch:
    return FakeSwitch()


@pytest.fixture
def switch(fake: FakeSwitch) -> Switch:
    """A switch that is given a fifth of a second to do what it accepted."""
    generic = model.load_model("generic")
    return fake.switch(generic.model_copy(update={"set_seen_within_s": 0.2}))
