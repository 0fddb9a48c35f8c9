"""The single values that are on card sheets, and the section that names the source of its facts.

A fact that nobody knows is ``{unknown: REASON}``; :meth:`niclab.card.Card.known` turns it into its verdict.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints

from niclab.files.types import Record, Text, Wanted, one_of, refuse_if


class Unknown(Record):
    """A fact that is not known, and why: ``{unknown: depends on the number of CPUs}``."""

    unknown: Text

    def __str__(self) -> str:
        return f"unknown: {self.unknown}"


UNKNOWN = "{unknown: the reason}"
"""The form of a fact that is not known, in the words of an error."""
_NO_ANSWERS = ("unknown", "?", "-", "tbd")


def word_or_list(value: Any) -> str:
    """The tag of a value that is either a list or unknown."""
    return "list" if isinstance(value, list | tuple) else "word"


def _is_no_answer(text: str) -> bool:
    return text.strip().lower() in _NO_ANSWERS


def _check_pattern(pattern: str) -> str:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    if "version" not in compiled.groupindex:
        raise ValueError("no group named version")
    return pattern


Source = Annotated[
    str,
    StringConstraints(pattern=r"\S"),
    refuse_if(_is_no_answer),
    Wanted("where the facts come from: document and page, assumption and reason, or measurement and date"),
]
PciId = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{4}$"), Wanted('4 lower-case hex digits in quotes, such as "8086"')
]
PciClass = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{6}$"), Wanted('a PCI class of 6 hex digits in quotes, such as "020000"')
]
Subsystem = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$"),
    Wanted('a subsystem vendor:device in lower-case hex, in quotes, such as "8086:a01f"'),
]
Oui = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-f][02468ace](:[0-9a-f]{2}){2}$"),
    Wanted('the first three bytes of a unicast MAC address in lower-case hex, in quotes, such as "00:00:c9"'),
]
Count = Annotated[int, Field(ge=1, le=64), Wanted("a number 1..64")]
Module = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]+$"), Wanted("the name of a kernel module")]
PackageName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]+$"), Wanted("the name of a package, such as be2net-dkms")
]
Word = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"), Wanted("a name without blanks, such as rx-usecs")
]
CounterName = Annotated[
    str, StringConstraints(pattern=r"^\S(.*\S)?$"), Wanted("the name of a counter as ethtool -S or sysctl prints it")
]
RequirementId = Annotated[
    str, StringConstraints(pattern=r"^[A-Z]{3,4}-[0-9]{2}$"), Wanted("the ID of a requirement, such as EMX-03")
]
FirmwareShape = Annotated[
    str,
    AfterValidator(_check_pattern),
    Wanted("a regular expression in quotes, with a group (?P<version>...) around what the lists judge"),
]
Tunable = Annotated[
    int | Annotated[str, StringConstraints(pattern=r"\S"), refuse_if(_is_no_answer)] | Unknown,
    Wanted(f"a whole number, a word, or {UNKNOWN}"),
]
SpeedGts = Annotated[
    Annotated[float, one_of(2.5, 5, 8, 16, 32, 64)] | Unknown,
    Wanted(f"2.5, 5, 8, 16, 32 or 64 (GT/s, PCI Express generations 1 to 6), or {UNKNOWN}"),
]
Lanes = Annotated[
    Annotated[int, one_of(1, 2, 4, 8, 12, 16, 32)] | Unknown, Wanted(f"1, 2, 4, 8, 12, 16 or 32 lanes, or {UNKNOWN}")
]
SpeedMbps = Annotated[
    Annotated[int, Field(ge=10, le=1_600_000)] | Unknown, Wanted(f"a link speed of 10..1600000 Mbit/s, or {UNKNOWN}")
]
KnownSpeedMbps = Annotated[int, Field(ge=10, le=1_600_000), Wanted("a link speed of 10..1600000 Mbit/s")]
Fraction = Annotated[
    Annotated[float, Field(gt=0, le=1)] | Unknown,
    Wanted(f"a fraction of line rate, more than 0 and at most 1, or {UNKNOWN}"),
]
LessThanWhole = Annotated[
    Annotated[float, Field(gt=0, lt=1)] | Unknown,
    Wanted(f"a fraction of more than 0 and less than 1, or {UNKNOWN}"),
]
Milliseconds = Annotated[
    Annotated[int, Field(ge=1, le=600_000)] | Unknown, Wanted(f"whole milliseconds 1..600000, or {UNKNOWN}")
]
Percent = Annotated[Annotated[float, Field(gt=0, le=100)] | Unknown, Wanted(f"a percentage up to 100, or {UNKNOWN}")]
Rate = Annotated[Annotated[int, Field(ge=1)] | Unknown, Wanted(f"a whole number of at least 1, or {UNKNOWN}")]
KnownRate = Annotated[int, Field(ge=1), Wanted("a whole number of at least 1")]
FrameBytes = Annotated[int, Field(ge=64, le=9216), Wanted("bytes of a frame with FCS, 64..9216")]
Descriptors = Annotated[
    Annotated[int, Field(ge=1, le=1_048_576)] | Unknown, Wanted(f"a number of descriptors 1..1048576, or {UNKNOWN}")
]
Setting = Annotated[
    Annotated[int, Field(ge=0, le=4_294_967_295)] | Unknown, Wanted(f"a whole number 0..4294967295, or {UNKNOWN}")
]
Queues = Annotated[Annotated[int, Field(ge=0, le=4096)] | Unknown, Wanted(f"a number of queues 0..4096, or {UNKNOWN}")]
MtuBytes = Annotated[
    Annotated[int, Field(ge=46, le=65_535)] | Unknown, Wanted(f"an MTU of 46..65535 bytes, or {UNKNOWN}")
]
Switch = Annotated[bool | Unknown, Wanted(f"true, false, or {UNKNOWN}")]


class Section(Record):
    """A section of a sheet; ``source`` says where its facts come from."""

    source: Source
