"""Octets of an agent as values: names, MAC addresses, port lists, flags. What cannot be read is refused."""

from __future__ import annotations

from collections.abc import Iterable

from niclab.core.verdict import BenchFault
from niclab.switch.switch_records import LacpFlags
from niclab.transports.snmp.snmp_records import Value, shown

_MAC_BYTES = 6


def text(value: Value) -> str:
    """An octet string as text; what is no text is shown in hex."""
    assert isinstance(value, bytes)
    words = value.rstrip(b"\0").decode("utf-8", errors="replace")
    return words if words.isprintable() and "\ufffd" not in words else f"0x{value.hex()}"


def mac(value: Value, what: str) -> str:
    """A MAC address of six octets, as ``52:54:00:12:34:56``.

    Raises:
        BenchFault: When it has not six; names ``what`` it is.
    """
    assert isinstance(value, bytes)
    if len(value) != _MAC_BYTES:
        raise BenchFault(f"{what} is {shown(value)}; expected a MAC address of 6 octets")
    return value.hex(":")


def ports_of(value: Value) -> frozenset[int]:
    """The ports of a ``PortList`` (RFC 4363): bit 0x80 of the first octet is port 1.

    >>> sorted(ports_of(bytes.fromhex("a001")))
    [1, 3, 16]
    """
    assert isinstance(value, bytes)
    return frozenset(
        place * 8 + bit + 1 for place, octet in enumerate(value) for bit in range(8) if octet & (0x80 >> bit)
    )


def port_list(ports: Iterable[int], octets: int) -> bytes:
    """A ``PortList`` of at least ``octets`` octets.

    >>> port_list([1, 3, 16], 1).hex()
    'a001'
    """
    wanted = sorted(ports)
    listed = bytearray(max(octets, (wanted[-1] + 7) // 8 if wanted else 0))
    for port in wanted:
        listed[(port - 1) // 8] |= 0x80 >> (port - 1) % 8
    return bytes(listed)


def lacp_flags(value: Value, what: str) -> LacpFlags:
    """The eight flags of a LacpState: as BITS, the first is the highest bit of the octet.

    Raises:
        BenchFault: When it is not one octet.
    """
    assert isinstance(value, bytes)
    if len(value) != 1:
        raise BenchFault(f"{what} is {shown(value)}; expected the 8 flags of a LacpState in one octet")
    return LacpFlags(*(bool(value[0] & (0x80 >> bit)) for bit in range(8)))
