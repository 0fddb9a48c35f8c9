"""The light of QEMU's own card: a port whose driver does not run it leaves its partner without a link."""

from __future__ import annotations

from typing import Any

import pytest
from bench_fakes import FakeQemu, wait_for
from cable_bench import ROLES, CableBench, cable_bench

from light import DARK_AFTER, registers_of

BOTH = {"p0": True, "p1": True}
NO_LINK = {"p0": False, "p1": False}
BASE = 0xFE600000


def buses(*, address: int = BASE) -> list[dict[str, Any]]:
    """Return the answer of QEMU: each port behind a root port of its own, one more device next to them."""
    disk = {"qdev_id": "", "regions": [{"bar": 0, "address": 0x1000}]}
    roots = [
        {
            "qdev_id": f"root{number}",
            "regions": [],
            "pci_bridge": {
                "bus": {"number": 0},
                "devices": [{"qdev_id": port, "regions": [{"bar": 1, "address": 5}, {"bar": 0, "address": address}]}],
            },
        }
        for number, port in enumerate(("p0", "p1"))
    ]
    return [{"bus": 0, "devices": [disk, *roots]}]


@pytest.mark.parametrize(
    ("device", "address", "wanted"), [("p1", BASE, BASE), ("p1", -1, None), ("p0", 0, None), ("p7", BASE, None)]
)
def test_the_registers_of_a_device(device: str, address: int, wanted: int | None) -> None:
    assert registers_of(device, buses(address=address)) == wanted


def runs(qemu: FakeQemu, *, driver: bool) -> None:
    """The driver of both ports has the receiver on, or not."""
    qemu.returns |= {"query-pci": buses(), "human-monitor-command": f"00000000fe600100: 0x0000800{2 * driver}\r\n"}


def wired(bench: CableBench) -> CableBench:
    for role in ROLES:
        runs(bench.qemu[role], driver=True)
    bench.links_become(dut=BOTH, peer=BOTH)
    return bench


def test_a_port_that_its_driver_leaves_takes_its_partners_link_and_gives_it_back() -> None:
    with cable_bench(keeps_light=False) as bench:
        wired(bench)
        runs(bench.qemu["dut"], driver=False)
        bench.links_become(dut=BOTH, peer=NO_LINK)
        runs(bench.qemu["dut"], driver=True)
        bench.links_become(dut=BOTH, peer=BOTH)
        looked = [arguments["command-line"] for command, arguments in bench.qemu["dut"].commands if "human" in command]
        assert set(looked) == {"xp /1wx 0xfe600100"}


def test_a_card_whose_memory_is_not_mapped_is_run_by_nobody() -> None:
    with cable_bench(keeps_light=False) as bench:
        wired(bench)
        bench.qemu["dut"].returns["human-monitor-command"] = "Cannot access memory\r\n"
        bench.links_become(dut=BOTH, peer=NO_LINK)


def test_a_machine_that_refuses_keeps_its_light() -> None:
    with cable_bench(keeps_light=False) as bench:
        wired(bench)
        bench.qemu["dut"].refuse = True
        before = bench.qemu["dut"].received
        asked = 2 * 3 * DARK_AFTER  # for both ports
        wait_for(lambda: bench.qemu["dut"].received >= before + asked, "the machine has refused often enough")
        bench.links_become(dut=BOTH, peer=BOTH)


def test_cards_that_keep_their_light_are_not_asked() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        assert {command for command, _ in bench.qemu["dut"].commands} == {"set_link"}
