"""The congested SAN of a fake bench: ports in one VLAN, an address that moves, and all of it put back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_bench import FakeBench
from fake_parts import FakeHost, changes
from fake_switch import FakeSwitch

from niclab.bench.records import Role, Wiring
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.host_records import PingResult
from niclab.links import patch_panel
from niclab.run.run import Run
from niclab.storage.congestion import congested_san
from niclab.storage.congestion.congested_san import CongestedSan

VLAN = 103
MOVED = "198.18.11.1/24"
GOOD = PingResult(sent=2, received=2, duplicates=0, errors=())


@pytest.fixture
def connected(patched: Run, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Every path leads through the switch; the dut's fake can lose an address, and its pings are answered."""
    patch_panel.connect(patched)
    host = bench.ssh[Role.DUT].host

    def remove(iface: str, cidr: str) -> None:
        host._changed(f"{iface} loses {cidr}")
        host.by_iface(iface).addresses.remove(cidr)

    monkeypatch.setattr(FakeHost, "remove_address", staticmethod(remove), raising=False)
    monkeypatch.setattr(FakeHost, "ping", pinged)
    monkeypatch.setattr(congested_san, "REACHED_WITHIN_S", 0.0)
    bench.ssh[Role.PEER].replies["ip neigh flush dev"] = ""
    return patched


def pinged(host: FakeHost, there: str, source: str, count: int) -> PingResult:
    host.calls.append(f"ping {source} {there} by {[nic.iface for nic in host.nics if f'{source}/24' in nic.addresses]}")
    assert count == GOOD.sent
    return GOOD


def test_two_ports_of_the_peer_reach_one_of_the_dut_and_all_comes_back(
    bench: FakeBench, connected: Run, switch: FakeSwitch
) -> None:
    san, host = CongestedSan.of(connected), bench.ssh[Role.DUT].host
    first, second = (connected.interface(connected.bench.port(name)) for name in ("dut.p0", "dut.p1"))
    before, known = len(changes(connected.journal)), [list(nic.addresses) for nic in host.nics]
    with san.laid(connected, VLAN):
        assert switch.members(VLAN) == ({"Gi1/0/3", "Gi1/0/4", "Gi1/0/2"},) * 2
        assert MOVED in host.by_iface(first).addresses and MOVED not in host.by_iface(second).addresses
        change, undos = next(each for each in host.changes if each[0] == f"{second} loses {MOVED}")
        assert change and any(MOVED in undo and second in undo for undo in undos)
        assert any(f"flush dev {first} to 198.18.11.1" in undo for undo in undos)
        assert host.calls[-2:] == [
            f"ping 198.18.10.1 198.18.10.2 by ['{first}']",
            f"ping 198.18.11.1 198.18.11.2 by ['{first}']",
        ]
        assert [port.name for port in san.sources(connected)] == ["peer.p0", "peer.p1"]
    assert [list(nic.addresses) for nic in host.nics] == known and len(changes(connected.journal)) == before
    assert switch.switch().vlans.existing() == {1}
    flushed = [each for each in bench.ssh[Role.PEER].commands if each.startswith("ip neigh flush")]
    assert len(flushed) == 2


def test_a_source_that_does_not_answer_is_the_benchs_fault(
    bench: FakeBench, connected: Run, switch: FakeSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deaf(host: FakeHost, there: str, source: str, count: int) -> PingResult:
        found = pinged(host, there, source, count)
        return replace(found, received=0) if there == "198.18.11.2" else found

    monkeypatch.setattr(FakeHost, "ping", deaf)
    known = [list(nic.addresses) for nic in bench.ssh[Role.DUT].host.nics]
    with (
        pytest.raises(BenchFault, match=r"dut\.p0: no answer of 198\.18\.11\.2 to 198\.18\.11\.1 in one VLAN"),
        CongestedSan.of(connected).laid(connected, VLAN),
    ):
        pass
    assert [list(nic.addresses) for nic in bench.ssh[Role.DUT].host.nics] == known
    assert switch.switch().vlans.existing() == {1}


@pytest.mark.parametrize("wirings", [(Wiring.DIRECT, Wiring.DIRECT), (Wiring.SWITCH, Wiring.DIRECT)])
def test_a_bench_with_fewer_than_two_switched_paths_cannot(taken: Run, wirings: tuple[Wiring, ...]) -> None:
    paths = tuple(
        path.model_copy(update={"through": wiring}) for path, wiring in zip(taken.bench.paths, wirings, strict=True)
    )
    taken.bench = taken.bench.model_copy(update={"paths": paths})
    number = wirings.count(Wiring.SWITCH)
    with pytest.raises(NotApplicable, match=rf"{number} paths go through a managed switch; expected two"):
        CongestedSan.of(taken)
