"""The SNMP agent: SNMPv2c and v3 over UDP. The only module that knows pysnmp.

Who may write is decided here by name: pysnmp 7.1's own view control lets a community without a write view write.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pysnmp.carrier.asyncio.dgram import udp
from pysnmp.entity import config as access
from pysnmp.entity import engine
from pysnmp.entity.rfc3413 import cmdrsp, context
from pysnmp.proto import rfc1902, rfc1905
from pysnmp.proto.api import v2c
from pysnmp.smi import instrum

from switch.device import Switch
from switch.mib import aggregation, bridge, interfaces, neighbours, system, vlans
from switch.mib.tree import Absent, Given, Refusal, SetError, Syntax, Tree, Value
from switch.settings import SnmpSettings
from wholefile import write_whole

TYPES: dict[Syntax, Callable[[Any], Any]] = {
    Syntax.INTEGER: v2c.Integer32,
    Syntax.OCTETS: v2c.OctetString,
    Syntax.OID: v2c.ObjectIdentifier,
    Syntax.COUNTER32: v2c.Counter32,
    Syntax.COUNTER64: v2c.Counter64,
    Syntax.GAUGE: v2c.Gauge32,
    Syntax.TICKS: v2c.TimeTicks,
}
SYNTAX_OF = {
    make(0 if syntax not in (Syntax.OCTETS, Syntax.OID) else (0, 0) if syntax is Syntax.OID else b"").tagSet: syntax
    for syntax, make in TYPES.items()
}
READER, WRITER = "reader", "writer"
"""Names of the two communities within the agent; the users of SNMPv3 have their own."""
ENGINE_ID = bytes.fromhex("80001f8803")
"""snmpEngineID: net-snmp's enterprise number, and 3 for the MAC address that follows (RFC 3411)."""
SNMP_V2C, SNMP_V3 = 2, 3


def tree(switch: Switch) -> Tree:
    """All that the agent shows of the switch."""
    mibs = (system, interfaces, bridge, vlans, neighbours, aggregation)
    tables = [table for mib in mibs for table in mib.tables(switch)]
    return Tree(tables, lambda: (switch.changes, switch.bridge.changes, switch.neighbours.changes, switch.started))


class Instrumentation(instrum.AbstractMibInstrumController):  # type: ignore[misc]
    """The instrumentation that pysnmp asks for the values of a request."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch
        self._tree = tree(switch)
        self._writers = {WRITER, switch.settings.snmp.user}

    def read_variables(self, *pairs: Any, **_: Any) -> list[tuple[Any, Any]]:
        return [(name, self._read(tuple(name))) for name, _ in pairs]

    def _read(self, oid: tuple[int, ...]) -> Any:
        match self._tree.read(oid):
            case Absent.NO_OBJECT:
                return rfc1905.noSuchObject
            case Absent.NO_INSTANCE:
                return rfc1905.noSuchInstance
            case (syntax, value):
                return TYPES[syntax](value)

    def read_next_variables(self, *pairs: Any, **_: Any) -> list[tuple[Any, Any]]:
        answers = []
        for name, _value in pairs:
            found = self._tree.after(tuple(name))
            if found is None:
                answers.append((name, rfc1905.endOfMibView))
            else:
                oid, syntax, value = found
                answers.append((rfc1902.ObjectName(oid), TYPES[syntax](value)))
        return answers

    def write(self, who: str, pairs: list[tuple[Any, Any]]) -> None:
        """Do all of a SET request, or nothing of it.

        Raises:
            SetError: When it is refused.
        """
        if who not in self._writers:
            raise SetError(Refusal.NO_ACCESS)
        defects = self._switch.defects
        for name, refusal in (("set_not_writable", Refusal.NOT_WRITABLE), ("set_gen_err", Refusal.GEN_ERR)):
            if defects.has(name):
                raise SetError(refusal)
        new = self._switch.changed_copy()
        self._tree.write(new, [_given(name, value) for name, value in pairs])
        if not defects.has("set_ignored"):
            self._switch.apply(new)


def _given(name: Any, value: Any) -> Given:
    syntax = SYNTAX_OF.get(value.tagSet)
    plain: Value = b""
    if syntax in (Syntax.OCTETS,):
        plain = bytes(value)
    elif syntax is Syntax.OID:
        plain = tuple(value)
    elif syntax is not None:
        plain = int(value)
    return Given(tuple(name), syntax, plain)


class SetResponder(cmdrsp.SetCommandResponder):  # type: ignore[misc]
    """Answers SET requests. pysnmp's own names the first object as the refused one, whichever it is."""

    def __init__(self, snmp: engine.SnmpEngine, shown: context.SnmpContext, instrumentation: Instrumentation) -> None:
        super().__init__(snmp, shown)
        self._instrumentation = instrumentation

    def handle_management_operation(self, snmp: Any, state: Any, _: Any, pdu: Any) -> None:
        request = snmp.observer.get_execution_context("rfc3412.receiveMessage:request")
        pairs = v2c.apiPDU.get_varbinds(pdu)
        status, index = "noError", 0
        try:
            self._instrumentation.write(str(request["securityName"]), pairs)
        except SetError as error:
            status, index = error.refusal.value, error.position + 1
        self.send_varbinds(snmp, state, status, index, pairs)
        self.release_state_information(state)


class Gate(udp.UdpAsyncioTransport):  # type: ignore[misc]
    """The agent's socket: shut while the switch restarts or its agent is dead, slow when that is wrong with it."""

    def __init__(self, switch: Switch, restarted: Callable[[], None]) -> None:
        super().__init__()
        self._switch = switch
        self._restarted = restarted
        self._reboots = switch.reboots

    def datagram_received(self, datagram: bytes, sender: Any) -> None:
        if self._closed():
            return
        if delay_s := self._switch.defects.value("agent_slow_s"):
            asyncio.get_running_loop().call_later(delay_s, self._take, datagram, sender)
        else:
            self._take(datagram, sender)

    def _closed(self) -> bool:
        return self._switch.rebooting or self._switch.defects.has("agent_dead")

    def _take(self, datagram: bytes, sender: Any) -> None:
        if self._closed():
            return
        if self._reboots != self._switch.reboots:
            self._reboots = self._switch.reboots
            self._restarted()
        super().datagram_received(datagram, sender)


def open_agent(switch: Switch) -> engine.SnmpEngine:
    """Answer on the switch's address from now on. To be called in a running event loop.

    Returns:
        The engine, which must be kept.
    """
    settings = switch.settings
    snmp = engine.SnmpEngine(v2c.OctetString(ENGINE_ID + settings.mac))
    boots, since = snmp.get_mib_builder().import_symbols("__SNMP-FRAMEWORK-MIB", "snmpEngineBoots", "snmpEngineTime")

    def started() -> None:
        boots.syntax = boots.syntax.clone(_next_boot(settings.boots_file))
        since.syntax = since.syntax.clone(int(time.time()))

    started()
    listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listening.bind((settings.address, settings.snmp.port))
    gate = Gate(switch, started)
    access.add_transport(snmp, udp.DOMAIN_NAME, gate.open_server_mode(sock=listening))
    _add_logins(snmp, settings.snmp)
    instrumentation = Instrumentation(switch)
    shown = context.SnmpContext(snmp)
    shown.unregister_context_name(b"")
    shown.register_context_name(b"", instrumentation)
    for responder in (cmdrsp.GetCommandResponder, cmdrsp.NextCommandResponder, cmdrsp.BulkCommandResponder):
        responder(snmp, shown)
    SetResponder(snmp, shown, instrumentation)
    return snmp


def _next_boot(path: Path) -> int:
    """snmpEngineBoots: how often it has started (RFC 3414, 2.2.2), counted in a file."""
    boot = int(path.read_text()) + 1 if path.exists() else 1
    write_whole(path, f"{boot}\n")
    return boot


def _add_logins(snmp: engine.SnmpEngine, settings: SnmpSettings) -> None:
    access.add_v1_system(snmp, READER, settings.read_community)
    access.add_v1_system(snmp, WRITER, settings.write_community)
    everything = (1,)
    for name in (READER, WRITER):
        access.add_vacm_user(snmp, SNMP_V2C, name, "noAuthNoPriv", everything, everything)
    for name in (settings.user, settings.viewer):
        access.add_v3_user(
            snmp,
            name,
            access.USM_AUTH_HMAC192_SHA256,
            settings.auth_password,
            access.USM_PRIV_CFB128_AES,
            settings.priv_password,
        )
        access.add_vacm_user(snmp, SNMP_V3, name, "authPriv", everything, everything)
