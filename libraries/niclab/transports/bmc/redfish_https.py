"""JSON by HTTPS for one user of one BMC: bounded in time and size, asked again when it is busy, never elsewhere."""

from __future__ import annotations

import contextlib
import json
import queue
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from urllib3.connection import HTTPSConnection

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline, pause
from niclab.files.secrets import refuse_writable
from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.bmc.bmc import ASK_AGAIN_EVERY_S, NOT_NOW_WITHIN_S, CommandRefused, InsufficientPrivilege, NotNow
from niclab.transports.bmc.redfish_records import Json, error_words

T = TypeVar("T")

CONNECT_WITHIN_S = 5.0
REQUEST_WITHIN_S = 20.0
"""Deadline of one request, connecting included; services need seconds for sensors."""
LARGEST_BODY = 8 << 20
"""Bytes of an answer. The largest resource met, a log of 4000 entries, has about 2 MiB."""
MOST_REDIRECTS = 3

_PIECE = 1 << 16
_HTTP_UNAUTHORIZED, _HTTP_FORBIDDEN, _HTTP_ERROR = 401, 403, 400
_HTTP_NOT_NOW = (429, 503)
_SAME_METHOD = (307, 308)
"""Redirects that may be followed with an order (RFC 9110, 15.4); after the others it would become a question."""


@dataclass(frozen=True)
class RedfishEndpoint:
    """The place of a Redfish service, and the login there.

    ``url``: ``https://host[:port]``. ``ca_file``: what its certificate is checked against; None: the authorities of
    this system. ``insecure`` switches the check off, and only where there is no ``ca_file``. ``system``: which member
    of Systems, by its id or path; needed only where there are several.
    """

    name: str
    url: str
    user: str
    password: str = field(repr=False)
    ca_file: Path | None = None
    system: str | None = None
    insecure: bool = False


@dataclass(frozen=True)
class _Answer:
    """An answer that was read to its end."""

    status: int
    reason: str
    location: str | None
    body: bytes
    retry_after: str = ""


class _TooLong(Exception):
    """An answer of more than :data:`LARGEST_BODY`."""


_LOST = (requests.RequestException, urllib3.exceptions.HTTPError, OSError, queue.Empty)


class Https:
    """JSON by HTTPS for one user: one call at a time, each with a deadline over all of its requests."""

    def __init__(self, endpoint: RedfishEndpoint) -> None:
        self._end = endpoint
        self._lock = threading.RLock()
        self._session: requests.Session | None = None
        self._connection: HTTPSConnection | None = None
        self._deadline = Deadline(0)
        self._patience: Deadline | None = None
        self._doubted = False

    @contextlib.contextmanager
    def call(self, within_s: float) -> Iterator[None]:
        """All requests of one call; calls of several threads take turns.

        Args:
            within_s: Deadline over all of them in seconds.
        """
        with self._lock:
            self._deadline, self._patience = Deadline(within_s), None
            yield

    def get(self, path: str) -> Json:
        """A resource."""
        return self._ask("GET", path)

    def post(self, path: str, body: Json) -> None:
        """An action."""
        self._ask("POST", path, body)

    def close(self) -> None:
        """Close the connection, if there is one."""
        with self._lock:
            if self._session is not None:
                self._session.close()
                self._session = None

    def _ask(self, method: str, path: str, body: Json | None = None) -> Json:
        if not path.startswith("/"):
            raise BenchFault(f"{self._end.name}: link {path!r} of the service is no path; expected /...")
        subject = f"{self._end.name}: {method} {path}"
        for _ in range(MOST_REDIRECTS + 1):
            answer = self._patiently(subject, method, path, body)
            if answer.location is None:
                return self._content(subject, method, answer)
            path = self._sent_on(subject, method, path, answer)
        raise BenchFault(f"{subject}: sent on more than {MOST_REDIRECTS} times; expected an answer")

    def _patiently(self, subject: str, method: str, path: str, body: Json | None) -> _Answer:
        """Ask, and again while the service is busy. One 401 is no proof: services that start or are full say so."""
        while True:
            answer = self._exchange(subject, method, path, body)
            doubted, self._doubted = self._doubted, answer.status == _HTTP_UNAUTHORIZED
            is_busy = answer.status in _HTTP_NOT_NOW
            if is_busy and self._patience is None:
                self._patience = Deadline(NOT_NOW_WITHIN_S)
            if not (self._doubted and not doubted) and not (is_busy and self._patience and not self._patience.expired):
                return answer
            pause(_pause_s(answer.retry_after, self._patience if is_busy else None))

    def _exchange(self, subject: str, method: str, path: str, body: Json | None) -> _Answer:
        within_s = min(REQUEST_WITHIN_S, self._deadline.left)
        try:
            return self._send(method, path, body, Deadline(within_s))
        except requests.exceptions.SSLError as error:
            self.close()
            raise self._tls_fault(subject, error) from error
        except _TooLong as error:
            self.close()
            raise BenchFault(f"{subject}: the answer has more than {LARGEST_BODY >> 20} MiB") from error
        except _LOST as error:
            self._hang_up()
            self.close()
            reason = self._overdue(within_s) if isinstance(error, queue.Empty) else str(error)
            raise ConnectionLost(f"{subject}: no answer from {self._end.url}: {reason}") from error

    def _overdue(self, within_s: float) -> str:
        if within_s < REQUEST_WITHIN_S:
            return f"the call is not done within its {self._deadline.seconds:g} s"
        return f"not within {within_s:g} s"

    def _send(self, method: str, path: str, body: Json | None, deadline: Deadline) -> _Answer:
        """Send, and once more where that is harmless and the kept connection turns out to have been closed."""
        kept = self._session is not None
        session = self._session = self._session or self._new_session()

        url = self._end.url.rstrip("/") + path
        request = session.prepare_request(requests.Request(method, url, json=body))
        timeout, verify = (CONNECT_WITHIN_S, REQUEST_WITHIN_S), self._checked_against()

        def send() -> _Answer:
            # by the adapter: the session would read the body of a redirect to its end, and parse where it leads
            response = session.get_adapter(url).send(request, stream=True, timeout=timeout, verify=verify)
            location = response.headers["Location"] if response.is_redirect else None
            with response:
                again = response.headers.get("Retry-After", "")
                return _Answer(response.status_code, response.reason or "", location, _body(response, deadline), again)

        try:
            return _within(deadline.left, send)
        except requests.exceptions.SSLError:
            raise
        except requests.ConnectionError:
            if method != "GET" or not kept:
                raise
            return _within(deadline.left, send)

    def _hang_up(self) -> None:
        """End the request that is under way: closing a session leaves a connection in use alone."""
        with contextlib.suppress(OSError, AttributeError):  # it may have ended meanwhile
            self._connection.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]

    def _new_session(self) -> requests.Session:
        end = self._end
        if urlsplit(end.url).scheme != "https" or not urlsplit(end.url).hostname:
            raise BenchFault(f"{end.name}: url is {end.url!r}; expected https://host or https://host:port")
        if end.ca_file is not None and not end.ca_file.is_file():
            raise BenchFault(f"{end.name}: ca_file {end.ca_file} is no file; expected the certificate in PEM")
        if end.ca_file is not None:
            refuse_writable(end.ca_file, end.ca_file.stat(), "ca_file")
            try:
                ssl.create_default_context(cafile=end.ca_file)
            except ssl.SSLError as error:
                raise BenchFault(f"{end.name}: ca_file {end.ca_file} holds no certificate in PEM: {error}") from error
        session = requests.Session()
        session.mount("https://", _adapter(self._connected))
        session.trust_env = False  # no proxy, no netrc, no other certificates than those of the bench file
        session.auth = HTTPBasicAuth(end.user.encode(), end.password.encode())  # text would have to be Latin-1
        session.headers["OData-Version"] = "4.0"
        return session

    def _connected(self, connection: HTTPSConnection) -> None:
        self._connection = connection

    def _checked_against(self) -> str | bool:
        """The authority that the certificate is checked against."""
        end = self._end
        return str(end.ca_file) if end.ca_file is not None else False if end.insecure else _authorities()

    def _tls_fault(self, subject: str, error: BaseException) -> BenchFault:
        """A certificate that is refused, or a connection that speaks no TLS."""
        cause = _find(error, ssl.SSLCertVerificationError)
        if cause is None:
            return ConnectionLost(f"{subject}: no TLS with {self._end.url}: {error}")
        checked = self._end.ca_file or "the authorities of this system"
        return AuthenticationFailed(
            f"{subject}: certificate of {self._end.url} is refused: {cause.verify_message}; checked against {checked}"
        )

    def _sent_on(self, subject: str, method: str, path: str, answer: _Answer) -> str:
        """The place on this host to which a redirect leads; the password goes to no other, and an order stays one."""
        place = f"{subject}: sent on to {answer.location!r} (HTTP {answer.status})"
        try:
            here, there = urlsplit(self._end.url), urlsplit(urljoin(self._end.url.rstrip("/") + path, answer.location))
            is_here = _place(here) == _place(there)
        except ValueError:
            is_here = False
        if not is_here:
            raise BenchFault(f"{place}; expected an answer from {self._end.url}")
        if method != "GET" and answer.status not in _SAME_METHOD:
            raise BenchFault(f"{place}; expected an answer here, or HTTP {' or '.join(map(str, _SAME_METHOD))}")
        return there._replace(scheme="", netloc="", path=there.path or "/").geturl()

    def _content(self, subject: str, method: str, answer: _Answer) -> Json:
        try:
            body: object = json.loads(answer.body, parse_constant=_refuse_constant) if answer.body else {}
        except (ValueError, RecursionError):
            body = None
        if answer.status >= _HTTP_ERROR:
            raise self._refusal(subject, answer, body)
        if not isinstance(body, dict) or (method == "GET" and not body):
            shown = answer.body[:80].decode(errors="replace")
            raise BenchFault(f"{subject}: the answer is no JSON object: {shown!r}")
        return body

    def _refusal(self, subject: str, answer: _Answer, body: object) -> BenchFault:
        message = f"{subject}: HTTP {answer.status}: {error_words(body) or answer.reason or 'no reason given'}"
        if answer.status == _HTTP_UNAUTHORIZED:
            return AuthenticationFailed(f"{message} (user {self._end.user} or the password is refused)")
        if answer.status == _HTTP_FORBIDDEN:
            return InsufficientPrivilege(f"{message} (user {self._end.user})")
        if answer.status in _HTTP_NOT_NOW:
            return NotNow(message)
        return CommandRefused(message)


def _adapter(connected: Callable[[HTTPSConnection], None]) -> HTTPAdapter:
    """An adapter that opens the connections of a session, and reports each."""

    class Connection(HTTPSConnection):
        def connect(self) -> None:
            connected(self)
            super().connect()

    class Pool(urllib3.HTTPSConnectionPool):
        ConnectionCls = Connection

    adapter = HTTPAdapter()
    adapter.poolmanager.pool_classes_by_scheme = {"https": Pool}
    return adapter


def _pause_s(retry_after: str, patience: Deadline | None) -> float:
    """Seconds to the next question: those of ``Retry-After`` (RFC 9110, 10.2.3) as far as the patience goes."""
    if patience is None or not re.fullmatch(r"[0-9]{1,9}", retry_after):
        return ASK_AGAIN_EVERY_S
    return max(ASK_AGAIN_EVERY_S, min(float(retry_after), patience.left))


def _body(response: requests.Response, deadline: Deadline) -> bytes:
    """The body, as it comes: one that never ends is read to a limit of its size and of the time."""
    content = bytearray()
    while piece := response.raw.read1(_PIECE, decode_content=True):
        content += piece
        if len(content) > LARGEST_BODY:
            raise _TooLong
        if deadline.expired:
            raise queue.Empty
    return bytes(content)


def _within(seconds: float, work: Callable[[], T]) -> T:
    """Do ``work`` in a thread of its own, since a service that sends a byte now and then never meets a read timeout.

    Raises:
        queue.Empty: After ``seconds``; the thread is left to end when its connection does.
    """
    results: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            results.put((work(), None))
        except BaseException as error:  # noqa: BLE001 - it is raised again by the caller
            results.put((None, error))

    threading.Thread(target=run, name="redfish request", daemon=True).start()
    answer, error = results.get(timeout=seconds)
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]  # None only where T has it


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _place(url: Any) -> tuple[str, str | None, int]:
    return url.scheme, url.hostname, url.port or 443


def _authorities() -> str | bool:
    """The certificate authorities of this system; those of the requests package where it has none."""
    paths = ssl.get_default_verify_paths()
    return paths.cafile or paths.capath or True


def _find(error: BaseException | None, kind: type[ssl.SSLCertVerificationError]) -> ssl.SSLCertVerificationError | None:
    """An error of that kind among the causes of another; requests and urllib3 wrap in three ways."""
    waiting, seen = [error], set()
    while waiting:
        found = waiting.pop()
        if isinstance(found, kind):
            return found
        if isinstance(found, BaseException) and id(found) not in seen:
            seen.add(id(found))
            inner = (found.__cause__, found.__context__, getattr(found, "reason", None), *found.args)
            waiting += [item for item in inner if isinstance(item, BaseException)]
    return None
