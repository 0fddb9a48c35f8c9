"""Bench files: the ones of the repository, and everything that may be wrong with one."""

from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

import pytest
import yaml

from niclab.bench.bench_file import load_bench
from niclab.bench.logins import BmcProtocol
from niclab.bench.records import Bench, OperatingSystem, Role, Wiring
from niclab.commands.schema import render
from niclab.core.verdict import BenchFault
from niclab.files.repository import REPOSITORY

Edit = Callable[..., Path]
SAMPLE = Path(__file__).parents[1] / "fakes" / "samples" / "virtual.yaml"
BENCHES = REPOSITORY / "lab" / "benches"
DUT_SSH = "      address: 127.77.1.10\n"
MISTAKES = yaml.safe_load((Path(__file__).parent / "bench_mistakes.yaml").read_text(encoding="utf-8"))


def fault(file: Path) -> list[str]:
    """The lines of the error that a bench file gets, without the folder."""
    with pytest.raises(BenchFault) as caught:
        load_bench(file)
    return str(caught.value).replace(f"{file.parent}/", "").splitlines()


@pytest.mark.parametrize("file", sorted(BENCHES.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_bench_file_of_the_repository_is_right(file: Path) -> None:
    bench = load_bench(file)
    assert bench.name == file.stem
    assert "$schema=../schema/bench.schema.json\n" in file.read_text(encoding="utf-8").splitlines(keepends=True)[0]


def test_the_example_shows_every_field() -> None:
    sections = json.loads(render(Bench))["$defs"].values()
    keys = {key for section in sections for key in section.get("properties", {})}
    text = (BENCHES / "example-real.yaml").read_text(encoding="utf-8")
    assert keys > {"jump", "slot", "rate_scale"}
    assert [key for key in sorted(keys) if f"{key}:" not in text] == []


def test_what_stands_in_the_file_is_what_is_read() -> None:
    bench = load_bench(SAMPLE)
    dut, state = bench.server(Role.DUT), Path.home() / ".local/state/niclab/vbench/virtual"
    assert bench.file == SAMPLE
    assert bench.secrets_file == state / "secrets.env"
    assert bench.commands is not None
    assert bench.commands.status == "lab/virtual/vbench status --quiet"
    assert (dut.os, dut.ssh.address, dut.ssh.port, dut.ssh.user) == (OperatingSystem.LINUX, "127.77.1.10", 2222, "root")
    assert (dut.ssh.key_file, dut.ssh.known_hosts, dut.ssh.jump) == (state / "id_ed25519", state / "known_hosts", None)
    assert dut.bmc is not None
    assert dut.bmc.ipmi is not None
    assert dut.bmc.redfish is not None
    assert (dut.bmc.ipmi.port, dut.bmc.ipmi.cipher_suite, dut.bmc.power) == (6230, 17, BmcProtocol.IPMI)
    assert (dut.bmc.redfish.url, dut.bmc.redfish.ca_file) == ("https://127.77.1.20:8443", state / "bmc-ca.pem")
    assert dut.console is not None
    assert (dut.console.url, dut.console.password_secret) == ("rfc2217://127.77.1.30:7000", "CONSOLE_PASSWORD")
    assert dut.boot.ready_within_s == 120
    assert bench.server(Role.PEER).ssh.address == "127.77.1.11"
    assert bench.secret_names == ("BMC_PASSWORD", "CONSOLE_PASSWORD")
    path = bench.path("a")
    assert (path.through, path.subnet, path.rate_scale) == (Wiring.DIRECT, IPv4Network("198.18.10.0/24"), 20)
    assert (path.pull, path.plug) == ("lab/virtual/vbench cable pull a", "lab/virtual/vbench cable plug a")


def test_ports_know_their_path_partner_and_address() -> None:
    bench = load_bench(SAMPLE)
    port = bench.port("peer.p1")
    assert (port.name, port.role, port.key, port.pci) == ("peer.p1", Role.PEER, "p1", "0000:02:00.0")
    assert [each.name for each in bench.ports] == ["dut.p0", "dut.p1", "peer.p0", "peer.p1"]
    assert bench.path_of(port).name == "b"
    assert bench.partner(port) == bench.port("dut.p1")
    assert bench.partner(bench.port("dut.p1")) == port
    assert bench.address(port) == IPv4Interface("198.18.11.2/24")
    assert bench.address(bench.port("dut.p1")) == IPv4Interface("198.18.11.1/24")


def test_the_dut_has_the_first_address_also_when_the_path_names_the_peer_first(edited_bench: Edit) -> None:
    bench = load_bench(edited_bench(("[dut.p0, peer.p0]", "[peer.p0, dut.p0]"), ("198.18.10.0/24", "198.18.10.2/31")))
    assert bench.address(bench.port("dut.p0")) == IPv4Interface("198.18.10.2/31")
    assert bench.address(bench.port("peer.p0")) == IPv4Interface("198.18.10.3/31")


def test_unknown_names_and_ports_without_a_path_are_answered(edited_bench: Edit) -> None:
    spare = ('      p1: {pci: "0000:02:00.0"}\n', '      p1: {pci: "0000:02:00.0"}\n      p2: {pci: "0000:03:00.0"}\n')
    bench = load_bench(edited_bench(spare))
    with pytest.raises(
        BenchFault, match=r"there is no port 'dut\.p9'; expected one of dut\.p0, dut\.p1, dut\.p2, peer\.p0"
    ):
        bench.port("dut.p9")
    with pytest.raises(BenchFault, match="there is no path 'c'; expected one of a, b"):
        bench.path("c")
    with pytest.raises(BenchFault, match=r"no path ends at dut\.p2"):
        bench.path_of(bench.port("dut.p2"))


def test_defaults_suit_real_servers(edited_bench: Edit) -> None:
    boot = "    boot: {ready_within_s: 120}\n"
    bench = load_bench(
        edited_bench((boot, ""), ("port: 6230, ", ""), (", cipher_suite: 17", ""), ("    rate_scale: 20\n", ""))
    )
    dut = bench.server(Role.DUT)
    assert dut.bmc is not None
    assert dut.bmc.ipmi is not None
    assert (dut.bmc.ipmi.port, dut.bmc.ipmi.cipher_suite) == (623, 17)
    assert (dut.boot.ready_within_s, bench.path("a").rate_scale) == (600, 1)


def test_relative_files_start_at_the_bench_file(edited_bench: Edit, tmp_path: Path) -> None:
    bench = load_bench(edited_bench(("~/.local/state/niclab/vbench/virtual/secrets.env", "../secrets.env")))
    assert bench.secrets_file == tmp_path / "../secrets.env"


def test_redfish_switches_the_power_where_it_is_alone_or_chosen(edited_bench: Edit) -> None:
    ipmi = (
        "      ipmi: {address: 127.77.1.20, port: 6230, user: admin, password_secret: BMC_PASSWORD, cipher_suite: 17}\n"
    )
    for file in (edited_bench((ipmi, "")), edited_bench((ipmi, ipmi + "      use: redfish\n"))):
        bmc = load_bench(file).server(Role.DUT).bmc
        assert bmc is not None
        assert bmc.power is BmcProtocol.REDFISH


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake["error"].partition(" ")[2][:70])
def test_a_mistake_gets_one_clear_line(edited_bench: Edit, mistake: dict[str, str]) -> None:
    lines = fault(edited_bench((mistake["replace"], mistake["by"])))
    assert any(line.startswith(f"virtual.yaml:{mistake['error']}") for line in lines), lines
    assert "hunter2" not in "\n".join(lines)


def test_a_password_in_place_of_its_name_is_not_shown(edited_bench: Edit) -> None:
    (line,) = fault(edited_bench(("password_secret: BMC_PASSWORD", "password_secret: 4711")))
    assert line == (
        "virtual.yaml:23: servers.dut.bmc.ipmi.password_secret: the value (not shown) is not wanted; "
        "expected the NAME of a secret, in capitals: BMC_PASSWORD"
    )


def test_a_bench_without_peer_is_refused(edited_bench: Edit) -> None:
    lines = fault(edited_bench(("  peer:\n", "  third:\n")))
    assert (
        "virtual.yaml:13: servers.peer: missing; expected a section with os, system, ssh, bmc, console, boot, "
        "bus_mbytes_per_s, ports" in lines
    )
    assert "virtual.yaml:35: servers.third: unknown key; expected one of dut, peer" in lines


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("bmc: {}", "servers.dut.bmc: no way to the BMC; expected ipmi and/or redfish"),
        (
            "bmc: {use: redfish, ipmi: {address: 192.0.2.1, user: a, password_secret: A}}",
            "servers.dut.bmc.use: redfish is not described here; expected one that is, or its section",
        ),
    ],
)
def test_a_bmc_needs_the_way_it_is_used_by(edited_bench: Edit, section: str, line: str) -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    old = text[text.index("    bmc:\n") : text.index("    console:")]
    assert fault(edited_bench((old, f"    {section}\n"))) == [f"virtual.yaml:22: {line}"]


def test_a_mac_address_is_used_once(edited_bench: Edit) -> None:
    mac = 'mac: "52:54:00:12:34:56"'
    changes = [(f'{{pci: "0000:0{bus}:00.0"}}', f'{{pci: "0000:0{bus}:00.0", {mac}}}') for bus in (1, 2)]
    assert fault(edited_bench(*changes)) == [
        "virtual.yaml:33: servers.dut.ports.p1.mac: "
        "52:54:00:12:34:56 is dut.p0 already; expected a MAC address of its own"
    ]


def test_servers_behind_different_jump_hosts_may_have_the_same_address(edited_bench: Edit) -> None:
    jump = "      jump: {address: gate-NAME.example, user: lab, key_file: k, known_hosts: h}\n"
    same = (DUT_SSH, "      address: 127.77.1.11\n" + jump.replace("NAME", "1"))
    bench = load_bench(edited_bench(same))
    ssh = bench.server(Role.DUT).ssh
    assert ssh.jump is not None
    assert (ssh.jump.address, ssh.jump.port) == ("gate-1.example", 22)


REDFISH = '      redfish:\n        url: "https://127.77.1.{}:8443"\n'


@pytest.mark.parametrize(
    ("dut", "peer", "right"),
    [("Node1", "Node2", True), ("Node1", "Node1", False), ("Node1", "", False), ("", "Node2", False)],
)
def test_one_redfish_service_may_have_both_servers_as_systems(
    edited_bench: Edit, dut: str, peer: str, right: bool
) -> None:
    changes = [
        (REDFISH.format(host), REDFISH.format(20) + (f"        system: {system}\n" if system else ""))
        for host, system in ((20, dut), (21, peer))
    ]
    file = edited_bench(*changes)
    if right:
        redfish = [bmc.redfish for role in Role if (bmc := load_bench(file).server(role).bmc)]
        assert [each and each.system for each in redfish] == [dut, peer]
    else:
        (line,) = fault(file)
        assert line.endswith(
            " servers.peer.bmc.redfish: 127.77.1.20:8443 is servers.dut.bmc.redfish already; "
            "expected an endpoint of its own, or a system of its own on both"
        )


def test_a_named_system_is_no_excuse_for_another_endpoint(edited_bench: Edit) -> None:
    shared = REDFISH.format(20).replace("127.77.1.20:8443", "127.77.1.11:2222") + "        system: Node1\n"
    (line,) = fault(edited_bench((REDFISH.format(20), shared)))
    assert line.endswith(
        "servers.peer.ssh: 127.77.1.11:2222 is servers.dut.bmc.redfish already; expected an endpoint of its own"
    )


@pytest.mark.parametrize("depth", [1, 2])
def test_a_jump_host_is_not_reached_over_the_card(edited_bench: Edit, depth: int) -> None:
    gates = ["192.0.2.1"] * (depth - 1) + ["198.18.11.9"]
    login = ", user: lab, key_file: k, known_hosts: h"
    jump = ", jump: ".join(f"{{address: {gate}{login}" for gate in gates) + "}" * depth
    (line,) = fault(edited_bench((DUT_SSH, f"{DUT_SSH}      jump: {jump}\n")))
    assert line.endswith(
        f" servers.dut.ssh{'.jump' * depth}: 198.18.11.9 lies in 198.18.11.0/24 of path b; "
        "expected an address that is not reached over the card under test"
    )


def test_both_servers_may_have_the_same_jump_host(edited_bench: Edit) -> None:
    jump = "      jump: {address: 192.0.2.1, user: lab, key_file: k, known_hosts: h}\n"
    both = [(f"      address: 127.77.1.{host}\n", f"      address: 127.77.1.{host}\n{jump}") for host in (10, 11)]
    assert all(load_bench(edited_bench(*both)).server(role).ssh.jump for role in Role)


CARDS = """
cards:
  t580:
    rate_scale: 200
    ports:
      dut.p0: {pci: "0000:81:00.4", mac: "00:07:43:00:00:00", port_index: 0}
      dut.p1: {pci: "0000:81:00.4", port_index: 1}
      peer.p0: {pci: "0000:81:00.0"}
      peer.p1: {pci: "0000:81:00.1"}
"""
LAST_PLUG = "    plug: lab/virtual/vbench cable plug b\n"


@pytest.mark.parametrize("emulated", ["emulated: false\n", "#\n"])
def test_only_emulated_cards_have_scaled_rates(edited_bench: Edit, emulated: str) -> None:
    changes = (("emulated: true\n", emulated), ("rate_scale: 20", "rate_scale: 1"), (LAST_PLUG, LAST_PLUG + CARDS))
    reason = "and the cards are not emulated; expected 1: a real card is measured at its line rate"
    assert fault(edited_bench(*changes)) == [
        f"virtual.yaml:68: paths.1.rate_scale: 20, {reason}",
        f"virtual.yaml:74: cards.t580.rate_scale: 200, {reason}",
    ]


def test_rates_of_real_cards_may_be_called_unscaled(edited_bench: Edit) -> None:
    changes = (("emulated: true\n", "#\n"), *[("rate_scale: 20", "rate_scale: 1")] * 2)
    assert {path.rate_scale for path in load_bench(edited_bench(*changes)).paths} == {1}


def test_another_card_has_ports_and_a_scale_of_its_own(edited_bench: Edit) -> None:
    bench = load_bench(edited_bench((LAST_PLUG, LAST_PLUG + CARDS)))
    with_card = bench.with_card("t580")
    assert [(port.name, port.pci, port.mac, port.index) for port in with_card.ports] == [
        ("dut.p0", "0000:81:00.4", "00:07:43:00:00:00", 0),
        ("dut.p1", "0000:81:00.4", None, 1),
        ("peer.p0", "0000:81:00.0", None, None),
        ("peer.p1", "0000:81:00.1", None, None),
    ]
    assert {path.rate_scale for path in with_card.paths} == {200}
    assert with_card.server(Role.DUT).ssh == bench.server(Role.DUT).ssh
    assert bench.with_card("another") is bench
    assert {path.rate_scale for path in bench.paths} == {20}


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("port_index: 1}", "port_index: 0}", "cards.t580.ports.dut.p1.pci: 0000:81:00.4 is dut.p0 already"),
        (", port_index: 1}", "}", "cards.t580.ports.dut.p1.pci: 0000:81:00.4 is dut.p0 already"),
        ("81:00.1", "81:00.0", "cards.t580.ports.peer.p1.pci: 0000:81:00.0 is peer.p0 already"),
        ("      peer.p1:", "      peer.p2:", "cards.t580.ports: dut.p0, dut.p1, peer.p0, peer.p2; expected every port"),
        ("port_index: 1}", "port_index: -1}", "the number of a port of its PCI function, from 0"),
    ],
)
def test_what_is_wrong_with_the_ports_of_another_card(edited_bench: Edit, old: str, new: str, complaint: str) -> None:
    assert complaint.split("; expected")[0] in "".join(
        fault(edited_bench((LAST_PLUG, LAST_PLUG + CARDS.replace(old, new))))
    )


@pytest.mark.parametrize(
    ("commands", "complaint"),
    [
        ("  insert: put {dut} {peer}\n", "commands: insert alone"),
        ("  inserted: show\n", "commands: inserted alone"),
        ("  insert: put {dut}\n  inserted: show\n", "commands.insert: put {dut}"),
        ("  boot_systems: boot {dut} {peer}\n", "commands: boot_systems alone"),
        ("  boot_systems: boot {peer}\n  systems: show\n", "commands.boot_systems: boot {peer}"),
    ],
)
def test_commands_that_put_cards_in_are_whole(edited_bench: Edit, commands: str, complaint: str) -> None:
    status = "  status: lab/virtual/vbench status --quiet\n"
    assert complaint in "".join(fault(edited_bench((status, status + commands))))


@pytest.mark.parametrize(
    ("names", "server", "complaint"),
    [
        ("new: linux", "new", None),
        ("new: linux, bsd: freebsd", "", None),
        ("new: linux", "old", "servers.dut.system: old; expected a name in systems that is linux: new"),
        ("bsd: freebsd", "bsd", "servers.dut.system: bsd; expected a name in systems that is linux: there is none"),
        ("linux: freebsd", "", "systems.linux: linux: freebsd; expected another name than freebsd and linux"),
        ("new: solaris", "", "systems.new: solaris is not wanted; expected linux or freebsd"),
    ],
)
def test_named_systems_are_those_the_bench_can_boot(
    edited_bench: Edit, names: str, server: str, complaint: str | None
) -> None:
    status = "  status: lab/virtual/vbench status --quiet\n"
    boots = f"  boot_systems: boot {{dut}} {{peer}}\n  systems: show\n\nsystems: {{{names}}}\n"
    changes = [(status, status + boots)]
    if server:
        changes.append(("  dut:\n    os: linux\n", f"  dut:\n    os: linux\n    system: {server}\n"))
    file = edited_bench(*changes)
    if complaint is None:
        assert load_bench(file).server(Role.DUT).boots == (server or "linux")
    else:
        assert complaint in "".join(fault(file))


def test_named_systems_need_a_command_that_boots_them(edited_bench: Edit) -> None:
    named = ("\nservers:\n", "\nsystems: {new: linux}\n\nservers:\n")
    assert "systems: no command boots them; expected commands.boot_systems" in "".join(fault(edited_bench(named)))


def test_a_command_that_puts_cards_in_gets_their_names(edited_bench: Edit) -> None:
    status = "  status: lab/virtual/vbench status --quiet\n"
    bench = load_bench(edited_bench((status, f"{status}  insert: put {{dut}} {{peer}}\n  inserted: show\n")))
    assert bench.commands is not None
    assert bench.commands.insert_command({"dut": "x", "peer": "y"}) == "put x y"
