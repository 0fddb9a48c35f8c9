"""Configuration of the LAN channel, to be read (IPMI chapter 23)."""

from __future__ import annotations

import struct

from bmc.ipmi.commands.app import need_lan_channel
from bmc.ipmi.commands.table import Command, Level, NetFn, Request, Table
from bmc.ipmi.completion import Completion, RefusedError
from bmc.ipmi.crypto import CipherSuite

_REVISION = 0x11
_STATIC_ADDRESS = 1
_MAC_PREFIX = bytes([0x02, 0x00])
"""Locally administered; the last four bytes are the IPv4 address."""
_MAX_LEVEL_OF_EVERY_SUITE = 0x44  # administrator, two suites a byte


def _lan_parameter(request: Request) -> bytes:
    channel, number, _, _ = request.data
    need_lan_channel(channel)
    only_revision = channel & 0x80
    if only_revision:
        return bytes([_REVISION])
    value = _parameters(request).get(number)
    if value is None:
        raise RefusedError(Completion.PARAMETER_NOT_SUPPORTED)
    return bytes([_REVISION]) + value


def _parameters(request: Request) -> dict[int, bytes]:
    """Parameter number -> value (IPMI table 23-4)."""
    address = request.bmc.config.address.packed
    suites = [suite.value.number for suite in CipherSuite]
    return {
        0: bytes(1),  # no set in progress
        1: bytes(1),  # no authentication types of IPMI 1.5
        2: bytes(5),  # none enabled at any level either
        3: address,
        4: bytes([_STATIC_ADDRESS]),
        5: _MAC_PREFIX + address,
        6: bytes([255, 255, 255, 255]),
        8: struct.pack("<H", request.bmc.config.ipmi_port),
        12: bytes(4),  # no gateway
        13: bytes(6),
        20: bytes(2),  # no VLAN
        21: bytes(1),
        22: bytes([len(suites)]),
        23: bytes([0, *suites]).ljust(17, b"\0"),
        24: bytes([0, _MAX_LEVEL_OF_EVERY_SUITE]) + bytes(7),
    }


COMMANDS: Table = {(NetFn.TRANSPORT, 0x02): Command(_lan_parameter, Level.OPERATOR, (4, 4))}
