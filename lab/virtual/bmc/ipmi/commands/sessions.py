"""About sessions (IPMI 22.18 to 22.20)."""

from __future__ import annotations

import ipaddress
import struct

from bmc.ipmi.commands.app import LAN_CHANNEL
from bmc.ipmi.commands.table import Command, Level, NetFn, Request, Table
from bmc.ipmi.completion import Completion, RefusedError
from bmc.ipmi.sessions import MAX_SESSIONS, Session

_PRESENT, _BY_HANDLE, _BY_ID = 0x00, 0xFE, 0xFF
_RMCP_PLUS = 1 << 4


def _own(request: Request) -> Session:
    """The session of the request; the level of the commands here makes sure there is one."""
    if request.session is None:
        raise RefusedError(Completion.INSUFFICIENT_PRIVILEGE)
    return request.session


def _set_privilege(request: Request) -> bytes:
    session, wanted = _own(request), request.data[0] & 0x0F
    if wanted:
        if not Level.USER <= wanted <= Level.ADMINISTRATOR:
            raise RefusedError(Completion.INVALID_FIELD)
        if wanted > session.limit:
            raise RefusedError(Completion.PRIVILEGE_LIMIT)
        session.level = wanted
    return bytes([session.level])


def _close(request: Request) -> bytes:
    session_id = int.from_bytes(request.data[:4], "little")
    if session_id not in request.sessions.active:
        raise RefusedError(Completion.INVALID_SESSION)
    if session_id != _own(request).session_id and request.level < Level.ADMINISTRATOR:
        raise RefusedError(Completion.INSUFFICIENT_PRIVILEGE)
    request.afterwards.append(lambda: request.sessions.close(session_id))
    return b""


def _info(request: Request) -> bytes:
    active = list(request.sessions.active.values())
    found = _found(request, active)
    if found is None:
        return bytes([0, MAX_SESSIONS, len(active)])
    address, port = found.peer
    head = bytes([active.index(found) + 1, MAX_SESSIONS, len(active), found.user_id, found.level])
    no_mac = bytes(6)
    return (
        head
        + bytes([_RMCP_PLUS | LAN_CHANNEL])
        + ipaddress.IPv4Address(address).packed
        + no_mac
        + struct.pack("<H", port)
    )


def _found(request: Request, active: list[Session]) -> Session | None:
    """The session the request asks about; ``None`` when there are fewer sessions than the asked number."""
    index, key = request.data[0], int.from_bytes(request.data[1:], "little")
    if index == _PRESENT:
        return _own(request)
    if index == _BY_ID and len(request.data) == 5:
        found = request.sessions.find(key)
    elif index == _BY_HANDLE and len(request.data) == 2:
        found = active[key - 1] if 1 <= key <= len(active) else None
    elif index in (_BY_ID, _BY_HANDLE):
        raise RefusedError(Completion.WRONG_LENGTH)
    else:
        return active[index - 1] if index <= len(active) else None
    if found is None:
        raise RefusedError(Completion.NOT_PRESENT)
    return found


COMMANDS: Table = {
    (NetFn.APP, 0x3B): Command(_set_privilege, Level.USER, (1, 1)),
    (NetFn.APP, 0x3C): Command(_close, Level.USER, (4, 4)),
    (NetFn.APP, 0x3D): Command(_info, Level.USER, (1, 5)),
}
