"""Bodies of tests and keywords, as Robot Framework's result models hold them, turned into Allure steps.

Only attributes of the models are used (``type``, ``status``, ``body``, ``args`` ...; Robot Framework 7.5), so that this
module needs nothing of Robot Framework itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from niclab.report.evidence.evidence_links import evidence_links
from niclab.report.verdicts import Verdict, classify, plain_text

Json = dict[str, Any]

_STATUS = {"PASS": "passed", "SKIP": "skipped", "NOT RUN": "skipped", "NOT SET": "skipped"}
_CALLS = ("KEYWORD", "SETUP", "TEARDOWN")
_BARE_ROOTS = ("IF/ELSE ROOT", "TRY/EXCEPT ROOT")
_NAME_LENGTH = 300


class Attachments(Protocol):
    """The destination of files and the source of evidence."""

    def attach(self, name: str, mime: str, content: bytes, suffix: str, key: str) -> Json:
        """Store an attachment under a name made from ``key``; return what a step says of it."""

    def read_evidence(self, href: str) -> bytes:
        """The file an evidence link points to.

        Raises:
            BenchFault: When there is none.
        """


class StepWriter:
    """Turns the bodies of one test, setup or teardown into steps and attachments."""

    def __init__(self, attachments: Attachments, *key: str) -> None:
        self._files = attachments
        self._key = key
        self._count = 0

    def steps_of(self, items: Sequence[Any]) -> list[Json]:
        """One step for each item; roots of IF and TRY give those of their branches."""
        steps: list[Json] = []
        for item in items:
            if item.type in _BARE_ROOTS:
                steps += self.steps_of(item.body)
            elif not (item.type == "ITERATION" and (item.not_run or not item.body)):
                # The live model of a WHILE loop ends with an iteration that was never begun: it has no body.
                steps.append(self._step(item))
        return steps

    def add_to(self, owner: Json, body: Sequence[Any]) -> None:
        """Add steps and attachments for ``body`` to ``owner``, a step or a result."""
        messages = [item for item in body if _is_message(item)]
        owner["steps"] += self.steps_of([item for item in body if not _is_message(item)])
        lines = [line for message in messages for line in self._log_line(owner, message)]
        if lines:
            self._attach(owner, "log", "text/plain", "\n".join(lines).encode("utf-8", "surrogateescape"), ".txt")

    def _step(self, item: Any) -> Json:
        name = _step_name(item)
        cut = len(name) > _NAME_LENGTH
        step: Json = {
            "name": f"{name[: _NAME_LENGTH - 1]}…" if cut else name,
            "status": _STATUS.get(item.status, "broken"),
            "stage": "finished",
            "parameters": _arguments(item) if cut and item.type in _CALLS else [],
            "steps": [],
            "attachments": [],
            **times_of(item),
        }
        body = list(getattr(item, "body", ()))
        if item.type in _CALLS:
            body = [each for each in (item.setup, *body, item.teardown) if each]
        self.add_to(step, body)
        if item.status == "FAIL":
            said = item.message or ""
            of_card = classify("FAIL", said) is Verdict.CARD_FAILURE
            if of_card or any(each["status"] == "failed" for each in step["steps"]):
                step["status"] = "failed"
            step["statusDetails"] = {"message": plain_text(said)} if said else {}
        return step

    def _log_line(self, owner: Json, message: Any) -> Iterator[str]:
        text = message.message or ""
        if message.html:
            links = evidence_links(text)
            for link in links:
                content = self._files.read_evidence(link.href)
                self._attach(owner, link.name, link.mime, content, Path(link.href).suffix)
            text = plain_text(_marked(message))
            if links and text in ("", links[0].name):
                return
        yield f"{message.timestamp:%H:%M:%S.%f}  {message.level:5}  {text}" if message.timestamp else text

    def _attach(self, owner: Json, name: str, mime: str, content: bytes, suffix: str) -> None:
        self._count += 1
        key = " ".join((*self._key, str(self._count)))
        owner["attachments"].append(self._files.attach(name, mime, content, suffix, key))


def times_of(item: Any) -> Json:
    """Start and stop in milliseconds since 1970."""
    start = int(item.start_time.timestamp() * 1000) if item.start_time else 0
    return {"start": start, "stop": start + int(item.elapsed_time.total_seconds() * 1000)}


def _is_message(item: Any) -> bool:
    return bool(item.type == "MESSAGE")


def _marked(message: Any) -> str:
    """The text of a log message, marked the way Robot Framework marks messages of tests when it is HTML."""
    return f"*HTML* {message.message or ''}" if message.html else message.message or ""


def _step_name(item: Any) -> str:
    """A keyword the way it is in the suite, with assignment and arguments; a control structure likewise."""
    if item.type in _CALLS:
        assigned = ", ".join(name.rstrip("= ") for name in item.assign)
        call = "    ".join([item.name or "", *map(str, item.args)])
        name = f"{assigned} = {call}" if assigned else call
    elif item.type == "ITERATION":
        of_for = item.parent is not None and item.parent.type == "FOR"
        name = ", ".join(f"{name} = {value}" for name, value in item.assign.items()) if of_for else ""
    else:
        name = str(item)
    return re.sub(r"\s{2,}", "  ", _resolved(name.strip(), item)) or item.type.capitalize()


def _resolved(name: str, item: Any) -> str:
    """A name with the values that are the same in the whole run: Robot Framework hands arguments over as written."""
    if "${" not in name:
        return name
    top = item
    while top.parent is not None:
        top = top.parent
    for about, value in getattr(top, "metadata", {}).items():
        name = name.replace(f"${{{about.upper()}}}", value)
    return name


def _arguments(call: Any) -> list[Json]:
    """The arguments of a keyword as parameters of its step, for those that do not fit its name."""
    return [{"name": f"argument {number}", "value": str(value)} for number, value in enumerate(call.args, start=1)]
