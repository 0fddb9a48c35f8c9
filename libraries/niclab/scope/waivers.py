"""Waivers: known failures of a card that somebody accepts for a while. ``lab/waivers/*.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from niclab.core.verdict import BenchFault
from niclab.files.document import Problem, shown_file
from niclab.files.repository import REPOSITORY
from niclab.files.types import Name, Text, Wanted
from niclab.files.yaml import Sheet, load

WAIVERS = REPOSITORY / "lab" / "waivers"


def _is_day(text: str) -> str:
    date.fromisoformat(text)
    return text


Day = Annotated[str, AfterValidator(_is_day), Wanted('a day in quotes, such as "2027-03-31"')]

Part = Annotated[
    str, StringConstraints(pattern=r"^\S.{8,}\S$"), Wanted("a part of one line of a failure, of at least 10 characters")
]


class Waiver(Sheet):
    """A waiver of one card. It covers each line of a card failure that has ``message`` in it.

    ``test``: title of the only test in which it does; ``expires``: the last day on which it holds.
    """

    waiver: Name
    card: Name
    message: Part
    test: Text | None = None
    reason: Text
    owner: Text
    expires: Day

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong across fields: a name that is not the file's."""
        if self.waiver != self.file.stem:
            yield Problem(("waiver",), f"{self.waiver} is not the name of the file", self.file.stem)

    def covers(self, title: str, line: str) -> bool:
        """Return whether one line of a card failure is what it names.

        Args:
            title: Title of the test.
            line: The line.
        """
        return self.test in (None, title) and self.message in line

    def expired(self, day: date) -> bool:
        """Return whether it no longer holds on a day."""
        return day > date.fromisoformat(self.expires)

    @property
    def covered(self) -> str:
        """The tests and messages that it covers, in words."""
        return f"{f'test {self.test}, ' if self.test else ''}lines with {self.message!r}"


def load_waivers(folder: Path = WAIVERS, card: str | None = None) -> list[Waiver]:
    """Read the waivers of a folder.

    Args:
        folder: The folder; one that is missing holds none.
        card: Name of a card sheet: only its waivers.

    Raises:
        BenchFault: A file is wrong.
    """
    found = [load(file, Waiver, Waiver.problems) for file in sorted(folder.glob("*.yaml"))]
    return [each for each in found if card in (None, each.card)]


def require_current(waivers: Iterable[Waiver], day: date) -> None:
    """Refuse waivers that have expired.

    Raises:
        BenchFault: At least one has; the message names each.
    """
    if expired := said_of_expired([each for each in waivers if each.expired(day)]):
        raise BenchFault("\n".join(expired))


def said_of_expired(expired: Sequence[Waiver]) -> list[str]:
    """Return one sentence for each waiver that has expired."""
    return [
        f"{shown_file(each.file)}: expires: {each.expires} has passed; expected a renewal by {each.owner}, or removal"
        for each in expired
    ]
