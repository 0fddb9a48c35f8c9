"""The server side of RFC 2217 (serial port control over telnet): bytes both ways, BREAK, settings acknowledged."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

IAC, SB, SE, BREAK = 255, 250, 240, 243
WILL, WONT, DO, DONT = 251, 252, 253, 254
BINARY, SUPPRESS_GO_AHEAD, COM_PORT = 0, 3, 44
OPTIONS = (BINARY, SUPPRESS_GO_AHEAD, COM_PORT)
GREETING = b"".join(bytes((IAC, verb, option)) for option in OPTIONS for verb in (WILL, DO))
BAUD_RATE = 115200


class ComPort(IntEnum):
    """Commands of the COM-PORT-OPTION, client to server (RFC 2217, section 3)."""

    SIGNATURE = 0
    SET_BAUDRATE = 1
    SET_DATASIZE = 2
    SET_PARITY = 3
    SET_STOPSIZE = 4
    SET_CONTROL = 5
    FLOWCONTROL_SUSPEND = 8
    FLOWCONTROL_RESUME = 9
    SET_LINESTATE_MASK = 10
    SET_MODEMSTATE_MASK = 11
    PURGE_DATA = 12


CONTROL_BREAK_ON = b"\x05"
ANSWER_OFFSET = 100


class _State(Enum):
    DATA = 0
    COMMAND = 1
    OPTION = 2
    SUB = 3
    SUB_COMMAND = 4


AFTER_COMMAND = {SB: _State.SUB, **dict.fromkeys((WILL, WONT, DO, DONT), _State.OPTION)}


@dataclass(frozen=True)
class Received:
    """The content of a piece of the stream.

    Attributes:
        data: Bytes for the line; between each two items the client pressed BREAK. Never empty.
        reply: What the client is to be answered.
    """

    data: tuple[bytes, ...]
    reply: bytes


def escape(data: bytes) -> bytes:
    """Bytes of the serial line as they go into a telnet stream."""
    return data.replace(b"\xff", b"\xff\xff")


class Decoder:
    """State machine over one client's stream; feed it the pieces as they come."""

    def __init__(self) -> None:
        self._state = _State.DATA
        self._verb = 0
        self._sub = bytearray()
        self._answered: set[tuple[int, int]] = {(verb, option) for option in OPTIONS for verb in (WILL, DO)}

    def feed(self, piece: bytes) -> Received:
        data, reply = [bytearray()], bytearray()
        for byte in piece:
            match self._state:
                case _State.DATA if byte == IAC:
                    self._state = _State.COMMAND
                case _State.DATA:
                    data[-1].append(byte)
                case _State.COMMAND:
                    if byte == IAC:
                        data[-1].append(byte)
                    elif byte == BREAK:
                        data.append(bytearray())
                    self._verb = byte
                    self._state = AFTER_COMMAND.get(byte, _State.DATA)
                    self._sub.clear()
                case _State.OPTION:
                    reply += self._answer(byte)
                    self._state = _State.DATA
                case _State.SUB if byte == IAC:
                    self._state = _State.SUB_COMMAND
                case _State.SUB:
                    self._sub.append(byte)
                case _State.SUB_COMMAND if byte == IAC:
                    self._sub.append(byte)
                    self._state = _State.SUB
                case _State.SUB_COMMAND:
                    answer, pressed = self._com_port(bytes(self._sub))
                    reply += answer
                    if pressed:
                        data.append(bytearray())
                    self._state = _State.DATA
        return Received(tuple(map(bytes, data)), bytes(reply))

    def _answer(self, option: int) -> bytes:
        """Agree to what this server does, refuse the rest, and say each thing once."""
        agree, refuse = {DO: (WILL, WONT), WILL: (DO, DONT)}.get(self._verb, (0, 0))
        answer = agree if option in OPTIONS else refuse
        if not answer or (answer, option) in self._answered:
            return b""
        self._answered.add((answer, option))
        return bytes((IAC, answer, option))

    @staticmethod
    def _com_port(sub: bytes) -> tuple[bytes, bool]:
        """Acknowledge a setting; tell whether it was BREAK. What is no setting gets no answer."""
        if len(sub) < 2 or sub[0] != COM_PORT or sub[1] not in set(ComPort):
            return b"", False
        command, value = sub[1], sub[2:]
        if command == ComPort.SET_BAUDRATE and value == bytes(4):  # a question
            value = BAUD_RATE.to_bytes(4, "big")
        pressed = command == ComPort.SET_CONTROL and value == CONTROL_BREAK_ON
        return bytes((IAC, SB, COM_PORT, command + ANSWER_OFFSET)) + escape(value) + bytes((IAC, SE)), pressed
