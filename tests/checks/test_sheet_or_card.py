"""A sheet against a card in a server: what they disagree about, and a draft of a sheet from what the card shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from niclab.bench.bench_file import load_bench
from niclab.bench.records import OperatingSystem
from niclab.card import Changeable, OffloadName, load_card
from niclab.checks.seen import Seen
from niclab.checks.sheet_or_card import disagreements
from niclab.commands import new_card
from niclab.core.names import Duplex
from niclab.hosts.host_records import DriverInfo, LinkSettings, PciDevice
from niclab.hosts.settings.ethtool_records import (
    ChannelCounts,
    Channels,
    Coalescing,
    Feature,
    Features,
    Pause,
    Rings,
    RingSizes,
)

NAME = "82599ES"
BENCH = Path(__file__).parents[1] / "fakes" / "samples" / "virtual.yaml"
ON, OFF, FIXED_OFF = Feature(True, False, None), Feature(False, False, None), Feature(False, True, None)


@pytest.fixture
def x520() -> Seen:
    """A port of an X520 as Linux 6.12 shows it."""
    features = dict.fromkeys(new_card._WORDS, ON) | {"large-receive-offload": OFF, "ntuple-filters": OFF}
    return Seen(
        PciDevice(
            "0000:81:00.0", "8086", "10fb", "8086", "0003", "0200", lnkcap_gts=5.0, lnkcap_width=8, name="82599ES"
        ),
        DriverInfo("ixgbe", "6.12.117", "0x80000887, 1.2688.0"),
        None,
        LinkSettings("eth0", 10000, Duplex.FULL, False, True, "FIBRE", None, None),
        Features("eth0", features),
        Rings("eth0", RingSizes(8192, 0, 0, 8192), RingSizes(512, 0, 0, 512)),
        Coalescing("eth0", None, None, {"rx-usecs": 1, "tx-usecs": 0, "rx-frames": None}),
        Pause("eth0", False, True, True),
        Channels("eth0", ChannelCounts(None, None, 1, 63), ChannelCounts(None, None, 1, 8)),
        {},
    )


def said(seen: Seen, kernel: str = "6.12") -> list[str]:
    return [str(each) for each in disagreements(load_card("intel-x520").of_kernel(kernel), OperatingSystem.LINUX, seen)]


def test_a_card_like_its_sheet_raises_no_question(x520: Seen) -> None:
    assert said(x520) == []


def test_facts_are_those_of_the_servers_kernel(x520: Seen) -> None:
    assert said(x520, "6.1") == [
        "rings.rx.max: the sheet says 4096, the card shows 8192",
        "rings.tx.max: the sheet says 4096, the card shows 8192",
    ]


def test_each_difference_is_a_question(x520: Seen) -> None:
    assert x520.features is not None
    features = {**x520.features.features, "large-receive-offload": FIXED_OFF, "receive-hashing": OFF}
    seen = replace(
        x520,
        device=replace(x520.device, lnkcap_width=4, device_id="1557"),
        driver=DriverInfo("ixgbe-new", "1", "0x61c10001"),
        features=Features("eth0", features),
        pause=Pause("eth0", False, True, False),
        coalescing=Coalescing("eth0", True, None, {"rx-usecs": 7, "rx-frames": 4}),
        channels=None,
        hidden={"channels": "not supported"},
    )
    assert [line.partition(":")[0] for line in said(seen)] == [
        "identity.device_id",
        "drivers.linux.module",
        "firmware",
        "pcie.width",
        "coalescing.tx-usecs.default",
        "coalescing.rx-frames",
        "channels.combined",
        "pause.tx",
        "offloads.lro.change",
        "offloads.rx-hash.default",
    ]
    assert "channels.combined: the sheet says queues, the card shows not supported" in said(seen)


def test_a_default_that_nobody_knows_is_no_question_unless_there_is_none(x520: Seen) -> None:
    sheet = load_card("chelsio-t580-cr").of_kernel("6.1")

    def asked(shown: int | None) -> list[str]:
        card = replace(x520, coalescing=Coalescing("eth0", None, None, {"rx-usecs": 5, "rx-frames": shown}))
        return [str(each) for each in disagreements(sheet, OperatingSystem.LINUX, card) if "rx-frames" in str(each)]

    assert asked(0) == asked(8) == [] and len(asked(None)) == 1


def test_a_ring_that_queues_share_is_judged_by_their_number(x520: Seen) -> None:
    card = load_card("broadcom-bcm57810")
    shown = Rings("eth0", RingSizes(4078, 0, 0, 4078), RingSizes(509, 0, 0, 4078))
    fields = [each.field for each in disagreements(card, OperatingSystem.LINUX, replace(x520, rings=shown))]
    assert "rings.rx.default" not in fields
    other = Rings("eth0", RingSizes(4078, 0, 0, 4078), RingSizes(407, 0, 0, 4078))
    fields = [each.field for each in disagreements(card, OperatingSystem.LINUX, replace(x520, rings=other))]
    assert "rings.rx.default" in fields


def test_the_draft_is_a_sheet_of_the_card_it_was_read_from(x520: Seen, tmp_path: Path) -> None:
    file = tmp_path / "my-card.yaml"
    file.write_text(new_card.text_of("my-card", load_bench(BENCH), x520, 2))
    card = load_card(file)
    assert disagreements(card, OperatingSystem.LINUX, x520) == []
    assert (card.identity.ports, card.description) == (2, "82599ES")
    assert card.offloads is not None
    rows = card.offloads.rows(OperatingSystem.LINUX)
    assert rows[OffloadName.LRO].default is False and rows[OffloadName.LRO].change is Changeable.BOTH
    assert rows[OffloadName.TX_CHECKSUM].clears == (OffloadName.TSO4, OffloadName.TSO6), "the kernel does, for any card"
    assert rows[OffloadName.SCATTER_GATHER].clears == (OffloadName.TSO4, OffloadName.TSO6, OffloadName.GSO)
    assert rows[OffloadName.RX_CHECKSUM].clears == ()


def test_a_draft_of_a_card_that_shows_little_is_a_sheet_too(tmp_path: Path) -> None:
    bare = Seen(PciDevice("0000:81:00.0", "12ae", "0001"), *[None] * 8, hidden={})  # type: ignore[arg-type]
    file = tmp_path / "bare.yaml"
    file.write_text(new_card.text_of("bare", load_bench(BENCH), bare, 1))
    assert load_card(file).rings is None


def test_a_sheet_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("mine")
    with pytest.raises(Exception, match="exists; expected the name of a new card"):
        new_card.run("x", BENCH, tmp_path)
    assert (tmp_path / "x.yaml").read_text() == "mine"
