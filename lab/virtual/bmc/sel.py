"""The System Event Log. Every change is in its file before it is answered: it survives a killed BMC."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from bmc.config import ConfigError
from bmc.events import FIRST_OEM_UNTIMED, RECORD_BYTES, Event, LogRecord
from wholefile import write_whole

CAPACITY = 1000
"""Records; real BMCs keep some hundreds to some thousands."""
LAST_ID = 0xFFFE
"""0xFFFF means "the last record" in requests."""
NEVER = 0xFFFFFFFF
"""The time stamp that says "unknown" (IPMI 37.1)."""
_BODY_BYTES = RECORD_BYTES - 2


class SelFullError(Exception):
    """No room; the event was not logged."""


class SystemEventLog:
    """Records in the order they came.

    Args:
        path: One JSON object a line: ``{"id": n, "body": "<28 hex digits>"}``. Made when missing.
        now_s: The clock of the BMC, seconds since 1970.

    Raises:
        ConfigError: When the file holds anything else.
    """

    def __init__(self, path: Path, now_s: Callable[[], int]) -> None:
        self._path = path
        self._now_s = now_s
        self._records = _load(path)
        times = [record.timestamp_s for record in self._records.values() if record.timestamp_s is not None]
        self.last_add_s = times[-1] if times else NEVER
        self.last_erase_s = NEVER
        self.overflow = False
        self.reservation = 1

    def reserve(self) -> int:
        """A new reservation; it ends with the next one, and when a record is removed (IPMI 31.4)."""
        self.reservation = self.reservation % 0xFFFF + 1
        return self.reservation

    @property
    def records(self) -> list[LogRecord]:
        """All records, the oldest first."""
        return list(self._records.values())

    @property
    def free_bytes(self) -> int:
        """Room left."""
        return (CAPACITY - len(self._records)) * RECORD_BYTES

    def get(self, record_id: int) -> LogRecord | None:
        """The record with that id."""
        return self._records.get(record_id)

    def log(self, event: Event) -> LogRecord:
        """Add an event with the present time.

        Raises:
            SelFullError: When there is no room.
        """
        return self.add(event.body(self._now_s()))

    def add(self, body: bytes) -> LogRecord:
        """Add a record given as its 14 bytes after the id; its time becomes the present one if it has a time.

        Raises:
            SelFullError: When there is no room.
        """
        last_id = max(self._records, default=0)
        if len(self._records) >= CAPACITY or last_id >= LAST_ID:
            self.overflow = True
            raise SelFullError(f"{self._path}: full with {len(self._records)} records, the last one has id {last_id}")
        if body[0] < FIRST_OEM_UNTIMED:
            body = body[:1] + self._now_s().to_bytes(4, "little") + body[5:]
        record = LogRecord(last_id + 1, body)
        with self._path.open("a") as file:
            file.write(_line(record))
        self._records[record.record_id] = record
        self.last_add_s = self._now_s()
        return record

    def delete(self, record_id: int) -> None:
        """Remove one record.

        Raises:
            KeyError: When there is none with that id.
        """
        left = {key: record for key, record in self._records.items() if key != record_id}
        if len(left) == len(self._records):
            raise KeyError(record_id)
        self._replace(left)

    def clear(self) -> None:
        """Remove all records."""
        self._replace({})
        self.overflow = False

    def _replace(self, records: dict[int, LogRecord]) -> None:
        write_whole(self._path, "".join(_line(record) for record in records.values()))
        self._records = records
        self.reserve()
        self.last_erase_s = self._now_s()


def _line(record: LogRecord) -> str:
    return json.dumps({"id": record.record_id, "body": record.body.hex()}) + "\n"


def _load(path: Path) -> dict[int, LogRecord]:
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        path.touch()
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the event log cannot be read: {error}") from error
    records: dict[int, LogRecord] = {}
    for number, line in enumerate(lines, start=1):
        try:
            content = json.loads(line)
            record = LogRecord(content["id"], bytes.fromhex(content["body"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{path}: line {number}: {line[:80]!r} is no record of an event log") from error
        if type(record.record_id) is not int or not max(records, default=0) < record.record_id <= LAST_ID:
            raise ConfigError(
                f"{path}: line {number}: id is {record.record_id!r}; expected a number above the last one"
            )
        if len(record.body) != _BODY_BYTES:
            raise ConfigError(f"{path}: line {number}: body has {len(record.body)} bytes; expected {_BODY_BYTES}")
        records[record.record_id] = record
    return records
