"""Every setting that a test may choose on a card of lab/cards can be made, with a driver that behaves as the card's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import bsd_driver_fakes
import driver_fakes
import pytest
from driver_fakes import Driver, LinuxShell, Values

from niclab.bench.records import OperatingSystem, Port, Role
from niclab.card import CARDS, Card, FlashTool, Setting, SettingKind, load_card
from niclab.checks.firmware import FirmwareChange, Which
from niclab.core.profile import Profile
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable
from niclab.core.wait import Deadline
from niclab.frames import draw
from niclab.frames.draw import ChangeKind
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.linux_host import LinuxHost
from niclab.links import carrier
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.run.watching.kernel_watch import KernelWatch
from niclab.settings import coalescing, pause, survival
from niclab.settings.dut_ports import DutPort
from niclab.settings.held import held
from niclab.settings.rings import ring_sizes

PORT = Port(Role.DUT, "p0", "0000:01:00.0", None, None)
LINUX, FREEBSD = OperatingSystem.LINUX, OperatingSystem.FREEBSD
KERNEL = "6.1.0-28-amd64"
SHEETS = [load_card(file).of_kernel(KERNEL) for file in sorted(CARDS.glob("*.yaml"))]
PLACES = [(card, system) for card in SHEETS for system in OperatingSystem if getattr(card.drivers, system.value)]
HELD = (
    *(SettingKind.OFFLOAD, SettingKind.SYSCTL, SettingKind.COALESCING),
    *(SettingKind.RING, SettingKind.PAUSE, SettingKind.QUEUES),
)
K = ChangeKind
RINGS, SUMS, CUT, MERGED = {K.RX_RING, K.TX_RING}, {K.CHECKSUM, K.SCATTER_GATHER}, {K.SEGMENTATION}, {K.MERGING}
TIMES = {K.COALESCING, K.PAUSE}
KINDS = {
    ("alteon-acenic", FREEBSD): {K.CHECKSUM, K.VLAN},
    ("alteon-acenic", LINUX): MERGED,
    ("broadcom-bcm57810", FREEBSD): {K.CHECKSUM, *CUT, *MERGED},
    ("broadcom-bcm57810", LINUX): {*RINGS, *TIMES, K.QUEUES, *SUMS, *CUT, *MERGED, K.VLAN, K.HASH},
    ("chelsio-t580-cr", FREEBSD): {*TIMES, K.CHECKSUM, *CUT, *MERGED, K.VLAN, K.SIZE},
    ("chelsio-t580-cr", LINUX): {*TIMES, *SUMS, *CUT, *MERGED, K.VLAN, K.HASH},
    ("emulex-oce11102", FREEBSD): {K.CHECKSUM, *CUT, *MERGED, K.VLAN},
    ("emulex-oce11102", LINUX): {*TIMES, K.QUEUES, *SUMS, *CUT, *MERGED, K.VLAN, K.HASH},
    ("intel-82574l", FREEBSD): {K.PAUSE, K.CHECKSUM, *CUT, *MERGED, K.VLAN, K.SIZE},
    ("intel-82574l", LINUX): {*RINGS, *TIMES, *SUMS, *CUT, *MERGED, K.VLAN, K.HASH},
    ("intel-82576", FREEBSD): {K.PAUSE, K.CHECKSUM, *CUT, *MERGED, K.VLAN, K.SIZE},
    ("intel-82576", LINUX): {*RINGS, *TIMES, K.QUEUES, *SUMS, *CUT, *MERGED, K.VLAN, K.HASH},
    ("intel-x520", FREEBSD): {K.PAUSE, K.CHECKSUM, *CUT, *MERGED, K.VLAN, K.SIZE},
    ("intel-x520", LINUX): {*RINGS, *TIMES, K.QUEUES, *SUMS, *CUT, *MERGED, K.VLAN, K.HASH},
    ("solarflare-sfn5122f", FREEBSD): {K.CHECKSUM, *CUT, *MERGED},
    ("solarflare-sfn5122f", LINUX): {*RINGS, K.PAUSE, *SUMS, *CUT, *MERGED, K.HASH},
}
"""Kinds of settings that the card has: no more, and none is lost."""


def named(place: tuple[Card, OperatingSystem]) -> str:
    return f"{place[0].name}-{place[1].value}"


def shell_of(card: Card, system: OperatingSystem) -> Any:
    if system is FREEBSD:
        return bsd_driver_fakes.DRIVERS[card.driver(system).module](card)
    return LinuxShell(driver_fakes.DRIVERS[card.driver(system).module](card))


PARTS = {
    KernelWatch: SimpleNamespace(refusing=lambda _: nullcontext()),
    standstill._Programs: SimpleNamespace(running=list),
}


class OnePort:
    """A run whose dut has one port."""

    def __init__(self, card: Card, system: OperatingSystem, shell: Any, journal: Journal) -> None:
        self.shell, self.card = shell, card
        iface = driver_fakes.IFACE if system is LINUX else shell.iface
        host: Any = LinuxHost(shell, "dut") if system is LINUX else FreeBsdHost(shell, "dut")
        host.links = SimpleNamespace(await_carrier=lambda *_, **__: True, set_link=lambda *_: None)
        host.system = SimpleNamespace(kernel=lambda: KERNEL)
        description = SimpleNamespace(os=system)
        server = SimpleNamespace(
            role=Role.DUT,
            name="dut",
            description=description,
            host=host,
            ssh=shell,
            interface=lambda _: iface,
            require_lease=lambda: None,
        )
        self._up = host.undo.link(iface, up=True)
        server.run = self._checked
        made = SimpleNamespace(
            card=card,
            journal=journal,
            undo=self._undo,
            interface=lambda _: iface,
            server_of=lambda _: server,
            server=lambda _: server,
            ports=lambda _: [PORT],
            part=lambda kind: PARTS[kind] if kind in PARTS else kind(self.run),
            current_test=None,
        )
        self.run = cast(Run, made)

    def _checked(self, command: str) -> Any:
        if command == self._up:
            return None
        done = self.shell.run(command)
        if not done.succeeded:
            raise BenchFault(f"dut: {command}: {done.stderr}")
        return done

    def _undo(self, action: Action) -> None:
        if action.kind is ActionKind.SHELL:
            self._checked(action.command)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("niclab.settings.dut_ports.Deadline", lambda _: Deadline(0.05))
    monkeypatch.setattr("niclab.settings.dut_ports.pause", lambda _: None)
    monkeypatch.setattr("niclab.settings.coalescing.pause", lambda _: None)


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    monkeypatch.setattr("os.fsync", lambda _: None)
    made = Journal(tmp_path / "journal.jsonl")
    with made.hold():
        yield made


@pytest.fixture(params=PLACES, ids=named)
def place(request: pytest.FixtureRequest, journal: Journal) -> OnePort:
    card, system = request.param
    return OnePort(card, system, shell_of(card, system), journal)


def test_every_card_has_a_driver_and_every_driver_its_kinds() -> None:
    assert {(card.name, system) for card, system in PLACES} == set(KINDS)


def test_every_setting_that_may_be_changed_under_traffic_is_taken_and_comes_back(
    place: OnePort, journal: Journal
) -> None:
    found, before = draw.of_port(place.run, PORT), place.shell.snapshot()
    system = place.run.server(Role.DUT).description.os
    assert set(found.candidates) == KINDS[place.card.name, system]
    for setting in found.order(Profile.FULL, 0):
        with held(place.run, PORT, setting):
            assert place.shell.snapshot() != before, f"{setting} changes nothing"
        assert place.shell.snapshot() == before, f"{setting} did not come back"
    assert journal.pending() == []


def test_every_setting_of_an_effect_is_taken_and_comes_back(place: OnePort, journal: Journal) -> None:
    card, before = place.card, place.shell.snapshot()
    sequence = card.sequence
    groups = [each for effect in card.effects for each in (effect.change, effect.against, effect.under)]
    groups += [sequence.baseline, *(step.settings for step in sequence.steps)] if sequence else []
    left_out = set[str]()
    for setting in dict.fromkeys(itertools.chain(*groups)):
        if setting.kind not in HELD:
            continue
        try:
            with held(place.run, PORT, setting):
                pass
        except NotApplicable as error:
            left_out.add(str(error))
        assert place.shell.snapshot() == before, setting
    assert journal.pending() == []
    if place.run.server(Role.DUT).description.os is LINUX:
        reasons = ("has no effect since Linux", "does not say that offload tx-checksum can be switched")
        assert all(any(reason in each for reason in reasons) for each in left_out), left_out


@pytest.mark.parametrize(
    "check",
    [
        pause.switched,
        lambda run: coalescing.set_parameter(run, "every"),
        lambda run: ring_sizes.over_range(run, "every", str, carrier.not_back),
        lambda run: survival.over_down_and_up(run, str, carrier.not_back),
    ],
    ids=["pause", "coalescing", "rings", "survival"],
)
def test_the_checks_of_settings_are_green_or_do_not_apply(place: OnePort, journal: Journal, check: Any) -> None:
    before = place.shell.snapshot()
    try:
        check(place.run)
    except NotApplicable as error:
        assert str(error)
    assert place.shell.snapshot() == before and journal.pending() == []


# --- cards that are wrong


@pytest.mark.parametrize("ring", [256, 2048, 1024])
def test_rings_that_are_lost_with_the_link_are_found_whatever_they_were(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, ring: int
) -> None:
    place = wrong("intel-82574l", driver_fakes.E1000e, journal)
    rings = place.shell.driver.shown.rings
    rings.update(rx=ring, tx=ring)
    monkeypatch.setattr(DutPort, "down_and_up", lambda _: rings.update(rx=ring, tx=ring))
    with pytest.raises(CardFailure, match=f"ring rx is {ring} after down and up; expected (1024|2048) as set"):
        survival.over_down_and_up(place.run, str, carrier.not_back)


class Deaf(driver_fakes.E1000e):
    """Heeds no pause frames, also without negotiation."""

    def heed_pause(self, asked: Values) -> None:
        self.shown.pause["autoneg"] = bool(asked["autoneg"])


class Stubborn(driver_fakes.Be2net):
    """Takes coalescing and goes on as before."""

    def heed_coalescing(self, _: Values) -> None:
        pass


def wrong(card: str, driver: type[Driver], journal: Journal) -> OnePort:
    sheet = next(each for each in SHEETS if each.name == card)
    return OnePort(sheet, LINUX, LinuxShell(driver(sheet)), journal)


def test_a_card_that_heeds_no_pause_frames_is_wrong(journal: Journal) -> None:
    place = wrong("intel-82574l", Deaf, journal)
    pauses = draw.of_port(place.run, PORT).candidates[ChangeKind.PAUSE]
    assert [str(each) for each in pauses] == ["pause rx off at the sender", "pause tx off at the sender"]
    for setting in pauses:
        with (
            pytest.raises(CardFailure, match="off at the sender was set, it shows True"),
            held(place.run, PORT, setting),
        ):
            pass
    with pytest.raises(CardFailure, match="pause rx is True; expected off"):
        pause.switched(place.run)


def test_a_card_that_does_not_do_what_it_takes_is_wrong(journal: Journal) -> None:
    place = wrong("emulex-oce11102", Stubborn, journal)
    setting = draw.of_port(place.run, PORT).candidates[ChangeKind.COALESCING][0]
    with pytest.raises(CardFailure, match="was set, it shows"), held(place.run, PORT, setting):
        pass


class OneQueue(driver_fakes.Igb):
    """Takes any number of queues and goes on with one."""

    def heed_queues(self, _: int) -> None:
        self.shown.queues = 1


def test_a_card_that_makes_another_number_of_queues_is_wrong(journal: Journal) -> None:
    place = wrong("intel-82576", OneQueue, journal)
    most = draw.of_port(place.run, PORT).candidates[ChangeKind.QUEUES][-1]
    assert str(most) == "queues combined 8 at the sender"
    with pytest.raises(CardFailure, match=r"was set, it shows 1$"), held(place.run, PORT, most):
        pass


def test_pause_frames_are_asked_for_without_their_negotiation_where_it_is_on(journal: Journal) -> None:
    asked = {}
    for card in ("intel-82574l", "intel-x520", "solarflare-sfn5122f"):
        sheet = next(each for each in SHEETS if each.name == card)
        place = OnePort(sheet, LINUX, shell_of(sheet, LINUX), journal)
        with held(place.run, PORT, Setting(kind=SettingKind.PAUSE, name="rx", to=False)):
            asked[card] = [
                each.partition(f"{driver_fakes.IFACE} ")[2].partition(";")[0]
                for each in place.shell.commands
                if " -A " in each
            ]
    assert asked == {
        "intel-82574l": ["autoneg off rx off"],
        "intel-x520": ["rx off"],
        "solarflare-sfn5122f": ["autoneg off rx off tx off"],
    }


# --- firmware


@pytest.mark.parametrize(
    "card",
    [each for each in SHEETS if each.firmware.update and each.firmware.update.tool is FlashTool.ETHTOOL],
    ids=str,
)
def test_every_image_is_taken_or_refused_as_the_sheet_says(card: Card, journal: Journal) -> None:
    shell = LinuxShell(driver_fakes.DRIVERS[card.driver(LINUX).module](card))
    update = card.firmware.update
    assert update is not None and update.foreign_image is not None
    stem, _, ending = update.images[0].file.rpartition(".")
    shell.files = {image.file: image.version for image in update.images}
    shell.files |= dict.fromkeys(
        (f"{stem}-truncated.{ending}", f"{stem}-bit-flipped.{ending}", update.foreign_image), ""
    )
    place = OnePort(card, LINUX, shell, journal)
    firmware = FirmwareChange(place.run)
    firmware.require_foreign_image_refused(str)
    firmware.require_damaged_images_refused(str)
    for write, runs in ((firmware.write_other, Which.OTHER), (firmware.write_back, Which.FORMER)):
        write()
        shell.driver.shown.firmware = shell.driver.shown.flashed
        firmware.require_running(runs)
    assert journal.pending() == []
