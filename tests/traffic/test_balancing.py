"""A bond that balances uses every link, as the counters of both ends say; one that does not is named."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench
from stacking import Stacking, install

from Balancing import Balancing
from Bonding import Bonding
from niclab.core.verdict import BenchFault, CardFailure
from niclab.hosts.bonds.bond_settings import BondMode
from niclab.run.run import Run
from niclab.traffic.flows import balance


@pytest.fixture
def stacking(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Stacking:
    assert taken
    monkeypatch.setattr(balance, "COUNTED_WITHIN_S", 0.02)
    made = install(monkeypatch, bench)
    Bonding().bond_both_hosts(BondMode.BALANCE_RR, 100)
    return made


def test_an_even_share_of_every_link_is_green(bench: FakeBench, stacking: Stacking) -> None:
    assert stacking
    Balancing().every_member_should_carry_its_share()
    for ssh in bench.ssh.values():
        (sent,) = [command for command in ssh.commands if command.startswith("python3 -c")]
        mine, theirs = (1, 2) if ssh.host.name == "dut" else (2, 1)
        assert sent.endswith(f" 198.18.10.{mine} 198.18.10.{theirs} 20000 64 4 9")


def test_a_link_whose_frames_do_not_arrive_is_red(stacking: Stacking) -> None:
    stacking.idle.add("dut.p1")
    with pytest.raises(CardFailure) as caught:
        Balancing().every_member_should_carry_its_share()
    assert str(caught.value) == (
        "peer.p1 (0000:02:00.0) has received 0 of 256 datagrams of niclab0; expected at least 64, half of an even "
        "share of 2 links"
    )


def test_a_link_that_is_not_sent_over_is_red(stacking: Stacking, monkeypatch: pytest.MonkeyPatch) -> None:
    def one_link(self: Stacking, host: str) -> None:
        nic = self.bench.nic(f"{host}.p0")
        nic.frames["tx"] = nic.frames.get("tx", 0) + 256

    monkeypatch.setattr(Stacking, "send_datagrams", one_link)
    with pytest.raises(CardFailure, match=r"dut\.p1 \(0000:02:00\.0\) has sent 0 of 256 datagrams"):
        Balancing().every_member_should_carry_its_share()
    assert stacking


def test_a_link_that_the_peer_does_not_send_over_is_the_benchs_fault(
    stacking: Stacking, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Stacking.send_datagrams

    def one_link(self: Stacking, host: str) -> None:
        if host == "dut":
            plain(self, host)
            return
        for name, way in (("peer.p0", "tx"), ("dut.p0", "rx")):
            frames = self.bench.nic(name).frames
            frames[way] = frames.get(way, 0) + 256

    monkeypatch.setattr(Stacking, "send_datagrams", one_link)
    with pytest.raises(BenchFault, match=r"^peer\.p1 .* has sent 0 of 256 .*\ndut\.p1 .* has received 0 of 256"):
        Balancing().every_member_should_carry_its_share()
    assert stacking


def test_a_link_that_is_red_stays_so_though_the_other_direction_cannot_be_tried(
    stacking: Stacking, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Stacking.send_datagrams

    def only_dut(self: Stacking, host: str) -> None:
        if host == "peer":
            raise BenchFault("peer: python3 has ended")
        plain(self, host)

    stacking.idle.add("dut.p1")
    monkeypatch.setattr(Stacking, "send_datagrams", only_dut)
    with pytest.raises(CardFailure, match=r"^peer\.p1 .* has received 0 of 256 .*\nundecided: peer: python3 has ended"):
        Balancing().every_member_should_carry_its_share()


def broadcast(taken: Run, monkeypatch: pytest.MonkeyPatch, over: int) -> None:
    """A broadcast bond of the dut and peer; so many of 256 frames go over the second link."""

    def over_each(self: Stacking, host: str) -> None:
        other = "peer" if host == "dut" else "dut"
        for key, count in (("p0", 256), ("p1", over)):
            for name, way in ((f"{host}.{key}", "tx"), (f"{other}.{key}", "rx")):
                frames = self.bench.nic(name).frames
                frames[way] = frames.get(way, 0) + count

    Bonding().remove_bonds_from_both_hosts()
    Bonding().bond_both_hosts(BondMode.BROADCAST, 100)
    monkeypatch.setattr(Stacking, "send_datagrams", over_each)
    assert taken


def test_a_broadcast_bond_sends_everything_over_every_link(
    taken: Run, stacking: Stacking, monkeypatch: pytest.MonkeyPatch
) -> None:
    broadcast(taken, monkeypatch, 256)
    Balancing().every_member_should_carry_its_share()
    broadcast(taken, monkeypatch, 255)
    with pytest.raises(CardFailure, match=r"dut\.p1 .* has sent 255 of 256 .* expected all, each frame over each link"):
        Balancing().every_member_should_carry_its_share()
    assert stacking
