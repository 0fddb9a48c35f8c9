"""The checks of a FreeBSD dut are seen red by the defects that they are there for: EMX-01 to EMX-06, EMX-08, CHE-01,
CHE-03."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from control_bench import NAME, REPOSITORY, Bench

pytestmark = [pytest.mark.bench, pytest.mark.slow]

CARD, CHELSIO = "emulex-oce11102", "chelsio-t580-cr"
IDLE = "The Link Is As On The Sheet When Idle"
TUNABLES = "Tunables Of The Driver Are As On The Sheet"
SWITCHED, ALONE = (f"Offload {name} Can Be Switched As On The Sheet" for name in ("tx-checksum", "vlan-filter"))
AT_BOOT = "The Driver Is Loaded After A Power Cycle"
MADE, MADE_COLD = (f"The Driver Is Loaded After A {way} When It Is Set To" for way in ("Restart", "Power Cycle"))
PACKAGE = "The Required Driver Is Installed And Runs On The Dut"
FIRMWARE, SAME_FIRMWARE = "The Firmware Is One The Sheet Wants", "All Ports Run The Same Firmware"
FITS, DRIVER_VERSION = "The Firmware Fits The Driver", "The Driver Version Is One The Sheet Wants"
FLASHED, FOREIGN = (
    "Firmware That Runs After A Restart Can Be Changed And Put Back",
    "An Image Of Another Card Is Refused",
)
ERRATUM, JUMBO = (f"Setting {name} Has The Effect On The Sheet" for name in ("mtu-without-down-up", "jumbo"))
AT_LINE_RATE = "Any Number Of Connections Is Received At Line Rate"
TOE, PLACED = f"{AT_LINE_RATE} With TCP Offload", f"{AT_LINE_RATE} With Direct Data Placement"
SAVES = "Direct Data Placement Saves The Receiver's CPU"
PLUG_AND_PLAY = "The Card Is Usable Without An Install Step"
SHEET = REPOSITORY / "lab/cards" / f"{CARD}.yaml"
PER_ROW = f"{REPOSITORY / 'libraries' / 'listeners' / 'PerCard.py'}:{SHEET}:freebsd"
CHOSEN = ("--variable", "DUT_OS:freebsd", "--prerunmodifier", PER_ROW)


@pytest.fixture(scope="module", autouse=True)
def freebsd(bench: Bench) -> Iterator[None]:
    """The dut speaks FreeBSD's dialect; the bench is as it was at the end."""
    bench.vbench("up", "--card", CARD, "--os", "dut=freebsd")
    yield
    bench.vbench("up", "--card", "intel-82574l", "--os", "dut=linux")


def only(*names: str) -> list[str]:
    return [*CHOSEN, *(option for name in names for option in ("--test", name))]


def test_what_the_card_does_wrong_is_seen(bench: Bench) -> None:
    bench.vbench("fault", "set", "card:dut", "link-width=4")
    bench.vbench("fault", "set", "card:dut.p0", "tso-without-csum=1")
    bench.ssh("dut", "sysctl dev.oce.0.max_rsp_handled=512 dev.oce.1.max_rsp_handled=512")
    run = bench.run(*only(IDLE, TUNABLES, SWITCHED, ALONE, "Every Link Is Up"), card=SHEET)
    run.should_show(red={IDLE, TUNABLES, SWITCHED}, green={ALONE, "Every Link Is Up"})
    assert "trained to x4" in run.red[IDLE] and "expected x8 (sheet emulex-oce11102)" in run.red[IDLE]
    assert "tunable max_rsp_handled of oce is 512; expected 64 (sheet emulex-oce11102)" in run.red[TUNABLES]
    assert "offload tso4 (TSO4) stays on when tx-checksum goes off" in run.red[SWITCHED]


def test_a_driver_that_the_loader_does_not_load_is_seen(bench: Bench) -> None:
    bench.ssh("dut", "sed -i /oce_load/d /boot/loader.conf && sync")
    try:
        run = bench.run(*only(AT_BOOT, "Every Link Is Up"), card=SHEET)
    finally:
        bench.ssh("dut", "echo 'oce_load=\"YES\"' >> /boot/loader.conf && kldload -n oce && sync")
    run.should_show(red={AT_BOOT})
    assert run.red[AT_BOOT].startswith("CardFailure: dut: driver oce is not loaded after boot")


def test_an_entry_that_the_loader_does_not_reach_is_seen(bench: Bench) -> None:
    """The loader stops at a line that it does not understand: what the lab adds after it has no effect."""
    bench.ssh("dut", "cp /boot/loader.conf /boot/loader.control && echo broken > /boot/loader.conf && sync")
    try:
        run = bench.run(*only(MADE, MADE_COLD, "Every Link Is Up"), card=SHEET)
        left = bench.ssh("dut", "cat /boot/loader.conf")
    finally:
        bench.ssh("dut", "mv /boot/loader.control /boot/loader.conf && kldload -n oce && sync")
    run.should_show(red={MADE, MADE_COLD}, green={"Every Link Is Up"})
    assert all(said.startswith("CardFailure: dut: driver oce is not loaded after boot") for said in run.red.values())
    assert left == "broken\n"


def test_an_entry_of_another_file_of_the_loader_counts(bench: Bench) -> None:
    """The last one does: the lab's takes its place, and goes again."""
    other = "/boot/loader.conf.local"
    bench.ssh("dut", f"echo 'oce_load=\"NO\"' > {other} && sync")
    try:
        run = bench.run(*only(AT_BOOT, MADE, MADE_COLD, "Every Link Is Up"), card=SHEET)
        left = bench.ssh("dut", f"cat {other}")
    finally:
        bench.ssh("dut", f"rm -f {other} && kldload -n oce && sync")
    run.should_show(red={AT_BOOT}, green={MADE, MADE_COLD, "Every Link Is Up"})
    assert run.red[AT_BOOT].startswith("CardFailure: dut: driver oce is not loaded after boot")
    assert left == 'oce_load="NO"\n'


def test_a_driver_that_nothing_loads_is_made_to_load_by_a_run_that_installs_it(bench: Bench) -> None:
    bench.ssh("dut", "sed -i /oce_load/d /boot/loader.conf && sync")
    try:
        run = bench.run("--variable", "DRIVER:vendor", *only(AT_BOOT, MADE, "Every Link Is Up"), card=SHEET)
        left = bench.ssh("dut", "cat /boot/loader.conf")
    finally:
        bench.ssh("dut", "echo 'oce_load=\"YES\"' >> /boot/loader.conf && kldload -n oce && sync")
    run.should_show(red=set(), green={AT_BOOT, MADE, "Every Link Is Up"})
    assert "oce_load" not in left


def test_a_package_of_the_wrong_architecture_is_seen(bench: Bench) -> None:
    folder = "/usr/ports/packages/All"
    bench.ssh("dut", f"cp {folder}/oce-4.2.313.0-i386.tbz {folder}/oce-4.2.313.0.tbz && sync")
    try:
        run = bench.run(*only(PACKAGE), card=SHEET)
    finally:
        bench.ssh("dut", f"cp {folder}/oce-4.2.313.0-amd64.tbz {folder}/oce-4.2.313.0.tbz && sync")
    run.should_show(red={PACKAGE})
    assert "package oce 4.2.313.0 is of i386; expected amd64 (sheet emulex-oce11102)" in run.red[PACKAGE]


def test_another_firmware_of_one_port_is_seen(bench: Bench) -> None:
    bench.vbench("fault", "set", "card:dut.p1", "firmware=4.2.324.30")
    run = bench.run(*only(FIRMWARE, SAME_FIRMWARE, DRIVER_VERSION), card=SHEET)
    run.should_show(red={FIRMWARE, SAME_FIRMWARE}, green={DRIVER_VERSION})
    assert "runs firmware 4.2.324.30, sheet emulex-oce11102 forbids it" in run.red[FIRMWARE]


def test_firmware_that_does_not_go_with_the_driver_is_seen(bench: Bench) -> None:
    """The lists allow both, each by itself."""
    bench.vbench("fault", "set", "card:dut.p1", "firmware=10.6.144.21")
    run = bench.run(*only(FIRMWARE, FITS, DRIVER_VERSION), card=SHEET)
    run.should_show(red={FITS}, green={FIRMWARE, DRIVER_VERSION})
    expected = (
        "runs firmware 10.6.144.21, expected 4.4.249.3 with driver oce 4.2.116.0 (sheet emulex-oce11102: Emulex doc"
    )
    assert run.red[FITS].startswith("CardFailure: dut.p1 ") and expected in run.red[FITS]


def test_firmware_that_is_not_written_is_seen(bench: Bench) -> None:
    inject = (FLASHED, f"fault set --name {NAME} card:dut flash-fails=1", f"fault clear --name {NAME}")
    run = bench.run(*only(FLASHED, FOREIGN), card=SHEET, inject=inject)
    run.should_show(red={FLASHED}, green={FOREIGN})
    assert "refused firmware image oc11-10.6.144.21.ufi: sysctl: dev.oce.0.fw_upgrade: " in run.red[FLASHED]


def test_the_mtu_erratum_is_seen(bench: Bench) -> None:
    bench.vbench("fault", "set", "card:dut", "mtu-degrades=1500")
    run = bench.run(*only(ERRATUM, JUMBO), card=SHEET)
    run.should_show(red={ERRATUM}, green={JUMBO})
    assert run.red[ERRATUM].startswith("CardFailure: dut.p0 to peer.p0, mtu-without-down-up: ")


def test_a_driver_that_was_installed_is_seen(bench: Bench) -> None:
    bench.vbench("up", "--card", CHELSIO, "--os", "dut=freebsd")
    bench.ssh("dut", "mv /boot/kernel/if_cxgbe.ko /boot/modules/if_cxgbe.ko")
    try:
        run = bench.run(*only(PLUG_AND_PLAY, "Every Link Is Up"), card=REPOSITORY / "lab/cards" / f"{CHELSIO}.yaml")
    finally:
        bench.ssh("dut", "mv /boot/modules/if_cxgbe.ko /boot/kernel/if_cxgbe.ko")
    run.should_show(red={PLUG_AND_PLAY}, green={"Every Link Is Up"})
    assert "module if_cxgbe is /boot/modules/if_cxgbe.ko; expected the system's own" in run.red[PLUG_AND_PLAY]


@pytest.fixture(scope="module")
def chelsio(bench: Bench) -> Path:
    """The dut has a Chelsio card."""
    bench.vbench("up", "--card", CHELSIO, "--os", "dut=freebsd")
    return REPOSITORY / "lab/cards" / f"{CHELSIO}.yaml"


def left(bench: Bench) -> str:
    """The rest of the card's TCP after a run: lines of its modules, options that are on, and placement."""
    modules = "kldstat | grep -c -e t4_tom -e toecore"
    return bench.ssh("dut", f"{modules}; ifconfig cxl0 | grep -c TOE4; sysctl -n dev.t5nex.0.toe.ddp")


def test_a_sound_card_does_tcp_by_itself(bench: Bench, chelsio: Path) -> None:
    run = bench.run(*only(TOE, PLACED), card=chelsio)
    run.should_show(red=set(), green={TOE, PLACED})
    assert left(bench).split() == ["0", "0", "0"]


def test_connections_that_are_not_the_cards_are_seen(bench: Bench, chelsio: Path) -> None:
    bench.vbench("fault", "set", "card:dut", "toe-ignored=1")
    run = bench.run(*only(TOE, "Every Link Is Up"), card=chelsio)
    run.should_show(red={TOE}, green={"Every Link Is Up"})
    assert "TCP offload is on and shown on: 0 of 2 connections were the card's" in run.red[TOE]
    assert run.red[TOE].startswith("CardFailure: dut.p0 ") and left(bench).split() == ["0", "0", "0"]


def test_data_that_are_not_placed_are_seen(bench: Bench, chelsio: Path) -> None:
    bench.vbench("fault", "set", "card:dut", "ddp-off=1")
    run = bench.run(*only(PLACED, "Every Link Is Up"), card=chelsio)
    run.should_show(red={PLACED}, green={"Every Link Is Up"})
    assert "direct placement is on and shown on: at least 0% of the data were placed" in run.red[PLACED]
    assert run.red[PLACED].startswith("CardFailure: dut.p0 ") and left(bench).split() == ["0", "0", "0"]


def test_cpu_that_an_emulated_card_cannot_save_is_recorded_and_not_judged(bench: Bench, chelsio: Path) -> None:
    run = bench.run(*only(SAVES), card=chelsio)
    run.should_show(red=set(), green=set())
    assert run.skipped == {SAVES} and left(bench).split() == ["0", "0", "0"]
    charts = sorted(file.name for file in bench.output.rglob("*by-mode*"))
    assert charts, "the figures are recorded"
