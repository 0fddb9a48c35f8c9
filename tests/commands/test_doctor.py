"""The doctor finds each fault, says how it is mended, and changes nothing that stays."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, cast

import pytest
from fake_bench import FakeBench
from throwaway_sshd import SshdMaker, ThrowawaySshd

from niclab.bench.records import Bench, Role
from niclab.commands import cli, doctor
from niclab.commands.doctor import Finding
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault, NotApplicable, Undecided
from niclab.run.run_notes import RunNotes
from niclab.run.server import Server
from niclab.transports import AuthenticationFailed


@pytest.fixture(autouse=True)
def well(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bench without a fault."""
    monkeypatch.setattr(doctor, "Server", bench.server_class)
    for host in bench.hosts.values():
        host.clock = time.time


def examine(bench: FakeBench, *, cables: bool = True) -> list[Finding]:
    return list(doctor.examine(bench.file, str(bench.sheet), cables=cables, scratch=bench.folder / "scratch"))


def only_fault(bench: FakeBench) -> Finding:
    (fault,) = [finding for finding in examine(bench) if finding.fault]
    assert fault.mend and f"mend: {fault.mend}" in str(fault) and fault.fault in str(fault)
    return fault


def state(bench: FakeBench) -> list[object]:
    nics = [(name, nic.admin_up, list(nic.addresses)) for name, nic in bench.cables.nics.items()]
    return [*nics, bench.pulled(), Journal.for_bench("virtual").pending(), bench.state["up"]]


def test_a_good_bench_has_no_fault_and_is_left_as_it_was(bench: FakeBench) -> None:
    before = state(bench)
    found = examine(bench)
    assert [finding.fault for finding in found if finding.fault] == []
    server = ["ssh", "privileges", "tools", "clock", "p0", "p1", "ipmi", "redfish", "console"]
    looked = [finding.what for finding in found]
    assert looked == ["file", "ports", "journal", *server, *server, "sheet", "cables", "cables"]
    assert all(str(finding).startswith("ok") for finding in found)
    assert state(bench) == before
    assert sorted(bench.closed) == ["dut", "peer"]


def test_a_card_that_is_not_as_on_its_sheet_is_a_question_and_no_fault(bench: FakeBench) -> None:
    bench.edit(bench.sheet, ("duplex: full", "duplex: half"))
    found = [finding for finding in examine(bench, cables=False) if finding.question]
    assert [(finding.subject, finding.what, finding.fault) for finding in found] == [
        ("dut", "p0", ""),
        ("dut", "p1", ""),
    ]
    assert found[0].question == "link.duplex: the sheet says half, the card shows full"
    assert str(found[0]).startswith("ASK    dut   p0") and "sheet or card? correct " in str(found[0])


def test_without_cables_no_link_is_touched(bench: FakeBench) -> None:
    found = examine(bench, cables=False)
    assert "cables" not in [finding.what for finding in found]
    assert bench.said == [] and bench.dut.changes == []


def test_a_bench_that_leaves_a_port_of_the_card_out_is_found(bench: FakeBench) -> None:
    bench.edit(bench.sheet, ("ports: 2", "ports: 4"))
    fault = only_fault(bench)
    assert (fault.subject, fault.what) == ("bench", "ports")
    found = "2 port(s) of the dut on 2 path(s); expected 4 on 4 paths (sheet intel-82574l, identity.ports)"
    assert fault.fault == f"{bench.file}: {found}"
    assert bench.said == []


Spoil = Callable[[FakeBench], object]
FAULTS: list[tuple[str, str, Spoil, str, str]] = [
    ("dut", "privileges", lambda bench: setattr(bench.dut, "root", False), "root is not root", "log in as root"),
    ("peer", "tools", lambda bench: bench.peer.missing_tools.add("iperf3"), "missing: iperf3", "install what is"),
    ("dut", "tools", lambda bench: bench.dut.tool_versions.update(ethtool="4.19"),
        r"too old to be read: ethtool 4\.19; expected 5\.10 or later$", "or too old"),
    ("dut", "clock", lambda bench: setattr(bench.dut, "clock", lambda: time.time() + 9), r"\+9\.0 s from", "NTP"),
    ("peer", "clock", lambda bench: setattr(bench.peer, "clock", lambda: time.time() - 9), r"-9\.0 s from", "NTP"),
    ("dut", "p1", lambda bench: setattr(bench.nic("dut.p1"), "pci", "x"), "no PCI device at", "'pci' of dut.p1"),
    ("peer", "console", lambda bench: setattr(bench.consoles[Role.PEER], "silent", True), "no prompt within", "url"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("subject", "what", "spoil", "fault", "mend"), FAULTS, ids=[f"{row[0]}-{row[1]}" for row in FAULTS]
)
def test_each_fault_is_found_and_mended_by_name(
    bench: FakeBench, subject: str, what: str, spoil: Spoil, fault: str, mend: str
) -> None:
    spoil(bench)
    found = only_fault(bench)
    assert (found.subject, found.what) == (subject, what)
    assert mend in found.mend
    assert re.search(fault, found.fault)
    assert bench.dut.changes == [] and bench.said == []  # no cable is proven on a bench with faults


@pytest.mark.parametrize("protocol", ["ipmi", "redfish"])
def test_a_bmc_that_lets_nobody_in_is_found(bench: FakeBench, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AuthenticationFailed("dut BMC: password refused")

    monkeypatch.setattr(bench.bmcs[Role.DUT][protocol], "power_status", refuse)
    found = only_fault(bench)
    assert (found.subject, found.what) == ("dut", protocol) and "BMC_PASSWORD" in found.mend


def test_a_server_that_does_not_answer_is_not_asked_more(bench: FakeBench) -> None:
    bench.peer.crash()
    found = only_fault(bench)
    assert (found.subject, found.what) == ("peer", "ssh")
    assert found.mend == "check that peer is on and runs sshd at 127.77.1.11:2222, as the bench file says"


def test_a_bench_that_is_down_is_not_brought_up(bench: FakeBench) -> None:
    bench.set_state(up=False)
    found = only_fault(bench)
    assert found.what == "power" and found.mend.startswith("run: ") and found.mend.endswith(" up")
    assert bench.said == []


def test_a_status_command_that_cannot_run_is_found(bench: FakeBench) -> None:
    bench.tool_file.unlink()
    found = only_fault(bench)
    assert found.what == "power" and "No such file" in found.fault


@pytest.mark.parametrize("status", [126, 127, 255])
def test_a_status_command_that_fails_says_nothing_about_the_bench(bench: FakeBench, status: int) -> None:
    bench.tool_file.write_text(
        f"import sys\nprint('line 1\\nssh: no such host', file=sys.stderr)\nsys.exit({status})\n"
    )
    found = only_fault(bench)
    assert found.what == "power" and "down" not in found.fault and "commands.status" in found.mend
    assert found.fault.startswith("the command failed: ") and str(bench.tool_file) in found.fault
    assert found.fault.endswith(f"ended with exit status {status}: ssh: no such host")


def test_a_status_command_that_is_not_there_says_nothing_about_the_bench(bench: FakeBench) -> None:
    text = bench.file.read_text()
    bench.file.write_text(re.sub(r"^  status: .*$", "  status: no-such-program --quiet", text, flags=re.MULTILINE))
    found = only_fault(bench)
    assert found.what == "power" and "no-such-program" in found.fault and "commands.status" in found.mend


class TestNamedServer:
    """The server under test is called by its name, and its SSH connection is real."""

    @pytest.fixture
    def sshd(self, bench: FakeBench, make_sshd: SshdMaker, monkeypatch: pytest.MonkeyPatch) -> ThrowawaySshd:
        server = make_sshd()
        fake = bench.server_class

        class HalfFake(fake):  # type: ignore[misc, valid-type]
            def __init__(self, of: Bench, role: Role, secrets: object, notes: RunNotes) -> None:
                super().__init__(of, role, secrets, notes)
                if role is Role.DUT:
                    self.ssh = Server(of, role, cast(Any, secrets), notes).ssh

        monkeypatch.setattr(doctor, "Server", HalfFake)
        known = server.directory / "known_hosts"
        known.write_text(f"[localhost]:{server.port} {(server.directory / 'host_key.pub').read_text()}")
        text = bench.file.read_text()
        login = {
            "address": "localhost",
            "port": server.port,
            "user": server.endpoint.user,
            "key_file": server.endpoint.key_file,
            "known_hosts": known,
        }
        for field, value in login.items():
            text = re.sub(rf"^      {field}: .*$", f"      {field}: {value}", text, count=1, flags=re.MULTILINE)
        bench.file.write_text(text)
        return server

    def only(self, bench: FakeBench) -> Finding:
        found = only_fault(bench)
        assert (found.subject, found.what) == ("dut", "ssh")
        return found

    def test_a_named_server_is_looked_at(self, bench: FakeBench, sshd: ThrowawaySshd) -> None:
        looked = {finding.what: finding for finding in examine(bench, cables=False) if finding.subject == "dut"}
        assert looked["ssh"].seen.startswith(f"{sshd.endpoint.user}@localhost:{sshd.port}, ")

    def test_a_name_that_does_not_resolve(self, bench: FakeBench, sshd: ThrowawaySshd) -> None:
        assert sshd.port
        bench.edit(bench.file, ("address: localhost", "address: no-such-host.invalid"))
        found = self.only(bench)
        assert "cannot connect to no-such-host.invalid" in found.fault and "getent hosts no-such-host" in found.mend

    def test_a_server_that_refuses(self, bench: FakeBench, sshd: ThrowawaySshd) -> None:
        sshd.stop()
        found = self.only(bench)
        assert "Connection refused" in found.fault and "is on and runs sshd" in found.mend

    def test_an_unknown_key(self, bench: FakeBench, sshd: ThrowawaySshd) -> None:
        (sshd.directory / "known_hosts").write_text("")
        found = self.only(bench)
        assert "is not in" in found.fault and f"ssh-keyscan -p {sshd.port} localhost >>" in found.mend
        assert "ssh-keyscan" not in found.fault and not found.fault.endswith(" ")

    def test_a_changed_key(self, bench: FakeBench, sshd: ThrowawaySshd) -> None:
        sshd.make_key("other_key")
        other = (sshd.directory / "other_key.pub").read_text()
        (sshd.directory / "known_hosts").write_text(f"[localhost]:{sshd.port} {other}")
        found = self.only(bench)
        assert "has CHANGED" in found.fault and f"-R '[localhost]:{sshd.port}'" in found.mend

    def test_a_missing_key_file(self, bench: FakeBench, sshd: ThrowawaySshd) -> None:
        key = sshd.directory / "user_key"
        key.unlink()
        found = self.only(bench)
        assert f"ssh-keygen -t ed25519 -f {key}" in found.mend and f"ssh-copy-id -i {key}" in found.mend
        assert "ssh-keyscan" not in found.mend

    def test_a_refused_key(self, bench: FakeBench, sshd: ThrowawaySshd) -> None:
        sshd.make_key("user_key")
        (sshd.directory / "user_key.pub").write_text((sshd.directory / "host_key.pub").read_text())
        found = self.only(bench)
        assert "was refused" in found.fault and "ssh-copy-id -i" in found.mend and "ssh-keygen" not in found.mend


def test_a_wrong_file_is_found(bench: FakeBench) -> None:
    bench.edit(bench.file, ("os: linux", "os: plan9"))
    found = only_fault(bench)
    assert found.what == "file" and "plan9" in found.fault and "example-real.yaml" in found.mend


def test_a_bench_file_that_is_not_there_is_written_by_a_command(bench: FakeBench) -> None:
    bench.file.unlink()
    assert only_fault(bench).mend == "run: niclab new-bench NAME"


def test_a_card_without_a_sheet_is_no_fault_of_the_bench_file(bench: FakeBench) -> None:
    bench.sheet.unlink()
    found = only_fault(bench)
    assert (found.subject, found.what) == ("card", "sheet")
    assert found.mend.endswith(f"for a new card: niclab new-card NAME --from {bench.file}")


def test_a_bench_in_use_is_found(bench: FakeBench) -> None:
    with Journal.for_bench("virtual").hold():
        found = only_fault(bench)
    assert found.what == "lock" and "in use by pid" in found.fault and "wait for the other run" in found.mend


def test_what_a_killed_run_left_is_found_and_stays(bench: FakeBench) -> None:
    with Journal.for_bench("virtual").hold() as journal:
        journal.register("dut.p0", "set up", Action(ActionKind.SHELL, "dut", "ip link set dev enp1s0 down"))
    before = state(bench)
    found = only_fault(bench)
    assert found.what == "journal" and f"niclab restore {bench.file}" in found.mend
    assert state(bench) == before and bench.said == []


def test_wrong_cables_are_found_and_everything_is_put_back(bench: FakeBench) -> None:
    before = state(bench)
    bench.cables.wires = {"a": ("dut.p0", "peer.p1"), "b": ("dut.p1", "peer.p0")}
    found = only_fault(bench)
    assert found.what == "cables" and "still carrier at peer.p0" in found.fault and "'paths'" in found.mend
    assert state(bench) == before


@pytest.mark.parametrize("end", [Undecided, NotApplicable])
def test_cables_that_cannot_be_judged_are_found(
    bench: FakeBench, monkeypatch: pytest.MonkeyPatch, end: type[Exception]
) -> None:
    def cannot_tell(_: object) -> list[str]:
        raise end("peer: stood still")

    monkeypatch.setattr(doctor.wiring, "prove", cannot_tell)
    found = only_fault(bench)
    assert found.what == "cables" and found.fault == "peer: stood still"


def test_links_that_cannot_be_put_back_are_found(bench: FakeBench) -> None:
    bench.ssh[Role.PEER].replies["ip link set dev enp1s0 down"] = BenchFault("peer: busy")
    found = only_fault(bench)
    assert found.what == "journal" and "could not be undone" in found.fault and "niclab restore" in found.mend


@pytest.mark.parametrize(("faulty", "status", "last"), [(False, 0, "the bench is ready"), (True, 1, "1 fault")])
def test_the_command_says_and_returns_it(
    bench: FakeBench, faulty: bool, status: int, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.dut.root = not faulty
    assert cli.main(["doctor", str(bench.file), "--card", str(bench.sheet), "--no-cables"]) == status
    assert capsys.readouterr().out.splitlines()[-1] == last


def test_several_faults_are_counted(bench: FakeBench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.dut.root = bench.peer.root = False
    assert cli.main(["doctor", str(bench.file), "--card", str(bench.sheet)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 faults"


def test_the_cards_that_are_in_are_named(bench: FakeBench) -> None:
    bench.give_slots("intel-82574l", "intel-82574l")
    found = {finding.what: finding for finding in examine(bench)}
    assert found["cards"].seen == "dut intel-82574l, peer intel-82574l" and not found["cards"].fault


def test_another_card_than_the_one_asked_for_is_told_and_left_in(bench: FakeBench) -> None:
    bench.give_slots("intel-82574l", "some-card")
    fault = only_fault(bench)
    assert fault.fault == "dut intel-82574l, peer some-card; expected intel-82574l in both servers"
    assert fault.mend.startswith("run: ") and fault.mend.endswith(" insert intel-82574l intel-82574l")
    assert bench.state["cards"] == ["intel-82574l", "some-card"]
