"""The Toeplitz hash of receive side scaling.

Microsoft, "RSS Hashing Functions" and "Verifying the RSS Hash Calculation" (Windows driver documentation): for each bit
of the input that is set, the leftmost 32 bits of the key, shifted by the place of the bit, are added without carry. The
lowest bits of the hash choose the entry of the indirection table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_address

from niclab.hosts.steering.hash_records import HashField

HASH_BITS = 32


def toeplitz(key: bytes, data: bytes) -> int:
    """Hash bytes.

    Args:
        key: The key, at least four bytes longer than the data.
        data: The input, in network order.

    Raises:
        ValueError: The key is too short.
    """
    if len(key) < len(data) + HASH_BITS // 8:
        raise ValueError(f"key of {len(key)} bytes for {len(data)} bytes; expected at least {len(data) + 4}")
    found = 0
    for table, byte in zip(_tables(key, len(data)), data, strict=True):
        found ^= table[byte]
    return found


@lru_cache(maxsize=16)
def _tables(key: bytes, size: int) -> Sequence[Sequence[int]]:
    """For each place of a byte in the input, what each value of it adds to the hash."""
    bits, width = int.from_bytes(key, "big"), 8 * len(key)
    mask = (1 << HASH_BITS) - 1
    windows = [bits >> width - HASH_BITS - place & mask for place in range(8 * size)]
    found = []
    for at in range(0, 8 * size, 8):
        table = [0]
        for value in range(1, 256):
            lowest = (value & -value).bit_length() - 1
            table.append(table[value & value - 1] ^ windows[at + 7 - lowest])
        found.append(table)
    return found


def hash_input(fields: frozenset[HashField], addresses: tuple[str, str], ports: tuple[int, int]) -> bytes:
    """Put the fields of a flow in the order in which they are hashed: addresses, ports, the sender's first.

    Args:
        fields: The fields that are hashed.
        addresses: IP addresses of sender and receiver.
        ports: Their ports.
    """
    values = (
        (HashField.SOURCE, _packed(addresses[0])),
        (HashField.DESTINATION, _packed(addresses[1])),
        (HashField.SOURCE_PORT, ports[0].to_bytes(2, "big")),
        (HashField.DESTINATION_PORT, ports[1].to_bytes(2, "big")),
    )
    return b"".join(value for field, value in values if field in fields)


@lru_cache(maxsize=16)
def _packed(address: str) -> bytes:
    return ip_address(address).packed


def predicted_queue(key: bytes, table: Sequence[int], data: bytes) -> int:
    """The queue of a flow.

    Args:
        key: The key of the card.
        table: Its indirection table, whose size is a power of two.
        data: The flow's :func:`hash_input`.
    """
    return table[toeplitz(key, data) & len(table) - 1]
