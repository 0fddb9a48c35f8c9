"""The base class of the keyword libraries."""

from __future__ import annotations

from niclab.run.run import Run, current


class BenchLibrary:
    """Gives a keyword library the current run. It is the only place that asks for it.

    A keyword library is vocabulary: it holds no state, connects to nothing when it is constructed, and leaves the work
    to ``niclab``. What must be remembered between two keywords belongs to the run, see
    :meth:`niclab.run.run.Run.part`.
    """

    @property
    def run(self) -> Run:
        """The current qualification run.

        Raises:
            BenchFault: No bench is acquired.
        """
        return current()
