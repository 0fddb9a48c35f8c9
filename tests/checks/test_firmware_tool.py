"""A tool of the vendor, or devlink, writes firmware: it is put back, and its words decide who is to blame."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench
from fake_settings import FakeSettings, settings_of

from Firmware import Firmware, Which
from niclab.card import Activation
from niclab.checks.flashing import Writer
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.settings.settings_records import ToolAnswer, ToolRun
from niclab.run.run import Run

UPDATE = """firmware:
  update:
    tool: vendor
    command: {line: "elxflash {interface} {image}", needs: [bash, elxflash], refused: "image is invalid", source: test}
    activation: reset
    images: [{version: "2.1-0", file: fw-2.1-0.bin}, {version: "2.2-0", file: fw-2.2-0.bin}]
    foreign_image: foreign.bin
    source: test
"""
UNSUPPORTED = ToolRun(ToolAnswer.UNSUPPORTED, "Unsupported OS: FreeBSD 9.1")
FAILED = ToolRun(ToolAnswer.FAILED, "no adapter found")
REFUSED = ToolRun(ToolAnswer.REFUSED, "image is invalid")


@pytest.fixture
def settings(bench: FakeBench, taken: Run) -> FakeSettings:
    return _with(bench, taken, UPDATE)


def _with(bench: FakeBench, taken: Run, update: str) -> FakeSettings:
    bench.edit(bench.sheet, ("firmware:\n", update))
    taken.card = bench.load()[1]
    made = settings_of(bench)
    made.files = {"fw-2.1-0.bin", "fw-2.2-0.bin", "foreign.bin"}
    made.programs = {"bash", "elxflash", "devlink"}
    return made


def test_firmware_is_changed_and_put_back(settings: FakeSettings, taken: Run) -> None:
    firmware, before = Firmware(), taken.journal.pending()
    firmware.firmware_should_be_written_by(Writer.TOOL)
    firmware.activation_should_be(Activation.RESET)
    firmware.write_other_firmware()
    entries = [entry.action.command for entry in taken.journal.pending() if entry not in before]
    assert entries == ["elxflash enp2s0 fw-2.1-0.bin", "elxflash enp1s0 fw-2.1-0.bin", "reboot"], "in this order"
    settings.activate()
    firmware.firmware_should_run(Which.OTHER)
    firmware.write_firmware_back()
    settings.activate()
    firmware.firmware_should_run(Which.FORMER)
    assert taken.journal.pending() == before


def test_a_wrong_image_that_the_tool_says_the_card_refused_is_refused(settings: FakeSettings) -> None:
    Firmware().foreign_image_should_be_refused()
    assert len(settings.told) == 4, "each port is offered its own image once, and the wrong one"


def test_a_tool_that_lies_about_its_success_is_seen(settings: FakeSettings) -> None:
    settings.faults.add("tool lies")
    firmware = Firmware()
    firmware.write_other_firmware()
    settings.activate()
    with pytest.raises(CardFailure, match=r"dut\.p0 \(\S+\) runs firmware 2\.1-0; expected 2\.2-0"):
        firmware.firmware_should_run(Which.OTHER)


def test_an_image_that_the_tool_says_the_card_refused_is_the_cards(settings: FakeSettings) -> None:
    settings.tool_said = REFUSED
    with pytest.raises(CardFailure, match=r"refused firmware image fw-2\.2-0\.bin: image is invalid"):
        Firmware().write_other_firmware()


@pytest.mark.parametrize("said", [UNSUPPORTED, FAILED])
def test_a_tool_that_fails_otherwise_decides_nothing(settings: FakeSettings, said: ToolRun) -> None:
    settings.tool_said = said
    for keyword in (Firmware().write_other_firmware, Firmware().foreign_image_should_be_refused):
        with pytest.raises(Undecided, match=said.words):
            keyword()


def test_a_tool_that_does_not_support_the_system_leaves_nothing_to_undo(settings: FakeSettings, taken: Run) -> None:
    before, settings.tool_said = taken.journal.pending(), UNSUPPORTED
    with pytest.raises(Undecided, match="the tool does not support the system of the dut: Unsupported OS"):
        Firmware().write_other_firmware()
    assert taken.journal.pending() == before


def test_a_tool_that_writes_although_it_does_not_support_the_system_is_undone(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, write_with = taken.journal.pending(), settings.write_with

    def all_the_same(*asked: str) -> ToolRun:
        write_with(*asked)  # type: ignore[arg-type]
        settings.activate()
        return UNSUPPORTED

    monkeypatch.setattr(settings.host, "write_with", all_the_same)
    with pytest.raises(Undecided, match="Unsupported OS"):
        Firmware().write_other_firmware()
    left = [entry.action.command for entry in taken.journal.pending() if entry not in before]
    assert left == ["elxflash enp1s0 fw-2.1-0.bin", "reboot"]


def test_a_tool_that_fails_at_the_second_port_leaves_the_first_to_undo(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, write_with = taken.journal.pending(), settings.write_with

    def at_the_first(tool: object, iface: str, *more: str) -> ToolRun:
        return write_with(tool, iface, *more) if iface == "enp1s0" else UNSUPPORTED  # type: ignore[arg-type]

    monkeypatch.setattr(settings.host, "write_with", at_the_first)
    with pytest.raises(Undecided):
        Firmware().write_other_firmware()
    left = [entry.action.command for entry in taken.journal.pending() if entry not in before]
    assert left == ["elxflash enp1s0 fw-2.1-0.bin", "reboot"]


def test_a_tool_that_fails_may_have_written(settings: FakeSettings, taken: Run) -> None:
    before, settings.tool_said = taken.journal.pending(), FAILED
    with pytest.raises(Undecided, match="the tool failed, and does not say that the card refused: no adapter found"):
        Firmware().write_other_firmware()
    left = [entry.action.command for entry in taken.journal.pending() if entry not in before]
    assert left == ["elxflash enp1s0 fw-2.1-0.bin", "reboot"]


def test_a_wrong_image_that_a_failing_tool_has_written_is_the_cards(
    settings: FakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_with = settings.write_with

    def fails(tool: object, iface: str, address: str, file: str) -> ToolRun:
        said = write_with(tool, iface, address, file)  # type: ignore[arg-type]
        return FAILED if file == "foreign.bin" else said

    settings.faults |= {"takes any image", "takes it at once"}
    monkeypatch.setattr(settings.host, "write_with", fails)
    with pytest.raises(CardFailure, match=r"^dut\.p0 \(\S+\) shows firmware 6\.6-6 after foreign\.bin, before 2\.1-0"):
        Firmware().foreign_image_should_be_refused()


def test_a_wrong_image_of_which_nobody_knows_is_replaced_after_the_test(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart may come next, and would let it run."""
    before, write_with = taken.journal.pending(), settings.write_with
    monkeypatch.setattr(
        settings.host,
        "write_with",
        lambda *asked: FAILED if asked[-1] == "foreign.bin" else write_with(*asked),
    )
    with pytest.raises(Undecided, match="no adapter found"):
        Firmware().foreign_image_should_be_refused()
    assert taken.journal.pending() != before
    Firmware().put_firmware_back()
    assert settings.told[-1].endswith("enp1s0 fw-2.1-0.bin")
    assert [line for line in settings.told if "foreign" in line] == []
    assert taken.journal.pending() == before


@pytest.mark.parametrize(("of", "taken_by"), [("truncated", "enp1s0"), ("enp1s0", "enp2s0")])
def test_a_wrong_image_of_which_nobody_knows_hides_none_that_is_taken(
    settings: FakeSettings, monkeypatch: pytest.MonkeyPatch, of: str, taken_by: str
) -> None:
    """Such as a cut file that the tool cannot read, before one with a wrong bit; or one port before the other."""
    settings.files |= {"fw-2.1-0-truncated.bin", "fw-2.1-0-bit-flipped.bin"}
    settings.faults.add("takes any image")
    write_with = settings.write_with

    def fails(tool: object, iface: str, address: str, file: str) -> ToolRun:
        is_wrong = file.endswith(("truncated.bin", "flipped.bin"))
        return FAILED if is_wrong and of in f"{iface} {file}" else write_with(tool, iface, address, file)  # type: ignore[arg-type]

    monkeypatch.setattr(settings.host, "write_with", fails)
    with pytest.raises(CardFailure, match=r"took firmware image fw-2\.1-0-(bit-flipped|truncated)\.bin") as caught:
        Firmware().damaged_images_should_be_refused()
    (first, *_) = str(caught.value).splitlines()
    assert settings.host.by_iface(taken_by).pci in first


def test_a_program_that_the_tool_needs_and_does_not_find_is_the_benchs(settings: FakeSettings, taken: Run) -> None:
    before = taken.journal.pending()
    settings.programs.remove("bash")
    for keyword in (Firmware().write_other_firmware, Firmware().foreign_image_should_be_refused):
        with pytest.raises(
            BenchFault, match=r"^dut: bash not found; expected it for the tool that writes firmware \(she"
        ):
            keyword()
    assert taken.journal.pending() == before and settings.told == []


def test_tests_of_the_driver_are_not_asked_where_the_tool_writes(settings: FakeSettings) -> None:
    assert settings.told == []
    with pytest.raises(NotApplicable, match="firmware is written by a tool of the vendor, not by the driver"):
        Firmware().firmware_should_be_written_by(Writer.DRIVER)


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("vendor", "written by the vendor's own tool, and names no command of it"),
        ("host-loaded", "loaded by the driver each time it starts"),
        ("ethtool", "written by the driver, not by a tool of the vendor"),
        ("devlink", "written by the driver, not by a tool of the vendor"),
    ],
)
def test_a_card_whose_firmware_no_tool_writes_is_not_asked(bench: FakeBench, taken: Run, tool: str, said: str) -> None:
    _with(bench, taken, f"firmware:\n  update: {{tool: {tool}, activation: reset, source: test}}\n")
    with pytest.raises(NotApplicable, match=f"^sheet intel-82574l says that firmware is {said}$"):
        Firmware().firmware_should_be_written_by(Writer.TOOL)


def test_devlink_writes_as_the_driver_does(bench: FakeBench, taken: Run) -> None:
    command = UPDATE[UPDATE.index("    command") : UPDATE.index("    activation")]
    settings = _with(bench, taken, UPDATE.replace(command, "").replace("tool: vendor", "tool: devlink"))
    firmware = Firmware()
    firmware.firmware_should_be_written_by(Writer.DRIVER)
    firmware.write_other_firmware()
    assert taken.journal.pending()[0].action.command == "devlink enp2s0 fw-2.1-0.bin"
    settings.programs.remove("devlink")
    with pytest.raises(BenchFault, match=r"^dut: devlink not found"):
        firmware.write_firmware_back()
