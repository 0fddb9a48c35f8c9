"""The rows of the tables of a certificate: a cell is a text, or a text with small lines and the verdict it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from niclab.core.decision import Decision
from niclab.report.evidence.runfolder import NEEDED_FACTS, QUALIFIED_DRIVER
from niclab.report.evidence.sums import COVERED
from niclab.report.pages.condensed import tests_in_words
from niclab.report.verdicts import Verdict

NOT_RECORDED = "not recorded"
Cells = tuple[str | tuple[str, ...], ...]
_STATUS_LOOK = {"verified": "pass", "verified in part": "in-part", "failed": "card-failure", "undecided": "undecided"}
NOT_ASKED = ("not applicable", "not tested")
_OUTCOME_LOOK = {Decision.MET: "pass", Decision.MISSED: "card-failure", Decision.UNDECIDED: "undecided"}
GOOD = (Verdict.PASS.value, Verdict.NOT_APPLICABLE.value)
"""The verdicts of a test that do not keep a run from being certified."""
_TOP_SUITE = "Qualification."


def shown(value: object) -> str:
    """Return a value as text; what is empty is not recorded."""
    return str(value) if value not in (None, "", []) else NOT_RECORDED


def moment(iso: str | None) -> str:
    """Return ``2026-11-21T10:58:03+00:00`` as ``2026-11-21 10:58:03 +00:00``."""
    return f"{iso[:10]} {iso[11:19]} {iso[19:]}" if iso else NOT_RECORDED


def counted(counts: Mapping[str, int], whose: str) -> str:
    """Return ``80 tests of the card: 78 pass, 2 not applicable``."""
    total = sum(counts.values())
    parts = ", ".join(f"{number} {Verdict(verdict).title.lower()}" for verdict, number in counts.items() if number)
    return f"{total} test{'s' * (total != 1)} {whose}{f': {parts}' if parts else ''}"


def counted_parts(number: int) -> str:
    """Return ``1 part`` or ``3 parts``.

    Args:
        number: How many.
    """
    return f"{number} part{'s' * (number != 1)}"


def _software(certificate: Mapping[str, Any]) -> dict[str, str]:
    """The software of each server."""
    servers = (certificate.get("equipment") or {}).get("servers", {})
    return {
        f"Software of {role}": ", ".join(f"{name} {version}" for name, version in server["software"].items())
        for role, server in servers.items()
        if "software" in server
    }


def _rates(certificate: Mapping[str, Any]) -> dict[str, str]:
    """The scales of the paths; empty where none is scaled."""
    scaled: dict[float, list[str]] = {}
    for path in (certificate.get("equipment") or {}).get("paths", ()):
        if path["rate_scale"] != 1:
            scaled.setdefault(path["rate_scale"], []).append(path["name"])
    said = (
        f"line rate / {scale:g} on path{'s' * (len(names) > 1)} {', '.join(names)}: "
        f"1000 Mbit/s is {1000 / scale:g} Mbit/s"
        for scale, names in scaled.items()
    )
    return {"Rates": "; ".join(said)} if scaled else {}


def subject_rows(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and values: card, software, bench, lab."""
    facts, versions, git = certificate["facts"], certificate["versions"], certificate["git"] or {}
    who, identity = certificate["who"] or {}, certificate.get("identity") or {}
    commit = f"commit {git['commit'][:12]}" if git.get("commit") else ""
    others = sorted(set(facts) - set(NEEDED_FACTS) - {"part_numbers", "serial_numbers", QUALIFIED_DRIVER})
    rows = {
        "Card": certificate["card"],
        "PCI id": identity.get("pci_id"),
        "Part number": facts.get("part_numbers"),
        "Serial": facts.get("serial_numbers"),
        "Subject": certificate["subject"],
        "Qualified driver": facts.get(QUALIFIED_DRIVER),
        **{name.capitalize(): facts.get(name) for name in (*NEEDED_FACTS, *others)},
        "Bench": certificate["bench"],
        **_rates(certificate),
        **_software(certificate),
        "Started": moment(certificate["started"]),
        "Finished": moment(certificate["finished"]),
        "Run by": f"{who['user']} on {who['controller']}" if who.get("user") and who.get("controller") else None,
        "Run": certificate["run"],
        "Lab": f"{commit} with local changes" if commit and git.get("local_changes") else commit,
        "Robot": versions.get("robotframework"),
        "Python": versions.get("python"),
    }
    return [(name, shown(value)) for name, value in rows.items()]


def bench_rows(bench: Mapping[str, Any]) -> list[Cells]:
    """Return the ports of both servers."""
    return [
        (port["name"], port["pci"], port["slot"] or NOT_RECORDED, port["mac"] or NOT_RECORDED, port["pcie_link"] or "–")
        for server in bench["servers"].values()
        for port in server["ports"]
    ]


def fact_rows(certificate: Mapping[str, Any]) -> list[Cells]:
    """Return the known issues, the facts that the sheet does not know, and how an emulated card deviates from it."""
    identity, bench = certificate.get("identity") or {}, certificate.get("equipment") or {}
    rows: list[Cells] = [
        (f"Known issue {number}", text) for number, text in enumerate(identity.get("known_issues", ()), 1)
    ]
    rows += (
        [("Unknown facts", ("of the card's sheet", "\n".join(unknown)))] if (unknown := identity.get("unknown")) else []
    )
    deviations = bench.get("deviations")
    said = "The emulated card is known to differ from the silicon. What asks for it is not applicable."
    return rows + ([("Emulation", (said, "\n".join(deviations)))] if deviations else [])


def figure_rows(figures: Iterable[Mapping[str, Any]]) -> list[Cells]:
    """Return what was measured, by its kind; a figure that is missed comes first.

    Args:
        figures: Figures, :func:`~niclab.report.pages.condensed.condensed`.
    """
    return [figure_row(each, tests_in_words(each["tests"])) for each in figures]


def figure_row(figure: Mapping[str, Any], small: str = "") -> Cells:
    """Return one figure: its subject, what was found and expected, and the outcome.

    Args:
        figure: A figure, :func:`~niclab.report.pages.condensed.condensed`.
        small: The lines below its subject.
    """
    return (
        (figure["subject"], small),
        figure["found"],
        _expectation(figure["expected"], figure["source"]),
        (figure["outcome"].capitalize(), "", _OUTCOME_LOOK[Decision(figure["outcome"])]),
    )


def circumstances(certificate: Mapping[str, Any]) -> list[Cells]:
    """Return time, negative controls, and every remark."""
    rows: list[Cells] = []
    if timing := certificate["timing"]:
        boots = ", ".join(f"{server} {count}" for server, count in timing["boots"].items()) or "none noted"
        parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in timing["seconds"].items())
        rows.append(("Time", (f"{timing['wall_s']:.0f} s", f"{parts}; boots: {boots}; {timing['commands']} commands")))
    rows += [(each["about"], (each["text"], "\n".join(each["details"]))) for each in certificate["remarks"]]
    about = {each["about"] for each in certificate["remarks"]}
    rows += [(name, "none") for name in ("Warnings", "Traffic") if name not in about]
    return [*rows, ("Controls", _controls(certificate.get("controls")))]


def test_rows(tests: Iterable[Mapping[str, Any]]) -> list[Cells]:
    """Return every test below the name of its suite.

    The figures of a test that passed are in a table of their own.

    Args:
        tests: Tests of a certificate.
    """
    rows: list[Cells] = []
    suite = ""
    for test in tests:
        folder, _, title = test["name"].removeprefix(_TOP_SUITE).rpartition(".")
        if folder != suite:
            suite = folder
            rows.append((("", folder.replace(".", " / ")), "", ""))
        said = "" if test["verdict"] == Verdict.PASS.value else _lines(test["message"])
        waiver = f"waived by {test['waiver']}" if test.get("waiver") else ""
        rows.append(
            ((title, said), (Verdict(test["verdict"]).title, waiver, test["verdict"]), f"{test['seconds']:.1f} s")
        )
    return rows


def requirement_rows(certificate: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the requirements of each document, with what was asked of them, tests, evidence and status.

    Args:
        certificate: Content of ``certificate.json``.
    """
    rows: list[dict[str, Any]] = []
    document = ""
    kept = {test["name"]: test.get("evidence", []) for test in certificate["tests"]}
    for each in certificate["requirements"]:
        names = [name for part in each["parts"] for name in part["tests"]]
        files = list(dict.fromkeys(file for name in names for file in kept.get(name, [])))
        evidence = f"evidence: {', '.join(files)}" if files else ""
        asked = [_asked(each, part) for part in each["parts"] if part["status"] not in NOT_ASKED]
        title, place = document_and_place(each["source"])
        if title != document:
            document = title
            rows.append({"anchor": "", "cells": ("", ("", title), "")})
        small = _lines("\n".join((place, *asked, _not_asked(each), evidence)))
        look = _STATUS_LOOK.get(each["status"], "not-applicable")
        result = (each["status"].capitalize(), "", look)
        rows.append({"anchor": each["id"], "cells": (each["id"], (each["title"], small), result)})
    return rows


def document_and_place(source: str) -> tuple[str, str]:
    """Return the document of a requirement and the place in it, empty where the source names none.

    Args:
        source: ``Title (date), place``, or ``Title (date)``.
    """
    title, bracket, place = source.partition("), ")
    return (f"{title})", place) if bracket else (source, "")


def _asked(whole: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    """A part of a requirement with its tests: ``verified: the title, by 2 tests: A; B``."""
    tests = "; ".join(name.rpartition(".")[2] for name in part["tests"])
    number = len(part["tests"])
    count = f"{part['asked']} of {number}" if part["asked"] < number else f"{number}"
    title = f"{part['title']}, " if part["id"] != whole["id"] else ""
    reason = f" ({part['reason']})" if part["reason"] else ""
    return f"{part['status']}: {title}by {count} test{'s' * (number != 1)}{reason}: {tests}"


def _not_asked(whole: Mapping[str, Any]) -> str:
    """Count the parts that are left, for which :mod:`niclab.report.pages.not_tested` gives the reasons."""
    count = {status: sum(part["status"] == status for part in whole["parts"]) for status in NOT_ASKED}
    if len(whole["parts"]) == 1:
        return ""
    return "; ".join(f"{status}: {number} of {len(whole['parts'])} parts" for status, number in count.items() if number)


def hash_rows(sums: Mapping[str, str | None]) -> list[Cells]:
    """Return the hashes of what belongs to the certificate."""
    return [(COVERED.get(name, name), name, digest or "none") for name, digest in sums.items()]


def _expectation(expected: str, source: str) -> tuple[str, str]:
    """Return the expectation, and its source to show below it; some name their source in brackets."""
    text, bracket, rest = expected.rpartition(" (")
    return (text, rest.removesuffix(")")) if bracket and not source and rest.endswith(")") else (expected, source)


def waiver_rows(waivers: Iterable[Mapping[str, Any]]) -> list[Cells]:
    """Return the waivers of the card, with what each covers in this run."""
    return [
        (
            (each["waiver"], f"until {each['expires']}, by {each['owner']}"),
            (each["reason"], f"for {each['covers']}"),
            ("; ".join(name.rpartition(".")[2] for name in each["tests"]) or "nothing in this run"),
        )
        for each in waivers
    ]


def _controls(state: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the findings of the lab's negative controls when they last ran."""
    if not state:
        return (NOT_RECORDED, "whether the negative controls found every injected defect: make controls")
    found = f"{state['found']} of {state['run']} controls found their injected defect"
    return (found, "\n".join((f"{moment(state['when'])}, commit {state['commit'][:12]}", *state["missed"])))


def _lines(message: str) -> str:
    return "\n".join(line for line in message.splitlines() if line.strip())
