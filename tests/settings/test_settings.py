"""Rings, coalescing, pause frames, queues and MTU: good ports are green, and each fault is red."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from fake_bench import FakeBench
from fake_settings import FakeSettings, settings_of, with_sheet

from Defaults import Defaults
from niclab.bench.records import OperatingSystem, Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetUnknown
from niclab.core.wait import Deadline
from niclab.hosts.errors import NotOffered
from niclab.hosts.settings.ethtool_records import Channels, Coalescing, Rings
from niclab.hosts.settings.settings_records import Attempt
from niclab.links import carrier
from niclab.run.run import Run
from niclab.settings import survival
from Settings import Settings

DELIVERED = ("rings", "coalescing", "pause", "channels", "mtu")


@pytest.fixture
def settings(bench: FakeBench, taken: Run) -> FakeSettings:
    with_sheet(bench, taken)
    return settings_of(bench)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("niclab.settings.dut_ports.Deadline", lambda _: Deadline(0.01))
    monkeypatch.setattr("niclab.settings.dut_ports.pause", lambda _: None)
    monkeypatch.setattr("niclab.settings.coalescing.pause", lambda _: None)


def delivered(section: str) -> None:
    """Check a section of the sheet as delivered."""
    word = "queues" if section == "channels" else section
    getattr(Defaults(), f"{word}_should_be_as_delivered")()


def failure(keyword: str, *arguments: object) -> list[str]:
    with pytest.raises(CardFailure) as caught:
        getattr(Defaults() if hasattr(Defaults, keyword) else Settings(), keyword)(*arguments)
    return str(caught.value).splitlines()


@pytest.mark.parametrize("what", DELIVERED[:3] + DELIVERED[4:])
def test_a_card_as_delivered_is_green(settings: FakeSettings, what: str) -> None:
    delivered(what)
    assert settings.told == []


def test_a_card_keeps_its_range_and_is_left_as_it_was(settings: FakeSettings, taken: Run) -> None:
    before, pending = str({name: vars(port) for name, port in settings.ports.items()}), taken.journal.pending()
    library = Settings()
    library.ring_should_take_its_range("every")
    library.coalescing_parameter_should_be_settable("every")
    library.unsupported_coalescing_should_be_refused()
    library.pause_should_be_settable()
    library.queues_should_be_settable()
    library.mtu_should_take_its_range()
    assert str({name: vars(port) for name, port in settings.ports.items()}) == before
    assert taken.journal.pending() == pending


def test_a_ring_change_that_loses_the_link_is_wrong(bench: FakeBench, settings: FakeSettings) -> None:
    def set_rings(iface: str, sizes: Mapping[str, int]) -> Attempt[Rings]:
        if iface == "enp2s0":
            bench.cables.stuck["dut.p1"] = False
        return settings.set_rings(iface, sizes)

    bench.dut.set_rings = set_rings  # type: ignore[attr-defined]  # set by the fake settings as well
    assert failure("ring_should_take_its_range", "rx") == [
        "dut.p1 (0000:02:00.0) has no carrier 5000 ms after ring rx was changed; expected a link (sheet intel-82574l)"
    ]


@pytest.mark.usefixtures("settings")
def test_a_link_that_was_lost_before_a_ring_is_changed_is_wrong(bench: FakeBench) -> None:
    bench.cables.stuck["dut.p0"] = False
    first, second = failure("ring_should_take_its_range", "rx")
    assert first.startswith("dut.p0 (0000:01:00.0) has no carrier 5000 ms after the bench was made ready")
    assert second.startswith("dut.p0 (0000:01:00.0) has no carrier 5000 ms after ring rx was changed")


@pytest.mark.usefixtures("settings")
def test_a_link_that_the_peer_keeps_down_is_not_the_cards(bench: FakeBench, taken: Run) -> None:
    bench.nic("peer.p0").admin_up = False
    said = r"^dut\.p0 \(0000:01:00\.0\) has no carrier [0-9]+ ms after {}; expected a link .*; partner-link"
    with pytest.raises(BenchFault, match=said.format("the bench was made ready")):
        Settings().ring_should_take_its_range("rx")
    with pytest.raises(BenchFault, match=said.format("down and up")):
        survival.over_down_and_up(taken, str, carrier.not_back)


def test_other_rings_are_wrong(settings: FakeSettings) -> None:
    settings.ports["enp1s0"].rings["rx"] = 407
    settings.ports["enp2s0"].ring_max["tx"] = 2048
    assert failure("rings_should_be_as_delivered") == [
        "dut.p0 (0000:01:00.0): ring rx is 407; expected 256 (sheet intel-82574l)",
        "dut.p1 (0000:02:00.0): largest ring tx is 2048; expected 4096 (sheet intel-82574l)",
    ]


def test_a_ring_that_queues_share_is_their_part(bench: FakeBench, taken: Run) -> None:
    with_sheet(
        bench, taken, ("max: 4096, default: 256, min: 64", "max: 4096, default: 4096, shared: true, hidden_queues: 1")
    )
    settings = settings_of(bench)
    settings.ports["enp1s0"].rings["rx"], settings.ports["enp2s0"].rings["rx"] = 4096 // 4, 4096 // 5
    delivered("rings")
    settings.ports["enp2s0"].rings["rx"] = 4096 // 6
    assert failure("rings_should_be_as_delivered") == [
        "dut.p1 (0000:02:00.0): ring rx is 682; expected 1024 or 819: 4096 shared by 4 queues or more "
        "(sheet intel-82574l)"
    ]


@pytest.mark.parametrize("said", [True, False])
def test_a_driver_that_sends_pause_frames_only_where_it_receives_is_asked_so(
    bench: FakeBench, taken: Run, said: bool
) -> None:
    change = (
        "settable: true, source: test}\nchannels",
        "settable: true, send_needs_receive: true, source: test}\nchannels",
    )
    with_sheet(bench, taken, *([change] if said else []))
    settings_of(bench).faults.add("sending needs receiving")
    if said:
        Settings().pause_should_be_settable()
    else:
        assert "dut.p0 (0000:01:00.0): pause rx is True (tx ON rx OFF)" in failure("pause_should_be_settable")[0]


def test_other_coalescing_is_wrong(settings: FakeSettings) -> None:
    settings.ports["enp1s0"].adaptive = False
    settings.ports["enp2s0"].coalescing["rx-usecs"] = 0
    assert failure("coalescing_should_be_as_delivered") == [
        "dut.p0 (0000:01:00.0): adaptive receive coalescing is off; expected on (sheet intel-82574l)",
        "dut.p1 (0000:02:00.0): rx-usecs is 0; expected 18 (sheet intel-82574l)",
    ]


def test_what_is_not_shown_is_wrong(settings: FakeSettings) -> None:
    settings.ports["enp1s0"].adaptive = None
    settings.ports["enp1s0"].coalescing["rx-usecs"] = None
    first, second = failure("coalescing_should_be_as_delivered")
    assert first.endswith("adaptive receive coalescing is not shown; expected on (sheet intel-82574l)")
    assert second.endswith("rx-usecs is not shown; expected 18 (sheet intel-82574l)")


def test_a_parameter_that_may_be_refused_for_all_the_sheet_knows_is_not_set(
    bench: FakeBench, settings: FakeSettings, taken: Run
) -> None:
    bench.edit(bench.sheet, ("rx-usecs, default: 18, max: 100}", "rx-usecs, default: 18, settable: {unknown: test}}"))
    taken.card = bench.load()[1]
    settings.faults.add("coalescing swapped")
    with pytest.raises(
        SheetUnknown, match=r"^sheet intel-82574l does not know coalescing\.parameters\.rx-usecs\.settable: test$"
    ):
        Settings().coalescing_parameter_should_be_settable("rx-usecs")
    first, *_ = failure("coalescing_parameter_should_be_settable", "every")
    assert first.startswith("dut.p0 (0000:01:00.0): tx-usecs is ")


def test_other_pause_and_mtu_are_wrong(settings: FakeSettings) -> None:
    settings.ports["enp2s0"].pause["autoneg"] = False
    settings.ports["enp2s0"].mtu = 9000
    assert failure("pause_should_be_as_delivered") == [
        "dut.p1 (0000:02:00.0): pause autoneg is off; expected on (sheet intel-82574l)"
    ]
    assert failure("mtu_should_be_as_delivered") == [
        "dut.p1 (0000:02:00.0): MTU is 9000; expected 1500 (sheet intel-82574l)"
    ]


def test_other_queues_are_wrong(settings: FakeSettings) -> None:
    Defaults().queues_should_be_as_delivered()
    settings.ports["enp1s0"].most_queues = 4
    assert failure("queues_should_be_as_delivered") == [
        "dut.p0 (0000:01:00.0): most combined queues is 4; expected 8 (sheet intel-82574l)"
    ]


def test_a_driver_without_queues_must_show_none(
    bench: FakeBench, settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.edit(bench.sheet, ("combined: {max: 8, default: {unknown: test}}, ", ""))
    taken.card = bench.load()[1]
    first, second = failure("queues_should_be_as_delivered")
    assert first.startswith("dut.p0 (0000:01:00.0): queues is ") and second.startswith("dut.p1 ")
    assert first.endswith("; expected that the driver shows none (sheet intel-82574l)")

    def channels(_: str) -> Channels:
        raise NotOffered("dut: `ethtool -l enp1s0` failed: netlink error: Operation not supported")

    monkeypatch.setattr(settings.host, "channels", channels)
    Defaults().queues_should_be_as_delivered()


@pytest.mark.parametrize("setting", ["rings", "coalescing", "pause", "channels"])
def test_a_setting_of_the_sheet_that_a_driver_does_not_offer_is_the_cards_fault(
    settings: FakeSettings, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    def refuse(_: str) -> object:
        raise NotOffered("dut: netlink error: Operation not supported")

    monkeypatch.setattr(settings.host, setting, refuse)
    with pytest.raises(
        CardFailure, match=r"dut.p0 .* does not offer .*, sheet intel-82574l names them: .*Operation not"
    ):
        delivered(setting)


@pytest.mark.parametrize(
    ("fault", "keyword", "words"),
    [
        ("rings halve", "ring_should_take_its_range", "ring rx is 32 when set to 64; expected 64 (sheet intel-82574l)"),
        (
            "rings halve",
            "ring_should_take_its_range",
            "ring tx is 2048 when set to 4096; expected 4096 (sheet intel-82574l)",
        ),
        ("no upper bound", "ring_should_take_its_range", "ring rx is 4097; expected it refused (sheet intel-82574l)"),
        (
            "coalescing swapped",
            "coalescing_parameter_should_be_settable",
            "rx-usecs is 18 when set to 100; expected 100",
        ),
        (
            "coalescing swapped",
            "coalescing_parameter_should_be_settable",
            "tx-usecs is 41 when set to 41; expected 40 as before, it is shown only",
        ),
        (
            "coalescing rounded",
            "coalescing_parameter_should_be_settable",
            "tx-usecs is 48 when set to 41; expected 40 as before, it is shown only",
        ),
        ("small frames", "mtu_should_take_its_range", "MTU is 1500 when set to 9000 (mtu out of range); expected 9000"),
        ("small frames", "mtu_should_take_its_range", "MTU is 68"),
        ("no upper bound", "mtu_should_take_its_range", "MTU is 9001; expected it refused (sheet intel-82574l)"),
        ("no upper bound", "mtu_should_take_its_range", "MTU is 67; expected it refused (sheet intel-82574l)"),
        (
            "one queue",
            "queues_should_be_settable",
            "combined queues is 1 when set to 8; expected 8 (sheet intel-82574l)",
        ),
        (
            "no upper bound",
            "queues_should_be_settable",
            "combined queues is 9; expected it refused (sheet intel-82574l)",
        ),
        (
            "pause refused",
            "pause_should_be_settable",
            "pause rx is True (not supported); expected off (sheet intel-82574l)",
        ),
        ("takes any parameter", "unsupported_coalescing_should_be_refused", "took rx-frames; expected it refused"),
    ],
)
def test_a_range_that_is_not_kept_is_wrong_on_every_port(
    settings: FakeSettings, fault: str, keyword: str, words: str
) -> None:
    settings.faults.add(fault)
    if words == "MTU is 68":
        words = "MTU is 68 when set to 9000 (mtu out of range); expected 9000"  # the least was taken before
    if fault == "small frames":
        words = words.replace("1500", "68")
    found = failure(keyword, *(["every"] if "ring" in keyword or "parameter_" in keyword else []))
    for port in ("dut.p0", "dut.p1"):
        assert any(line.startswith(port) and words in line for line in found), found


def test_pause_frames_that_do_not_come_back_are_wrong(settings: FakeSettings) -> None:
    settings.faults.add("never back")
    assert all("pause frames did not come back" in line for line in failure("pause_should_be_settable"))


@pytest.mark.parametrize(
    ("keyword", "what"),
    [
        ("ring_should_take_its_range", "ring tx did not come back: it is 4096, before 256"),
        ("mtu_should_take_its_range", "MTU did not come back: it is 9000, before 1500"),
        ("queues_should_be_settable", "combined queues did not come back: it is 8, before 4"),
        ("coalescing_parameter_should_be_settable", "rx-usecs did not come back: adaptive and value are (False, 100)"),
    ],
)
def test_what_does_not_come_back_is_wrong(settings: FakeSettings, keyword: str, what: str) -> None:
    settings.faults.add("never back")
    found = failure(keyword, *(["every"] if "ring" in keyword or "parameter_" in keyword else []))
    assert any(line.startswith("dut.p0") and what in line for line in found), found


def test_a_value_that_is_taken_over_late_is_right(settings: FakeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("niclab.settings.dut_ports.Deadline", Deadline)
    asked = []

    def late(iface: str, values: dict[str, int]) -> Attempt[Coalescing]:
        before = settings.coalescing(iface)
        settings.ports[iface].coalescing["rx-usecs"] = values["rx-usecs"]
        asked.append(iface)
        return Attempt(None, before)

    settings.host.set_coalescing = late  # type: ignore[attr-defined]
    Settings().coalescing_parameter_should_be_settable("rx-usecs")
    assert asked == ["enp1s0", "enp2s0"]


@pytest.mark.parametrize("comes", [True, False])
def test_a_value_that_comes_back_late_is_back(
    settings: FakeSettings, monkeypatch: pytest.MonkeyPatch, bench: FakeBench, comes: bool
) -> None:
    """be2net takes each value over once a second, also the one of before."""
    monkeypatch.setattr("niclab.settings.dut_ports.Deadline", Deadline)
    monkeypatch.setattr("niclab.settings.coalescing.SETTLES_WITHIN_S", 0.3)
    read = settings.coalescing
    settings.ports["enp1s0"].adaptive = settings.ports["enp2s0"].adaptive = False

    def shown(iface: str) -> Coalescing:
        found = read(iface)
        if settings.told[-1:] != ["restore"]:
            return found
        settings.told.append("seen")
        return replace(found, parameters={**found.parameters, "rx-usecs": 100})

    bench.dut.coalescing = shown  # type: ignore[attr-defined]
    if comes:
        Settings().coalescing_parameter_should_be_settable("rx-usecs")
        assert "seen" in settings.told
    else:
        settings.faults.add("never back")
        assert "rx-usecs did not come back" in failure("coalescing_parameter_should_be_settable", "rx-usecs")[0]


def test_a_largest_size_that_nobody_knows_hides_no_failure_of_another_ring(bench: FakeBench, taken: Run) -> None:
    with_sheet(bench, taken, ("tx: {max: 4096, default: 256}", "tx: {max: {unknown: test}, default: 256}"))
    settings_of(bench).faults.add("rings halve")
    assert (
        "ring rx is 32 when set to 64; expected 64 (sheet intel-82574l)"
        in failure("ring_should_take_its_range", "every")[0]
    )


def test_what_cannot_be_set_must_not_change(bench: FakeBench, taken: Run) -> None:
    with_sheet(
        bench,
        taken,
        ("rings:\n  settable: true", "rings:\n  settable: false"),
        ("tx: true, settable: true", "tx: true, settable: false"),
    )
    settings_of(bench)
    assert any(
        "ring rx is 4095; expected it refused (sheet intel-82574l)" in line
        for line in failure("ring_should_take_its_range", "rx")
    )
    assert any("pause rx is changed to False" in line for line in failure("pause_should_be_settable"))


def test_the_parameter_of_a_keyword_chooses_a_row(settings: FakeSettings) -> None:
    settings.faults.add("coalescing swapped")
    (first, second) = failure("coalescing_parameter_should_be_settable", "tx-usecs")
    assert "tx-usecs" in first and "tx-usecs" in second
    with pytest.raises(NotApplicable, match="names no ring rx_mini"):
        Settings().ring_should_take_its_range("rx_mini")


@pytest.mark.parametrize("what", DELIVERED)
@pytest.mark.usefixtures("taken")
def test_a_sheet_without_the_section_is_not_applicable(what: str) -> None:
    with pytest.raises(NotApplicable, match=rf"^sheet intel-82574l says nothing about {what}$"):
        delivered(what)


TUNABLE = (
    "\n    tunables: [{name: IntMode, where: module-parameter, documented_default: 2, actual_default: 1, source: t}]"
)


class TestTunables:
    @pytest.fixture
    def settings(self, bench: FakeBench, taken: Run) -> FakeSettings:
        bench.edit(bench.sheet, ("in_kernel: true", f"in_kernel: true{TUNABLE}"))
        taken.card = bench.load()[1]
        return settings_of(bench)

    def test_the_actual_default_is_judged(self, settings: FakeSettings) -> None:
        settings.parameters["IntMode"] = "1"
        Defaults().tunables_should_be_as_on_the_sheet()
        settings.parameters["IntMode"] = "2"
        wanted = "dut: tunable IntMode of e1000e is 2; expected 1 (sheet intel-82574l)"
        assert failure("tunables_should_be_as_on_the_sheet") == [wanted]

    def test_one_that_the_server_sets_is_the_benchs(self, settings: FakeSettings) -> None:
        settings.parameters["IntMode"] = "2"
        settings.entries["IntMode"] = ("/etc/modprobe.d/tuning.conf:options e1000e IntMode=2",)
        says = r"is 2; expected 1 .*; the server sets it: /etc/modprobe\.d/tuning\.conf:options e1000e IntMode=2$"
        with pytest.raises(BenchFault, match=says):
            Defaults().tunables_should_be_as_on_the_sheet()

    def test_one_that_cannot_be_read_hides_no_other(
        self, settings: FakeSettings, bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = "{name: Gone, where: module-parameter, documented_default: 1, actual_default: 1, source: t}"
        bench.edit(bench.sheet, ("actual_default: 1, source: t}]", f"actual_default: 1, source: t}}, {other}]"))
        taken.card = bench.load()[1]

        def parameter(_: str, name: str) -> str:
            if name == "Gone":
                raise BenchFault("dut: e1000e has no parameter Gone")
            return "2"

        monkeypatch.setattr(settings.host, "module_parameter", parameter)
        with pytest.raises(CardFailure, match="tunable IntMode of e1000e is 2; expected 1") as caught:
            Defaults().tunables_should_be_as_on_the_sheet()
        assert str(caught.value).endswith("\nundecided: dut: e1000e has no parameter Gone")

    def test_what_is_read_by_sysctl_is_judged_as_well(
        self, settings: FakeSettings, bench: FakeBench, taken: Run
    ) -> None:
        bench.edit(bench.sheet, ("where: module-parameter", "where: sysctl"))
        taken.card = bench.load()[1]
        settings.parameters = {"IntMode": "never so"}
        with pytest.raises(CardFailure, match="is never so; expected 1"):
            Defaults().tunables_should_be_as_on_the_sheet()

    @pytest.mark.parametrize("section", ["rings", "coalescing", "channels"])
    def test_numbers_of_the_other_systems_driver_judge_nothing(
        self, settings: FakeSettings, section: str, taken: Run
    ) -> None:
        runs_freebsd(taken)
        with pytest.raises(NotApplicable, match=f"knows {section} of Linux' driver only, the dut runs freebsd"):
            delivered(section)

        def shows_none(_: str) -> object:
            raise NotApplicable(f"dut: em0: FreeBSD's driver em shows no {section}")

        setattr(settings.host, section, shows_none)
        with pytest.raises(NotApplicable, match=f"driver em shows no {section}"):
            delivered(section)

    @pytest.mark.usefixtures("taken")
    def test_no_tunable_is_not_applicable(self) -> None:
        with pytest.raises(NotApplicable, match="knows no default of a tunable of e1000e"):
            Defaults().tunables_should_be_as_on_the_sheet()


OWN = """
  freebsd:
    module: if_em
    in_kernel: true
    rings: {settable: false, rx: {max: {unknown: test}, default: 1024}, tx: {max: 2048, default: 512}, source: test}
    coalescing: {parameters: [{name: rx-usecs, default: 5, max: 200}], source: test}
    channels: {settable: false, rx: {max: {unknown: test}, default: 8}, source: test}
    source: test

firmware:
"""


def runs_freebsd(taken: Run) -> None:
    server = taken.server(Role.DUT)
    server.description = server.description.model_copy(update={"os": OperatingSystem.FREEBSD})


class TestNumbersOfFreeBsdsDriver:
    @pytest.fixture
    def settings(self, bench: FakeBench, taken: Run) -> FakeSettings:
        bench.edit(bench.sheet, ("\nfirmware:\n", OWN))
        with_sheet(bench, taken)
        runs_freebsd(taken)
        made = settings_of(bench)
        for port in made.ports.values():
            port.rings, port.ring_max = {"rx": 1024, "tx": 512}, {"rx": 0, "tx": 2048}
            port.coalescing = {"rx-usecs": 5}
        return made

    def test_are_what_a_freebsd_dut_is_judged_by(self, settings: FakeSettings) -> None:
        Defaults().rings_should_be_as_delivered()
        settings.ports["enp1s0"].rings["rx"] = 256
        settings.ports["enp2s0"].coalescing["rx-usecs"] = 18
        assert failure("rings_should_be_as_delivered") == [
            "dut.p0 (0000:01:00.0): ring rx is 256; expected 1024 (sheet intel-82574l)"
        ]
        assert failure("coalescing_should_be_as_delivered") == [
            "dut.p1 (0000:02:00.0): rx-usecs is 18; expected 5 (sheet intel-82574l)"
        ]

    def test_a_ring_that_cannot_be_set_is_tried_from_the_size_it_has(self, settings: FakeSettings) -> None:
        Settings().ring_should_take_its_range("rx")  # the fake refuses what is above its largest, 0
        settings.ports["enp1s0"].ring_max["rx"] = 4096
        assert failure("ring_should_take_its_range", "rx") == [
            f"dut.p0 (0000:01:00.0): ring rx is {size}; expected it refused (sheet intel-82574l)"
            for size in (512, 1023, 1025)
        ]


def test_a_change_that_cannot_be_put_back_is_told(settings: FakeSettings, bench: FakeBench, taken: Run) -> None:
    bench.ssh[next(iter(bench.ssh))].replies["restore"] = BenchFault("dut: connection lost")
    with pytest.raises(BenchFault, match="connection lost"):
        Settings().mtu_should_take_its_range()
    assert taken.journal.pending()[0].what == "enp1s0: MTU is set"
    assert settings.mtu("enp1s0") != 1500


def test_a_failure_is_told_before_what_could_not_be_put_back(settings: FakeSettings, bench: FakeBench) -> None:
    settings.host.set_mtu = _broken  # type: ignore[attr-defined]
    bench.ssh[next(iter(bench.ssh))].replies["restore"] = BenchFault("dut: connection lost")
    with pytest.raises(CardFailure, match="broken") as caught:
        Settings().mtu_should_take_its_range()
    assert "connection lost" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("fault", "keyword", "words"),
    [
        ("pause refused", "pause_should_be_settable", "pause rx is True (not supported); expected off"),
        ("coalescing swapped", "coalescing_parameter_should_be_settable", "rx-usecs is 18 when set to 100; expected"),
        ("takes any parameter", "unsupported_coalescing_should_be_refused", "took rx-frames; expected it refused"),
    ],
)
def test_a_port_that_cannot_be_put_back_hides_no_failure(
    settings: FakeSettings, bench: FakeBench, fault: str, keyword: str, words: str
) -> None:
    settings.faults.add(fault)
    bench.ssh[Role.DUT].replies["restore"] = BenchFault("dut: connection lost")
    with pytest.raises(CardFailure) as caught:
        getattr(Settings(), keyword)(*(["rx-usecs"] if "parameter_" in keyword else []))
    assert words in str(caught.value) and "connection lost" in str(caught.value).partition("\nundecided: ")[2]


@pytest.mark.parametrize(
    ("what", "asked", "words"),
    [
        ("rings", "rings", "ring rx is 512"),
        ("coalescing", "coalescing", "rx-usecs is 19"),
        ("pause", "pause", "pause rx is off"),
        ("channels", "channels", "most combined queues is 9"),
    ],
)
def test_a_port_that_cannot_be_read_hides_no_failure_of_another(
    settings: FakeSettings, bench: FakeBench, what: str, asked: str, words: str
) -> None:
    port, read = settings.ports["enp1s0"], getattr(settings, asked)
    port.rings["rx"], port.coalescing["rx-usecs"], port.pause["rx"], port.most_queues = 512, 19, False, 9

    def lost(iface: str) -> object:
        if iface != "enp1s0":
            raise BenchFault("dut: connection lost")
        return read(iface)

    setattr(bench.dut, asked, lost)
    with pytest.raises(CardFailure) as caught:
        delivered(what)
    assert words in str(caught.value) and str(caught.value).endswith("\nundecided: dut: connection lost")


@pytest.mark.parametrize("fault", ["rings halve", "never back"])
def test_what_is_lost_over_down_and_up_is_told_before_what_could_not_be_put_back(
    settings: FakeSettings, bench: FakeBench, taken: Run, fault: str
) -> None:
    settings.faults.add(fault)
    bench.ssh[Role.DUT].replies["restore"] = BenchFault("dut: connection lost")
    if fault == "never back":
        bench.cables.stuck["dut.p0"] = False
    words = r"^dut\.p0 .* has no carrier" if fault == "never back" else r"^dut\.p0 .*: ring rx is 1024 when set to 2048"
    with pytest.raises(CardFailure, match=words) as caught:
        survival.over_down_and_up(taken, str, carrier.not_back)
    assert "connection lost" in str(caught.value).partition("\nundecided: ")[2]


def _broken(*_: object) -> object:
    raise CardFailure("broken")


ANY = "max: {unknown: test}, default: {unknown: test}"


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("rings", [("max: 4096, default: 256, min: 64", ANY), ("max: 4096, default: 256", ANY)]),
        (
            "coalescing",
            [("adaptive_rx: true", "adaptive_rx: {unknown: test}"), ("default: 18", "default: {unknown: test}")],
        ),
        (
            "pause",
            [
                (
                    "autoneg: true, rx: true, tx: true",
                    "autoneg: {unknown: test}, rx: {unknown: test}, tx: {unknown: test}",
                )
            ],
        ),
        ("channels", [("max: 8", "max: {unknown: test}")]),
    ],
)
def test_a_section_of_unknown_facts_alone_is_never_green(
    bench: FakeBench, taken: Run, what: str, changes: list[tuple[str, str]]
) -> None:
    with_sheet(bench, taken, *changes)
    settings_of(bench)
    with pytest.raises(SheetUnknown, match=f"^sheet intel-82574l knows nothing of {what} as delivered: test$"):
        delivered(what)


NOT_SHOWN = [
    ("settable: true\n  rx: {max: 4096, default: 256, min: 64}", f"settable: false\n  rx: {{{ANY}}}"),
    ("tx: {max: 4096, default: 256}", f"tx: {{{ANY}}}"),
    (
        "autoneg: true, rx: true, tx: true, settable: true",
        "autoneg: {unknown: test}, rx: {unknown: test}, tx: {unknown: test}, settable: false",
    ),
]
"""A sheet of rings and pause frames of which nobody knows anything but that they cannot be set, as alteon-acenic's."""


QUESTIONS: list[Callable[[], None]] = [
    lambda: delivered("rings"),
    lambda: Settings().ring_should_take_its_range("every"),
    lambda: Settings().largest_rings_should_fit_in_memory(),
    lambda: delivered("pause"),
    lambda: Settings().pause_should_be_settable(),
]


def _offered_by(host: Any, settings: FakeSettings, *ifaces: str) -> None:
    """Rings and pause frames are offered by these ports alone."""

    def offered(read: Callable[[str], object], iface: str) -> object:
        if iface not in ifaces:
            raise NotOffered(f"{iface}: Operation not supported")
        return read(iface)

    host.rings, host.pause = partial(offered, settings.rings), partial(offered, settings.pause)


@pytest.mark.parametrize("ask", QUESTIONS)
def test_what_sheet_and_driver_lack_alike_is_not_applicable(
    bench: FakeBench, taken: Run, ask: Callable[[], None]
) -> None:
    with_sheet(bench, taken, *NOT_SHOWN)
    _offered_by(bench.dut, settings_of(bench))
    with pytest.raises(NotApplicable, match=r"the driver offers none: dut.p0 \(0000:01:00.0\): enp1s0: Oper") as caught:
        ask()
    assert not isinstance(caught.value, SheetUnknown)


@pytest.mark.parametrize("ask", QUESTIONS)
@pytest.mark.parametrize("ifaces", [("enp1s0", "enp2s0"), ("enp2s0",)])
def test_what_a_driver_shows_and_the_sheet_does_not_know_is_missing(
    bench: FakeBench, taken: Run, ask: Callable[[], None], ifaces: tuple[str, ...]
) -> None:
    with_sheet(bench, taken, *NOT_SHOWN)
    _offered_by(bench.dut, settings_of(bench), *ifaces)
    with pytest.raises(SheetUnknown, match=r"knows nothing of (rings|pause) as delivered: test$"):
        ask()


@pytest.mark.parametrize("names", [(), ("rx-frames", "tx-frames", "rx-usecs-irq", "sample-interval")])
def test_nothing_to_refuse_is_not_applicable(bench: FakeBench, taken: Run, names: tuple[str, ...]) -> None:
    rows = "".join(f"{{name: {name}, default: 0}}, " for name in names)
    with_sheet(bench, taken, more=f"\ncoalescing: {{adaptive_rx: true, parameters: [{rows}], source: test}}\n")
    settings_of(bench)
    with pytest.raises(NotApplicable, match=r"lists (no parameter|every parameter that is tried) of coalescing"):
        Settings().unsupported_coalescing_should_be_refused()


def test_both_ends_go_down_and_up_after_every_mtu_and_after_the_restore(
    bench: FakeBench, settings: FakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    set_mtu = settings.set_mtu

    def setting(iface: str, mtu: int) -> Attempt[int]:
        before, attempt = settings.mtu(iface), set_mtu(iface, mtu)
        events.extend(["MTU"] if attempt.now != before else [])
        return attempt

    monkeypatch.setattr(settings.host, "set_mtu", setting)
    for role in Role:
        set_link, command = bench.hosts[role].set_link, bench.ssh[role]._shell

        def linking(iface: str, up: bool, role: Role = role, set_link: Any = set_link) -> None:
            events.append(f"{role.value} {'up' if up else 'down'}")
            set_link(iface, up)

        def running(line: str, role: Role = role, command: Any = command) -> str:
            if line.startswith("restore "):
                events.append("MTU")
            if " && " not in line and line.startswith("ip link set") and line.split()[-1] in ("up", "down"):
                events.append(f"{role.value} {line.split()[-1]}")
            said: str = command(line)
            return said

        monkeypatch.setattr(bench.hosts[role], "set_link", linking)
        monkeypatch.setattr(bench.ssh[role], "_shell", running)
    Settings().mtu_should_take_its_range()
    changes = " ".join(events).split("MTU")
    assert changes[0] == "" and len(changes) == 1 + 2 * 3, "two ports: the least, the largest, its own"
    for after in changes[1:]:
        assert {word for word in ("dut down", "dut up", "peer down", "peer up") if word in after} == {
            "dut down",
            "dut up",
            "peer down",
            "peer up",
        }


def test_unsupported_coalescing_that_is_taken_is_put_back(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for port in settings.ports.values():
        port.coalescing["rx-frames"] = 0
    set_coalescing = settings.set_coalescing

    def setting(iface: str, values: Mapping[str, int | bool]) -> Attempt[Coalescing]:
        assert taken.journal.pending()[0].what == f"{iface}: unsupported coalescing is tried"
        return set_coalescing(iface, values)

    monkeypatch.setattr(settings.host, "set_coalescing", setting)
    before = taken.journal.pending()
    assert failure("unsupported_coalescing_should_be_refused") == [
        f"{place} took rx-frames; expected it refused (sheet intel-82574l)"
        for place in ("dut.p0 (0000:01:00.0)", "dut.p1 (0000:02:00.0)")
    ]
    assert {port.coalescing["rx-frames"] for port in settings.ports.values()} == {0}
    assert taken.journal.pending() == before


def test_unsupported_coalescing_that_does_not_come_back_is_wrong(settings: FakeSettings) -> None:
    settings.ports["enp1s0"].coalescing["rx-frames"] = 0
    settings.faults.add("never back")
    found = failure("unsupported_coalescing_should_be_refused")
    assert "dut.p0 (0000:01:00.0): rx-frames did not come back: it is 7, before 0" in found
