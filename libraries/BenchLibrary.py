"""The base class of the keyword libraries, and the decorator that tags their keywords."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from robot.api import deco
from robot.libraries.BuiltIn import BuiltIn

from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault
from niclab.run.run import Run, current

Method = TypeVar("Method", bound=Callable[..., Any])


@overload
def keyword(name: Method) -> Method: ...
@overload
def keyword(name: str | None = None, *, tags: Sequence[str] = ()) -> Callable[[Method], Method]: ...
def keyword(name: Method | str | None = None, *, tags: Sequence[str] = ()) -> Method | Callable[[Method], Method]:
    """Make a method a keyword, as Robot Framework's decorator does, and tag it by its kind as well.

    Args:
        name: The method, or the name of the keyword where it is not that of the method.
        tags: Other tags.
    """

    def tagged(method: Method) -> Method:
        named = None if callable(name) else name
        kind = kind_of(named or method.__name__, method.__annotations__)
        made: Method = deco.keyword(named, tags=(kind, *tags))(method)
        return made

    return tagged(name) if callable(name) else tagged


def kind_of(name: str, types: dict[str, Any]) -> str:
    """Return the kind of a keyword: ``check`` can find the card or the bench wrong, ``query`` returns something.

    Everything else is an ``action``.

    Args:
        name: Its name, in any form.
        types: Types of its arguments and of what it returns, as written.
    """
    if "should" in re.split(r"[ _]", name.lower()):
        return "check"
    return "action" if types["return"] == "None" else "query"


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

    @deco.not_keyword
    def profile(self, chosen: Profile | None) -> Profile:
        """The profile of a measurement: the chosen one, else that of the run, ``-v PROFILE:full``; ``quick`` without.

        Raises:
            BenchFault: The run's is none.
        """
        if chosen is not None:
            return chosen
        name = BuiltIn().get_variable_value("${PROFILE}", Profile.QUICK.value)
        if name not in [each.value for each in Profile]:
            raise BenchFault(f"variable PROFILE: {name!r} is no profile; expected quick or full")
        return Profile(name)
