"""Firmware is written and put back, and wrong images are refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest
from fake_bench import FakeBench
from fake_settings import FakeSettings, Shows, settings_of

from Firmware import Firmware, Which
from niclab.bench.records import Role
from niclab.card import Activation
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetSilent, SheetUnknown, Undecided
from niclab.hosts.host_records import DriverInfo
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.run.watching.kernel_watch import KernelWatch

UPDATE = """firmware:
  update:
    tool: ethtool
    activation: reset
    images: [{version: 2.1-0, file: fw-2.1-0.bin}, {version: 2.2-0, file: fw-2.2-0.bin}]
    foreign_image: foreign.bin
    source: test
"""
FILES = {"fw-2.1-0.bin", "fw-2.2-0.bin", "foreign.bin", "fw-2.1-0-truncated.bin", "fw-2.1-0-bit-flipped.bin"}


@pytest.fixture
def settings(bench: FakeBench, taken: Run) -> FakeSettings:
    bench.edit(bench.sheet, ("firmware:\n", UPDATE.replace("2.1-0,", '"2.1-0",').replace("2.2-0,", '"2.2-0",')))
    taken.card = bench.load()[1]
    made = settings_of(bench)
    made.files = set(FILES)
    return made


def test_firmware_is_changed_and_put_back(settings: FakeSettings, taken: Run) -> None:
    firmware, before = Firmware(), taken.journal.pending()
    firmware.activation_should_be(Activation.RESET)
    firmware.write_other_firmware()
    entries = [entry for entry in taken.journal.pending() if entry not in before]
    commands = [entry.action.command for entry in entries]
    assert commands == ["ethtool -f enp2s0 fw-2.1-0.bin", "ethtool -f enp1s0 fw-2.1-0.bin", "reboot"], "in this order"
    assert [entry.action.deadline_s for entry in entries] == [700, 700, 180]
    firmware.firmware_should_run(Which.FORMER)
    settings.activate()
    firmware.firmware_should_run(Which.OTHER)
    firmware.write_firmware_back()
    assert [entry.action.command for entry in taken.journal.pending() if entry not in before] == commands
    settings.activate()
    firmware.firmware_should_run(Which.FORMER)
    assert taken.journal.pending() == before
    firmware.put_firmware_back()
    assert taken.journal.pending() == before


def test_a_card_that_forgets_the_second_write_gets_its_image_again(settings: FakeSettings, taken: Run) -> None:
    firmware, before = Firmware(), taken.journal.pending()
    firmware.write_other_firmware()
    settings.activate()
    flash = settings.host.flash
    settings.host.flash = lambda iface, _: flash(iface, "fw-2.2-0.bin")  # type: ignore[method-assign]
    firmware.write_firmware_back()
    settings.activate()
    with pytest.raises(CardFailure, match=r"runs firmware 2\.2-0; expected 2\.1-0"):
        firmware.firmware_should_run(Which.FORMER)
    left = [entry.action.command for entry in taken.journal.pending() if entry not in before]
    assert left == ["ethtool -f enp2s0 fw-2.1-0.bin", "ethtool -f enp1s0 fw-2.1-0.bin", "reboot"]


@pytest.mark.parametrize(("stood_ms", "error"), [(1500, Undecided), (900, CardFailure)])
def test_a_dut_that_stands_still_is_no_card_that_writes_slowly(
    bench: FakeBench,
    settings: FakeSettings,
    taken: Run,
    monkeypatch: pytest.MonkeyPatch,
    stood_ms: int,
    error: type[Exception],
) -> None:
    bench.edit(bench.sheet, ("foreign_image: foreign.bin", "foreign_image: foreign.bin\n    within_s: 10"))
    taken.card = bench.load()[1]
    now = [0.0]

    def slow(iface: str, file: str) -> object:
        now[0] += 11
        bench.ssh[Role.DUT].stood += f"stood {stood_ms}\n"
        bench.ssh[Role.PEER].stood += "stood 5000\n"
        return settings.flash(iface, file)

    monkeypatch.setattr(settings.host, "flash", slow)
    monkeypatch.setattr("niclab.checks.firmware.time", SimpleNamespace(monotonic=lambda: now[0]))
    said = r"^dut\.p0 \(.*\) took 11 s to write .*; expected at most 10 s \(sheet \S+\)"
    said += rf"; dut stood still for {stood_ms / 1000:.1f} s meanwhile$"
    with pytest.raises(error, match=said):
        Firmware().write_other_firmware()


@pytest.mark.parametrize(
    ("seconds", "message"),
    [(9, None), (11, r"^dut\.p0 \(.*\) took 11 s to write .*; expected at most 10 s \(sheet \S+\)$")],
)
def test_writing_may_take_as_long_as_the_sheet_allows(
    bench: FakeBench,
    settings: FakeSettings,
    taken: Run,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    message: str | None,
) -> None:
    bench.edit(bench.sheet, ("foreign_image: foreign.bin", "foreign_image: foreign.bin\n    within_s: 10"))
    taken.card = bench.load()[1]
    now = [0.0]

    def slow(iface: str, file: str) -> object:
        now[0] += seconds
        return settings.flash(iface, file)

    monkeypatch.setattr(settings.host, "flash", slow)
    monkeypatch.setattr("niclab.checks.firmware.time", SimpleNamespace(monotonic=lambda: now[0]))
    if message is None:
        Firmware().write_other_firmware()
        return
    with pytest.raises(CardFailure, match=message):
        Firmware().write_other_firmware()


@pytest.mark.parametrize(
    ("activation", "kind", "command"),
    [
        ("reset", ActionKind.RESTART, "reboot"),
        ("power-cycle", ActionKind.RESTART, "power-cycle"),
        ("driver-reload", ActionKind.SHELL, "modprobe -r e1000e && modprobe e1000e"),
        ("{unknown: test}", None, None),
    ],
)
def test_the_undo_of_a_write_ends_with_the_activation(
    bench: FakeBench,
    settings: FakeSettings,
    taken: Run,
    monkeypatch: pytest.MonkeyPatch,
    activation: str,
    kind: ActionKind | None,
    command: str | None,
) -> None:
    assert settings.told == []
    bench.edit(bench.sheet, ("activation: reset", f"activation: {activation}"))
    taken.card = bench.load()[1]
    before, done = taken.journal.pending(), list[Action]()
    firmware = Firmware()
    firmware.write_other_firmware()
    monkeypatch.setattr(taken, "undo", done.append)
    firmware.put_firmware_back()
    assert [action.command for action in done][:2] == [f"ethtool -f enp{n}s0 fw-2.1-0.bin" for n in (2, 1)]
    assert [(action.kind, action.command) for action in done[2:]] == ([(kind, command)] if kind else [])
    assert taken.journal.pending() == before


@pytest.mark.parametrize("way", ["reboot", "power_cycle"])
def test_a_restart_loads_the_driver_again(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    restarted = []
    monkeypatch.setattr(type(taken.server("dut")), way, lambda server: restarted.append(server.name))
    taken.undo(Action(ActionKind.RESTART, "dut", way.replace("_", "-")))
    assert restarted == ["dut"] and bench.ssh[Role.DUT].commands[-1] == "modprobe e1000e"
    with pytest.raises(BenchFault, match="restart 'now'; expected reboot or power-cycle"):
        Action(ActionKind.RESTART, "dut", "now")


def test_firmware_that_does_not_become_active_is_wrong(settings: FakeSettings) -> None:
    firmware = Firmware()
    firmware.write_other_firmware()
    del settings.pending["enp1s0"]
    settings.activate()
    with pytest.raises(CardFailure) as caught:
        firmware.firmware_should_run(Which.OTHER)
    assert str(caught.value) == "dut.p0 (0000:01:00.0) runs firmware 2.1-0; expected 2.2-0"


def test_a_port_that_shows_no_firmware_hides_no_other_one(bench: FakeBench, settings: FakeSettings) -> None:
    firmware = Firmware()
    firmware.write_other_firmware()
    settings.activate()
    silent, other = bench.dut.nics
    silent.info = replace(silent.info, firmware=None)
    with pytest.raises(Undecided, match=r"^dut\.p0 \(0000:01:00\.0\) reports no firmware version$"):
        firmware.firmware_should_run(Which.OTHER)
    other.info = replace(other.info, firmware="2.1-0")
    with pytest.raises(
        CardFailure, match=r"^dut\.p1 \(0000:02:00\.0\) runs firmware 2\.1-0; expected 2\.2-0\nundecided: "
    ):
        firmware.firmware_should_run(Which.OTHER)


def test_a_write_that_fails_is_wrong_and_stays_in_the_journal(settings: FakeSettings, taken: Run) -> None:
    settings.faults.add("flash fails")
    with pytest.raises(CardFailure, match=r"refused firmware image fw-2\.2-0\.bin: input/output error"):
        Firmware().write_other_firmware()
    assert taken.journal.pending()[0].action.command == "ethtool -f enp1s0 fw-2.1-0.bin"


def test_wrong_images_are_refused(settings: FakeSettings) -> None:
    firmware = Firmware()
    firmware.foreign_image_should_be_refused()
    firmware.damaged_images_should_be_refused()
    own = [line for line in settings.told if line.endswith("fw-2.1-0.bin")]
    assert len(own) == 2 and len(settings.told) == 8, "each port takes a right image once"
    assert settings.told[0] == own[0]


@pytest.mark.parametrize("keyword", ["foreign_image_should_be_refused", "damaged_images_should_be_refused"])
def test_a_port_that_takes_no_image_at_all_proves_nothing(settings: FakeSettings, taken: Run, keyword: str) -> None:
    settings.faults.add("flash fails")
    before = taken.journal.pending()
    with pytest.raises(Undecided) as caught:
        getattr(Firmware(), keyword)()
    assert str(caught.value).startswith("dut.p0 (0000:01:00.0): fw-2.1-0.bin, the image of what runs: input/output err")
    assert all(line.endswith("fw-2.1-0.bin") for line in settings.told), "no wrong image is offered"
    (left,) = (each for each in taken.journal.pending() if each not in before)
    assert left.action.command == "ethtool -f enp1s0 fw-2.1-0.bin", "nobody knows what a failed flash has left"


@pytest.mark.parametrize("keyword", ["foreign_image_should_be_refused", "damaged_images_should_be_refused"])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_wrong_image_that_is_taken_is_wrong(settings: FakeSettings, keyword: str, at_once: bool) -> None:
    settings.faults |= {"takes any image", *(["takes it at once"] if at_once else [])}
    with pytest.raises(CardFailure) as caught:
        getattr(Firmware(), keyword)()
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("dut.p0 (0000:01:00.0) took firmware image f") and lines[0].endswith(
        "expected it refused"
    )
    assert len(lines) == (4 if at_once else 2)
    if at_once:
        assert "shows firmware 6.6-6 after" in lines[1] and lines[1].endswith("before 2.1-0")


SHAPE = """  shape: '(?P<version>[0-9.-]+)( \\[(?P<flashed>[0-9.-]+)\\])?'
  example: 2.1-0
"""


@pytest.fixture
def flashed(bench: FakeBench, settings: FakeSettings, taken: Run) -> FakeSettings:
    """The sheet says how a driver shows what is flashed."""
    bench.edit(bench.sheet, ("firmware:\n", f"firmware:\n{SHAPE}"))
    taken.card = bench.load()[1]
    return settings


@pytest.mark.parametrize("shows", [None, *Shows])
def test_wrong_images_are_refused_however_the_own_one_is_shown(flashed: FakeSettings, shows: Shows | None) -> None:
    flashed.shows_flashed = shows
    Firmware().foreign_image_should_be_refused()
    Firmware().damaged_images_should_be_refused()
    assert len(flashed.told) == 8


@pytest.mark.parametrize("shows", Shows)
def test_a_wrong_image_that_is_refused_and_flashed_is_wrong(flashed: FakeSettings, shows: Shows) -> None:
    flashed.shows_flashed = shows
    flashed.faults.add("refused and flashed")
    before = "2.1-0" if shows is Shows.OTHERS else "2.1-0 [2.1-0]"
    with pytest.raises(CardFailure) as caught:
        Firmware().foreign_image_should_be_refused()
    assert f"dut.p0 (0000:01:00.0) shows firmware 2.1-0 [6.6-6] after foreign.bin, before {before}" in str(caught.value)


def test_an_own_image_that_is_another_version_proves_nothing(flashed: FakeSettings) -> None:
    flashed.shows_flashed = Shows.OTHERS
    flashed.faults.add("other version")
    with pytest.raises(Undecided, match=r"the image of what runs: shows firmware 2\.1-0 \[6\.6-6\] afterwards"):
        Firmware().foreign_image_should_be_refused()


def test_an_own_image_after_which_another_version_runs_proves_nothing(
    flashed: FakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(iface: str, _: str) -> Attempt[DriverInfo]:
        return Attempt(None, replace(flashed.host.by_iface(iface).info, firmware="2.0-0"))

    monkeypatch.setattr(flashed.host, "flash", at_once)
    with pytest.raises(Undecided, match=r"the image of what runs: shows firmware 2\.0-0 afterwards, before 2\.1-0"):
        Firmware().foreign_image_should_be_refused()


def test_an_own_image_that_is_written_in_part_stays_in_the_journal(
    flashed: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks_off(iface: str, _: str) -> Attempt[DriverInfo]:
        return Attempt("flash write failed at 40 %", flashed.host.by_iface(iface).info)

    monkeypatch.setattr(flashed.host, "flash", breaks_off)
    with pytest.raises(Undecided, match=r"the image of what runs: flash write failed at 40 %; expected it taken"):
        Firmware().foreign_image_should_be_refused()
    (entry,) = [entry for entry in taken.journal.pending() if entry.subject.endswith(" image")]
    assert "fw-2.1-0.bin" in entry.action.command


def test_a_wrong_image_that_is_taken_is_replaced_at_once(settings: FakeSettings, taken: Run) -> None:
    settings.faults |= {"takes any image"}
    with pytest.raises(CardFailure, match=r"took firmware image foreign\.bin"):
        Firmware().foreign_image_should_be_refused()
    assert [line.split()[-1] for line in settings.told] == ["fw-2.1-0.bin", "foreign.bin", "fw-2.1-0.bin"] * 2
    assert not [entry for entry in taken.journal.pending() if "image" in entry.subject]


def test_a_card_that_takes_a_wrong_image_and_no_other_one_then_is_the_cards(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.faults |= {"takes any image"}

    def fails(_: object) -> None:
        raise BenchFault("dut: `ethtool -f enp1s0 fw-2.1-0.bin`: the device does not answer")

    monkeypatch.setattr(taken, "undo", fails)
    with pytest.raises(
        CardFailure, match=r"took firmware image foreign\.bin(?s:.*)its own image is not written back: "
    ):
        Firmware().foreign_image_should_be_refused()
    assert [entry for entry in taken.journal.pending() if entry.subject.endswith(" image")], "the journal keeps it"


def test_a_refused_image_leaves_nothing_to_undo(settings: FakeSettings, taken: Run) -> None:
    before = taken.journal.pending()
    Firmware().damaged_images_should_be_refused()
    assert taken.journal.pending() == before
    assert [line.split()[-1] for line in settings.told].count("fw-2.1-0.bin") == 2, "as the proof alone"


REFUSAL = "e1000e 0000:01:00.0: Flash image is not compatible with adapter"
"""As be_fw_download() of be2net words it; cxgb4 has errors of its own."""


@pytest.fixture
def says(
    bench: FakeBench, settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> tuple[KernelWatch, list[str]]:
    """The kernel watch, and lines that the dut's kernel writes when a port is offered a wrong image."""
    watch, lines, flash, times = taken.part(KernelWatch), list[str](), settings.host.flash, count(1)
    watch.begin()
    monkeypatch.setattr(bench.dut, "kernel_s", lambda: float(next(times)))

    def offered(iface: str, file: str) -> object:
        if "foreign" in file and iface == "enp1s0":
            bench.dut.says(*lines, level=3)
        return flash(iface, file)

    monkeypatch.setattr(settings.host, "flash", offered)
    return watch, lines


def test_the_words_of_a_refusal_are_no_trouble(bench: FakeBench, says: tuple[KernelWatch, list[str]]) -> None:
    watch, lines = says
    lines += [REFUSAL, "e1000e 0000:01:00.0 enp1s0: Failed to load firmware"]
    Firmware().foreign_image_should_be_refused()
    assert watch.look() == []
    bench.dut.says(REFUSAL, level=3)
    (found,) = watch.look()
    assert isinstance(found, CardFailure), "nothing was offered then"


@pytest.mark.parametrize(
    "line",
    [
        "e1000e 0000:02:00.0: Flash image is not compatible with adapter",
        "e1000e 0000:01:00.0 enp1s0: Reset adapter unexpectedly",
        "e1000e 0000:01:00.0: UE: MPU_IRAM bit set",
        "NETDEV WATCHDOG: enp1s0 (e1000e): transmit queue 0 timed out",
    ],
)
def test_other_trouble_while_a_wrong_image_is_offered_is_the_cards(
    says: tuple[KernelWatch, list[str]], line: str
) -> None:
    watch, lines = says
    lines += [REFUSAL, line]
    Firmware().foreign_image_should_be_refused()
    (found,) = watch.look()
    assert isinstance(found, CardFailure) and line in str(found) and str(found).count("Flash image") <= 1


def test_a_boot_while_a_wrong_image_is_offered_is_found(
    bench: FakeBench, settings: FakeSettings, says: tuple[KernelWatch, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, _ = says
    flash = settings.host.flash

    def boots(iface: str, file: str) -> object:
        if "foreign" in file:
            bench.dut.boot()
        return flash(iface, file)

    monkeypatch.setattr(settings.host, "flash", boots)
    Firmware().foreign_image_should_be_refused()
    (found,) = watch.look()
    assert isinstance(found, Undecided) and "has booted" in str(found)


def test_missing_files_are_the_labs_fault(settings: FakeSettings) -> None:
    settings.files.clear()
    for keyword in ("foreign_image_should_be_refused", "damaged_images_should_be_refused", "write_other_firmware"):
        with pytest.raises(BenchFault, match=r"^dut: firmware image \S+ is missing, sheet intel-82574l names it$"):
            getattr(Firmware(), keyword)()
    assert settings.told == []


def test_damaged_files_that_nobody_made_are_not_applicable(settings: FakeSettings) -> None:
    """The sheet names the sound image alone."""
    settings.files = {"fw-2.1-0.bin"}
    with pytest.raises(
        NotApplicable, match=r"none of fw-2\.1-0-truncated\.bin, fw-2\.1-0-bit-flipped\.bin is where"
    ) as caught:
        Firmware().damaged_images_should_be_refused()
    assert type(caught.value) is NotApplicable and settings.told == []


@pytest.mark.parametrize("damage", ["truncated", "bit-flipped"])
def test_one_damaged_file_of_two_is_too_few(settings: FakeSettings, damage: str) -> None:
    settings.files -= {f"fw-2.1-0-{damage}.bin"}
    with pytest.raises(BenchFault, match=rf"^dut: firmware image fw-2\.1-0-{damage}\.bin is missing where fw-2\.1-0-"):
        Firmware().damaged_images_should_be_refused()
    assert settings.told == []


def test_a_sheet_without_images_is_silent(bench: FakeBench, settings: FakeSettings, taken: Run) -> None:
    images = bench.sheet.read_text().partition("    images:")[2].partition("\n")[0]
    bench.edit(bench.sheet, (f"    images:{images}\n", ""))
    taken.card = bench.load()[1]
    with pytest.raises(SheetSilent, match=r"^sheet intel-82574l says nothing about firmware images$"):
        Firmware().damaged_images_should_be_refused()
    for keyword in ("foreign_image_should_be_refused", "write_other_firmware"):
        with pytest.raises(SheetSilent, match="names no image"):
            getattr(Firmware(), keyword)()
    assert settings.told == []


def test_ports_with_different_firmware_cannot_be_asked(bench: FakeBench, settings: FakeSettings) -> None:
    nic = bench.dut.nics[1]
    nic.info = replace(nic.info, firmware="2.2-0")
    with pytest.raises(Undecided, match="dut: ports run different firmware"):
        Firmware().write_other_firmware()
    nic.info = replace(nic.info, firmware=None)
    with pytest.raises(Undecided, match="reports no firmware version"):
        Firmware().write_other_firmware()
    assert settings.told == []


def test_firmware_without_an_image_to_come_back_with_is_left_alone(bench: FakeBench, settings: FakeSettings) -> None:
    for nic in bench.dut.nics:
        nic.info = replace(nic.info, firmware="1.8-0")
    with pytest.raises(SheetSilent, match=r"names no image of firmware 1\.8-0, so it cannot be changed and put back"):
        Firmware().write_other_firmware()
    assert settings.told == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("tool: ethtool", "tool: vendor", "says that firmware is written by the vendor's own tool"),
        ("tool: ethtool", "tool: host-loaded", "says that firmware is loaded by the driver each time it starts"),
        ("activation: reset", "activation: {unknown: test}", "does not know firmware.update.activation"),
        ("activation: reset", "activation: power-cycle", "runs after a power-cycle, not a reset"),
    ],
)
def test_what_cannot_be_asked(
    bench: FakeBench, settings: FakeSettings, taken: Run, old: str, new: str, words: str
) -> None:
    assert settings.told == []
    text = bench.sheet.read_text().replace(old, new)
    if "vendor" in new or "host" in new:
        start = text.index("    images:")
        text = text[:start] + text[text.index("    foreign_image", start) :]
    bench.sheet.write_text(text)
    taken.card = bench.load()[1]
    with pytest.raises(NotApplicable, match=words) as caught:
        Firmware().activation_should_be(Activation.RESET)
    assert type(caught.value) is (SheetUnknown if "unknown" in new else NotApplicable)


@pytest.mark.usefixtures("taken")
def test_a_sheet_without_update_is_not_applicable() -> None:
    for keyword in ("write_other_firmware", "foreign_image_should_be_refused", "damaged_images_should_be_refused"):
        with pytest.raises(NotApplicable, match="says nothing about how firmware is updated"):
            getattr(Firmware(), keyword)()


def test_keywords_in_the_wrong_order_are_the_labs_fault(settings: FakeSettings) -> None:
    for ask in (
        lambda firmware: firmware.write_firmware_back(),
        lambda firmware: firmware.firmware_should_run(Which.OTHER),
    ):
        with pytest.raises(BenchFault, match="no firmware was written: 'Write Other Firmware' comes first"):
            ask(Firmware())
    assert settings.told == []
