"""BMC and console checks: what recovery relies on is a bench fault when it is wrong, never the card's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_bench import FakeBench

from Bmc import Bmc
from Console import Console
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.run import bmc_orders
from niclab.run.run import Run
from niclab.transports.bmc.bmc import PowerAction, PowerState, SensorKind, SensorStatus
from Power import Power

ROLES = pytest.mark.parametrize("role", list(Role))


def without(bench: FakeBench, taken: Run, section: str) -> None:
    """Leave a section of both servers out of the bench file."""
    kept, skipping = [], False
    for line in bench.file.read_text().splitlines(keepends=True):
        indent = len(line) - len(line.lstrip())
        if line.strip().startswith(f"{section}:"):
            skipping, depth = True, indent
            continue
        skipping = skipping and indent > depth
        if not skipping:
            kept.append(line)
    bench.file.write_text("".join(kept))
    taken.bench = bench.load()[0]
    taken.bench_servers.by_role = {
        role: bench.server_class(taken.bench, role, taken.secrets, taken.notes) for role in Role
    }
    for server in taken.servers.values():
        if server.description.bmc is None:
            server.__dict__.pop("bmc", None)


@pytest.mark.usefixtures("taken")
class TestReportedPower:
    @ROLES
    def test_the_power_as_it_is_is_green(self, bench: FakeBench, role: Role) -> None:
        Bmc().bmc_should_report_power(role, PowerState.ON)
        bench.hosts[role].power = PowerState.OFF
        Bmc().bmc_should_report_power(role, PowerState.OFF)

    @ROLES
    @pytest.mark.parametrize("protocol", ["ipmi", "redfish"])
    def test_one_protocol_that_differs_is_named(self, bench: FakeBench, role: Role, protocol: str) -> None:
        bench.bmcs[role][protocol].says = PowerState.OFF
        with pytest.raises(BenchFault) as caught:
            Bmc().bmc_should_report_power(role, PowerState.ON)
        assert str(caught.value) == f"{role.value}: FakeBmc reports power off; expected on"

    @pytest.mark.parametrize("protocol", ["ipmi", "redfish"])
    def test_a_protocol_that_is_not_there_is_not_asked(self, bench: FakeBench, taken: Run, protocol: str) -> None:
        bench.bmcs[Role.DUT][protocol].says = PowerState.OFF
        without(bench, taken, protocol)
        Bmc().bmc_should_report_power(Role.DUT, PowerState.ON)
        with pytest.raises(BenchFault):
            Bmc().bmc_should_report_power(Role.DUT, PowerState.OFF)

    def test_without_a_bmc_it_is_not_applicable(self, bench: FakeBench, taken: Run) -> None:
        without(bench, taken, "bmc")
        with pytest.raises(NotApplicable, match=r"^bench virtual: peer has no BMC$"):
            Bmc().bmc_should_report_power(Role.PEER, PowerState.ON)


@pytest.mark.usefixtures("taken")
class TestSensors:
    @ROLES
    def test_a_temperature_is_green(self, role: Role) -> None:
        Bmc().sensors_should_be_readable(role)

    @ROLES
    def test_no_sensors_are_a_bench_fault(self, bench: FakeBench, role: Role) -> None:
        bench.bmcs[role]["ipmi"].readings = []
        with pytest.raises(BenchFault, match=rf"^{role.value} BMC: no temperature can be read; sensors: none$"):
            Bmc().sensors_should_be_readable(role)

    def test_no_temperature_is_a_bench_fault(self, bench: FakeBench) -> None:
        """Only the kind of the sensor counts, not what it is called."""
        bmc = bench.bmcs[Role.DUT]["ipmi"]
        bmc.readings = [replace(sensor, kind=SensorKind.FAN, name="Temp fan") for sensor in bmc.readings]
        with pytest.raises(BenchFault, match=r"sensors: Temp fan, Temp fan$"):
            Bmc().sensors_should_be_readable(Role.DUT)

    def test_a_temperature_without_a_reading_is_a_bench_fault(self, bench: FakeBench) -> None:
        bmc = bench.bmcs[Role.DUT]["ipmi"]
        bmc.readings = [replace(sensor, value=None, status=SensorStatus.UNAVAILABLE) for sensor in bmc.readings[1:]]
        with pytest.raises(BenchFault, match=r"no temperature can be read; sensors: Inlet$"):
            Bmc().sensors_should_be_readable(Role.DUT)

    def test_zero_degrees_are_a_temperature(self, bench: FakeBench) -> None:
        bmc = bench.bmcs[Role.DUT]["ipmi"]
        bmc.readings = [replace(bmc.readings[1], value=0.0)]
        Bmc().sensors_should_be_readable(Role.DUT)


@pytest.mark.usefixtures("taken")
class TestEventLog:
    def test_new_entries_are_green(self, bench: FakeBench) -> None:
        Bmc().event_log_should_grow_by_power_cycle(Role.PEER)
        assert bench.bmcs[Role.PEER]["ipmi"].orders == [PowerAction.OFF, PowerAction.ON]
        assert bench.bmcs[Role.DUT]["ipmi"].orders == []

    def test_an_unchanged_log_is_a_bench_fault(self, bench: FakeBench) -> None:
        bench.bmcs[Role.PEER]["ipmi"].mute_log = True
        wanted = r"^peer BMC: a power cycle left no entry in the event log \(1 before\)$"
        with pytest.raises(BenchFault, match=wanted):
            Bmc().event_log_should_grow_by_power_cycle(Role.PEER)


@pytest.mark.usefixtures("taken")
class TestEveryProtocol:
    @ROLES
    def test_each_protocol_switches_and_all_report_it(self, bench: FakeBench, role: Role) -> None:
        Bmc().power_should_be_switched_by_every_protocol(role)
        cut_and_given = [PowerAction.OFF, PowerAction.ON]
        assert {name: bmc.orders for name, bmc in bench.bmcs[role].items()} == dict.fromkeys(
            ("ipmi", "redfish"), cut_and_given
        )
        assert bench.hosts[role].boots == 3

    def test_a_protocol_that_switches_nothing_is_a_bench_fault(
        self, bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("niclab.run.server.POWER_WITHIN_S", 0.05)
        bench.bmcs[Role.PEER]["redfish"].stuck = True
        with pytest.raises(BenchFault, match=r"^peer BMC: power is not off within 0\.05 s"):
            Bmc().power_should_be_switched_by_every_protocol(Role.PEER)
        assert str(taken.journal.pending()[0].action) == "power on peer: on"

    def test_a_protocol_that_reports_otherwise_is_a_bench_fault(
        self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bmc_orders, "POWER_WITHIN_S", 0.05)
        bench.bmcs[Role.PEER]["redfish"].says = PowerState.ON
        with pytest.raises(BenchFault, match=r"^peer: FakeBmc to report power off: not within 0\.05 s"):
            Bmc().power_should_be_switched_by_every_protocol(Role.PEER)
        assert bench.peer.power is PowerState.ON, "given back"


class TestPower:
    @ROLES
    def test_a_cycle_is_in_the_journal_while_it_lasts(
        self, bench: FakeBench, taken: Run, role: Role, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before, seen = taken.journal.pending(), []
        control = bench.bmcs[role]["ipmi"].control

        def watched(action: PowerAction) -> None:
            seen.append((action, str(taken.journal.pending()[0].action)))
            control(action)

        monkeypatch.setattr(bench.bmcs[role]["ipmi"], "control", watched)
        Power().power_cycle(role)
        undo = f"power on {role.value}: on"
        assert seen == [(PowerAction.OFF, undo), (PowerAction.ON, undo)]
        assert taken.journal.pending() == before
        assert bench.hosts[role].boots == 2

    def test_a_cycle_that_fails_leaves_its_undo_in_the_journal(
        self, bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(_: PowerAction) -> None:
            raise BenchFault("dut BMC: busy")

        monkeypatch.setattr(bench.bmcs[Role.DUT]["ipmi"], "control", refuse)
        with pytest.raises(BenchFault, match=r"busy"):
            Power().power_cycle(Role.DUT)
        assert str(taken.journal.pending()[0].action) == "power on dut: on"

    @ROLES
    @pytest.mark.usefixtures("taken")
    def test_a_reboot_is_of_that_server(self, bench: FakeBench, role: Role) -> None:
        Power().reboot(role)
        assert [host.boots for host in bench.hosts.values()] == [1 + (role is other) for other in bench.hosts]

    @pytest.mark.usefixtures("taken")
    def test_the_reset_button_is_pressed_on_a_dead_server(self, bench: FakeBench) -> None:
        bench.dut.crash()
        Power().reset_by_bmc(Role.DUT)
        assert bench.bmcs[Role.DUT]["ipmi"].orders == [PowerAction.RESET]
        assert bench.dut.alive and bench.ssh[Role.DUT].closed == 1


class TestConsole:
    @ROLES
    @pytest.mark.usefixtures("taken")
    def test_a_good_console_is_green_and_logged_out_of(self, bench: FakeBench, role: Role) -> None:
        Console().console_should_answer(role)
        assert bench.consoles[role].logins == [("root", "console-secret")]
        assert bench.consoles[role].lines == ["exit"]

    @ROLES
    @pytest.mark.usefixtures("taken")
    def test_the_console_of_another_machine_is_a_bench_fault(self, bench: FakeBench, role: Role) -> None:
        bench.consoles[role].uname = "stranger"
        with pytest.raises(BenchFault) as caught:
            Console().console_should_answer(role)
        assert str(caught.value) == (
            f"{role.value} console: 'uname -n; (exit 7)' gave status 7 and 'stranger'; expected 7 and '{role.value}': "
            "is this the console of another machine?"
        )
        assert bench.consoles[role].lines == ["exit"]

    @pytest.mark.usefixtures("taken")
    def test_a_lost_exit_status_is_a_bench_fault(self, bench: FakeBench) -> None:
        bench.consoles[Role.DUT].status = 0
        with pytest.raises(BenchFault, match=r"gave status 0 and 'dut'; expected 7"):
            Console().console_should_answer(Role.DUT)

    def test_without_a_console_it_is_not_applicable(self, bench: FakeBench, taken: Run) -> None:
        without(bench, taken, "console")
        for check in (Console().console_should_answer, Console().console_should_show_a_panic):
            with pytest.raises(NotApplicable, match=r"^bench virtual: dut has no serial console$"):
                check(Role.DUT)

    def test_an_nmi_is_in_the_journal_first_and_crashes(self, bench: FakeBench, taken: Run) -> None:
        Console().crash_by_nmi(Role.DUT)
        assert str(taken.journal.pending()[0].action) == "power on dut: on"
        assert bench.bmcs[Role.DUT]["ipmi"].orders == [PowerAction.NMI]
        dut = taken.server(Role.DUT)
        assert (dut.crashes, dut.crashed_by_lab) == (1, True)

    def test_an_nmi_that_is_refused_crashes_nothing(
        self, bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(_: PowerAction) -> None:
            raise BenchFault("dut BMC: refused")

        monkeypatch.setattr(bench.bmcs[Role.DUT]["ipmi"], "control", refuse)
        with pytest.raises(BenchFault, match="refused"):
            Console().crash_by_nmi(Role.DUT)
        assert not taken.server(Role.DUT).crashed_by_lab

    def test_a_crash_is_in_the_journal_first(self, bench: FakeBench, taken: Run) -> None:
        seen = []
        bench.ssh[Role.DUT].prepare_job = lambda job: seen.append((job.command, taken.journal.pending()[0].action))
        Console().crash(Role.DUT)
        ((command, undo),) = seen
        assert command.endswith("echo c > /proc/sysrq-trigger")
        assert str(undo) == "power on dut: on"
        assert bench.ssh[Role.DUT].closed == 1

    @pytest.mark.usefixtures("taken")
    def test_a_panic_is_shown(self, bench: FakeBench) -> None:
        Console().console_should_show_a_panic(Role.DUT)
        bench.consoles[Role.DUT].last_words = BenchFault("dut console: no panic within 30 s")
        with pytest.raises(BenchFault, match=r"no panic"):
            Console().console_should_show_a_panic(Role.DUT)
