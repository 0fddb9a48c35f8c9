"""SNMP v2c and v3 over UDP, by pysnmp 7.1: one engine for the process, in the loop thread, and numbers instead of MIBs.

Making an engine takes 0.3 to 1.6 s, a GET by one that is kept 1 ms. An agent says nothing at all when the community or
the privacy key is wrong, or when it is not there; they are distinguished as far as the network can (:meth:`Snmp._ask`).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from enum import Enum
from typing import Any

from pysnmp.error import PySnmpError
from pysnmp.hlapi.v3arch import asyncio as hlapi
from pysnmp.proto import errind, rfc1902, rfc1905

from niclab.core.verdict import BenchFault
from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.snmp.snmp_agent import Missing, Reading, Refusal, SnmpAgent
from niclab.transports.snmp.snmp_login import Auth, Communities, Privacy, SnmpEndpoint, User
from niclab.transports.snmp.snmp_records import Instance, Value, ValueKind
from niclab.transports.ssh.ssh_loop import call

ANSWER_WITHIN_S = 1.0
RETRIES = 2
"""Retries of a lost datagram; a SET that is carried out twice has the effect of one."""
CALL_WITHIN_S = 8.0
"""Deadline of one exchange; with v3 the agent's engine may have to be asked for first, with retries of its own."""
PROBE_WITHIN_S = 1.0
REPETITIONS = 25
SHORTEST_KEY = 8
"""Characters of the shortest v3 password (RFC 3414, 11.2)."""
_BACKSTOP_S = 2 * CALL_WITHIN_S + PROBE_WITHIN_S + 3
_DISCOVERY = bytes.fromhex(
    "303a020103 300f02024e4c020300ffe3040104020103 0410300e0400020100020100040004000400"
    "30120400 0400 a00c02024e4c0201000201003000"
)
"""The first message of any v3 manager (RFC 3414, 4): every v3 agent answers it with a report, whoever asks."""

_KINDS: dict[Any, ValueKind] = {
    rfc1902.Counter64.tagSet: ValueKind.COUNTER64,
    rfc1902.Counter32.tagSet: ValueKind.COUNTER32,
    rfc1902.TimeTicks.tagSet: ValueKind.TICKS,
    rfc1902.Gauge32.tagSet: ValueKind.GAUGE,
    rfc1902.IpAddress.tagSet: ValueKind.ADDRESS,
    rfc1902.ObjectIdentifier.tagSet: ValueKind.OID,
    rfc1902.OctetString.tagSet: ValueKind.OCTETS,
    rfc1902.Integer32.tagSet: ValueKind.INTEGER,
}
_MISSING: dict[Any, Missing] = {
    rfc1905.NoSuchObject.tagSet: Missing.OBJECT,
    rfc1905.NoSuchInstance.tagSet: Missing.INSTANCE,
    rfc1905.EndOfMibView.tagSet: Missing.END,
}
_WRITES = {
    ValueKind.INTEGER: rfc1902.Integer32,
    ValueKind.GAUGE: rfc1902.Gauge32,
    ValueKind.OCTETS: rfc1902.OctetString,
}


_AUTH = {
    Auth.SHA: hlapi.usmHMACSHAAuthProtocol,
    Auth.SHA256: hlapi.usmHMAC192SHA256AuthProtocol,
    Auth.SHA384: hlapi.usmHMAC256SHA384AuthProtocol,
    Auth.SHA512: hlapi.usmHMAC384SHA512AuthProtocol,
}
_PRIVACY = {
    Privacy.AES128: hlapi.usmAesCfb128Protocol,
    Privacy.AES192: hlapi.usmAesCfb192Protocol,
    Privacy.AES256: hlapi.usmAesCfb256Protocol,
}


_OTHER_ENGINE = (errind.UnknownEngineID, errind.UnknownUserName, errind.UnknownSecurityName)
"""Said by an agent that does not know the engine id of a request, or its user (RFC 3414, 3.2)."""


class Snmp(SnmpAgent):
    """The agent of a switch over UDP. Constructing it sends nothing.

    Raises:
        BenchFault: When a v3 password is too short to be one.
    """

    def __init__(self, endpoint: SnmpEndpoint) -> None:
        super().__init__(endpoint.name, variables_per_pdu=endpoint.variables_per_pdu)
        self.endpoint = endpoint
        self._reads, self._writes = _logins(endpoint)
        self._context = hlapi.ContextData(contextName=_context_name(endpoint))
        self._target: Any = None

    def read(self, oids: Sequence[str]) -> list[Reading | Missing]:
        found = self._exchange("GET", hlapi.get_cmd, self._reads, [_asked(oid) for oid in oids])
        if (answered := [oid for oid, _ in found]) != list(oids):
            raise BenchFault(f"{self.name}: GET {', '.join(oids)}: the answer is about {', '.join(answered)}")
        return [reading for _, reading in found]

    def read_after(self, oid: str) -> list[tuple[str, Reading | Missing]]:
        return self._exchange("GETBULK", hlapi.bulk_cmd, self._reads, [_asked(oid)], 0, REPETITIONS)

    def write(self, assignments: Sequence[tuple[Instance, Value]]) -> None:
        self._exchange("SET", hlapi.set_cmd, self._writes, [self._assigned(*each) for each in assignments])

    def _assigned(self, instance: Instance, value: Value) -> Any:
        make = _WRITES.get(instance.variable.kind)
        try:
            if make is None or isinstance(value, bytes) is not (instance.variable.kind is ValueKind.OCTETS):
                raise ValueError(f"not written as {instance.variable.kind.value}")
            return hlapi.ObjectType(hlapi.ObjectIdentity(instance.oid), make(value))
        except (PySnmpError, ValueError) as error:
            wanted = f"a value of {instance.variable.kind.value}"
            raise BenchFault(f"{self.name}: SET {instance}: {value!r} is not wanted; expected {wanted}") from error

    def _exchange(
        self, verb: str, command: Any, login: Any, variables: list[Any], *more: int
    ) -> list[tuple[str, Reading | Missing]]:
        try:
            answer = call(self._ask(command, login, variables, more), within_s=_BACKSTOP_S)
        except TimeoutError as error:
            raise ConnectionLost(self._no_answer(verb, f"the deadline of {CALL_WITHIN_S:g} s passed")) from error
        except (PySnmpError, OSError) as error:
            raise ConnectionLost(self._no_answer(verb, f"it cannot be asked: {error}")) from error
        indication, status, index, rows = answer
        if indication:
            raise self._in_words(verb, indication)
        if status:
            raise Refusal(str(status.prettyPrint()), int(index))
        return [(str(oid), _reading(self.name, str(oid), value)) for oid, value in rows]

    async def _ask(self, command: Any, login: Any, variables: list[Any], more: tuple[int, ...]) -> Any:
        """One exchange.

        A v3 agent that is there and does not answer may have got another engine id, which pysnmp does not take in; one
        that has got the id of another agent (a stack with another master) says that it does not know the old id's user:
        it is asked once more by an engine that knows nothing of it yet.
        """
        answer = await self._exchanged(command, login, variables, more)
        if isinstance(answer[0], _OTHER_ENGINE) and isinstance(self.endpoint.login, User):
            _drop_engine()
            return await self._exchanged(command, login, variables, more)
        if not isinstance(answer[0], errind.RequestTimedOut):
            return answer
        end = self.endpoint
        presence = await asyncio.to_thread(_presence, end.address, end.port)
        if presence is _Presence.CLOSED:
            raise ConnectionLost(self._no_answer("SNMP", "nothing listens there; check address and port"))
        if isinstance(end.login, Communities):
            wrong = f"the community{self._of_vlan(' or VLAN')} is wrong"
            reason = f"it is not there, or {wrong} (an agent is silent then)"
            raise ConnectionLost(self._no_answer("SNMP", reason))
        if presence is _Presence.SILENT:
            raise ConnectionLost(self._no_answer("SNMP", "it is not there, or speaks no SNMP v3"))
        _drop_engine()
        answer = await self._exchanged(command, login, variables, more)
        if isinstance(answer[0], errind.RequestTimedOut):
            wanted = f"the right privacy password, and its protocol (now {end.login.priv.value})"
            wanted += self._of_vlan(", and a context that it has:")
            raise AuthenticationFailed(
                f"{self.name}: SNMP user {end.login.name}: the agent is there, but does not answer; expected {wanted}"
            )
        return answer

    async def _exchanged(self, command: Any, login: Any, variables: list[Any], more: tuple[int, ...]) -> Any:
        async with asyncio.timeout(CALL_WITHIN_S):
            engine, end = _engine(), self.endpoint
            if self._target is None or self._target[0] is not engine:
                make = hlapi.Udp6TransportTarget if ":" in end.address else hlapi.UdpTransportTarget
                target = await make.create((end.address, end.port), timeout=ANSWER_WITHIN_S, retries=RETRIES)
                self._target = (engine, target)
            return await command(engine, login, self._target[1], self._context, *more, *variables, lookupMib=False)

    def _of_vlan(self, before: str) -> str:
        """Another possible cause where the bridge of a VLAN is asked."""
        return "" if self.endpoint.bridge_vlan is None else f"{before} {_context_of(self.endpoint.bridge_vlan)}"

    def _no_answer(self, verb: str, reason: str) -> str:
        return f"{self.name}: {verb}: no answer from {self.endpoint.address}, UDP port {self.endpoint.port}: {reason}"

    def _in_words(self, verb: str, indication: Any) -> Exception:
        login = self.endpoint.login
        who = f"user {login.name}" if isinstance(login, User) else "the community"
        auth = f", and its protocol (now {login.auth.value})" if isinstance(login, User) else ""
        if isinstance(indication, errind.UnknownUserName | errind.UnknownSecurityName):
            return AuthenticationFailed(f"{self.name}: SNMP {who} is unknown there; expected a user of the switch")
        if isinstance(indication, errind.WrongDigest | errind.AuthenticationFailure | errind.AuthenticationError):
            wanted = f"the right authentication password{auth}"
            return AuthenticationFailed(f"{self.name}: SNMP {who}: authentication fails; expected {wanted}")
        if isinstance(indication, errind.DecryptionError):
            return AuthenticationFailed(
                f"{self.name}: SNMP {who}: decryption fails; expected the right privacy password"
            )
        if isinstance(indication, errind.UnsupportedSecurityLevel):
            wanted = "a user with authentication and privacy on the switch"
            return AuthenticationFailed(f"{self.name}: SNMP {who}: this security level is refused; expected {wanted}")
        return BenchFault(f"{self.name}: {verb}: no usable answer: {type(indication).__name__}: {indication}")


_the_engine: Any = None


def _engine() -> Any:
    """The one engine; made in the loop thread at first use."""
    global _the_engine
    if _the_engine is None:
        _the_engine = hlapi.SnmpEngine()
    return _the_engine


def _drop_engine() -> None:
    """Forget what is known of every agent. The old engine is closed when what is under way on it has ended."""
    global _the_engine
    old, _the_engine = _the_engine, None
    if old is not None:
        asyncio.get_running_loop().call_later(CALL_WITHIN_S, old.close_dispatcher)


def _logins(endpoint: SnmpEndpoint) -> tuple[Any, Any]:
    """Return the login that reads and the one that writes."""
    login = endpoint.login
    if isinstance(login, Communities):
        of_vlan = "" if endpoint.bridge_vlan is None else f"@{endpoint.bridge_vlan}"
        reads, writes = (f"{community}{of_vlan}" for community in (login.read, login.write))
        return hlapi.CommunityData(reads, mpModel=1), hlapi.CommunityData(writes, mpModel=1)
    for what, password in (("authentication", login.auth_password), ("privacy", login.priv_password)):
        if len(password) < SHORTEST_KEY:
            found = f"the {what} password has {len(password)} characters"
            raise BenchFault(f"{endpoint.name}: SNMP user {login.name}: {found}; expected at least {SHORTEST_KEY}")
    user = hlapi.UsmUserData(
        login.name,
        login.auth_password,
        login.priv_password,
        authProtocol=_AUTH[login.auth],
        privProtocol=_PRIVACY[login.priv],
    )
    return user, user


def _context_name(endpoint: SnmpEndpoint) -> str:
    """By v3 the bridge of a VLAN is a context; v2c has it in the community."""
    is_community = isinstance(endpoint.login, Communities)
    return "" if is_community or endpoint.bridge_vlan is None else _context_of(endpoint.bridge_vlan)


def _context_of(vlan: int) -> str:
    return f"vlan-{vlan}"


def _asked(oid: str) -> Any:
    return hlapi.ObjectType(hlapi.ObjectIdentity(oid))


def _reading(name: str, oid: str, value: Any) -> Reading | Missing:
    if value.tagSet in _MISSING:
        return _MISSING[value.tagSet]
    kind = _KINDS.get(value.tagSet)
    if kind is None:
        raise BenchFault(f"{name}: {oid} is {type(value).__name__}; expected a value of a kind that SNMP has")
    if kind in (ValueKind.OCTETS, ValueKind.ADDRESS):
        return Reading(kind, bytes(value))
    return Reading(kind, str(value) if kind is ValueKind.OID else int(value))


class _Presence(Enum):
    """The answer at an address: an agent, a machine where nothing listens, or nothing that answers."""

    THERE = "there"
    CLOSED = "closed"
    SILENT = "silent"


def _presence(address: str, port: int) -> _Presence:
    """Ask as nobody, whom a v3 agent answers too."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.settimeout(PROBE_WITHIN_S)
            probe.connect(where)
            probe.send(_DISCOVERY)
            probe.recv(2048)
    except ConnectionRefusedError:
        return _Presence.CLOSED
    except OSError:
        return _Presence.SILENT
    return _Presence.THERE
