"""The switch's place in the bench: addresses, ports of the servers, what its process is told, ``vbench switch``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench_fakes import ControlSocket, bench_in, short_folder

import layout
import switchpanel
import uplinks
from identity import Identity
from switch import settings


@pytest.fixture
def bench() -> Iterator[layout.Bench]:
    with short_folder() as folder:
        yield bench_in(folder)


def test_no_mac_address_or_udp_port_is_shared_with_the_card_under_test_or_another_bench() -> None:
    benches = [layout.bench(name) for name in ("virtual", "vt", "vt2")]
    of_cards = [port.mac for bench in benches for server in bench.servers for port in server.ports]
    ports = [port for bench in benches for server in bench.servers for port in uplinks.uplinks(server)]
    assert len({*of_cards, *(port.mac for port in ports)}) == 24
    taken = {port.qemu_udp for bench in benches for server in bench.servers for port in server.ports}
    assert not taken & {port.udp for port in ports}
    assert len({uplinks.switch_address(bench) for bench in benches}) == 3


def test_the_first_two_ports_lead_to_the_dut_and_the_others_to_the_peer() -> None:
    ports = {
        port.switch_port_name: f"{server.role}.{port.name}"
        for server in layout.bench("vt").servers
        for port in uplinks.uplinks(server)
    }
    assert ports == {"port1": "dut.p2", "port2": "dut.p3", "port3": "peer.p2", "port4": "peer.p3"}


def test_the_switch_takes_what_it_is_told_and_each_end_sends_to_the_other(bench: layout.Bench, tmp_path: Path) -> None:
    file = tmp_path / "switch.config"
    file.write_text(json.dumps(uplinks.config(bench, Identity(bench))))
    told = settings.load(file)
    assert told.scale == layout.RATE_SCALE
    for port in told.ports:
        command = " ".join(uplinks.qemu_arguments(bench.server(port.server)))
        local = f"local.host={port.qemu[0]},local.port={port.qemu[1]}"
        assert local in command
        assert f"remote.host={told.address},remote.port={port.udp}" in command
        assert f",id={port.nic},romfile=" in command


STATUS = {
    "rebooting": False,
    "uptime_s": 3.0,
    "busy": False,
    "faults": ["set_ignored"],
    "ports": {
        "port1": {
            "to": "dut.p2",
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
    assert "port1  dut.p2   open  up      3  port1, port2, dut, silent" in text
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
    with pytest.raises(switchpanel.SwitchError, match=f"switch {action} (wants the name of a port|takes no port)"):
        switchpanel.run(bench, action, port)
