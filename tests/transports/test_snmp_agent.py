"""The handling of an agent's answers: every wrong one is reported, with variable, number and value."""

from __future__ import annotations

import pytest
from toy_mib import FakeAgent, ToyMib

from niclab.core.verdict import BenchFault
from niclab.transports.snmp import snmp_agent
from niclab.transports.snmp.snmp_agent import NoSuchVariable, Reading, SnmpRefused
from niclab.transports.snmp.snmp_records import VARIABLES, Instance, ValueKind, shown

ADMIN, NAME, HIGH_SPEED, UPTIME = (VARIABLES[name] for name in ("ifAdminStatus", "ifName", "ifHighSpeed", "sysUpTime"))
ADMIN_OF_3 = "ifAdminStatus.3 (1.3.6.1.2.1.2.2.1.7.3)"


@pytest.fixture
def mib() -> ToyMib:
    """Thirty ports."""
    made = ToyMib(writable={"ifAdminStatus"})
    made.put("sysUpTime", [0], 100)
    for port in range(1, 31):
        made.put("ifAdminStatus", [port], 1)
        made.put("ifName", [port], f"1/{port}".encode())
        made.put("ifHighSpeed", [port], 1000)
    return made


@pytest.fixture
def agent(mib: ToyMib) -> FakeAgent:
    return FakeAgent(mib)


class TestReading:
    def test_values_come_as_plain_python(self, agent: FakeAgent) -> None:
        assert agent.get(NAME.at(3)) == b"1/3"
        assert agent.get(ADMIN.at(3)) == 1

    def test_many_are_asked_for_in_few_datagrams(self, agent: FakeAgent) -> None:
        asked: list[Instance] = [NAME.at(port) for port in range(1, 31)] + [ADMIN.at(port) for port in range(1, 31)]
        sizes: list[int] = []
        read = agent.read
        agent.read = lambda oids: sizes.append(len(oids)) or read(oids)  # type: ignore[method-assign, func-returns-value]
        found = agent.get_many(asked)
        assert list(found) == asked and found[NAME.at(30)] == b"1/30"
        assert sizes == [20, 20, 20]

    def test_a_row_that_is_not_there_is_an_error(self, agent: FakeAgent) -> None:
        with pytest.raises(NoSuchVariable) as caught:
            agent.get_many([NAME.at(3), NAME.at(31)])
        assert str(caught.value) == (
            "sw1: GET ifName.31 (1.3.6.1.2.1.31.1.1.1.1.31): no such row (noSuchInstance); "
            "expected a switch that has it"
        )

    def test_a_variable_that_is_not_there_is_an_error(self, agent: FakeAgent) -> None:
        with pytest.raises(NoSuchVariable, match=r"dot1qPvid\.1 .*: no such variable \(noSuchObject\)"):
            agent.get(VARIABLES["dot1qPvid"].at(1))

    def test_what_may_be_missing_is_none(self, agent: FakeAgent) -> None:
        assert agent.find([NAME.at(31), NAME.at(1)]) == {NAME.at(31): None, NAME.at(1): b"1/1"}

    @pytest.mark.parametrize(
        ("variable", "kind", "value"),
        [
            ("ifHCInOctets", ValueKind.COUNTER32, 5),  # it wraps every few seconds
            ("ifAdminStatus", ValueKind.OCTETS, b"1"),
            ("ifName", ValueKind.INTEGER, 1),
            ("sysUpTime", ValueKind.GAUGE, 1),
        ],
    )
    def test_a_value_of_another_kind_is_an_error(
        self, agent: FakeAgent, mib: ToyMib, variable: str, kind: ValueKind, value: int | bytes
    ) -> None:
        mib.put(variable, [7], value, kind)
        wanted = rf"GET {variable}\.7 .*: .* is {kind.value}; expected {VARIABLES[variable].kind.value}$"
        with pytest.raises(BenchFault, match=wanted):
            agent.get(VARIABLES[variable].at(7))

    def test_an_unsigned_number_may_stand_for_an_integer(self, agent: FakeAgent, mib: ToyMib) -> None:
        mib.put("ifAdminStatus", [7], 1, ValueKind.GAUGE)
        mib.put("ifHighSpeed", [7], 10, ValueKind.INTEGER)
        assert (agent.get(ADMIN.at(7)), agent.get(HIGH_SPEED.at(7))) == (1, 10)

    def test_fewer_values_than_asked_for_are_an_error(self, agent: FakeAgent) -> None:
        agent.read = lambda _: [Reading(ValueKind.INTEGER, 1)]  # type: ignore[method-assign]
        with pytest.raises(BenchFault, match="1 values for 2 variables"):
            agent.get_many([ADMIN.at(1), ADMIN.at(2)])


class TestWalk:
    def test_a_column_is_read_to_its_end(self, agent: FakeAgent) -> None:
        names = agent.walk(NAME)
        assert len(names) == 30 and names[(30,)] == b"1/30"

    def test_the_last_column_of_all_ends_too(self, agent: FakeAgent) -> None:
        assert len(agent.walk(HIGH_SPEED)) == 30

    def test_a_column_that_is_not_there_is_empty(self, agent: FakeAgent) -> None:
        assert agent.walk(VARIABLES["dot1qTpFdbPort"]) == {}

    def test_an_agent_that_repeats_itself_is_found_out(self, agent: FakeAgent, mib: ToyMib) -> None:
        mib.repeats = True
        with pytest.raises(BenchFault, match=r"GETBULK ifName .*: .* comes after .*; expected rows that ascend"):
            agent.walk(NAME)

    def test_a_table_without_end_is_cut(self, agent: FakeAgent, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(snmp_agent, "LONGEST_WALK", 29)
        with pytest.raises(BenchFault, match="row 30; expected rows that ascend, at most 29"):
            agent.walk(NAME)

    def test_an_empty_answer_is_an_error(self, agent: FakeAgent) -> None:
        agent.read_after = lambda _: []  # type: ignore[method-assign]
        with pytest.raises(BenchFault, match=r"GETBULK ifName .*: an empty answer"):
            agent.walk(NAME)

    def test_a_row_of_another_kind_is_an_error(self, agent: FakeAgent, mib: ToyMib) -> None:
        mib.put("ifName", [9], 9, ValueKind.INTEGER)
        with pytest.raises(BenchFault, match=r"ifName\.9 .*: 9 is an INTEGER; expected an OCTET STRING"):
            agent.walk(NAME)


class TestWriting:
    def test_what_is_written_is_seen(self, agent: FakeAgent, mib: ToyMib) -> None:
        agent.set_and_see((ADMIN.at(3), 2), (ADMIN.at(4), 2))
        assert (mib.value("ifAdminStatus", 3), mib.value("ifAdminStatus", 4)) == (2, 2)

    @pytest.mark.parametrize(
        ("status", "wanted"),
        [
            ("notWritable", "a variable that can be written on this switch"),
            ("noAccess", "a login that may do this"),
            ("authorizationError", "a login that may do this"),
            ("wrongType", "a value of the type that the switch has for it"),
            ("wrongValue", "a value that the switch can take"),
            ("inconsistentValue", "a value that goes with the rest of the switch's configuration"),
            ("genErr", "look at the switch's own log"),
            ("aStatusOfTheFuture", "an answer without error"),
        ],
    )
    def test_a_refused_set_is_an_error(self, agent: FakeAgent, mib: ToyMib, status: str, wanted: str) -> None:
        mib.refuses["ifAdminStatus"] = status
        with pytest.raises(SnmpRefused) as caught:
            agent.set((ADMIN.at(3), 2))
        assert str(caught.value) == f"sw1: SET {ADMIN_OF_3} = 2: refused with {status}; expected {wanted}"
        assert caught.value.status == status

    def test_of_several_the_refused_one_is_named(self, agent: FakeAgent, mib: ToyMib) -> None:
        with pytest.raises(SnmpRefused, match=r"refused with notWritable for ifName\.3 \(.*\);"):
            agent.set((ADMIN.at(3), 2), (NAME.at(3), b"x"))
        assert mib.value("ifAdminStatus", 3) == 1

    def test_a_set_that_is_accepted_and_not_done_is_an_error(self, agent: FakeAgent, mib: ToyMib) -> None:
        mib.ignores.add("ifAdminStatus")
        with pytest.raises(BenchFault) as caught:
            agent.set_and_see((ADMIN.at(3), 2), within_s=0.2)
        wanted = f"sw1: SET was accepted, but not done within 0.2 s: {ADMIN_OF_3} reads 1; expected 2"
        assert str(caught.value) == wanted

    def test_a_set_that_makes_its_row_vanish_is_an_error(self, agent: FakeAgent, mib: ToyMib) -> None:
        mib.on_write = lambda *_: mib.drop("ifAdminStatus", 3)
        with pytest.raises(BenchFault, match=r"reads nothing; expected 2$"):
            agent.set_and_see((ADMIN.at(3), 2), within_s=0.1)

    def test_a_set_that_takes_its_time_is_waited_for(self, agent: FakeAgent, mib: ToyMib) -> None:
        mib.late["ifAdminStatus"] = 4
        agent.set_and_see((ADMIN.at(3), 2), within_s=5)
        assert mib.value("ifAdminStatus", 3) == 2

    def test_how_a_value_is_written_may_differ_where_the_caller_says_so(self, agent: FakeAgent, mib: ToyMib) -> None:
        mib.on_write = lambda name, index, _: mib.put(name, index, 1)
        agent.set_and_see((ADMIN.at(3), 2), within_s=0.1, same=lambda *_: True)


@pytest.mark.parametrize(("value", "text"), [(5, "5"), (b"1/1", "'1/1'"), (b"\x80\x00", "0x8000"), ("1.3.6", "1.3.6")])
def test_values_are_shown_to_people(value: int | bytes | str, text: str) -> None:
    assert shown(value) == text


def test_no_number_stands_for_two_variables() -> None:
    oids = [variable.oid for variable in VARIABLES.values()]
    assert len(set(oids)) == len(oids)
    assert all(not one.startswith(f"{other}.") for one in oids for other in oids)
