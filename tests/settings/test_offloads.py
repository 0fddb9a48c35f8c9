"""The offload table against ports that keep to it, and against each way of not keeping to it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from fake_bench import FakeBench
from fake_parts import FakeHost
from fake_settings import SHEET, FakeSettings, Port, settings_of, with_sheet

from Defaults import Defaults
from niclab.bench.records import BenchPath, Role
from niclab.card import Setting, SettingKind
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetSilent
from niclab.hosts.host_records import Statistics
from niclab.hosts.settings.ethtool_records import Feature, Features
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.settings.held import held
from Offloads import Offloads


@pytest.fixture
def settings(bench: FakeBench, taken: Run) -> FakeSettings:
    with_sheet(bench, taken)
    return settings_of(bench)


class Flow:
    """TCP that carries ``step`` bytes each way between two looks at a port. ``goes``: tells whether it does now."""

    def __init__(self) -> None:
        self.step, self.looks = (200_000, 200_000), 0
        self.goes: Callable[[], bool] = lambda: True
        self._carried: dict[tuple[str, str], tuple[int, int]] = {}

    def statistics(self, host: FakeHost, iface: str) -> Statistics:
        self.looks += 1
        sent, received = self._carried.get((host.name, iface), (0, 0))
        if self.goes():
            sent, received = sent + self.step[0], received + self.step[1]
        self._carried[host.name, iface] = (sent, received)
        return Statistics(received, 0, 0, 0, sent, 0, 0, 0)


def failure(keyword: str, *arguments: object) -> list[str]:
    with pytest.raises(CardFailure) as caught:
        getattr(Defaults() if hasattr(Defaults, keyword) else Offloads(), keyword)(*arguments)
    return str(caught.value).splitlines()


def test_a_good_card_is_green_and_left_as_it_was(settings: FakeSettings, taken: Run) -> None:
    before, pending = settings.features("enp1s0"), taken.journal.pending()
    offloads = Offloads()
    Defaults().offloads_should_be_as_delivered()
    offloads.offload_should_switch_as_on_the_sheet("every")
    offloads.unsupported_feature_names_should_be_refused()
    assert settings.features("enp1s0") == before
    assert taken.journal.pending() == pending
    assert {"tx False", "tx True", "rxvlan False", "lro True", "lso True"} <= set(settings.told)


def test_another_default_is_wrong(settings: FakeSettings) -> None:
    port = settings.ports["enp2s0"]
    port.features["tx-tcp-segmentation"] = Feature(False, False, None)
    wanted = "dut.p1 (0000:02:00.0): offload tso4 (tx-tcp-segmentation) is off; expected on (sheet intel-82574l)"
    assert failure("offloads_should_be_as_delivered") == [wanted]


def test_fixed_must_be_shown_as_on_the_sheet(settings: FakeSettings) -> None:
    port = settings.ports["enp1s0"]
    port.features["rx-vlan-offload"] = Feature(True, False, None)
    port.features["generic-receive-offload"] = Feature(True, True, None)
    gro, vlan = failure("offloads_should_be_as_delivered")
    assert "gro (generic-receive-offload) is fixed; expected that it can be changed (sheet intel-82574l)" in gro
    assert "vlan-strip (rx-vlan-offload) can be changed; expected it fixed (sheet intel-82574l)" in vlan


def test_a_feature_that_is_not_shown_at_all_is_no_green(settings: FakeSettings) -> None:
    del settings.ports["enp1s0"].features["generic-receive-offload"]
    with pytest.raises(BenchFault, match=r"no feature 'generic-receive-offload' .*; sheet intel-82574l has it"):
        Defaults().offloads_should_be_as_delivered()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("tx-tcp-segmentation stuck", "tso4 (tx-tcp-segmentation) stays on when switched off (cannot)"),
        (
            "forgets tso",
            "tso4 (tx-tcp-segmentation) stays on when tx-checksum goes off; expected",
        ),
        ("takes gro along", "gro (generic-receive-offload) goes off when tx-checksum goes off"),
        ("rx-vlan-offload loose", "vlan-strip (rx-vlan-offload) goes off when switched; expected"),
        ("large-receive-offload loose", "lro (large-receive-offload) goes on when switched; expected"),
    ],
)
def test_a_table_that_is_not_kept_is_wrong_on_every_port(settings: FakeSettings, fault: str, words: str) -> None:
    settings.faults.add(fault)
    found = failure("offload_should_switch_as_on_the_sheet", "every")
    for port in ("dut.p0 (0000:01:00.0)", "dut.p1 (0000:02:00.0)"):
        assert any(line.startswith(f"{port}: offload {words}") for line in found), found


def test_one_row_is_asked_alone(settings: FakeSettings) -> None:
    settings.faults.add("rx-vlan-offload loose")
    Offloads().offload_should_switch_as_on_the_sheet("gro")
    assert {word for word in settings.told if word != "restore"} == {"gro False", "gro True"}


def test_what_does_not_come_back_is_wrong(settings: FakeSettings) -> None:
    settings.faults.add("never back")
    settings.ports["enp1s0"].features["generic-receive-offload"] = Feature(False, False, None)
    first, *_ = failure("offload_should_switch_as_on_the_sheet", "gro")
    assert first == "dut.p0 (0000:01:00.0): after gro was put back, generic-receive-offload did not come back"


def test_the_undo_is_in_the_journal_before_the_change(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> object:
        assert taken.journal.pending()[0].action.command.startswith("restore ")
        raise BenchFault("dut: connection lost")

    monkeypatch.setattr(settings.host, "set_feature", lost)
    with pytest.raises(BenchFault, match="connection lost"):
        Offloads().offload_should_switch_as_on_the_sheet("gro")
    assert settings.told == ["restore"]


def test_a_word_that_must_be_refused_and_is_taken_is_wrong(settings: FakeSettings) -> None:
    settings.faults.add("takes any word")
    first, second = failure("unsupported_feature_names_should_be_refused")
    assert (
        first
        == "dut.p0 (0000:01:00.0) took the feature name lso; expected it refused: misprint of lro (sheet intel-82574l)"
    )
    assert second.startswith("dut.p1 ")


def test_an_unsupported_name_that_is_taken_is_put_back(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, pending = settings.features("enp1s0"), taken.journal.pending()

    def switches_gro(iface: str, _: str, on: bool) -> Attempt[Features]:
        assert taken.journal.pending()[0].what == f"{iface}: unsupported feature names are tried"
        settings.ports[iface].features["generic-receive-offload"] = Feature(not on, False, None)
        return Attempt(None, settings.features(iface))

    monkeypatch.setattr(settings.host, "set_feature", switches_gro)
    first, _ = failure("unsupported_feature_names_should_be_refused")
    assert (
        first
        == "dut.p0 (0000:01:00.0) took the feature name lso; expected it refused: misprint of lro (sheet intel-82574l)"
    )
    assert settings.features("enp1s0") == before
    assert taken.journal.pending() == pending


def test_a_feature_that_does_not_come_back_after_an_unsupported_name_is_wrong(
    settings: FakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def adds_one(iface: str, word: str, on: bool) -> Attempt[Features]:
        settings.ports[iface].features[word] = Feature(on, False, None)
        return Attempt(None, settings.features(iface))

    settings.faults.add("never back")
    monkeypatch.setattr(settings.host, "set_feature", adds_one)
    _, second, *_ = failure("unsupported_feature_names_should_be_refused")
    assert second == "dut.p0 (0000:01:00.0): after unsupported feature names were tried, lso did not come back"


@pytest.mark.parametrize(
    ("keyword", "arguments", "words"),
    [
        ("offload_should_switch_as_on_the_sheet", ["every"], "offload tx-checksum (tx-checksumming) stays on when"),
        ("unsupported_feature_names_should_be_refused", [], "took the feature name lso"),
    ],
)
def test_a_port_that_cannot_be_put_back_hides_no_failure(
    settings: FakeSettings, bench: FakeBench, keyword: str, arguments: list[str], words: str
) -> None:
    settings.faults |= {"tx-checksumming stuck", "takes any word"}
    bench.ssh[Role.DUT].replies["restore"] = BenchFault("dut: connection lost")
    with pytest.raises(CardFailure) as caught:
        getattr(Offloads(), keyword)(*arguments)
    assert words in str(caught.value) and "connection lost" in str(caught.value).partition("\nundecided: ")[2]


def test_a_port_that_cannot_be_read_hides_no_failure_of_another(settings: FakeSettings, bench: FakeBench) -> None:
    settings.ports["enp1s0"].features["generic-receive-offload"] = Feature(False, False, None)

    def lost(iface: str) -> Features:
        if iface != "enp1s0":
            raise BenchFault("dut: connection lost")
        return settings.features(iface)

    bench.dut.features = lost  # type: ignore[attr-defined]
    with pytest.raises(CardFailure, match=r"^dut\.p0 .*: offload gro .* is off; expected on") as caught:
        Defaults().offloads_should_be_as_delivered()
    assert str(caught.value).endswith("\nundecided: dut: connection lost")


class TestCounters:
    @pytest.fixture(autouse=True)
    def _traffic(self, monkeypatch: pytest.MonkeyPatch) -> None:
        @contextlib.contextmanager
        def steady(*_: object) -> Iterator[None]:
            yield

        monkeypatch.setattr("niclab.traffic.flows.tcp.steady", steady)
        monkeypatch.setattr("niclab.settings.offloads.offload_proof.pause", lambda _: None)
        monkeypatch.setattr("niclab.traffic.flows.tcp.FLOW_WITHIN_S", 0.05)

    @pytest.fixture(autouse=True)
    def flow(self, monkeypatch: pytest.MonkeyPatch) -> Flow:
        """The traffic of both servers."""
        made = Flow()

        def statistics(host: FakeHost, iface: str) -> Statistics:
            return made.statistics(host, iface)

        monkeypatch.setattr(FakeHost, "statistics", statistics)
        return made

    def test_counters_that_follow_are_green(self, settings: FakeSettings) -> None:
        before = settings.features("enp1s0")
        Offloads().offload_counters_should_follow_the_switch("every")
        assert settings.features("enp1s0") == before

    @pytest.mark.parametrize(
        ("growth", "words"),
        [
            ({"tso": 0, "reqs": 100, "pkts": 300}, "tso grew by 0 with it on; expected growth (sheet intel-82574l)"),
            ({"tso": 9, "reqs": 100, "pkts": 300}, "tso grew by 9 with it off; expected none (sheet intel-82574l)"),
            ({"tso": 9, "reqs": 100, "pkts": 100}, "pkts grew 1.00 times as much as reqs with it on"),
            ({"tso": 9, "reqs": 100, "pkts": 150}, "pkts grew 1.50 times as much as reqs with it off"),
        ],
    )
    def test_counters_that_do_not_follow_are_wrong(
        self, settings: FakeSettings, growth: dict[str, int], words: str
    ) -> None:
        def lying(_: Port) -> dict[str, int]:
            return growth

        settings.ports["enp1s0"].grows = lying
        assert any(words in line for line in failure("offload_counters_should_follow_the_switch", "every"))

    def test_the_counters_are_those_of_the_port_that_the_traffic_uses(
        self, settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        paths = tuple(reversed(taken.bench.paths))
        taken.bench = taken.bench.model_copy(update={"paths": paths})
        loaded: list[BenchPath] = []

        @contextlib.contextmanager
        def steady(_: Run, path: BenchPath, __: Role) -> Iterator[None]:
            loaded.append(path)
            yield

        monkeypatch.setattr("niclab.traffic.flows.tcp.steady", steady)
        settings.ports["enp1s0"].grows = lambda _: {}
        settings.ports["enp2s0"].grows = lambda port: {"tso": 50 if port.features["tx-tcp-segmentation"].on else 0}
        Offloads().offload_counters_should_follow_the_switch("tso4")
        assert {path.name for path in loaded} == {"b"}

    @pytest.mark.parametrize("follows", [True, False])
    def test_an_offload_of_tags_is_proven_by_tcp_in_a_vlan(
        self, bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch, follows: bool
    ) -> None:
        row = "linux: {word: rx-vlan-offload, set_word: rxvlan, default: true, change: "
        with_sheet(bench, taken, (f"{row}fixed}}", f"{row}both, proof: {{counter: stripped}}}}"))
        settings, senders = settings_of(bench), list[Role]()

        @contextlib.contextmanager
        def steady(_: Run, __: BenchPath, sender: Role) -> Iterator[None]:
            senders.append(sender)
            yield

        port = settings.ports["enp1s0"]
        port.features["rx-vlan-offload"], port.counters["stripped"] = Feature(True, False, None), 0
        port.grows = lambda mine: {"stripped": 9 if mine.features["rx-vlan-offload"].on or not follows else 0}
        monkeypatch.setattr("niclab.traffic.flows.in_vlan.steady", steady)
        if follows:
            Offloads().offload_counters_should_follow_the_switch("vlan-strip")
        else:
            (line,) = failure("offload_counters_should_follow_the_switch", "vlan-strip")
            assert "stripped grew by 9 with it off" in line
        assert senders == [Role.PEER, Role.PEER]

    def test_no_traffic_is_no_answer(self, settings: FakeSettings) -> None:
        settings.ports["enp1s0"].grows = lambda _: {"tso": 0, "reqs": 0, "pkts": 0}
        with pytest.raises(BenchFault, match="reqs did not grow, so no traffic flowed"):
            Offloads().offload_counters_should_follow_the_switch("gro")

    def test_a_switch_after_which_nothing_flows_is_the_cards(self, settings: FakeSettings, flow: Flow) -> None:
        """A counter that does not grow proves nothing then."""
        port, before = settings.ports["enp1s0"], settings.features("enp1s0")
        flow.goes = lambda: settings.features("enp1s0").features["tx-tcp-segmentation"].on
        (line,) = failure("offload_counters_should_follow_the_switch", "tso4")
        assert line.startswith("peer: enp1s0, enp2s0 have received 0 bytes in 0.05 s, while TCP is sent to it")
        assert port.counters["tso"] > 0 and settings.features("enp1s0") == before

    def test_traffic_that_returns_late_is_waited_for(
        self, settings: FakeSettings, flow: Flow, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert settings
        monkeypatch.setattr("niclab.traffic.flows.tcp.FLOW_WITHIN_S", 5)
        flow.goes = lambda: flow.looks > 5
        Offloads().offload_counters_should_follow_the_switch("tso4")
        assert flow.looks > 10

    @pytest.mark.parametrize(
        ("offload", "step", "words"),
        [
            ("tso4", (50_000, 200_000), "50000 bytes of TCP from dut in 2 s with tso4 on"),
            ("tso4", (100_000, 200_000), "100000 bytes of TCP from dut in 2 s with tso4 on"),
            ("gro", (200_000, 100_000), "100000 bytes of TCP from peer in 2 s with gro on"),
        ],
    )
    def test_counters_of_a_port_that_carries_nothing_are_no_answer(
        self, settings: FakeSettings, flow: Flow, offload: str, step: tuple[int, int], words: str
    ) -> None:
        assert settings
        flow.step = step
        expected = rf"^dut\.p0 \(0000:01:00\.0\): {words}; expected more than 100000: its counters say nothing$"
        with pytest.raises(BenchFault, match=expected):
            Offloads().offload_counters_should_follow_the_switch(offload)

    def test_a_counter_that_is_not_there_is_no_answer(self, settings: FakeSettings) -> None:
        del settings.ports["enp1s0"].counters["tso"]
        settings.ports["enp1s0"].grows = lambda _: {}
        with pytest.raises(BenchFault, match="no counter 'tso' among 2; sheet intel-82574l names it"):
            Offloads().offload_counters_should_follow_the_switch("tso4")

    def test_a_counter_that_is_not_there_hides_no_failure_of_another(self, settings: FakeSettings) -> None:
        port = settings.ports["enp1s0"]
        del port.counters["reqs"]
        port.grows = lambda _: {"tso": 0, "pkts": 0}
        with pytest.raises(CardFailure, match="tso grew by 0 with it on; expected growth") as caught:
            Offloads().offload_counters_should_follow_the_switch("every")
        assert "no counter 'reqs' among 2" in str(caught.value).partition("\nundecided: ")[2]

    @pytest.mark.usefixtures("settings")
    def test_an_offload_without_proof_is_not_applicable(self) -> None:
        with pytest.raises(NotApplicable, match="names no counter by which TCP proves vlan-strip"):
            Offloads().offload_counters_should_follow_the_switch("vlan-strip")


@pytest.mark.usefixtures("taken")
def test_a_sheet_without_table_is_not_applicable() -> None:
    for ask in (
        lambda _: Defaults().offloads_should_be_as_delivered(),
        lambda offloads: offloads.offload_should_switch_as_on_the_sheet("every"),
        lambda offloads: offloads.unsupported_feature_names_should_be_refused(),
        lambda offloads: offloads.offload_counters_should_follow_the_switch("every"),
    ):
        with pytest.raises(NotApplicable, match=r"^sheet intel-82574l says nothing about offloads$"):
            ask(Offloads())


@pytest.mark.usefixtures("settings")
def test_names_that_cannot_be_asked() -> None:
    with pytest.raises(NotApplicable, match="says nothing about offload jumbo-mtu for linux"):
        Offloads().offload_should_switch_as_on_the_sheet("jumbo-mtu")
    with pytest.raises(BenchFault, match="offload 'tso5' is not known; expected every, rx-checksum"):
        Offloads().offload_should_switch_as_on_the_sheet("tso5")


def test_a_table_of_another_system_alone_is_silent(bench: FakeBench, taken: Run) -> None:
    start, end = SHEET.index("    - name: "), SHEET.index("    - name: jumbo-mtu")
    with_sheet(bench, taken, (SHEET[start:end], ""))
    for offload in ("every", "tso4"):
        with pytest.raises(SheetSilent, match=r"^sheet intel-82574l says nothing about any offload for linux$"):
            Offloads().offload_should_switch_as_on_the_sheet(offload)


def test_an_unknown_default_is_not_judged(bench: FakeBench, taken: Run) -> None:
    with_sheet(bench, taken, ("default: true, change: both, clears", "default: {unknown: test}, change: both, clears"))
    settings = settings_of(bench)
    port = settings.ports["enp1s0"]
    port.features["tx-checksumming"] = replace(port.features["tx-checksumming"], on=False)
    Defaults().offloads_should_be_as_delivered()


def test_a_table_of_unknown_facts_alone_is_never_green(bench: FakeBench, taken: Run) -> None:
    row = "{name: gro, linux: {word: generic-receive-offload, default: {unknown: test}, change: {unknown: test}}}"
    with_sheet(bench, taken, more=f"\noffloads: {{table: [{row}], source: test}}\n")
    settings_of(bench)
    with pytest.raises(NotApplicable, match="knows of no offload how it is delivered"):
        Defaults().offloads_should_be_as_delivered()
    with pytest.raises(NotApplicable, match="does not know how every can be changed"):
        Offloads().offload_should_switch_as_on_the_sheet("every")


class TestUnsafeChecksums:
    """A card whose sheet says that checksum offload stays on under iSCSI (DEL-08)."""

    ERRATUM = "\nerrata:\n  - {text: Sums stay on., requirement: DEL-08, source: test}\n"

    @pytest.fixture
    def unsafe(self, bench: FakeBench, taken: Run) -> FakeSettings:
        bench.sheet.write_text(bench.sheet.read_text().replace("errata: []\n", ""))
        with_sheet(bench, taken, more=SHEET + self.ERRATUM)
        return settings_of(bench)

    def test_each_port_is_warned_of_once(self, unsafe: FakeSettings, caplog: pytest.LogCaptureFixture) -> None:
        Offloads().offload_should_switch_as_on_the_sheet("every")
        Offloads().offload_should_switch_as_on_the_sheet("tx-checksum")
        assert caplog.messages == [
            f"dut.p{port} (0000:0{port + 1}:00.0): offload tx-checksum goes off: Sums stay on. (test)"
            for port in range(2)
        ]
        assert unsafe.told

    def test_other_offloads_are_safe(self, unsafe: FakeSettings, caplog: pytest.LogCaptureFixture) -> None:
        Offloads().offload_should_switch_as_on_the_sheet("tso4")
        assert unsafe.told and not caplog.messages

    def test_a_setting_of_the_test_is_warned_of_at_the_dut(
        self, bench: FakeBench, unsafe: FakeSettings, taken: Run, caplog: pytest.LogCaptureFixture
    ) -> None:
        off, peer = Setting(kind=SettingKind.OFFLOAD, name="tx-checksum", to=False), settings_of(bench, Role.PEER)
        for port in ("peer.p0", "dut.p0"):
            with held(taken, taken.bench.port(port), off):
                assert "goes off" in caplog.text or port == "peer.p0"
        assert unsafe.told and peer.told and len(caplog.messages) == 1

    def test_a_sheet_without_the_known_issue_warns_of_nothing(
        self, settings: FakeSettings, caplog: pytest.LogCaptureFixture
    ) -> None:
        Offloads().offload_should_switch_as_on_the_sheet("tx-checksum")
        assert settings.told and not caplog.messages
