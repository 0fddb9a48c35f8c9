"""One module per protocol; each third-party transport package is imported in exactly one of them.

Every error is a :class:`~niclab.core.verdict.BenchFault` whose message begins with the name of the machine it concerns.
"""

from __future__ import annotations

from niclab.core.verdict import BenchFault


class ConnectionLost(BenchFault):
    """The other end is gone, unreachable, or stopped answering."""


class CommandTimeout(BenchFault):
    """A command ran past its deadline (and was ended on the far end where that was possible)."""


class AuthenticationFailed(BenchFault):
    """User, password, key or host key was refused."""
