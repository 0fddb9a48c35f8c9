"""The LAN channel under bad conditions: lost answers, faults, strangers, rubbish."""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
import struct
import time
from types import SimpleNamespace
from typing import Any

import pyipmi.interfaces.rmcpplus as rmcpplus
import pytest
from bench_fakes import wait_for
from bmc_bench import LOOPBACK, FakeMachine, RunningBmc, make_config
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyipmi.errors import MessageStatusCodeError

from bmc.ipmi.commands import COMMANDS, Request, execute
from bmc.ipmi.completion import Completion
from bmc.ipmi.crypto import CipherSuite, Keys
from bmc.ipmi.rmcp import Message, Payload
from bmc.ipmi.sessions import MAX_OPENING, Repeatable, Session, Sessions
from bmc.service import Bmc

PING = bytes.fromhex("0600ff06000011be80420000")
CAPABILITIES = bytes.fromhex("0600ff07000000000000000000092018c88100388e04b5")
"""Get Channel Authentication Capabilities as ipmitool sends it."""
OPEN_SESSION = bytes.fromhex("0600ff0706100000000000000000200001040000a4a3a2a0") + bytes.fromhex(
    "000000080100000001000008010000000200000801000000"
)
SHARED = settings(
    max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _ask(bmc: RunningBmc, datagram: bytes, timeout_s: float = 30.0) -> bytes:
    """One datagram there, one back."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(timeout_s)
        client.connect((LOOPBACK, bmc.config.ipmi_port))
        client.send(datagram)
        return client.recv(2048)


def _request(sequence: int, netfn: int, command: int, data: bytes) -> bytes:
    """An IPMI request message."""
    head = bytes([0x20, netfn << 2])
    body = bytes([0x81, sequence << 2, command]) + data
    return head + bytes([-sum(head) & 0xFF]) + body + bytes([-sum(body) & 0xFF])


def _cycle(sequence: int) -> bytes:
    return _request(sequence, 0x00, 0x02, b"\x02")


# -- repetition


def test_a_repeated_request_is_answered_again_and_carried_out_once(bmc: RunningBmc) -> None:
    bmc.power(True)
    with bmc.python_ipmi() as client:
        answers = []
        for _ in range(3):
            client.interface._send_ipmi_msg(_cycle(33))
            answers.append(client.interface._receive_ipmi_msg())
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][6] == Completion.OK
    wait_for(lambda: bmc.events == ["Power cycle"], "the cycle")
    assert bmc.machine.done == ["cycle"]


def test_another_request_of_the_same_kind_is_no_repetition(bmc: RunningBmc) -> None:
    bmc.power(True)
    with bmc.python_ipmi() as client:
        for sequence in (33, 34):
            client.interface._send_ipmi_msg(_cycle(sequence))
            assert client.interface._receive_ipmi_msg()[6] == Completion.OK
            wait_for(lambda: not bmc.bmc.is_busy, "the cycle is done")
    assert bmc.machine.done == ["cycle", "cycle"]


def test_a_repetition_during_the_work_is_not_carried_out_either(bmc: RunningBmc) -> None:
    bmc.power(True)
    bmc.machine.takes_s = 0.3
    with bmc.python_ipmi() as client:
        for _ in range(4):
            client.interface._send_ipmi_msg(_request(35, 0x00, 0x02, b"\x03"))
        assert client.interface._receive_ipmi_msg()[6] == Completion.OK
        wait_for(lambda: not bmc.bmc.is_busy, "the reset is done")
    assert bmc.machine.done == ["reset"]


def test_a_replayed_datagram_is_not_carried_out(bmc: RunningBmc) -> None:
    """The very same bytes, after another request: no repetition, and its session sequence number is used up."""
    bmc.power(True)
    sent: list[bytes] = []
    with bmc.python_ipmi() as client:
        send = client.interface._send_rmcp_msg

        def send_and_keep(pdu: bytes, kind: int) -> None:
            sent.append(pdu)
            send(pdu, kind)

        client.interface._send_rmcp_msg = send_and_keep
        client.chassis_control_hard_reset()
        client.get_chassis_status()
        client.interface._send_rmcp_msg = send
        send(sent[0], 7)
        client.get_chassis_status()
    assert bmc.machine.done == ["reset"]


def test_lost_answers_during_the_opening_are_repeated(bmc: RunningBmc) -> None:
    """Every answer of the opening is lost once; python-ipmi asks again and gets in."""
    lost: list[int] = []

    def lose_the_first_of_each_kind(interface: Any) -> None:
        interface.max_retries = 1
        receive = interface._receive_payload

        def lossy() -> Any:
            kind, payload = receive()
            if kind in (Payload.OPEN_RESPONSE, Payload.RAKP_2, Payload.RAKP_4) and kind not in lost:
                lost.append(kind)
                raise TimeoutError
            return kind, payload

        interface._receive_payload = lossy

    with bmc.python_ipmi(prepare=lose_the_first_of_each_kind) as client:
        assert client.get_chassis_status().power_on is False
    assert lost == [Payload.OPEN_RESPONSE, Payload.RAKP_2, Payload.RAKP_4]


# -- faults


def test_drop_is_silence_and_the_request_is_not_carried_out_later(bmc: RunningBmc) -> None:
    bmc.control({"fault": {"drop": True}})
    silent = bmc.ipmitool("power", "on")
    assert silent.returncode != 0
    bmc.control({"fault": {}})
    assert bmc.ipmitool_ok("power", "status") == "Chassis Power is off"
    assert bmc.machine.done == []


def test_delay_comes_before_every_answer(bmc: RunningBmc) -> None:
    bmc.control({"fault": {"delay_s": 0.3}})
    with pytest.raises(TimeoutError):
        _ask(bmc, PING, timeout_s=0.1)
    assert _ask(bmc, PING)[8] == 0x40


# -- sessions


def test_a_session_without_requests_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    sessions = Sessions([], bytes(16), timeout_s=60.0)
    keys = Keys(CipherSuite.SHA1, bytes(20))
    sessions.active[7] = Session(7, 8, 2, 4, keys, (LOOPBACK, 1), 940.0, 4, Repeatable(b"", b""))
    assert sessions.find(7) is not None
    monkeypatch.setattr(time, "monotonic", lambda: 1000.1)
    assert sessions.find(7) is None


def test_half_open_sessions_lock_nobody_out(bmc: RunningBmc) -> None:
    for _ in range(100):
        assert _ask(bmc, OPEN_SESSION)[17] == 0
    assert bmc.call(lambda: len(bmc.sessions._opening)) == MAX_OPENING
    assert bmc.ipmitool_ok("power", "status") == "Chassis Power is off"


def test_the_seventeenth_session_is_refused_and_one_that_ends_makes_room(bmc: RunningBmc) -> None:
    def fill() -> None:
        keys = Keys(CipherSuite.SHA1, bytes(20))
        for number in range(16):
            seen_s = time.monotonic()
            session = Session(number + 1, 1, 2, 4, keys, (LOOPBACK, 1), seen_s, 4, Repeatable(b"", b""))
            bmc.sessions.active[number + 1] = session

    bmc.call(fill)
    full = bmc.ipmitool("power", "status")
    assert "insufficient resources" in full.stderr
    bmc.call(lambda: bmc.sessions.close(5))
    assert bmc.ipmitool_ok("power", "status") == "Chassis Power is off"
    bmc.call(bmc.sessions.close_all)


# -- strangers


def test_ping_and_capabilities_need_no_session(bmc: RunningBmc) -> None:
    assert _ask(bmc, PING) == bytes.fromhex("0600ff06000011be40420010000011be000000008100") + bytes(6)
    answer = _ask(bmc, CAPABILITIES)
    assert answer[20] == Completion.OK
    assert answer[21:25] == bytes([1, 0x80, 0x04, 0x02])


@pytest.mark.parametrize(("netfn", "command"), [(0, 1), (0, 2), (6, 1), (10, 0x43), (0x30, 5)])
def test_everything_else_is_refused_outside_of_sessions(bmc: RunningBmc, netfn: int, command: int) -> None:
    message = _request(1, netfn, command, b"\x01" if (netfn, command) == (0, 2) else b"")
    plain = _ask(bmc, bytes.fromhex("0600ff07") + bytes(9) + bytes([len(message)]) + message)
    assert plain[20] == Completion.INSUFFICIENT_PRIVILEGE
    plus = _ask(bmc, bytes.fromhex("0600ff07") + struct.pack("<BBIIH", 6, 0, 0, 0, len(message)) + message)
    assert plus[22] == Completion.INSUFFICIENT_PRIVILEGE
    assert bmc.machine.done == []


# -- rubbish


def _still_well(bmc: RunningBmc, caplog: pytest.LogCaptureFixture) -> None:
    assert _ask(bmc, PING)[8] == 0x40
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


@SHARED
@given(datagram=st.binary(max_size=80))
@example(datagram=b"")
def test_random_datagrams_do_no_harm(bmc: RunningBmc, caplog: pytest.LogCaptureFixture, datagram: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for head in (b"", b"\x06\x00\xff\x07", b"\x06\x00\xff\x07\x06", b"\x06\x00\xff\x06\x00\x00\x11\xbe"):
            client.sendto(head + datagram, (LOOPBACK, bmc.config.ipmi_port))
    _still_well(bmc, caplog)


@SHARED
@given(
    packet=st.sampled_from([PING, CAPABILITIES, OPEN_SESSION]),
    length=st.integers(0, 60),
    at=st.integers(0, 60),
    value=st.integers(0, 255),
)
def test_truncated_and_altered_packets_do_no_harm(
    bmc: RunningBmc, caplog: pytest.LogCaptureFixture, packet: bytes, length: int, at: int, value: int
) -> None:
    altered = bytearray(packet)
    altered[at % len(packet)] = value
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(packet[:length], (LOOPBACK, bmc.config.ipmi_port))
        client.sendto(altered, (LOOPBACK, bmc.config.ipmi_port))
    _still_well(bmc, caplog)


@SHARED
@given(kind=st.sampled_from([0x12, 0x14, 0x00, 0x40, 0xC0]), content=st.binary(max_size=70))
def test_rubbish_in_a_session_being_opened_does_no_harm(
    bmc: RunningBmc, caplog: pytest.LogCaptureFixture, kind: int, content: bytes
) -> None:
    session_id = _ask(bmc, OPEN_SESSION)[24:28]
    payload = content[:4].ljust(4, b"\0") + session_id + content[4:]
    head = bytes.fromhex("0600ff0706") + bytes([kind])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for addressed_to in (bytes(4), session_id):
            packet = head + addressed_to + bytes(4) + struct.pack("<H", len(payload)) + payload
            client.sendto(packet, (LOOPBACK, bmc.config.ipmi_port))
    _still_well(bmc, caplog)


def test_rubbish_inside_a_session_does_no_harm(bmc: RunningBmc, caplog: pytest.LogCaptureFixture) -> None:
    with bmc.python_ipmi() as client:
        for content in (b"", b"\x20", bytes(7), bytes(40), bytes(range(200)), _cycle(3)[:-1], _cycle(3)[:-1] + b"\0"):
            client.interface._send_ipmi_msg(content)
        assert client.get_chassis_status().power_on is False
    _still_well(bmc, caplog)


@pytest.mark.parametrize(
    ("flags", "tag_flip", "heard"),
    [(0xC0, 0, True), (0xC0, 1, False), (0x80, 0, False), (0x40, 0, False), (0x00, 0, False)],
)
def test_only_signed_and_encrypted_requests_are_heard_inside_a_session(
    bmc: RunningBmc, flags: int, tag_flip: int, heard: bool
) -> None:
    """A reset with right keys and content; what differs is what the header admits to, and one bit of the tag."""
    bmc.power(True)
    with bmc.python_ipmi() as client:
        keys = client.interface._keys
        payload = keys.encrypt(_request(9, 0x00, 0x02, b"\x03"))
        packet = struct.pack("<BBIIH", 6, flags, client.session.sid, 5, len(payload)) + payload
        packet += b"\xff" * (-(len(packet) + 2) % 4)
        packet += bytes([len(packet) - 12 - len(payload), 7])
        tag = bytearray(keys.auth_code(packet))
        tag[-1] ^= tag_flip
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as forger:
            forger.sendto(b"\x06\x00\xff\x07" + packet + tag, (LOOPBACK, bmc.config.ipmi_port))
        assert client.get_chassis_status().power_on is True
    assert bmc.machine.done == (["reset"] if heard else [])


def test_a_request_in_the_clear_with_the_id_of_a_session_is_ignored(bmc: RunningBmc) -> None:
    bmc.power(True)
    with bmc.python_ipmi() as client:
        forged = struct.pack("<BBIIH", 6, 0, client.session.sid, 5, len(_cycle(9))) + _cycle(9)
        with pytest.raises(TimeoutError):
            _ask(bmc, b"\x06\x00\xff\x07" + forged, timeout_s=0.2)
        assert client.get_chassis_status().power_on is True
    assert bmc.machine.done == []


def test_a_client_that_ignores_its_own_check_still_needs_the_password(
    bmc: RunningBmc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An honest client gives up at RAKP 2; this one goes on with the wrong password, and the BMC refuses it."""
    careless = SimpleNamespace(new=hmac.new, compare_digest=lambda _wanted, _given: True)
    monkeypatch.setattr(rmcpplus, "hmac", careless)
    with pytest.raises(MessageStatusCodeError) as refused, bmc.python_ipmi(password="wrong"):
        pass
    assert refused.value.msc == 0x0F


@pytest.fixture(scope="module")
def quiet_bmc(tmp_path_factory: pytest.TempPathFactory) -> Bmc:
    """A BMC without ports."""
    return Bmc(make_config(tmp_path_factory.mktemp("quiet")), FakeMachine())


@settings(
    max_examples=500, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(key=st.sampled_from(sorted(COMMANDS)), data=st.binary(max_size=20))
def test_no_command_breaks_whatever_its_data(
    quiet_bmc: Bmc, caplog: pytest.LogCaptureFixture, key: tuple[int, int], data: bytes
) -> None:
    keys = Keys(CipherSuite.SHA1, bytes(20))
    session = Session(1, 1, 2, 4, keys, (LOOPBACK, 1), 0.0, 4, Repeatable(b"", b""))
    message = Message(key[0], key[1], data, 0, (0x20, 0x81), (0, 0))
    sessions = Sessions(quiet_bmc.config.users, bytes(16))
    sessions.active[session.session_id] = session
    answer = asyncio.run(execute(message, Request(quiet_bmc, data, session, sessions)))
    assert answer[0] in list(Completion)
    assert answer[0] != Completion.UNSPECIFIED
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_a_command_that_breaks_is_answered_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The control of the test above: it would see a broken command."""
    message = Message(0, 1, b"", 0, (0x20, 0x81), (0, 0))
    keys = Keys(CipherSuite.SHA1, bytes(20))
    session = Session(1, 1, 2, 4, keys, (LOOPBACK, 1), 0.0, 4, Repeatable(b"", b""))
    broken: Any = SimpleNamespace()
    answer = asyncio.run(execute(message, Request(broken, b"", session, Sessions([], bytes(16)))))
    assert answer == bytes([Completion.UNSPECIFIED])
    assert "broke" in caplog.text
