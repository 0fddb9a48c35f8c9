"""Both kernels judge every test: whom trouble is charged to, and that nothing is passed over."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from bench_fixtures import continued
from fake_bench import FakeBench
from fake_parts import FakeHost
from test_failure_evidence import run

from niclab.bench.records import Role
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.hosts.kernel.kernel_log import KernelLine, KernelLook
from niclab.report.own_checks.last_look import last_look_check
from niclab.report.verdicts import Verdict, classify
from niclab.run import run as runs
from niclab.run.acquiring import prepared_ports
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.acquiring.recover import recover
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.undoing import UndoExecutor
from niclab.run.watching.kernel_watch import KernelWatch
from niclab.transports.bmc.bmc import PowerState

OOPS = (
    "BUG: kernel NULL pointer dereference, address: 0000000000000010",
    "Modules linked in: bonding e1000e tls",
    "RIP: 0010:e1000_clean_rx_irq+0x1a/0x2f0 [e1000e]",
    "Call Trace:",
    " net_rx_action+0x11/0x22",
    "---[ end trace 0000000000000000 ]---",
)
FOREIGN_OOPS = (
    "BUG: kernel NULL pointer dereference, address: 0000000000000010",
    "Modules linked in: bonding e1000e tls",
    "RIP: 0010:ext4_read+0x1a/0x2f0 [ext4]",
    "---[ end trace 0000000000000000 ]---",
    "e1000e: probe+0x1/0x2 [e1000e]",
)
OF_THE_CARD = {
    "oops": OOPS,
    "watchdog": ("NETDEV WATCHDOG: enp1s0 (e1000e): transmit queue 0 timed out",),
    "AER": ("pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0",),
    "hung task": ("INFO: task x:1 blocked for more than 120 seconds.", " e1000_down+0x1/0x2 [e1000e]"),
    "warning": ("WARNING: CPU: 0 PID: 1 at net/core/dev.c:1 x+0x1/0x2", " e1000_up+0x1/0x2 [e1000e]"),
    "firmware": ('e1000e 0000:01:00.0: Failed to load firmware "x"',),
}
OF_OTHERS = {
    "oops elsewhere": FOREIGN_OOPS,
    "watchdog of another port": ("NETDEV WATCHDOG: eth9 (virtio_net): transmit queue 0 timed out",),
    "AER of another device": ("pcieport 0000:00:05.0: AER: Corrected error received: 0000:05:00.0",),
    "memory": ("Out of memory: Killed process 1 (x)",),
}


OF_ANOTHER_CARD = {
    "watchdog": ("NETDEV WATCHDOG: eno1 (e1000e): transmit queue 0 timed out", " e1000_up+0x1/0x2 [e1000e]"),
    "reset": ("e1000e 0000:09:00.0 eno1: Reset adapter",),
    "checksum of its memory": ("e1000e 0000:09:00.0: The NVM Checksum Is Not Valid",),
}


@pytest.fixture
def watch(taken: Run) -> KernelWatch:
    found = taken.part(KernelWatch)
    found.begin()
    return found


def host(bench: FakeBench, role: Role) -> FakeHost:
    return bench.hosts[role]


@pytest.mark.parametrize("lines", OF_THE_CARD.values(), ids=OF_THE_CARD)
def test_what_names_the_card_is_the_cards(bench: FakeBench, watch: KernelWatch, lines: tuple[str, ...]) -> None:
    bench.dut.says(*lines)
    (found,) = watch.look()
    assert isinstance(found, CardFailure) and lines[0] in str(found) and str(found).startswith("dut kernel: ")
    assert watch.look() == []


@pytest.mark.parametrize("lines", OF_OTHERS.values(), ids=OF_OTHERS)
def test_what_names_others_is_the_benchs(bench: FakeBench, watch: KernelWatch, lines: tuple[str, ...]) -> None:
    bench.dut.says(*lines)
    (found,) = watch.look()
    assert isinstance(found, BenchFault) and lines[0] in str(found)


@pytest.mark.parametrize("lines", OF_ANOTHER_CARD.values(), ids=OF_ANOTHER_CARD)
def test_another_card_with_the_same_driver_is_the_benchs(
    bench: FakeBench, watch: KernelWatch, lines: tuple[str, ...]
) -> None:
    bench.dut.says(*lines)
    (found,) = watch.look()
    assert isinstance(found, BenchFault) and lines[0] in str(found)
    bench.dut.says("e1000e 0000:09:00.0 eno1: something new", level=3)
    assert watch.look() == []
    bench.dut.says(*(line.replace("eno1", "eth0") for line in lines))
    bench.dut.says("e1000e 0000:01:00.0 enp1s0: renamed from eth0")
    (found,) = watch.look()
    assert isinstance(found, CardFailure if "09:00" not in lines[0] else BenchFault)


def test_a_virtual_function_is_of_the_card(bench: FakeBench, taken: Run, watch: KernelWatch) -> None:
    port = replace(taken.ports(Role.DUT)[0], key="p0v0", pci="0000:01:10.0")
    bench.dut.says("igbvf 0000:01:10.0 enp1s0v0: something new", level=3)
    (found,) = watch.look()
    assert isinstance(found, CardFailure)
    taken.interfaces[port] = "enp1s0v0"
    bench.dut.says("NETDEV WATCHDOG: enp1s0v0 (igbvf): transmit queue 0 timed out")
    (found,) = watch.look()
    assert isinstance(found, CardFailure)


@pytest.mark.parametrize("lines", OF_THE_CARD.values(), ids=OF_THE_CARD)
def test_the_peers_trouble_is_the_benchs(bench: FakeBench, watch: KernelWatch, lines: tuple[str, ...]) -> None:
    host(bench, Role.PEER).says(*lines)
    (found,) = watch.look()
    assert isinstance(found, BenchFault) and str(found).startswith("peer kernel: ")


class TestQuestions:
    """A server is asked once between two tests, and not at all where nothing else was asked of it a moment ago."""

    @pytest.fixture
    def asked(self, bench: FakeBench, taken: Run, watch: KernelWatch, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The servers whose kernel log is read, in turn."""
        names, real = list[str](), FakeHost.look

        def look(host: FakeHost, *arguments: Any, **named: Any) -> KernelLook:
            names.append(host.name)
            return real(host, *arguments, **named)

        taken.part(PreparedPorts).prepare()
        assert watch.look() == []
        monkeypatch.setattr(FakeHost, "look", look)
        for ssh in bench.ssh.values():
            ssh.is_still = True
        return names

    def test_the_kernels_words_come_with_the_state_of_the_ports(
        self, bench: FakeBench, taken: Run, watch: KernelWatch, asked: list[str]
    ) -> None:
        bench.dut.says(*OOPS)
        assert taken.part(PreparedPorts).prepared() and sorted(asked) == ["dut", "peer"]
        (found,) = watch.look()
        assert isinstance(found, CardFailure) and len(asked) == 2
        assert watch.look() == [] and len(asked) == 2

    def test_who_was_asked_something_since_is_read_again(
        self, bench: FakeBench, taken: Run, watch: KernelWatch, asked: list[str]
    ) -> None:
        assert taken.part(PreparedPorts).prepared()
        bench.ssh[Role.DUT].run("true")
        bench.dut.says(*OOPS)
        (found,) = watch.look()
        assert isinstance(found, CardFailure) and asked[2:] == ["dut"]

    def test_what_an_idle_server_says_is_found_with_the_next_question(
        self, bench: FakeBench, watch: KernelWatch, asked: list[str]
    ) -> None:
        assert watch.look() == [] and len(asked) == 2
        bench.dut.says(*OOPS)
        assert watch.look() == [] and len(asked) == 2
        bench.ssh[Role.DUT].run("true")
        (found,) = watch.look()
        assert isinstance(found, CardFailure) and asked[2:] == ["dut"]

    def test_an_idle_server_is_read_again_after_a_moment(
        self, bench: FakeBench, watch: KernelWatch, asked: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(prepared_ports, "NEWS_FOR_S", 0)
        assert watch.look() == []
        bench.dut.says(*OOPS)
        (found,) = watch.look()
        assert isinstance(found, CardFailure) and len(asked) == 4

    def test_a_boot_and_the_end_of_the_run_are_looked_at_in_any_case(
        self, bench: FakeBench, taken: Run, watch: KernelWatch, asked: list[str]
    ) -> None:
        assert watch.look() == []
        bench.dut.says(*OOPS)
        taken.server(Role.DUT).reboot()
        assert asked[2:] == ["dut"]
        (found,) = watch.look()
        assert isinstance(found, CardFailure)
        bench.dut.says(*OOPS)
        taken.bench_servers.look_before_leaving(taken.servers.values(), is_last=True)
        assert [type(each) for each in watch.found_at_the_end] == [CardFailure]


def test_links_that_come_and_go_are_no_trouble(bench: FakeBench, watch: KernelWatch) -> None:
    bench.dut.says("e1000e 0000:01:00.0 enp1s0: NIC Link is Down", "WARNING: CPU: 0 PID: 1 at mm/x.c:1 y+0x1/0x2")
    assert watch.look() == []


def test_a_message_that_the_sheet_calls_harmless_is_none(bench: FakeBench) -> None:
    bench.edit(
        bench.sheet,
        ("errata: []", 'harmless_messages: [{text: "transmit queue 0 timed out", source: "erratum 7"}]\nerrata: []'),
    )
    taken = bench.take()
    watch = taken.part(KernelWatch)
    watch.begin()
    bench.dut.says(*OF_THE_CARD["watchdog"])
    assert watch.look() == []
    bench.dut.says(*OOPS)
    assert len(watch.look()) == 1


@pytest.mark.parametrize("role", Role)
def test_a_boot_that_nobody_ordered(bench: FakeBench, watch: KernelWatch, role: Role) -> None:
    host(bench, role).boot()
    (found,) = watch.look()
    assert isinstance(found, Undecided if role is Role.DUT else BenchFault)
    assert str(found).startswith(f"{role.value}: has booted, and the lab did not order it")
    assert watch.look() == []


def test_a_panic_that_only_the_console_shows_is_charged(bench: FakeBench, watch: KernelWatch) -> None:
    bench.consoles[Role.DUT].text += "".join(f"[   12.345678] {line}\r\n" for line in OOPS)
    bench.dut.boot()
    (found,) = watch.look()
    assert isinstance(found, CardFailure) and "has booted, and the lab did not order it" in str(found)


def test_a_dut_that_does_not_answer_any_more(bench: FakeBench, watch: KernelWatch) -> None:
    bench.dut.crash()
    bench.consoles[Role.DUT].last_words = ()
    (found,) = watch.look()
    assert isinstance(found, BenchFault) and str(found).startswith("dut: does not answer any more: ")


def test_a_dut_that_its_driver_hangs(bench: FakeBench, watch: KernelWatch) -> None:
    bench.consoles[Role.DUT].text += "\n".join(OOPS)
    bench.consoles[Role.DUT].last_words = ()
    bench.dut.crash()
    (found,) = watch.look()
    assert isinstance(found, CardFailure)


def test_an_ordered_boot_is_none(bench: FakeBench, taken: Run, watch: KernelWatch) -> None:
    taken.server(Role.DUT).reboot()
    assert watch.look() == []
    taken.server(Role.DUT).power_cycle()
    assert watch.look() == []
    bench.dut.boot()
    assert len(watch.look()) == 1


def stamped(*lines: str) -> str:
    """Lines as a console shows them."""
    return "".join(f"[   12.345678] {line}\r\n" for line in lines)


BANNER = "[    0.000000] Linux version 6.1.0-28-amd64\r\n" + stamped("a", "b", "c", "d")
ORDERS = {"reboot": Server.reboot, "power cycle": Server.power_cycle, "reset": Server.reset}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize(("said", "verdict"), [(OOPS, CardFailure), (FOREIGN_OOPS, BenchFault)])
def test_an_ordered_boot_does_not_hide_what_the_old_kernel_said(
    bench: FakeBench,
    taken: Run,
    watch: KernelWatch,
    order: Callable[[Server], object],
    said: tuple[str, ...],
    verdict: type[Exception],
) -> None:
    bench.dut.says(*said)
    order(taken.server(Role.DUT))
    (found,) = watch.look()
    assert isinstance(found, verdict) and str(found).startswith("dut kernel: oops")
    assert watch.look() == []


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_an_ordered_boot_does_not_hide_what_only_the_console_shows(
    bench: FakeBench, taken: Run, watch: KernelWatch, order: Callable[[Server], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver oopses while the system goes down, or in the first of two boots."""
    boot = bench.dut.boot

    def boots() -> None:
        bench.consoles[Role.DUT].text += stamped(*OOPS)
        boot()

    monkeypatch.setattr(bench.dut, "boot", boots)
    order(taken.server(Role.DUT))
    (found,) = watch.look()
    assert isinstance(found, CardFailure) and watch.look() == []


@pytest.mark.parametrize("role", Role)
def test_more_boots_than_the_lab_ordered(bench: FakeBench, taken: Run, watch: KernelWatch, role: Role) -> None:
    taken.server(role).reboot()
    bench.consoles[role].text += BANNER
    assert watch.look() == []
    taken.server(role).reboot()
    bench.consoles[role].text += BANNER + BANNER
    (found,) = watch.look()
    assert isinstance(found, Undecided if role is Role.DUT else BenchFault)
    assert str(found).startswith(f"{role.value}: has booted 2 times, and the lab ordered 1")


def test_a_boot_that_ends_after_a_look_is_that_which_was_ordered(
    bench: FakeBench, taken: Run, watch: KernelWatch
) -> None:
    taken.server(Role.DUT).press_reset()
    assert watch.look() == []
    taken.server(Role.DUT).reboot()
    bench.consoles[Role.DUT].text += BANNER + BANNER
    assert watch.look() == []


def test_two_lines_of_one_kernel_that_say_who_it_is_are_one_boot(
    bench: FakeBench, taken: Run, watch: KernelWatch
) -> None:
    taken.server(Role.DUT).reboot()
    bench.consoles[Role.DUT].text += BANNER.splitlines()[0] + "\r\n" + BANNER
    assert watch.look() == []


DOWN = "igb 0000:01:00.0 enp1s0: igb: enp1s0 NIC Link is Down"
RESET = "igb 0000:01:00.0 enp1s0: Reset adapter"


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize(
    ("log", "is_found"), [((DOWN, RESET), False), ((RESET,), True), ((), True)], ids=["excused", "not", "lost"]
)
def test_a_console_of_errors_alone_does_not_hide_what_excuses_them(
    bench: FakeBench, taken: Run, watch: KernelWatch, role: Role, log: tuple[str, ...], is_found: bool
) -> None:
    """As igb's reset after a link loss under load, on a console that still waits for the banner of an ordered boot."""
    taken.server(role).press_reset()
    assert watch.look() == []
    bench.consoles[role].text += stamped(RESET)
    host(bench, role).kernel_said += tuple(KernelLine(12.345678, text) for text in log)
    assert [str(each) for each in watch.look()] == [f"{role.value} kernel: device reset: {RESET}"] * is_found


PANIC_BY_LAB = stamped("sysrq: Trigger a crash", "Kernel panic - not syncing: sysrq triggered crash", *OOPS)


def test_the_panic_that_the_lab_has_ordered_is_none(bench: FakeBench, taken: Run, watch: KernelWatch) -> None:
    server = taken.server(Role.DUT)
    server.crash()
    bench.consoles[Role.DUT].text += PANIC_BY_LAB
    bench.dut.crash()
    assert watch.look() == []
    server.reset()
    bench.consoles[Role.DUT].text += BANNER
    assert watch.look() == []


def test_the_panic_that_the_lab_has_ordered_hides_none_of_the_next_boot(
    bench: FakeBench, taken: Run, watch: KernelWatch
) -> None:
    server = taken.server(Role.DUT)
    server.crash()
    bench.dut.crash()
    bench.consoles[Role.DUT].text += PANIC_BY_LAB + BANNER + stamped(*OOPS) + BANNER
    server.reset()
    (found,) = watch.look()
    assert isinstance(found, CardFailure)


def test_what_was_said_before_the_lab_made_it_panic_is_judged(bench: FakeBench, taken: Run, watch: KernelWatch) -> None:
    bench.dut.says(*OOPS)
    taken.server(Role.DUT).crash()
    bench.dut.boot()
    (found,) = watch.look()
    assert isinstance(found, CardFailure)


def test_a_dut_that_was_silent_before_the_lab_cut_its_power(bench: FakeBench, taken: Run, watch: KernelWatch) -> None:
    bench.dut.crash()
    taken.server(Role.DUT).power_cycle()
    (found,) = watch.look()
    assert isinstance(found, BenchFault) and str(found).startswith("dut: does not answer any more")


NEW = "e1000e 0000:01:00.0 enp1s0: something new"


class TestLostLines:
    """A kernel that has said more than its log holds."""

    @pytest.fixture
    def overwritten(self, bench: FakeBench, watch: KernelWatch) -> FakeHost:  # noqa: ARG002 - its marks are set
        bench.dut.says(*OOPS, *("chatter",) * 9)
        bench.dut.overwritten = len(bench.dut.kernel_said) - 1
        return bench.dut

    def test_the_console_still_has_them(self, bench: FakeBench, watch: KernelWatch, overwritten: FakeHost) -> None:
        bench.consoles[Role.DUT].text += stamped("ata1: COMRESET failed (errno=-16)", *OOPS)
        (found,) = watch.look()
        assert isinstance(found, Undecided)
        assert OOPS[0] in str(found) and str(found).endswith("its log has lost lines that may excuse it")
        overwritten.says("chatter")
        assert watch.look() == []

    def test_what_the_log_still_has_is_charged(self, watch: KernelWatch, overwritten: FakeHost) -> None:
        overwritten.says(*OOPS)
        (found,) = watch.look()
        assert isinstance(found, CardFailure)

    def test_nobody_knows_what_they_were_without_a_console(
        self, taken: Run, watch: KernelWatch, overwritten: FakeHost
    ) -> None:
        dut = taken.server(Role.DUT)
        dut.description = dut.description.model_copy(update={"console": None})
        (found,) = watch.look()
        assert isinstance(found, Undecided) and str(found).startswith("dut: its kernel's log has lost lines")
        overwritten.says("chatter")
        assert watch.look() == []

    def test_a_refusal_that_was_asked_for_stays_excused(self, bench: FakeBench, taken: Run, watch: KernelWatch) -> None:
        with watch.refusing(taken.ports(Role.DUT)[0]):
            bench.dut.says(*OF_THE_CARD["firmware"])
        bench.dut.says("chatter")
        bench.dut.overwritten = len(bench.dut.kernel_said)
        (line, _) = bench.dut.kernel_said
        bench.consoles[Role.DUT].text += f"[{line.seconds:12.6f}] {line.text}\r\n"
        assert watch.look() == []


@pytest.mark.parametrize(("role", "verdict"), [(Role.DUT, CardFailure), (Role.PEER, BenchFault)])
def test_an_error_that_names_the_card(
    bench: FakeBench, watch: KernelWatch, role: Role, verdict: type[Exception]
) -> None:
    host(bench, role).says(NEW, level=4)
    assert watch.look() == []
    host(bench, role).says(NEW, level=3)
    (found,) = watch.look()
    assert isinstance(found, verdict) and str(found) == f"{role.value} kernel: error: {NEW}"


@pytest.mark.parametrize("line", ["ata1: COMRESET failed (errno=-16)", "igb 0000:07:00.0 eno1: something new"])
def test_an_error_that_names_another_device_is_none(bench: FakeBench, watch: KernelWatch, line: str) -> None:
    bench.dut.says(line, level=3)
    assert watch.look() == []


@pytest.mark.parametrize("line", ["ata1: COMRESET failed (errno=-16)", "igb 0000:07:00.0: exceed max 2 second"])
def test_an_error_of_another_device_hides_no_boot(bench: FakeBench, watch: KernelWatch, line: str) -> None:
    bench.dut.boot()
    bench.dut.says(line, level=3)
    (found,) = watch.look()
    assert isinstance(found, Undecided)
    assert str(found).startswith("dut: has booted, and the lab did not order it")


def test_an_error_of_another_device_hides_no_recovery(bench: FakeBench, taken: Run, watch: KernelWatch) -> None:
    bench.consoles[Role.DUT].last_words = ()
    bench.dut.crash()
    recover(taken.server(Role.DUT))
    bench.dut.says("ata1: COMRESET failed (errno=-16)", level=3)
    (found,) = watch.look()
    assert isinstance(found, BenchFault) and str(found).startswith("dut did not answer and was recovered by ")


def limited(gts: str) -> str:
    return (
        f"pci 0000:01:00.0: 1.000 Gb/s available PCIe bandwidth, limited by {gts} GT/s PCIe x1 link at 0000:00:01.0"
        " (capable of 63.008 Gb/s with 8.0 GT/s PCIe x8 link)"
    )


def test_less_pcie_than_the_sheet_says_is_undecided(bench: FakeBench, watch: KernelWatch) -> None:
    """The sheet wants 2.5 GT/s and x1."""
    bench.dut.says(limited("2.5"), limited("2.5").replace("0000:01", "0000:07").replace("x1", "x0"))
    assert watch.look() == []
    bench.dut.says(limited("1.2"))
    (found,) = watch.look()
    assert isinstance(found, Undecided) and "limited by 1.2 GT/s" in str(found)


def test_a_firmware_file_that_the_server_lacks_is_the_benchs(bench: FakeBench, watch: KernelWatch) -> None:
    device = "e1000e 0000:01:00.0: "
    bench.dut.says(f"{device}Direct firmware load for x.fw failed with error -2", level=4)
    assert watch.look() == []
    bench.dut.says(f"{device}Direct firmware load for x.fw failed with error -2", level=4)
    bench.dut.says(f"{device}cannot go on", level=3)
    (found,) = watch.look()
    assert isinstance(found, BenchFault) and "firmware file missing: " in str(found)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("Warning: Unqualified SFP+ module detected, Port 0 from OEM part number DAC-3M", BenchFault),
        ("not enough MMIO resources for SR-IOV", BenchFault),
        ("exceed max 2 second", Undecided),
    ],
)
def test_an_error_of_a_port_that_is_not_the_cards(
    bench: FakeBench, watch: KernelWatch, role: Role, words: str, verdict: type[Exception]
) -> None:
    host(bench, role).says(f"e1000e 0000:01:00.0: {words}", level=3)
    (found,) = watch.look()
    assert isinstance(found, verdict) and words in str(found)
    host(bench, role).says(f"igb 0000:07:00.0: {words}", level=3)
    assert watch.look() == []


def test_an_ordered_boot_does_not_hide_what_the_new_kernel_says(
    bench: FakeBench, taken: Run, watch: KernelWatch
) -> None:
    taken.server(Role.DUT).reboot()
    bench.dut.says(*OOPS)
    (found,) = watch.look()
    assert isinstance(found, CardFailure)


def test_a_card_failure_comes_first(bench: FakeBench, watch: KernelWatch) -> None:
    bench.dut.says(*FOREIGN_OOPS, *OOPS)
    first, second = watch.look()
    assert isinstance(first, CardFailure) and isinstance(second, BenchFault)


@pytest.mark.parametrize(
    ("body", "said", "verdict", "words"),
    [
        ("No Operation", OOPS, Verdict.CARD_FAILURE, "KernelFailure: dut kernel: oops"),
        ("Fail    BenchFault: dut: no answer", OOPS, Verdict.CARD_FAILURE, "BenchFault: dut: no answer"),
        ("No Operation", FOREIGN_OOPS, Verdict.BENCH_FAULT, "BenchFault: dut kernel: oops"),
        ("Fail    CardFailure: too slow", FOREIGN_OOPS, Verdict.CARD_FAILURE, "CardFailure: too slow"),
        ("Skip    NotApplicable: no", OOPS, Verdict.CARD_FAILURE, "KernelFailure: dut kernel: oops"),
    ],
    ids=["passed", "failed by it", "bench", "failed before", "skipped"],
)
def test_it_fails_the_test_in_which_it_was_said(
    bench: FakeBench, monkeypatch: pytest.MonkeyPatch, body: str, said: tuple[str, ...], verdict: Verdict, words: str
) -> None:
    monkeypatch.setattr(builtins, "kernel_says", lambda: bench.dut.says(*said), raising=False)
    nothing = "    No Operation\n"
    loud_body = f"    Evaluate    kernel_says()\n    {body}\n"
    tests = f"*** Test Cases ***\nQuiet\n{nothing}Loud\n{loud_body}After\n{nothing}"
    quiet, loud, after = run(bench, tests).suite.all_tests
    assert (quiet.status, after.status) == ("PASS", "PASS")
    assert classify(loud.status, loud.message) is verdict and words in loud.message


def test_a_look_that_fails_is_no_pass(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dut boots by itself, and its console cannot say why."""

    def boots() -> None:
        bench.dut.boot()
        monkeypatch.setattr(bench.consoles[Role.DUT], "text_since", _no_console)

    monkeypatch.setattr(builtins, "dut_boots", boots, raising=False)
    (test,) = run(bench, "*** Test Cases ***\nLoud\n    Evaluate    dut_boots()\n").suite.all_tests
    assert classify(test.status, test.message) is Verdict.BENCH_FAULT and "dut console: gone" in test.message


LAST_WORDS = {
    "card": (Role.DUT, OOPS, CardFailure),
    "others": (Role.DUT, FOREIGN_OOPS, BenchFault),
    "peer": (Role.PEER, OOPS, BenchFault),
}


def at_the_end(watch: KernelWatch) -> Exception:
    """Release the bench; return the one thing that was found then."""
    runs.release()
    (found,) = watch.found_at_the_end
    assert watch.look() == []
    return found


@pytest.mark.parametrize(("role", "said", "verdict"), LAST_WORDS.values(), ids=LAST_WORDS)
def test_what_is_said_after_the_last_test_is_found(
    bench: FakeBench, watch: KernelWatch, role: Role, said: tuple[str, ...], verdict: type[Exception]
) -> None:
    assert watch.look() == []
    host(bench, role).says(*said)
    found = at_the_end(watch)
    assert isinstance(found, verdict) and str(found).startswith(f"{role.value} kernel: oops")


@pytest.mark.parametrize(("role", "said", "verdict"), LAST_WORDS.values(), ids=LAST_WORDS)
def test_what_is_said_while_changes_are_undone_is_found(
    bench: FakeBench,
    taken: Run,
    watch: KernelWatch,
    monkeypatch: pytest.MonkeyPatch,
    role: Role,
    said: tuple[str, ...],
    verdict: type[Exception],
) -> None:
    taken.journal.register("dut", "driver is reloaded", Action(ActionKind.SHELL, "dut", "put it back"))
    monkeypatch.setattr(UndoExecutor, "carry_out", lambda *_: host(bench, role).says(*said))
    assert isinstance(at_the_end(watch), verdict)


@pytest.mark.parametrize("command", ["reboot", "power-cycle"])
def test_what_is_said_before_an_undo_restarts_the_dut_is_judged(
    bench: FakeBench, taken: Run, watch: KernelWatch, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The kernel that comes up has none of it in its log."""
    assert watch.look() == []
    taken.journal.register("dut", "needs a restart", Action(ActionKind.RESTART, "dut", command))
    said = Action(ActionKind.SHELL, "dut", "says something")
    taken.journal.register("dut", "is undone before", said)
    bench.ssh[Role.DUT].replies["says something"] = ""
    undo = UndoExecutor.carry_out

    def carry_out(undoing: UndoExecutor, action: Action) -> None:
        undo(undoing, action)
        if action == said:
            bench.dut.says(*OOPS)

    monkeypatch.setattr(UndoExecutor, "carry_out", carry_out)
    assert isinstance(at_the_end(watch), CardFailure) and bench.dut.boots > 1


def test_a_server_that_the_lab_switches_off_at_the_end_is_not_silent(bench: FakeBench) -> None:
    bench.peer.crash(PowerState.OFF)
    bench.set_state(up=False)
    watch = bench.take().part(KernelWatch)
    watch.begin()
    runs.release()
    assert bench.peer.power is PowerState.OFF and bench.said == ["up", "down"] and watch.found_at_the_end == []


def test_a_bench_that_the_lab_takes_down_at_the_end_is_not_silent(
    bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.set_state(up=False)
    taken = bench.take()
    watch = taken.part(KernelWatch)
    watch.begin()
    close = taken.bench_servers.close

    def servers_stop() -> None:
        close()
        for each in bench.hosts.values():
            each.crash()

    monkeypatch.setattr(taken.bench_servers, "close", servers_stop)
    runs.release()
    assert bench.said == ["up", "down"] and watch.found_at_the_end == []


def test_what_is_said_before_the_lab_switches_a_server_off_is_judged(bench: FakeBench) -> None:
    bench.peer.crash(PowerState.OFF)
    watch = bench.take().part(KernelWatch)
    watch.begin()
    host(bench, Role.PEER).says(*FOREIGN_OOPS)
    assert isinstance(at_the_end(watch), BenchFault)


def test_a_dut_that_went_silent_after_the_last_test_is_a_fault(bench: FakeBench, watch: KernelWatch) -> None:
    bench.dut.crash()
    bench.consoles[Role.DUT].last_words = ()
    found = at_the_end(watch)
    assert isinstance(found, BenchFault) and str(found).startswith("dut: does not answer any more")
    assert bench.dut.boots > 1


def test_a_change_that_cannot_be_undone_does_not_hide_a_card_failure(
    bench: FakeBench, taken: Run, watch: KernelWatch
) -> None:
    taken.journal.register("peer", "busy", Action(ActionKind.SHELL, "peer", "rmmod busy"))
    bench.ssh[Role.PEER].replies["rmmod"] = BenchFault("peer: module is in use")
    bench.dut.says(*OOPS)
    with pytest.raises(BenchFault, match="1 of 9 changes could not be undone"):
        runs.release()
    (found,) = watch.found_at_the_end
    assert isinstance(found, CardFailure)


def test_a_last_look_that_fails_is_no_pass_and_everything_is_undone(
    bench: FakeBench, taken: Run, watch: KernelWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken.part(PreparedPorts).prepare()
    bench.dut.boot()
    monkeypatch.setattr(bench.consoles[Role.DUT], "text_since", _no_console)
    runs.release()
    assert "dut console: gone" in str(watch.found_at_the_end) and taken.journal.pending() == []
    check = last_look_check(taken.run_dir)
    assert check is not None and check.verdict is Verdict.BENCH_FAULT


def test_a_run_that_ends_before_its_last_look_is_no_pass(taken: Run, watch: KernelWatch) -> None:
    assert watch.look() == []
    check = last_look_check(taken.run_dir)
    assert check is not None and "BenchFault: both kernels were not judged at the end: the run ended" in check.message
    runs.release()
    after = last_look_check(taken.run_dir)
    assert after is not None and (after.verdict, after.message) == (Verdict.PASS, "")


def test_the_last_look_is_a_check_of_its_own_and_fails_no_test(
    bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The teardown of an inner suite is after the last test's own look."""
    monkeypatch.setattr(builtins, "kernel_says", lambda: bench.dut.says(*OOPS), raising=False)
    tests = "Suite Teardown    Evaluate    kernel_says()\n*** Test Cases ***\nQuiet\n    No Operation\n"
    ended = run(bench, tests)
    assert ended.suite.teardown.status == "PASS" and all(test.passed for test in ended.suite.all_tests)
    (warning,) = [each.message for each in ended.errors if each.message.startswith("After the last test: ")]
    assert "dut kernel: oops" in warning
    check = last_look_check(bench.folder / "out")
    assert check is not None and check.verdict is Verdict.CARD_FAILURE
    assert check.message.startswith("CardFailure: dut kernel: oops")


def test_a_continued_run_knows_what_an_earlier_last_look_found(
    bench: FakeBench, taken: Run, watch: KernelWatch
) -> None:
    """A run whose niclab alone is killed ends with its last look, and may have tests left."""
    bench.dut.says(*OOPS)
    taken.bench_servers.look_before_leaving(taken.servers.values(), is_last=True)
    before = last_look_check(taken.run_dir)
    assert before is not None and before.verdict is Verdict.CARD_FAILURE and len(watch.found_at_the_end) == 1
    continued(taken)
    taken.part(KernelWatch).begin()
    begun = last_look_check(taken.run_dir)
    assert begun is not None and "the run ended before its last look" in begun.message
    assert begun.verdict is Verdict.CARD_FAILURE and begun.message.startswith(before.message)
    continued(taken)  # once more, before its last look
    taken.part(KernelWatch).begin()
    runs.release()
    assert last_look_check(taken.run_dir) == before


def test_a_last_look_of_another_run_into_the_same_folder_is_forgotten(
    bench: FakeBench, taken: Run, watch: KernelWatch
) -> None:
    bench.dut.says(*OOPS)
    taken.bench_servers.look_before_leaving(taken.servers.values(), is_last=True)
    continued(taken)
    (taken.run_dir / "run.json").unlink()
    taken.part(KernelWatch).begin()
    runs.release()
    after = last_look_check(taken.run_dir)
    assert after is not None and after.verdict is Verdict.PASS and watch.found_at_the_end


def _no_console(_: int) -> str:
    raise BenchFault("dut console: gone")
