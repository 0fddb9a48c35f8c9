"""Reader of ``ethtool -t IFACE``: the card's self test, which ethtool prints as text only."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import SelfTest
from niclab.hosts.reading import filled

KIND = "ethtool -t"
_VERDICT = re.compile(r"The test result is (PASS|FAIL)")
_ROW = re.compile(r"(.*\S)\s*\t *(-?[0-9]+)")
_HEADINGS = ("The test extra info:", "External loopback test was executed", "External loopback test was not executed")


def read_self_test(text: str) -> SelfTest:
    """Read the verdict, and the result of each test.

    Raises:
        ReadError: There is no verdict, no test, or a row is no name and number.
    """
    lines = filled(text)
    found = _VERDICT.fullmatch(lines[0][1].strip()) if lines else None
    results = list[tuple[str, int]]()
    for number, line in lines[1:]:
        if line.strip() in _HEADINGS:
            continue
        match = _ROW.fullmatch(line)
        if match is None:
            raise unreadable(KIND, f"line {number}", line, "a name, a tab and a number")
        results.append((match[1].strip(), int(match[2])))
    if found is None or not results:
        raise unreadable(KIND, "text", text, "'The test result is PASS' or FAIL, and at least one test")
    return SelfTest(found[1] == "PASS", tuple(results))
