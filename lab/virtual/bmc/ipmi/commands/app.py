"""About the BMC itself, its channel and its users (IPMI chapters 20 and 22)."""

from __future__ import annotations

import uuid

from bmc.ipmi.commands.table import Command, Level, NetFn, Request, Table
from bmc.ipmi.completion import Completion, RefusedError
from bmc.ipmi.crypto import AES_CBC_128, CipherSuite
from bmc.ipmi.sessions import FIRST_USER_ID, LEVELS
from bmc.service import FIRMWARE_VERSION

IPMI_FORUM = (7154).to_bytes(3, "little")
"""Enterprise number, used as manufacturer and channel vendor: no real vendor is claimed."""
LAN_CHANNEL = 1
THIS_CHANNEL = 0x0E
MAX_USER_ID = 16
_DISABLED_USER, _ENABLED_USERS = 0x0F, 0x40
_SUITES_PER_ANSWER = 16


def is_lan_channel(number: int) -> bool:
    """Does the channel number mean the LAN channel?"""
    return number & 0x0F in (LAN_CHANNEL, THIS_CHANNEL)


def need_lan_channel(number: int) -> None:
    """Refuse all other channels."""
    if not is_lan_channel(number):
        raise RefusedError(Completion.INVALID_FIELD)


def _device_id(_request: Request) -> bytes:
    major, minor = FIRMWARE_VERSION
    ipmi_2_0 = 0x02  # digits reversed
    features = 0x8F  # chassis, FRU inventory, SEL, SDR repository, sensors
    bcd_minor = minor // 10 << 4 | minor % 10
    return bytes([0x20, 1, major, bcd_minor, ipmi_2_0, features]) + IPMI_FORUM + bytes([1, 0]) + bytes(4)


def _cold_reset(request: Request) -> bytes:
    request.afterwards.append(request.sessions.close_all)
    return b""


def _self_test(_request: Request) -> bytes:
    no_error = 0x55
    return bytes([no_error, 0])


def guid_bytes(guid: uuid.UUID) -> bytes:
    """A GUID as IPMI sends it: the last byte first (IPMI table 20-10)."""
    return guid.bytes[::-1]


def _guid(request: Request) -> bytes:
    return guid_bytes(request.bmc.guid)


def _authentication_capabilities(request: Request) -> bytes:
    channel, level = request.data
    need_lan_channel(channel)
    if not 1 <= level & 0x0F <= Level.ADMINISTRATOR:
        raise RefusedError(Completion.INVALID_FIELD)
    wants_v2 = channel & 0x80
    types = 0x80 if wants_v2 else 0  # none of the types of IPMI 1.5
    only_named_users, only_v2_sessions = 0x04, 0x02
    return bytes([LAN_CHANNEL, types, only_named_users, only_v2_sessions if wants_v2 else 0, 0, 0, 0, 0])


def _cipher_suites(request: Request) -> bytes:
    channel, payload_type, index = request.data
    need_lan_channel(channel)
    if payload_type & 0x3F:
        raise RefusedError(Completion.INVALID_FIELD)
    if index & 0x80:
        everything = b"".join(
            bytes([0xC0, suite.value.number, suite.value.authentication])
            + bytes([0x40 | suite.value.integrity, 0x80 | AES_CBC_128])
            for suite in CipherSuite
        )
    else:
        authentications = [suite.value.authentication for suite in CipherSuite]
        integrities = [0x40 | suite.value.integrity for suite in CipherSuite]
        everything = bytes([*authentications, *integrities, 0x80 | AES_CBC_128])
    start = (index & 0x3F) * _SUITES_PER_ANSWER
    return bytes([LAN_CHANNEL]) + everything[start : start + _SUITES_PER_ANSWER]


def _channel_access(request: Request) -> bytes:
    need_lan_channel(request.data[0])
    if request.data[1] >> 6 not in (1, 2):
        raise RefusedError(Completion.INVALID_FIELD)
    no_alerts_always_available = 0x22
    return bytes([no_alerts_always_available, Level.ADMINISTRATOR])


def _channel_info(request: Request) -> bytes:
    need_lan_channel(request.data[0])
    lan_802_3, ipmb_1_0, multi_session = 4, 1, 0x80
    active = min(len(request.sessions.active), 0x3F)
    return bytes([LAN_CHANNEL, lan_802_3, ipmb_1_0, multi_session | active]) + IPMI_FORUM + bytes(2)


def _user_access(request: Request) -> bytes:
    need_lan_channel(request.data[0])
    user_id, users = request.data[1] & 0x3F, request.sessions.users
    if not 1 <= user_id <= MAX_USER_ID:
        raise RefusedError(Completion.OUT_OF_RANGE)
    at = user_id - FIRST_USER_ID
    access, status = _DISABLED_USER, 0x80
    if 0 <= at < len(users):
        may_use_ipmi = 0x10
        access, status = may_use_ipmi | LEVELS[users[at].privilege], _ENABLED_USERS
    return bytes([MAX_USER_ID, status | len(users), 1 + len(users), access])


def _user_name(request: Request) -> bytes:
    user_id, users = request.data[0] & 0x3F, request.sessions.users
    if not 1 <= user_id <= MAX_USER_ID:
        raise RefusedError(Completion.OUT_OF_RANGE)
    at = user_id - FIRST_USER_ID
    name = users[at].name if 0 <= at < len(users) else ""
    return name.encode("ascii").ljust(16, b"\0")


COMMANDS: Table = {
    (NetFn.APP, 0x01): Command(_device_id, Level.USER, (0, 0)),
    (NetFn.APP, 0x02): Command(_cold_reset, Level.ADMINISTRATOR, (0, 0)),
    (NetFn.APP, 0x04): Command(_self_test, Level.USER, (0, 0)),
    (NetFn.APP, 0x08): Command(_guid, Level.USER, (0, 0)),
    (NetFn.APP, 0x37): Command(_guid, Level.NONE, (0, 0)),
    (NetFn.APP, 0x38): Command(_authentication_capabilities, Level.NONE, (2, 2)),
    (NetFn.APP, 0x41): Command(_channel_access, Level.USER, (2, 2)),
    (NetFn.APP, 0x42): Command(_channel_info, Level.USER, (1, 1)),
    (NetFn.APP, 0x44): Command(_user_access, Level.OPERATOR, (2, 2)),
    (NetFn.APP, 0x46): Command(_user_name, Level.OPERATOR, (1, 1)),
    (NetFn.APP, 0x54): Command(_cipher_suites, Level.NONE, (3, 3)),
}
