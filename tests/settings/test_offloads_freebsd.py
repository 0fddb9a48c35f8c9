"""The offload table of a FreeBSD server: labels of ifconfig, its words, and what cannot be seen but by trying."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import pytest
from fake_bench import FakeBench
from fake_parts import FakeHost
from fake_settings import FakeSettings, settings_of

from Defaults import Defaults
from niclab.bench.records import OperatingSystem, Role
from niclab.card import OffloadName, Proof
from niclab.core.verdict import CardFailure
from niclab.hosts.host_records import Counters, Statistics
from niclab.hosts.settings.ethtool_records import Feature
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from Offloads import Offloads

ROWS = """offloads:
  table:
    - name: tx-checksum
      freebsd: {label: TXCSUM, bit: 1, set_words: [txcsum], default: true, change: both, clears: [tso4]}
    - name: tso4
      freebsd: {label: TSO4, bit: 8, set_words: [tso4, tso], default: true, change: both}
    - name: tso6
      freebsd: {label: TSO6, bit: 9, set_words: [tso6], default: true, change: not-off}
    - name: vlan-mtu
      freebsd: {label: VLAN_MTU, bit: 3, default: true, change: fixed}
    - name: jumbo-mtu
      freebsd: {label: JUMBO_MTU, bit: 5, default: true, change: fixed}
  refused:
    - {os: freebsd, word: lso, why: a misprint, source: t}
  source: t
"""
WORDS = {"txcsum": "TXCSUM", "tso4": "TSO4", "tso": "TSO4", "tso6": "TSO6", "vlanmtu": "VLAN_MTU"}


@pytest.fixture
def settings(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> FakeSettings:
    """A dut that speaks FreeBSD: ``faults`` are words that do what they should not."""
    text = bench.sheet.read_text()
    head, _, rest = text.partition("offloads:\n")
    after = rest[rest.index("\n\n") :] if "\n\n" in rest else "\n"
    bench.sheet.write_text(head + ROWS + after)
    taken.card = bench.load()[1]
    server = taken.server(Role.DUT)
    server.description = server.description.model_copy(update={"os": OperatingSystem.FREEBSD})
    made = settings_of(bench)
    for port in made.ports.values():
        port.features = {label: Feature(True, False, None) for label in {*WORDS.values(), "JUMBO_MTU"}}

    def set_feature(iface: str, word: str, on: bool) -> object:
        made.told.append(f"{'' if on else '-'}{word}")
        features = made.ports[iface].features
        if word not in WORDS:
            taken_word = "takes lso" in made.faults
            return Attempt(None if taken_word else f"ifconfig: {word}: bad value", made.features(iface))
        stays = WORDS[word] in ("TSO6", "VLAN_MTU") and f"{word} goes" not in made.faults
        if not stays and f"{word} stuck" not in made.faults:
            features[WORDS[word]] = Feature(on, False, None)
            if word == "txcsum" and not on and "keeps tso" not in made.faults:
                features["TSO4"] = Feature(False, False, None)
        return Attempt(None, made.features(iface))

    monkeypatch.setattr(bench.hosts[Role.DUT], "set_feature", set_feature, raising=False)
    return made


def run_all() -> None:
    offloads = Offloads()
    Defaults().offloads_should_be_as_delivered()
    offloads.offload_should_switch_as_on_the_sheet("every")
    offloads.unsupported_feature_names_should_be_refused()


def test_a_good_card_is_green_and_every_word_is_tried(settings: FakeSettings) -> None:
    run_all()
    assert {"-txcsum", "txcsum", "-tso4", "tso4", "-tso", "tso", "-tso6", "-vlanmtu", "lso"} <= set(settings.told)
    assert not any("jumbo" in word for word in settings.told)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("keeps tso", r"offload tso4 \(TSO4\) stays on when tx-checksum goes off"),
        ("tso stuck", r"offload tso4 \(TSO4\) stays on when switched off"),
        ("tso6 goes", r"offload tso6 \(TSO6\) goes off when switched; expected it not-off"),
        ("vlanmtu goes", r"offload vlan-mtu \(VLAN_MTU\) goes off when switched; expected it fixed"),
        ("takes lso", "took the feature name lso"),
    ],
)
def test_each_fault_is_red(settings: FakeSettings, fault: str, words: str) -> None:
    settings.faults.add(fault)
    with pytest.raises(CardFailure, match=words):
        run_all()


@pytest.mark.parametrize(("lied", "red"), [(False, None), (True, "tso_wrs grew by 50 with it off")])
def test_counters_below_a_queue_prove_an_offload(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch, lied: bool, red: str | None
) -> None:
    row = next(row for row in taken.card.offloads.table if row.name is OffloadName.TSO4)  # type: ignore[union-attr]
    monkeypatch.setitem(row.freebsd.__dict__, "proof", Proof(counter="tso_wrs"))
    monkeypatch.setattr("niclab.traffic.flows.tcp.steady", lambda *_: nullcontext())
    counted = {"txq.0.tso_wrs": 0, "txq.1.tso_wrs": 0, "txq.0.imm_wrs": 7}

    def counters(iface: str) -> Counters:
        found = Counters(tuple(counted.items()))
        counted["txq.1.tso_wrs"] += 50 if lied or settings.ports[iface].features["TSO4"].on else 0
        return found

    monkeypatch.setattr(settings.host, "counters", counters)
    carried = itertools.count(0, 200_000)
    monkeypatch.setattr(FakeHost, "statistics", lambda *_: Statistics(n := next(carried), 0, 0, 0, n, 0, 0, 0))
    if red is None:
        Offloads().offload_counters_should_follow_the_switch("tso4", 0.01)
        return
    with pytest.raises(CardFailure, match=red):
        Offloads().offload_counters_should_follow_the_switch("tso4", 0.01)


def test_another_default_is_red(settings: FakeSettings) -> None:
    settings.ports["enp1s0"].features["TSO6"] = Feature(False, False, None)
    with pytest.raises(CardFailure, match=r"offload tso6 \(TSO6\) is off; expected on"):
        Defaults().offloads_should_be_as_delivered()
