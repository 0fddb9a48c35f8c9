"""``measurements.json`` of a run folder: what was measured, under which conditions, with every sample.

::

    add(run_dir, Measurement(test="TCP reaches the limit", metric="tcp_mbps", unit="Mbit/s", better=Direction.HIGHER,
                             samples=(9412.0, 9409.5, 9413.1), taken=now(), key=Key(card="intel-x710", ...)))
    for measurement in read(run_dir): ...
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import Field, StringConstraints, ValidationError

from niclab.core.verdict import BenchFault
from niclab.files.types import Name, Record, Text, Wanted, one_of, refuse_if
from niclab.report import write_json
from niclab.stats.questions import Direction

FILE = "measurements.json"
FORMAT = 1
R = TypeVar("R", bound=Record)


def _is_no_moment(text: str) -> bool:
    return datetime.fromisoformat(text).tzinfo is None


Metric = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$"), Wanted("a name of lower-case letters, digits and _")
]
Moment = Annotated[str, refuse_if(_is_no_moment), Wanted("a time with its offset, such as 2026-11-21T10:58:03+00:00")]
Sample = Annotated[float, Wanted("a finite number")]
Better = Annotated[Direction, Wanted("higher or lower")]
Parameter = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$"), Wanted("a name of a parameter")]
Format = Annotated[int, one_of(FORMAT), Wanted(f"{FORMAT}")]


class Key(Record):
    """The conditions of a measurement. Two figures may be compared when their keys are the same.

    ``card``: name of the sheet. ``driver``, ``tool``: with the version, ``ixgbe 5.1.0-k``, ``iperf3 3.12``. ``slot``:
    PCI address. ``pcie_link``: as negotiated, ``8 GT/s x8``. ``os``: with its release; ``kernel``: its version.
    ``peer``: card, driver and OS of the other end. ``parameters``: all that was set for the test, by name.
    """

    card: Name
    firmware: Text
    driver: Text
    slot: Text
    pcie_link: Text
    os: Text
    kernel: Text
    peer: Text
    tool: Text
    parameters: dict[Parameter, Text]

    def digest(self, metric: str, unit: str) -> str:
        """The same 16 hex digits for the same key, metric and unit, in whatever order they were written."""
        content = json.dumps([self.model_dump(mode="json"), metric, unit], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def differences(self, other: Key) -> list[str]:
        """``firmware: 4.2 here, 4.4 there`` of each condition that differs from ``other``."""
        here, there = _flat(self), _flat(other)
        return [
            f"{name}: {here.get(name, 'not set')} here, {there.get(name, 'not set')} there"
            for name in sorted(here.keys() | there.keys())
            if here.get(name) != there.get(name)
        ]


def _flat(key: Key) -> dict[str, str]:
    fields: dict[str, Any] = key.model_dump(mode="json")
    parameters: dict[str, str] = fields.pop("parameters")
    return fields | {f"parameters.{name}": value for name, value in parameters.items()}


class Measurement(Record):
    """Samples of one figure: one a run, in time order, warm-up left out, in ``unit``."""

    test: Text
    metric: Metric
    unit: Text
    better: Better
    samples: Annotated[tuple[Sample, ...], Field(min_length=1)]
    taken: Moment
    key: Key

    @property
    def identity(self) -> str:
        """The digest that tells it from other measurements of a run."""
        return self.key.digest(self.metric, self.unit)


class Measurements(Record):
    """The whole file."""

    format: Format
    measurements: tuple[Measurement, ...]


def read(run_dir: Path) -> tuple[Measurement, ...]:
    """Read the measurements of ``run_dir``.

    Raises:
        BenchFault: When the file is missing, damaged, or holds two measurements of one key and metric.
    """
    path = run_dir / FILE
    found = load(path, Measurements).measurements
    seen: dict[str, Measurement] = {}
    for number, measurement in enumerate(found):
        earlier = seen.setdefault(measurement.identity, measurement)
        if earlier is not measurement:
            raise BenchFault(
                f"{path}: measurements.{number}: {measurement.metric} of {measurement.test!r} has the same key as that "
                f"of {earlier.test!r}; expected parameters that tell them apart"
            )
    return found


def add(run_dir: Path, measurement: Measurement) -> None:
    """Add a measurement to the file of ``run_dir``; the file is made when missing.

    Raises:
        BenchFault: When its key and metric are there already, or the file cannot be read or written.
    """
    path = run_dir / FILE
    known = read(run_dir) if path.exists() else ()
    for other in known:
        if other.identity == measurement.identity:
            raise BenchFault(
                f"{path}: {measurement.metric} of {measurement.test!r} has the same key as that of {other.test!r}; "
                "expected parameters that tell them apart"
            )
    content = Measurements(format=FORMAT, measurements=(*known, measurement))
    write_json(path, content.model_dump(mode="json"))


def load(path: Path, kind: type[R]) -> R:
    """The record in the JSON file ``path``.

    Raises:
        BenchFault: When it is missing or unreadable, a key occurs twice, or a field is not as wanted; each wrong field
            is a line.
    """
    try:
        text = path.read_bytes().decode()
        json.loads(text, object_pairs_hook=_once, parse_constant=_refuse_constant)
        return kind.model_validate_json(text)
    except OSError as error:
        raise BenchFault(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise BenchFault("\n".join(f"{path}: {problem}" for problem in _problems(error))) from error
    except (ValueError, RecursionError) as error:
        raise BenchFault(f"{path}: is not JSON: {error}") from error


def _problems(error: ValidationError) -> list[str]:
    lines = []
    for each in error.errors(include_url=False):
        where = ".".join(map(str, each["loc"])) or "the whole file"
        if each["type"] == "missing":
            lines.append(f"{where}: is missing")
        elif each["type"] == "extra_forbidden":
            lines.append(f"{where}: is not known here")
        else:
            lines.append(f"{where}: {repr(each['input'])[:80]} is not wanted; expected {each['msg']}")
    return lines


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} occurs twice in one object")
    return content


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
