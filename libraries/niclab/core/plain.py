"""Records as plain JSON values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum

from niclab.core.verdict import BenchFault


def as_json(value: object) -> object:
    """Turn records into JSON values; a record with an ``as_json`` method of its own is asked.

    Args:
        value: A record, or a collection of records.

    Returns:
        Dicts, lists, strings, numbers, booleans and None.

    Raises:
        BenchFault: A number is NaN or infinite, which no measurement is.
    """
    own = getattr(value, "as_json", None)
    if own is not None:
        return as_json(own())
    if dataclasses.is_dataclass(value):
        return {field.name: as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(as_json, value), key=str)
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise BenchFault(f"cannot read a value of {value}; expected a finite number")
    return value
