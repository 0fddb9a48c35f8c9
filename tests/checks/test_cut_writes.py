"""The power is cut while firmware is written, and what the card is then."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_bench import FakeBench
from fake_parts import FakeJob
from fake_settings import settings_of

from Firmware import Firmware, Which
from niclab.bench.records import Role
from niclab.core.verdict import (
    BenchFault,
    CardFailure,
    NotApplicable,
    SheetSilent,
    SheetUnknown,
    Undecided,
)
from niclab.hosts.kernel.dmesg import read_dmesg
from niclab.run.run import Run
from niclab.transports.bmc.bmc import PowerAction
from Power import Power

SECTION = """firmware:
  update:
    tool: ethtool
    activation: reset
    images: [{version: "2.1-0", file: fw-2.1-0.bin}, {version: "2.2-0", file: fw-2.2-0.bin}]
    power_loss: {survives: true, source: test}
    source: test
"""
LACKS_A_FILE = Path(__file__).parents[1] / "hosts/cases/05-bnx2x-firmware-file-missing.dmesg.txt"
"""A public report."""
VENDOR = "tool: vendor\n    activation: reset\n    #"
FILES = {"fw-2.1-0.bin", "fw-2.2-0.bin"}


class Writing:
    """A card whose ports take ``takes_s`` to write an image, of which a BMC needs ``bmc_s`` to cut the power.

    ``faults`` of a port (``p0``): ``gone``, ``dead``, ``refuses``, ``third``, ``silent``, each from the first cut on.
    """

    def __init__(self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.takes_s, self.bmc_s = 0.0, 40.0, 1.0
        self.cuts, self.jobs, self.fault, self.status = list[tuple[str, float]](), list[FakeJob](), "", 0
        self._began, self._bench = 0.0, bench
        self.settings = settings_of(bench)
        self.settings.files = set(FILES)
        self._flash, self._set_link, boot = self.settings.flash, bench.dut.set_link, bench.dut.on_boot
        self._start_up = boot
        bench.dut.on_boot = self._boot
        bench.ssh[Role.DUT].prepare_job = self._start
        bench.ssh[Role.DUT].replies["rm -rf /tmp/niclab-job."] = ""
        monkeypatch.setattr(bench.dut, "flash", self._write)
        monkeypatch.setattr(bench.dut, "set_link", self._up)
        monkeypatch.setattr("niclab.checks.flash.cut_writes.pause", self._pass)
        monkeypatch.setattr("niclab.checks.flash.cut_writes.APPEARS_WITHIN_S", 0.0)
        monkeypatch.setattr("niclab.checks.firmware.time", SimpleNamespace(monotonic=lambda: self.now))

    def _pass(self, seconds: float) -> None:
        self.now += seconds
        for job in self.jobs:
            if job.status is None and self.now - self._began >= self.takes_s:
                job.status = self.status
                self._written(job)

    def _written(self, job: FakeJob) -> None:
        if self.status == 0:
            _, _, iface, file = job.command.split()
            self._flash(iface, file)

    def _write(self, iface: str, file: str) -> object:
        self.now += self.takes_s
        if self.fault == "refuses" and self.cuts:
            self.settings.faults.add("flash fails")
        return self._flash(iface, file)

    def _start(self, job: FakeJob) -> None:
        if job.command.startswith("ethtool -f"):
            self.jobs.append(job)
            self._began = self.now

    def _boot(self) -> None:
        self._start_up()
        for job in self.jobs:
            if job.status is None:
                self.now += self.bmc_s
                if self.now - self._began >= self.takes_s:
                    self._written(job)
                else:
                    self.settings.pending.pop(job.command.split()[2], None)
                self.cuts.append((job.command, self.now - self._began))
                job.status = 255
        if self.cuts and self.fault == "gone":
            self._bench.dut.without_interface.add("0000:01:00.0")
        self.settings.activate()
        self.settings.pending.clear()
        if self.cuts and self.fault in ("third", "silent"):
            nic = self._bench.nic("dut.p0")
            nic.info = replace(nic.info, firmware="6.6-6" if self.fault == "third" else None)

    def _up(self, iface: str, up: bool) -> None:
        if self.cuts and iface == "enp1s0" and self.fault in ("dead", "server"):
            self._bench.dut.alive = self.fault == "dead"
            raise BenchFault("dut: `ip link set dev enp1s0 up`: RTNETLINK answers: Input/output error")
        self._set_link(iface, up)


@pytest.fixture
def writing(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Writing:
    bench.edit(bench.sheet, ("firmware:\n", SECTION))
    taken.card = bench.load()[1]
    return Writing(bench, monkeypatch)


def left(taken: Run) -> list[str]:
    """The commands that would bring the former firmware back."""
    return [entry.action.command for entry in taken.journal.pending() if "firmware" in entry.subject]


def jobs_left(taken: Run) -> list[str]:
    return [entry.what for entry in taken.journal.pending() if "job is started: ethtool -f" in entry.what]


def test_every_port_is_cut_off_half_way_and_written_again(bench: FakeBench, writing: Writing, taken: Run) -> None:
    Power().firmware_should_be_writable_after_power_loss()
    assert writing.cuts == [("ethtool -f enp1s0 fw-2.2-0.bin", 21.0), ("ethtool -f enp2s0 fw-2.2-0.bin", 21.0)]
    writes = [line for line in writing.settings.told if line.startswith("flash")]
    assert writes == [
        "flash enp1s0 fw-2.1-0.bin",
        "flash enp1s0 fw-2.2-0.bin",
        "flash enp2s0 fw-2.1-0.bin",
        "flash enp2s0 fw-2.2-0.bin",
    ]
    assert left(taken) == ["ethtool -f enp2s0 fw-2.1-0.bin", "ethtool -f enp1s0 fw-2.1-0.bin", "reboot"]
    assert jobs_left(taken) == []
    assert bench.nic("dut.p0").admin_up and bench.nic("dut.p1").admin_up
    writing.settings.activate()
    Firmware().firmware_should_run(Which.OTHER)
    Firmware().write_firmware_back()
    writing.settings.activate()
    Firmware().firmware_should_run(Which.FORMER)
    assert left(taken) == []


def test_the_journal_has_the_way_back_before_the_power_goes_and_says_what_is_left(
    bench: FakeBench, writing: Writing, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending, control = list[list[str]](), bench.bmcs[Role.DUT]["ipmi"].control

    def order(action: PowerAction) -> None:
        pending.append(left(taken))
        control(action)

    for bmc in bench.bmcs[Role.DUT].values():
        monkeypatch.setattr(bmc, "control", order)
    writing.fault = "gone"
    with pytest.raises(CardFailure):
        Power().firmware_should_be_writable_after_power_loss()
    assert pending[0] == ["ethtool -f enp1s0 fw-2.1-0.bin", "reboot"]
    (entry,) = [entry for entry in taken.journal.pending() if entry.subject == "dut.p0 firmware"]
    assert entry.what == (
        "the power is cut while firmware is written: not recovered until fw-2.1-0.bin is written and runs"
    )


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("gone", r"is missing after a loss of power while fw-2\.2-0\.bin was written: .*; expected it, as before$"),
        ("dead", r"cannot be set up after a loss of power while fw-2\.2-0\.bin was written: .*Input/output error"),
        ("refuses", r"^after a loss of power while .* refused firmware image fw-2\.2-0\.bin: input/output error; exp"),
    ],
)
def test_a_card_that_does_not_survive_is_wrong_and_stays_in_the_journal(
    writing: Writing, taken: Run, fault: str, message: str
) -> None:
    writing.fault = fault
    with pytest.raises(CardFailure, match=message) as caught:
        Power().firmware_should_be_writable_after_power_loss()
    assert "dut.p0 (0000:01:00.0)" in str(caught.value)
    assert len(writing.cuts) == 1
    assert left(taken) == ["ethtool -f enp1s0 fw-2.1-0.bin", "reboot"]
    assert jobs_left(taken) == []


def test_a_third_firmware_decides_nothing_and_the_former_is_brought_back(writing: Writing, taken: Run) -> None:
    writing.fault = "third"
    with pytest.raises(
        Undecided, match=r"runs firmware 6\.6-6 after a loss of power .*; expected 2\.1-0, 2\.2-0, or none"
    ):
        Power().firmware_should_be_writable_after_power_loss()
    assert left(taken) == ["ethtool -f enp1s0 fw-2.1-0.bin", "reboot"]


def test_a_server_that_answers_no_more_is_the_benchs(writing: Writing) -> None:
    writing.fault = "server"
    with pytest.raises(BenchFault, match="Input/output error"):
        Power().firmware_should_be_writable_after_power_loss()


def test_a_missing_firmware_file_of_the_driver_is_the_benchs(bench: FakeBench, writing: Writing) -> None:
    writing.fault, boot = "gone", bench.dut.on_boot

    def without_file() -> None:
        boot()
        said = re.sub(r"0000:0\d:00\.\d", "0000:01:00.0", LACKS_A_FILE.read_text()).replace("bnx2x", "e1000e")
        bench.dut.kernel_said = read_dmesg("[    0.000000] Linux version 6.1.0\n" + said)

    bench.dut.on_boot = without_file
    with pytest.raises(BenchFault, match="lacks a file: firmware file missing: "):
        Power().firmware_should_be_writable_after_power_loss()


def test_a_port_that_shows_no_firmware_wants_one_and_gets_it(bench: FakeBench, writing: Writing) -> None:
    writing.fault = "silent"
    with pytest.raises(Undecided, match=r"dut\.p0 .* reports no firmware version|dut\.p1"):
        Power().firmware_should_be_writable_after_power_loss()
        bench.nic("dut.p1").info = replace(bench.nic("dut.p1").info, firmware="2.2-0")
        Firmware().firmware_should_run(Which.OTHER)
    assert "flash enp1s0 fw-2.2-0.bin" in writing.settings.told


def test_a_write_that_is_over_too_early_is_tried_again_sooner(writing: Writing) -> None:
    writing.bmc_s = 25.0
    Power().firmware_should_be_writable_after_power_loss()
    assert [(command.split()[-1], seconds) for command, seconds in writing.cuts] == [
        ("fw-2.2-0.bin", 45.0),
        ("fw-2.1-0.bin", 35.0),
        ("fw-2.2-0.bin", 45.0),
        ("fw-2.1-0.bin", 35.0),
    ]


def test_writes_that_are_always_over_before_the_power_is_gone_decide_nothing(writing: Writing, taken: Run) -> None:
    writing.bmc_s = 60.0
    with pytest.raises(Undecided, match=r"each of 3 writes of firmware was over before the power was gone"):
        Power().firmware_should_be_writable_after_power_loss()
    assert [seconds for _, seconds in writing.cuts] == [80.0, 70.0, 64.0]
    assert left(taken), "the former firmware is brought back"


def faster(writing: Writing, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    """Each write in the background is over after 15 s."""
    flash = writing._write

    def write(iface: str, file: str) -> object:
        writing.takes_s = 40.0
        answer = flash(iface, file)
        writing.takes_s = 15.0
        return answer

    writing.status = status
    monkeypatch.setattr(writing.settings.host, "flash", write)


def test_no_power_is_cut_where_the_write_has_ended(
    bench: FakeBench, writing: Writing, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    faster(writing, monkeypatch, 0)
    Power().firmware_should_be_writable_after_power_loss()
    assert [seconds for _, seconds in writing.cuts] == [11.0, 11.0], "at a quarter; at the half it had ended"
    orders = [order for bmc in bench.bmcs[Role.DUT].values() for order in bmc.orders]
    assert orders.count(PowerAction.OFF) == 2
    assert jobs_left(taken) == []


def test_a_write_that_fails_by_itself_decides_nothing(
    bench: FakeBench, writing: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    faster(writing, monkeypatch, 1)
    with pytest.raises(Undecided, match=r"has ended with .*before the power was cut: .*; expected it under way"):
        Power().firmware_should_be_writable_after_power_loss()
    assert not [order for bmc in bench.bmcs[Role.DUT].values() for order in bmc.orders]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (("    power_loss: {survives: true, source: test}\n", ""), SheetSilent, "power_loss"),
        (("survives: true", "survives: {unknown: nobody says}"), SheetUnknown, "nobody says"),
        (("survives: true", "survives: false"), NotApplicable, "does not survive"),
        (
            ("tool: ethtool\n    activation: reset\n    images:", "tool: vendor\n    activation: reset\n    #"),
            NotApplicable,
            "own tool",
        ),
    ],
)
def test_nothing_is_written_unless_the_sheet_allows_it(
    bench: FakeBench,
    writing: Writing,
    taken: Run,
    change: tuple[str, str],
    error: type[Exception],
    message: str,
) -> None:
    bench.edit(bench.sheet, change)
    taken.card = bench.load()[1]
    with pytest.raises(error, match=message):
        Power().firmware_should_be_writable_after_power_loss()
    assert writing.settings.told == [] and writing.cuts == [] and left(taken) == []


def test_nothing_is_written_without_a_bmc(writing: Writing, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    server = taken.server(Role.DUT)
    server.__dict__.pop("bmc", None)
    monkeypatch.setattr(server, "description", server.description.model_copy(update={"bmc": None}))
    with pytest.raises(NotApplicable, match="has no BMC"):
        Power().firmware_should_be_writable_after_power_loss()
    assert writing.settings.told == []


def test_an_image_that_is_missing_is_the_benchs(writing: Writing) -> None:
    writing.settings.files.discard("fw-2.1-0.bin")
    with pytest.raises(BenchFault, match=r"firmware image fw-2\.1-0\.bin is missing"):
        Power().firmware_should_be_writable_after_power_loss()
    assert writing.cuts == []
