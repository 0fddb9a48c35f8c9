"""One module per protocol; each third-party transport package is imported in exactly one of them.

Every error is a :class:`~niclab.core.verdict.BenchFault` whose message begins with the name of the machine it concerns.
"""

from __future__ import annotations

from niclab.core.verdict import BenchFault


class TransportFault(BenchFault):
    """A fault that may know its own cure.

    Args:
        mend: what to do about it, in one line; empty where the message is all there is to say.
    """

    def __init__(self, message: str, *, mend: str = "") -> None:
        super().__init__(message)
        self.mend = mend


class ConnectionLost(TransportFault):
    """The other end is gone, unreachable, or stopped answering."""


class CommandTimeout(BenchFault):
    """A command ran past its deadline (and was ended on the far end where that was possible)."""


class AuthenticationFailed(TransportFault):
    """User, password, key or host key was refused."""
