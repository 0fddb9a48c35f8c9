"""An SNMP agent on loopback, for tests and measurements: v2c with two communities, v3 with one user.

What it answers is decided by a store with ``get``, ``after``, ``write`` and ``silent``. Who may write is checked here,
by the name of the community: pysnmp's view tables let a community write that was given no view to write.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pysnmp.carrier.asyncio.dgram import udp
from pysnmp.entity import config, engine
from pysnmp.entity.rfc3413 import cmdrsp, context
from pysnmp.hlapi.v3arch import asyncio as hlapi
from pysnmp.proto import rfc1902, rfc1905
from pysnmp.smi import error as smi_error
from pysnmp.smi.instrum import AbstractMibInstrumController

from niclab.transports.snmp.snmp_agent import Missing, Reading, Refusal
from niclab.transports.snmp.snmp_records import ValueKind

READ, WRITE, USER, AUTH_KEY, PRIV_KEY = "toy-read", "toy-write", "toy-user", "toy-auth-password", "toy-priv-password"
_MAKE: dict[ValueKind, Any] = {
    ValueKind.INTEGER: rfc1902.Integer32,
    ValueKind.GAUGE: rfc1902.Gauge32,
    ValueKind.COUNTER32: rfc1902.Counter32,
    ValueKind.COUNTER64: rfc1902.Counter64,
    ValueKind.TICKS: rfc1902.TimeTicks,
    ValueKind.OCTETS: rfc1902.OctetString,
    ValueKind.OID: rfc1902.ObjectIdentifier,
    ValueKind.ADDRESS: rfc1902.IpAddress,
}
_MISSING = {
    Missing.OBJECT: rfc1905.noSuchObject,
    Missing.INSTANCE: rfc1905.noSuchInstance,
    Missing.END: rfc1905.endOfMibView,
}


class ToyAgent:
    """An agent that answers from ``mib`` while the ``with`` block runs; ``port`` is its UDP port.

    ``bridges``: VLAN -> what it answers from for the community ``toy-read@VLAN``, and in the context ``vlan-VLAN``.
    """

    def __init__(self, mib: Any, bridges: Mapping[int, Any] = MappingProxyType({})) -> None:
        self.mib, self.port, self.bridges, self.engine_id = mib, _free_port(), bridges, _new_engine_id()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="toy-agent", daemon=True)
        self._engine: Any = None
        self._socket: Any = None

    def __enter__(self) -> ToyAgent:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.boot(), self._loop).result(20)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def reboot(self, engine_id: bytes | None = None) -> None:
        """A new engine: other engine id (``engine_id``, or a new one), boot count and time."""
        self.engine_id = engine_id or _new_engine_id()
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(20)
        asyncio.run_coroutine_threadsafe(self.boot(), self._loop).result(20)

    async def boot(self) -> None:
        made = self._engine = engine.SnmpEngine(rfc1902.OctetString(self.engine_id))
        transport = self._socket = udp.UdpTransport().open_server_mode(("127.0.0.1", self.port))
        config.add_transport(made, udp.DOMAIN_NAME, transport)
        config.add_v1_system(made, "reader", READ)
        config.add_v1_system(made, "writer", WRITE)
        auth, priv = hlapi.usmHMAC192SHA256AuthProtocol, hlapi.usmAesCfb128Protocol
        config.add_v3_user(made, USER, auth, AUTH_KEY, priv, PRIV_KEY)
        for name, model, level in (("reader", 2, "noAuthNoPriv"), ("writer", 2, "noAuthNoPriv"), (USER, 3, "authPriv")):
            config.add_vacm_user(made, model, name, level, (1,), (1,))
        where = context.SnmpContext(made)
        where.unregister_context_name(b"")
        where.register_context_name(b"", _Controller(self.mib))
        for vlan, bridge in self.bridges.items():
            name = f"vlan-{vlan}".encode()
            where.register_context_name(name, _Controller(bridge))
            config.add_v1_system(made, f"reader-{vlan}", f"{READ}@{vlan}", contextName=name)
            for who, model, level in ((f"reader-{vlan}", 2, "noAuthNoPriv"), (USER, 3, "authPriv")):
                config.add_vacm_user(made, model, who, level, (1,), (1,), contextName=name)
        for responder in (cmdrsp.GetCommandResponder, cmdrsp.BulkCommandResponder, cmdrsp.SetCommandResponder):
            responder(made, where)

    async def _end(self) -> None:
        self._socket.close_transport()  # first, so that no datagram finds a closed dispatcher
        await asyncio.sleep(0.01)
        self._engine.close_dispatcher()


class _Controller(AbstractMibInstrumController):  # type: ignore[misc]  # pysnmp has no types
    """The store, in pysnmp's terms."""

    def __init__(self, mib: Any) -> None:
        self._mib = mib

    def _heard(self) -> None:
        if self._mib.silent:
            raise smi_error.PySnmpError("nothing is answered")

    def read_variables(self, *rows: Any, **_: Any) -> list[tuple[Any, Any]]:
        self._heard()
        return [(oid, _object(self._mib.get(tuple(oid)))) for oid, _value in rows]

    def read_next_variables(self, *rows: Any, **_: Any) -> list[tuple[Any, Any]]:
        self._heard()
        return [
            (rfc1902.ObjectName(after), _object(reading))
            for oid, _value in rows
            for after, reading in self._mib.after(tuple(oid), 1)
        ]

    def write_variables(self, *rows: Any, **context: Any) -> list[tuple[Any, Any]]:
        self._heard()
        asked = context["snmpEngine"].observer.get_execution_context("rfc3412.receiveMessage:request")
        if str(asked["securityName"]) == "reader":
            raise smi_error.NoAccessError(idx=0)
        try:
            self._mib.write([(tuple(oid), _reading(value)) for oid, value in rows])
        except Refusal as refusal:
            kind = getattr(smi_error, f"{refusal.status[0].upper()}{refusal.status[1:]}Error", smi_error.GenError)
            raise kind(idx=refusal.index - 1) from refusal
        return list(rows)


def _object(reading: Reading | Missing) -> Any:
    return _MISSING[reading] if isinstance(reading, Missing) else _MAKE[reading.kind](reading.value)


def _reading(value: Any) -> Reading:
    kind = next(kind for kind, make in _MAKE.items() if value.tagSet == make.tagSet)
    text = kind in (ValueKind.OCTETS, ValueKind.ADDRESS)
    return Reading(kind, bytes(value) if text else str(value) if kind is ValueKind.OID else int(value))


def _new_engine_id() -> bytes:
    """One that no engine has had: pysnmp's own ends in 16 bits of an address in memory, which come again."""
    return b"\x80\x00\x4f\xb8\x05" + os.urandom(12)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
