"""FRU inventory, Sensor Data Records, event log (IPMI chapters 31, 33, 34)."""

from __future__ import annotations

import struct

from bmc.fru import encode
from bmc.ipmi.commands.table import Command, Level, NetFn, Request, Table
from bmc.ipmi.completion import Completion, RefusedError
from bmc.sel import NEVER

_VERSION = 0x51
_LAST = 0xFFFF
_ENTIRE = 0xFF
_ONLY_FRU = 0
_ERASED = 1
_SDR_RESERVATION = 1
"""The repository never changes, so one reservation holds for ever."""
_ERASE, _ERASE_STATUS = 0xAA, 0x00


# -- FRU inventory


def _fru_info(request: Request) -> bytes:
    _need_only_fru(request.data[0])
    by_bytes = 0
    return struct.pack("<HB", len(encode(request.bmc.config.fru)), by_bytes)


def _fru_read(request: Request) -> bytes:
    device, offset, count = struct.unpack("<BHB", request.data)
    _need_only_fru(device)
    inventory = encode(request.bmc.config.fru)
    if offset >= len(inventory) or count == 0:
        raise RefusedError(Completion.OUT_OF_RANGE)
    part = inventory[offset : offset + count]
    return bytes([len(part)]) + part


def _need_only_fru(device: int) -> None:
    if device != _ONLY_FRU:
        raise RefusedError(Completion.NOT_PRESENT)


# -- Sensor Data Records


def _sdr_info(request: Request) -> bytes:
    count, unknown_room = len(request.bmc.sdr_repository()), 0xFFFF
    reserve_supported = 0x02
    return struct.pack("<BHHIIB", _VERSION, count, unknown_room, 0, 0, reserve_supported)


def _sdr_reserve(_request: Request) -> bytes:
    return struct.pack("<H", _SDR_RESERVATION)


def _sdr_get(request: Request) -> bytes:
    reservation, record_id, offset, count = struct.unpack("<HHBB", request.data)
    if offset and reservation != _SDR_RESERVATION:
        raise RefusedError(Completion.RESERVATION_CANCELLED)
    records = request.bmc.sdr_repository()
    position = {0: 1, _LAST: len(records)}.get(record_id, record_id)
    if position > len(records):
        raise RefusedError(Completion.NOT_PRESENT)
    following = position + 1 if position < len(records) else _LAST
    return struct.pack("<H", following) + _part(records[position - 1], offset, count)


# -- event log


def _sel_info(request: Request) -> bytes:
    sel = request.bmc.sel
    overflow, can_reserve_and_delete = 0x80 if sel.overflow else 0, 0x0A
    return struct.pack(
        "<BHHIIB",
        _VERSION,
        len(sel.records),
        sel.free_bytes,
        sel.last_add_s,
        sel.last_erase_s,
        overflow | can_reserve_and_delete,
    )


def _sel_reserve(request: Request) -> bytes:
    return struct.pack("<H", request.bmc.sel.reserve())


def _sel_get(request: Request) -> bytes:
    reservation, record_id, offset, count = struct.unpack("<HHBB", request.data)
    if offset:
        _need_reservation(request, reservation)
    records = request.bmc.sel.records
    ids = [record.record_id for record in records]
    if not records:
        raise RefusedError(Completion.NOT_PRESENT)
    wanted = {0: ids[0], _LAST: ids[-1]}.get(record_id, record_id)
    if wanted not in ids:
        raise RefusedError(Completion.NOT_PRESENT)
    position = ids.index(wanted)
    following = ids[position + 1] if position + 1 < len(ids) else _LAST
    return struct.pack("<H", following) + _part(records[position].raw, offset, count)


def _sel_add(request: Request) -> bytes:
    return struct.pack("<H", request.bmc.sel.add(request.data[2:]).record_id)


def _sel_delete(request: Request) -> bytes:
    reservation, record_id = struct.unpack("<HH", request.data)
    _need_reservation(request, reservation)
    sel = request.bmc.sel
    ids = [record.record_id for record in sel.records]
    if not ids:
        raise RefusedError(Completion.NOT_PRESENT)
    wanted = {0: ids[0], _LAST: ids[-1]}.get(record_id, record_id)
    if wanted not in ids:
        raise RefusedError(Completion.NOT_PRESENT)
    sel.delete(wanted)
    return struct.pack("<H", wanted)


def _sel_clear(request: Request) -> bytes:
    reservation, magic, action = struct.unpack("<H3sB", request.data)
    if magic != b"CLR" or action not in (_ERASE, _ERASE_STATUS):
        raise RefusedError(Completion.INVALID_FIELD)
    if action == _ERASE:
        _need_reservation(request, reservation)
        request.bmc.sel.clear()
    return bytes([_ERASED])


def _sel_time(request: Request) -> bytes:
    return struct.pack("<I", request.bmc.now_s())


def _sel_set_time(request: Request) -> bytes:
    (now_s,) = struct.unpack("<I", request.data)
    if now_s == NEVER:
        raise RefusedError(Completion.INVALID_FIELD)
    request.bmc.set_clock(now_s)
    return b""


def _need_reservation(request: Request, reservation: int) -> None:
    if reservation != request.bmc.sel.reservation:
        raise RefusedError(Completion.RESERVATION_CANCELLED)


def _part(record: bytes, offset: int, count: int) -> bytes:
    if offset >= len(record) or count == 0:
        raise RefusedError(Completion.OUT_OF_RANGE)
    return record[offset:] if count == _ENTIRE else record[offset : offset + count]


COMMANDS: Table = {
    (NetFn.STORAGE, 0x10): Command(_fru_info, Level.USER, (1, 1)),
    (NetFn.STORAGE, 0x11): Command(_fru_read, Level.USER, (4, 4)),
    (NetFn.STORAGE, 0x20): Command(_sdr_info, Level.USER, (0, 0)),
    (NetFn.STORAGE, 0x22): Command(_sdr_reserve, Level.USER, (0, 0)),
    (NetFn.STORAGE, 0x23): Command(_sdr_get, Level.USER, (6, 6)),
    (NetFn.STORAGE, 0x40): Command(_sel_info, Level.USER, (0, 0)),
    (NetFn.STORAGE, 0x42): Command(_sel_reserve, Level.USER, (0, 0)),
    (NetFn.STORAGE, 0x43): Command(_sel_get, Level.USER, (6, 6)),
    (NetFn.STORAGE, 0x44): Command(_sel_add, Level.OPERATOR, (16, 16)),
    (NetFn.STORAGE, 0x46): Command(_sel_delete, Level.OPERATOR, (4, 4)),
    (NetFn.STORAGE, 0x47): Command(_sel_clear, Level.OPERATOR, (6, 6)),
    (NetFn.STORAGE, 0x48): Command(_sel_time, Level.USER, (0, 0)),
    (NetFn.STORAGE, 0x49): Command(_sel_set_time, Level.OPERATOR, (4, 4)),
}
