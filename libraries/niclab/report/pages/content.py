"""The content of a certificate, part by part. The page (HTML) and the paper (PDF) are two renderings of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from niclab.core.decision import FAMILY, LEVEL
from niclab.report.evidence.runfolder import DEMONSTRATION
from niclab.report.evidence.sums import SUMS_NAME
from niclab.report.pages import drawings
from niclab.report.pages.condensed import condensed
from niclab.report.pages.content_rows import (
    NOT_RECORDED,
    bench_rows,
    circumstances,
    counted,
    fact_rows,
    figure_rows,
    hash_rows,
    moment,
    not_tested_rows,
    requirement_rows,
    subject_rows,
    test_rows,
    waiver_rows,
)

CERTIFIED = "CERTIFIED"
_CHANCE = f"{100 * (1 - LEVEL) / 2:g} %"
_ERRORS = (
    f"Limits of throughput are decided by repeated runs with {100 * LEVEL:g} % intervals. A figure at its very limit is"
    f" called met in at most {_CHANCE} of cases. At most {_CHANCE} of certificates with up to {FAMILY} such figures,"
    " all at their very limits, are red by chance."
)
WAIVED = "CERTIFIED WITH WAIVERS"
_EXPECTED = {"throughput": "throughput", "latency": "1/s", "outages": "failover", "PCI Express": "pcie"}
"""Subject that a reader looks for -> the kind of its figures, or their unit.

Round trips a second are the latency's inverse.
"""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, small lines below it, and the verdict whose colour it has."""

    text: str
    small: str = ""
    result: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table. ``anchor``: what links point at."""

    cells: tuple[Cell, ...]
    anchor: str = ""


@dataclass(frozen=True)
class Facts:
    """Names with their values."""

    rows: tuple[tuple[str, str], ...]
    kind: Literal["facts"] = "facts"


@dataclass(frozen=True)
class Table:
    """``columns``: titles; ``widths``: parts of the width of the page; ``look``: a class of the style sheet."""

    columns: tuple[str, ...]
    widths: tuple[float, ...]
    rows: tuple[Row, ...]
    look: str = ""
    kind: Literal["table"] = "table"


@dataclass(frozen=True)
class Words:
    """A paragraph."""

    text: str
    kind: Literal["words"] = "words"


@dataclass(frozen=True)
class Pictures:
    """Drawings as SVG; ``wide`` ones have a row of their own."""

    svgs: tuple[str, ...]
    wide: bool = False
    kind: Literal["pictures"] = "pictures"


@dataclass(frozen=True)
class Part:
    """A heading with what is below it."""

    title: str
    blocks: tuple[Facts | Table | Words | Pictures, ...]


@dataclass(frozen=True)
class Content:
    """The whole certificate. ``look``: good, bad or demonstration."""

    title: str
    subtitle: str
    window_title: str
    banner: str
    headline: str
    look: str
    reasons: tuple[str, ...]
    summary: tuple[str, ...]
    parts: tuple[Part, ...]
    issued: str


def content_of(certificate: Mapping[str, Any], charts: Mapping[str, str] | None = None) -> Content:
    """Return what is said.

    Args:
        certificate: Content of ``certificate.json``.
        charts: The charts that it names -> their SVG.
    """
    certified = certificate["verdict"] in (CERTIFIED, WAIVED)
    clean = certified and certificate["verdict"] != WAIVED
    demonstration = certificate["subject"] == DEMONSTRATION
    title = "Certificate of qualification" if certified else "Qualification record"
    card, bench = (certificate[name] or NOT_RECORDED for name in ("card", "bench"))
    verdict = certificate["verdict"]
    lab = certificate["lab_counts"]
    of_card = {name: number - lab.get(name, 0) for name, number in certificate["counts"].items()}
    parts = (
        _subject(certificate),
        *_waivers(certificate),
        _figures(certificate),
        _table("Circumstances", ("", ""), (1.6, 8.4), circumstances(certificate), "remarks"),
        _table("Tests", ("Test", "Result", "Time"), (7.3, 1.8, 0.9), test_rows(certificate["tests"]), "tests"),
        _requirements(certificate),
        _not_tested(certificate),
        *_charts(charts or {}),
        _checks(certificate),
    )
    return Content(
        title=title,
        subtitle=f"{card} on bench {bench}, {certificate['issued'][:10]}",
        window_title=f"{f'{DEMONSTRATION}: ' if demonstration else ''}{title}: {card} on {bench}",
        banner=DEMONSTRATION if demonstration else "",
        headline=f"{verdict} ({DEMONSTRATION})" if demonstration else verdict,
        look="good" if clean and not demonstration else "demonstration" if certified else "bad",
        reasons=tuple(certificate["reasons"]),
        summary=(
            *(f"{each[:1].upper()}{each[1:]}." for each in certificate["scope"].split("; ")),
            f"{counted(of_card, 'of the card')}; {counted(lab, 'of the lab itself')}.",
        ),
        parts=parts,
        issued=moment(certificate["issued"]),
    )


def _table(title: str, columns: tuple[str, ...], widths: tuple[float, ...], rows: Any, look: str = "") -> Part:
    """A part of one table; rows are tuples of cells, a cell is a text or the arguments of a :class:`Cell`."""
    made = tuple(_row(each) for each in rows)
    return Part(title, (Table(columns, widths, made, look),) if made else (Words("There are none."),))


def _row(cells: Any) -> Row:
    anchor = ""
    if isinstance(cells, dict):
        anchor, cells = cells["anchor"], cells["cells"]
    return Row(tuple(Cell(each) if isinstance(each, str) else Cell(*each) for each in cells), anchor)


def _subject(certificate: Mapping[str, Any]) -> Part:
    bench = certificate.get("equipment") or {}
    blocks: list[Facts | Table | Words | Pictures] = [Facts(tuple(subject_rows(certificate)))]
    if bench:
        ports = tuple(_row(each) for each in bench_rows(bench))
        columns = ("Port", "PCI address", "Slot", "MAC address", "PCI Express link")
        blocks += [
            Pictures((drawings.topology(certificate["card"] or NOT_RECORDED, bench),), wide=True),
            Table(columns, (1.2, 2, 2, 2.4, 2.4), ports, "ports"),
        ]
    if rows := tuple(_row(each) for each in fact_rows(certificate)):
        blocks.append(Table(("", ""), (1.6, 8.4), rows, "known-issues"))
    return Part("What was qualified", tuple(blocks))


def _figures(certificate: Mapping[str, Any]) -> Part:
    figures = condensed(certificate.get("figures") or [])
    there = {each["kind"] for each in figures} | {each["unit"] for each in figures}
    missing = [name for name, mark in _EXPECTED.items() if mark not in there]
    said = (Words(f"Not measured by plan {certificate['plan'] or NOT_RECORDED}: {', '.join(missing)}."),)
    if not figures:
        return Part("Measured against limits", (Words("No figures are recorded."),))
    rows = tuple(_row(each) for each in figure_rows(figures))
    table = Table(("Figure", "Measured", "Expected", "Result"), (3.6, 2.8, 3.1, 1.1), rows, "figures")
    drawn = [Pictures((svg,), wide=True) for svg in drawings.ranges(figures)]
    return Part("Measured against limits", (*drawn, table, Words(_ERRORS), *(said if missing else ())))


def _charts(charts: Mapping[str, str]) -> tuple[Part, ...]:
    return (Part("Charts", (Pictures(tuple(charts.values())),)),) if charts else ()


def _waivers(certificate: Mapping[str, Any]) -> tuple[Part, ...]:
    rows = waiver_rows(certificate.get("waivers") or [])
    columns = ("Waiver", "Reason", "Covers")
    return (_table("Waivers", columns, (2.4, 4.4, 3.2), rows, "waivers"),) if rows else ()


def _requirements(certificate: Mapping[str, Any]) -> Part:
    rows = requirement_rows(certificate)
    if not rows:
        return Part("Requirements", (Words("The run has no plan, so its requirements are unknown."),))
    columns = ("Requirement", "Source, tests and evidence", "Result")
    return _table("Requirements", columns, (1.5, 6.7, 1.8), rows, "requirements")


def _not_tested(certificate: Mapping[str, Any]) -> Part:
    return _table("What was not tested, and why", ("", ""), (1.5, 8.5), not_tested_rows(certificate), "not-tested")


def _checks(certificate: Mapping[str, Any]) -> Part:
    rows = tuple(_row(each) for each in hash_rows(certificate["sha256"]))
    return Part(
        "Hashes and signature",
        (
            Words(f"Issued {moment(certificate['issued'])}. SHA-256 of what belongs to this certificate:"),
            Table(("", "", ""), (2.3, 2.7, 6.2), rows, "hashes"),
            Words(
                f"{SUMS_NAME} names the SHA-256 of every file of the run, this one included; niclab verify checks all "
                f"of them. A detached signature, if the lab signed the run, is {SUMS_NAME}.sig."
            ),
            Facts((("Name", ""), ("Date", ""), ("Signature", ""))),
        ),
    )
