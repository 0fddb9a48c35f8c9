"""Setting a field of a record whose name is known at run time only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Record = TypeVar("Record", bound=DataclassInstance)
else:
    Record = TypeVar("Record")


def with_fields(record: Record, values: dict[str, Any]) -> Record:
    """The record with other values of the named fields."""
    return replace(record, **values)
