"""Defects of virtual cards: what is injected is in the right word of the right card, and goes again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench_fakes import ControlSocket
from card_fakes import card_bench

import cardfaults
import faults
import layout
import nvram
from cardfaults import CardFaultError
from faults import FaultError, Kind


@pytest.fixture
def bench(tmp_path: Path) -> layout.Bench:
    return card_bench(tmp_path)


@pytest.fixture
def answering(bench: layout.Bench) -> Iterator[None]:
    """The other parts of the bench, which ``clear_all`` asks as well."""
    paths = [bench.folder / f"{part}.control" for part in ("cables", "switch")]
    paths += [server.folder / "bmc.control" for server in bench.servers]
    sockets = [ControlSocket(path, {}) for path in paths]
    yield
    for socket in sockets:
        socket.close()


def words(bench: layout.Bench, role: str) -> dict[tuple[str, int], int]:
    """Every fault word of the card of ``role`` that is not 0: (name, port) -> value."""
    found = {}
    with nvram.opened(bench.server(role).nvram) as memory:
        for word in nvram.words().values():
            for port in range(2):
                offset = nvram.at(0, port, "FAULTS") + 4 * word.index
                if value := memory.u32(offset):
                    found[word.name, port] = value
    return found


def changes(bench: layout.Bench, role: str) -> int:
    with nvram.opened(bench.server(role).nvram) as memory:
        return memory.u32(nvram.constants()["O_CHANGES"])


def test_every_word_of_the_card_is_a_fault_with_a_requirement() -> None:
    assert set(cardfaults.OFFENDS) == set(nvram.words())
    listed = [fault.name for fault in faults.FAULTS if fault.kind is Kind.CARD]
    assert sorted(listed) == sorted([*nvram.words(), *cardfaults.CONTENT])
    assert all(re.match(r"(EMX|CHE|NFS|DEL|SUS|CARD)-\d\d", f.offends) for f in faults.FAULTS if f.kind is Kind.CARD)


@pytest.mark.parametrize("name", sorted(nvram.words()))
@pytest.mark.usefixtures("answering")
def test_a_fault_of_a_card_stands_in_its_word_and_clear_takes_it_away(bench: layout.Bench, name: str) -> None:
    before = changes(bench, "dut")
    faults.set_fault(bench, "card:dut", f"{name}=3")
    ports = [0] if nvram.words()[name].whole_slot else [0, 1]
    assert words(bench, "dut") == {(name, port): 3 for port in ports}
    assert words(bench, "peer") == {}
    assert changes(bench, "dut") == before + 1
    faults.clear_all(bench)
    assert words(bench, "dut") == {}
    assert changes(bench, "dut") == before + 2


def test_a_fault_of_one_port_leaves_the_other_alone(bench: layout.Bench) -> None:
    faults.set_fault(bench, "card:peer.p1", "rx-drop=1000")
    assert words(bench, "peer") == {("rx-drop", 1): 1000}
    assert words(bench, "dut") == {}


def test_faults_add_up(bench: layout.Bench) -> None:
    faults.set_fault(bench, "card:dut", "link-width=4")
    faults.set_fault(bench, "card:dut.p0", "vlan-slow=400")
    faults.set_fault(bench, "card:dut", "link-width=2")
    assert words(bench, "dut") == {("link-width", 0): 2, ("vlan-slow", 0): 400}


def test_cards_of_one_port_have_a_slot_each(tmp_path: Path) -> None:
    bench = card_bench(tmp_path, "alteon-acenic", "alteon-acenic")
    faults.set_fault(bench, "card:dut.p1", "no-link=1")
    word = nvram.words()["no-link"]
    with nvram.opened(bench.server("dut").nvram) as memory:
        assert memory.u32(nvram.fault_at(0, 0, word)) == 0
        assert memory.u32(nvram.fault_at(1, 0, word)) == 1


@pytest.mark.parametrize(
    ("target", "setting", "error", "complaint"),
    [
        ("card:dut", "link-width", FaultError, "link-width takes a value: number"),
        ("card:dut", "link-width=", FaultError, "link-width: '' is no number"),
        ("card:dut", "link-width=0", CardFaultError, "link-width is 0; expected a whole number above 0 (lanes"),
        ("card:dut", "link-width=-1", CardFaultError, "link-width is -1; expected a whole number above 0"),
        ("card:dut", "link-width=1.5", CardFaultError, "link-width is 1.5; expected a whole number"),
        ("card:dut", "link-width=nan", CardFaultError, "link-width is nan; expected a whole number"),
        ("card:dut", "link-width=inf", CardFaultError, "link-width is inf; expected a whole number"),
        ("card:dut", "link-width=5e9", CardFaultError, "link-width is 5e+09; expected a whole number"),
        ("card:dut.p0", "link-width=4", CardFaultError, "link-width is a defect of the whole card; expected card:dut"),
        ("card:dut.p2", "no-link=1", CardFaultError, "the card of dut has no port 'p2'; there are p0, p1"),
        ("card:switch", "no-link=1", CardFaultError, "no server 'switch'; there are dut, peer"),
        ("card:dut", "melted=1", FaultError, "no fault 'melted' for 'card'"),
        ("card:dut", "firmware", FaultError, "firmware takes a value: version"),
        ("card:dut", "same-mac=1", FaultError, "same-mac takes no value"),
    ],
)
def test_what_is_no_fault_is_refused_and_changes_nothing(
    bench: layout.Bench, target: str, setting: str, error: type[Exception], complaint: str
) -> None:
    before = bench.server("dut").nvram.read_bytes()
    with pytest.raises(error, match=re.escape(complaint)):
        faults.set_fault(bench, target, setting)
    assert bench.server("dut").nvram.read_bytes() == before


def test_qemus_card_has_no_such_defects(tmp_path: Path) -> None:
    bench = card_bench(tmp_path, "intel-82574l", "intel-82574l")
    with pytest.raises(CardFaultError, match="dut carries intel-82574l, which has no such defects"):
        faults.set_fault(bench, "card:dut", "no-link=1")


def test_a_card_that_never_had_power_has_no_memory_yet(bench: layout.Bench) -> None:
    bench.server("dut").nvram.unlink()
    with pytest.raises(CardFaultError, match="the emulex-oce11102 of dut has never had power"):
        faults.set_fault(bench, "card:dut", "no-link=1")


@pytest.mark.usefixtures("answering")
def test_firmware_of_one_port_differs_and_comes_back(bench: layout.Bench) -> None:
    with nvram.opened(bench.server("dut").nvram) as memory:
        memory.set_string(nvram.at(0, 0, "FW_ACTIVE"), "4.4.249.3")
        memory.set_string(nvram.at(0, 1, "FW_ACTIVE"), "4.4.249.3")
    faults.set_fault(bench, "card:dut.p1", "firmware=4.2.0.1")
    faults.set_fault(bench, "card:dut.p1", "firmware=4.2.0.2")  # what is kept is that of the healthy card
    with nvram.opened(bench.server("dut").nvram) as memory:
        assert [memory.string(nvram.at(0, port, "FW_ACTIVE")) for port in (0, 1)] == ["4.4.249.3", "4.2.0.2"]
    faults.clear_all(bench)
    with nvram.opened(bench.server("dut").nvram) as memory:
        assert [memory.string(nvram.at(0, port, "FW_ACTIVE")) for port in (0, 1)] == ["4.4.249.3", "4.4.249.3"]


@pytest.mark.usefixtures("answering")
def test_twins_and_their_end(bench: layout.Bench) -> None:
    dut, peer = bench.servers
    healthy = dut.nvram.read_bytes()
    faults.set_fault(bench, "card:dut", "same-serial")
    faults.set_fault(bench, "card:dut", "same-mac")
    with nvram.opened(dut.nvram) as memory:
        assert memory.string(nvram.slot_at(0, "SERIAL")) == peer.serial != dut.serial
        assert memory.mac(0, 0) == memory.mac(0, 1) == dut.ports[0].mac
    faults.clear_all(bench)
    with nvram.opened(dut.nvram) as memory:
        memory.set_u32(nvram.constants()["O_CHANGES"], 1)
    assert dut.nvram.read_bytes() == healthy


@pytest.mark.usefixtures("answering")
def test_a_card_that_is_put_in_again_is_healthy_after_clear(tmp_path: Path, bench: layout.Bench) -> None:
    faults.set_fault(bench, "card:dut", "no-link=1")
    other = card_bench(tmp_path, "intel-x520", "intel-x520")
    faults.clear_all(other)
    assert words(bench, "dut") == {}


@pytest.mark.usefixtures("answering")
def test_a_damaged_memory_is_told_and_the_rest_is_cleared(bench: layout.Bench) -> None:
    faults.set_fault(bench, "card:peer", "no-link=1")
    bench.server("dut").nvram.write_bytes(b"junk" * 64)
    with pytest.raises(FaultError, match=r"not everything is cleared: .*dut/nvram-emulex-oce11102: magic"):
        faults.clear_all(bench)
    assert words(bench, "peer") == {}
