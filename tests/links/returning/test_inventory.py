"""The card after starts of the dut: each fact that is another one fails, and what is not the card's is not charged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest
from fake_bench import FakeBench
from fake_parts import INFO, FakeHost, Nic, link_of

from niclab.bench.records import Role
from niclab.card import load_card
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.files.repository import REPOSITORY
from niclab.hosts.errors import LookFailed, NoInterface
from niclab.hosts.host_records import DriverInfo, LinkSettings
from niclab.hosts.settings.ethtool_records import Rings, RingSizes
from niclab.links.returning import inventory
from niclab.links.returning.starts import Start
from niclab.run.acquiring.ready import make_ready
from niclab.run.run import Run
from niclab.transports.bmc.bmc import PowerAction
from Power import Power
from TakenPorts import TakenPorts

SHEETS = sorted(file.stem for file in (REPOSITORY / "lab/cards").glob("*.yaml"))


class Card:
    """The card of the dut: ``then`` changes its first port at each boot."""

    def __init__(self, bench: FakeBench) -> None:
        self.bench, self.boots = bench, 0
        self.then: Callable[[Nic], object] = lambda _: None
        self.rings = 256
        self.eeprom: bytes | Exception = NotApplicable("dut: its driver shows no EEPROM")
        before = bench.dut.on_boot

        def on_boot() -> None:
            before()
            self.boots += 1
            self.then(bench.dut.nics[0])

        bench.dut.on_boot = on_boot

    def shown_eeprom(self) -> bytes:
        if isinstance(self.eeprom, Exception):
            raise self.eeprom
        return self.eeprom


@pytest.fixture
def card(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Card:
    assert taken.interfaces, "its ports are prepared"
    made = Card(bench)
    sizes = lambda _, iface: Rings(iface, *[RingSizes(made.rings, None, None, 256)] * 2)  # noqa: E731
    monkeypatch.setattr(FakeHost, "rings", sizes)
    monkeypatch.setattr(FakeHost, "eeprom", lambda _, iface, length: made.shown_eeprom()[: length or len(iface)])
    return made


def start(kind: Start) -> None:
    """As the quick tests do: a start that the run makes anyway."""
    Power().start_the_dut_once(kind)
    TakenPorts().every_port_should_have_come_back_with_the_start(kind)


def again(kind: Start = Start.COLD) -> None:
    """As the repeated tests do."""
    TakenPorts().remember_every_port()
    power = Power()
    (power.power_cycle if kind is Start.COLD else power.reboot)(Role.DUT)
    TakenPorts().every_port_should_be_there(kind)
    TakenPorts().every_port_should_be_as_remembered(kind)


@pytest.mark.parametrize("sheet", SHEETS)
def test_a_sound_card_is_the_same_after_every_start(card: Card, taken: Run, sheet: str) -> None:
    taken.card = taken.card.model_copy(update={"pcie": load_card(sheet).pcie, "eeprom": load_card(sheet).eeprom})
    again(Start.WARM)
    card.eeprom = bytes(range(256)) * 4
    again(Start.COLD)
    assert card.boots == 2


@pytest.mark.parametrize("kind", Start)
def test_the_start_that_is_made_anyway_is_compared(bench: FakeBench, card: Card, kind: Start) -> None:
    for _ in range(2):
        start(kind)
    assert card.boots == 1
    orders = bench.bmcs[Role.DUT]["ipmi"].orders
    assert orders == ([PowerAction.OFF, PowerAction.ON] if kind is Start.COLD else [])


def _other_mac(nic: Nic) -> None:
    nic.mac = "02:00:00:00:00:99"


def _other_firmware(nic: Nic) -> None:
    nic.info = replace(nic.info, firmware="2.0-0")


def _no_firmware(nic: Nic) -> None:
    nic.info = DriverInfo("e1000e", INFO.version, None)


def _other_driver(nic: Nic) -> None:
    nic.info = replace(nic.info, driver="e1000")


def _other_ids(nic: Nic) -> None:
    nic.device = replace(nic.device, subdevice="0001")


def _narrow(nic: Nic) -> None:
    nic.path = (link_of(nic.pci, gts=1.25),)


def _slow(nic: Nic) -> None:
    assert nic.settings is not None
    nic.settings = replace(nic.settings, speed_mbps=100)


def _other_name(nic: Nic) -> None:
    nic.iface = "enp1s0f7"


PATH = "(0000:00:01.0 to 0000:01:00.0: x1 at 1.25 GT/s)"
WRONG = {
    "MAC": (_other_mac, "has MAC address 02:00:00:00:00:99; expected 52:54:00:00:00:00, as before"),
    "firmware": (_other_firmware, "has firmware 2.0-0; expected 2.1-0, as before"),
    "no firmware": (_no_firmware, "has firmware none; expected 2.1-0, as before"),
    "driver": (_other_driver, "has driver e1000; expected e1000e, as before"),
    "ids": (_other_ids, "has PCI ids 8086:10d3, 8086:0001; expected 8086:10d3, 8086:a01f, as before"),
    "narrow": (_narrow, f"trained to 1.25 GT/s {PATH}; expected 2.5 GT/s, as before"),
    "slow": (_slow, "has link 100 Mbit/s, full duplex; expected 1000 Mbit/s, full duplex, as before"),
    "name": (_other_name, "has interface enp1s0f7; expected enp1s0, as before"),
}


@pytest.mark.parametrize(("change", "says"), WRONG.values(), ids=list(WRONG))
def test_a_port_that_a_start_has_changed_fails(card: Card, change: Callable[[Nic], object], says: str) -> None:
    card.then = change
    with pytest.raises(CardFailure) as caught:
        start(Start.COLD)
    assert str(caught.value) == f"dut.p0 (0000:01:00.0): after a power cycle it {says}"


def test_a_link_that_is_slower_at_both_ends_after_a_start_is_undecided(bench: FakeBench, card: Card) -> None:
    """As where a PHY gives up the speed for a bad pair of the cable."""

    def slower(nic: Nic) -> None:
        _slow(nic)
        _slow(bench.nic("peer.p0"))

    card.then = slower
    says = r"has link 100 Mbit/s, full duplex; expected 1000 .*, as before; its cable, or either end of it, may be why$"
    with pytest.raises(Undecided, match=says):
        start(Start.COLD)


def test_what_only_one_of_several_starts_changes_is_found(card: Card) -> None:
    card.then = lambda nic: _other_mac(nic) if card.boots == 3 else None
    again()
    again()
    with pytest.raises(CardFailure, match="after a power cycle it has MAC address 02:00:00:00:00:99"):
        again()


@pytest.mark.parametrize("kind", Start)
@pytest.mark.parametrize("made", [start, again])
def test_a_port_that_is_missing_after_a_start_is_the_cards(
    bench: FakeBench, card: Card, kind: Start, made: Callable[[Start], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "APPEARS_WITHIN_S", 0.05)
    card.then = lambda nic: bench.dut.without_interface.add(nic.pci)
    says = rf"^dut\.p0 \(0000:01:00\.0\) is missing after a {kind.value}: .*; expected it, as before$"
    with pytest.raises(CardFailure, match=says):
        made(kind)


def test_a_port_that_comes_a_little_later_is_sound(bench: FakeBench, card: Card) -> None:
    asked = list[str]()
    plain = bench.dut.interface_at

    def interface_at(address: str, port_index: int | None = None) -> str:
        if card.boots and len(asked) < 2 and address == "0000:01:00.0":
            asked.append(address)
            raise NoInterface(f"dut: {address} has no network interface: no driver is bound")
        return plain(address, port_index)

    bench.dut.interface_at = interface_at  # type: ignore[method-assign]
    again()
    assert len(asked) == 2


def test_a_link_that_stays_away_after_a_start_fails(bench: FakeBench, card: Card) -> None:
    card.then = lambda _: bench.cables.stuck.update({"dut.p0": False})
    with pytest.raises(CardFailure, match=r"^dut\.p0 \(0000:01:00\.0\) has no carrier after 5000 ms"):
        start(Start.WARM)


def test_a_server_that_does_not_boot_is_the_benchs(
    bench: FakeBench, card: Card, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    description = taken.server(Role.DUT).description
    boot = description.boot.model_copy(update={"ready_within_s": 0.05})
    monkeypatch.setattr(taken.server(Role.DUT), "description", description.model_copy(update={"boot": boot}))
    card.then = lambda _: bench.dut.crash()
    with pytest.raises(BenchFault, match="dut to answer over SSH"):
        start(Start.WARM)


def test_rings_are_compared_from_start_to_start(card: Card) -> None:
    """A site may have set others before the run; what a boot gives is what the next boot must give."""
    card.rings = 4096
    card.then = lambda _: setattr(card, "rings", 256)
    again(Start.WARM)
    card.then = lambda _: setattr(card, "rings", 128)
    with pytest.raises(CardFailure, match=r"it has rings rx 128, tx 256; expected rx 256, tx 256, as before$"):
        again(Start.COLD)


def test_a_byte_of_the_eeprom_that_a_start_changes_fails(card: Card) -> None:
    card.eeprom = bytes(1024)
    card.then = lambda _: setattr(card, "eeprom", bytes(17) + b"\x04" + bytes(1006))
    with pytest.raises(CardFailure, match=r"a warm restart it has EEPROM byte 0x0011 0x04 \(1 differ\); expected 0x00"):
        start(Start.WARM)


def test_an_eeprom_that_is_gone_or_unreadable_after_a_start_fails(card: Card) -> None:
    card.eeprom = bytes(64)
    card.then = lambda _: setattr(card, "eeprom", NotApplicable("dut: none"))
    with pytest.raises(CardFailure, match=r"it has EEPROM none; expected 64 bytes, as before"):
        again()
    card.then, card.eeprom = lambda _: setattr(card, "eeprom", LookFailed("dut: Input/output error")), bytes(64)
    with pytest.raises(CardFailure, match=r"^dut\.p0 .*: its EEPROM cannot be read: dut: Input/output error"):
        again()


def _no_path(nic: Nic) -> None:
    nic.path = ()


def _no_speed(nic: Nic) -> None:
    assert nic.settings is not None
    nic.settings = replace(nic.settings, speed_mbps=None)


HIDDEN = {
    "path": (_no_path, "shows no PCI Express link above it; expected it, as before"),
    "speed": (_no_speed, "shows no speed of its link; expected 1000 Mbit/s, full duplex, as before"),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_a_port_does_not_show_any_more_is_undecided(
    card: Card, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "APPEARS_WITHIN_S", 0.1)
    card.then, said = HIDDEN[name]
    with pytest.raises(Undecided, match=rf"^dut\.p0 \(0000:01:00\.0\): after a warm restart it {said}$"):
        start(Start.WARM)


def test_a_speed_that_is_shown_late_is_the_same(bench: FakeBench, card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, looks = bench.dut.link_settings, count()

    def late(iface: str) -> LinkSettings:
        return replace(shown(iface), speed_mbps=None) if card.boots and next(looks) < 3 else shown(iface)

    monkeypatch.setattr(bench.dut, "link_settings", late)
    start(Start.WARM)


def test_another_kernel_after_a_start_is_the_benchs(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    card.then = lambda _: monkeypatch.setattr(FakeHost, "kernel", lambda _: "6.1.0-29-amd64")
    with pytest.raises(BenchFault) as caught:
        start(Start.WARM)
    said = "dut: runs kernel 6.1.0-29-amd64 after a warm restart; expected 6.1.0-28-amd64, as before"
    assert str(caught.value) == said


def test_names_that_say_which_came_first_are_not_compared(bench: FakeBench, card: Card, taken: Run) -> None:
    bench.dut.nics[0].iface = "eth0"
    make_ready(taken, lambda _: None)
    taken.interfaces[taken.ports(Role.DUT)[0]] = "eth0"
    card.then = lambda nic: setattr(nic, "iface", "eth1")
    again()


def test_a_slot_that_trains_slower_after_a_start_is_the_benchs(card: Card) -> None:
    def told(nic: Nic) -> None:
        link = link_of(nic.pci, gts=1.25)
        nic.path = (replace(link, upstream=replace(link.upstream, lnkctl2_gts=1.25)),)

    card.then = told
    with pytest.raises(BenchFault, match=r"is set to 1\.25 GT/s at most \(LnkCtl2"):
        start(Start.COLD)


def test_a_bench_that_is_wrong_before_a_start_is_not_charged_to_it(bench: FakeBench, card: Card) -> None:
    assert card.boots == 0
    bench.cables.stuck["peer.p0"] = False
    with pytest.raises(BenchFault, match=r"^peer\.p0 .*has no carrier"):
        start(Start.WARM)


def test_without_anything_kept_nothing_is_claimed(card: Card) -> None:
    assert card.boots == 0
    with pytest.raises(BenchFault, match=r"^no inventory of the ports was kept: 'Remember Every Port' comes first"):
        TakenPorts().every_port_should_be_as_remembered(Start.WARM)
    with pytest.raises(BenchFault, match=r"^dut: no power cycle was made in this run"):
        TakenPorts().every_port_should_have_come_back_with_the_start(Start.COLD)
