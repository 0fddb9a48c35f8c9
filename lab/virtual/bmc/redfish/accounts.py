"""The identity of a Redfish client: Basic authentication and sessions."""

from __future__ import annotations

import base64
import binascii
import hmac
import itertools
import secrets
import time
from dataclasses import dataclass

from bmc.config import User

SESSION_TIMEOUT_S = 1800
"""Idle time after which a session ends; the default of most Redfish services."""
MAX_SESSIONS = 16


class TooManySessionsError(Exception):
    """No more sessions until one ends."""


@dataclass
class RedfishSession:
    """An open session."""

    session_id: str
    token: str
    user: User
    seen_s: float


class Accounts:
    """The users and their sessions."""

    def __init__(self, users: list[User]) -> None:
        self._users = users
        self._ids = itertools.count(1)
        self._sessions: dict[str, RedfishSession] = {}

    @property
    def sessions(self) -> list[RedfishSession]:
        """The open sessions."""
        oldest = time.monotonic() - SESSION_TIMEOUT_S
        self._sessions = {key: session for key, session in self._sessions.items() if session.seen_s >= oldest}
        return list(self._sessions.values())

    def check(self, name: str, password: str) -> User | None:
        """The user with that name and password."""
        found = None
        for user in self._users:  # all of them, so that the time taken tells nothing
            same_name = hmac.compare_digest(user.name.encode(), name.encode())
            same_password = hmac.compare_digest(user.password.encode(), password.encode())
            if same_name and same_password:
                found = user
        return found

    def who(self, headers: dict[str, str]) -> User | None:
        """The user a request comes from; a session token goes before Basic credentials."""
        if token := headers.get("x-auth-token"):
            for session in self.sessions:
                if hmac.compare_digest(session.token.encode(), token.encode()):
                    session.seen_s = time.monotonic()
                    return session.user
            return None
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            name, colon, password = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None  # no credentials at all: the answer is 401, as for wrong ones
        return self.check(name, password) if colon else None

    def open(self, user: User) -> RedfishSession:
        """Begin a session.

        Raises:
            TooManySessionsError: When there are ``MAX_SESSIONS``.
        """
        if len(self.sessions) >= MAX_SESSIONS:
            raise TooManySessionsError
        session = RedfishSession(str(next(self._ids)), secrets.token_hex(16), user, time.monotonic())
        self._sessions[session.session_id] = session
        return session

    def close(self, session_id: str) -> None:
        """End a session."""
        self._sessions.pop(session_id, None)
