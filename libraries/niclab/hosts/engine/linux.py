"""Linux host: TCP that the card does itself, for which Linux' kernel has no interface."""

from __future__ import annotations

from typing import NoReturn

from niclab.core.verdict import NotApplicable
from niclab.hosts.engine.engine_records import Placing
from niclab.hosts.parity import not_available
from niclab.hosts.settings.settings_records import Attempt

_NONE = "no TCP offload: Linux' kernel has no interface for it; drivers of vendors that bring their own are not read"


class LinuxEngine:
    """See :class:`niclab.hosts.host.HostEngine` for the meaning of each method."""

    def __init__(self, name: str) -> None:
        self._name = name

    @not_available(_NONE)
    def is_reserved(self, iface: str) -> bool:
        self._none(iface)

    @not_available(_NONE)
    def is_by_policy(self, iface: str) -> bool:
        self._none(iface)

    @not_available(_NONE)
    def connections_command(self, iface: str) -> str:
        self._none(iface)

    @not_available(_NONE)
    def read_connections(self, text: str) -> int:
        self._none(f"connections in {len(text)} characters")

    @not_available(_NONE)
    def placing(self, iface: str) -> Placing:
        self._none(iface)

    @not_available(_NONE)
    def set_placing(self, iface: str, on: bool) -> Attempt[Placing]:
        self._none(f"{iface}, {on}")

    @not_available(_NONE)
    def restoring_placing(self, iface: str) -> str:
        self._none(iface)

    @not_available(_NONE)
    def buffers(self, iface: str) -> int:
        self._none(iface)

    def _none(self, what: str) -> NoReturn:
        raise NotApplicable(f"{self._name}: {what}: {_NONE}")
