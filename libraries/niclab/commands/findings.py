"""Findings of ``niclab doctor``: one thing looked at, whether it is well, and how it is mended where it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.transports import TransportFault


@dataclass(frozen=True)
class Finding:
    """One thing looked at. ``fault`` is empty when it is well; ``mend`` says what to do when it is not.

    ``question``: sheet and card disagree. It is no fault of the bench: a run would blame the card for it.
    """

    subject: str
    what: str
    seen: str
    fault: str = ""
    mend: str = ""
    question: str = ""

    def __str__(self) -> str:
        if self.question:
            return f"ASK    {self.subject:5} {self.what:12} {self.question}\n       {'':18} sheet or card? {self.mend}"
        if not self.fault:
            return f"ok     {self.subject:5} {self.what:12} {self.seen}"
        return f"FAULT  {self.subject:5} {self.what:12} {self.fault}\n       {'':18} mend: {self.mend}"


def look_at(subject: str, what: str, look: Callable[[], str], mend: str) -> Finding:
    """Look at one thing.

    Args:
        subject: Whose it is, such as ``dut``.
        what: Its name.
        look: Looks at it, and returns what it saw; raises a verdict where it is not well.
        mend: What to do then, unless the verdict says so itself.
    """
    try:
        return Finding(subject, what, look())
    except TransportFault as error:
        said = str(error).removesuffix(error.mend) if error.mend else str(error)  # the next line says it
        return Finding(subject, what, "", said.rstrip(), error.mend or mend)
    except (BenchFault, NotApplicable, CardFailure, Undecided) as error:
        return Finding(subject, what, "", str(error), mend)
