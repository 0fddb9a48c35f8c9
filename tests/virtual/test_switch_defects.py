"""The defects that the switch can be given: each is seen from outside, and ends when it is cleared."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from bench_fakes import undisturbed, wait_for
from switch_bench import BROADCAST, MAC, PORTS, A, B, SwitchBench, frame, needs_net_snmp
from test_switch_protocols import FAST, JOINED, Information, answer, bond, encode, server_says

from control import ControlError
from switch import config
from switch.bridge import Bridge
from switch.config import Config, Vlan
from switch.defects import LONGEST_S, PORT_DEFECTS, SWITCH_DEFECTS, WITH_SECONDS, Defects
from switch.lacpdu import State

pytestmark = needs_net_snmp

ADMIN, OPER, UPTIME = "1.3.6.1.2.1.2.2.1.7", "1.3.6.1.2.1.2.2.1.8", "1.3.6.1.2.1.1.3.0"
VLAN = "1.3.6.1.2.1.17.7.1.4.3.1"
RECEIVED = "1.3.6.1.2.1.31.1.1.1.7.101"
SERVER = bytes.fromhex("001b21aaaa01")


@pytest.fixture
def bench(running_switch: SwitchBench) -> SwitchBench:
    running_switch.reset()
    running_switch.quiet()
    return running_switch


def silent(bench: SwitchBench) -> bool:
    return "Timeout" in bench.snmp("snmpget", UPTIME, within_s=1).stderr


@pytest.mark.parametrize(("name", "refusal"), [("set_not_writable", "notWritable"), ("set_gen_err", "genError")])
def test_every_set_is_refused(bench: SwitchBench, name: str, refusal: str) -> None:
    bench.fault(name)
    assert refusal in bench.set(f"{ADMIN}.101", "i", "2")
    assert bench.port(1)["admin"] == "open"
    bench.ask(clear={})
    assert bench.set(f"{ADMIN}.101", "i", "2") == ""


def test_a_set_is_accepted_and_not_done(bench: SwitchBench) -> None:
    bench.fault("set_ignored")
    assert bench.set(f"{ADMIN}.101", "i", "2") == ""
    assert bench.get(f"{ADMIN}.101") == "INTEGER: 1"
    assert "wrongValue" in bench.set(f"{ADMIN}.101", "i", "9"), "what is wrong is refused as ever"
    bench.ask(clear={})
    assert bench.set(f"{ADMIN}.101", "i", "2") == ""
    assert bench.get(f"{ADMIN}.101") == "INTEGER: 2"


def test_the_agent_answers_late(bench: SwitchBench) -> None:
    def answered_s() -> float:
        began = time.monotonic()
        assert bench.snmp("snmpget", UPTIME).returncode == 0
        took_s = time.monotonic() - began
        assert took_s >= 0.5
        return took_s

    bench.fault("agent_slow_s", 0.5)
    undisturbed(answered_s, pytest.approx(0.75, abs=0.25))
    bench.fault("agent_slow_s", 1.5)
    assert silent(bench)


def test_the_agent_is_dead_and_frames_pass(bench: SwitchBench) -> None:
    bench.fault("agent_dead")
    assert silent(bench)
    assert bench.arrivals(1, frame(B, A)).keys() == {2, 3, 4}
    bench.ask(clear={})
    wait_for(lambda: not silent(bench), "the agent answers")


def test_a_restart_drops_links_and_answers_and_starts_time_and_counters_anew(bench: SwitchBench) -> None:
    bench.arrivals(1, frame(B, A))
    assert bench.number(RECEIVED) > 0
    boots = int((bench.folder / "switch-boots").read_text())
    began = time.monotonic()
    bench.fault("reboot_s", 600)
    bench.links_are()
    wait_for(lambda: bench.qemu["dut"].links() == {"p0": False, "p1": False}, "the server learns of it")
    assert silent(bench)
    bench.ask(clear={})
    bench.links_are(*PORTS)
    assert bench.qemu["dut"].links() == {"p0": True, "p1": True}
    assert bench.number(RECEIVED) == 0
    assert bench.ask(status=True)["uptime_s"] < time.monotonic() - began
    assert int((bench.folder / "switch-boots").read_text()) == boots + 1
    assert bench.ask(status=True)["faults"] == []


def test_a_shut_port_stays_shut_over_a_restart(bench: SwitchBench) -> None:
    bench.ask(shut="port2")
    bench.fault("reboot_s", 0.2)
    wait_for(lambda: not bench.ask(status=True)["rebooting"], "it has started again")
    bench.links_are(1, 3, 4)


def test_counters_of_a_port_stand_still_and_are_right_again(bench: SwitchBench) -> None:
    before = bench.number(RECEIVED)
    bench.fault("counters_stuck", target="port1")
    bench.arrivals(1, frame(B, A))
    assert bench.number(RECEIVED) == before
    bench.ask(clear={})
    assert bench.number(RECEIVED) == before + 1


def test_a_port_disabled_by_itself_has_no_link_while_its_admin_state_is_up(bench: SwitchBench) -> None:
    bench.fault("err_disabled", target="port1")
    bench.links_are(2, 3, 4)
    assert (bench.get(f"{ADMIN}.101"), bench.get(f"{OPER}.101")) == ("INTEGER: 1", "INTEGER: 2")
    wait_for(lambda: bench.qemu["dut"].links()["p0"] is False, "the server learns of it")
    bench.ask(clear={})
    bench.links_are(*PORTS)


def test_who_was_behind_a_lost_link_stays_known(bench: SwitchBench) -> None:
    bench.arrivals(3, frame(BROADCAST, B))
    bench.fault("fdb_not_flushed")
    bench.ask(shut="port3")
    assert bench.arrivals(1, frame(B, A)) == {}, "the frame goes to the dead port"
    bench.ask(clear={})
    bench.ask(open="port3")
    bench.links_are(*PORTS)
    bench.ask(shut="port3")
    assert bench.arrivals(1, frame(B, A)).keys() == {2, 4}


def test_a_port_hears_a_vlan_that_it_is_not_in(bench: SwitchBench) -> None:
    assert bench.set(f"{VLAN}.5.3", "i", "4", f"{VLAN}.2.3", "x", "a0") == ""
    data = frame(BROADCAST, A, tag=3)
    assert bench.arrivals(1, data).keys() == {3}
    bench.fault("vlan_leak", target="port2")
    assert bench.arrivals(1, data).keys() == {2, 3}
    bench.ask(clear={})
    assert bench.arrivals(1, data).keys() == {3}


def test_a_port_names_another_system_in_lacp(bench: SwitchBench) -> None:
    def system(port: int) -> bytes:
        bench.nics[port].send(encode(SERVER, server_says(port, FAST, Information())))
        said = wait_for(lambda: answer(bench.nics[port]), "the switch answers")
        return said.actor.system

    bench.fault("lacp_other_system", target="port2")
    assert system(1) == MAC
    assert system(2) not in (MAC, bytes(6))


def test_a_port_never_says_that_it_is_in_sync(bench: SwitchBench) -> None:
    def not_in_sync() -> bool:
        said = answer(bench.nics[2])
        return said is not None and State.SYNCHRONIZATION not in said.actor.state

    with bond(bench, 1, 2):
        bench.fault("lacp_not_in_sync", target="port2")
        bench.nics[2].send(encode(SERVER, server_says(2, JOINED, Information())))
        wait_for(not_in_sync, "the switch answers that it is not")
        assert bench.port(1)["with"] == []
        assert bench.arrivals(3, frame(BROADCAST, B)).keys() == {1, 4}


def test_a_silent_port_has_carrier_and_no_frames(bench: SwitchBench) -> None:
    bench.fault("silent", target="port3")
    assert bench.arrivals(1, frame(BROADCAST, A)).keys() == {2, 4}
    assert bench.arrivals(3, frame(BROADCAST, B)) == {}
    assert bench.port(3)["link"] == "up"
    assert bench.qemu["peer"].links()["p0"] is True
    bench.ask(clear={})
    assert bench.arrivals(1, frame(BROADCAST, A)).keys() == {2, 3, 4}


def test_a_defect_without_a_port_is_put_on_all_and_outlives_a_restart_of_the_process(bench: SwitchBench) -> None:
    bench.fault("err_disabled")
    bench.links_are()
    bench.restart()
    wait_for(lambda: bench.qemu["dut"].links() == {"p0": False, "p1": False}, "the server is reported")
    assert [bench.port(n)["faults"] for n in PORTS] == [["err_disabled"]] * 4


@pytest.mark.parametrize(
    ("target", "name", "value", "complaint"),
    [
        ("port9", "silent", 1.0, "no port 'port9'; there are port1, port2, port3, port4"),
        ("port1", "melted", 1.0, "no fault 'melted'; there are set_not_writable"),
        ("port1", "agent_dead", 1.0, "agent_dead is a fault of the whole switch"),
        ("", "agent_slow_s", 0.0, "agent_slow_s is 0; expected a number of seconds above 0"),
        ("", "reboot_s", LONGEST_S + 1, "reboot_s is 3601; expected a number of seconds above 0, at most 3600"),
    ],
)
def test_what_is_no_defect_is_refused(bench: SwitchBench, target: str, name: str, value: float, complaint: str) -> None:
    with pytest.raises(ControlError, match=complaint):
        bench.fault(name, value, target)
    assert bench.ask(status=True)["faults"] == []


@pytest.mark.parametrize("request_", [{}, {"shut": 3}, {"fault": {}}, {"melt": "port1"}])
def test_what_is_not_understood_is_refused(bench: SwitchBench, request_: dict[str, object]) -> None:
    with pytest.raises(ControlError, match="not understood"):
        bench.ask(**request_)


def test_a_defect_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="agent_slow_s is nan"):
        Defects().put("agent_slow_s", float("nan"), [], whole=True)


def test_no_defect_is_of_the_switch_and_of_a_port() -> None:
    assert not SWITCH_DEFECTS.keys() & PORT_DEFECTS.keys()
    assert set(WITH_SECONDS) <= SWITCH_DEFECTS.keys()


# --- what needs a clock or a file of its own


def test_who_is_silent_for_the_ageing_time_is_forgotten() -> None:
    now = [0.0]
    bridge = Bridge({}, Config(ageing_s=10), lambda: now[0])
    bridge._learn(1, A, 1)
    now[0] = 6.0
    bridge._learn(1, B, 2)
    now[0] = 10.0
    bridge.age()
    assert len(bridge.fdb) == 2
    now[0] = 10.1
    bridge.age()
    assert list(bridge.fdb) == [(1, B)]


def test_a_configuration_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = Config(ageing_s=77, name="x")
    written.vlans[7] = Vlan("storage", {1, 3}, {3}, {2}, active=False)
    written.ports[2].admin = False
    config.save(tmp_path / "switch.json", written)
    assert config.load(tmp_path / "switch.json") == written
    assert config.load(tmp_path / "none.json") == Config()
    json.loads((tmp_path / "switch.json").read_text())
