"""A killed run that is continued: a torn output made whole, verdicts of interrupted tests, one summary of all parts.

Robot Framework writes ``output.xml`` as it goes: a killed run leaves the beginning of one. What has ended in it is
kept; what the writer still held back is taken from the journal of tests, without its log. So are warnings and errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from niclab.core.verdict import BenchFault
from niclab.report import read_json_object, write_atomically, write_json
from niclab.report.allure.allure_results import SUMMARY_FORMAT, SUMMARY_NAME
from niclab.report.evidence.test_journal import EndedTest, RobotMessage

VERDICTS = "interrupted.json"
"""File of the evidence: full name of each interrupted test -> its message."""
_SUMMARY_OF_NOTHING: dict[str, Any] = {
    "format": SUMMARY_FORMAT,
    "robotframework": metadata.version("robotframework"),
    **dict.fromkeys(("planned_tests", "ended_tests", "written_results"), 0),
    "selection": {"include": [], "exclude": [], "skip": []},
    "errors": [],
}
"""The summary of a run that was killed after its last test, before Robot Framework wrote one."""
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LOST = "The run was killed before Robot Framework wrote the log of this test."


def read_verdicts(evidence: Path) -> dict[str, str]:
    """Return the messages of the tests during which the run was killed, by their full names.

    Args:
        evidence: Evidence folder of the run.

    Raises:
        BenchFault: They cannot be read.
    """
    file = evidence / VERDICTS
    return {name: str(text) for name, text in read_json_object(file).items()} if file.exists() else {}


def add_verdict(evidence: Path, test: str, message: str) -> None:
    """Note the message of a test during which the run was killed.

    Args:
        evidence: Evidence folder of the run.
        test: Full name of the test.
        message: Its message; it begins with the name of a verdict.

    Raises:
        BenchFault: It cannot be written.
    """
    write_json(evidence / VERDICTS, read_verdicts(evidence) | {test: message})


def make_whole(
    output: Path, ended: Mapping[str, EndedTest], whole: Path, messages: Sequence[RobotMessage] = ()
) -> None:
    """Write a whole output from a torn one.

    Args:
        output: What the killed run has left; a missing or empty file holds no test.
        ended: The tests that must be in it, by their full names.
        whole: The file to write.
        messages: The warnings and errors that must be in it; one that is there already is not added.

    Raises:
        BenchFault: A file cannot be read or written, or is no output of Robot Framework.
    """
    root, top = _what_has_ended(output, [test.suites[0] for test in ended.values()])
    found = {_full_name(path, test) for path, test in _tests(top, (top.get("name", ""),))}
    for full_name, test in ended.items():
        if full_name not in found:
            _suite_of(top, test).append(_test(test))
    for suite in top.iter("suite"):
        if suite.find("status") is None:
            SubElement(suite, "status", status="FAIL")
    _add_messages(root, top, messages)
    write_atomically(whole, ElementTree.tostring(root, encoding="unicode", xml_declaration=True))


def _add_messages(root: Element, top: Element, messages: Sequence[RobotMessage]) -> None:
    errors = root.find("errors")
    if errors is None:
        errors, noted = SubElement(root, "errors"), {(each.time, each.level) for each in messages}
        logged = [each for each in top.iter("msg") if each.get("level") in ("WARN", "ERROR")]
        errors.extend(each for each in logged if _moment(each) not in noted)
    known = {_moment(each) for each in errors}
    for each in messages:
        if (each.time, each.level) not in known:
            html = {"html": "true"} if each.html else {}
            SubElement(errors, "msg", {"time": each.time, "level": each.level, **html}).text = _text(each.text)


def found_in(parts: Iterable[Path]) -> tuple[set[str], set[tuple[str, str]]]:
    """Return the full names of the tests in whole outputs, and time and level of their warnings and errors.

    Args:
        parts: The outputs.

    Raises:
        BenchFault: One cannot be read.
    """
    tests, moments = set[str](), set[tuple[str, str]]()
    for part in parts:
        root, top = _what_has_ended(part, [])
        tests |= {_full_name(path, test) for path, test in _tests(top, (top.get("name", ""),))}
        moments |= {_moment(each) for each in root.iterfind("./errors/msg")}
    return tests, moments


def _moment(message: Element) -> tuple[str, str]:
    return message.get("time", ""), message.get("level", "")


def _text(text: str) -> str:
    """Leave out the characters that XML cannot hold, as Robot Framework does."""
    return _NO_XML.sub("", text)


def _what_has_ended(output: Path, tops: Iterable[str]) -> tuple[Element, Element]:
    """The root and the top suite, with every suite that was open and without anything else that was."""
    parser: ElementTree.XMLPullParser[Element] = ElementTree.XMLPullParser(["start", "end"])
    stack, roots = list[Element](), list[Element]()
    try:
        parser.feed(output.read_bytes() if output.exists() else b"")
        events: list[Any] = list(parser.read_events())
    except OSError as error:
        raise BenchFault(f"{output}: cannot be read: {error.strerror}") from error
    except ElementTree.ParseError as error:
        raise BenchFault(f"{output}: is no output of Robot Framework: {error}") from error
    for kind, element in events:
        if kind == "start":
            stack.append(element)
            roots.append(element)
        else:
            stack.pop()
    for parent, child in pairwise(stack):
        if child.tag != "suite":
            parent.remove(child)
            break
    root = roots[0] if roots else Element("robot", schemaversion="5")
    top = root.find("suite")
    if top is None:
        top = SubElement(root, "suite", id="s1", name=next(iter(tops), "Qualification"))
    return root, top


def _tests(suite: Element, path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], Element]]:
    for test in suite.iterfind("test"):
        yield path, test
    for child in suite.iterfind("suite"):
        yield from _tests(child, (*path, child.get("name", "")))


def _full_name(path: tuple[str, ...], test: Element) -> str:
    return ".".join((*path, test.get("name", "")))


def _suite_of(top: Element, test: EndedTest) -> Element:
    suite = top
    for name in test.suites[1:]:
        child = next((each for each in suite.iterfind("suite") if each.get("name") == name), None)
        suite = SubElement(suite, "suite", name=name) if child is None else child
    return suite


def _test(ended: EndedTest) -> Element:
    test = Element("test", name=ended.name)
    keyword = SubElement(test, "kw", name="No Operation", owner="BuiltIn")
    times = {"start": ended.start, "elapsed": f"{ended.seconds:.6f}"}
    SubElement(keyword, "msg", level="INFO", time=ended.start).text = _LOST
    SubElement(keyword, "status", {"status": "PASS", **times})
    for tag in ended.tags:
        SubElement(test, "tag").text = tag
    SubElement(test, "status", {"status": ended.status, **times}).text = _text(ended.message) or None
    return test


def join_summaries(results: Path, ended: Mapping[str, EndedTest], before: Iterable[str]) -> None:
    """Let the summary of the results name those of the killed run too.

    Args:
        results: Folder of the Allure results.
        ended: Every test that has ended, by full names.
        before: Full names of those that had ended when the run was continued.

    Raises:
        BenchFault: A result or the summary cannot be read or written.
    """
    file, names = results / SUMMARY_NAME, set(before)
    summary = read_json_object(file) if file.exists() else _SUMMARY_OF_NOTHING | {"tests": []}
    known = {str(test["uuid"]) for test in summary["tests"]}
    older = []
    for path in sorted(results.glob("*-result.json")):
        result = read_json_object(path)
        name, uuid = str(result["fullName"]), str(result["uuid"])
        if uuid not in known and name in names:
            older.append({"uuid": uuid, "name": name, "status": ended[name].status})
    summary["tests"] = [*older, *summary["tests"]]
    for count in ("planned_tests", "ended_tests", "written_results"):
        summary[count] += len(older)
    write_json(results / SUMMARY_NAME, summary)
