"""The card's engine for iSCSI: its module, MAC address and record; nothing of it is left."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_bench import FakeBench
from fake_parts import changes

from niclab.bench.records import Role
from niclab.card import IscsiOffload, Prediction
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.storage.offload import engine
from niclab.storage.offload.engine import Engine, engine_of, hosts, mac_after, require_engine, seen_mac
from niclab.transports.ssh.ssh import Result

OWN = IscsiOffload(
    transport="bnx2i", mac_offset=1, transfer_bytes=65024, wanted=Prediction(loses_at_most_percent=50), source="test"
)
SHARED = OWN.model_copy(update={"transport": "tcp", "mac_offset": 0})
HOSTS, LOOKS, UNLOADS = "for d in /sys/class/iscsi_host", "[ -d /sys/module/", "[ ! -d /sys/module/"


class Dut:
    """The dut of the fake bench with an engine at each port. ``hosts``: as shown; ``record``: what was set."""

    def __init__(self, bench: FakeBench) -> None:
        self.ssh = bench.ssh[Role.DUT]
        (self.nic,) = (each for each in bench.hosts[Role.DUT].nics if each.key == "p0")
        self.hosts = f"{self.nic.iface} {mac_after(self.nic.mac, 1)}\nlan9 02:00:00:00:00:99\n"
        self.record = dict[str, str]()
        self.ssh.replies |= {
            "modprobe": "",
            LOOKS: "bnx2i\ncxgb4i\n",
            UNLOADS: "",
            "for f in /etc/iscsi": "/etc/iscsi/ifaces/bnx2i.00:10:18:00:00:01\n",
            HOSTS: lambda _: self.hosts,
            "grep -q @ISCSID_UIP": "",
            "iscsiadm -m iface": self._record,
            "! iscsiadm": "",
        }

    def _record(self, command: str) -> str:
        words = command.split()
        self.record |= {
            words[at + 1].removeprefix("iface."): words[at + 3] for at, word in enumerate(words) if word == "-n"
        }
        return "".join(f"iface.{name} = {value}\n" for name, value in self.record.items())


@pytest.fixture
def dut(bench: FakeBench) -> Dut:
    return Dut(bench)


def test_an_engine_of_its_own_addresses_is_recorded_and_undone(taken: Run, dut: Dut) -> None:
    before, path = len(changes(taken.journal)), taken.bench.paths[0]
    with engine_of(taken, path, OWN) as found:
        assert len(changes(taken.journal)) == before + 2
        assert found == Engine("niclab.a", mac_after(dut.nic.mac, 1), dut.nic.mac, "198.18.10.254")
    assert len(changes(taken.journal)) == before
    wanted = {"transport_name": "bnx2i", "hwaddress": found.mac, "ipaddress": "198.18.10.254", "vlan_id": "0"}
    assert dut.record == wanted | {"subnet_mask": "255.255.255.0", "mtu": "1500"}
    assert "modprobe bnx2i" in dut.ssh.commands
    (unloaded,) = (each for each in dut.ssh.commands if each.startswith(UNLOADS))
    assert "modprobe -r bnx2i" in unloaded and "modprobe -r cxgb4i" in unloaded and "-r cxgb3i" not in unloaded


def test_an_engine_that_shares_the_ports_addresses_is_bound_to_the_interface(taken: Run, dut: Dut) -> None:
    with engine_of(taken, taken.bench.paths[0], SHARED) as found:
        assert found == Engine("niclab.a", dut.nic.mac, dut.nic.mac, "198.18.10.1")
    assert dut.record["net_ifacename"] == dut.nic.iface and "hwaddress" not in dut.record
    assert "modprobe iscsi_tcp" in dut.ssh.commands
    (looked,) = (each for each in dut.ssh.commands if each.startswith(LOOKS))
    assert "iscsi_tcp" not in looked, "disks of the server itself may need it"


class RealDut:
    """A server whose commands a real shell runs."""

    def run(self, command: str) -> SimpleNamespace:
        return SimpleNamespace(stdout=subprocess.run(["sh", "-c", command], capture_output=True, text=True).stdout)


def test_records_that_open_iscsi_makes_of_engines_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "RECORDS", (str(tmp_path), f"{tmp_path}/none"))
    for name in ("bnx2i.00:10:18:00:00:01", "own", "iface.example"):
        (tmp_path / name).touch()
    undo = engine._undo(RealDut(), "bnx2i")  # type: ignore[arg-type]
    for name in ("bnx2i.00:10:18:00:00:03", "cxgb4i.00:07:43:00:00:01", "niclab.a"):
        (tmp_path / name).touch()
    assert subprocess.run(["sh", "-c", undo], check=False).returncode == 0
    left = sorted(each.name for each in tmp_path.iterdir())
    assert left == ["bnx2i.00:10:18:00:00:01", "iface.example", "niclab.a", "own"]


def test_another_mac_address_is_the_cards(taken: Run, dut: Dut) -> None:
    dut.hosts = f"{dut.nic.iface} {mac_after(dut.nic.mac, 2)}\n"
    before = len(changes(taken.journal))
    words = (
        rf"has MAC address {mac_after(dut.nic.mac, 2)}; expected {mac_after(dut.nic.mac, 1)}, that of the port plus 1"
    )
    with pytest.raises(CardFailure, match=words), engine_of(taken, taken.bench.paths[0], OWN):
        pytest.fail("no session may begin")
    assert len(changes(taken.journal)) == before


def test_a_port_without_an_engine_is_undecided(taken: Run, dut: Dut) -> None:
    dut.hosts = "lan9 02:00:00:00:00:99\n"
    with (
        pytest.raises(Undecided, match=r"no bnx2i host at enp1s0; .* has no engine, or has it switched off"),
        engine_of(taken, taken.bench.paths[0], OWN),
    ):
        pytest.fail("no session may begin")


def failing(command: str) -> Result:
    return Result(command, 1, None, "", "", 0.01)


def test_a_server_without_the_program_of_the_transport_is_the_benchs_fault(taken: Run, dut: Dut) -> None:
    dut.ssh.replies["grep -q @ISCSID_UIP"] = failing
    with pytest.raises(BenchFault, match=r"expected iscsiuio, which .*\(Debian: iscsiuio\)"):
        engine_of(taken, taken.bench.paths[0], OWN).__enter__()
    with engine_of(taken, taken.bench.paths[0], SHARED):
        pass


@pytest.mark.usefixtures("dut")
def test_a_subnet_without_room_is_not_applicable(taken: Run) -> None:
    path = taken.bench.paths[0]
    small = path.model_copy(update={"subnet": next(path.subnet.subnets(new_prefix=30))})
    taken.bench = taken.bench.model_copy(update={"paths": (small, *taken.bench.paths[1:])})
    with pytest.raises(NotApplicable, match=r"subnet 198\.18\.10\.0/30 has no address for the engine"):
        engine_of(taken, small, OWN).__enter__()


def test_a_sheet_without_engine_and_a_kernel_without_its_transport_are_not_applicable(taken: Run, dut: Dut) -> None:
    with pytest.raises(NotApplicable, match="intel-82574l has no section iscsi_offload"):
        require_engine(taken)
    taken.card = taken.card.model_copy(update={"iscsi_offload": OWN})
    assert require_engine(taken) == OWN
    dut.ssh.replies["modprobe"] = failing
    with pytest.raises(NotApplicable, match=r"dut: its kernel has no module bnx2i.*\(transport bnx2i\)"):
        require_engine(taken)


def test_the_peer_shows_the_mac_address_of_a_session(bench: FakeBench, taken: Run) -> None:
    used = Engine("niclab.a", "02:00:00:00:00:02", "02:00:00:00:00:01", "198.18.10.254")
    peer = bench.ssh[Role.PEER]
    peer.replies["ip neigh show"] = "198.18.10.254 lladdr 02:00:00:00:00:02 REACHABLE\n"
    assert seen_mac(taken, taken.bench.paths[0], used) == used.mac
    peer.replies["ip neigh show"] = "198.18.10.254 FAILED\n"
    with pytest.raises(BenchFault, match=r"peer: '198.18.10.254 FAILED' .*; expected a MAC address"):
        seen_mac(taken, taken.bench.paths[0], used)


def test_a_mac_address_after_another_carries_over() -> None:
    assert mac_after("e0:db:55:10:46:72", 1) == "e0:db:55:10:46:73"
    assert mac_after("00:10:18:ff:ff:ff", 1) == "00:10:19:00:00:00"


@pytest.mark.parametrize("text", ["p1p1\n", "p1p1 none\n", "p1p1 02:00:00:00:00:01 x\n"])
def test_other_words_of_hosts_are_refused(text: str) -> None:
    with pytest.raises(ReadError, match="expected an interface and a MAC address"):
        hosts(text)


def test_hosts_of_the_transport_alone_are_shown(tmp_path: Path) -> None:
    for number, module, mac in ((1, "bnx2i", "02:00:00:00:00:02"), (2, "iscsi_tcp", "02:00:00:00:00:03")):
        for folder in (tmp_path / f"iscsi_host/host{number}", tmp_path / f"scsi_host/host{number}"):
            folder.mkdir(parents=True)
        (tmp_path / f"scsi_host/host{number}/proc_name").write_text(f"{module}\n")
        (tmp_path / f"iscsi_host/host{number}/hwaddress").write_text(f"{mac}\n")
        (tmp_path / f"iscsi_host/host{number}/netdev").write_text(f"p{number}\n")
    command = engine.hosts_command("bnx2i").replace("/sys/class", str(tmp_path))
    shown = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    assert hosts(shown) == {"p1": "02:00:00:00:00:02"}
