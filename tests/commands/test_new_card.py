"""A draft of a card sheet is read from the ports of the card that is in, on a bench that can have several."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench

from niclab.bench.bench_file import load_bench
from niclab.bench.records import Role
from niclab.commands import cli, new_card
from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault

OTHER = """
cards:
  some-card:
    ports:
      dut.p0: {pci: "0000:81:00.0"}
      dut.p1: {pci: "0000:81:00.1"}
      peer.p0: {pci: "0000:81:00.0"}
      peer.p1: {pci: "0000:81:00.1"}
"""


@pytest.fixture
def several(bench: FakeBench) -> FakeBench:
    """A bench whose file has two cards: that of ``servers``, and another one."""
    bench.file.write_text(bench.file.read_text() + OTHER)
    return bench


def first_port(bench: FakeBench, card: str = "") -> str:
    return next(port.pci for port in new_card.with_card(load_bench(bench.file), card).ports if port.role is Role.DUT)


def test_the_ports_are_those_of_the_card_that_was_named(several: FakeBench) -> None:
    assert first_port(several, "some-card") == "0000:81:00.0"
    assert first_port(several, "intel-82574l") == "0000:01:00.0"


def test_a_bench_that_says_which_card_is_in_is_asked(several: FakeBench) -> None:
    several.give_slots("some-card", "intel-82574l")
    assert first_port(several) == "0000:81:00.0"
    several.set_state(cards=["intel-82574l", "some-card"])
    assert first_port(several) == "0000:01:00.0"


def test_a_card_that_is_not_in_is_refused_where_the_bench_says_so(several: FakeBench) -> None:
    several.give_slots("intel-82574l", "some-card")
    wanted = r"^bench virtual: card intel-82574l is in the dut; expected some-card \(--card\)$"
    with pytest.raises(BenchFault, match=wanted):
        first_port(several, "some-card")


def test_a_bench_of_several_cards_that_cannot_say_wants_the_name(several: FakeBench) -> None:
    wanted = r"^new-card: --card: missing; expected the card in the dut, some-card or the one of servers$"
    with pytest.raises(BenchFault, match=wanted):
        first_port(several)


def test_a_bench_of_one_card_wants_no_name(bench: FakeBench) -> None:
    assert first_port(bench) == "0000:01:00.0"


def test_the_command_takes_the_name_of_the_card(several: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def seen_of(bench: object) -> object:
        asked.extend(port.pci for port in bench.ports)  # type: ignore[attr-defined]
        raise BenchFault("as far as this test looks")

    monkeypatch.setattr(new_card, "seen_of", seen_of)
    words = ["new-card", "mine", "--from", str(several.file), "--folder", str(several.folder)]
    assert cli.main([*words, "--card", "some-card"]) == ExitStatus.BENCH_FAULT
    assert asked[0] == "0000:81:00.0"
