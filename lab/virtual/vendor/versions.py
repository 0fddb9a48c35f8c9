"""Versions next to those a sheet names: one that is older, one that is newer, one that is forbidden."""

from __future__ import annotations

import re

NUMBER = re.compile(r"\d+")


class VersionError(Exception):
    """A version, or a rule about versions, that says nothing of what is wanted."""


def newer(version: str) -> str:
    """The next version: the last number one higher."""
    numbers = list(NUMBER.finditer(version))
    if not numbers:
        raise VersionError(f"{version!r} has no number that could be higher")
    last = numbers[-1]
    return version[: last.start()] + _like(last.group(), int(last.group()) + 1) + version[last.end() :]


def older(version: str) -> str:
    """The version before: the last number that is not zero one lower."""
    numbers = [match for match in NUMBER.finditer(version) if int(match.group())]
    if not numbers:
        raise VersionError(f"{version!r} has no number that could be lower")
    last = numbers[-1]
    return version[: last.start()] + _like(last.group(), int(last.group()) - 1) + version[last.end() :]


def forbidden(rules: list[str]) -> str | None:
    """A version that the first of the ``rules`` ``<VERSION`` or ``VERSION`` excludes; None without such a rule."""
    for rule in rules:
        if match := re.fullmatch(r"<\s*([^,<>=]+)", rule):
            return older(match.group(1))
        if not re.search(r"[<>=,]", rule):
            return rule
    return None


def _like(model: str, number: int) -> str:
    """The number with as many digits as ``model`` has."""
    return f"{number:0{len(model)}d}" if model.startswith("0") else str(number)
