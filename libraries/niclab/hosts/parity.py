"""The answer of each operating system to each question: native, by other means, or none and why.

Methods of a host class say it themselves; what says nothing is native. ``niclab parity`` prints the table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from niclab.hosts.host import PROTOCOLS

Method = TypeVar("Method", bound=Callable[..., object])

_ATTRIBUTE = "_niclab_parity"


class Support(StrEnum):
    NATIVE = "native"
    EMULATED = "emulated"
    PARTLY = "some drivers"
    NONE = "not available"


@dataclass(frozen=True)
class Parity:
    """``how``: what means it, or why it is not there; empty for a native answer."""

    support: Support
    how: str = ""

    def __str__(self) -> str:
        return f"{self.support}: {self.how}" if self.how else str(self.support)


def emulated(how: str) -> Callable[[Method], Method]:
    """The method answers by other means than the system's own."""
    return _marked(Parity(Support.EMULATED, how))


def partly(how: str) -> Callable[[Method], Method]:
    """The method answers for the drivers named in ``how``, and raises NotApplicable for others."""
    return _marked(Parity(Support.PARTLY, how))


def not_available(why: str) -> Callable[[Method], Method]:
    """The method always raises NotApplicable."""
    return _marked(Parity(Support.NONE, why))


def _marked(parity: Parity) -> Callable[[Method], Method]:
    def mark(method: Method) -> Method:
        setattr(method, _ATTRIBUTE, parity)
        return method

    return mark


def questions() -> tuple[str, ...]:
    """Return every question of the interface as ``part.method``, such as ``links.ping``."""
    return tuple(
        f"{part}.{name}"
        for part, protocol in PROTOCOLS.items()
        for name, member in vars(protocol).items()
        if inspect.isfunction(member) and name[0] != "_"
    )


def parity(parts: Mapping[str, type], question: str) -> Parity:
    """Return how an operating system answers a question. One that it does not have is an error.

    Args:
        parts: The class of each part of the system's host.
        question: A question, see :func:`questions`.
    """
    part, _, method = question.partition(".")
    found: Parity = getattr(getattr(parts[part], method), _ATTRIBUTE, Parity(Support.NATIVE))
    return found


def table(systems: Mapping[str, Mapping[str, type]]) -> str:
    """Return a Markdown table of every question and every operating system.

    Args:
        systems: The parts of each system's host, by the name of the system.
    """
    rows = [["question", *systems], ["---"] * (len(systems) + 1)]
    for question in questions():
        rows.append([f"`{question}`", *(str(parity(parts, question)) for parts in systems.values())])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
