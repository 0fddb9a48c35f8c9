"""Two runs side by side: two firmwares, drivers, cards or operating systems, and which differences are real."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from niclab.core.verdict import BenchFault
from niclab.report import now, write_atomically
from niclab.report.evidence.runfolder import DEMONSTRATION, read_run
from niclab.report.pages.blocks import Cell, Content, Part, Row, Table, Words
from niclab.report.pages.page import page_of
from niclab.stats.interval import guarded, guarded_difference
from niclab.stats.measurements import FILE, Measurement, read
from niclab.stats.questions import Direction
from niclab.stats.student import t_quantile

FAMILY_LEVEL = 0.95
"""All intervals of a comparison hold together with this probability (Bonferroni)."""
FEWEST = 3
_COMPARED = "A figure is compared when test, metric and parameters are the same in both runs."
_HEADINGS = ("Figure", "First run", "Second run", "Change", "Answer")


@dataclass(frozen=True)
class Difference:
    """One figure in both runs. ``change``, ``low``, ``high``: in percent of the first; None with too few samples."""

    subject: str
    unit: str
    first: float
    second: float
    change: float | None
    low: float | None
    high: float | None
    better: Direction

    @property
    def real(self) -> bool:
        """True if the interval leaves out zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def answer(self) -> str:
        """The answer in a word or two."""
        if self.change is None:
            return "too few runs"
        if not self.real:
            return "not shown"
        return "better" if (self.change > 0) == (self.better is Direction.HIGHER) else "worse"

    def cells(self) -> tuple[str, ...]:
        """Return figure, both means, change with its interval, and answer."""
        change = "" if self.change is None else f"{self.change:+.1f} % ({self.low:+.1f} to {self.high:+.1f})"
        return (self.subject, f"{self.first:.4g} {self.unit}", f"{self.second:.4g} {self.unit}", change, self.answer)


def differences(first: Sequence[Measurement], second: Sequence[Measurement]) -> list[Difference]:
    """Compare the figures that both runs have.

    Means of logarithms are compared, so that a change is in percent. The intervals allow for neighbouring samples that
    are alike, and for long tails (:func:`niclab.stats.interval.guarded`); together they hold at :data:`FAMILY_LEVEL`.

    Args:
        first: Measurements of the one run.
        second: Those of the other.
    """
    known = {_name(each): each for each in first}
    pairs = [(known[_name(each)], each) for each in second if _name(each) in known]
    asked = sum(_comparable(one) and _comparable(other) for one, other in pairs)
    return [_difference(one, other, asked) for one, other in pairs]


def run(first: Path, second: Path, page: Path | None = None) -> int:
    """Print the comparison of two runs, and write it as one HTML file.

    Args:
        first: Folder of the one run.
        second: Folder of the other.
        page: The file; none is written without.

    Raises:
        BenchFault: A folder is no run with measurements, or they have no figure in common.
    """
    found = differences(read(first), read(second))
    if not found:
        raise BenchFault(f"{first / FILE}, {second / FILE}: have no figure in common; expected at least one")
    conditions = _conditions(first, second)
    for name, one, other in conditions:
        print(f"{name}: {one}; {other}")
    for line in _columns([_HEADINGS, *(each.cells() for each in found)]):
        print(line)
    print(_summary(found))
    if page is not None:
        write_atomically(page, page_of(_content(first, second, conditions, found)))
        print(page)
    return 0


def _name(measurement: Measurement) -> tuple[str, ...]:
    """Return the name that tells a figure from others of its run, and is the same in another run."""
    parameters = (f"{name}={value}" for name, value in sorted(measurement.key.parameters.items()))
    return (measurement.test, measurement.metric, measurement.unit, *parameters)


def _comparable(measurement: Measurement) -> bool:
    return len(measurement.samples) >= FEWEST and min(measurement.samples) > 0


def _difference(one: Measurement, other: Measurement, asked: int) -> Difference:
    means = fmean(one.samples), fmean(other.samples)
    subject, unit, better = one.test, one.unit, one.better
    if not (_comparable(one) and _comparable(other)):
        return Difference(subject, unit, *means, None, None, None, better)
    tail = (1 - FAMILY_LEVEL) / 2 / asked
    old, new = (
        guarded(logs, t_quantile(tail, len(logs) - 1))
        for logs in ([math.log(value) for value in each.samples] for each in (one, other))
    )
    apart = guarded_difference(new, old)
    low, high = apart.bounds(t_quantile(tail, apart.df))
    change, low, high = (100 * math.expm1(value) for value in (apart.mean, low, high))
    return Difference(subject, unit, *means, change, low, high, better)


def _conditions(first: Path, second: Path) -> list[tuple[str, str, str]]:
    """Return the differences between the runs: card, bench, plan and facts; the run itself comes first."""
    one, other = (_facts(read_run(folder)) for folder in (first, second))
    names = dict.fromkeys((*one, *other))
    rows = [(name, one.get(name, "not recorded"), other.get(name, "not recorded")) for name in names]
    return [row for row in rows if row[1] != row[2]]


def _facts(run_file: Mapping[str, object]) -> dict[str, str]:
    facts = run_file["facts"]
    own = {name: str(run_file.get(name)) for name in ("run", "card", "bench", "plan")}
    return own | {name: str(value) for name, value in (facts.items() if isinstance(facts, dict) else ())}


def _summary(found: Sequence[Difference]) -> str:
    real = [each for each in found if each.real]
    worse = sum(each.answer == "worse" for each in real)
    return (
        f"{len(found)} figures; {_differences(len(real))}, {worse} of them worse; all intervals hold together at "
        f"{FAMILY_LEVEL:.0%}. A difference between two runs may be of the bench or the day: repeat it."
    )


def _differences(number: int) -> str:
    return f"{number} real difference{'s' * (number != 1)}"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _content(
    first: Path, second: Path, conditions: Sequence[tuple[str, str, str]], found: Sequence[Difference]
) -> Content:
    looks = {"better": "pass", "worse": "card-failure"}
    rows = tuple(
        Row((*(Cell(text) for text in each.cells()[:-1]), Cell(each.answer, "", looks.get(each.answer, "undecided"))))
        for each in found
    )
    differing = tuple(Row(tuple(map(Cell, row))) for row in conditions)
    title = "Comparison of two runs"
    subjects = {read_run(folder).get("subject") for folder in (first, second)}
    return Content(
        title=title,
        subtitle=f"{first.resolve().name} and {second.resolve().name}",
        window_title=f"{title}: {first.resolve().name}, {second.resolve().name}",
        banner=DEMONSTRATION if DEMONSTRATION in subjects else "",
        headline=_differences(sum(each.real for each in found)),
        look="bad" if any(each.answer == "worse" for each in found) else "good",
        reasons=(),
        summary=(_summary(found),),
        parts=(
            Part("What differs", (Table(("", "First run", "Second run"), (1, 2, 2), differing),)),
            Part("Figures", (Words(_COMPARED), Table(_HEADINGS, (4, 1.4, 1.4, 2.4, 1.2), rows))),
        ),
        issued=now(),
    )
