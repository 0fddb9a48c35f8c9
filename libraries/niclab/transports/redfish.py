"""Redfish: a BMC by HTTPS and JSON (DMTF DSP0266)."""

from __future__ import annotations

import queue
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import requests
from requests.auth import HTTPBasicAuth

from niclab.core.verdict import BenchFault
from niclab.transports import AuthenticationFailed, ConnectionLost, redfish_records
from niclab.transports.bmc import (
    Bmc,
    CommandRefused,
    InsufficientPrivilege,
    PowerAction,
    PowerState,
    SelEntry,
    Sensor,
)
from niclab.transports.redfish_records import Json

A = TypeVar("A")
T = TypeVar("T")

CONNECT_WITHIN_S = 5.0
REQUEST_WITHIN_S = 20.0
"""Deadline of one request, connecting included; services need seconds for sensors."""

_ROOT = "/redfish/v1/"
_HTTP_UNAUTHORIZED, _HTTP_FORBIDDEN, _HTTP_ERROR = 401, 403, 400


@dataclass(frozen=True)
class RedfishEndpoint:
    """The address of a Redfish service, and the login there.

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


class _Https:
    """JSON by HTTPS for one user: one request at a time, each with a deadline over all of it."""

    def __init__(self, endpoint: RedfishEndpoint) -> None:
        self._end = endpoint
        self._lock = threading.RLock()
        self._session: requests.Session | None = None

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
            raise BenchFault(f"{self._end.name}: link {path!r} of the service is no path, wanted /...")
        subject = f"{self._end.name}: {method} {path}"
        with self._lock:
            try:
                response = self._send(method, path, body)
            except requests.exceptions.SSLError as error:
                self.close()
                raise self._tls_fault(subject, error) from error
            except (requests.RequestException, OSError, queue.Empty) as error:
                self.close()
                reason = f"not within {REQUEST_WITHIN_S:g} s" if isinstance(error, queue.Empty) else str(error)
                raise ConnectionLost(f"{subject}: no answer from {self._end.url}: {reason}") from error
        return self._content(subject, method, response)

    def _send(self, method: str, path: str, body: Json | None) -> requests.Response:
        """Send, and once more where that is harmless and the kept connection turns out to have been closed."""
        kept = self._session is not None
        session = self._session = self._session or self._new_session()

        def send() -> requests.Response:
            return session.request(
                method,
                self._end.url.rstrip("/") + path,
                json=body,
                timeout=(CONNECT_WITHIN_S, REQUEST_WITHIN_S),
                allow_redirects=False,  # an answer from elsewhere is not this BMC's
            )

        try:
            return _within(REQUEST_WITHIN_S, send)
        except requests.exceptions.SSLError:
            raise
        except requests.ConnectionError:
            if method != "GET" or not kept:
                raise
            return _within(REQUEST_WITHIN_S, send)

    def _new_session(self) -> requests.Session:
        end = self._end
        if urlsplit(end.url).scheme != "https" or not urlsplit(end.url).hostname:
            raise BenchFault(f"{end.name}: url is {end.url!r}, wanted https://host or https://host:port")
        if end.ca_file is not None and not end.ca_file.is_file():
            raise BenchFault(f"{end.name}: ca_file {end.ca_file} is no file; wanted the certificate in PEM")
        if end.ca_file is not None:
            try:
                ssl.create_default_context(cafile=end.ca_file)
            except ssl.SSLError as error:
                raise BenchFault(f"{end.name}: ca_file {end.ca_file} holds no certificate in PEM: {error}") from error
        session = requests.Session()
        session.trust_env = False  # no proxy, no netrc, no other certificates than those of the bench file
        session.auth = HTTPBasicAuth(end.user.encode(), end.password.encode())  # text would have to be Latin-1
        session.headers["OData-Version"] = "4.0"
        session.verify = str(end.ca_file) if end.ca_file is not None else False if end.insecure else _authorities()
        return session

    def _tls_fault(self, subject: str, error: BaseException) -> BenchFault:
        """A certificate that is refused, or a connection that speaks no TLS."""
        cause = _find(error, ssl.SSLCertVerificationError)
        if cause is None:
            return ConnectionLost(f"{subject}: no TLS with {self._end.url}: {error}")
        checked = self._end.ca_file or "the authorities of this system"
        return AuthenticationFailed(
            f"{subject}: certificate of {self._end.url} is refused: {cause.verify_message}; checked against {checked}"
        )

    def _content(self, subject: str, method: str, response: requests.Response) -> Json:
        status = response.status_code
        try:
            body: object = response.json() if response.content else {}
        except ValueError:
            body = None
        if status >= _HTTP_ERROR:
            words = redfish_records.error_words(body) or response.reason or "no reason given"
            message = f"{subject}: HTTP {status}: {words}"
            if status == _HTTP_UNAUTHORIZED:
                raise AuthenticationFailed(f"{message} (user {self._end.user} or the password is refused)")
            if status == _HTTP_FORBIDDEN:
                raise InsufficientPrivilege(f"{message} (user {self._end.user})")
            raise CommandRefused(message)
        if response.is_redirect:
            raise BenchFault(f"{subject}: sent on to {response.headers['Location']}, wanted an answer here")
        if not isinstance(body, dict) or (method == "GET" and not body):
            raise BenchFault(f"{subject}: the answer is no JSON object: {response.text[:80]!r}")
        return body


class Redfish(Bmc):
    """A BMC by Redfish. The connection is kept; the paths of the service are looked up once."""

    def __init__(self, endpoint: RedfishEndpoint) -> None:
        self.endpoint = endpoint
        self._https = _Https(endpoint)
        self._system_path: str | None = None
        self._log_path: str | None = None

    @property
    def name(self) -> str:
        return self.endpoint.name

    def power_status(self) -> PowerState:
        return self._read(redfish_records.power_state, self._system())

    def control(self, action: PowerAction) -> None:
        reset = self._action(self._system(), "#ComputerSystem.Reset")
        allowed = reset.get("ResetType@Redfish.AllowableValues")
        name = self._read(lambda values: redfish_records.reset_type(action, values), allowed)
        if name is None:
            raise CommandRefused(f"{self.name}: {action.value} is not offered; offered: {', '.join(allowed or ())}")
        self._https.post(reset["target"], {"ResetType": name})

    def sensors(self) -> list[Sensor]:
        """See :class:`Bmc`. From Thermal and Power of each chassis; where a chassis has neither, from its Sensors."""
        found: list[Sensor] = []
        for chassis in self._chassis():
            resources = [self._https.get(self._link(chassis, key)) for key in ("Thermal", "Power") if key in chassis]
            for resource in resources:
                found += self._read(lambda thing: list(redfish_records.sensors_of_arrays(thing)), resource)
            if not resources and "Sensors" in chassis:
                members = self._members(self._link(chassis, "Sensors"))
                found += [self._read(redfish_records.sensor_of_member, member) for member in members]
        return found

    def sel(self) -> list[SelEntry]:
        entries = self._members(self._link(self._log(), "Entries"))
        return [self._read(redfish_records.sel_entry, entry) for entry in entries]

    def close(self) -> None:
        self._https.close()

    def _system(self) -> Json:
        if self._system_path is None:
            paths = self._paths(self._link(self._https.get(_ROOT), "Systems"))
            wanted = self.endpoint.system
            chosen = [path for path in paths if wanted is None or wanted in (path, path.rstrip("/").rpartition("/")[2])]
            if len(chosen) != 1:
                asked = "exactly one, or `system` to choose" if wanted is None else f"system {wanted!r}"
                raise BenchFault(f"{self.name}: the service has systems {', '.join(paths) or 'none'}; wanted {asked}")
            self._system_path = chosen[0]
        return self._https.get(self._system_path)

    def _chassis(self) -> list[Json]:
        links = (self._system().get("Links") or {}).get("Chassis") or []
        if not links:
            raise BenchFault(f"{self.name}: system {self._system_path} has no Links.Chassis; wanted at least one")
        return [self._https.get(self._link({"Chassis": link}, "Chassis")) for link in links]

    def _log(self) -> Json:
        """The log service of the event log; services keep it with the system or with its manager."""
        if self._log_path is not None:
            return self._https.get(self._log_path)
        system = self._system()
        managers = (system.get("Links") or {}).get("ManagedBy") or []
        owners = [system, *(self._https.get(self._link({"Manager": link}, "Manager")) for link in managers)]
        services = [
            (path, self._https.get(path))
            for owner in owners
            if "LogServices" in owner
            for path in self._paths(self._link(owner, "LogServices"))
        ]
        for path, service in services:
            if redfish_records.is_event_log(service):
                self._log_path = path
                return service
        names = ", ".join(path for path, _ in services) or "none"
        raise BenchFault(f"{self.name}: no log service is a SEL; log services: {names}")

    def _pages(self, path: str) -> Iterator[Json]:
        seen: set[str] = set()
        while path:
            if path in seen:
                raise BenchFault(f"{self.name}: pages of collection {path} run in a circle")
            seen.add(path)
            page = self._https.get(path)
            if not isinstance(page.get("Members"), list):
                raise BenchFault(f"{self.name}: {path} has no list of Members")
            yield page
            path = page.get("Members@odata.nextLink") or ""

    def _paths(self, path: str) -> list[str]:
        """Paths of the members of a collection."""
        return [self._link({"Member": link}, "Member") for page in self._pages(path) for link in page["Members"]]

    def _members(self, path: str) -> list[Json]:
        """Members of a collection; those that it only names are fetched."""
        items = [item for page in self._pages(path) for item in page["Members"]]
        return [item if "Id" in item else self._https.get(self._link({"Member": item}, "Member")) for item in items]

    def _link(self, resource: Json, key: str) -> str:
        link = resource.get(key)
        path = link.get("@odata.id") if isinstance(link, dict) else None
        if not isinstance(path, str) or not path:
            raise BenchFault(
                f"{self.name}: {key} of {resource.get('@odata.id', 'a resource')} is {link!r}, wanted a link"
            )
        return path

    def _action(self, resource: Json, name: str) -> Json:
        action = (resource.get("Actions") or {}).get(name)
        if not isinstance(action, dict) or not isinstance(action.get("target"), str):
            raise CommandRefused(f"{self.name}: {resource.get('@odata.id')} offers no action {name}")
        return action

    def _read(self, reader: Callable[[A], T], content: A) -> T:
        try:
            return reader(content)
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            raise BenchFault(f"{self.name}: the answer cannot be read: {error}") from error


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
