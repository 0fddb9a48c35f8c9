"""The first page of a certificate, after its verdict: what was qualified, the scope, key figures, what was not tested.

Every list on it has a most number of entries, and every text a most length, so that it fits on one page. What is left
out of it is counted here and told in full on the pages that follow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from niclab.core.decision import Decision
from niclab.core.figures import FigureKind
from niclab.report.certificate.coverage import Status
from niclab.report.pages.blocks import Facts, Part, Words, table_part
from niclab.report.pages.condensed import condensed
from niclab.report.pages.content_rows import Cells, counted_parts, document_and_place, figure_row, subject_rows
from niclab.report.pages.not_tested import Kind, kind_rows, untested

MOST_FIGURES = 5
MOST_REASONS = 5
_MOST_CHARACTERS = 220
_MOST_REMARKS = 900
_SUBJECT = (
    *("Card", "PCI id", "Serial", "Qualified driver", "Driver", "Firmware", "System", "Kernel"),
    *("Bench", "Rates", "Finished", "Run", "Lab"),
)
_KEY_KINDS = tuple(
    kind.value
    for kind in (
        FigureKind.THROUGHPUT,
        FigureKind.FAILOVER,
        FigureKind.PCIE,
        FigureKind.CARRIER,
        FigureKind.TRAFFIC,
        FigureKind.CAUSE,
    )
)
_STATUS_TITLES = {
    Status.VERIFIED: "Verified",
    Status.IN_PART: "In part",
    Status.FAILED: "Failed",
    Status.UNDECIDED: "Undecided",
    Status.NOT_APPLICABLE: "Not applicable",
    Status.NOT_TESTED: "Not tested",
}
Figure = Mapping[str, Any]


def answer_of(certificate: Mapping[str, Any]) -> tuple[Part, ...]:
    """Return the parts of the first page.

    Args:
        certificate: Content of ``certificate.json``.
    """
    return (_subject(certificate), _scope(certificate), _figures(certificate), *_not_tested(certificate))


def first_reasons(reasons: Sequence[str]) -> tuple[str, ...]:
    """Return the reasons as the first page has them: the first ones, not too long, and how many there are besides.

    Args:
        reasons: Every reason.
    """
    first = [clipped(each) for each in reasons[:MOST_REASONS]]
    more = len(reasons) - len(first)
    return (*first, *([f"and {more} more: see Every reason"] if more else []))


def clipped(text: str, most: int = _MOST_CHARACTERS) -> str:
    """Return a text of at most as many characters, with an ellipsis where it was longer.

    Args:
        text: The text; lines are joined.
        most: How many characters it may have.
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def key_figures(figures: Sequence[Figure]) -> list[Figure]:
    """Return the figures that decide: first one for each limit that is not met, then one of each kind.

    Of several, the one nearest its limit, or farthest beyond it, is shown.

    Args:
        figures: Figures, :func:`~niclab.report.pages.condensed.condensed`.
    """
    found: dict[tuple[str, ...], Figure] = {}
    for outcome in (Decision.MISSED, Decision.UNDECIDED):
        for each in sorted((each for each in figures if each["outcome"] == outcome), key=_margin):
            found.setdefault((outcome, each["kind"], each["unit"], each["expected"]), each)
    met = sorted((each for each in figures if each["outcome"] == Decision.MET), key=_margin)
    nearest = (next((each for each in met if each["kind"] == kind), None) for kind in _KEY_KINDS)
    return [*found.values(), *filter(None, nearest)][:MOST_FIGURES]


def _margin(figure: Figure) -> float:
    """The distance from the limit to the near end of the interval, as a part of the limit; most where there is none."""
    low, high = (figure[end] if figure[end] is not None else figure["value"] for end in ("low", "high"))
    if figure["at_least"] is not None and low is not None:
        limit, distance = figure["at_least"], low - figure["at_least"]
    elif figure["at_most"] is not None and high is not None:
        limit, distance = figure["at_most"], figure["at_most"] - high
    else:
        return float("inf")
    return float(distance / abs(limit)) if limit else float(distance)


def _subject(certificate: Mapping[str, Any]) -> Part:
    rows = tuple(
        (name, clipped(value, _MOST_CHARACTERS if name == "Rates" else 90))
        for name, value in subject_rows(certificate)
        if name in _SUBJECT
    )
    noted = [f"{each['about']}: {each['text'].rstrip('.')}" for each in certificate["remarks"]]
    bench, identity = certificate.get("equipment") or {}, certificate.get("identity") or {}
    for title, found in (
        ("Deviations of the emulated card from its sheet", bench.get("deviations")),
        ("Facts that the sheet does not know", identity.get("unknown")),
        ("Known issues of the card", identity.get("known_issues")),
    ):
        noted += [f"{title}: {len(found)}"] if found else []
    said = (Words(f"Also noted, in full below. {clipped('. '.join(noted), _MOST_REMARKS)}."),) if noted else ()
    return Part("What was qualified", (Facts(rows), *said))


def _scope(certificate: Mapping[str, Any]) -> Part:
    requirements = certificate["requirements"]
    if not requirements:
        return Part("Scope", (Words("The run has no plan, so its requirements are unknown."),))
    documents: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in requirements:
        prefix, title = each["id"].partition("-")[0], document_and_place(each["source"])[0]
        documents.setdefault((prefix, title), []).append(each)
    rows = [_scope_row(clipped(f"{prefix}: {title}", 54), mine) for (prefix, title), mine in documents.items()]
    return table_part(
        "Scope: requirements by their source",
        ("Source", *_STATUS_TITLES.values(), "Parts verified"),
        (6.4, 1, 0.9, 0.8, 1.2, 1.6, 1.2, 1.6),
        [*rows, _scope_row("All", requirements)],
        "scope",
    )


def _scope_row(title: str, requirements: Sequence[Mapping[str, Any]]) -> Cells:
    count = Counter(each["status"] for each in requirements)
    parts = [part["status"] for each in requirements for part in each["parts"]]
    verified = sum(each == Status.VERIFIED.value for each in parts)
    numbers = (str(count[each.value]) if count[each.value] else "–" for each in _STATUS_TITLES)
    return (title, *numbers, f"{verified} of {len(parts)}")


def _figures(certificate: Mapping[str, Any]) -> Part:
    figures = condensed(certificate.get("figures") or [])
    if not figures:
        return Part("Key figures", (Words("No figures are recorded."),))
    count = Counter(each["outcome"] for each in figures)
    said = ", ".join(f"{count[each]} {each}" for each in Decision if count[each])
    rows = [_key_row(each) for each in key_figures(figures)]
    title = f"Key figures: {len(rows)} of {len(figures)} ({said})"
    part = table_part(title, ("Figure", "Measured", "Expected", "Result"), (3.4, 3.2, 2.5, 0.9), rows, "figures")
    rule = (
        "First one figure for each limit that is not met, then one of each kind: the figure that is nearest its limit."
    )
    return Part(part.title, (*part.blocks, Words(rule)))


def _key_row(figure: Figure) -> Cells:
    subject, found, expected, outcome = figure_row(figure)
    said = (each if isinstance(each, str) else each[0] for each in (subject, found, expected))
    return (*(clipped(each, 100) for each in said), outcome)


def _not_tested(certificate: Mapping[str, Any]) -> Iterator[Part]:
    if not certificate["requirements"]:
        return
    parts = untested(certificate)
    total = sum(len(each["parts"]) for each in certificate["requirements"])
    in_part = sum(each.kind is Kind.IN_PART for each in parts)
    more = f", and {counted_parts(in_part)} tested in part" if in_part else ""
    title = f"What was not tested: {len(parts) - in_part} of {counted_parts(total)}{more}"
    columns = ("Why", "Parts", "Of the requirements (number of parts)")
    yield table_part(title, columns, (2.9, 0.7, 6.9), kind_rows(parts), "kinds")
