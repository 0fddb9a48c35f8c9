"""SNMP against net-snmp's agent, which is not of this repository's making (net-snmp 5.9.3, Debian 12).

Otherwise than the toy agent it is silent to a wrong privacy password, and refuses writes by views of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from throwaway_snmpd import AUTH, PRIV, READ, READER, USER, WRITE, ThrowawaySnmpd, snmpd_program

from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.snmp import snmp
from niclab.transports.snmp.snmp import Auth, Communities, Snmp, User
from niclab.transports.snmp.snmp_agent import NoSuchVariable, SnmpRefused
from niclab.transports.snmp.snmp_records import VARIABLES, ValueKind, Variable

UPTIME, NAME = VARIABLES["sysUpTime"].at(0), VARIABLES["sysName"].at(0)
RIGHT = {"v2c": Communities(READ, WRITE), "v3": User(USER, AUTH, PRIV)}
READ_ONLY = {"v2c": Communities(READ, READ), "v3": User(READER, AUTH, PRIV)}


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThrowawaySnmpd]:
    if snmpd_program() is None:
        pytest.skip("snmpd is not installed (Debian: snmpd)")
    with ThrowawaySnmpd(tmp_path_factory.mktemp("snmpd")) as running:
        yield running


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lost datagrams are given up soon."""
    monkeypatch.setattr(snmp, "ANSWER_WITHIN_S", 0.5)
    monkeypatch.setattr(snmp, "RETRIES", 1)


@pytest.fixture(params=RIGHT)
def right(request: pytest.FixtureRequest, agent: ThrowawaySnmpd) -> Snmp:
    return Snmp(agent.endpoint(RIGHT[request.param]))


def test_values_and_tables_are_read(right: Snmp) -> None:
    assert isinstance(right.get(UPTIME), int)
    names = right.walk(VARIABLES["ifName"])
    assert b"lo" in names.values()
    assert set(right.walk(VARIABLES["ifHCInOctets"])) == set(names)


def test_what_is_written_is_seen(right: Snmp) -> None:
    for text in (b"first", b"second"):
        right.set_and_see((NAME, text), within_s=30)
        assert right.get(NAME) == text


def test_what_is_missing_is_told_apart(right: Snmp) -> None:
    with pytest.raises(NoSuchVariable, match="noSuchInstance"):
        right.get(VARIABLES["ifName"].at(99_999))
    with pytest.raises(NoSuchVariable, match="noSuchObject"):
        right.get(Variable("nothing", "1.3.6.1.2.1.9999.1", ValueKind.INTEGER).at(0))


def test_each_refusal_of_a_set_keeps_its_name(right: Snmp) -> None:
    with pytest.raises(SnmpRefused, match="refused with notWritable"):
        right.set((VARIABLES["sysDescr"].at(0), b"x"))
    with pytest.raises(SnmpRefused, match="refused with wrongType"):
        right.set((Variable("sysName", "1.3.6.1.2.1.1.5", ValueKind.INTEGER).at(0), 1))
    with pytest.raises(SnmpRefused, match=r"refused with wrong(Length|Value)"):
        right.set((NAME, b"x" * 300))


@pytest.mark.parametrize("version", READ_ONLY)
def test_a_login_that_only_reads_may_not_write(agent: ThrowawaySnmpd, version: str) -> None:
    one = Snmp(agent.endpoint(READ_ONLY[version]))
    before = one.get(NAME)
    with pytest.raises(SnmpRefused, match=r"refused with noAccess; expected a login that may do this$"):
        one.set((NAME, b"changed"))
    assert one.get(NAME) == before


@pytest.mark.parametrize(
    ("who", "wanted"),
    [
        (User("nobody", AUTH, PRIV), "user nobody is unknown there"),
        (User(USER, "wrong-password", PRIV), "authentication fails; expected the right authentication password"),
        (User(USER, AUTH, PRIV, auth=Auth.SHA), "and its protocol (now sha)"),
        (User(USER, AUTH, "wrong-password"), "privacy password"),
    ],
    ids=["user", "auth key", "auth protocol", "priv key"],
)
@pytest.mark.usefixtures("impatient")
def test_a_wrong_v3_login_is_told_apart(agent: ThrowawaySnmpd, who: User, wanted: str) -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        Snmp(agent.endpoint(who)).get(UPTIME)
    assert wanted in str(caught.value)
    assert isinstance(Snmp(agent.endpoint(RIGHT["v3"])).get(UPTIME), int)  # a wrong key spoils nothing


@pytest.mark.usefixtures("impatient")
def test_a_wrong_community_is_silence(agent: ThrowawaySnmpd) -> None:
    with pytest.raises(ConnectionLost, match="or the community is wrong"):
        Snmp(agent.endpoint(Communities("wrong", "wrong"))).get(UPTIME)


def test_an_agent_that_was_started_anew_is_found_again(agent: ThrowawaySnmpd) -> None:
    """Same engine id, one boot more, time from zero: v3 has to learn both (RFC 3414, 3.2, 7)."""
    one = Snmp(agent.endpoint(RIGHT["v3"]))
    before = one.get(UPTIME)
    agent.__exit__(None, None, None)
    agent.__enter__()
    after = one.get(UPTIME)
    assert isinstance(before, int) and isinstance(after, int)
