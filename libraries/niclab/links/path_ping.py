"""Pings between two ends of a path, bond or VLAN: which were answered, and what is wrong with that."""

from __future__ import annotations

from niclab.hosts.host_records import PingResult

PING_COUNT = 10
HEADER_BYTES = 28
"""IPv4 header without options (RFC 791: 20 bytes) and ICMP header (RFC 792: 8 bytes)."""


def unanswered(subject: str, result: PingResult, kind: str = "pings", *, copies: bool = False) -> list[str]:
    """Report pings that were not answered exactly once.

    Args:
        subject: From where to where the pings went.
        result: What came of them.
        kind: What they are called in the message.
        copies: Every frame is sent more than once, so that answers may be as well.

    Returns:
        The problem, with the tool's own words, each once; empty when every ping was answered once.
    """
    if result.received == result.sent and (copies or not result.duplicates):
        return []
    problem = (
        f"{subject}: {result.received} of {result.sent} {kind} answered, {result.duplicates} twice; expected each once"
        f". {' '.join(dict.fromkeys(result.errors))}"
    )
    return [problem.rstrip(" .")]
