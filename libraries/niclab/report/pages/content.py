"""The content of a certificate, part by part. The page (HTML) and the paper (PDF) are two renderings of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from niclab.core.decision import FAMILY, LEVEL
from niclab.report.evidence.runfolder import DEMONSTRATION
from niclab.report.evidence.sums import SUMS_NAME
from niclab.report.pages import drawings
from niclab.report.pages.answer import answer_of, first_reasons
from niclab.report.pages.blocks import Content, Facts, Part, Pictures, Table, Words, row_of, table_part
from niclab.report.pages.condensed import condensed
from niclab.report.pages.content_rows import (
    GOOD,
    NOT_RECORDED,
    bench_rows,
    circumstances,
    counted,
    fact_rows,
    figure_rows,
    hash_rows,
    moment,
    requirement_rows,
    subject_rows,
    test_rows,
    waiver_rows,
)
from niclab.report.pages.not_tested import reason_rows, untested

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


def is_certified(verdict: str) -> bool:
    """Is a card with the verdict of a certificate certified, with waivers or without?"""
    return verdict in (CERTIFIED, WAIVED)


def content_of(certificate: Mapping[str, Any], charts: Mapping[str, str] | None = None) -> Content:
    """Return what is said.

    Args:
        certificate: Content of ``certificate.json``.
        charts: The charts that it names -> their SVG.
    """
    certified = is_certified(certificate["verdict"])
    clean = certified and certificate["verdict"] != WAIVED
    demonstration = certificate["subject"] == DEMONSTRATION
    title = "Certificate of qualification" if certified else "Qualification record"
    card, bench = (certificate[name] or NOT_RECORDED for name in ("card", "bench"))
    verdict = certificate["verdict"]
    lab = certificate["lab_counts"]
    of_card = {name: number - lab.get(name, 0) for name, number in certificate["counts"].items()}
    reasons = tuple(certificate["reasons"])
    not_passed, other_tests = _tests(certificate["tests"])
    parts = (
        *_every_reason(reasons),
        *_waivers(certificate),
        *not_passed,
        _figures(certificate),
        _not_tested(certificate),
        _requirements(certificate),
        table_part("Circumstances", ("", ""), (1.6, 8.4), circumstances(certificate), "remarks"),
        other_tests,
        _equipment(certificate),
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
        reasons=first_reasons(reasons),
        summary=(
            *(f"{each[:1].upper()}{each[1:]}." for each in certificate["scope"].split("; ")),
            f"{counted(of_card, 'of the card')}; {counted(lab, 'of the lab itself')}.",
            *_waived_in_words(certificate.get("waivers") or []),
        ),
        answer=answer_of(certificate),
        parts=parts,
        issued=moment(certificate["issued"]),
    )


def _every_reason(reasons: tuple[str, ...]) -> tuple[Part, ...]:
    """The reasons in full, where the first page has shortened them."""
    if reasons == first_reasons(reasons):
        return ()
    rows = []
    for number, each in enumerate(reasons, start=1):
        first, *more = each.splitlines() or [""]
        rows.append((str(number), (first, "\n".join(more))))
    return (table_part("Every reason", ("", ""), (0.4, 9.6), rows, "remarks"),)


def _tests(tests: Sequence[Mapping[str, Any]]) -> tuple[tuple[Part, ...], Part]:
    """The tests that decide against the card, the bench or the measurement, and all others."""
    good = [each for each in tests if each["verdict"] in GOOD]
    bad = [each for each in tests if each["verdict"] not in GOOD]
    titles = ("Tests that did not pass", "Other tests" if bad else "Tests")
    first, rest = (
        table_part(title, ("Test", "Result", "Time"), (7.3, 1.8, 0.9), test_rows(each), "tests")
        for title, each in zip(titles, (bad, good), strict=True)
    )
    return (first,) if bad else (), rest


def _equipment(certificate: Mapping[str, Any]) -> Part:
    bench = certificate.get("equipment") or {}
    blocks: list[Facts | Table | Words | Pictures] = [Facts(tuple(subject_rows(certificate)))]
    if bench:
        ports = tuple(row_of(each) for each in bench_rows(bench))
        columns = ("Port", "PCI address", "Slot", "MAC address", "PCI Express link")
        blocks += [
            Pictures((drawings.topology(certificate["card"] or NOT_RECORDED, bench),), wide=True),
            Table(columns, (1.2, 2, 2, 2.4, 2.4), ports, "ports"),
        ]
    if rows := tuple(row_of(each) for each in fact_rows(certificate)):
        blocks.append(Table(("", ""), (1.6, 8.4), rows, "known-issues"))
    return Part("Card, software and bench", tuple(blocks))


def _figures(certificate: Mapping[str, Any]) -> Part:
    figures = condensed(certificate.get("figures") or [])
    there = {each["kind"] for each in figures} | {each["unit"] for each in figures}
    missing = [name for name, mark in _EXPECTED.items() if mark not in there]
    said = (Words(f"Not measured by plan {certificate['plan'] or NOT_RECORDED}: {', '.join(missing)}."),)
    if not figures:
        return Part("Measured against limits", (Words("No figures are recorded."),))
    rows = tuple(row_of(each) for each in figure_rows(figures))
    table = Table(("Figure", "Measured", "Expected", "Result"), (3.2, 3.4, 3.0, 1), rows, "figures")
    drawn = [Pictures((svg,), wide=True) for svg in drawings.ranges(figures)]
    return Part("Measured against limits", (*drawn, table, Words(_ERRORS), *(said if missing else ())))


def _charts(charts: Mapping[str, str]) -> tuple[Part, ...]:
    return (Part("Charts", (Pictures(tuple(charts.values())),)),) if charts else ()


def _waivers(certificate: Mapping[str, Any]) -> tuple[Part, ...]:
    rows = waiver_rows(certificate.get("waivers") or [])
    columns = ("Waiver", "Reason", "Covers")
    return (table_part("Waivers", columns, (2.4, 4.4, 3.2), rows, "waivers"),) if rows else ()


def _waived_in_words(waivers: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    tests = {name for each in waivers for name in each["tests"]}
    return (f"Waivers: {len(waivers)}, which cover failed tests: {len(tests)}.",) if waivers else ()


def _requirements(certificate: Mapping[str, Any]) -> Part:
    rows = requirement_rows(certificate)
    if not rows:
        return Part("Requirements", (Words("The run has no plan, so its requirements are unknown."),))
    columns = ("Requirement", "Source, tests and evidence", "Result")
    return table_part("Requirements", columns, (1.5, 6.7, 1.8), rows, "requirements")


def _not_tested(certificate: Mapping[str, Any]) -> Part:
    columns = ("Requirement", "What was not tested, and why")
    rows = reason_rows(untested(certificate))
    return table_part("What was not tested, and why", columns, (2.1, 7.9), rows, "not-tested")


def _checks(certificate: Mapping[str, Any]) -> Part:
    rows = tuple(row_of(each) for each in hash_rows(certificate["sha256"]))
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
