"""The numbers of ports and aggregations, and the form of sets of ports."""

from __future__ import annotations

from collections.abc import Iterable

IF_INDEX, AGGREGATOR_INDEX = 100, 200
"""ifIndex is another number than that of the bridge port, as on most switches: who mixes them up finds nothing."""
PORT_LIST_BYTES = 1


def if_index(port: int) -> int:
    return IF_INDEX + port


def aggregator_index(leader: int) -> int:
    return AGGREGATOR_INDEX + leader


def port_list(ports: Iterable[int]) -> bytes:
    """A PortList (RFC 4363): bridge port 1 is the highest bit of the first octet."""
    octets = bytearray(PORT_LIST_BYTES)
    for port in ports:
        octets[(port - 1) // 8] |= 0x80 >> (port - 1) % 8
    return bytes(octets)


def ports_of(text: bytes) -> set[int]:
    """The ports in a PortList."""
    return {8 * at + bit + 1 for at, octet in enumerate(text) for bit in range(8) if octet & 0x80 >> bit}


def ticks(seconds: float) -> int:
    """TimeTicks: hundredths of a second, 32 bits."""
    return int(seconds * 100) & 0xFFFFFFFF
