"""The parts of a host's links that Linux and FreeBSD share."""

from __future__ import annotations

import ipaddress
from abc import abstractmethod

from niclab.core.verdict import BenchFault
from niclab.hosts.host_commands import HostCommands
from niclab.hosts.host_records import Interface

_LARGEST_PING_BYTES = 65507  # largest ICMP payload of an IPv4 packet: 65535 - 20 - 8

Address = ipaddress.IPv4Interface | ipaddress.IPv6Interface


class CommonLinks(HostCommands):
    """The commands are those of the system; what is done with them, and what is refused, is the same."""

    def listeners(self, port: int) -> tuple[str, ...]:
        """Return the listeners on a port, at any address, with TCP or UDP, one line each.

        Args:
            port: Number of the port.
        """
        lines = self._run(self._listeners_command(int(port))).splitlines()
        return tuple(line.strip() for line in lines if line.strip())

    def set_link(self, iface: str, up: bool) -> None:
        """Set the interface administratively up or down, and see that it is. The carrier may need seconds more."""
        state = "up" if up else "down"
        change = self._link_command(iface, state)
        if self._changed(change, iface).admin_up is not up:
            raise BenchFault(f"{self.name}: {iface} is not {state} after `{change}`")

    def _want_ping(self, count: int, wait_s: int, interval_s: float, size: int | None) -> None:
        for what, value in (("count", count), ("wait_s", wait_s)):
            if value < 1:
                raise BenchFault(f"{self.name}: ping {what} {value}; expected a whole number from 1")
        if not 0.001 <= interval_s <= 60:
            raise BenchFault(f"{self.name}: ping interval_s {interval_s}; expected 0.001 to 60 seconds")
        if size is not None and not 0 <= size <= _LARGEST_PING_BYTES:
            raise BenchFault(f"{self.name}: ping size {size}; expected 0 to {_LARGEST_PING_BYTES} bytes")

    @abstractmethod
    def _listeners_command(self, port: int) -> str: ...

    @abstractmethod
    def _link_command(self, iface: str, state: str) -> str: ...

    @abstractmethod
    def _changed(self, change: str, iface: str) -> Interface:
        """The interface after ``change``; one command for both, since a command costs a server a tenth of a second."""


def addresses(record: Interface) -> list[Address]:
    """Return the addresses of an interface, each with its network."""
    return [ipaddress.ip_interface(f"{entry.address}/{entry.prefix_length}") for entry in record.addresses]
