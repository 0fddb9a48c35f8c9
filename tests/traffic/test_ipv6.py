"""TCP over IPv6 on one path: addresses are there, usable, and gone again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.hosts.host_records import Address, Interface
from niclab.run.run import Run
from niclab.traffic.flows import ipv6, tcp
from niclab.traffic.tools.tool import Route


class Addresses:
    """The IPv6 addresses of the fake servers; ``tentative``: how often they are still looked for."""

    def __init__(self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.known: dict[str, list[str]] = {role.value: [] for role in Role}
        self.tentative = 2
        for host in bench.hosts.values():
            self._give(host, monkeypatch)

    def _give(self, host: object, monkeypatch: pytest.MonkeyPatch) -> None:
        name, plain = host.name, host.interface  # type: ignore[attr-defined]

        def interface(iface: str) -> Interface:
            shown: Interface = plain(iface)
            self.tentative -= 1
            mine = [Address("inet6", each.split("/")[0], 64, "global", self.tentative > 0) for each in self.known[name]]
            return Interface(**{**vars(shown), "addresses": (*shown.addresses, *mine)})

        monkeypatch.setattr(host, "interface", interface, raising=False)
        monkeypatch.setattr(host, "add_address", lambda _, cidr: self.known[name].append(cidr), raising=False)


@pytest.fixture
def addresses(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Addresses:
    assert taken
    return Addresses(bench, monkeypatch)


def test_traffic_flows_between_addresses_of_its_own(
    bench: FakeBench, taken: Run, addresses: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    routes = list[Route | None]()

    @contextmanager
    def steady(*_: object, route: Route | None = None) -> Iterator[str]:
        routes.append(route)
        yield "job"

    monkeypatch.setattr(tcp, "steady", steady)
    path = taken.bench.paths[1]
    with ipv6.steady(taken, path, Role.PEER):
        assert addresses.known == {"dut": ["fd6e:6963:6c61:1::1/64"], "peer": ["fd6e:6963:6c61:1::2/64"]}
        undo = taken.journal.pending()[0].action.command
        assert undo == "ip address flush dev enp2s0 to fd6e:6963:6c61:1::2"
    assert routes == [Route("fd6e:6963:6c61:1::2", "fd6e:6963:6c61:1::1")]
    assert bench and not any("fd6e" in entry.action.command for entry in taken.journal.pending())


def test_an_address_that_stays_tentative_is_a_bench_fault(
    taken: Run, addresses: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses.tentative = 10_000
    monkeypatch.setattr(ipv6, "USABLE_WITHIN_S", 0.05)
    with (
        pytest.raises(BenchFault, match=r"dut\.p0 to use fd6e:6963:6c61::1/64"),
        ipv6.steady(taken, taken.bench.paths[0], Role.DUT),
    ):
        pass
