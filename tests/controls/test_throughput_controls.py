"""Each throughput test is seen red: by the defect it is there for, and by that alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from control_bench import Bench, Run

pytestmark = [pytest.mark.bench, pytest.mark.slow]

SENDS = "The Dut Sends At The Rate On The Sheet"
RECEIVES = "The Dut Receives At The Rate On The Sheet"
COUNTED = "Offload tso4 Is Proven By Its Counters"
COUNTED6 = "Offload tso6 Is Proven By Its Counters"
TAGGED = ("Offload vlan-insert Is Proven By Its Counters", "Offload vlan-strip Is Proven By Its Counters")
SUMMED = "Offload rx-checksum Is Proven By Its Counters"
SWITCHED = "Offload tso4 Can Be Switched As On The Sheet"
WHOLE = "Fragmented Datagrams Arrive Whole With Checksum Offload"
FRAMES = "The Frame Rate Is That On The Sheet At Every Size"
JUMBO_GAIN = "Jumbo Frames Gain What The Frame Rate Predicts"
LOSSLESS = "Frames Have A Rate Without Loss In Both Directions"
VLAN = "A VLAN Carries The Fraction On The Sheet"
TCP_EVERYWHERE = "TCP Stream Reaches The Limits In Every Direction Over Every Path"
UDP_SIZES = "UDP Stream Reaches The Limits At Every MTU"
UDP_EVERYWHERE = "UDP Stream Reaches The Limits In Every Direction Over Every Path"
CONNECTIONS = "Any Number Of Connections Is Received At Line Rate"
SWEPT = ("TCP Stream Reaches The Limits At Every MTU", "TCP Sendfile Reaches The Limits At Every MTU")
NFS = "NFS Reads Over UDP Reach The Rate On The Sheet"
NFS_JUMBO = "NFS Reads Over UDP In Jumbo Frames Reach The Rate On The Sheet"
NFS_TCP = "NFS Reads Over TCP Are As Fast As In Accepted Runs"
NFS_TCP_JUMBO = "NFS Reads Over TCP In Jumbo Frames Are As Fast As In Accepted Runs"
ISCSI = "Blocks Over iSCSI Come Back As They Were Written"
NVME = "Blocks By NVMe Over TCP Come Back As They Were Written"
ISCSI_SUMS = "Checksum Offload Stays On Under iSCSI"
CONGESTED = "Disks Over iSCSI Lose Nothing But What A Congested Switch Discards"
ISCSI_FACTORS = "Each Factor Alone Changes Loads Over iSCSI As The Sheet Predicts"
WIDTH = "The Link Is As On The Sheet When Idle"
INTEL, EMULEX, SOLARFLARE, ALTEON = "intel-82574l", "emulex-oce11102", "solarflare-sfn5122f", "alteon-acenic"
CHELSIO, BROADCOM = "chelsio-t580-cr", "broadcom-bcm57810"
TSO, TXCSUM, GRO, TAGS, JUMBO = 0x1, 0x2, 0x10, 0x60, 0x400
"""Bits of features in lab/virtual/card/mailbox.h; tags: inserting and stripping them."""
ADAPTS = "Coalescing Adapts To The Load"
TIMES = "Longer Coalescing Holds Frames Longer"
FACTORS = "Each Factor Alone Changes What The Sheet Predicts"


def effect(name: str) -> str:
    return f"Setting {name} Has The Effect On The Sheet"


@dataclass(frozen=True)
class Control:
    """With ``defect`` on ``target`` just the tests ``red`` fail, with the kind of verdict given there, or one of two,
    and those of ``green`` pass. An empty defect is none."""

    card: str
    target: str
    defect: str
    red: dict[str, str]
    green: tuple[str, ...]


CONTROLS = {
    "tso-lied": Control(
        EMULEX, "card:dut", f"feature-lie={TSO}", {COUNTED: "CardFailure", SENDS: "CardFailure"}, (SWITCHED, RECEIVES)
    ),
    "tso6-lied": Control(EMULEX, "card:dut", f"feature-lie={TSO}", {COUNTED6: "CardFailure"}, (RECEIVES,)),
    "tags-lied": Control(CHELSIO, "card:dut", f"feature-lie={TAGS}", dict.fromkeys(TAGGED, "CardFailure"), (SUMMED,)),
    "tso-stuck": Control(EMULEX, "card:dut", f"feature-stuck-on={TSO}", {SWITCHED: "CardFailure"}, (SENDS,)),
    "mtu-erratum": Control(
        EMULEX,
        "card:dut",
        "mtu-degrades=1500",
        {effect("mtu-without-down-up"): "CardFailure"},
        (effect("jumbo"), SENDS),
    ),
    # an acknowledgement costs a slow port 6 ms: where each is for two segments, the other direction carries 3.6 Mbit/s,
    # and where GRO merges what has gathered meanwhile, all of it. Which it is falls out by chance.
    "one-direction-slow": Control(EMULEX, "card:dut", "tx-slow=800", {SENDS: "CardFailure"}, (WIDTH,)),
    "other-direction-slow": Control(EMULEX, "card:dut", "rx-slow=800", {RECEIVES: "CardFailure"}, (WIDTH,)),
    "drops": Control(EMULEX, "card:dut", "rx-drop=1000", {RECEIVES: "CardFailure"}, (SENDS,)),
    "sizes-other-direction-slow": Control(
        EMULEX, "card:dut", "rx-slow=800", {TCP_EVERYWHERE: "CardFailure"}, (WIDTH,)
    ),
    "datagrams-capped": Control(ALTEON, "card:dut", "frame-rate-cap=12000", {UDP_SIZES: "CardFailure"}, ()),
    "datagrams-everywhere-capped": Control(
        ALTEON, "card:dut", "frame-rate-cap=12000", {UDP_EVERYWHERE: "CardFailure"}, ()
    ),
    "connections-slow": Control(EMULEX, "card:dut", "rx-slow=800", {CONNECTIONS: "CardFailure"}, (WIDTH,)),
    "narrow-link": Control(
        EMULEX, "card:dut", "link-width=1", {WIDTH: "CardFailure", SENDS: "CardFailure", RECEIVES: "CardFailure"}, ()
    ),
    "slow-vlan": Control(EMULEX, "card:dut", "vlan-slow=1500", {VLAN: "CardFailure"}, (SENDS,)),
    "slow-cable": Control(INTEL, "cable:a.dut", "rate_factor=0.5", dict.fromkeys(SWEPT, "CardFailure"), (WIDTH,)),
    "fragments": Control(SOLARFLARE, "card:dut", "csum-fragments=1", {WHOLE: "CardFailure"}, (SENDS,)),
    "vlan-on-bond": Control(
        SOLARFLARE, "card:dut", "vlan-slow=1500", {effect("vlan-on-bond"): "CardFailure"}, (effect("bond"), SENDS)
    ),
    "coalescing-ignored": Control(
        SOLARFLARE, "card:peer", "coalesce-ignored=1", {effect("rx-usecs-in-force"): "CardFailure"}, (SENDS,)
    ),
    "adaptive-stuck": Control(SOLARFLARE, "card:dut", "adaptive-stuck=1", {ADAPTS: "CardFailure"}, (WIDTH,)),
    "coalescing-coarse": Control(BROADCOM, "card:dut", "coalesce-coarse=1020", {TIMES: "CardFailure"}, (WIDTH,)),
    "checksums-cost": Control(
        EMULEX,
        "card:dut",
        f"feature-slow={TXCSUM}",
        dict.fromkeys((effect("tx-checksum-off"), SENDS), "CardFailure"),
        (SWITCHED,),
    ),
    "segmentation-costs": Control(
        SOLARFLARE,
        "card:dut",
        f"feature-slow={TSO}",
        dict.fromkeys((effect("tso-off"), SENDS), "CardFailure"),
        (RECEIVES,),
    ),
    "merging-costs": Control(
        SOLARFLARE,
        "card:dut",
        f"feature-slow={GRO}",
        dict.fromkeys((effect("gro-off"), RECEIVES), "CardFailure"),
        (SENDS,),
    ),
    "merging-lied": Control(
        SOLARFLARE,
        "card:dut",
        f"feature-lie={GRO}",
        # processor time of an emulated server differs by half from run to run: that nothing is saved is seldom proven
        {effect("gro-off-cpu"): "CardFailure|Undecided", RECEIVES: "CardFailure"},
        (effect("gro-off"), SENDS),
    ),
    "jumbo-costs": Control(
        EMULEX, "card:dut", f"feature-slow={JUMBO}", {effect("jumbo"): "CardFailure"}, (SWITCHED, SENDS)
    ),
    "sendfile-jumbo-costs": Control(
        SOLARFLARE, "card:dut", f"feature-slow={JUMBO}", {effect("sendfile-jumbo-pinned"): "CardFailure"}, (SENDS,)
    ),
    "jumbo-gains-little": Control(
        ALTEON, "card:dut", f"feature-slow={JUMBO}", {JUMBO_GAIN: "CardFailure"}, (FRAMES, SENDS)
    ),
    # eight minutes for the factors alone
    "factor-costs": Control(BROADCOM, "card:dut", f"feature-slow={TSO}", {FACTORS: "CardFailure"}, (WIDTH,)),
    "nfs-capped": Control(ALTEON, "card:dut", "frame-rate-cap=16000", {NFS: "CardFailure"}, (NFS_JUMBO,)),
    "nfs-jumbo-costs": Control(
        ALTEON, "card:dut", f"feature-slow={JUMBO}", {NFS_JUMBO: "CardFailure"}, (NFS,)
    ),
    # 27 reads a second, 650 calls in all; others go on meanwhile, and no port counts what is lost
    "nfs-calls-lost": Control(ALTEON, "card:dut", "rx-drop=40000", {NFS: "Undecided"}, ()),
    # a reply is 23 frames; five runs of 0 to 3 Mbit/s may be too uneven to be sure
    "nfs-replies-lost": Control(ALTEON, "cable:a.dut", "loss=0.02", {NFS: "CardFailure|Undecided"}, ()),
    "nfs-damaged": Control(ALTEON, "card:dut", "tx-flip=97", {NFS_TCP: "CardFailure"}, ()),
    "nfs-jumbo-damaged": Control(ALTEON, "card:dut", "tx-flip=97", {NFS_TCP_JUMBO: "CardFailure"}, ()),
    "iscsi-read-damaged": Control(BROADCOM, "card:dut", "rx-flip=97", {ISCSI: "CardFailure"}, ()),
    "congested-damaged": Control(BROADCOM, "card:dut", "rx-flip=97", {CONGESTED: "CardFailure"}, ()),
    # ends after the first step, of five minutes
    "iscsi-factors-damaged": Control(BROADCOM, "card:dut", "rx-flip=97", {ISCSI_FACTORS: "CardFailure"}, ()),
    "iscsi-sums-off": Control(
        BROADCOM, "card:dut", f"feature-stuck-off={TXCSUM}", {ISCSI_SUMS: "CardFailure"}, (WIDTH,)
    ),
    "iscsi-sums-damaged": Control(BROADCOM, "card:dut", "rx-flip=97", {ISCSI_SUMS: "CardFailure"}, ()),
    "nvme-read-damaged": Control(BROADCOM, "card:dut", "rx-flip=97", {NVME: "CardFailure"}, ()),
    "nvme-write-damaged": Control(BROADCOM, "card:dut", "tx-flip=97", {NVME: "CardFailure"}, ()),
    "iscsi-write-damaged": Control(BROADCOM, "card:dut", "tx-flip=97", {ISCSI: "CardFailure"}, ()),
    "frame-cap": Control(
        ALTEON, "card:dut", "frame-rate-cap=16000", dict.fromkeys((FRAMES, RECEIVES, SENDS), "CardFailure"), ()
    ),
    # one frame in two thousand, whatever the rate: no port counts it
    "no-rate-without-loss": Control(BROADCOM, "card:dut", "rx-drop=500", {LOSSLESS: "CardFailure"}, (WIDTH,)),
    "peer-without-such-a-rate": Control(BROADCOM, "card:peer", "rx-drop=500", {LOSSLESS: "BenchFault"}, (WIDTH,)),
    "peer-frame-cap": Control(ALTEON, "card:peer", "frame-rate-cap=16000", {FRAMES: "Undecided"}, ()),
}  # fmt: skip


@pytest.fixture(scope="module")
def cards(bench: Bench) -> Iterator[Bench]:
    """The bench of the controls; its own cards come back at the end."""
    yield bench
    bench.vbench("up", "--card", "intel-82574l")


def run(bench: Bench, control: Control) -> Run:
    """The named tests, each row of the sheet as a test of its own."""
    bench.vbench("up", "--card", control.card)
    bench.file.write_text(bench.vbench("bench-file"))
    if control.defect:
        bench.vbench("fault", "set", control.target, control.defect)
    names = [option for name in (*control.red, *control.green) for option in ("--test", name)]
    return bench.run(*names, card=control.card)


@pytest.mark.parametrize("name", CONTROLS)
def test_the_defect_turns_its_tests_red_and_no_other(cards: Bench, name: str) -> None:
    control = CONTROLS[name]
    found = run(cards, control)
    assert set(found.red) == set(control.red), found.red
    assert found.green == set(control.green)
    verdicts = {test: message.partition(":")[0] for test, message in found.red.items()}
    assert all(verdict in control.red[test].split("|") for test, verdict in verdicts.items()), found.red


@pytest.mark.parametrize("card", [EMULEX, SOLARFLARE])
def test_without_a_defect_the_same_tests_are_green(cards: Bench, card: str) -> None:
    mine = [control for control in CONTROLS.values() if control.card == card]
    names = tuple({name: None for control in mine for name in (*control.red, *control.green)})
    found = run(cards, Control(card, "card:dut", "", {}, names))
    assert not found.red and found.green == set(names)
