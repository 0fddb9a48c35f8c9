"""Versions of drivers and firmware: their order, ranges of them, and lists of what is required, allowed and forbidden.

Vendors write versions in different ways, and a comparison that guesses is worse than none: :class:`VersionOrder` says
how the versions of one list are compared, and what cannot be compared is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest
from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag

from niclab.card.values import UNKNOWN, Unknown, word_or_list
from niclab.core.verdict import Undecided
from niclab.files.types import Record, Wanted


class VersionVerdict(Enum):
    """The verdict of a sheet on a version. UNKNOWN: none, the version is in none of its lists."""

    REQUIRED = "required"
    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    UNKNOWN = "unknown"


class VersionOrder(Enum):
    """The comparison of the versions of a list.

    * NUMBERS: number by number, as ``4.9.416.0`` (Emulex, Chelsio, Solarflare firmware) or ``2.1-0`` (Intel e1000e).
    * NUMBERS_SUFFIX: as NUMBERS with a word behind it, as ``3.6.7-k`` (Intel) or ``4.4.161.0u`` (Emulex);
      versions that differ in the word alone cannot be compared.
    * NUMBERS_OR_NAMES: as NUMBERS, but what is no numbers is a name, as ``bc 7.10.4`` (Broadcom boot code where a board
      has no family version) or ``0x80000887``: the list that names it judges it, and no range.
    * EXACT: no order at all, as ``0x61c10001`` (the EETRACK id of Intel firmware names an image, it does not count).
    """

    NUMBERS = "numbers"
    NUMBERS_SUFFIX = "numbers-suffix"
    NUMBERS_OR_NAMES = "numbers-or-names"
    EXACT = "exact"


class IncomparableVersions(ValueError):
    """Two versions whose order cannot be decided."""


_NUMBERS = r"(?:0|[1-9][0-9]*)(?:[.-](?:0|[1-9][0-9]*))*"
_SHAPES = {
    VersionOrder.NUMBERS: re.compile(rf"({_NUMBERS})()", re.ASCII),
    VersionOrder.NUMBERS_OR_NAMES: re.compile(rf"({_NUMBERS})()", re.ASCII),
    VersionOrder.NUMBERS_SUFFIX: re.compile(rf"(?!0x)({_NUMBERS})(-?[A-Za-z]{{1,8}}[0-9]{{0,2}})?", re.ASCII),
}


@dataclass(frozen=True)
class Version:
    """A version of numbers joined by dots and dashes, such as ``4.9.416.0`` or ``1.8-0``, perhaps with a suffix.

    Compared number by number, a missing number counting as 0, and only where both have the same marks between the
    numbers (``1.8-0`` against ``1.8`` but not against ``1.8.0``). A number with a leading zero is refused: ``6.01`` may
    be meant as a decimal, and then ``6.1`` is not the same.
    """

    numbers: tuple[int, ...]
    marks: tuple[str, ...]
    suffix: str = ""

    @classmethod
    def parse(cls, text: str, order: VersionOrder = VersionOrder.NUMBERS) -> Version:
        """Parse.

        Raises:
            IncomparableVersions: When ``text`` has another shape than ``order`` wants.
        """
        if order is VersionOrder.EXACT:
            raise IncomparableVersions(f"{text!r} is one of versions that have no order")
        match = _SHAPES[order].fullmatch(text)
        if match is None:
            more = ", perhaps with a word behind" if order is VersionOrder.NUMBERS_SUFFIX else ""
            raise IncomparableVersions(f"{text!r} is not numbers joined by . and - (no leading zeros){more}")
        numbers = tuple(int(number) for number in re.split("[.-]", match[1]))
        return cls(numbers, tuple(re.findall("[.-]", match[1])), match[2] or "")

    def compare(self, other: Version) -> int:
        """-1, 0 or 1 when this version is before, the same as, or after ``other``.

        Raises:
            IncomparableVersions: When their marks differ, or nothing but their suffixes.
        """
        if any(mine != theirs for mine, theirs in zip(self.marks, other.marks, strict=False)):
            raise IncomparableVersions(f"{self} and {other} have different shapes")
        pairs = list(zip_longest(self.numbers, other.numbers, fillvalue=0))
        mine, theirs = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
        if mine == theirs and self.suffix != other.suffix:
            raise IncomparableVersions(f"{self} and {other} differ in a suffix, which has no order")
        return (mine > theirs) - (mine < theirs)

    def __str__(self) -> str:
        rest = "".join(f"{mark}{number}" for mark, number in zip(self.marks, self.numbers[1:], strict=True))
        return f"{self.numbers[0]}{rest}{self.suffix}"


@dataclass(frozen=True)
class VersionRange:
    """Bounds on a version, all of which must hold: ``>=1.8, <3``."""

    text: str
    bounds: tuple[tuple[str, Version], ...]
    order: VersionOrder = VersionOrder.NUMBERS

    @classmethod
    def parse(cls, text: str, order: VersionOrder = VersionOrder.NUMBERS) -> VersionRange:
        """Parse.

        Raises:
            ValueError: When ``text`` is no range, holds no version, or its bounds cannot be compared.
        """
        bounds = []
        for part in text.split(","):
            match = re.fullmatch(r"\s*(>=|<=|>|<)\s*(\S+)\s*", part)
            if match is None:
                raise ValueError(f"{part.strip()!r} is not one of >= <= > < and a version")
            bounds.append((match[1], Version.parse(match[2], order)))
        lower = [bound for bound in bounds if bound[0][0] == ">"]
        upper = [bound for bound in bounds if bound[0][0] == "<"]
        if len(lower) > 1 or len(upper) > 1:
            raise ValueError(f"{text!r} has two lower or two upper bounds")
        if lower and upper:
            step = lower[0][1].compare(upper[0][1])
            if step > 0 or (step == 0 and (lower[0][0], upper[0][0]) != (">=", "<=")):
                raise ValueError(f"no version is in {text!r}")
        return cls(text, tuple(bounds), order)

    def __contains__(self, version: str) -> bool:
        """Contains.

        Raises:
            IncomparableVersions: When ``version`` and a bound cannot be compared.
        """
        have = Version.parse(version, self.order)
        orders = [(sign, have.compare(bound)) for sign, bound in self.bounds]
        return all((order == 0 and "=" in sign) or order == (1 if sign[0] == ">" else -1) for sign, order in orders)


def _is_range(spec: str) -> bool:
    return spec.startswith((">", "<"))


def matches(version: str, spec: str, order: VersionOrder = VersionOrder.NUMBERS) -> bool:
    """True when ``version`` is what ``spec`` describes: the exact same text, or a version in that range.

    Raises:
        IncomparableVersions: When ``spec`` is a range that ``version`` cannot be compared with.
    """
    return version in VersionRange.parse(spec, order) if _is_range(spec) else version == spec


def _check_spec(spec: str) -> str:
    if spec != spec.strip() or spec == "unknown":
        raise ValueError("no version")
    if _is_range(spec):
        VersionRange.parse(spec, VersionOrder.NUMBERS_SUFFIX)  # the order of the list it is in is checked there
    return spec


VersionSpec = Annotated[
    str,
    StringConstraints(pattern=r"\S"),
    AfterValidator(_check_spec),
    Wanted('an exact version such as "1.8-0", or a range such as ">=1.8, <3", in quotes'),
]
Versions = Annotated[tuple[VersionSpec, ...], Field(min_length=1)]
UnknownWord = Annotated[Unknown, Wanted(f"{UNKNOWN}, or a list of at least one version")]


@dataclass(frozen=True)
class Contradiction:
    """An entry of a list that contradicts another, or the order of the lists.

    Attributes:
        verdict: The list it is in.
        index: Its place in that list.
        reason: What is wrong with it.
        wanted: What may be there instead.
    """

    verdict: VersionVerdict
    index: int
    reason: str
    wanted: str


class VersionLists(Record):
    """The required, allowed and forbidden versions.

    ``required``: one of these must run; ``unknown``: nobody knows which. ``order``: how they are compared.
    """

    required: Annotated[
        Annotated[UnknownWord, Tag("word")] | Annotated[Versions, Tag("list")], Discriminator(word_or_list)
    ]
    allowed: Versions | None = None
    forbidden: Versions | None = None
    order: Annotated[VersionOrder, Wanted("numbers, numbers-suffix, numbers-or-names or exact")] = VersionOrder.NUMBERS

    @property
    def is_known(self) -> bool:
        """False when the sheet names no version at all, so that no version can be judged."""
        return any(specs for _, specs in self._lists())

    def verdict(self, version: str) -> VersionVerdict:
        """Return the verdict of the lists on ``version``; forbidden wins over required, required over allowed.

        Raises:
            Undecided: When ``version`` is blank, or cannot be compared with a range of a list that must be asked.
        """
        if not version.strip():
            raise Undecided("no version was read, so nothing can be said about it")
        if self.order is VersionOrder.NUMBERS_OR_NAMES and _is_name(version):
            named = next((verdict for verdict, specs in self._lists() if version in specs), None)
            if named is None:
                raise Undecided(f"version {version!r} is a name that no list has")
            return named
        try:
            for verdict, specs in self._lists():
                exact = any(version == spec for spec in specs)
                if exact or any(matches(version, spec, self.order) for spec in specs):
                    return verdict
        except IncomparableVersions as error:
            raise Undecided(f"version {version!r} cannot be judged: {error}") from error
        return VersionVerdict.UNKNOWN

    def contradictions(self) -> Iterator[Contradiction]:
        """Every range that the order makes none.

        And every exact version that a stronger list claims, or cannot be compared with.

        (A forbidden exact version inside a required or allowed range is an exception to it, and no contradiction.)
        """
        stronger: list[tuple[VersionVerdict, str]] = []
        for verdict, specs in self._lists():
            for index, spec in enumerate(specs):
                if reason := self._has_no_order(spec):
                    yield Contradiction(verdict, index, reason, "an exact version")
                for other, claim in stronger:
                    reason = "" if _is_range(spec) else _clash(spec, claim, other, self.order)
                    if reason:
                        yield Contradiction(verdict, index, reason, "each version in one list")
            stronger += [(verdict, spec) for spec in specs]

    def _has_no_order(self, spec: str) -> str:
        try:
            if _is_range(spec):
                VersionRange.parse(spec, self.order)
        except ValueError as error:
            return f"{spec} is no range where the order is {self.order.value}: {error}"
        return ""

    def _lists(self) -> Iterator[tuple[VersionVerdict, tuple[str, ...]]]:
        """The lists, the strongest first."""
        yield VersionVerdict.FORBIDDEN, self.forbidden or ()
        yield VersionVerdict.REQUIRED, () if isinstance(self.required, Unknown) else self.required
        yield VersionVerdict.ALLOWED, self.allowed or ()


def _is_name(version: str) -> bool:
    return _SHAPES[VersionOrder.NUMBERS_OR_NAMES].fullmatch(version) is None


def _clash(version: str, claim: str, claimed_as: VersionVerdict, order: VersionOrder) -> str:
    try:
        return f"{version} is {claimed_as.value} too ({claim})" if matches(version, claim, order) else ""
    except IncomparableVersions as error:
        if order is VersionOrder.EXACT or (order is VersionOrder.NUMBERS_OR_NAMES and _is_name(version)):
            return ""
        return f"{version} cannot be compared with {claimed_as.value} {claim}: {error}"
