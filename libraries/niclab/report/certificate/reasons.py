"""The reasons why a run is not certified: the sentences for people, and the exit status that they mean together."""

from __future__ import annotations

from niclab.core.exit_status import GRAVEST_FIRST, ExitStatus


class Reasons:
    """Collects the reasons of one certificate.

    ``texts``: the sentences in their order.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._meanings: set[ExitStatus] = set()

    def add(self, *texts: str, means: ExitStatus = ExitStatus.BENCH_FAULT) -> None:
        """Add reasons of one kind.

        Args:
            texts: The sentences; none adds nothing.
            means: What a run is that has only these reasons.
        """
        self.texts += texts
        if texts:
            self._meanings.add(means)

    def status(self, *, waived: bool) -> ExitStatus:
        """Return the exit status of the run.

        Args:
            waived: A waiver covers a failure of it.
        """
        if self.texts:
            return next(each for each in GRAVEST_FIRST if each in self._meanings)
        return ExitStatus.WAIVED if waived else ExitStatus.CERTIFIED
