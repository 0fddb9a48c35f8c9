"""The switch's place in the bench: addresses, ports of the servers, what its process is reported, ``vbench switch``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import ControlSocket, bench_in, short_folder

import cardmodel
import layout
import parts
import switchpanel
import uplinks
from identity import Identity
from switch import settings


@pytest.fixture
def bench() -> Iterator[layout.Bench]:
    with short_folder() as folder:
        yield bench_in(folder)


def test_no_udp_port_or_address_is_shared_with_the_cables_or_another_bench() -> None:
    benches = [layout.bench(name) for name in ("virtual", "vt", "vt2")]
    ends = [(server, port) for server in benches[0].servers for port in server.ports]
    ways = [udp for server, port in ends for udp in uplinks.cable_end(server, port).values()]
    cables = {udp for _, port in ends for udp in (port.qemu_udp, port.panel_udp)}
    assert len(set(ways)) == 8 and not cables & set(ways)
    assert len({uplinks.switch_address(bench) for bench in benches}) == 3


def test_the_first_two_ports_lead_to_the_dut_and_the_others_to_the_peer() -> None:
    wanted = {"dut.p0": "port1", "dut.p1": "port2", "peer.p0": "port3", "peer.p1": "port4"}
    assert uplinks.ports(layout.bench("vt")) == wanted


def test_the_switch_takes_what_it_is_told_and_each_end_sends_to_the_other(bench: layout.Bench, tmp_path: Path) -> None:
    file = tmp_path / "switch.config"
    file.write_text(json.dumps(uplinks.config(bench, Identity(bench))))
    told = settings.load(file)
    assert (told.speed_mbps, told.scale) == (1000, 40)
    panel: Any = next(part.config for part in parts.parts(bench, Identity(bench)) if part.name == "cables")
    ends = {f"{end['server']}.{end['port']}": end for cable in panel["cables"].values() for end in cable["ends"]}
    for port in told.ports:
        end = ends[f"{port.server}.{port.nic}"]
        assert port.cable == (panel["address"], end["uplink_udp"])
        assert (told.address, port.udp) == (panel["switch_address"], end["switch_udp"])
        assert str(told.outlets[port.server]) == panel["servers"][port.server]["outlet"]


def test_the_ports_are_as_fast_as_the_card() -> None:
    card = cardmodel.card("emulex-oce11102")
    with short_folder() as folder:
        bench = replace(bench_in(folder), servers=layout.bench("vt", dict.fromkeys(layout.ROLES, card)).servers)
        told: Any = uplinks.config(bench, Identity(bench))
    assert (told["speed_mbps"], told["scale"]) == (10_000, 400)


STATUS = {
    "rebooting": False,
    "uptime_s": 3.0,
    "busy": False,
    "faults": ["set_ignored"],
    "ports": {
        "port1": {
            "to": "dut.p0",
            "admin": "open",
            "link": "up",
            "pvid": 3,
            "with": ["port1", "port2"],
            "neighbour": "dut",
            "faults": ["silent"],
        }
    },
    "vlans": {"3": {"name": "storage", "egress": [1, 2], "untagged": [1]}},
}


def test_the_state_is_told_in_words() -> None:
    text = switchpanel.described(STATUS)
    assert "port1  dut.p0   open  up      3  port1, port2, dut, silent" in text
    assert "vlan 3 storage: ports 1, 2 tagged" in text
    assert "faults: set_ignored" in text
    assert "restarts" not in text
    assert "it restarts" in switchpanel.described(STATUS | {"rebooting": True})


def test_a_port_is_asked_to_be_shut_by_its_name(bench: layout.Bench) -> None:
    part = ControlSocket(bench.folder / "switch.control", STATUS)
    try:
        for action, port in (("show", None), ("shut", "port1"), ("open", "port1"), ("reset", None)):
            switchpanel.run(bench, action, port)
    finally:
        part.close()
    assert part.requests == [{"status": True}, {"shut": "port1"}, {"open": "port1"}, {"reset": {}}]


@pytest.mark.parametrize(("action", "port"), [("shut", None), ("open", None), ("show", "port1"), ("reset", "port1")])
def test_an_action_with_a_port_too_many_or_too_few_is_refused(
    bench: layout.Bench, action: str, port: str | None
) -> None:
    with pytest.raises(
        switchpanel.SwitchError, match=f"switch {action}: port {port}; expected (the name of a|no) port"
    ):
        switchpanel.run(bench, action, port)
