"""Both operating systems answer every question of the interface, and the page that says how is up to date."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from niclab.bench.records import OperatingSystem
from niclab.card import LinuxOffload, load_card
from niclab.commands.parity import SYSTEMS, parity_page
from niclab.hosts.host import PROTOCOLS
from niclab.hosts.parity import Support, parity, questions
from niclab.hosts.settings import features

REPOSITORY = Path(__file__).parents[2]
SHEETS = sorted(path.stem for path in (REPOSITORY / "lab" / "cards").glob("*.yaml"))


def test_the_interface_is_not_empty() -> None:
    assert {"system.boot_id", "links.ping", "settings.set_feature", "pci.aer"} <= set(questions())
    assert len(questions()) > 50


@pytest.mark.parametrize("question", questions())
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_question_is_answered_with_the_same_words(system: str, question: str) -> None:
    def words(function: object) -> list[tuple[str, object, object]]:
        assert callable(function)
        shown = inspect.signature(function).parameters.values()
        return [(one.name, one.kind, one.default) for one in shown]

    part, _, method = question.partition(".")
    assert words(getattr(SYSTEMS[system][part], method)) == words(getattr(PROTOCOLS[part], method))


def test_protocols_stay_small() -> None:
    sizes = {part: sum(question.startswith(f"{part}.") for question in questions()) for part in PROTOCOLS}
    assert max(sizes.values()) <= 16, sizes


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_is_not_native_says_how_or_why(system: str) -> None:
    for question in questions():
        found = parity(SYSTEMS[system], question)
        assert bool(found.how) is (found.support is not Support.NATIVE), question


def test_what_is_never_available_raises_nothing_else() -> None:
    """That these raise NotApplicable is tested where they are; here, that the list is known."""
    never = {question for question in questions() if parity(SYSTEMS["FreeBSD"], question).support is Support.NONE}
    drivers = {"drivers.is_build_on_disk", "drivers.self_test", "pci.detach_driver", "undo.driver"}
    drivers |= {"drivers.reset_interface", "pci.remove_function", "pci.can_reset_function", "pci.reset_function"}
    queues = {question for question in questions() if question.startswith("queues.")}
    carriers = {"counts.carriers_command", "counts.read_carriers"}
    drivers |= {"drivers.changed_files", "drivers.package_signer", "links.module_memory"}
    drivers |= {"firmware.eeprom", "firmware.registers", "firmware.identify"}
    builds = {question for question in questions() if question.startswith("builds.")}
    builds -= {"builds.sources", "builds.files", "builds.remaining"}
    functions = {question for question in questions() if question.startswith("functions.")}
    assert never == {
        *drivers,
        *queues,
        *functions,
        *builds,
        *carriers,
        "pci.aer",
        "settings.set_channels",
        "undo.channels",
    }


def test_the_page_is_what_the_code_says() -> None:
    assert (REPOSITORY / "docs" / "parity.md").read_text() == parity_page(), "`make docs` writes it again"


def test_no_two_capabilities_share_a_bit_or_a_label() -> None:
    bits = [one.bit for one in features.CAPABILITIES]
    assert bits == sorted(set(bits)) and len({one.label for one in features.CAPABILITIES}) == len(bits)


@pytest.mark.parametrize("sheet", SHEETS)
def test_sheets_and_the_table_of_offloads_agree(sheet: str) -> None:
    offloads = load_card(sheet).offloads
    if offloads is None:
        return
    for name, row in offloads.rows(OperatingSystem.LINUX).items():
        assert isinstance(row, LinuxOffload)
        word = features.LINUX[name]
        assert (row.word, row.set_word or row.word) == (word.shown, word.set), name
    for name, row in offloads.rows(OperatingSystem.FREEBSD).items():
        assert not isinstance(row, LinuxOffload)
        capability = features.FREEBSD[name]
        assert (row.label, row.bit) == (capability.label, capability.bit), name
        assert not row.set_words or capability.word in row.set_words, name


def test_the_offload_table_of_the_emulex_document() -> None:
    """EMX-06: every bit of 507bb has its label, as the document's table has them."""
    wanted = {
        **{0: "RXCSUM", 1: "TXCSUM", 3: "VLAN_MTU", 4: "VLAN_HWTAGGING", 5: "JUMBO_MTU", 7: "VLAN_HWCSUM"},
        **{8: "TSO4", 9: "TSO6", 10: "LRO", 16: "VLAN_HWFILTER", 18: "VLAN_HWTSO"},
    }
    assert {one.bit: one.label for one in features.CAPABILITIES if 0x507BB >> one.bit & 1} == wanted
    assert set(wanted.values()) <= {one.label for one in features.FREEBSD.values()}
