"""The cards in the servers: what a model says of them, what the bench remembers, what can be connected."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from bench_fakes import bench_in, wait_for_part
from card_fakes import CARD, card_bench

import cardmodel
import layout
import lifecycle
import nvram
import parts
import server as machine
import slots
from cardmodel import ModelError
from identity import Identity
from nvram import Place
from slots import SlotError

VIRTUAL = cardmodel.virtual_names()


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(layout, "STATE", tmp_path)
    return tmp_path


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one model, ``card.yaml``, which a test may spoil."""
    text = (cardmodel.MODELS / f"{CARD}.yaml").read_text()
    (tmp_path / "card.yaml").write_text(text)
    monkeypatch.setattr(cardmodel, "MODELS", tmp_path)
    return tmp_path / "card.yaml"


@pytest.mark.parametrize("name", VIRTUAL)
def test_every_model_is_a_card_of_two_ports(name: str) -> None:
    card = cardmodel.card(name)
    assert card.virtual
    assert len(card.pci) == len(card.places) == len(set(card.places)) == 2
    assert all(re.fullmatch(r"0000:8[12]:00\.[0-7]", pci) for pci in card.pci)
    assert re.fullmatch(r"[0-9a-f]{2}(:[0-9a-f]{2}){2}", card.mac_prefix)
    assert card.line_rate_mbps / card.rate_scale in (25.0, 50.0, 200.0)


def test_ports_are_functions_of_one_card_or_cards_of_their_own() -> None:
    assert cardmodel.card(CARD).pci == ("0000:81:00.0", "0000:81:00.1")
    assert cardmodel.card(CARD).places == (Place(0, 0), Place(0, 1))
    assert cardmodel.card("alteon-acenic").pci == ("0000:81:00.0", "0000:82:00.0")
    assert cardmodel.card("alteon-acenic").places == (Place(0, 0), Place(1, 0))


def _devices(name: str) -> list[dict[str, str]]:
    """The PCI devices of QEMU's model of a card: properties, the model itself as ``model``."""
    bench = layout.bench("t", dict.fromkeys(layout.ROLES, cardmodel.card(name)))
    words = machine.card_arguments(bench.server("dut"), None)
    assert set(words[::2]) == {"-device"}
    return [dict(field.split("=") for field in f"model={device}".split(",")) for device in words[1::2]]


def test_the_ports_of_one_card_are_functions_that_lead_to_each_other() -> None:
    slot, *functions = _devices("intel-82576")
    assert (slot["model"], slot["x-width"]) == ("pcie-root-port", "4")
    assert [(each["model"], each["bus"], each["addr"]) for each in functions] == [
        ("igb", "root0", "0.0"),
        ("igb", "root0", "0.1"),
    ]
    assert [each["x-pcie-ari-nextfn-1"] for each in functions] == ["on", "off"]


def test_cards_of_one_port_have_a_slot_each() -> None:
    slots_and_cards = _devices("intel-82574l")
    assert [each["model"] for each in slots_and_cards] == ["pcie-root-port"] * 2 + ["e1000e"] * 2
    assert [each["bus"] for each in slots_and_cards[2:]] == ["root0", "root1"]


@pytest.mark.parametrize("name", ["", "no-such-card", "../benches/virtual", "A", "emulex-oce11102.yaml"])
def test_a_card_without_a_model_is_refused_and_those_there_are_named(name: str) -> None:
    with pytest.raises(ModelError, match=re.escape(f"no card {name!r}; there are alteon-acenic, ")):
        cardmodel.card(name)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("mbps: 10000", "mbps: fast", "link.mbps: 'fast'; expected a whole number above 0"),
        ("mbps: 10000", "speed: 10000", "link.mbps: missing; expected a whole number"),
        ("scale: 400", "scale: 0", "scale: 0; expected a whole number above 0"),
        ("scale: 400", "scale: true", "scale: True; expected"),
        ('mac_prefix: "00:00:c9"', 'mac_prefix: ""', "mac_prefix: ''; expected a text"),
        ("costs:", "- costs:", "not YAML"),
    ],
)
def test_a_model_that_lacks_what_the_bench_needs_is_refused(models: Path, old: str, new: str, complaint: str) -> None:
    text = models.read_text()
    assert old in text
    models.write_text(text.replace(old, new))
    with pytest.raises(ModelError, match=complaint):
        cardmodel.card("card")


def test_a_model_that_is_a_list_is_refused(models: Path) -> None:
    models.write_text("[1, 2]")
    with pytest.raises(ModelError, match="list; expected a model"):
        cardmodel.card("card")


@pytest.mark.usefixtures("state")
def test_a_bench_that_remembers_nothing_has_qemus_cards() -> None:
    assert [server.card.name for server in slots.bench("t").servers] == [cardmodel.DEFAULT] * 2


def test_cards_are_remembered(state: Path) -> None:
    (state / "t").mkdir()
    slots.remember(slots.exchanged(slots.bench("t"), {"dut": "intel-x520", "peer": CARD}))
    assert [server.card.name for server in slots.bench("t").servers] == ["intel-x520", CARD]
    assert slots.exchanged(slots.bench("t"), {"peer": "intel-x520"}).server("dut").card.name == "intel-x520"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"dut": "intel-x520"}', '{"dut": "a", "peer": "b", "switch": "c"}'])
def test_a_damaged_memory_is_told(state: Path, text: str) -> None:
    (state / "t").mkdir()
    (state / "t/cards.json").write_text(text)
    with pytest.raises(SlotError, match=r"cards\.json: "):
        slots.bench("t")


@pytest.mark.parametrize(
    ("dut", "peer", "complaint"),
    [
        ("intel-82574l", CARD, "intel-82574l and emulex-oce11102 cannot be connected"),
        (CARD, "intel-82574l", "a card of QEMU's does not link with a virtual card"),
        (CARD, "chelsio-t580-cr", r"emulex-oce11102 \(10000 Mbit/s\) and chelsio-t580-cr \(40000 Mbit/s\) cannot"),
    ],
)
@pytest.mark.usefixtures("state")
def test_cards_that_cannot_be_connected_are_refused(dut: str, peer: str, complaint: str) -> None:
    with pytest.raises(SlotError, match=complaint):
        slots.exchanged(slots.bench("t"), {"dut": dut, "peer": peer})


def test_a_card_has_a_memory_and_a_serial_number_of_its_own(tmp_path: Path) -> None:
    first, second = card_bench(tmp_path), card_bench(tmp_path, "intel-x520", "intel-x520")
    servers = [*first.servers, *second.servers]
    assert len({server.nvram for server in servers}) == len({server.serial for server in servers}) == 4


def test_the_machine_has_the_memory_and_a_wire_for_each_port(tmp_path: Path) -> None:
    bench = card_bench(tmp_path, "alteon-acenic", "alteon-acenic")
    words = machine.card_arguments(bench.server("dut"), tmp_path / "vendor.ext4")
    text = " ".join(words)
    assert f"mem-path={bench.server('dut').nvram}" in text
    assert f"share=on,size={nvram.constants()['FILE_SIZE']}," in text
    assert "id=p0,mac=02:76:63:00:00:00" in text
    assert "id=p1,mac=02:76:63:00:01:00" in text
    assert "e1000e" not in text
    assert f"file={tmp_path}/vendor.ext4,if=none,id=vendor,format=raw,readonly=on" in text


def test_qemus_card_needs_none_of_it(tmp_path: Path) -> None:
    text = " ".join(machine.card_arguments(bench_in(tmp_path).server("dut"), None))
    assert text.count("e1000e,") == 2
    assert "ivshmem" not in text


def test_the_state_of_a_bench_names_its_cards(state: Path) -> None:
    (state / "t").mkdir()
    slots.remember(slots.exchanged(slots.bench("t"), {"dut": CARD, "peer": "intel-x520"}))
    assert json.loads((state / "t/cards.json").read_text()) == {"dut": CARD, "peer": "intel-x520"}


def test_an_exchange_ends_the_server_and_the_cables_and_leaves_the_other_server(state: Path) -> None:
    (state / "t").mkdir()
    slots.remember(slots.exchanged(slots.bench("t"), {"dut": CARD, "peer": CARD}))
    bench = slots.bench("t")
    for server in bench.servers:
        server.folder.mkdir()
    names = ("qemu-dut", "qemu-peer", "cables", "consoles")
    children = {name: _like_a_part(bench, name) for name in names}
    try:
        after = lifecycle.exchange(bench, {"dut": "intel-x520"})
        assert after.server("dut").card.name == "intel-x520"
        assert slots.bench("t") == after
        assert sorted(parts.running(bench)) == ["consoles", "qemu-peer"]
        assert lifecycle.exchange(after, {"dut": "intel-x520"}) is after
        assert sorted(parts.running(bench)) == ["consoles", "qemu-peer"]
    finally:
        for child in children.values():
            child.kill()
            child.wait(5)


def _like_a_part(bench: layout.Bench, name: str) -> subprocess.Popen[bytes]:
    """A process with the identity of that part."""
    environment = {**os.environ, "VBENCH": str(bench.folder), "VBENCH_PART": name}
    child = subprocess.Popen(["sleep", "60"], env=environment)
    wait_for_part(child, name)
    return child


def test_cables_of_virtual_cards_keep_no_wire_time(tmp_path: Path) -> None:
    for card, paced in ((CARD, False), ("alteon-acenic", False), ("intel-82574l", True)):
        bench = card_bench(tmp_path, card, card)
        rate_mbps = bench.servers[0].card.line_rate_mbps / bench.servers[0].card.rate_scale
        (panel,) = [part for part in parts.parts(bench, Identity(bench)) if part.name == "cables"]
        config = panel.config["cables"]
        assert isinstance(config, dict)
        assert {(cable["paced"], cable["rate_mbps"]) for cable in config.values()} == {(paced, rate_mbps)}
        assert {cable["keeps_light"] for cable in config.values()} == {not paced}
