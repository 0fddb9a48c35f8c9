"""Waivers: known failures of a card that somebody accepts for a while. ``lab/waivers/*.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from niclab.core.verdict import BenchFault
from niclab.files.repository import REPOSITORY
from niclab.files.types import Name, Text, Wanted
from niclab.files.yaml import Problem, Sheet, load, shown_file

WAIVERS = REPOSITORY / "lab" / "waivers"


def _is_day(text: str) -> str:
    date.fromisoformat(text)
    return text


Day = Annotated[str, AfterValidator(_is_day), Wanted('a day in quotes, such as "2027-03-31"')]


class Waiver(Sheet):
    """A waiver of one card. It covers the card failures whose test or message it names; with both, both must fit.

    ``test`` is the title of a test, ``message`` a part of its message, ``expires`` the last day on which it holds.
    """

    waiver: Name
    card: Name
    test: Text | None = None
    message: Text | None = None
    reason: Text
    owner: Text
    expires: Day

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong across fields: a name that is not the file's, or nothing that it covers."""
        if self.waiver != self.file.stem:
            yield Problem(("waiver",), f"{self.waiver} is not the name of the file", self.file.stem)
        if self.test is None and self.message is None:
            yield Problem((), "names neither test nor message", "at least one of them")

    def covers(self, title: str, message: str) -> bool:
        """Return whether a failure is one that it names.

        Args:
            title: Title of the test.
            message: Its message.
        """
        of_test = self.test is None or self.test == title
        return of_test and (self.message is None or self.message in message)

    def expired(self, day: date) -> bool:
        """Return whether it no longer holds on a day."""
        return day > date.fromisoformat(self.expires)

    @property
    def covered(self) -> str:
        """What it covers, in words."""
        words = (
            f"test {self.test}" * (self.test is not None),
            f"message {self.message!r}" * (self.message is not None),
        )
        return ", ".join(filter(None, words))


def load_waivers(folder: Path = WAIVERS, card: str | None = None) -> list[Waiver]:
    """Read the waivers of a folder.

    Args:
        folder: The folder; one that is missing holds none.
        card: Name of a card sheet: only its waivers.

    Raises:
        BenchFault: A file is wrong.
    """
    found = [load(file, Waiver) for file in sorted(folder.glob("*.yaml"))]
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
        f"{shown_file(each.file)}: expires: {each.expires} has passed; expected: renewed by {each.owner}, or removed"
        for each in expired
    ]
