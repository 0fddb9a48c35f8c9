"""Figures of a run in few rows: what was measured many times is one row with its count, median and worst."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median_high
from typing import Any

from niclab.core.decision import Decision
from niclab.core.figures import apart

_OFTEN_MEASURED = ("carrier", "failover", "pcie")
_ORDER = ("throughput", "failover", "cause", "pcie", "carrier", "traffic")
_TESTS_NAMED = 2
Figure = Mapping[str, Any]


def condensed(figures: Iterable[Figure]) -> list[dict[str, Any]]:
    """Return one figure for each subject, expectation and outcome; what is missed comes first.

    Throughput stays as it was measured: each figure has its own interval. ``tests`` are all tests that noted
    it, ``count`` says how often.

    Args:
        figures: ``figures`` of a certificate.
    """
    alike: dict[tuple[str, ...], list[Figure]] = {}
    for each in sorted(figures, key=_place):
        names = ["kind", "subject", "expected", "source", "outcome", "unit"]
        if each["kind"] not in _OFTEN_MEASURED or each["high"] is None:
            names.append("found")
        alike.setdefault(tuple(str(each[name]) for name in names), []).append(each)
    return [_one_of(group) for group in alike.values()]


def tests_in_words(tests: Iterable[str]) -> str:
    """Return the names of tests: the first ones, and how many there are besides.

    Args:
        tests: Their names; an empty one is of no test.
    """
    names = list(dict.fromkeys(filter(None, tests)))
    more = len(names) - _TESTS_NAMED
    return "; ".join(names[:_TESTS_NAMED]) + (f"; and {more} more test{'s' * (more > 1)}" if more > 0 else "")


def _place(figure: Figure) -> tuple[bool, int]:
    kind = figure["kind"]
    return figure["outcome"] == Decision.MET, _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def _one_of(group: list[Figure]) -> dict[str, Any]:
    first = {**group[0], "tests": [each["test"] for each in group], "count": len(group)}
    if len(group) == 1 or first["high"] is None:
        return first
    unit = first["unit"]
    best = [each["value"] if each["value"] is not None else each["high"] for each in group]
    lows = [each["low"] for each in group if each["low"] is not None]
    first |= {
        "value": median_high(best),
        "low": min(lows) if lows else min(best),
        "high": max(e["high"] for e in group),
    }
    if first["outcome"] == Decision.MISSED and len(lows) == len(group) and first["at_most"] is not None:
        least, worst = (apart(each, first["at_most"]) for each in (min(lows), max(lows)))
        first["found"] = f"{len(group)} times: at least {least} {unit}, worst at least {worst} {unit}"
        return first
    bound = "" if all(each["value"] is not None for each in group) else "at most "
    middle, worst = (apart(each, first["at_most"]) for each in (first["value"], first["high"]))
    first["found"] = f"{len(group)} times: median {bound}{middle} {unit}, worst {bound}{worst} {unit}"
    return first
