"""Completion codes (IPMI table 5-2) and how a command refuses."""

from __future__ import annotations

from enum import IntEnum


class Completion(IntEnum):
    """First byte of every answer."""

    OK = 0x00
    PARAMETER_NOT_SUPPORTED = 0x80
    PRIVILEGE_LIMIT = 0x81
    INVALID_SESSION = 0x87
    NODE_BUSY = 0xC0
    INVALID_COMMAND = 0xC1
    OUT_OF_SPACE = 0xC4
    RESERVATION_CANCELLED = 0xC5
    WRONG_LENGTH = 0xC7
    OUT_OF_RANGE = 0xC9
    NOT_PRESENT = 0xCB
    INVALID_FIELD = 0xCC
    INSUFFICIENT_PRIVILEGE = 0xD4
    NOT_IN_THIS_STATE = 0xD5
    UNSPECIFIED = 0xFF


class RefusedError(Exception):
    """Ends a command with a completion code."""

    def __init__(self, completion: Completion) -> None:
        super().__init__(completion.name)
        self.completion = completion
