"""The certificate as one HTML page that loads nothing: style sheet and logo from ``lab/report`` are put into it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault
from niclab.report import LOOK
from niclab.report.runfolder import DEMONSTRATION, NEEDED_FACTS
from niclab.report.sums import COVERED, SUMS_NAME
from niclab.report.verdicts import Verdict

CERTIFIED = "CERTIFIED"
_NOT_RECORDED = "not recorded"


def certificate_page(certificate: Mapping[str, Any], look: Path = LOOK) -> str:
    """The page for the content of ``certificate.json``.

    Args:
        certificate: Content of ``certificate.json``.
        look: Folder with ``certificate.css`` and ``logo.svg``.

    Raises:
        BenchFault: When one of them cannot be read.
    """
    certified = certificate["verdict"] == CERTIFIED
    title = "Certificate of qualification" if certified else "Qualification record"
    demonstration = certificate["subject"] == DEMONSTRATION
    mark = f"{DEMONSTRATION}: " if demonstration else ""
    banner = f'<p class="demonstration">{DEMONSTRATION}</p>\n' if demonstration else ""
    card, bench = _text(certificate["card"]), _text(certificate["bench"])
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{mark}{title}: {card} on {bench}</title>
<style>
{_read(look / "certificate.css")}</style>
</head>
<body>
{banner}<header>
{_read(look / "logo.svg")}<div><h1>{title}</h1><p>{card} on bench {bench}, {_day(certificate["issued"])}</p></div>
</header>
{_verdict(certificate, certified)}
{_subject(certificate)}
{_circumstances(certificate["timing"], certificate["remarks"])}
{_tests(certificate["tests"])}
{_requirements(certificate["requirements"])}
{_footer(certificate)}
</body>
</html>
"""


def _verdict(certificate: Mapping[str, Any], certified: bool) -> str:
    lab = certificate["lab_counts"]
    card = {verdict: number - lab.get(verdict, 0) for verdict, number in certificate["counts"].items()}
    demonstration = certificate["subject"] == DEMONSTRATION
    look = "demonstration" if demonstration and certified else "good" if certified else "bad"
    headline = f"{certificate['verdict']} ({DEMONSTRATION})" if demonstration else certificate["verdict"]
    reasons = "".join(f"<li>{_text(reason)}</li>" for reason in certificate["reasons"])
    return (
        f'<section class="verdict {look}"><strong>{_text(headline)}</strong>'
        + (f"<ul>{reasons}</ul>" if reasons else "")
        + f"<p>{_text(certificate['scope'])}.</p>"
        + f"<p>{_counts(card, 'of the card')}; {_counts(lab, 'of the lab itself')}.</p></section>"
    )


def _time(timing: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    if timing is None:
        return []
    boots = ", ".join(f"{server} {count}" for server, count in timing["boots"].items()) or "none noted"
    parts = ", ".join(f"{what} {seconds:.0f} s" for what, seconds in timing["seconds"].items())
    details = f"{parts}; boots: {boots}; {timing['commands']} commands"
    return [{"about": "Time", "text": f"{timing['wall_s']:.0f} s", "details": [details]}]


def _counts(counts: Mapping[str, int], whose: str) -> str:
    """``80 tests of the card: 78 pass, 2 not applicable``."""
    total = sum(counts.values())
    parts = ", ".join(f"{number} {_title(verdict).lower()}" for verdict, number in counts.items() if number)
    return f"{total} test{'s' * (total != 1)} {whose}{f': {parts}' if parts else ''}"


def _circumstances(timing: Mapping[str, Any] | None, remarks: Iterable[Mapping[str, Any]]) -> str:
    rows = "".join(
        f"<tr><td>{_text(each['about'])}</td><td>{_text(each['text'])}{_message(chr(10).join(each['details']))}</td></tr>"
        for each in [*_time(timing), *remarks]
    )
    return f'<h2>Circumstances</h2>\n<table class="remarks">{rows}</table>' if rows else ""


def _subject(certificate: Mapping[str, Any]) -> str:
    facts, versions, git = certificate["facts"], certificate["versions"], certificate["git"] or {}
    who = certificate["who"] or {}
    run = f"commit {git['commit'][:12]}" if git.get("commit") else ""
    rows = {
        "Card": certificate["card"],
        "Bench": certificate["bench"],
        "Subject": certificate["subject"],
        **{name.capitalize(): facts.get(name) for name in (*NEEDED_FACTS, *sorted(set(facts) - set(NEEDED_FACTS)))},
        "Started": _moment(certificate["started"]),
        "Finished": _moment(certificate["finished"]),
        "Run by": f"{who['user']} on {who['controller']}" if who.get("user") and who.get("controller") else None,
        "Run": certificate["run"],
        "Lab": f"{run} with local changes" if run and git.get("local_changes") else run,
        "Robot": versions.get("robotframework"),
        "Python": versions.get("python"),
    }
    cells = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value or _NOT_RECORDED)}</dd>" for name, value in rows.items())
    return f"<h2>What was qualified</h2>\n<dl>{cells}</dl>"


def _tests(tests: Iterable[Mapping[str, Any]]) -> str:
    rows = "\n".join(
        f"<tr><td>{_text(test['name'])}{_message(test['message'])}</td>{_result(test['verdict'])}"
        f'<td class="seconds">{test["seconds"]:.1f} s</td></tr>'
        for test in tests
    )
    return (
        "<h2>Tests</h2>\n<table><thead><tr><th>Test</th><th>Result</th>"
        f'<th class="seconds">Time</th></tr></thead><tbody>\n{rows}\n</tbody></table>'
        if rows
        else "<h2>Tests</h2>\n<p>There are no results.</p>"
    )


def _requirements(requirements: Iterable[Mapping[str, Any]]) -> str:
    rows = "\n".join(_requirement(each) for each in requirements)
    return (
        '<h2>Requirements</h2>\n<table><thead><tr><th class="requirement">Requirement</th><th>Source and tests</th>'
        f"<th>Result</th></tr></thead><tbody>\n{rows}\n</tbody></table>"
        if rows
        else "<h2>Requirements</h2>\n<p>The run has no plan, so its requirements are unknown.</p>"
    )


def _requirement(each: Mapping[str, Any]) -> str:
    tests = each["tests"]
    asked = f"{each['asked']} of {len(tests)} tests asked" if tests else "no test"
    said = each["reason"] or "\n".join(each["silent"])
    result = {"verified": "pass", "failed": "card-failure", "undecided": "undecided"}.get(
        each["status"], "not-applicable"
    )
    return (
        f'<tr id="{_text(each["id"])}"><td class="requirement">{_text(each["id"])}</td>'
        f"<td>{_text(each['title'])}<small>{_text(each['source'])}<br>{asked}{_message(said)}</small></td>"
        f'<td class="result {result}">{_text(each["status"]).capitalize()}</td></tr>'
    )


def _footer(certificate: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{_text(COVERED.get(name, name))}</td><td><code>{_text(name)}</code></td>"
        f"<td><code>{_text(digest or 'none')}</code></td></tr>"
        for name, digest in certificate["sha256"].items()
    )
    return (
        f"<footer><p>Issued {_text(_moment(certificate['issued']))}. SHA-256 of what belongs to this page:</p>"
        f"<table>{rows}</table><p><code>{SUMS_NAME}</code> names the SHA-256 of every file of the run; "
        "<code>niclab verify</code> checks all of them.</p></footer>"
    )


def _result(verdict: str) -> str:
    return f'<td class="result {_text(verdict)}">{_text(_title(verdict))}</td>'


def _title(verdict: str) -> str:
    return Verdict(verdict).title


def _message(message: str) -> str:
    lines = [line for line in message.splitlines() if line.strip()]
    return f"<small>{'<br>'.join(map(_text, lines))}</small>" if lines else ""


def _moment(iso: str | None) -> str:
    """``2026-11-21T10:58:03+00:00`` as ``2026-11-21 10:58:03 +00:00``."""
    return f"{iso[:10]} {iso[11:19]} {iso[19:]}" if iso else _NOT_RECORDED


def _day(iso: str) -> str:
    return _text(iso[:10])


def _text(value: object) -> str:
    return html.escape(str(value if value is not None else _NOT_RECORDED))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BenchFault(f"{path}: cannot be read: {error}") from error
