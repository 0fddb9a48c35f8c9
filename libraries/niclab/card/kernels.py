"""Facts that differ between kernels: ``max: {"<6.2": 4096, ">=6.2": 8192}``.

A field that takes them carries :class:`ByKernel`. The record holds the one value that is true of the kernel it was read
for (:class:`KernelContext`), so that nothing behind it knows of ranges.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from niclab.card.values import Unknown
from niclab.core.verdict import BenchFault
from niclab.files.types import Several

Release = tuple[int, ...]

_NUMBERS = r"[0-9]+(?:\.[0-9]+)+"
_RELEASE = re.compile(rf"({_NUMBERS})(?:[-+.~].*)?")
_RANGE = re.compile(rf"(?:>=({_NUMBERS}))?(?:, (?=<))?(?:<({_NUMBERS}))?")
_FORM = '"<6.2": ..., ">=6.2": ...: ranges that cover every kernel, in order, each beginning where the one before ends'

_NOT_ALL_KERNELS = PydanticCustomError(Several.ERROR, _FORM)


@dataclass(frozen=True)
class KernelContext:
    """The kernel for which a sheet is read, or none, which means the newest.

    ``starts`` collects where a range of any fact begins.
    """

    kernel: Release | None = None
    starts: set[Release] = field(default_factory=set)


def release(text: str) -> Release:
    """Read the numbers of a kernel's release: ``6.1.0-56-amd64`` is ``(6, 1)``.

    Raises:
        BenchFault: When there are none.
    """
    match = _RELEASE.fullmatch(text)
    if match is None:
        raise BenchFault(f"{text!r} is no release of Linux, such as 6.1.0-56-amd64")
    return _numbers(match[1])


@dataclass(frozen=True)
class ByKernel(Several):
    """Annotation of a fact: it may be one value, or a value for each range of kernels."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_wrap_validator_function(_pick, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        single = handler(schema)
        several = {
            "type": "object",
            "patternProperties": {r"^(<|>=)[0-9., <]+$": single},
            "additionalProperties": False,
            "minProperties": 2,
            "description": "a value for each range of kernels",
        }
        return {"anyOf": [single, several]}


def _pick(value: Any, handler: core_schema.ValidatorFunctionWrapHandler, info: core_schema.ValidationInfo) -> Any:
    if not isinstance(value, dict) or set(value) == set(Unknown.model_fields):
        return handler(value)
    context: KernelContext = (info.context or {}).get("kernels", KernelContext())
    ranges = _ranges(value)
    context.starts.update(start for start, _ in ranges)
    values = {start: handler(value[key], key) for start, key in ranges}
    held = [start for start in values if context.kernel is None or start <= context.kernel]
    return values[max(held)]


def _ranges(value: dict[str, Any]) -> list[tuple[Release, str]]:
    """Start and key of each range; the first starts at no number."""
    found: list[tuple[Release, str]] = []
    end: Release | None = ()
    for key in value:
        match = _RANGE.fullmatch(key)
        start = _numbers(match[1]) if match and match[1] else ()
        if match is None or end is None or start != end:
            raise _NOT_ALL_KERNELS
        end = _numbers(match[2]) if match[2] else None
        if end is not None and end <= start:
            raise _NOT_ALL_KERNELS
        found.append((start, key))
    if len(found) < 2 or end is not None:
        raise _NOT_ALL_KERNELS
    return found


def _numbers(text: str) -> Release:
    """Without zeros at the end: 6.2.0 is 6.2."""
    return tuple(int(number) for number in re.sub(r"(\.0+)+$", "", text).split("."))
