"""The layout of a bench."""

from __future__ import annotations

from pathlib import Path

import pytest

import layout

NAMES = [layout.DEFAULT_NAME, "vt", "vt2", "a", "0", "nightly-1", "x" * 20]


def _addresses(bench: layout.Bench) -> list[str]:
    per_server = [address for s in bench.servers for address in (s.address, s.bmc_address, s.console_address)]
    return [*per_server, bench.panel_address]


@pytest.mark.parametrize("name", ["", "-a", "A", "a b", "a/b", "..", "a" * 21, "ä", "a\n", "a_b"])
def test_a_name_that_cannot_be_a_benchs_is_refused_and_named(name: str) -> None:
    with pytest.raises(
        layout.LayoutError, match=r"bench name .*expected 1 to 20 lower-case letters, digits and dashes"
    ):
        layout.bench(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_index_fits_an_address_and_is_stable(name: str) -> None:
    index = layout.bench(name).index
    assert 1 <= index <= 254
    assert layout.bench(name).index == index


def test_index_1_is_the_default_benchs_alone() -> None:
    assert layout.bench().index == 1
    assert all(layout.bench(f"n{number}").index != 1 for number in range(2000))


def test_indices_use_the_whole_range() -> None:
    indices = {layout.bench(f"n{number}").index for number in range(5000)}
    assert min(indices) == 2
    assert max(indices) == 254


def test_no_address_is_used_twice_in_a_bench_or_by_two_benches() -> None:
    benches = [layout.bench(name) for name in ("virtual", "vt", "vt2")]
    addresses = [address for bench in benches for address in _addresses(bench)]
    assert len(addresses) == 3 * 7
    assert len(set(addresses)) == len(addresses)
    assert all(address.startswith("127.77.") for address in addresses)


def test_no_mac_and_no_pair_of_address_and_port_is_used_twice() -> None:
    benches = [layout.bench(name) for name in ("virtual", "vt", "vt2")]
    ports = [(bench, server, port) for bench in benches for server in bench.servers for port in server.ports]
    assert len({port.mac for _, _, port in ports}) == len(ports) == 12
    assert len({(server.address, port.qemu_udp) for _, server, port in ports}) == 12
    assert len({(bench.panel_address, port.panel_udp) for bench, _, port in ports}) == 12


def test_each_cable_has_one_end_at_each_server() -> None:
    cables = layout.bench("vt").cables
    assert list(cables) == ["a", "b"]
    for ends in cables.values():
        assert [server.role for server, _ in ends] == ["dut", "peer"]


def test_every_user_of_qmp_has_a_socket_of_its_own() -> None:
    server = layout.bench("vt").server("dut")
    assert len({server.qmp(user) for user in ("bmc", "console", "cables")}) == 3


def _longest_home(name: str) -> int:
    """Length of the state folder with which the longest socket path is exactly what unix(7) allows."""
    return layout.SOCKET_PATH_LIMIT - len(f"/{name}/peer/qmp-console")


def test_a_path_that_just_fits_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "STATE", Path("/" + "h" * (_longest_home("vt") - 1)))
    longest = layout.bench("vt").server("peer").qmp("console")
    assert len(str(longest)) == layout.SOCKET_PATH_LIMIT


@pytest.mark.parametrize("letter", ["h", "ä"])
def test_a_path_too_long_for_sockets_is_refused_in_bytes_not_letters(
    monkeypatch: pytest.MonkeyPatch, letter: str
) -> None:
    count = -(-_longest_home("vt") // len(letter.encode()))
    monkeypatch.setattr(layout, "STATE", Path("/" + letter * count))
    with pytest.raises(layout.LayoutError, match=r"too long for unix sockets \(107 bytes\)"):
        layout.bench("vt")
