"""TCP of the card: a sound card is proven, each defect is red, and everything is put back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from fake_bench import FakeBench
from fake_parts import FILE, FakeJob
from fake_settings import with_sheet
from measured_states import MORE, States

from niclab.bench.records import DeclaredDeviation, OperatingSystem, Role, SiliconFact
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, Deviation, NotApplicable, Undecided
from niclab.hosts.engine.engine_records import Placing
from niclab.hosts.engine.tids import read_tids
from niclab.hosts.host_records import LoadedModule, ModuleState
from niclab.hosts.settings.ethtool_records import Feature, Features
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.settings import tcp_offload
from niclab.settings.tcp_offload import Mode
from niclab.traffic.effects import offload_cpu
from niclab.traffic.limits import bottleneck
from niclab.traffic.runs import measuring
from Sweeps import Sweeps
from TcpOffload import TcpOffload

QUICK = Profile.QUICK
DRIVER = """  freebsd:
    module: if_em
    in_kernel: true
    tcp_offload:
      module: t4_tom
      placement:
        {before_release: 11, buffer_bytes: 16384, saves_percent_of_nic: 32, saves_percent_of_toe: 9, source: ddp}
      source: tom
    source: test
"""
ROW = """    - name: toe
      freebsd: {label: TOE4, bit: 14, set_words: [toe], default: false, change: not-on}
"""
BUFFER = 16384


@dataclass
class CardTcp:
    """The dut: its card does TCP when the module is loaded and the offload is on. Fields tell what is wrong."""

    release: str = "10.1-RELEASE"
    loaded: bool = False
    on: bool = False
    placing: bool = False
    reserved: bool = True
    by_policy: bool = False
    least_bytes: int | None = 16384
    lost: int = 0
    """Connections that are not the card's, where there are at least ``lost_from``."""
    lost_from: int = 1
    placed: float = 1.0
    refuses: str = ""
    loads: bool = True
    samples: bool = True
    before: int = 2
    going: int = 0
    """Those of others that go while traffic runs."""
    running: int = 0
    buffers: int = 100
    busy: Callable[[Mode], None] = lambda _: None
    log: list[str] = field(default_factory=list)

    def mode(self) -> Mode:
        return Mode.NIC if not self.on else Mode.TOE_DDP if self.placing else Mode.TOE

    # --- the part `engine` of the host

    def shown(self) -> Placing:
        return Placing(self.placing, self.least_bytes)

    def set_placing(self, *, on: bool) -> Attempt[Placing]:
        self.placing = on and "ddp" not in self.refuses
        return Attempt("sysctl: no" if "ddp" in self.refuses else None, self.shown())

    def part(self) -> SimpleNamespace:
        return SimpleNamespace(
            is_reserved=lambda _: self.reserved,
            is_by_policy=lambda _: self.by_policy,
            connections_command=lambda _: "show tids",
            read_connections=read_tids,
            placing=lambda _: self.shown(),
            set_placing=lambda _, on: self.set_placing(on=on),
            restoring_placing=lambda _: f"restore placing {int(self.placing)}",
            buffers=lambda _: self.buffers,
        )

    def tids(self, running: int = 0) -> str:
        return f"TID range: 0-18431, in use: {self.before + running}\n"

    def traffic(self, command: str, octets: int) -> None:
        """A client has run."""
        self.busy(self.mode())
        self.before, self.going = self.before - self.going, 0
        parallel = re.findall(r"--parallel (\d+)", command)
        count = int(parallel[0]) if parallel else 1
        lost = self.lost if count >= self.lost_from else 0
        self.running = max(0, count + 1 - lost) if self.on else 0  # and the one of control
        if self.on:
            part = 1 - self.placed if self.placing else 1.0
            self.buffers += round(part * octets / BUFFER)

    # --- its shell

    def shell(self, command: str) -> str:
        self.log.append(command)
        match command.split():
            case ["kldload", *_]:
                self.loaded = self.loads
            case ["restore", "toe"]:
                self.on = False
            case ["restore", "placing", value]:
                self.placing = value == "1"
            case _ if "kldunload" in command:
                assert not self.on, "the module is in use"
                self.loaded = False
        return self.tids() if "tids" in command else ""


@pytest.fixture
def states(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> States:
    monkeypatch.setattr(bottleneck, "LOOK_S", 0.001)
    monkeypatch.setattr(measuring, "COUNTERS_WITHIN_S", 0.02)
    bench.sheet.write_text(bench.sheet.read_text().replace("errata: []\n", ""))
    with_sheet(bench, taken, more=MORE)
    text = bench.sheet.read_text().replace("\nfirmware:\n", f"{DRIVER}\nfirmware:\n", 1)
    bench.sheet.write_text(text.replace("  table:\n", f"  table:\n{ROW}", 1))
    taken.card = bench.load()[1]
    return States(bench)


@pytest.fixture
def card(bench: FakeBench, taken: Run, states: States, monkeypatch: pytest.MonkeyPatch) -> Iterator[CardTcp]:
    monkeypatch.setattr(tcp_offload, "UNLOADED_WITHIN_S", 0.0)
    made, host, ssh = CardTcp(), bench.hosts[Role.DUT], bench.ssh[Role.DUT]
    server = taken.server(Role.DUT)
    server.description = server.description.model_copy(update={"os": OperatingSystem.FREEBSD})
    module = LoadedModule("t4_tom", ModuleState.LIVE)

    def features(iface: str) -> Features:
        return Features(iface, {"TOE4": Feature(made.on, False, None)})

    def set_feature(iface: str, word: str, on: bool) -> Attempt[Features]:
        assert word == "toe" and made.loaded, "the driver wants its module"
        made.on = on and "toe" not in made.refuses
        return Attempt("ifconfig: toe: no" if made.refuses == "toe" else None, features(iface))

    patches = {
        "engine": made.part(),
        "kernel": lambda: made.release,
        "loaded_module": lambda _: module if made.loaded else None,
        "modinfo": lambda _: FILE,
        "features": features,
        "set_feature": set_feature,
        "restoring_features": lambda *_: "restore toe",
        "loading_driver": lambda name: f"kldload -n {name}",
        "unloading_driver": lambda name: f"kldunload {name}",
    }
    for name, value in patches.items():
        monkeypatch.setattr(host, name, value, raising=False)
    for beginning in ("kldload", "n=0; until { kldunload", "restore", "show tids"):
        ssh.replies[beginning] = made.shell

    def sampled(job: FakeJob) -> None:
        if "tids" in job.command and made.samples:
            monkeypatch.setattr(job, "output", lambda: f"{made.tids()}@\n{made.tids(made.running)}@\nTID ra")

    ssh.prepare_job = sampled
    run = states._run

    def ran(command: str) -> str:
        text = run(command)
        received = int(re.findall(r'"bytes": (\d+)', text.partition("sum_received")[2])[0])
        made.traffic(command, received)
        return text

    bench.ssh[Role.PEER].replies["iperf3 --client"] = ran
    yield made
    assert not (made.on or made.placing), "the settings are put back"


def receives(mode: Mode) -> None:
    Sweeps().connections_should_reach_the_limit(mode, QUICK)


@pytest.mark.parametrize("mode", [Mode.TOE, Mode.TOE_DDP])
def test_a_sound_card_is_proven_and_put_back(card: CardTcp, states: States, mode: Mode) -> None:
    receives(mode)
    assert not card.loaded and len(states.commands) == 2 * (1 + 6)
    assert any("kldunload t4_tom" in command for command in card.log)


def test_a_module_that_was_loaded_stays(card: CardTcp) -> None:
    card.loaded = True
    receives(Mode.TOE)
    assert card.loaded and card.log.count("kldload -n t4_tom") == 0


@pytest.mark.parametrize(("lost", "at_least", "said"), [(1, 1, "1 of 2"), (4, 1, "0 of 2"), (1, 2, "4 of 5")])
def test_connections_that_are_not_the_cards_are_red(card: CardTcp, lost: int, at_least: int, said: str) -> None:
    card.lost, card.lost_from = lost, at_least
    with pytest.raises(CardFailure, match=rf"^dut\.p0 .*offload is on and shown on: {said} connections .*\(tom\)"):
        receives(Mode.TOE)
    assert not card.loaded


def test_connections_of_others_that_go_meanwhile_are_not_missed(card: CardTcp) -> None:
    """Those of an earlier run may be there for a moment after it."""
    card.going = 2
    with pytest.raises(
        Undecided, match=r"^dut\.p0 .*: 2 connections were the card's at most, 2 were before the run, and not all of"
    ):
        receives(Mode.TOE)
    assert not card.loaded


def test_connections_of_others_that_go_do_not_excuse_too_few(card: CardTcp) -> None:
    card.going, card.lost = 2, 1
    with pytest.raises(CardFailure, match="0 of 2 connections were the card's"):
        receives(Mode.TOE)


def test_data_that_are_not_placed_are_red(card: CardTcp) -> None:
    card.placed = 0.3
    with pytest.raises(CardFailure, match=r"direct placement is on and shown on: at least (29|30)% of the data .*ddp"):
        receives(Mode.TOE_DDP)
    card.placed = 0.0
    receives(Mode.TOE)


@pytest.mark.parametrize(
    ("refuses", "words"),
    [("toe", r"`toe` with module t4_tom loaded: refused: "), ("toe, quietly", r"taken, and TOE4 is shown as off")],
)
def test_a_driver_that_does_not_switch_it_on_is_red(card: CardTcp, refuses: str, words: str) -> None:
    card.refuses = refuses
    with pytest.raises(CardFailure, match=words):
        receives(Mode.TOE)
    assert not card.loaded


def test_placement_that_is_refused_is_red(card: CardTcp) -> None:
    card.refuses = "ddp"
    with pytest.raises(CardFailure, match=r"direct placement on: refused: sysctl: no"):
        receives(Mode.TOE_DDP)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"loads": False}, "module t4_tom is not loaded"),
        ({"reserved": False}, "has reserved nothing for TCP offload"),
        ({"by_policy": True}, "a policy of the server chooses"),
        ({"least_bytes": 65536}, "reads of fewer than 65536 bytes have nothing placed; expected at most 32768"),
        ({"samples": False}, "were not shown once while traffic ran"),
    ],
)
def test_what_the_server_cannot_have_is_a_bench_fault(card: CardTcp, wrong: dict[str, object], words: str) -> None:
    for name, value in wrong.items():
        setattr(card, name, value)
    with pytest.raises(BenchFault, match=words):
        receives(Mode.TOE_DDP)


def test_placement_that_the_server_has_on_is_off_where_it_is_not_meant(card: CardTcp) -> None:
    card.placing, seen = True, set[Mode]()
    card.busy = seen.add
    receives(Mode.TOE)
    assert seen == {Mode.TOE} and card.placing
    card.placing = False


def test_tcp_that_the_server_gives_the_card_is_not_measured_as_its_own(card: CardTcp) -> None:
    card.loaded = card.on = True
    with pytest.raises(BenchFault, match=r"^dut\.p0 .*: TCP offload is on \(TOE4\); expected off in mode nic"):
        receives(Mode.NIC)
    card.on = False
    receives(Mode.NIC)


def test_a_release_that_places_nothing_of_a_read_is_not_applicable(card: CardTcp, states: States) -> None:
    card.release = "13.2-RELEASE"
    with pytest.raises(NotApplicable, match=r"^mode toe-ddp: .* before release 11 alone, the dut runs 13\.2-RELEASE"):
        receives(Mode.TOE_DDP)
    assert states.commands == []
    receives(Mode.TOE)


def cpu(card: CardTcp, bench: FakeBench, **ticks: int) -> None:
    """The dut is so busy in each mode, in ticks of 200 of both processors."""
    by_mode = {Mode(name.replace("_", "-")): value for name, value in ticks.items()}

    def busy(mode: Mode) -> None:
        bench.dut.busy_ticks = by_mode[mode]

    card.busy = busy


def test_cpu_that_placement_saves_is_green(bench: FakeBench, card: CardTcp, states: States) -> None:
    cpu(card, bench, nic=60, toe=30, toe_ddp=20)
    TcpOffload().direct_placement_should_save_cpu(QUICK)
    assert len(states.commands) == offload_cpu.ROUNDS * (3 * 2 + 2)


@pytest.mark.parametrize(("ddp", "against"), [(50, "nic"), (29, "toe")])
def test_cpu_that_placement_does_not_save_is_red(bench: FakeBench, card: CardTcp, ddp: int, against: str) -> None:
    cpu(card, bench, nic=60, toe=30, toe_ddp=ddp)
    with pytest.raises((CardFailure, BenchFault), match=rf"receiver's CPU with toe-ddp at the rate of {against}: "):
        TcpOffload().direct_placement_should_save_cpu(QUICK)


def test_cpu_time_that_fewer_connections_lack_does_not_excuse_the_card(
    bench: FakeBench, card: CardTcp, states: States
) -> None:
    """With sixteen connections, of which the answer is, both CPUs are free; with each other number one is full."""
    by_mode = {Mode.NIC: 60, Mode.TOE: 30, Mode.TOE_DDP: 50}

    def busy(mode: Mode) -> None:
        bench.dut.busy_ticks = by_mode[mode] if "--parallel 16" in states.commands[-1] else 99

    card.busy = busy
    with pytest.raises(CardFailure, match="16 connections, receiver's CPU with toe-ddp at the rate of nic: "):
        TcpOffload().direct_placement_should_save_cpu(Profile.FULL)


@pytest.mark.parametrize(("part", "is_red"), [(0.5, True), (0.97, False)])
def test_cpu_is_compared_at_the_same_rate(
    bench: FakeBench, card: CardTcp, states: States, part: float, is_red: bool
) -> None:
    """Half of the traffic costs half of the CPU: no work was saved."""
    cpu(card, bench, nic=60, toe=32, toe_ddp=20)
    rate = states.rate
    states.rate = lambda command: (part if card.mode() is Mode.TOE_DDP else 1.0) * rate(command)
    if is_red:
        with pytest.raises((CardFailure, BenchFault), match="receiver's CPU with toe-ddp at the rate of toe: "):
            TcpOffload().direct_placement_should_save_cpu(QUICK)
    else:
        TcpOffload().direct_placement_should_save_cpu(QUICK)


def test_a_card_that_does_tcp_at_the_servers_cost_is_not_judged(bench: FakeBench, card: CardTcp, taken: Run) -> None:
    cpu(card, bench, nic=20, toe=20, toe_ddp=20)
    declared = DeclaredDeviation(card=taken.card.name, fact=SiliconFact.TCP_WORK, how="by hand", source="test")
    taken.bench = taken.bench.model_copy(update={"deviations": (declared,)})
    with pytest.raises(Deviation, match=r"offloads\.tcp-work"):
        TcpOffload().direct_placement_should_save_cpu(QUICK)


@pytest.mark.usefixtures("card")
def test_a_comparison_has_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload_cpu, "MOST_S", {QUICK: 0})
    with pytest.raises(Undecided, match="0 rounds made when the time was spent"):
        TcpOffload().direct_placement_should_save_cpu(QUICK)
