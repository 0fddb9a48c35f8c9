"""Looks into the card of the dut: what is read wrong or disturbs a link fails, and what nobody offers is not asked."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest
from fake_bench import FakeBench
from fake_parts import PING, FakeHost

from Looks import Looks
from niclab.bench.records import Role
from niclab.card import load_card
from niclab.card.settings_facts import EepromFacts
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.files.repository import REPOSITORY
from niclab.hosts.errors import LookFailed, NotOffered
from niclab.links.returning.eeprom import EEPROM_BYTES
from niclab.links.returning.undisturbed import LookInside
from niclab.run.run import Run

SHEETS = sorted(file.stem for file in (REPOSITORY / "lab/cards").glob("*.yaml"))
WITH_SUM = {"intel-82574l", "intel-82576"}
"""The chips of Intel whose first 64 words add up to 0xBABA; those of the 82599 do not alone."""


def with_sum(words: int = 64, total: int = 0xBABA) -> bytes:
    """An EEPROM whose words add up, the last one of them making them so."""
    values = [*range(0x1000, 0x1000 + words - 1)]
    values.append((total - sum(values)) & 0xFFFF)
    return struct.pack(f"<{words}H", *values)


class Memory:
    """The EEPROMs of the dut: what each read of one shows; the last one is shown for ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads: dict[str, list[bytes | Exception]] = {}
        monkeypatch.setattr(FakeHost, "eeprom", lambda _, iface, length: self._eeprom(iface, length))

    def _eeprom(self, iface: str, length: int) -> bytes:
        assert length == EEPROM_BYTES
        left = self.reads[iface]
        shown = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(shown, Exception):
            raise shown
        return shown


@pytest.fixture
def memory(taken: Run, monkeypatch: pytest.MonkeyPatch) -> Memory:
    made = Memory(monkeypatch)
    for port in taken.ports(Role.DUT):
        made.reads[taken.interface(port)] = [with_sum()]
    return made


def given(taken: Run, sheet: str) -> None:
    taken.card = taken.card.model_copy(update={"eeprom": load_card(sheet).eeprom})


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("sheet", SHEETS)
def test_a_sound_eeprom_passes_with_every_sheet(taken: Run, sheet: str) -> None:
    given(taken, sheet)
    assert (taken.card.eeprom is not None) is (sheet in WITH_SUM)
    Looks().every_eeprom_should_be_read_right()


def test_reads_that_differ_fail(memory: Memory) -> None:
    memory.reads["enp2s0"] = [with_sum(), with_sum()[:5] + b"\x55" + with_sum()[6:]]
    with pytest.raises(CardFailure) as caught:
        Looks().every_eeprom_should_be_read_right()
    found = "dut.p1 (0000:02:00.0): EEPROM byte 0x0005 0x55 (1 differ)"
    assert str(caught.value) == f"{found}; expected 0x10, as read before"


def test_reads_of_different_lengths_fail(memory: Memory) -> None:
    memory.reads["enp1s0"] = [with_sum(), with_sum()[:64]]
    with pytest.raises(CardFailure, match=r"^dut\.p0 .*: EEPROM 64 bytes; expected 128 bytes, as read before$"):
        Looks().every_eeprom_should_be_read_right()


def test_a_wrong_sum_fails_where_the_sheet_has_one(memory: Memory, taken: Run) -> None:
    for shown in memory.reads.values():
        shown[:] = [with_sum(total=0xBABB)]
    given(taken, "intel-x520")
    Looks().every_eeprom_should_be_read_right()
    given(taken, "intel-82574l")
    with pytest.raises(CardFailure) as caught:
        Looks().every_eeprom_should_be_read_right()
    said = "words 0x00 to 0x3F of its EEPROM add up to 0xBABB; expected 0xBABA (sheet intel-82574l)"
    assert str(caught.value).splitlines()[0] == f"dut.p0 (0000:01:00.0): {said}"


@pytest.mark.parametrize("byte", [0x00, 0xFF])
def test_an_eeprom_of_one_byte_fails(memory: Memory, byte: int) -> None:
    """It is erased, or does not answer; its reads are all the same."""
    memory.reads["enp2s0"] = [bytes([byte]) * EEPROM_BYTES]
    said = f"reads 0x{byte:02x} as every byte of its EEPROM; expected its contents"
    with pytest.raises(CardFailure, match=rf"^dut\.p1 \(0000:02:00\.0\): {said}$"):
        Looks().every_eeprom_should_be_read_right()


def test_an_eeprom_that_is_too_short_for_its_sum_fails(memory: Memory, taken: Run) -> None:
    memory.reads["enp1s0"] = [bytes(64)]
    given(taken, "intel-82574l")
    with pytest.raises(CardFailure, match=r"^dut\.p0 .*: 64 bytes of EEPROM; expected 128 at least \(sheet intel-825"):
        Looks().every_eeprom_should_be_read_right()


def test_a_sum_of_fewer_words(memory: Memory, taken: Run) -> None:
    facts = EepromFacts(words=8, sum="1234", source="made up")
    taken.card = taken.card.model_copy(update={"eeprom": facts})
    for shown in memory.reads.values():
        shown[:] = [with_sum(8, 0x1234) + b"\xff" * 100]
    Looks().every_eeprom_should_be_read_right()


def test_an_eeprom_that_cannot_be_read_fails(memory: Memory) -> None:
    memory.reads["enp2s0"] = [LookFailed("dut: Input/output error")]
    with pytest.raises(CardFailure, match=r"^dut\.p1 .*: its EEPROM cannot be read: dut: Input/output error$"):
        Looks().every_eeprom_should_be_read_right()


@pytest.mark.usefixtures("taken")
def test_a_driver_without_eeprom_is_not_asked() -> None:
    with pytest.raises(NotApplicable, match="dut: enp1s0 shows none\ndut: enp2s0 shows none"):
        Looks().every_eeprom_should_be_read_right()


def test_one_port_without_eeprom_leaves_it_undecided(memory: Memory) -> None:
    memory.reads["enp2s0"] = [NotOffered("dut: enp2s0 shows none")]
    with pytest.raises(Undecided, match=r"^dut: enp2s0 shows none$"):
        Looks().every_eeprom_should_be_read_right()
    memory.reads["enp1s0"] = [with_sum(), with_sum()[:5] + b"\x55" + with_sum()[6:]]
    with pytest.raises(CardFailure, match=r"^dut\.p0 "):
        Looks().every_eeprom_should_be_read_right()


class Taken:
    """The looks that were taken, and what each does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log = list[str]()
        self.then: Callable[[str], object] = lambda _: None
        monkeypatch.setattr(FakeHost, "registers", lambda _, iface: self._looked("dump", iface) or 4580)
        monkeypatch.setattr(FakeHost, "identify", lambda _, iface, seconds: self._looked(f"blink {seconds}", iface))

    def _looked(self, how: str, iface: str) -> None:
        self.log.append(f"{how} {iface}")
        self.then(iface)


@pytest.fixture
def looked(taken: Run, monkeypatch: pytest.MonkeyPatch) -> Taken:
    assert taken.interfaces, "its ports are prepared"
    return Taken(monkeypatch)


@pytest.mark.parametrize(("look", "log"), [(LookInside.REGISTERS, "dump"), (LookInside.IDENTIFY, "blink 1")])
def test_a_look_that_disturbs_nothing_passes(bench: FakeBench, looked: Taken, look: LookInside, log: str) -> None:
    Looks().every_link_should_stay(look)
    assert looked.log == [f"{log} enp1s0", f"{log} enp2s0"], "the kernel lets one port blink at a time"
    pings = [call for host in (bench.dut, bench.peer) for call in host.calls if call.startswith("ping ")]
    assert len(pings) == 4


@pytest.mark.parametrize("look", LookInside)
def test_a_look_that_takes_the_link_fails(bench: FakeBench, looked: Taken, look: LookInside) -> None:
    def then(iface: str) -> None:
        bench.dut.by_iface(iface).changes += 2 if iface == "enp2s0" else 0

    looked.then = then
    with pytest.raises(CardFailure) as caught:
        Looks().every_link_should_stay(look)
    said = f"counted 2 changes of carrier while {look.value}; expected none"
    assert str(caught.value) == f"dut.p1 (0000:02:00.0) {said}"


def test_a_link_that_only_the_peer_lost_is_the_benchs(bench: FakeBench, looked: Taken) -> None:
    looked.then = lambda _: setattr(bench.nic("peer.p0"), "changes", 9)
    with pytest.raises(BenchFault, match=r"^peer\.p0 .*counted 6 changes of carrier while its registers were read"):
        Looks().every_link_should_stay(LookInside.REGISTERS)


def test_a_port_that_carries_nothing_afterwards_fails(bench: FakeBench, looked: Taken) -> None:
    looked.then = lambda iface: setattr(bench.dut.by_iface(iface), "ping", replace(PING, received=0))
    with pytest.raises(CardFailure, match=r"dut\.p0 \(.*\) to peer\.p0: 0 of 10 pings answered"):
        Looks().every_link_should_stay(LookInside.REGISTERS)


@pytest.mark.parametrize("look", LookInside)
def test_a_look_that_fails_is_the_cards(looked: Taken, look: LookInside) -> None:
    def then(iface: str) -> None:
        raise LookFailed(f"dut: {iface}: Input/output error")

    looked.then = then
    with pytest.raises(CardFailure, match=r"^dut\.p0 \(.*\) cannot be looked into: dut: enp1s0: Input/output error\n"):
        Looks().every_link_should_stay(look)


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize("look", LookInside)
def test_a_driver_without_a_look_is_not_asked(look: LookInside) -> None:
    with pytest.raises(NotApplicable, match="dut: enp1s0 shows none\ndut: enp2s0 shows none"):
        Looks().every_link_should_stay(look)


def test_one_port_that_offers_it_is_judged(bench: FakeBench, looked: Taken) -> None:
    def then(iface: str) -> None:
        if iface == "enp1s0":
            raise NotOffered("dut: enp1s0: none")
        bench.dut.by_iface(iface).changes += 1

    looked.then = then
    with pytest.raises(CardFailure, match=r"^dut\.p1 .*counted 1 changes of carrier"):
        Looks().every_link_should_stay(LookInside.REGISTERS)


def test_one_port_that_offers_none_leaves_it_undecided(looked: Taken) -> None:
    def then(iface: str) -> None:
        if iface == "enp1s0":
            raise NotOffered("dut: enp1s0: none")

    looked.then = then
    with pytest.raises(Undecided, match=r"^dut: enp1s0: none$"):
        Looks().every_link_should_stay(LookInside.REGISTERS)
