"""The environment of programs that the lab starts: what is on a list, and nothing else of this process's own."""

from __future__ import annotations

import os
from collections.abc import Iterable

_PLAIN = frozenset({"HOME", "LANG", "LANGUAGE", "LOGNAME", "PYTHONPATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"})
_BEGINNINGS = ("LC_", "XDG_")


def plain_environment(also: Iterable[str] = ()) -> dict[str, str]:
    """Return the part of the environment that any program may have: no secret of the lab or of a pipeline.

    Args:
        also: Names of further variables that this program needs.
    """
    names = _PLAIN | set(also)
    kept = {name: value for name, value in os.environ.items() if name in names or name.startswith(_BEGINNINGS)}
    return {"PATH": os.environ.get("PATH", os.defpath), **kept}
