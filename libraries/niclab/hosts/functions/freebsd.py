"""FreeBSD host: virtual functions, which need a file of configuration for each driver."""

from __future__ import annotations

from typing import NoReturn

from niclab.core.verdict import NotApplicable
from niclab.hosts.functions.function_records import FunctionCount, FunctionRules, VirtualFunction
from niclab.hosts.parity import not_available
from niclab.hosts.settings.settings_records import Attempt

_BY_FILE = "iovctl(8) makes them from a file whose schema each driver has for itself; this lab writes none"


class FreeBsdFunctions:
    """See :class:`niclab.hosts.host.HostFunctions` for the meaning of each method."""

    def __init__(self, name: str) -> None:
        self._name = name

    @not_available(_BY_FILE)
    def count(self, address: str) -> FunctionCount:
        self._none(address)

    @not_available(_BY_FILE)
    def set_count(self, address: str, count: int) -> Attempt[FunctionCount]:
        self._none(f"{address}, {count}")

    @not_available(_BY_FILE)
    def functions(self, address: str) -> tuple[VirtualFunction, ...]:
        self._none(address)

    @not_available(_BY_FILE)
    def set_vlan(self, iface: str, number: int, vlan_id: int) -> Attempt[tuple[FunctionRules, ...]]:
        self._none(f"{iface}, function {number}, VLAN {vlan_id}")

    @not_available(_BY_FILE)
    def set_spoof_check(self, iface: str, number: int, on: bool) -> Attempt[tuple[FunctionRules, ...]]:
        self._none(f"{iface}, function {number}, spoof check {on}")

    @not_available(_BY_FILE)
    def restoring(self, address: str) -> str:
        self._none(address)

    def _none(self, what: str) -> NoReturn:
        raise NotApplicable(f"{self._name}: {what}: no virtual functions: FreeBSD: {_BY_FILE}")
