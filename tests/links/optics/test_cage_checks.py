"""Modules that are read right are green; each that is not is named, and what server or fibre decide fails no card."""

from __future__ import annotations

from itertools import count

import pytest
from fake_bench import FakeBench
from lit_ports import LitPorts
from module_dumps import CABLE_SFP, MIXED_SFP, memory_of, qsfp, sfp

from niclab.core.profile import Profile
from niclab.core.verdict import CardFailure, NotApplicable, Undecided
from niclab.hosts.errors import ModuleUnread, NotOffered
from niclab.links.optics import cage_checks
from niclab.run.run import Run
from niclab.transports import ConnectionLost
from Optics import Optics

PLACE = r"^dut\.p1 \(0000:02:00\.0\) "


@pytest.fixture
def ports(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> LitPorts:
    return LitPorts(bench, taken, monkeypatch)


def check() -> None:
    Optics().every_module_should_be_read_right(Profile.QUICK)


def raising(error: Exception) -> bytes:
    raise error


def test_sound_modules_are_green_and_described(ports: LitPorts) -> None:
    said = list[str]()
    cage_checks.require_read_right(ports.taken, Profile.QUICK, said.append)
    assert said[0] == "dut.p0: Intel Corp FTLX8574D3BNL-IT, serial number A41ASYK"
    assert "dut.p1: received power 0.4200 mW (-3.8 dBm), within its limits" in said


def test_readings_that_move_between_reads_are_green(ports: LitPorts) -> None:
    warmer = count(30)
    ports.of["dut.p0"] = lambda: bytes(sfp(celsius=next(warmer)))
    check()


def test_a_warning_is_said_and_fails_nothing(ports: LitPorts) -> None:
    said = list[str]()
    ports.of["dut.p1"] = ports.fixed(sfp(celsius=90))
    cage_checks.require_read_right(ports.taken, Profile.QUICK, said.append)
    assert "dut.p1: temperature 90 degrees C, beyond its warning" in said


def test_a_bit_that_is_wrong_in_one_read_is_found(ports: LitPorts) -> None:
    reads = count(1)

    def memory() -> bytes:
        changed = sfp()
        changed[40] ^= int(next(reads) == 4)
        return bytes(changed)

    ports.of["dut.p1"] = memory
    with pytest.raises(
        CardFailure, match=PLACE + r"reads its module otherwise in read 4 of 10, first at byte 40 "
    ) as caught:
        check()
    assert "as checksum CC_BASE of its module; expected 0x" in str(caught.value)


@pytest.mark.parametrize(("at", "name"), [(30, "CC_BASE"), (63, "CC_BASE"), (70, "CC_EXT"), (95, "CC_EXT")])
def test_a_wrong_checksum_in_every_read_may_be_the_modules_own(ports: LitPorts, at: int, name: str) -> None:
    memory = sfp()
    memory[at] ^= 1
    ports.of["dut.p1"] = ports.fixed(memory)
    said = f"reads 0x.. as checksum {name} of its module; expected 0x.., .*, in each of 10 reads$"
    with pytest.raises(Undecided, match=PLACE + said):
        check()


def test_a_wrong_checksum_hides_no_failure_of_another_port(ports: LitPorts) -> None:
    memory = sfp()
    memory[70] ^= 1
    ports.of |= {"dut.p0": ports.fixed(memory), "dut.p1": ports.fixed(sfp(supply_v=2.5))}
    with pytest.raises(CardFailure, match=PLACE + "reads supply voltage"):
        check()


def test_a_server_that_goes_away_hides_no_failure_of_a_port_before(ports: LitPorts) -> None:
    gone = ConnectionLost("dut: gone")
    ports.of |= {"dut.p0": ports.fixed(sfp(supply_v=2.5)), "dut.p1": lambda: raising(gone)}
    with pytest.raises(CardFailure, match=r"^dut\.p0 \S+ reads supply voltage") as caught:
        check()
    assert str(caught.value).endswith(f"\nundecided: {gone}")


@pytest.mark.parametrize("supply_v", [2.5, 3.3])
def test_a_module_that_is_not_read_any_more_fails_its_own_card(ports: LitPorts, supply_v: float) -> None:
    """As well as what was seen of the port before: one read more is made where a reading is beyond an alarm."""
    reads = count(1)
    ports.of |= {
        "dut.p0": ports.fixed(sfp(supply_v=supply_v)),
        "dut.p1": lambda: (
            bytes(sfp(celsius=100)) if next(reads) <= 10 else raising(ModuleUnread("dut: Input/output error"))
        ),
    }
    with pytest.raises(CardFailure, match=r"dut\.p1 \S+ has a link, and no module that is read: dut: Input/") as caught:
        check()
    assert ("dut.p0" in str(caught.value)) is (supply_v == 2.5)


def test_a_memory_that_firmware_mixes_up_fails_the_card(ports: LitPorts) -> None:
    ports.of["dut.p1"] = ports.fixed(memory_of(MIXED_SFP, 256))
    with pytest.raises(CardFailure, match=PLACE + "reads 0x9e as checksum CC_BASE|" + PLACE + "reads 0x00 as checksum"):
        check()


def test_a_supply_beyond_an_alarm_fails_the_card(ports: LitPorts) -> None:
    ports.of["dut.p1"] = ports.fixed(sfp(supply_v=2.5))
    said = r"reads supply voltage 2\.5 V of its module; expected 2\.9 to 3\.7 V"
    with pytest.raises(CardFailure, match=PLACE + said):
        check()


def test_a_reading_that_is_beyond_an_alarm_once_is_none(ports: LitPorts) -> None:
    reads = count(1)
    ports.of["dut.p1"] = lambda: bytes(sfp(supply_v=2.5 if next(reads) % 2 else 3.3))
    check()


def test_what_is_not_measured_has_no_limits_and_fails_nothing(ports: LitPorts) -> None:
    memory = sfp(sent_uw=0, supply_v=0)
    memory[256 + 8 : 256 + 16], memory[256 + 24 : 256 + 32] = bytes(8), bytes(8)
    ports.of["dut.p1"] = ports.fixed(memory)
    check()


def test_a_laser_that_sends_nothing_without_a_link_may_be_off(ports: LitPorts) -> None:
    ports.bench.cables.stuck["dut.p1"] = False
    ports.of["dut.p1"] = ports.fixed(sfp(sent_uw=0))
    check()


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        (sfp(received_uw=2.1), r"reads received power 0\.0021 mW \(-26\.8 dBm\) of its module; expected 0\.01 to 1 mW"),
        (sfp(sent_uw=1500), r"reads sent power 1\.5000 mW \(1\.8 dBm\) of its module; expected 0\.2512 to 1 mW"),
        (sfp(sent_uw=200), r"reads sent power 0\.2000 mW \(-7\.0 dBm\) of its module; expected 0\.2512 to 1 mW"),
        (sfp(sent_uw=0), r"reads sent power 0\.0000 mW \(dark\) of its module; expected 0\.2512 to 1 mW"),
        (sfp(supply_v=0), r"reads supply voltage 0 V of its module; expected 2\.9 to 3\.7 V"),
        (sfp(celsius=100), r"reads temperature 100 degrees C of its module; expected -13 to 93 degrees C"),
    ],
)
def test_what_air_fibre_and_laser_decide_is_undecided(ports: LitPorts, memory: bytearray, said: str) -> None:
    ports.of["dut.p1"] = ports.fixed(memory)
    with pytest.raises(Undecided, match=PLACE + said):
        check()


def test_light_that_a_module_measures_late_is_green(ports: LitPorts) -> None:
    reads = count(1)
    ports.of["dut.p1"] = lambda: bytes(sfp(received_uw=2.1 if next(reads) <= cage_checks.READS[Profile.QUICK] else 420))
    check()


@pytest.mark.parametrize(("profile", "reads"), [(Profile.QUICK, 10), (Profile.FULL, 100)])
def test_a_full_test_compares_a_hundred_reads(ports: LitPorts, profile: Profile, reads: int) -> None:
    read = count(1)

    def memory() -> bytes:
        changed = sfp()
        changed[40] ^= int(next(read) == reads)
        return bytes(changed)

    ports.of["dut.p1"] = memory
    with pytest.raises(CardFailure, match=PLACE + f"reads its module otherwise in read {reads} of {reads}, "):
        cage_checks.require_read_right(ports.taken, profile, str)


def test_a_module_of_four_lanes_and_a_cable_are_read_as_well(ports: LitPorts) -> None:
    ports.of |= {"dut.p0": ports.fixed(qsfp()), "dut.p1": ports.fixed(memory_of(CABLE_SFP))}
    check()


@pytest.mark.parametrize("memory", [b"\0" * 512, b"\xff" * 512])
def test_a_memory_of_one_byte_fails_the_card(ports: LitPorts, memory: bytes) -> None:
    ports.of["dut.p1"] = ports.fixed(memory)
    with pytest.raises(CardFailure, match=PLACE + f"reads 0x{memory[0]:02x} as every byte of its module"):
        check()


@pytest.mark.parametrize("byte", [b"\0", b"\xff"])
def test_readings_that_a_module_has_and_nobody_sees_are_undecided(ports: LitPorts, byte: bytes) -> None:
    ports.of["dut.p1"] = ports.fixed(bytes(sfp())[:256] + byte * 256)
    said = f"reads 0x{byte[0]:02x} as every byte of the second address of its module, .*; expected its readings$"
    with pytest.raises(Undecided, match=PLACE + said):
        check()
    ports.of["dut.p0"] = ports.fixed(sfp(supply_v=2.5))
    with pytest.raises(CardFailure, match=r"^dut\.p0 .* reads supply voltage"):
        check()


def test_a_module_without_readings_is_green(ports: LitPorts) -> None:
    memory = sfp()
    memory[92], memory[95] = 0, memory[95] - memory[92] & 0xFF
    ports.of["dut.p1"] = ports.fixed(bytes(memory)[:256] + bytes(256))
    check()


def test_a_memory_whose_size_changes_fails_the_card(ports: LitPorts) -> None:
    reads = count(1)
    ports.of["dut.p1"] = lambda: bytes(sfp())[: 256 if next(reads) == 2 else 512]
    with pytest.raises(CardFailure, match=PLACE + "reads a module of 256 bytes .* and of 512 bytes"):
        check()


def test_a_module_that_cannot_be_read_fails_a_card_with_cages(ports: LitPorts) -> None:
    ports.media("fibre, direct-attach")
    ports.of["dut.p1"] = lambda: raising(ModuleUnread("dut: `ethtool -m` failed with Input/output error"))
    with pytest.raises(CardFailure, match=PLACE + "has a link, and no module that is read: dut: .*Input/output error$"):
        check()


@pytest.mark.parametrize("media", ["fibre, twisted-pair", ""])
def test_a_port_that_may_have_no_module_is_excused(ports: LitPorts, media: str) -> None:
    ports.media(media)
    ports.of |= dict.fromkeys(("dut.p0", "dut.p1"), lambda: raising(ModuleUnread("dut: Input/output error")))
    with pytest.raises(NotApplicable, match=r"^dut\.p0 .*Input/output error; sheet intel-82574l has media without"):
        check()


def test_one_port_with_a_module_is_judged(ports: LitPorts) -> None:
    ports.of["dut.p0"] = lambda: raising(NotApplicable("no module"))
    check()
    ports.of["dut.p1"] = ports.fixed(sfp(supply_v=2.5))
    with pytest.raises(CardFailure, match=PLACE):
        check()


def test_a_module_that_the_driver_does_not_show_is_undecided(ports: LitPorts) -> None:
    ports.of["dut.p0"] = lambda: raising(NotOffered("dut: enp1s0: its driver shows no module"))
    for keyword in (check, Optics().received_power_should_follow_the_light):
        with pytest.raises(Undecided, match=r"^dut: enp1s0: its driver shows no module$"):
            keyword()
    ports.media("fibre, twisted-pair")
    said = list[str]()
    cage_checks.require_read_right(ports.taken, Profile.QUICK, said.append)
    assert "not judged: dut: enp1s0: its driver shows no module" in said
    ports.media("fibre")
    ports.of["dut.p1"] = ports.fixed(sfp(supply_v=2.5))
    with pytest.raises(CardFailure, match=PLACE):
        check()


@pytest.mark.parametrize("identifier", [0x02, 0x18, 0x83])
def test_a_module_of_a_kind_that_is_not_read_is_undecided(ports: LitPorts, identifier: int) -> None:
    ports.of["dut.p1"] = ports.fixed(bytes([identifier]) + sfp()[1:])
    for keyword in (check, Optics().received_power_should_follow_the_light):
        with pytest.raises(
            Undecided, match=PLACE[:-1] + f": its module has 512 bytes with identifier 0x{identifier:02x}"
        ):
            keyword()
    ports.of["dut.p0"] = ports.of["dut.p1"]
    with pytest.raises(NotApplicable, match=r"^dut.p0 .*\ndut.p1 "):
        check()


@pytest.mark.parametrize("identifier", [0x30, 0x43, 0x7F])
def test_an_identifier_of_nothing_fails_the_card(ports: LitPorts, identifier: int) -> None:
    ports.of["dut.p1"] = ports.fixed(bytes([identifier]) + sfp()[1:])
    with pytest.raises(CardFailure, match=PLACE + rf"reads a module of 512 bytes with identifier 0x{identifier:02x}; "):
        check()


def test_drivers_without_modules_are_not_applicable(ports: LitPorts) -> None:
    ports.of |= dict.fromkeys(("dut.p0", "dut.p1"), lambda: raising(NotApplicable("its driver shows no module")))
    with pytest.raises(NotApplicable, match="its driver shows no module"):
        check()


def test_a_card_for_twisted_pair_is_asked_for_no_module(ports: LitPorts) -> None:
    ports.media("twisted-pair")
    ports.of |= dict.fromkeys(("dut.p0", "dut.p1"), lambda: raising(AssertionError("asked")))
    for keyword in (check, Optics().received_power_should_follow_the_light):
        with pytest.raises(
            NotApplicable, match=r"sheet intel-82574l has no cage for a module: link\.media: twisted-pair$"
        ):
            keyword()
