"""The base class of the keyword libraries."""

from __future__ import annotations

from robot.libraries.BuiltIn import BuiltIn

from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault
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

    def profile(self, chosen: Profile | None) -> Profile:
        """The profile of a measurement: the chosen one, else that of the run, ``-v PROFILE:full``; ``quick`` without.

        Raises:
            BenchFault: The run's is none.
        """
        if chosen is not None:
            return chosen
        name = BuiltIn().get_variable_value("${PROFILE}", Profile.QUICK.value)
        if name not in [each.value for each in Profile]:
            raise BenchFault(f"variable PROFILE: {name!r} is no profile; expected: quick or full")
        return Profile(name)
