"""The four ways a check can end other than well.

A message names subject, measured, wanted, and the source of the expectation::

    dut.p0 (0000:17:00.0) trained to x4, sheet emulex-oce11102 wants x8

Robot Framework puts the class name before the message (``CardFailure: dut.p0 ...``); reports and certificates tell the
verdicts apart by that prefix, so the names are part of the interface.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum


class CardFailure(AssertionError):
    """The card (its hardware, firmware or driver) is wrong."""


class KernelFailure(CardFailure):
    """A kernel reported trouble of the card. No waiver covers it."""


class BenchFault(Exception):
    """The lab is wrong: a server, switch, BMC, console, cable, tool or file. Never counts against the card."""


class NotApplicable(Exception):
    """The question cannot be asked of this card or bench; the message says why. Robot Framework skips the test."""

    ROBOT_SKIP_EXECUTION = True


class SheetSilent(NotApplicable):
    """The card's sheet says nothing about it.

    The test is skipped as with NotApplicable, but nobody knows that the question does not apply: a plan that requires
    the answer is not fulfilled.
    """


class SheetUnknown(NotApplicable):
    """The card's sheet says that nobody knows it, and why.

    As with SheetSilent the answer is missing: a plan that requires it is not fulfilled, unless the plan allows that.
    """


class Deviation(NotApplicable):
    """The bench declares that its emulated card deviates from the silicon here; the message says how."""


class Undecided(Exception):
    """The measurement cannot tell."""


def fail_with(problems: list[str], doubts: Sequence[str] = ()) -> None:
    """End a check that has asked everything it had to ask.

    Args:
        problems: What is wrong with the card.
        doubts: What could not be decided; it hides no problem.

    Raises:
        CardFailure: With every problem, one a line, when there is any; the doubts are lines behind them, which no
            waiver of the problems covers.
        Undecided: With every doubt, when there are doubts alone.
    """
    if problems:
        raise CardFailure("\n".join([*problems, *(f"undecided: {doubt}" for doubt in doubts)]))
    if doubts:
        raise Undecided("\n".join(doubts))


@contextmanager
def proven_first(problems: Callable[[], list[str]]) -> Iterator[None]:
    """Tell what is proven of the card where a ``with`` block cannot be judged to its end; why not is a doubt behind it.

    Args:
        problems: Tells what is proven by then; nothing where the list is empty.

    Raises:
        CardFailure: The block is ended by the bench or a doubt, or cannot be asked, and something is proven.
    """
    try:
        yield
    except (BenchFault, NotApplicable, Undecided) as error:
        if found := problems():
            fail_with(found, [str(error)])
        raise


class Collected:
    """The ends of the parts of a check, such as ports or sizes: no part that cannot be judged hides another failure."""

    def __init__(self) -> None:
        self.problems, self.doubts, self._noted = list[str](), list[str](), list[str]()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Judge one part inside the ``with`` block; a failure or a doubt is kept for the end of the check.

        Raises:
            CardFailure: A kernel's trouble, at once; or the bench is wrong or the question cannot be asked, and parts
                before have failed.
            Undecided: The question cannot be asked, and parts before are undecided: a plan may excuse the one alone.
            BenchFault: At once, where none has failed.
            NotApplicable: At once, where none has failed or is undecided.
        """
        try:
            yield
        except KernelFailure:
            raise
        except (CardFailure, Undecided) as error:
            (self.problems if isinstance(error, CardFailure) else self.doubts).append(str(error))
            self._noted += getattr(error, "__notes__", [])
        except (BenchFault, NotApplicable) as error:
            if self.problems or isinstance(error, NotApplicable):
                (self.doubts if self.problems else self._noted).append(str(error))
                self.end()
            raise

    def end(self) -> None:
        """End the check.

        Raises:
            CardFailure: With the failure of every part that has one, and what could not be judged behind them.
            Undecided: With every doubt, when there are doubts alone.
        """
        try:
            fail_with(self.problems, self.doubts)
        except (CardFailure, Undecided) as error:
            for note in self._noted:
                error.add_note(note)
            raise


def none_applies(others: Sequence[tuple[str, NotApplicable]]) -> NotApplicable:
    """Return why nothing of several things can be asked, of the kind that their reasons share.

    Where they share none, an answer that is missing hides behind no reason that a plan may allow.

    Args:
        others: Name and reason of each, at least one.
    """
    kinds = {type(error) for _, error in others}
    missing = [kind for kind in (SheetSilent, SheetUnknown) if kind in kinds]
    kind = kinds.pop() if len(kinds) == 1 else next(iter(missing), NotApplicable)
    return kind("; ".join(f"{name}: {error}" for name, error in others))


def require_judged(unjudged: Sequence[str], *, some: bool) -> None:
    """End a check that wants to judge every port, after its failures.

    Args:
        unjudged: The reason for each port that could not be judged; one of several ports is said once.
        some: Whether another one was judged.

    Raises:
        Undecided: Some were judged, and others not.
        NotApplicable: None was.
    """
    reasons = "\n".join(dict.fromkeys(unjudged))
    if not some:
        raise NotApplicable(reasons)
    if unjudged:
        raise Undecided(reasons)


@dataclass(frozen=True)
class Trouble:
    """A problem of one side.

    Attributes:
        text: The problem.
        of_card: The card on the dut has it; else it is of the bench, such as the known-good peer or the switch.
    """

    text: str
    of_card: bool


def blame(troubles: Sequence[Trouble]) -> None:
    """End a check that has asked both sides everything it had to ask.

    Raises:
        CardFailure: With every problem, one a line, those of the card first, when the card has any.
        BenchFault: With every problem, when all are of the bench.
    """
    lines = [found.text for found in sorted(troubles, key=lambda found: not found.of_card)]
    fail_with(lines if any(found.of_card for found in troubles) else [])
    if lines:
        raise BenchFault("\n".join(lines))


class Blamed(Enum):
    """The side that is wrong where a check fails."""

    CARD = "Card"
    BENCH = "Bench"


@dataclass(frozen=True)
class Charge:
    """A problem, and the side that is charged with it.

    Attributes:
        text: The problem.
        side: The side; None where it cannot be seen.
        reason: Why that side, or why it cannot be seen; empty where the text tells.
    """

    text: str
    side: Blamed | None
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.text}; {self.reason}" if self.reason else self.text


def split(charges: Sequence[Charge]) -> tuple[list[Trouble], list[str]]:
    """Return the problems of a side, and the texts of those whose side cannot be seen.

    Args:
        charges: The problems.
    """
    clear = [Trouble(str(each), of_card=each.side is Blamed.CARD) for each in charges if each.side is not None]
    return clear, [str(each) for each in charges if each.side is None]


def blame_charged(charges: Sequence[Charge]) -> None:
    """End a check that may have seen problems without their side.

    Raises:
        CardFailure: The card is charged with one.
        BenchFault: The bench is, with all whose side can be seen.
        Undecided: The side of none can be seen.
    """
    clear, unclear = split(charges)
    if unclear and not clear:
        raise Undecided("\n".join(unclear))
    blame([*clear, *(Trouble(text, of_card=False) for text in unclear)])


def require(blamed: Blamed, subject: str, measured: str, expected: str, source: str = "", *, met: bool) -> None:
    """End a check of one fact.

    Args:
        blamed: The side that is wrong unless it is ``met``.
        subject: What was measured.
        measured: What was found, in words.
        expected: What is right, in words.
        source: Where that is said; empty where nobody says it.
        met: Is it as expected?

    Raises:
        CardFailure: The card is wrong.
        BenchFault: The bench is.
    """
    if not met:
        text = f"{subject}: {measured}; expected {expected}{f' ({source})' if source else ''}"
        blame([Trouble(text, of_card=blamed is Blamed.CARD)])


def require_number(subject: str, found: float) -> None:
    """Require that a test compares a number, not an infinite one and not NaN.

    Args:
        subject: What was measured.
        found: What was found.

    Raises:
        BenchFault: It is no number.
    """
    require(Blamed.BENCH, subject, f"{found:g}", "a number", met=math.isfinite(found))


@contextmanager
def ended_by(end: Callable[[], object]) -> Iterator[None]:
    """End something after a ``with`` block. Where the block failed, a fault of the end is a note of its error.

    Args:
        end: Ends it.
    """
    try:
        yield
    except BaseException as error:
        try:
            end()
        except BenchFault as fault:
            error.add_note(str(fault))
        raise
    end()
