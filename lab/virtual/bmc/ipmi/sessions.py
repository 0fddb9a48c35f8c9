"""RMCP+ sessions: opening them (RAKP, IPMI 13.17 to 13.24), their time limits, their sequence numbers."""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import struct
import time
from dataclasses import dataclass, field
from enum import IntEnum

from bmc.config import Privilege, User
from bmc.ipmi.crypto import AES_CBC_128, CipherSuite, Keys
from bmc.ipmi.rmcp import MalformedError, Message

log = logging.getLogger(__name__)

SESSION_TIMEOUT_S = 60.0
"""A session without requests ends (IPMI 6.12.15: 60 s, 3 s more or less)."""
MAX_SESSIONS = 16
MAX_OPENING = 16
"""Sessions being opened; beyond that the oldest is forgotten, so that nobody can lock others out."""
SEQUENCE_WINDOW = 16
"""Most by which a session sequence number may be behind the newest (IPMI 6.12.13)."""

LEVELS = {Privilege.USER: 2, Privilege.OPERATOR: 3, Privilege.ADMINISTRATOR: 4}
"""Privilege levels on the wire."""
FIRST_USER_ID = 2
"""User 1 is the nameless one, which this BMC does not admit."""
_ROLE_LEVEL = 0x0F


class Status(IntEnum):
    """RMCP+ status codes (IPMI table 13-15)."""

    OK = 0x00
    INSUFFICIENT_RESOURCES = 0x01
    INVALID_SESSION = 0x02
    INVALID_AUTHENTICATION = 0x04
    INVALID_INTEGRITY = 0x05
    UNAUTHORIZED_PRIVILEGE = 0x0A
    INVALID_NAME_LENGTH = 0x0C
    UNAUTHORIZED_NAME = 0x0D
    INVALID_INTEGRITY_CHECK = 0x0F
    INVALID_CONFIDENTIALITY = 0x10
    NO_SUITE_MATCH = 0x11


@dataclass(frozen=True)
class Repeatable:
    """A set-up request and its answer: the same request again, because the answer was lost, gets the same answer."""

    request: bytes
    answer: bytes


@dataclass
class Opening:
    """A session between Open Session Request and RAKP 4. ``console_id`` is the id the client gave itself."""

    console_id: int
    session_id: int
    suite: CipherSuite
    user: User | None = None
    user_id: int = 0
    role: int = 0
    console_random: bytes = b""
    own_random: bytes = b""
    rakp1: Repeatable | None = None

    @property
    def key(self) -> bytes:
        """The user's key: the password."""
        return self.user.password.encode("ascii") if self.user else b""

    @property
    def role_and_name(self) -> bytes:
        """As they go into every HMAC."""
        name = self.user.name.encode("ascii") if self.user else b""
        return bytes([self.role, len(name)]) + name


@dataclass
class Exchange:
    """A request and its answer (completion code and data), which is ``None`` while the request is at work."""

    message: Message
    body: bytes | None = None
    answered_s: float = 0.0


@dataclass
class Session:
    """An open session.

    Attributes:
        limit: Highest privilege level it may take.
        level: Privilege level it has.
        last: The last request with its answer.
    """

    session_id: int
    console_id: int
    user_id: int
    limit: int
    keys: Keys
    peer: tuple[str, int]
    seen_s: float
    level: int
    rakp3: Repeatable
    newest_in: int = 0
    sequence_out: int = 0
    seen_sequences: set[int] = field(default_factory=set)
    last: Exchange | None = None

    def is_new(self, sequence: int) -> bool:
        """Note a sequence number; ``False`` when it was there before.

        Raises:
            MalformedError: Outside of the window: old, or far ahead.
        """
        if sequence in self.seen_sequences:
            return False
        if sequence == 0 or not -SEQUENCE_WINDOW <= sequence - self.newest_in <= SEQUENCE_WINDOW:
            raise MalformedError(f"session sequence number {sequence}, the newest was {self.newest_in}")
        self.newest_in = max(self.newest_in, sequence)
        self.seen_sequences.add(sequence)
        self.seen_sequences = {old for old in self.seen_sequences if old >= self.newest_in - SEQUENCE_WINDOW}
        return True


class Sessions:
    """All sessions of a BMC.

    Args:
        guid: 16 bytes, part of the key exchange.
    """

    def __init__(self, users: list[User], guid: bytes, timeout_s: float = SESSION_TIMEOUT_S) -> None:
        self.users = users
        self._guid = guid
        self._timeout_s = timeout_s
        self._opening: dict[int, Opening] = {}
        self.active: dict[int, Session] = {}

    def find(self, session_id: int) -> Session | None:
        """The open session with that id, unless it has timed out."""
        self._drop_idle()
        return self.active.get(session_id)

    def close(self, session_id: int) -> None:
        """End a session."""
        self.active.pop(session_id, None)

    def close_all(self) -> None:
        """End all sessions, as a reset of the BMC does."""
        self.active.clear()
        self._opening.clear()

    def open(self, request: bytes) -> bytes:
        """Answer an Open Session Request (IPMI 13.17, 13.18).

        Raises:
            MalformedError: Too short, or not three algorithm payloads.
        """
        if len(request) != 32:
            raise MalformedError(f"Open Session Request of {len(request)} bytes")
        tag, level, console_id = struct.unpack_from("<BB2xI", request)
        algorithms = []
        for kind, at in enumerate((8, 16, 24)):
            if request[at] != kind or request[at + 3] != 8:
                raise MalformedError(f"algorithm payload {kind} starts with {request[at : at + 4].hex()}")
            algorithms.append(request[at + 4] & 0x3F)
        suite = _suite(*algorithms)
        self._drop_idle()
        if isinstance(suite, CipherSuite) and len(self.active) >= MAX_SESSIONS:
            suite = Status.INSUFFICIENT_RESOURCES
        if isinstance(suite, Status):
            log.info("Open Session Request refused: %s", suite.name)
            return _refusal(tag, suite, console_id)
        opening = Opening(console_id, self._new_id(), suite)
        while len(self._opening) >= MAX_OPENING:
            self._opening.pop(next(iter(self._opening)))
        self._opening[opening.session_id] = opening
        answer = struct.pack("<BBBxII", tag, Status.OK, level & _ROLE_LEVEL or 4, console_id, opening.session_id)
        return answer + b"".join(
            struct.pack("<BxxBBxxx", kind, 8, algorithm) for kind, algorithm in enumerate(algorithms)
        )

    def rakp1(self, request: bytes) -> bytes:
        """Answer RAKP message 1 with message 2 (IPMI 13.20, 13.21).

        Raises:
            MalformedError: Too short, or of a session nobody is opening.
        """
        if len(request) < 28 or len(request) < 28 + request[27]:
            raise MalformedError(f"RAKP 1 of {len(request)} bytes")
        tag, session_id = struct.unpack_from("<B3xI", request)
        opening = self._opening.get(session_id)
        if opening is None:
            raise MalformedError(f"RAKP 1 for unknown session {session_id:#x}")
        if opening.rakp1 is not None and opening.rakp1.request == request:
            return opening.rakp1.answer
        role, name = request[24], request[28 : 28 + request[27]].decode("latin-1")
        status = self._admit(opening, role, name)
        if status is not Status.OK:
            del self._opening[session_id]
            log.info("user %r refused: %s", name, status.name)
            return _refusal(tag, status, opening.console_id)
        opening.role, opening.console_random, opening.own_random = role, request[8:24], os.urandom(16)
        code = opening.suite.hmac(
            opening.key,
            struct.pack("<II", opening.console_id, session_id)
            + opening.console_random
            + opening.own_random
            + self._guid
            + opening.role_and_name,
        )
        answer = struct.pack("<BB2xI", tag, Status.OK, opening.console_id) + opening.own_random + self._guid + code
        opening.rakp1 = Repeatable(request, answer)
        return answer

    def rakp3(self, request: bytes, peer: tuple[str, int]) -> bytes | None:
        """Answer RAKP message 3 with message 4 and begin the session; no answer when the client gives up.

        Raises:
            MalformedError: Too short, or of a session nobody is opening.
        """
        if len(request) < 8:
            raise MalformedError(f"RAKP 3 of {len(request)} bytes")
        tag, status, session_id = struct.unpack_from("<BB2xI", request)
        session = self.active.get(session_id)
        if session is not None and session.rakp3.request == request:
            return session.rakp3.answer
        opening = self._opening.pop(session_id, None)
        if opening is None or opening.user is None:
            raise MalformedError(f"RAKP 3 for unknown session {session_id:#x}")
        if status != Status.OK:
            log.info("the client of user %r gave up with status %#x (wrong password?)", opening.user.name, status)
            return None
        console = struct.pack("<I", opening.console_id)
        wanted = opening.suite.hmac(opening.key, opening.own_random + console + opening.role_and_name)
        if not hmac.compare_digest(wanted, request[8:]):
            log.info("user %r refused: wrong password", opening.user.name)
            return _refusal(tag, Status.INVALID_INTEGRITY_CHECK, opening.console_id)
        answer = self._begin(opening, request, peer)
        log.debug("user %r from %s: session %#x opened", opening.user.name, peer[0], session_id)
        return answer

    def _begin(self, opening: Opening, rakp3: bytes, peer: tuple[str, int]) -> bytes:
        """Make the session of an opening that has succeeded; return RAKP message 4 (IPMI 13.23)."""
        session_id, suite, level = opening.session_id, opening.suite, opening.role & _ROLE_LEVEL
        randoms = opening.console_random + opening.own_random
        integrity_key = suite.hmac(opening.key, randoms + opening.role_and_name)
        proof = suite.hmac(integrity_key, opening.console_random + struct.pack("<I", session_id) + self._guid)
        answer = struct.pack("<BB2xI", rakp3[0], Status.OK, opening.console_id) + proof[: suite.value.tag_bytes]
        self.active[session_id] = Session(
            session_id=session_id,
            console_id=opening.console_id,
            user_id=opening.user_id,
            limit=level,
            keys=Keys(suite, integrity_key),
            peer=peer,
            seen_s=time.monotonic(),
            level=min(level, LEVELS[Privilege.USER]),
            rakp3=Repeatable(rakp3, answer),
        )
        return answer

    def _admit(self, opening: Opening, role: int, name: str) -> Status:
        """Look the user up and check the wanted level."""
        if len(name) > 16:
            return Status.INVALID_NAME_LENGTH
        names = [user.name for user in self.users]
        if name not in names:
            return Status.UNAUTHORIZED_NAME
        position = names.index(name)
        user = self.users[position]
        if not 1 <= role & _ROLE_LEVEL <= LEVELS[user.privilege]:
            return Status.UNAUTHORIZED_PRIVILEGE
        opening.user, opening.user_id = user, FIRST_USER_ID + position
        return Status.OK

    def _new_id(self) -> int:
        while True:
            session_id = secrets.randbelow(0xFFFFFFFF) + 1
            if session_id not in self.active and session_id not in self._opening:
                return session_id

    def _drop_idle(self) -> None:
        oldest = time.monotonic() - self._timeout_s
        for session in [session for session in self.active.values() if session.seen_s < oldest]:
            log.info("session %#x timed out", session.session_id)
            del self.active[session.session_id]


def _suite(authentication: int, integrity: int, confidentiality: int) -> CipherSuite | Status:
    """The suite of these algorithms, or why there is none."""
    if authentication not in {suite.value.authentication for suite in CipherSuite}:
        return Status.INVALID_AUTHENTICATION
    if integrity not in {suite.value.integrity for suite in CipherSuite}:
        return Status.INVALID_INTEGRITY
    if confidentiality != AES_CBC_128:
        return Status.INVALID_CONFIDENTIALITY
    for suite in CipherSuite:
        if (suite.value.authentication, suite.value.integrity) == (authentication, integrity):
            return suite
    return Status.NO_SUITE_MATCH


def _refusal(tag: int, status: Status, console_id: int) -> bytes:
    return struct.pack("<BB2xI", tag, status, console_id)
