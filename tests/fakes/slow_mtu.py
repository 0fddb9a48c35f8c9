"""Ports that are slow after a change of the MTU, until both ends of the path have been down and up (EMX-08)."""

from __future__ import annotations

from typing import Any

import pytest
from fake_bench import FakeBench
from fake_parts import Nic


class SlowPorts:
    """Watches every change of a port, whoever makes it. ``names``: the ports that are slow now."""

    def __init__(self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: set[str] = set()
        self.changes = 0
        self._bench = bench
        change = Nic.__setattr__

        def watched(nic: Nic, field: str, value: Any) -> None:
            change(nic, field, value)
            self._changed(nic, field, value)

        monkeypatch.setattr(Nic, "__setattr__", watched)

    def _changed(self, nic: Nic, field: str, value: object) -> None:
        cables = self._bench.cables
        name = next((name for name, known in cables.nics.items() if known is nic), None)
        if name is None:
            return
        if field == "mtu":
            self.changes += 1
            self.names |= {end for ends in cables.wires.values() if name in ends for end in ends}
        if field == "admin_up" and not value:
            self.names.discard(name)
