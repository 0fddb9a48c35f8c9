"""Settings that a test chooses: read back, held until the test or suite ends, and put back whatever ends it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_settings import FakeSettings, settings_of, with_sheet
from robot.api import ExecutionResult
from robot.run import run as robot  # type: ignore[import-untyped]  # the package has no marker
from test_steering import Files

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetUnknown
from niclab.frames import delivery
from niclab.hosts.errors import NotOffered
from niclab.hosts.settings.ethtool_records import Feature
from niclab.run.run import Run
from niclab.settings.tuning import Tuning as Scopes
from niclab.transports.ssh.ssh import Result
from Tuning import Tuning

LIBRARIES = Path(__file__).resolve().parents[2] / "libraries"


@pytest.fixture
def settings(bench: FakeBench, taken: Run) -> Iterator[FakeSettings]:
    with_sheet(bench, taken)
    taken.part(Scopes).begin("s1-t1")
    before = len(taken.journal.pending())
    yield settings_of(bench)
    ended(taken)
    assert len(taken.journal.pending()) == before


def ended(taken: Run) -> None:
    taken.part(Scopes).end("s1-t1")


def test_settings_of_a_port_are_in_force_and_come_back(settings: FakeSettings, taken: Run) -> None:
    port, tuning = settings.ports["enp1s0"], Tuning()
    tuning.set_ring("dut.p0", "rx", 512)
    tuning.set_ring("dut.p0", "tx", "largest")
    tuning.set_coalescing("dut.p0", "rx-usecs", 50)
    tuning.set_offload("dut.p0", "gro", False)
    assert port.rings == {"rx": 512, "tx": 4096} and port.coalescing["rx-usecs"] == 50 and port.adaptive is False
    assert not port.features["generic-receive-offload"].on
    assert len([entry for entry in taken.journal.pending() if entry.what.startswith("enp1s0: ")]) == 4
    ended(taken)
    port = settings.ports["enp1s0"]
    assert port.rings == {"rx": 256, "tx": 256} and port.coalescing["rx-usecs"] == 18
    assert port.features["generic-receive-offload"].on


def test_what_the_dut_does_not_show_is_red_and_leaves_nothing(settings: FakeSettings) -> None:
    with pytest.raises(CardFailure, match=r"^dut\.p0 \(0000:01:00\.0\): ring rx 8192 was set, it shows 256"):
        Tuning().set_ring("dut.p0", "rx", 8192)
    assert settings.ports["enp1s0"].rings["rx"] == 256


def test_what_the_driver_has_no_operation_for_is_not_applicable(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings

    def refuse(iface: str) -> None:
        raise NotOffered(f"dut: `ethtool -c {iface}` failed, said: netlink error: Operation not supported")

    monkeypatch.setattr(taken.server("dut").host.settings, "coalescing", refuse)
    monkeypatch.setattr(taken.server("dut").host.settings, "rings", refuse)
    with pytest.raises(NotApplicable, match=r"^dut: `ethtool -c enp1s0` failed, said: .*Operation not supported$"):
        Tuning().set_coalescing("dut.p0", "rx-usecs", 50)
    with pytest.raises(NotApplicable, match="Operation not supported"):
        Tuning().set_ring("dut.p0", "rx", 512)


def test_what_the_sheet_does_not_offer_is_not_applicable(settings: FakeSettings) -> None:
    assert settings
    with pytest.raises(NotApplicable, match="does not say that offload vlan-strip can be switched") as caught:
        Tuning().set_offload("dut.p0", "vlan-strip", False)
    assert type(caught.value) is NotApplicable
    with pytest.raises(NotApplicable, match="coalescing shows no tx-frames"):
        Tuning().set_coalescing("dut.p0", "tx-frames", 1)
    with pytest.raises(NotApplicable, match=r"^sheet intel-82574l says that coalescing tx-usecs cannot be set$"):
        Tuning().set_coalescing("dut.p0", "tx-usecs", 1)
    with pytest.raises(BenchFault, match=r"there is no port 'dut\.p9'"):
        Tuning().set_ring("dut.p9", "rx", 512)


@pytest.fixture
def files(bench: FakeBench, taken: Run) -> Files:
    taken.part(Scopes).begin("s1-t1")
    return Files(bench)


def test_interrupts_and_packets_get_their_cpus(files: Files, taken: Run) -> None:
    before, queues = dict(files.content), "/sys/class/net/enp1s0/queues"
    tuning = Tuning()
    tuning.set_irq_affinity("dut.p0", "1,0")
    assert [files.content[f"/proc/irq/{irq}/smp_affinity_list"] for irq in (24, 25)] == ["0", "1"]
    tuning.set_rps("dut.p0", "0-1")
    tuning.set_xps("dut.p0", "0-1")
    tuning.set_rfs("dut.p0")
    assert files.content[f"{queues}/rx-0/rps_cpus"] == "00000003"
    assert [files.content[f"{queues}/tx-{number}/xps_cpus"] for number in (0, 1)] == ["00000001", "00000002"]
    assert files.content["/proc/sys/net/core/rps_sock_flow_entries"] == "32768"
    ended(taken)
    assert files.content == before


def test_a_cpu_that_is_not_there_is_not_applicable(files: Files) -> None:
    with pytest.raises(NotApplicable, match=r"^dut has no CPU 7$"):
        Tuning().set_rps("dut.p0", "1,7")
    assert not files.written


def test_steering_that_is_taken_and_not_done_is_red(files: Files) -> None:
    files.deaf.add("/proc/irq/25/smp_affinity_list")
    with pytest.raises(CardFailure, match=r"^dut\.p0 .* shows /proc/irq/25/smp_affinity_list '0-1' when set to '1'"):
        Tuning().set_irq_affinity("dut.p0", "0-1")


class TestSysctl:
    NAME = "net.ipv4.tcp_rmem"

    @pytest.fixture
    def values(self, bench: FakeBench, taken: Run) -> dict[str, str]:
        """The sysctls of the peer."""
        found = {self.NAME: "4096\t131072\t6291456"}

        def sysctl(command: str) -> str | Result:
            words = command.removeprefix("sysctl ").strip()
            name, equal, value = words.removeprefix("-n ").strip("'").partition("=")
            if name not in found:
                return Result(command, 255, None, "", "cannot stat", 0.01)
            if equal:
                found[name] = value
            return found[name] + "\n"

        bench.ssh[Role.PEER].replies |= {"sysctl": sysctl}
        taken.part(Scopes).begin("s1-t1")
        return found

    def test_several_numbers_are_set_and_come_back(self, values: dict[str, str], taken: Run) -> None:
        Tuning().set_sysctl(Role.PEER, self.NAME, "4096 1048576 6291456")
        assert values[self.NAME] == "4096 1048576 6291456"
        ended(taken)
        assert values[self.NAME].split() == ["4096", "131072", "6291456"]

    def test_one_that_there_is_not(self, values: dict[str, str]) -> None:
        with pytest.raises(NotApplicable, match=r"^peer: linux has no sysctl net\.none"):
            Tuning().set_sysctl(Role.PEER, "net.none", "1")
        assert values


SUITE = """
First
    Set Ring    dut.p0    rx    512
    Fail    CardFailure: ends in the middle
Second
    Set Ring    dut.p0    tx    1024
"""


def test_robot_puts_back_what_a_test_has_set(bench: FakeBench, taken: Run) -> None:
    """However the test ends, nothing is left when the next one begins, and nothing in the journal."""
    with_sheet(bench, taken)
    settings = settings_of(bench)
    seen: list[dict[str, int]] = []
    plain = settings.host.set_rings

    def noted(iface: str, sizes: dict[str, int]) -> object:
        seen.append(dict(settings.ports[iface].rings))
        return plain(iface, sizes)

    settings.host.set_rings = noted
    suite = bench.folder / "tuned.robot"
    suite.write_text(f"*** Settings ***\nLibrary    {LIBRARIES / 'Tuning.py'}\n*** Test Cases ***{SUITE}")
    output = bench.folder / "tuned.xml"
    robot(str(suite), output=str(output), log=None, report=None, console="none")
    found = {test.name: test.message for test in ExecutionResult(str(output)).suite.all_tests}
    assert found == {"First": "CardFailure: ends in the middle", "Second": ""}
    assert seen == [{"rx": 256, "tx": 256}] * 2 and settings.ports["enp1s0"].rings == {"rx": 256, "tx": 256}
    assert [entry.what for entry in taken.journal.pending() if "ring" in entry.what] == []


def test_an_offload_of_which_nobody_knows_how_it_is_changed_is_unknown(
    bench: FakeBench, settings: FakeSettings, taken: Run
) -> None:
    assert settings
    bench.edit(bench.sheet, ("rxvlan, default: true, change: fixed", "rxvlan, default: true, change: {unknown: test}"))
    taken.card = bench.load()[1]
    with pytest.raises(SheetUnknown, match=r"does not know how offload vlan-strip can be changed: test$"):
        Tuning().set_offload("dut.p0", "vlan-strip", False)
    with pytest.raises(SheetUnknown, match=r"does not know how vlan-strip can be changed: test$"):
        delivery.over_sockets(taken, str, "vlan-strip", False)
    with pytest.raises(NotApplicable, match="knows no offload lro that can be switched") as caught:
        delivery.over_sockets(taken, str, "lro", False)
    assert type(caught.value) is NotApplicable


def test_only_a_card_that_gathers_is_asked_for_records_in_pieces(
    bench: FakeBench, settings: FakeSettings, taken: Run
) -> None:
    said = list[str]()
    with pytest.raises(NotApplicable, match="says nothing about offload scatter-gather"):
        delivery.gathered(taken, said.append)
    row = "    - name: scatter-gather\n      linux: {word: scatter-gather, set_word: sg, default: true, change: both}\n"
    bench.edit(bench.sheet, ("    - name: vlan-strip\n", f"{row}    - name: vlan-strip\n"))
    taken.card = bench.load()[1]
    for port in settings.ports.values():
        port.features["scatter-gather"] = Feature(False, False, None)
    with pytest.raises(NotApplicable, match=r"^dut: scatter-gather is off at each port of the card$"):
        delivery.gathered(taken, said.append)
    assert len(said) == len(taken.bench.paths) and all("its system copies the pieces" in line for line in said)
