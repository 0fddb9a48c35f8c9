"""IPMI with real datagrams: BMCs that are silent, away or mad, and the keys of a session."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyipmi.interfaces.rmcpplus import CIPHER_SUITES, SessionKeys

from bmc.config import Privilege, User
from bmc.ipmi.crypto import CipherSuite, Keys
from bmc.ipmi.lan import Lan
from bmc.ipmi.rmcp import CLASS_ASF, Rmcp
from bmc.ipmi.sessions import Sessions
from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.transports import ConnectionLost
from niclab.transports.bmc import ipmi
from niclab.transports.bmc.ipmi import Ipmi, IpmiEndpoint

HANGS_S = 30.0
"""A busy host is slow; a call that takes longer has no deadline."""
Answerer = Callable[[bytes], Iterable[bytes]]


@pytest.fixture
def serve() -> Iterator[Callable[[Answerer], int]]:
    """A UDP server that answers each datagram with what it is reported; returns its port."""
    sockets: list[socket.socket] = []

    def start(answers: Answerer) -> int:
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.1)
        sockets.append(server)

        def loop() -> None:
            while server.fileno() != -1:
                try:
                    request, peer = server.recvfrom(4096)
                    for answer in answers(request):
                        server.sendto(answer, peer)
                except TimeoutError:
                    continue
                except OSError:
                    return  # closed by the test

        threading.Thread(target=loop, daemon=True).start()
        port: int = server.getsockname()[1]
        return port

    yield start
    for server in sockets:
        server.close()


def _bmc(port: int) -> Ipmi:
    return Ipmi(IpmiEndpoint("dut BMC", "127.0.0.1", port, "admin", "secret"))


class _WithoutAsf(Lan):
    """A BMC with real sessions that answers no ASF ping, as phosphor-net-ipmid built with ``rmcp_ping`` disabled."""

    def __init__(self) -> None:
        nobody = cast(Any, SimpleNamespace(faults=SimpleNamespace(delay_s=0, drop=False)))
        super().__init__(
            nobody, Sessions([User(name="admin", password="secret", privilege=Privilege.ADMINISTRATOR)], bytes(16))
        )
        self.requests: list[bytes] = []
        self._answers: list[bytes] = []

    def answers(self, request: bytes) -> Iterable[bytes]:
        self.requests.append(request)
        self._answers.clear()
        if request[3] != CLASS_ASF:
            asyncio.run(self._serve(request, ("127.0.0.1", 0)))
        return self._answers

    def _send(self, message_class: int, content: bytes, _peer: tuple[str, int]) -> None:
        self._answers.append(Rmcp(message_class, content).pack())


def test_a_bmc_that_answers_no_ping_lets_in(serve: Callable[[Answerer], int]) -> None:
    bmc = _bmc(serve(_WithoutAsf().answers))
    assert bmc.device_id().manufacturer_id == 7154
    bmc.close()


def test_a_lost_datagram_of_the_login_is_sent_again(serve: Callable[[Answerer], int]) -> None:
    server, lost = _WithoutAsf(), list[bytes]()

    def answers(request: bytes) -> Iterable[bytes]:
        if not lost:
            lost.append(request)
            return []
        return server.answers(request)

    bmc = _bmc(serve(answers))
    assert bmc.device_id().manufacturer_id == 7154
    bmc.close()
    assert lost == server.requests[:1]


def test_a_silent_bmc_is_lost_by_the_deadline(serve: Callable[[Answerer], int]) -> None:
    port = serve(lambda _: [])
    begin = time.monotonic()
    with pytest.raises(ConnectionLost, match=f"dut BMC: power status: no answer from 127.0.0.1, UDP port {port}"):
        _bmc(port).power_status()
    assert 1.0 < time.monotonic() - begin < HANGS_S


def test_a_bmc_that_chatters_without_end_is_left_at_the_deadline(
    serve: Callable[[Answerer], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stray datagram begins the library's own timeout again; the deadline of the call must not care."""
    monkeypatch.setattr(ipmi, "CALL_WITHIN_S", 0.4)
    capabilities = bytes.fromhex("0600ff07" + "00000000000000000010811c632004380001800402000000001d")
    flood_ends = Deadline(HANGS_S)

    def noise() -> Iterator[bytes]:
        while not flood_ends.expired:
            yield bytes([6, 0, 0xFF, 7, 6, 0x3F]) + bytes(10)

    def answers(request: bytes) -> Iterable[bytes]:
        if request[4] == 6:  # RMCP+: the open session request, answered by noise only
            return noise()
        reply = bytearray(capabilities)
        reply[18] = request[18]  # sequence number
        reply[-1] = -sum(reply[17:-1]) % 256
        return [bytes(reply)]

    with pytest.raises(ConnectionLost):
        _bmc(serve(answers)).power_status()
    assert not flood_ends.expired


def test_a_datagram_that_waits_does_not_outlast_the_deadline() -> None:
    lan = ipmi._Lan(17)
    lan.open()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", 0))
        lan._sock.connect(peer.getsockname())
        lan._sock.send(b"here I am")
        peer.sendto(bytes(28), peer.recvfrom(100)[1])
        lan.deadline = Deadline(0)
        with pytest.raises(TimeoutError):
            lan._receive_rmcp_msg()
    lan.close()


def test_nobody_on_the_port_is_lost_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ipmi, "CALL_WITHIN_S", 10 * HANGS_S)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begin = time.monotonic()
    with pytest.raises(ConnectionLost, match="refused"):
        _bmc(port).power_status()
    assert time.monotonic() - begin < HANGS_S


def test_answers_that_are_no_ipmi_are_a_fault(serve: Callable[[Answerer], int]) -> None:
    with pytest.raises(BenchFault, match="dut BMC: power status"):
        _bmc(serve(lambda _: [b"HTTP/1.1 400 Bad Request\r\n\r\n"])).power_status()


@pytest.mark.parametrize(("suite", "theirs"), [(3, CipherSuite.SHA1), (17, CipherSuite.SHA256)])
def test_session_keys_are_those_of_an_independent_bmc(suite: int, theirs: CipherSuite) -> None:
    sik = bytes(range(32))
    keys, bmc = ipmi._Keys(CIPHER_SUITES[suite], sik), Keys(theirs, sik)
    assert keys.auth_code(b"message") == bmc.tag(b"message")
    assert bmc.decrypt(keys.encrypt(b"payload")) == b"payload"


def test_the_library_makes_other_keys_for_suite_17() -> None:
    """The reason for making them here; when this fails, python-ipmi was mended."""
    sik = bytes(range(32))
    assert SessionKeys(CIPHER_SUITES[17], sik).k1 != ipmi._Keys(CIPHER_SUITES[17], sik).k1
    assert SessionKeys(CIPHER_SUITES[3], sik).k1 == ipmi._Keys(CIPHER_SUITES[3], sik).k1
