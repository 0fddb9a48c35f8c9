"""Steering of interrupts and packets: what is taken and shown is green, what is not is red, and all comes back."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fake_bench import FakeBench

from niclab.bench.records import OperatingSystem, Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.counts.load_records import CpuTime, CpuTimes
from niclab.hosts.errors import ReadError
from niclab.hosts.steering.linux import cpus_of_list, cpus_of_mask, mask_of
from niclab.hosts.steering.steering_files import SteeringFiles
from niclab.hosts.steering.steering_kinds import SteeringKind as Kind
from niclab.run.run import Run
from niclab.settings.steering import steered
from niclab.transports.ssh.ssh import Result
from Steering import Steering

INTERRUPTS = """           CPU0       CPU1
 24:        100          0   PCI-MSI 524288-edge      enp1s0-rx-0
 25:          0        100   PCI-MSI 524289-edge      enp1s0-tx-0
 26:          0        100   PCI-MSI 1048576-edge      enp2s0
 27:          0        100   PCI-MSI 1048577-edge      enp1s01
"""


class Files:
    """The kernel's files of the dut.

    ``deaf``: that take every value and keep their own; ``fixed``: that refuse all, by the words of ``refuses``.
    """

    def __init__(self, bench: FakeBench) -> None:
        self.content = {"/proc/sys/net/core/rps_sock_flow_entries": "0", "/proc/interrupts": INTERRUPTS}
        self.content |= {f"/proc/irq/{irq}/smp_affinity_list": "0-1" for irq in (24, 25, 26)}
        self.content |= {f"/proc/irq/{irq}/effective_affinity_list": "0" for irq in (24, 25, 26)}
        for iface in ("enp1s0", "enp2s0"):
            queues = f"/sys/class/net/{iface}/queues"
            self.content |= {f"{queues}/rx-0/rps_cpus": "0", f"{queues}/rx-0/rps_flow_cnt": "0"}
            self.content |= {f"{queues}/tx-{number}/xps_cpus": "3" for number in (0, 1)}
        self.deaf: set[str] = set()
        self.fixed: set[str] = set()
        self.refuses = "/bin/sh: 1: echo: echo: I/O error"
        self.written: list[str] = []
        self.shell = ssh = bench.ssh[Role.DUT]
        ssh.replies |= {"cat /proc/irq": self._cat, "cat /proc/interrupts": self._cat, "cat /sys": self._cat}
        ssh.replies |= {"cat /proc/sys/net": self._cat, "ls /sys": self._list, "echo": self._echo}
        ssh.replies |= {"[ ! -e": self._echo, "! ( for owner in": self._echo}

    def _cat(self, command: str) -> str | Result:
        files = command.split()[1:]
        missing = [file for file in files if file not in self.content]
        if missing:
            return Result(command, 1, None, "", f"cat: {missing[0]}: No such file or directory", 0.01)
        return "".join(self.content[file].rstrip("\n") + "\n" for file in files)

    def _list(self, command: str) -> str | Result:
        before, after = command.split()[1].split("*")
        found = [file for file in self.content if file.startswith(before) and file.endswith(after)]
        return " ".join(found) if found else Result(command, 2, None, "", "ls: cannot access", 0.01)

    def _echo(self, command: str) -> str | Result:
        for value, file in re.findall(r"echo (\S+) > (\S+)", re.sub(r"[';]", "", command)):
            if file in self.fixed:
                return Result(command, 1, None, "", f"{self.refuses}\n", 0.01)
            self.written.append(file)
            if file not in self.deaf:
                self.content[file] = value
        return ""


@pytest.fixture
def files(bench: FakeBench, taken: Run) -> Files:
    assert taken
    return Files(bench)


@pytest.mark.parametrize("owner", ["enp1s0", "enp1s0-rx-0", "enp1s0f1", "enp1s01-rx-0", None])
def test_an_interrupt_that_is_another_devices_by_now_is_left_alone(
    files: Files, tmp_path: Path, owner: str | None
) -> None:
    assert files
    made = SteeringFiles(files.shell, "dut", "enp1s0", Kind.IRQ)
    folder = tmp_path / "irq/24"
    (folder / (owner or "")).mkdir(parents=True)
    (folder / "smp_affinity_list").write_text("3")
    command = made.restoring({"/proc/irq/24/smp_affinity_list": "0-1"}).replace("/proc/irq", f"{tmp_path}/irq")
    assert subprocess.run(["sh", "-c", command]).returncode == 0
    is_mine = owner in ("enp1s0", "enp1s0-rx-0")
    assert (folder / "smp_affinity_list").read_text().strip() == ("0-1" if is_mine else "3")


def test_a_queue_that_a_boot_has_ended_is_no_fault(files: Files, tmp_path: Path) -> None:
    made = SteeringFiles(files.shell, "dut", "enp1s0", Kind.XPS)
    kept, gone = tmp_path / "tx-0", tmp_path / "tx-1"
    kept.write_text("1")
    command = made.restoring({str(gone): "3", str(kept): "3"})
    assert subprocess.run(["sh", "-c", command]).returncode == 0
    assert kept.read_text() == "3\n" and not gone.exists()


@pytest.mark.parametrize("kind", list(Kind))
def test_what_is_taken_and_shown_is_green_and_put_back(files: Files, kind: Kind) -> None:
    before = dict(files.content)
    Steering().steering_should_be_settable(kind)
    assert files.content == before and files.written


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        (Kind.IRQ, "/proc/irq/25/smp_affinity_list"),
        (Kind.RPS, "/sys/class/net/enp2s0/queues/rx-0/rps_cpus"),
        (Kind.RFS, "/proc/sys/net/core/rps_sock_flow_entries"),
        (Kind.XPS, "/sys/class/net/enp1s0/queues/tx-1/xps_cpus"),
    ],
)
def test_what_is_taken_and_not_done_is_red(files: Files, kind: Kind, file: str) -> None:
    files.deaf.add(file)
    with pytest.raises(CardFailure) as caught:
        Steering().steering_should_be_settable(kind)
    assert f"shows {file} '{files.content[file]}' when set to '" in str(caught.value)


def test_steering_that_cannot_be_put_back_hides_no_failure(files: Files) -> None:
    files.deaf.add("/sys/class/net/enp1s0/queues/tx-1/xps_cpus")
    files.shell.replies["[ ! -e"] = BenchFault("dut: connection lost")
    with pytest.raises(CardFailure, match=r"^dut\.p0 .* shows /sys/class/net/enp1s0/queues/tx-1/xps_cpus") as caught:
        Steering().steering_should_be_settable(Kind.XPS)
    assert "connection lost" in str(caught.value).partition("\nundecided: ")[2]


@pytest.mark.parametrize(
    "said",
    [
        "/bin/sh: 1: echo: echo: I/O error",
        "/bin/sh: line 1: echo: write error: Input/output error",
        "sh: write error: Input/output error",
    ],
    ids=["dash", "bash", "busybox"],
)
@pytest.mark.parametrize("cpus", [{0, 1}, {0}])
def test_an_interrupt_that_the_kernel_moves_for_nobody_is_not_applicable(
    bench: FakeBench, files: Files, taken: Run, monkeypatch: pytest.MonkeyPatch, cpus: set[int], said: str
) -> None:
    files.refuses = said
    monkeypatch.setattr(bench.dut, "cpu_times", lambda: CpuTimes(dict.fromkeys(cpus, CpuTime(0, 0, 0, 1, 0, 0, 0, 0))))
    files.fixed.add("/proc/irq/24/smp_affinity_list")
    before, pending = dict(files.content), taken.journal.pending()
    port = taken.bench.port("dut.p0")
    with (
        pytest.raises(NotApplicable, match=f"^dut: the kernel moves no interrupt of enp1s0: {said}"),
        steered(taken, port, Kind.IRQ, [0]),
    ):
        pass
    assert files.content == before and taken.journal.pending() == pending


def test_interrupts_are_those_of_the_port_alone(files: Files) -> None:
    Steering().steering_should_be_settable(Kind.IRQ)
    assert {file.split("/")[3] for file in files.written} == {"24", "25", "26"}


@pytest.mark.parametrize(("kind", "words"), [(Kind.IRQ, "no interrupt bears the name"), (Kind.XPS, "has no xps")])
def test_what_is_not_there_is_not_applicable(files: Files, kind: Kind, words: str) -> None:
    files.content = {"/proc/interrupts": "           CPU0\n 24:          1   PCI-MSI 1-edge      other\n"}
    with pytest.raises(NotApplicable, match=words):
        Steering().steering_should_be_settable(kind)


def test_the_kernel_steers_no_transmission_of_one_queue(bench: FakeBench, files: Files) -> None:
    file = "/sys/class/net/enp1s0/queues/tx-0/xps_cpus"
    bench.ssh[Role.DUT].replies |= {"ls /sys": f"{file}\n"}
    del files.content[file]
    with pytest.raises(NotApplicable, match=r"^dut: the kernel offers no transmit steering for a card of one queue$"):
        Steering().steering_should_be_settable(Kind.XPS)
    assert not files.written


def test_a_port_without_steering_hides_no_other(files: Files) -> None:
    files.fixed |= {"/proc/irq/26/smp_affinity_list"}
    with pytest.raises(Undecided):
        Steering().steering_should_be_settable(Kind.IRQ)
    files.deaf |= {"/proc/irq/24/smp_affinity_list", "/proc/irq/25/smp_affinity_list"}
    with pytest.raises(CardFailure, match=r"^dut\.p0 .* shows /proc/irq/24/smp_affinity_list"):
        Steering().steering_should_be_settable(Kind.IRQ)


def test_one_cpu_leaves_no_choice(bench: FakeBench, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.dut, "cpu_times", lambda: CpuTimes({0: CpuTime(0, 0, 0, 1, 0, 0, 0, 0)}))
    with pytest.raises(NotApplicable, match="dut has one CPU"):
        Steering().steering_should_be_settable(Kind.IRQ)
    assert not files.written


@pytest.mark.parametrize(("text", "cpus"), [("0", {0}), ("0-2,5", {0, 1, 2, 5}), ("3,1\n", {1, 3})])
def test_lists_of_cpus(text: str, cpus: set[int]) -> None:
    assert cpus_of_list(text) == cpus


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "1,,2"])
def test_what_is_no_list_is_an_error(text: str) -> None:
    with pytest.raises(ReadError):
        cpus_of_list(text)


@pytest.mark.parametrize(("text", "cpus"), [("0", set()), ("5", {0, 2}), ("1,00000000", {32}), ("00000003", {0, 1})])
def test_masks_of_cpus(text: str, cpus: set[int]) -> None:
    assert cpus_of_mask(text) == cpus
    assert cpus_of_mask(mask_of(frozenset(cpus))) == cpus


def test_what_is_no_mask_is_an_error() -> None:
    with pytest.raises(ReadError, match="CPU mask 'x'"):
        cpus_of_mask("x")


def test_freebsd_has_none_of_linuxs_steering(taken: Run) -> None:
    server = taken.server(Role.DUT)
    server.description = server.description.model_copy(update={"os": OperatingSystem.FREEBSD})
    for kind in (Kind.RPS, Kind.RFS, Kind.XPS):
        with pytest.raises(NotApplicable, match=f"^dut: freebsd has no {kind.value}, which is Linux' own$"):
            Steering().steering_should_be_settable(kind)
    with pytest.raises(NotApplicable, match="interrupts of freebsd are not steered by this lab"):
        Steering().steering_should_be_settable(Kind.IRQ)


class TestArrival:
    """Interrupts that arrive at each CPU while pings cross the path."""

    def grow(self, bench: FakeBench, files: Files, first: int, second: int) -> None:
        plain = bench.dut.ping

        def ping(*arguments: object, **options: object) -> object:
            files.content["/proc/interrupts"] = INTERRUPTS.replace(
                " 24:        100          0", f" 24: {100 + first:>10} {second:>10}"
            )
            return plain(*arguments, **options)

        bench.dut.ping = ping  # type: ignore[method-assign,assignment]

    def test_at_the_wanted_cpu_alone_is_green(self, bench: FakeBench, files: Files) -> None:
        self.grow(bench, files, 20, 0)
        Steering().interrupts_should_arrive_at("dut", "0")

    @pytest.mark.parametrize(("first", "second", "at"), [(20, 1, "20 at CPU 0, 1 at CPU 1"), (0, 0, "none")])
    def test_elsewhere_or_nowhere_is_red(
        self, bench: FakeBench, files: Files, first: int, second: int, at: str
    ) -> None:
        self.grow(bench, files, first, second)
        with pytest.raises(CardFailure, match=rf"^dut\.p0 .* crossed it: {at}; expected at CPU 0 alone$"):
            Steering().interrupts_should_arrive_at("dut.p0", "0")

    @pytest.mark.parametrize(
        ("at", "verdict", "says"),
        [
            ((0, 0), Undecided, r"^dut\.p0 .*: 0 of \d+ pings answered, and no interrupt"),
            ((20, 3), CardFailure, "crossed it: 20 at CPU 0, 3 at CPU 1"),
        ],
    )
    def test_nowhere_without_answers_is_nobodys(
        self, bench: FakeBench, files: Files, at: tuple[int, int], verdict: type[Exception], says: str
    ) -> None:
        for nic in bench.dut.nics:
            nic.ping = replace(nic.ping, received=0)
        self.grow(bench, files, *at)
        with pytest.raises(verdict, match=says):
            Steering().interrupts_should_arrive_at("dut.p0", "0")

    @pytest.mark.parametrize(("second", "is_green"), [(1, True), (2, False)])
    def test_an_interrupt_that_has_not_moved_yet_may_arrive_once_at_its_former_cpu(
        self, bench: FakeBench, files: Files, second: int, is_green: bool
    ) -> None:
        files.content["/proc/irq/24/effective_affinity_list"] = "1"
        self.grow(bench, files, 20, second)
        if is_green:
            Steering().interrupts_should_arrive_at("dut.p0", "0")
            return
        with pytest.raises(CardFailure, match=rf"crossed it: 20 at CPU 0, {second} at CPU 1; expected at CPU 0 alone$"):
            Steering().interrupts_should_arrive_at("dut.p0", "0")

    def test_an_interrupt_that_arrives_at_its_former_cpu_alone_is_red(self, bench: FakeBench, files: Files) -> None:
        files.content["/proc/irq/24/effective_affinity_list"] = "1"
        self.grow(bench, files, 0, 1)
        with pytest.raises(CardFailure, match=r"crossed it: none; expected at CPU 0 alone$"):
            Steering().interrupts_should_arrive_at("dut.p0", "0")

    def test_one_cpu_is_no_choice(self, bench: FakeBench, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
        assert files
        monkeypatch.setattr(bench.dut, "cpu_times", lambda: CpuTimes({0: CpuTime(0, 0, 0, 1, 0, 0, 0, 0)}))
        with pytest.raises(NotApplicable, match="dut has one CPU: interrupts arrive nowhere else"):
            Steering().interrupts_should_arrive_at("dut", "0")
