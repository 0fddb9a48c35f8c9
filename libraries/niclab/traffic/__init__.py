"""Traffic tools: run, read, and refuse results that prove nothing.

A worthless result (an error, nothing received, cut short, the sender's rate only) is never a number: it is a
:class:`WorthlessResult`, naming why.
"""

from __future__ import annotations

from niclab.hosts.errors import ReadError


class WorthlessResult(ReadError):
    """The text can be read, but what it measured cannot be used; the message says why."""
