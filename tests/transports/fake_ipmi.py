"""A BMC at the boundary of pyipmi: real request and response bytes, no network."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from pyipmi import errors

from niclab.transports.bmc import ipmi

CHASSIS, SENSOR, APP, STORAGE = 0x00, 0x04, 0x06, 0x0A
OK = b"\x00"


def sensor_record(record_id: int, number: int, name: str, **changed: int) -> bytes:
    """A Full Sensor Record (table 43-1) of a temperature: value = raw, unsigned, linear."""
    field = {"owner": 0x20, "lun": 0, "type": 1, "event_type": 1, "units": 0, "unit": 1, "m": 1, "r_exp": 0} | changed
    body = struct.pack("<BBBBBBBBB", field["owner"], field["lun"], number, 7, 1, 0x7F, 0x48, field["type"],
                       field["event_type"])  # fmt: skip
    body += bytes(6) + bytes([field["units"], field["unit"], 0, 0, field["m"], 0, 0, 0, 0, field["r_exp"] << 4])
    body += bytes(17) + bytes([0xC0 | len(name)]) + name.encode()
    return struct.pack("<HBBB", record_id, 0x51, 0x01, len(body)) + body


def event(record_id: int, sensor_type: int, number: int, direction: int, data1: int, time_s: int = 0x6A000000) -> bytes:
    """A system event record (table 32-1)."""
    return struct.pack("<HBIHBBBBBBB", record_id, 2, time_s, 0x20, 4, sensor_type, number, direction, data1, 0xFF, 0xFF)


class FakeBmc:
    """State and faults of the BMC; answers are looked up by (netfn, command) in ``first_answers``, each of which is
    given once, and in ``answers`` first. None: no answer, although the request is carried out. ``open_faults``: one of
    each login, before ``open_fault``."""

    def __init__(self) -> None:
        self.on = False
        self.stuck = False
        self.silent = False
        self.readings: dict[int, bytes] = {}
        self.records: list[bytes] = []
        self.events: list[bytes] = []
        self.answers: dict[tuple[int, int], bytes] = {}
        self.first_answers: dict[tuple[int, int], list[bytes | None]] = {}
        self.open_faults: list[Exception] = []
        self.open_fault: Exception | None = None
        self.opened = 0
        self.closed = 0
        self.commands: list[tuple[int, int]] = []

    def answer(self, netfn: int, request: bytes) -> bytes:
        """One request, command first; completion code first in the answer."""
        return self._answer(netfn, request)

    def _answer(self, netfn: int, request: bytes) -> bytes:
        command, data = request[0], request[1:]
        self.commands.append((netfn, command))
        if self.silent:
            raise errors.RetryError("Max retry")
        planned = self.first_answers.get((netfn, command)) or []
        if planned and planned[0] is not None:
            return planned.pop(0) or b""
        if (netfn, command) in self.answers:
            return self.answers[netfn, command]
        handlers: dict[tuple[int, int], Callable[[bytes], bytes]] = {
            (APP, 0x01): lambda _: OK + bytes([0x20, 1, 2, 0x10, 2, 0xBF, 0xF2, 0x1B, 0, 1, 0]),
            (APP, 0x3B): lambda level: OK + level,
            (APP, 0x3C): self._close,
            (CHASSIS, 0x01): lambda _: OK + bytes([self.on, 0, 0]),
            (CHASSIS, 0x02): self._control,
            (SENSOR, 0x2D): lambda number: self.readings.get(number[0], b"\xcb"),
            (STORAGE, 0x22): lambda _: OK + bytes([1, 0]),
            (STORAGE, 0x23): self._read_sdr,
            (STORAGE, 0x40): lambda _: OK + struct.pack("<BHHIIB", 0x51, len(self.events), 0xFFF, 0, 0, 2),
            (STORAGE, 0x42): lambda _: OK + bytes([1, 0]),
            (STORAGE, 0x43): self._read_sel,
        }
        answer = handlers[netfn, command](data)
        if planned:
            planned.pop(0)
            raise errors.RetryError("lost")
        return answer

    def _close(self, _: bytes) -> bytes:
        self.closed += 1
        return OK

    def _control(self, data: bytes) -> bytes:
        if not self.stuck:
            self.on = {0: False, 1: True}.get(data[0], self.on)
        return OK

    def _read_sdr(self, data: bytes) -> bytes:
        _, record_id, offset, count = struct.unpack("<HHBB", data)
        if not self.records:
            return b"\xcb"
        at = next((n for n, record in enumerate(self.records) if record[:2] == data[2:4]), 0 if record_id == 0 else -1)
        following = self.records[at + 1][:2] if at + 1 < len(self.records) else b"\xff\xff"
        return OK + following + self.records[at][offset : offset + count]

    def _read_sel(self, data: bytes) -> bytes:
        ids = [int.from_bytes(record[:2], "little") for record in self.events]
        wanted = int.from_bytes(data[2:4], "little")
        at = 0 if wanted == 0 else ids.index(wanted)
        following = ids[at + 1] if at + 1 < len(ids) else 0xFFFF
        return OK + following.to_bytes(2, "little") + self.events[at]


class FakeLan(ipmi._Lan):
    """The interface without its socket; opening, closing and all decoding are the library's."""

    bmc: FakeBmc

    def open(self) -> None:
        self._session = None

    def close(self) -> None:
        self._keys = None

    def establish_session(self, session: Any) -> None:
        self.bmc.opened += 1
        if self.bmc.open_faults:
            raise self.bmc.open_faults.pop(0)
        if self.bmc.open_fault is not None:
            raise self.bmc.open_fault
        session.activated = True
        self._session = session

    def send_and_receive_raw(self, _target: object, _lun: int, netfn: int, raw_bytes: bytes) -> bytes:
        if self.deadline.expired and self.deadline.seconds:
            raise errors.RetryError("deadline")
        return self.bmc.answer(netfn, bytes(raw_bytes))
