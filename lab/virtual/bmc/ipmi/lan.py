"""The LAN channel: datagrams in, datagrams out."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import cast

from bmc.ipmi.commands import Request, execute, execute_outside_of_sessions
from bmc.ipmi.rmcp import (
    AUTHENTICATED,
    CLASS_ASF,
    CLASS_IPMI,
    ENCRYPTED,
    FORMAT_RMCP_PLUS,
    Header,
    MalformedError,
    Message,
    Payload,
    Rmcp,
    pack_plus,
    pack_v15,
    parse_v15,
    pong,
    with_trailer,
)
from bmc.ipmi.sessions import Exchange, Session, Sessions
from bmc.service import Bmc

log = logging.getLogger(__name__)

MAX_AT_WORK = 256
"""Datagrams at work at once; more are dropped, as a full receive buffer would."""
RETRY_S = 5.0
"""An equal request within this time is a repetition and gets the old answer; ipmitool and FreeIPMI repeat for 4 s at
most with their default settings."""

Peer = tuple[str, int]


class Lan(asyncio.DatagramProtocol):
    """IPMI over UDP for one BMC."""

    def __init__(self, bmc: Bmc, sessions: Sessions) -> None:
        self._bmc = bmc
        self._sessions = sessions
        self._tasks: set[asyncio.Task[None]] = set()
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio when the port is open."""
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Peer) -> None:
        """Called by asyncio for every datagram."""
        if self._bmc.faults.drop:
            return
        if len(self._tasks) >= MAX_AT_WORK:
            log.warning("datagram from %s dropped: %d at work", addr[0], len(self._tasks))
            return
        task = asyncio.get_running_loop().create_task(self._serve(data, addr))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def error_received(self, exc: Exception) -> None:
        """Called by asyncio when an answer could not be delivered, usually because the client has gone."""
        log.info("datagram not delivered: %s", exc)

    async def _serve(self, data: bytes, peer: Peer) -> None:
        if self._bmc.faults.delay_s:
            await asyncio.sleep(self._bmc.faults.delay_s)
        try:
            packet = Rmcp.parse(data)
            if packet.message_class == CLASS_ASF:
                self._send(CLASS_ASF, pong(packet.content), peer)
            elif packet.message_class != CLASS_IPMI:
                raise MalformedError(f"RMCP class {packet.message_class}")
            elif packet.content[0] == FORMAT_RMCP_PLUS:
                await self._serve_plus(Header.parse(packet.content), peer)
            else:
                message = Message.parse(parse_v15(packet.content))
                body = await execute_outside_of_sessions(message, self._bmc, self._sessions)
                self._send(CLASS_IPMI, pack_v15(message.answer(body)), peer)
        except MalformedError as error:
            log.debug("datagram from %s ignored: %s", peer[0], error)
        except Exception:
            log.exception("datagram from %s broke the BMC: %s", peer[0], data.hex())

    async def _serve_plus(self, header: Header, peer: Peer) -> None:
        if header.session_id == 0:
            await self._serve_setup(header, peer)
            return
        session = self._sessions.find(header.session_id)
        if session is None:
            raise MalformedError(f"no session {header.session_id:#x}")
        message = _unpack(session, header)
        is_new = session.is_new(header.sequence)
        session.seen_s, session.peer = time.monotonic(), peer
        await self._serve_request(session, message, is_new)

    async def _serve_setup(self, header: Header, peer: Peer) -> None:
        """Serve a message that comes outside of sessions."""
        if header.is_authenticated or header.is_encrypted:
            raise MalformedError("authenticated or encrypted outside of sessions")
        answer: bytes | None
        if header.payload_type == Payload.IPMI:
            message = Message.parse(header.payload)
            body = await execute_outside_of_sessions(message, self._bmc, self._sessions)
            kind, answer = Payload.IPMI, message.answer(body)
        elif header.payload_type == Payload.OPEN_REQUEST:
            kind, answer = Payload.OPEN_RESPONSE, self._sessions.open(header.payload)
        elif header.payload_type == Payload.RAKP_1:
            kind, answer = Payload.RAKP_2, self._sessions.rakp1(header.payload)
        elif header.payload_type == Payload.RAKP_3:
            kind, answer = Payload.RAKP_4, self._sessions.rakp3(header.payload, peer)
        else:
            raise MalformedError(f"payload type {header.payload_type:#x}")
        if answer is not None:
            self._send(CLASS_IPMI, pack_plus(kind, answer), peer)

    async def _serve_request(self, session: Session, message: Message, is_new: bool) -> None:
        """Carry out a request, or repeat the answer when it is a repetition: a power cycle must not happen twice."""
        last = session.last
        if last is not None and last.message == message:
            if last.body is None:
                return  # still at work: the answer comes when it is done
            if time.monotonic() - last.answered_s < RETRY_S:
                log.debug("repetition: answered from memory")
                self._send_in(session, message.answer(last.body))
                return
        if not is_new:
            raise MalformedError("a session sequence number used again")
        session.last = work = Exchange(message)
        request = Request(self._bmc, message.data, session, self._sessions)
        body = await execute(message, request)
        work.body, work.answered_s = body, time.monotonic()
        self._send_in(session, message.answer(body))
        for action in request.afterwards:
            action()

    def _send_in(self, session: Session, message: bytes) -> None:
        """Send within a session: encrypted and signed."""
        session.sequence_out = session.sequence_out % 0xFFFFFFFF + 1
        flags = AUTHENTICATED | ENCRYPTED
        packet = pack_plus(
            Payload.IPMI | flags, session.keys.encrypt(message), session.console_id, session.sequence_out
        )
        packet = with_trailer(packet)
        self._send(CLASS_IPMI, packet + session.keys.tag(packet), session.peer)

    def _send(self, message_class: int, content: bytes, peer: Peer) -> None:
        assert self._transport is not None
        self._transport.sendto(Rmcp(message_class, content).pack(), peer)


def _unpack(session: Session, header: Header) -> Message:
    """The request in a packet of a session.

    Raises:
        MalformedError: Not signed by the session's key, not encrypted, or not a request.
    """
    if not (header.is_authenticated and header.is_encrypted):
        raise MalformedError("not authenticated and encrypted inside a session")
    signed, tag = header.signed_and_tag(session.keys.suite.value.tag_bytes)
    if not session.keys.is_genuine(signed, tag):
        raise MalformedError("wrong integrity tag")
    if header.payload_type != Payload.IPMI:
        raise MalformedError(f"payload type {header.payload_type:#x} inside a session")
    return Message.parse(session.keys.decrypt(header.payload))
