"""The telnet side of the console server: what a client's stream means, however it is cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telnet import (
    BINARY,
    BREAK,
    COM_PORT,
    DO,
    DONT,
    GREETING,
    IAC,
    SB,
    SE,
    SUPPRESS_GO_AHEAD,
    WILL,
    WONT,
    ComPort,
    Decoder,
    escape,
)

NAWS = 31  # window size: an option this server does not speak
BREAK_ON = bytes((IAC, SB, COM_PORT, ComPort.SET_CONTROL, 5, IAC, SE))
BREAK_OFF = bytes((IAC, SB, COM_PORT, ComPort.SET_CONTROL, 6, IAC, SE))

telnet_pieces = st.one_of(
    st.binary(max_size=20),
    st.binary(max_size=20).map(escape),
    st.tuples(st.sampled_from([WILL, WONT, DO, DONT]), st.integers(0, 254)).map(lambda pair: bytes((IAC, *pair))),
    st.just(bytes((IAC, BREAK))),
    st.just(BREAK_ON),
    st.tuples(st.integers(0, 254), st.binary(max_size=6)).map(
        lambda sub: bytes((IAC, SB, COM_PORT, sub[0])) + escape(sub[1]) + bytes((IAC, SE))
    ),
)
streams = st.lists(telnet_pieces, max_size=10).map(b"".join)


def _decode(pieces: list[bytes]) -> tuple[list[bytes], bytes]:
    """Return what the line gets (one item more than there were BREAKs), and what the client gets."""
    decoder = Decoder()
    line, reply = [b""], b""
    for piece in pieces:
        received = decoder.feed(piece)
        line[-1] += received.data[0]
        line += received.data[1:]
        reply += received.reply
    return line, reply


def _sub(command: int, value: bytes = b"") -> bytes:
    return bytes((IAC, SB, COM_PORT, command)) + escape(value) + bytes((IAC, SE))


@given(streams, st.lists(st.integers(0, 200), max_size=8))
def test_however_the_stream_is_cut_it_means_the_same(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(edges)]
    assert _decode(pieces) == _decode([stream])


@given(st.binary(max_size=200))
def test_no_stream_whatsoever_breaks_the_decoder(stream: bytes) -> None:
    _decode([stream])


@given(st.binary(max_size=100))
def test_what_is_escaped_arrives_as_it_was(data: bytes) -> None:
    assert _decode([escape(data)]) == ([data], b"")


def test_an_unescaped_255_is_not_data() -> None:
    assert _decode([b"a\xffb"]) != ([b"a\xffb"], b"")


def test_break_stands_where_it_was_pressed_among_the_keys() -> None:
    assert _decode([b"echo\r" + bytes((IAC, BREAK)) + b"h" + BREAK_ON + BREAK_OFF + b"\r"])[0] == [
        b"echo\r",
        b"h",
        b"\r",
    ]


@pytest.mark.parametrize("pressed", [bytes((IAC, BREAK)), BREAK_ON])
def test_break_comes_by_telnet_and_by_set_control(pressed: bytes) -> None:
    assert len(_decode([pressed])[0]) == 2


def test_break_off_and_other_controls_are_no_break() -> None:
    for value in (0, 4, 6, 7, 8, 11):
        assert len(_decode([_sub(ComPort.SET_CONTROL, bytes((value,)))])[0]) == 1


@pytest.mark.parametrize(
    ("command", "value", "answer"),
    [
        (ComPort.SET_BAUDRATE, (9600).to_bytes(4, "big"), (9600).to_bytes(4, "big")),
        (ComPort.SET_BAUDRATE, bytes(4), (115200).to_bytes(4, "big")),
        (ComPort.SET_DATASIZE, b"\x08", b"\x08"),
        (ComPort.SET_CONTROL, b"\x05", b"\x05"),
        (ComPort.PURGE_DATA, b"\x03", b"\x03"),
        (ComPort.SET_LINESTATE_MASK, b"\xff", b"\xff"),
    ],
)
def test_a_setting_is_acknowledged_with_its_number_plus_100(command: int, value: bytes, answer: bytes) -> None:
    assert _decode([_sub(command, value)])[1] == _sub(command + 100, answer)


def test_each_setting_of_several_is_acknowledged_by_itself() -> None:
    size, parity = _sub(ComPort.SET_DATASIZE, b"\x08"), _sub(ComPort.SET_PARITY, b"\x01")
    assert _decode([size + parity])[1] == _sub(102, b"\x08") + _sub(103, b"\x01")


@pytest.mark.parametrize("command", [13, 99, 100, 155, 156, 254])
def test_what_is_no_setting_of_rfc_2217_gets_no_answer(command: int) -> None:
    assert _decode([_sub(command, b"x"), b"data"]) == ([b"data"], b"")


def test_another_options_subnegotiation_is_passed_over() -> None:
    assert _decode([bytes((IAC, SB, NAWS, 0, 80, 0, 24, IAC, SE)) + b"x"]) == ([b"x"], b"")


def test_an_unknown_option_is_refused_once() -> None:
    do, will = bytes((IAC, DO, NAWS)), bytes((IAC, WILL, NAWS))
    assert _decode([do, do, will, will])[1] == bytes((IAC, WONT, NAWS, IAC, DONT, NAWS))


def test_what_the_greeting_offered_is_not_said_again() -> None:
    asked = b"".join(
        bytes((IAC, verb, option)) for option in (BINARY, SUPPRESS_GO_AHEAD, COM_PORT) for verb in (DO, WILL)
    )
    assert len(GREETING) == len(asked)
    assert _decode([asked])[1] == b""


def test_a_refusal_is_not_answered() -> None:
    assert _decode([bytes((IAC, WONT, COM_PORT, IAC, DONT, COM_PORT))])[1] == b""
