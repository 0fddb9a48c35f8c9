"""The meaning of a test's tags in an Allure report.

* ``allure.label.NAME:VALUE`` is any label; ``allure.feature:VALUE`` (also epic, story, owner, layer, severity,
  parentSuite, suite, subSuite, id) the label of that name.
* ``blocker``, ``critical``, ``normal``, ``minor``, ``trivial`` alone are severities.
* ``allure.tms.NAME:URL`` (also issue, link; NAME may be left out) is a link.
* ``allure.param.NAME:VALUE`` is a parameter of the test.
* Any other tag stays a tag; ``req:ID`` and ``req:ID/PART`` are the label ``requirement`` as well, and a link to the
  row of the certificate.
  Robot Framework's own ``robot:...`` tags are not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from niclab.scope.requirements import Requirements, load_requirements

SUITE_LABELS = ("parentSuite", "suite", "subSuite")
SEVERITIES = ("blocker", "critical", "normal", "minor", "trivial")
REQUIREMENT = "requirement"
DECIDES = "req:"
"""The beginning of a tag that names what the test decides."""
_CERTIFICATE = "../certificate.html"
"""From the report, in a folder of the run."""
_LABEL_NAMES = {
    name.lower(): name for name in ("epic", "feature", "story", "owner", "layer", "severity", *SUITE_LABELS)
} | {"id": "as_id"}
_ALLURE_TAG = re.compile(
    r"allure\.(?:label\.(?P<label>[^:]+)"
    rf"|(?P<kind>{'|'.join(_LABEL_NAMES)})"
    r"|(?P<link>issue|tms|link)(?:\.(?P<link_name>[^:]+))?"
    r"|param\.(?P<parameter>[^:]+)):(?P<value>.+)",
    re.IGNORECASE,
)


@dataclass
class TagMeaning:
    """Labels, links and parameters in the shape of an Allure result, and what is wrong with the tags."""

    labels: list[dict[str, str]] = field(default_factory=list)
    links: list[dict[str, str]] = field(default_factory=list)
    parameters: list[dict[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def _add_label(self, name: str, value: str) -> None:
        self.labels.append({"name": name, "value": value})
        if name == "severity" and value not in SEVERITIES:
            self.problems.append(f"tag: severity {value!r} is not known; expected {', '.join(SEVERITIES)}")


def meaning_of(tags: Iterable[str]) -> TagMeaning:
    """Return the meaning of ``tags``. A tag that begins with ``allure.`` and says nothing known is a problem."""
    meaning = TagMeaning()
    for tag in tags:
        found = _ALLURE_TAG.fullmatch(tag)
        if found is None:
            _add_plain_tag(meaning, tag)
        elif found["parameter"]:
            meaning.parameters.append({"name": found["parameter"], "value": found["value"]})
        elif found["link"]:
            name = found["link_name"] or found["value"]
            meaning.links.append({"type": found["link"].lower(), "name": name, "url": found["value"]})
        else:
            meaning._add_label(found["label"] or _LABEL_NAMES[found["kind"].lower()], found["value"])
    return meaning


def _add_plain_tag(meaning: TagMeaning, tag: str) -> None:
    lowered = tag.lower()
    if lowered in SEVERITIES:
        meaning._add_label("severity", lowered)
    elif not lowered.startswith("robot:"):
        meaning._add_label("tag", tag)
        if lowered.startswith("allure."):
            meaning.problems.append(f"tag: {tag!r} is not known; expected for example allure.feature:VALUE")
        elif lowered.startswith(DECIDES):
            requirement = tag[len(DECIDES) :].strip()
            meaning._add_label(REQUIREMENT, requirement)
            if not requirement:
                meaning.problems.append(f"tag: {tag!r} is not wanted; expected req: and the id of a requirement")
            elif part := _known().every_part().get(requirement):
                whole = requirement.partition("/")[0]
                name = f"{requirement}: {part.title} ({_known().source(whole)})"
                meaning.links.append({"type": "tms", "name": name, "url": f"{_CERTIFICATE}#{whole}"})


@cache
def _known() -> Requirements:
    return load_requirements()
