"""The switch of a bench file: every value is read as written, and everything that may be wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from niclab.bench.bench_file import load_bench
from niclab.bench.records import Wiring
from niclab.core.verdict import BenchFault
from niclab.files.secrets import Secrets
from niclab.switch.connect import connect
from niclab.transports.snmp.snmp_login import Auth, Communities, Privacy, User

Edit = Callable[..., Path]
V2C = "v2c: {read_community_secret: SWITCH_READ, write_community_secret: SWITCH_WRITE}"
V3 = "v3: {user: lab, auth_password_secret: SWITCH_AUTH, priv: aes256, priv_password_secret: SWITCH_PRIV}"
SECTION = f"""\
switch:
  name: sw1
  model: generic
  address: 127.77.1.50
  snmp:
    {V3}
  ports: {{dut.p1: Gi1/0/1, peer.p1: Port 2}}

paths:
"""
THROUGH = (("    through: direct\n    subnet: 198.18.11.0/24", "    through: switch\n    subnet: 198.18.11.0/24"),)
SECRETS = {name: f"{name.lower()}-value" for name in ("SWITCH_READ", "SWITCH_WRITE", "SWITCH_AUTH", "SWITCH_PRIV")}


@pytest.fixture
def written(edited_bench: Edit) -> Callable[..., Path]:
    """The sample with a switch, its path b through it, and changes."""

    def write(*changes: tuple[str, str]) -> Path:
        return edited_bench(("paths:\n", SECTION), *THROUGH, *changes)

    return write


def faults(file: Path) -> str:
    with pytest.raises(BenchFault) as caught:
        load_bench(file)
    return str(caught.value).replace(f"{file.parent}/", "")


def test_what_stands_there_is_read(written: Edit) -> None:
    bench = load_bench(written())
    assert bench.switch is not None and bench.switch.snmp.v3 is not None
    assert (bench.switch.name, bench.switch.model, bench.switch.address) == ("sw1", "generic", "127.77.1.50")
    assert (bench.switch.snmp.port, bench.switch.snmp.v2c) == (161, None)
    assert (bench.switch.snmp.v3.auth, bench.switch.snmp.v3.priv) == (Auth.SHA256, Privacy.AES256)
    assert bench.switch.ports == {"dut.p1": "Gi1/0/1", "peer.p1": "Port 2"}
    assert bench.path("b").through is Wiring.SWITCH
    assert {"SWITCH_AUTH", "SWITCH_PRIV"} <= set(bench.secret_names)


@pytest.mark.parametrize(
    ("snmp", "wanted"),
    [
        (V3, User("lab", "switch_auth-value", "switch_priv-value", Auth.SHA256, Privacy.AES256)),
        (V2C, Communities("switch_read-value", "switch_write-value")),
    ],
    ids=["v3", "v2c"],
)
def test_the_login_is_made_of_the_secrets(written: Edit, snmp: str, wanted: object) -> None:
    entry = load_bench(written((V3, snmp))).switch
    assert entry is not None
    switch = connect(entry, Secrets(None, SECRETS))
    endpoint = switch._agent.endpoint  # type: ignore[attr-defined]  # it is the one over UDP
    assert (endpoint.name, endpoint.address, endpoint.port, endpoint.login) == ("sw1", "127.77.1.50", 161, wanted)
    assert "value" not in repr(endpoint)


@pytest.mark.parametrize(
    ("snmp", "community", "context"), [(V3, None, "vlan-20"), (V2C, "switch_read-value@20", "")], ids=["v3", "v2c"]
)
def test_the_bridge_of_each_vlan_is_asked(written: Edit, snmp: str, community: str | None, context: str) -> None:
    entry = load_bench(written((V3, f"{snmp}\n    bridge_vlans: [20, 30]"))).switch
    assert entry is not None
    bridges = connect(entry, Secrets(None, SECRETS)).tables._bridges
    asked = bridges[20]
    assert list(bridges) == [20, 30]
    assert str(asked._context.contextName) == context  # type: ignore[attr-defined]  # it is the one over UDP
    if community:
        assert str(asked._reads.communityName) == community  # type: ignore[attr-defined]


def test_a_missing_secret_or_model_is_a_bench_fault(written: Edit) -> None:
    entry = load_bench(written(("model: generic", "model: acme"))).switch
    assert entry is not None
    with pytest.raises(BenchFault, match=r"lab/switches/acme\.yaml: no such switch model"):
        connect(entry, Secrets(None, SECRETS))
    entry = load_bench(written()).switch
    assert entry is not None
    with pytest.raises(BenchFault, match="secret SWITCH_AUTH is missing"):
        connect(entry, Secrets(None, {}))


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (
            V3,
            f"{V3}\n    {V2C}",
            "switch.snmp: both v3 and v2c; expected v3 (what a switch of this century can), or v2c",
        ),
        (V3, "port: 161", "switch.snmp: no login; expected v3 (what a switch of this century can), or v2c"),
        ("dut.p1: Gi1", "dut.p7: Gi1", "switch.ports.dut.p7: there is no port dut.p7; expected one of dut.p0, dut.p1"),
        (
            "Port 2",
            "Gi1/0/1",
            "switch.ports.peer.p1: Gi1/0/1 leads to dut.p1 already; expected each port of the switch",
        ),
        ("peer.p1: Port 2", "peer.p0: Port 2", "peer.p1 is not in switch.ports; expected both ends on the switch"),
        ("peer.p1: Port 2", "peer.p0: Port 2", "peer.p0 is in switch.ports; expected switch, or no end on the switch"),
        ("user: lab, ", "", "switch.snmp.v3.user: missing; expected a user name"),
        ("priv: aes256", "priv: des", "switch.snmp.v3.priv: des is not wanted; expected aes128, aes192 or aes256"),
        ("user: lab", "user: lab, auth: md5", "auth: md5 is not wanted; expected sha, sha256, sha384 or sha512"),
        ("name: sw1", "name: Switch 1", "switch.name: Switch 1 is not wanted; expected a name of lower-case letters"),
        ("dut.p1: Gi1/0/1", "p1: Gi1/0/1", "expected a port of a server, such as dut.p0"),
        ("Port 2", '"Port\\n2"', "expected the name of a port as the switch has it, such as Gi1/0/1"),
        ("address: 127.77.1.50", "address: 198.18.11.9", "an address that is not reached over the card under test"),
        (
            "    v3: {",
            "    bridge_vlans: [4095]\n    v3: {",
            "bridge_vlans.0: 4095 is not wanted; expected a VLAN, 1..4094",
        ),
        ("    v3: {", "    port: 0\n    v3: {", "switch.snmp.port: 0 is not wanted; expected a UDP port 1..65535"),
    ],
)
def test_a_mistake_gets_one_clear_line(written: Edit, old: str, new: str, wanted: str) -> None:
    assert wanted in faults(written((old, new)))


PANEL = ("  ports: {dut.p1", "  connect: to-switch\n  disconnect: direct\n  ports: {dut.p1")


def test_paths_that_can_be_connected_lie_directly_and_go_through_the_switch_when_they_are(edited_bench: Edit) -> None:
    bench = load_bench(edited_bench(("paths:\n", SECTION), PANEL))
    assert bench.switch is not None
    assert (bench.switch.connect, bench.switch.disconnect) == ("to-switch", "direct")
    assert [path.through for path in bench.paths] == [Wiring.DIRECT, Wiring.DIRECT]
    assert [path.through for path in bench.connected().paths] == [Wiring.DIRECT, Wiring.SWITCH]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("  disconnect: direct\n", "", "switch: connect alone; expected both connect and disconnect, or neither"),
        ("  connect: to-switch\n", "", "switch: disconnect alone; expected both connect and disconnect, or neither"),
        (
            ", peer.p1: Port 2",
            "",
            "paths.1.through: dut.p1 alone is in switch.ports; expected both ends there, so that",
        ),
    ],
)
def test_a_mistake_of_the_patch_panel_gets_one_clear_line(edited_bench: Edit, old: str, new: str, wanted: str) -> None:
    assert wanted in faults(edited_bench(("paths:\n", SECTION), PANEL, (old, new)))


def test_a_path_through_a_switch_needs_one(edited_bench: Edit) -> None:
    assert "paths.1.through: the bench has no switch; expected direct, or a section switch" in faults(
        edited_bench(*THROUGH)
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("auth_password_secret: SWITCH_AUTH", "auth_password: hunter2"),
        ("auth_password_secret: SWITCH_AUTH", "auth_password_secret: hunter2"),
        (V3, V2C.replace("read_community_secret: SWITCH_READ", "read_community: hunter2")),
        (V3, V2C.replace("SWITCH_READ", "hunter2")),
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_shown(written: Edit, old: str, new: str) -> None:
    message = faults(written((old, new)))
    assert "(not shown)" in message and "hunter2" not in message
