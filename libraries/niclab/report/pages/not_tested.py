"""The parts of requirements that a run did not test, by the kind of the reason: no kind is lost among the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from niclab.report.certificate.coverage import NOT_COVERED, Status
from niclab.report.pages.content_rows import NOT_ASKED, Cells, counted_parts


class Kind(Enum):
    """The kind of a reason why a part was not tested, as a certificate says it."""

    NO_TEST = "No test exists"
    LEFT_OUT = "Left out of this run"
    NO_ANSWER = "The sheet gives no answer"
    NOT_APPLICABLE = "Not applicable to this card or bench"
    IN_PART = "Tested in part"


@dataclass(frozen=True)
class Untested:
    """A part of a requirement that was not tested, or in part. ``title``: of the requirement where it has no parts."""

    requirement: str
    part: str
    title: str
    reason: str
    kind: Kind


def untested(certificate: Mapping[str, Any]) -> list[Untested]:
    """Return every part that was not tested, not applicable or tested in part, in the order of the requirements.

    Args:
        certificate: Content of ``certificate.json``.
    """
    return [
        Untested(whole["id"], part["id"], part["title"], part["reason"].removeprefix(NOT_COVERED), _kind(part))
        for whole in certificate["requirements"]
        for part in whole["parts"]
        if part["status"] in (*NOT_ASKED, Status.IN_PART.value)
    ]


def kind_rows(parts: Sequence[Untested]) -> list[Cells]:
    """Return one row for each kind: how many parts of which requirements; also for a kind of which there are none.

    Args:
        parts: See :func:`untested`.
    """
    rows: list[Cells] = []
    for kind in Kind:
        mine = [each for each in parts if each.kind is kind]
        names = dict.fromkeys(each.requirement for each in mine)
        of_each = {name: sum(each.requirement == name for each in mine) for name in names}
        listed = ", ".join(f"{name} ({number})" if number > 1 else name for name, number in of_each.items())
        rows.append((kind.value, str(len(mine)), listed or "none"))
    return rows


def reason_rows(parts: Sequence[Untested]) -> list[Cells]:
    """Return a heading for each kind, and below it a row for each reason with all the parts that it keeps from a test.

    Where all parts of a kind have one reason, the heading says it, and there is a row for each requirement.

    Args:
        parts: See :func:`untested`.
    """
    rows: list[Cells] = []
    for kind in Kind:
        mine = [each for each in parts if each.kind is kind]
        if not mine:
            continue
        only = mine[0].reason if len({each.reason for each in mine}) == 1 else ""
        said = f"{kind.value}: {counted_parts(len(mine))}"
        rows.append(("", ("", f"{said} ({only})" if only else said)))
        groups: dict[str, list[Untested]] = {}
        for each in mine:
            groups.setdefault(each.requirement if only else each.reason, []).append(each)
        for reason, group in groups.items():
            names = ", ".join(dict.fromkeys(each.requirement for each in group))
            rows.append((names, ("; ".join(each.title for each in group), "" if only else reason)))
    return rows


def _kind(part: Mapping[str, Any]) -> Kind:
    if part["status"] == Status.IN_PART.value:
        return Kind.IN_PART
    if part["status"] == Status.NOT_APPLICABLE.value:
        return Kind.NOT_APPLICABLE
    if part["tests"]:
        return Kind.NO_ANSWER
    return Kind.NO_TEST if part["reason"].startswith(NOT_COVERED) else Kind.LEFT_OUT
