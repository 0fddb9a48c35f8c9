"""The work that steering moves: where it must be is green, elsewhere or nowhere is red."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from fake_bench import FakeBench
from test_steering import Files

from niclab.bench.records import OperatingSystem, Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.counts.load_records import CpuTime, CpuTimes
from niclab.hosts.errors import ReadError
from niclab.hosts.host_records import Counters, PingResult
from niclab.hosts.steering.linux import cpus_of_mask
from niclab.hosts.steering.queue_counters import sent_by_queue
from niclab.hosts.steering.softnet import read_taken_over
from niclab.run.run import Run
from niclab.settings import steered_packets
from niclab.traffic.flows import followed
from niclab.traffic.tools.tool import Order
from Steering import Steering

ZEROES = "00000000 " * 6
SOFTNET = f"""\
017c249b 00000000 00000014 {ZEROES}00000000 00000000 00000000 00000000 00000000 00000000
017a1bc1 00000000 00000010 {ZEROES}0000001f 00000000 00000000 00000001 00000000 00000000
"""
"""As Linux 6.18 prints them, with other counts."""
OLD = "\n".join(" ".join(line.split()[:10]) for line in SOFTNET.splitlines()) + "\n"
"""As Linux 2.6.35 prints them, which names no CPU."""


def softnet(*woken: int) -> str:
    return "".join(f"{'00000001 ' * 9}{count:08x} 00000000 00000000 {cpu:08x}\n" for cpu, count in enumerate(woken))


@pytest.mark.parametrize("text", [SOFTNET, OLD])
def test_wakings_are_read_of_each_cpu(text: str) -> None:
    assert read_taken_over(text, [0, 1]) == {0: 0, 1: 31}


@pytest.mark.parametrize("text", ["", softnet(1), softnet(1, 2, 3), "0 0\n0 0\n", softnet(1, 1).replace("1\n", "0\n")])
def test_what_is_no_softnet_stat_of_these_cpus_is_refused(text: str) -> None:
    with pytest.raises(ReadError, match=r"^cannot read /proc/net/softnet_stat"):
        read_taken_over(text, [0, 1])


def test_counts_of_32_bits_wrap() -> None:
    assert steered_packets.woken_since({0: 0xFFFFFFFE}, {0: 3}) == {0: 5}


@pytest.mark.parametrize(
    "name", ["tx_queue_{}_packets", "txq{}: tx_pkts", "[{}]: tx_ucast_packets", "tx-{}.tx_packets", "tx{}_packets"]
)
def test_send_queues_are_those_of_each_driver(name: str) -> None:
    entries = tuple((name.format(queue), 7 + queue) for queue in (0, 1))
    assert sent_by_queue(Counters((*entries, ("tx_packets", 15), ("rx_queue_0_packets", 1)))) == {0: 7, 1: 8}


@pytest.fixture
def files(bench: FakeBench, taken: Run) -> Files:
    assert taken
    made = Files(bench)
    made.content["/proc/net/softnet_stat"] = softnet(0, 0)
    bench.ssh[Role.DUT].replies["cat /proc/net"] = lambda _: made.content["/proc/net/softnet_stat"]
    return made


class TestTakeover:
    """Receive packet steering."""

    def wake(self, bench: FakeBench, files: Files, *woken: int) -> None:
        plain = bench.dut.ping

        def ping(*arguments: object, **options: object) -> object:
            assert (options.pop("count"), options.pop("interval_s")) == (20, 0.1)
            files.content["/proc/net/softnet_stat"] = softnet(*woken)
            return plain(*arguments, count=10, **options)

        bench.dut.ping = ping  # type: ignore[method-assign,assignment]

    def test_packets_that_wake_the_wanted_cpu_are_green(self, bench: FakeBench, files: Files) -> None:
        self.wake(bench, files, 2, 18)
        Steering().received_packets_should_be_taken_over_by("dut", "1")

    @pytest.mark.parametrize(
        ("woken", "said"), [((0, 0), "no CPU"), ((20, 0), "CPU 0 20 times"), ((9, 20), "CPU 0 9 times, CPU 1 20 times")]
    )
    def test_packets_that_wake_none_or_another_are_red(
        self, bench: FakeBench, files: Files, woken: tuple[int, int], said: str
    ) -> None:
        self.wake(bench, files, *woken)
        with pytest.raises(CardFailure, match=rf"^dut\.p0 .* woke {said}; expected at least 5 times CPU 1 alone$"):
            Steering().received_packets_should_be_taken_over_by("dut.p0", "1")

    def test_answers_that_do_not_come_wake_nobody(self, bench: FakeBench, files: Files) -> None:
        self.wake(bench, files, 0, 4)
        bench.dut.ping = lambda *_, **__: PingResult(20, 6, 0, ())  # type: ignore[method-assign]
        with pytest.raises(Undecided, match=r"^dut\.p0 .*: 6 of 20 pings answered; expected 15 or more"):
            Steering().received_packets_should_be_taken_over_by("dut", "1")

    def test_every_cpu_may_take_them(self, bench: FakeBench, files: Files) -> None:
        self.wake(bench, files, 10, 10)
        Steering().received_packets_should_be_taken_over_by("dut", "0-1")


class TestQueues:
    """Transmit packet steering."""

    @pytest.fixture
    def sent(self, bench: FakeBench, files: Files) -> set[int]:
        """CPUs that obey; others send by queue 0. The kernel's choice is that queue of their number."""
        obedient, counted, queues = {0, 1}, {0: 100, 1: 100}, "/sys/class/net/enp1s0/queues"

        def ping(command: str) -> str:
            assert command.count("ping -n -q -c 4 -i 0.05 -W 1 -I 198.18.10.1 198.18.10.2") == 5
            (text,) = re.findall(r" ([0-9]+) sh -c ", command)
            masks = {queue: cpus_of_mask(files.content[f"{queues}/tx-{queue}/xps_cpus"]) for queue in counted}
            (mine,) = [queue for queue, cpus in masks.items() if int(text) in cpus]
            counted[mine if int(text) in obedient else 0] += 19
            counted[1] += 1
            return ""

        def counters(*_: object) -> Counters:
            return Counters(tuple((f"tx_queue_{queue}_packets", count) for queue, count in counted.items()))

        bench.ssh[Role.DUT].replies["python3 -c"] = ping
        bench.dut.counters = counters  # type: ignore[method-assign,assignment]
        return obedient

    def ask(self) -> None:
        Steering().sent_packets_should_leave_by_the_queues_of_their_cpu("dut", "0-1")

    def test_packets_that_leave_by_the_queue_of_their_cpu_are_green(
        self, files: Files, sent: set[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(steered_packets, "COUNTED_WITHIN_S", 0.01)
        before = dict(files.content)
        self.ask()
        assert sent and files.content == before

    @pytest.mark.parametrize("cpu", [0, 1])
    def test_packets_that_leave_by_another_queue_are_red(
        self, sent: set[int], cpu: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(steered_packets, "COUNTED_WITHIN_S", 0.01)
        sent.discard(cpu)
        said = rf"sent 20 pings from CPU {cpu} by queue 0 19 times, queue 1 1 times; expected by queue 1, as xps_cpus"
        with pytest.raises(CardFailure, match=rf"^dut\.p0 .* {said} shows$"):
            self.ask()

    def test_queues_that_cannot_be_put_back_hide_no_packets_of_another_queue(
        self, bench: FakeBench, sent: set[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(steered_packets, "COUNTED_WITHIN_S", 0.01)
        sent.discard(1)
        bench.ssh[Role.DUT].replies["[ ! -e"] = BenchFault("dut: connection lost")
        with pytest.raises(CardFailure, match=r"^dut\.p0 .* sent 20 pings from CPU 1 by queue 0") as caught:
            self.ask()
        assert "connection lost" in str(caught.value).partition("\nundecided: ")[2]

    def test_queues_of_one_cpu_show_nothing(self, sent: set[int]) -> None:
        with pytest.raises(NotApplicable, match=r"no two CPUs of .* get send queues of their own"):
            Steering().sent_packets_should_leave_by_the_queues_of_their_cpu("dut", "1")
        assert sent

    def test_a_driver_that_counts_no_queue_shows_nothing(self, bench: FakeBench, files: Files) -> None:
        bench.dut.counters = lambda *_: Counters((("tx_packets", 3),))  # type: ignore[method-assign]
        with pytest.raises(NotApplicable, match="its driver counts no frames of single send queues"):
            self.ask()
        assert not files.written


class TestFollowed:
    """Receive flow steering."""

    @pytest.fixture
    def woken(self, files: Files, monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
        """The wakings of CPU 1, by the CPU of the reader."""
        files.content |= {f"/proc/irq/{irq}/smp_affinity_list": "0" for irq in (24, 25)}
        table, total = {0: 3, 1: 200}, 0

        def measure(_run: Run, _path: object, sender: Role, order: Order, _line_mbps: float) -> None:
            nonlocal total
            assert sender is Role.PEER and order.receiver_cpu is not None
            total += table[order.receiver_cpu]
            files.content["/proc/net/softnet_stat"] = softnet(0, total)

        monkeypatch.setattr(followed.measuring, "measure", measure)
        return table

    def test_packets_that_follow_their_reader_are_green(self, woken: dict[int, int]) -> None:
        Steering().packets_should_follow_their_reader("dut")
        assert woken

    @pytest.mark.parametrize(("there", "here"), [(0, 0), (200, 200), (19, 0)])
    def test_packets_that_do_not_are_red(self, woken: dict[int, int], there: int, here: int) -> None:
        woken.update({0: here, 1: there})
        said = (
            f"has woken CPU 1 {there} times for a reader there, {here} for one at CPU 0; expected at least 20, and 4 "
        )
        with pytest.raises(CardFailure, match=rf"^dut\.p0 .*{said}"):
            Steering().packets_should_follow_their_reader("dut")

    def test_interrupts_of_every_cpu_leave_no_other(self, files: Files, woken: dict[int, int]) -> None:
        files.content["/proc/irq/24/smp_affinity_list"] = "0-1"
        with pytest.raises(NotApplicable, match="every CPU may take its interrupts"):
            Steering().packets_should_follow_their_reader("dut")
        assert woken


ASK: tuple[Callable[[], None], ...] = (
    lambda: Steering().received_packets_should_be_taken_over_by("dut", "0"),
    lambda: Steering().packets_should_follow_their_reader("dut"),
    lambda: Steering().sent_packets_should_leave_by_the_queues_of_their_cpu("dut", "0-1"),
)


@pytest.mark.parametrize("ask", ASK)
def test_one_cpu_and_freebsd_have_no_choice(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch, ask: Callable[[], None]
) -> None:
    monkeypatch.setattr(bench.dut, "cpu_times", lambda: CpuTimes({0: CpuTime(0, 0, 0, 1, 0, 0, 0, 0)}))
    with pytest.raises(NotApplicable, match=r"dut has one CPU: .* has no other to choose"):
        ask()
    server = taken.server(Role.DUT)
    server.description = server.description.model_copy(update={"os": OperatingSystem.FREEBSD})
    with pytest.raises(NotApplicable, match="which is Linux' own"):
        ask()


def test_a_kernel_that_shows_no_wakings_is_a_bench_fault(files: Files) -> None:
    files.content["/proc/net/softnet_stat"] = "nothing\n"
    with pytest.raises(BenchFault, match=r"^dut: /proc/net/softnet_stat: cannot read"):
        Steering().received_packets_should_be_taken_over_by("dut", "1")
