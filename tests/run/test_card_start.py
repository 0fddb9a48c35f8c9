"""A card that does not start: who is to blame, by what can be seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.hosts.kernel.dmesg import read_dmesg
from niclab.run import run as runs
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.acquiring.ready import make_ready
from niclab.run.run import Run
from niclab.run.watching.kernel_watch import KernelWatch

CASES = Path(__file__).parents[1] / "hosts" / "cases"
PORT = "0000:01:00.0"


@pytest.fixture
def opened(bench: FakeBench) -> Iterator[Run]:
    """A bench that is taken, its ports not prepared yet."""
    bench.write(commands=False, cables=True)
    made = bench.take()
    yield made
    runs._CURRENT.clear()
    with made._stack:
        made.bench_servers.close()


def said_at_boot(bench: FakeBench, text: str) -> None:
    bench.dut.kernel_said = read_dmesg("[    0.000000] Linux version 6.1.0\n" + text)


def public_case(number: str) -> str:
    """A public report, with the driver and the addresses of the toy bench."""
    (file,) = CASES.glob(f"{number}-*")
    text = file.read_text()
    for address in ("0001:0c:00.2", "0000:04:00.0", "0000:03:00.0", "0000:02:00.1"):
        text = text.replace(address, PORT)
    return text.replace("bnx2x", "e1000e").replace("i40e", "e1000e")


@pytest.mark.parametrize("number", ["02", "07"])
def test_a_driver_that_finds_its_card_dead_at_boot(bench: FakeBench, opened: Run, number: str) -> None:
    said_at_boot(bench, public_case(number))
    bench.dut.without_interface.add(PORT)
    with pytest.raises(CardFailure, match=rf"dut.p0.*{PORT} has no network interface.*; the kernel said: "):
        make_ready(opened, print)


def test_a_firmware_file_that_the_server_lacks(bench: FakeBench, opened: Run) -> None:
    said_at_boot(bench, public_case("05"))
    bench.dut.without_interface.add(PORT)
    with pytest.raises(BenchFault, match="the server's system lacks a file: firmware file missing: "):
        make_ready(opened, print)


NO_BAR = "<3>[    3.000000] e1000e {0}: can't enable device: BAR 0 [mem size 0x00020000] not assigned\n"
WRONG_MODULE = (
    "<3>[    3.000000] e1000e {0}: failed to load because an unsupported SFP+ or QSFP module type was detected.\n"
)
NOT_PROBED = "<4>[    3.100000] e1000e: probe of {0} failed with error -22"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (NO_BAR, r"server's firmware \(BIOS\) gives the card too few PCI"),
        (WRONG_MODULE, "does not take the module in its"),
    ],
)
def test_what_the_bench_keeps_from_starting(bench: FakeBench, opened: Run, said: str, words: str) -> None:
    said_at_boot(bench, (said + NOT_PROBED).format(PORT))
    bench.dut.without_interface.add(PORT)
    with pytest.raises(BenchFault, match=words):
        make_ready(opened, print)


@pytest.mark.parametrize("is_dead", [False, True])
def test_an_error_of_the_bench_does_not_excuse_the_card(bench: FakeBench, opened: Run, is_dead: bool) -> None:
    other = "" if is_dead else f"<3>[    3.000000] e1000e {PORT}: something new"
    said_at_boot(bench, f"<3>[    2.000000] e1000e {PORT}: not enough MMIO resources for SR-IOV\n{other}")
    bench.nic("dut.p0").device = replace(bench.nic("dut.p0").device, dead=is_dead)
    bench.dut.without_interface.add(PORT)
    with pytest.raises(CardFailure, match="reads all ones" if is_dead else "something new"):
        make_ready(opened, print)


def test_an_older_firmware_file_that_is_taken(bench: FakeBench, opened: Run) -> None:
    said_at_boot(bench, public_case("06"))
    make_ready(opened, print)


def test_an_error_that_the_kernel_names_without_a_known_word(bench: FakeBench, opened: Run) -> None:
    said_at_boot(bench, f"<3>[    3.000000] e1000e {PORT}: something new")
    bench.dut.without_interface.add(PORT)
    with pytest.raises(CardFailure, match="something new"):
        make_ready(opened, print)


def test_trouble_of_the_other_port_explains_nothing(bench: FakeBench, opened: Run) -> None:
    said_at_boot(bench, "<3>[    3.000000] e1000e 0000:02:00.0: something new")
    bench.dut.without_interface.add(PORT)
    with pytest.raises(BenchFault, match="the kernel does not say why"):
        make_ready(opened, print)


@pytest.mark.parametrize(
    "said",
    [
        "e1000e 0000:09:00.0 eno1: something new",
        "e1000e: probe of 0000:09:00.0 failed with error -5",
        "e1000e: enp2s0: something new",
    ],
)
def test_trouble_of_another_card_with_the_same_driver_explains_nothing(
    bench: FakeBench, opened: Run, said: str
) -> None:
    said_at_boot(bench, f"<3>[    3.000000] {said}")
    bench.dut.without_interface.add(PORT)
    with pytest.raises(BenchFault, match="the kernel does not say why"):
        make_ready(opened, print)


@pytest.mark.parametrize("said", ["e1000e: eth0: something new", "e1000e: something new", "e1000e 0000:01:00.1: x"])
def test_trouble_of_an_early_name_or_of_the_slot_explains_it(bench: FakeBench, opened: Run, said: str) -> None:
    said_at_boot(bench, f"<3>[    3.000000] {said}")
    bench.dut.without_interface.add(PORT)
    with pytest.raises(CardFailure, match="the kernel said: "):
        make_ready(opened, print)


def test_what_an_earlier_boot_said_explains_nothing(bench: FakeBench, opened: Run) -> None:
    """The log of FreeBSD outlives a warm restart."""
    banner, old = "[    0.000000] Linux version 6.1.0", f"<3>[    3.000000] e1000e {PORT}: something"
    bench.dut.kernel_said = read_dmesg("\n".join([banner, old, old, old, old, banner]))
    bench.dut.without_interface.add(PORT)
    with pytest.raises(BenchFault, match="the kernel does not say why"):
        make_ready(opened, print)


def test_a_message_that_the_sheet_calls_harmless_explains_nothing(bench: FakeBench) -> None:
    bench.edit(
        bench.sheet,
        ("errata: []", 'harmless_messages: [{text: "something new", source: "erratum 7"}]\nerrata: []'),
    )
    said_at_boot(bench, f"<3>[    3.000000] e1000e {PORT}: something new")
    bench.dut.without_interface.add(PORT)
    with pytest.raises(BenchFault, match="the kernel does not say why"):
        make_ready(bench.take(), print)
    runs.release()


def test_a_device_that_reads_all_ones(bench: FakeBench, opened: Run) -> None:
    nic = bench.nic("dut.p0")
    nic.device = replace(nic.device, dead=True)
    bench.dut.without_interface.add(PORT)
    with pytest.raises(CardFailure, match="its configuration space reads all ones"):
        make_ready(opened, print)


def test_a_peer_that_does_not_start_is_the_benchs(bench: FakeBench, opened: Run) -> None:
    bench.peer.kernel_said = read_dmesg(public_case("07"))
    bench.peer.without_interface.add(PORT)
    with pytest.raises(BenchFault, match=r"peer: 0000:01:00.0 has no network interface"):
        make_ready(opened, print)


class TestAbsentDevice:
    def test_another_port_of_the_card_is_there(self, bench: FakeBench, opened: Run) -> None:
        del bench.dut.nics[0]
        with pytest.raises(CardFailure, match=r"0000:02:00.0 of the same card is there"):
            make_ready(opened, print)

    def test_it_was_there_earlier(self, bench: FakeBench, opened: Run) -> None:
        make_ready(opened, print)
        opened.part(PreparedPorts)._left.clear()
        bench.dut.nics.clear()
        with pytest.raises(CardFailure, match="it was there earlier in this run"):
            make_ready(opened, print)

    def test_the_card_is_at_another_address(self, bench: FakeBench, opened: Run) -> None:
        bench.dut.nics[0].pci = "0000:09:00.0"
        with pytest.raises(BenchFault, match=r"8086:10d3 is at 0000:09:00.0: the bench file says another address"):
            make_ready(opened, print)

    def test_nothing_of_the_card_is_there(self, bench: FakeBench, opened: Run) -> None:
        bench.dut.nics.clear()
        with pytest.raises(BenchFault, match="it is not in the slot, or dead"):
            make_ready(opened, print)

    def test_the_kernel_names_the_address(self, bench: FakeBench, opened: Run) -> None:
        said_at_boot(bench, f"<3>[    0.500000] pci {PORT}: unknown header type 7f, ignoring device")
        bench.dut.nics.clear()
        with pytest.raises(CardFailure, match="unknown header type 7f"):
            make_ready(opened, print)


class TestBeginning:
    """The messages of both kernels while the bench is made ready."""

    def test_a_change_that_fails_and_the_kernel_blames_the_card(self, bench: FakeBench, taken: Run) -> None:
        words = r"something new\nBenchFault: cannot set it up"
        with pytest.raises(CardFailure, match=words), taken.part(KernelWatch).beginning():
            bench.dut.says(f"e1000e {PORT}: something new", level=3)
            raise BenchFault("cannot set it up")

    def test_a_change_that_fails_and_the_kernel_says_nothing(self, taken: Run) -> None:
        with pytest.raises(BenchFault, match="cannot set it up"), taken.part(KernelWatch).beginning():
            raise BenchFault("cannot set it up")

    @pytest.mark.parametrize(("role", "verdict"), [(Role.DUT, CardFailure), (Role.PEER, BenchFault)])
    def test_trouble_although_nothing_failed(
        self, bench: FakeBench, taken: Run, role: Role, verdict: type[Exception]
    ) -> None:
        with pytest.raises(verdict, match="something new"), taken.part(KernelWatch).beginning():
            bench.hosts[role].says(f"e1000e {PORT}: something new", level=3)

    def test_a_dut_that_boots_by_itself(self, bench: FakeBench, taken: Run) -> None:
        with pytest.raises(Undecided, match="has booted"), taken.part(KernelWatch).beginning():
            bench.dut.boot()
