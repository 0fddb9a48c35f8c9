"""SNMP over UDP, agent on loopback: every way of not being let in, and of not being answered, is distinguished."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from toy_agent import AUTH_KEY, PRIV_KEY, READ, USER, WRITE, ToyAgent
from toy_mib import ToyMib

from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault
from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.snmp import snmp
from niclab.transports.snmp.snmp import Auth, Communities, Privacy, Snmp, SnmpEndpoint, User
from niclab.transports.snmp.snmp_agent import NoSuchVariable, SnmpRefused
from niclab.transports.snmp.snmp_records import VARIABLES, ValueKind

ADMIN, NAME, UPTIME = (VARIABLES[name] for name in ("ifAdminStatus", "ifName", "sysUpTime"))
RIGHT = {"v2c": Communities(READ, WRITE), "v3": User(USER, AUTH_KEY, PRIV_KEY)}
SECRETS = ("toy-read", "toy-write", "-password", "wrong-")


@pytest.fixture
def mib() -> ToyMib:
    made = ToyMib(writable={"ifAdminStatus"})
    made.put("sysUpTime", [0], 12345)
    made.put("sysObjectID", [0], "1.3.6.1.4.1.8072.3.2.10")
    made.put("ifHCInOctets", [1], (1 << 64) - 1)
    made.put("ifInErrors", [1], (1 << 32) - 1)
    for port in range(1, 41):
        made.put("ifAdminStatus", [port], 1)
        made.put("ifName", [port], f"1/{port}".encode())
    return made


@pytest.fixture
def agent(mib: ToyMib) -> Iterator[ToyAgent]:
    with ToyAgent(mib) as running:
        yield running


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lost datagrams are given up soon."""
    monkeypatch.setattr(snmp, "ANSWER_WITHIN_S", 0.5)
    monkeypatch.setattr(snmp, "RETRIES", 1)
    monkeypatch.setattr(snmp, "PROBE_WITHIN_S", 0.5)


def as_answer(asked: bytes) -> bytes:
    """A GET of v2c as its own answer: the variable has no value."""
    return asked.replace(b"\xa0", b"\xa2", 1)


def answer_all(peer: socket.socket, answer: Callable[[bytes], bytes], over: threading.Event) -> None:
    while not over.is_set():
        with contextlib.suppress(TimeoutError):
            asked, sender = peer.recvfrom(65_535)
            peer.sendto(answer(asked), sender)


def login(agent: ToyAgent, who: Communities | User) -> Snmp:
    return Snmp(SnmpEndpoint("sw1", "127.0.0.1", agent.port, who))


@pytest.fixture(params=RIGHT)
def right(request: pytest.FixtureRequest, agent: ToyAgent) -> Snmp:
    """With the right login, by each version."""
    return login(agent, RIGHT[request.param])


@pytest.mark.parametrize("who", RIGHT)
def test_the_bridge_of_a_vlan_is_asked(who: str, mib: ToyMib) -> None:
    bridge, port = ToyMib(), VARIABLES["dot1dBasePortIfIndex"]
    bridge.put("dot1dBasePortIfIndex", [49], 10101)
    with ToyAgent(mib, {20: bridge}) as agent:
        endpoint = SnmpEndpoint("sw1", "127.0.0.1", agent.port, RIGHT[who])
        assert Snmp(endpoint).walk(port) == {}
        assert Snmp(replace(endpoint, bridge_vlan=20)).walk(port) == {(49,): 10101}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("who", "words"),
    [("v2c", "the community or VLAN vlan-30 is wrong"), ("v3", r"\(now aes128\), and a context that it has: vlan-30")],
)
def test_a_vlan_that_has_no_bridge_is_named(agent: ToyAgent, who: str, words: str) -> None:
    with pytest.raises((ConnectionLost, AuthenticationFailed), match=words):
        Snmp(SnmpEndpoint("sw1", "127.0.0.1", agent.port, RIGHT[who], bridge_vlan=30)).get(UPTIME.at(0))


class TestLetIn:
    def test_every_kind_of_value_arrives(self, right: Snmp) -> None:
        wanted = {
            UPTIME.at(0): 12345,
            VARIABLES["sysObjectID"].at(0): "1.3.6.1.4.1.8072.3.2.10",
            VARIABLES["ifHCInOctets"].at(1): (1 << 64) - 1,
            VARIABLES["ifInErrors"].at(1): (1 << 32) - 1,
            NAME.at(40): b"1/40",
            ADMIN.at(1): 1,
        }
        assert right.get_many(list(wanted)) == wanted

    def test_a_table_is_walked(self, right: Snmp) -> None:
        assert right.walk(NAME) == {(port,): f"1/{port}".encode() for port in range(1, 41)}

    def test_what_is_written_is_done(self, right: Snmp, mib: ToyMib) -> None:
        right.set_and_see((ADMIN.at(2), 2))
        assert mib.value("ifAdminStatus", 2) == 2

    def test_missing_rows_and_variables_are_told_apart(self, right: Snmp) -> None:
        with pytest.raises(NoSuchVariable, match="noSuchInstance"):
            right.get(NAME.at(99))
        with pytest.raises(NoSuchVariable, match="noSuchObject"):
            right.get(VARIABLES["ifAlias"].at(1))

    @pytest.mark.parametrize("status", ["genErr", "notWritable", "wrongValue", "inconsistentValue", "commitFailed"])
    def test_a_refusal_keeps_its_name(self, right: Snmp, mib: ToyMib, status: str) -> None:
        mib.refuses["ifAdminStatus"] = status
        with pytest.raises(SnmpRefused, match=rf"^sw1: SET ifAdminStatus\.2 .* = 2: refused with {status};"):
            right.set((ADMIN.at(2), 2))

    def test_it_finds_an_agent_again_that_was_started_anew(self, right: Snmp, agent: ToyAgent) -> None:
        """With v3 it has another engine id then."""
        assert right.get(UPTIME.at(0)) == 12345
        agent.reboot()
        assert right.get(UPTIME.at(0)) == 12345

    def test_it_finds_an_agent_again_that_has_the_engine_id_of_another(self, right: Snmp, agent: ToyAgent) -> None:
        """As where a stack of switches has another master: the engine knows a user of that id already."""
        with ToyAgent(agent.mib) as former:
            assert login(former, right.endpoint.login).get(UPTIME.at(0)) == 12345
        assert right.get(UPTIME.at(0)) == 12345
        agent.reboot(former.engine_id)
        assert right.get(UPTIME.at(0)) == 12345

    def test_two_threads_share_the_engine(self, right: Snmp) -> None:
        found = side_by_side(lambda port: right.get(NAME.at(port)), range(1, 21))
        assert found == [f"1/{port}".encode() for port in range(1, 21)]


class TestNotLetIn:
    def test_a_community_that_only_reads_may_not_write(self, agent: ToyAgent, mib: ToyMib) -> None:
        with pytest.raises(SnmpRefused, match="refused with noAccess; expected a login that may do this"):
            login(agent, Communities(READ, READ)).set((ADMIN.at(2), 2))
        assert mib.value("ifAdminStatus", 2) == 1

    @pytest.mark.parametrize(
        ("who", "message"),
        [
            (
                User("nobody", AUTH_KEY, PRIV_KEY),
                "sw1: SNMP user nobody is unknown there; expected a user of the switch",
            ),
            (
                User(USER, "wrong-password", PRIV_KEY),
                "sw1: SNMP user toy-user: authentication fails; expected the right authentication password, "
                "and its protocol (now sha256)",
            ),
            (
                User(USER, AUTH_KEY, PRIV_KEY, auth=Auth.SHA512),
                "sw1: SNMP user toy-user: authentication fails; expected the right authentication password, "
                "and its protocol (now sha512)",
            ),
            (
                User(USER, AUTH_KEY, "wrong-password"),
                "sw1: SNMP user toy-user: decryption fails; expected the right privacy password",
            ),
        ],
        ids=["user", "auth key", "auth protocol", "priv key"],
    )
    def test_a_wrong_v3_login_is_told_apart(self, agent: ToyAgent, who: User, message: str) -> None:
        right = login(agent, RIGHT["v3"])
        for _ in range(2):  # also when the agent is known already
            with pytest.raises(AuthenticationFailed) as caught:
                login(agent, who).get(UPTIME.at(0))
            assert str(caught.value) == message
            assert right.get(UPTIME.at(0)) == 12345  # a wrong key spoils nothing

    @pytest.mark.parametrize(("auth", "priv"), [("short", PRIV_KEY), (AUTH_KEY, "short")])
    def test_a_password_too_short_for_v3_is_refused_at_once(self, auth: str, priv: str) -> None:
        with pytest.raises(BenchFault, match=r"password has 5 characters; expected at least 8$"):
            Snmp(SnmpEndpoint("sw1", "127.0.0.1", 1, User("me", auth, priv)))


@pytest.mark.usefixtures("impatient")
class TestNoAnswer:
    def test_a_wrong_community(self, agent: ToyAgent) -> None:
        with pytest.raises(
            ConnectionLost, match=r"^sw1: SNMP: no answer .* or the community is wrong \(an agent is sil"
        ):
            login(agent, Communities("wrong-one", "wrong-two")).get(UPTIME.at(0))

    @pytest.mark.parametrize("version", RIGHT)
    def test_a_closed_port(self, version: str) -> None:
        end = SnmpEndpoint("sw1", "127.0.0.1", 9, RIGHT[version])
        with pytest.raises(
            ConnectionLost, match=r"127\.0\.0\.1, UDP port 9: nothing listens there; check address and port"
        ):
            Snmp(end).get(UPTIME.at(0))

    def test_an_agent_that_falls_silent(self, right: Snmp, mib: ToyMib) -> None:
        right.get(UPTIME.at(0))
        mib.silent = True
        began = time.monotonic()
        with pytest.raises(BenchFault, match=r"no answer|does not answer; expected the right privacy password"):
            right.get(UPTIME.at(0))
        assert time.monotonic() - began < 15
        mib.silent = False
        assert right.get(UPTIME.at(0)) == 12345

    @pytest.mark.parametrize("version", RIGHT)
    def test_a_socket_that_swallows_everything(self, version: str) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hole:
            hole.bind(("127.0.0.1", 0))
            with pytest.raises(ConnectionLost, match="it is not there, or "):
                Snmp(SnmpEndpoint("sw1", "127.0.0.1", hole.getsockname()[1], RIGHT[version])).get(UPTIME.at(0))

    @pytest.mark.parametrize(
        ("answer", "kind", "words"),
        [
            (lambda asked: as_answer(asked)[:-2], ConnectionLost, "no answer"),
            (lambda asked: asked[: len(asked) // 2], ConnectionLost, "no answer"),
            (lambda asked: asked, ConnectionLost, "no answer"),
            (lambda _: bytes(9000), ConnectionLost, "no answer"),
            (as_answer, BenchFault, "is Null; expected a value of a kind that SNMP has"),
        ],
        ids=["a variable cut short", "half the question", "the question", "NULs", "a variable without a value"],
    )
    def test_datagrams_that_are_no_answers(
        self, answer: Callable[[bytes], bytes], kind: type[BenchFault], words: str
    ) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            peer.bind(("127.0.0.1", 0))
            peer.settimeout(0.1)
            over = threading.Event()
            thread = threading.Thread(target=answer_all, args=(peer, answer, over))
            thread.start()
            try:
                with pytest.raises(kind, match=words) as caught:
                    Snmp(SnmpEndpoint("sw1", "127.0.0.1", peer.getsockname()[1], RIGHT["v2c"])).get(UPTIME.at(0))
            finally:
                over.set()
                thread.join()
        assert type(caught.value) is kind

    def test_a_name_that_does_not_exist(self) -> None:
        with pytest.raises(
            ConnectionLost, match=r"no answer from no-such-host\.invalid, UDP port 161: it cannot be asked"
        ):
            Snmp(SnmpEndpoint("sw1", "no-such-host.invalid", 161, RIGHT["v2c"])).get(UPTIME.at(0))

    def test_a_call_ends_by_its_deadline(self, right: Snmp, monkeypatch: pytest.MonkeyPatch) -> None:
        right.get(UPTIME.at(0))
        monkeypatch.setattr(snmp, "CALL_WITHIN_S", 0.0)
        with pytest.raises(ConnectionLost, match="the deadline of 0 s passed"):
            right.get(UPTIME.at(0))


class TestMisuse:
    @pytest.mark.parametrize(("variable", "value"), [("ifAdminStatus", b"2"), ("ifAlias", 2), ("sysUpTime", 5)])
    def test_a_value_that_cannot_be_written_is_refused_here(
        self, agent: ToyAgent, variable: str, value: int | bytes
    ) -> None:
        with pytest.raises(BenchFault, match=rf"SET {variable}\.1 .* is not wanted; expected a value of"):
            login(agent, RIGHT["v2c"]).set((VARIABLES[variable].at(1), value))

    def test_an_answer_of_another_kind_is_not_taken(self, agent: ToyAgent, mib: ToyMib) -> None:
        mib.put("ifHCInOctets", [2], 7, ValueKind.COUNTER32)
        with pytest.raises(BenchFault, match="7 is a Counter32; expected a Counter64"):
            login(agent, RIGHT["v2c"]).get(VARIABLES["ifHCInOctets"].at(2))


def test_secrets_are_in_no_message_repr_or_log(agent: ToyAgent, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    texts = []
    for who in (
        *RIGHT.values(),
        User(USER, "wrong-password", PRIV_KEY),
        User("x", AUTH_KEY, PRIV_KEY, priv=Privacy.AES256),
    ):
        one = login(agent, who)
        try:
            one.get(NAME.at(99))
        except BenchFault as error:
            texts += [str(error), repr(error), repr(error.__cause__)]
        texts += [repr(one.endpoint), repr(one), repr(who)]
    text = "\n".join([*texts, caplog.text])
    assert "sw1" in text
    assert [secret for secret in SECRETS if secret in text.replace("authentication password", "")] == []


def test_an_answer_about_something_else_is_not_taken(
    agent: ToyAgent, mib: ToyMib, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = login(agent, RIGHT["v2c"])
    monkeypatch.setattr(one, "_exchange", lambda *_: [(NAME.at(2).oid, mib.get((1,)))])
    with pytest.raises(BenchFault, match="the answer is about"):
        one.get(NAME.at(1))
