"""Received power that follows the light is green, by cable or far end; readings that stay fail the card."""

from __future__ import annotations

from itertools import count

import pytest
from fake_bench import FakeBench
from fake_parts import changes
from lit_ports import LitPorts
from module_dumps import CABLE_SFP, memory_of, qsfp, sfp

from niclab.core.verdict import BenchFault, CardFailure, NotApplicable
from niclab.hosts.errors import ModuleUnread, NotOffered
from niclab.links.optics import received
from niclab.run.run import Run
from Optics import Optics


@pytest.fixture
def ports(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> LitPorts:
    return LitPorts(bench, taken, monkeypatch)


@pytest.fixture
def without_pull(ports: LitPorts) -> LitPorts:
    """No command pulls a cable."""
    ports.bench.write(commands=False, cables=False)
    ports.taken.bench = ports.bench.load()[0]
    return ports


def unread() -> bytes:
    raise ModuleUnread("dut: Input/output error")


def check() -> None:
    Optics().received_power_should_follow_the_light()


class TestCable:
    def test_power_that_follows_is_green_on_every_path(self, ports: LitPorts) -> None:
        before, said = changes(ports.taken.journal), list[str]()
        received.require_following(ports.taken, said.append)
        assert ports.bench.said == ["pull", "plug"] * 2
        assert changes(ports.taken.journal) == before
        assert "dut.p1: dark: received power 0.0021 mW" in said

    def test_light_that_a_module_measures_late_is_waited_for(
        self, ports: LitPorts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(received, "WITHIN_S", 5.0)
        sound, reads = ports.following("dut.p0"), count(1)
        ports.of["dut.p0"] = lambda: bytes(sfp(received_uw=0)) if next(reads) < 3 else sound()
        check()
        assert ports.bench.said == ["pull", "plug"] * 2

    def test_readings_that_stay_fail_the_card_and_the_cable_is_plugged(self, ports: LitPorts) -> None:
        ports.of["dut.p1"] = ports.fixed(sfp())
        with pytest.raises(CardFailure) as caught:
            check()
        assert str(caught.value) == (
            "dut.p1 (0000:02:00.0) reads received power 0.4200 mW 0.05 s after its light has gone; expected at most "
            "0.1050 mW, 0.25 of that before"
        )
        assert ports.bench.pulled() == set()

    def test_readings_that_do_not_return_fail_the_card(self, ports: LitPorts) -> None:
        sound = ports.following("dut.p0")
        ports.of["dut.p0"] = lambda: bytes(sfp(received_uw=0)) if "pull" in ports.bench.said else sound()
        with pytest.raises(
            CardFailure, match=r"^dut\.p0 .* reads received power 0\.0000 mW 0\.05 s after its link has"
        ):
            check()

    @pytest.mark.parametrize(("since", "when"), [("pull", "gone"), ("plug", "returned")])
    def test_a_module_that_is_not_read_any_more_fails_the_card(self, ports: LitPorts, since: str, when: str) -> None:
        for name in ("dut.p0", "dut.p1"):
            sound = ports.following(name)
            ports.of[name] = lambda sound=sound: unread() if since in ports.bench.said else sound()  # type: ignore[misc]
        read = r"^dut\.p0 \S+ reads no module \(dut: Input/output error\) 0\.05 s after its "
        with pytest.raises(CardFailure, match=rf"{read}(light|link) has {when}; expected "):
            check()
        assert ports.bench.pulled() == set()

    def test_a_module_that_is_read_a_little_later_follows(self, ports: LitPorts) -> None:
        sound, reads = ports.following("dut.p0"), count(1)
        ports.of["dut.p0"] = lambda: unread() if ports.bench.said and next(reads) < 3 else sound()
        said = list[str]()
        received.require_following(ports.taken, said.append)
        assert "dut.p0: dark: received power 0.0021 mW" in said

    def test_a_module_of_another_kind_in_the_dark_fails_the_card(self, ports: LitPorts) -> None:
        sound = ports.following("dut.p0")
        ports.of["dut.p0"] = lambda: bytes(256) if "a" in ports.bench.pulled() else sound()
        with pytest.raises(
            CardFailure, match=r"^dut\.p0 \S+ reads no module \(.* has 256 bytes with identifier 0x00; "
        ):
            check()

    def test_a_module_that_was_never_read_is_left_alone(self, ports: LitPorts) -> None:
        ports.of["dut.p0"] = unread
        check()
        assert ports.bench.said == ["pull", "plug"]

    def test_each_lane_has_to_follow(self, ports: LitPorts) -> None:
        def memory() -> bytes:
            dark = "a" in ports.bench.pulled()
            return bytes(qsfp(0, 0, 650, 0) if dark else qsfp())

        ports.of["dut.p0"] = memory
        with pytest.raises(CardFailure, match=r"^dut\.p0 \S+ reads received power of lane 3 0\.6500 mW"):
            check()

    def test_a_power_that_only_wavers_has_not_fallen(self, ports: LitPorts) -> None:
        ports.of["dut.p0"] = lambda: bytes(sfp(received_uw=300 if "a" in ports.bench.pulled() else 420))
        with pytest.raises(CardFailure, match=r"^dut\.p0 \S+ reads received power 0\.3000 mW"):
            check()

    def test_a_cable_that_is_not_pulled_is_the_benchs(self, ports: LitPorts) -> None:
        ports.of["dut.p0"] = ports.fixed(sfp())
        ports.bench.cables.stuck = {"dut.p0": True, "peer.p0": True}
        with pytest.raises(BenchFault, match=r"^path a: its cable is pulled, and dut\.p0 and peer\.p0 have carrier"):
            check()
        assert ports.bench.pulled() == set()

    def test_a_carrier_that_stays_at_one_end_does_not_hide_the_light(self, ports: LitPorts) -> None:
        ports.bench.cables.stuck["dut.p0"] = True
        ports.of["dut.p0"] = lambda: bytes(sfp(received_uw=0 if "a" in ports.bench.pulled() else 420))
        check()

    def test_a_link_that_does_not_return_is_named(self, ports: LitPorts) -> None:
        ports.bench.cables.sticks_after_pull = {"dut.p0"}
        with pytest.raises(BenchFault, match=r"^path a: dut\.p0 without carrier 0\.2 s after the light is back"):
            check()

    @pytest.mark.parametrize("later", ["dut.p0", "dut.p1"])
    def test_a_link_that_does_not_return_hides_no_readings_that_stay(self, ports: LitPorts, later: str) -> None:
        """The link of the same path, or that of a later one."""
        ports.of["dut.p0"] = ports.fixed(sfp())
        ports.of["dut.p1"] = lambda: bytes(sfp(received_uw=0 if "b" in ports.bench.pulled() else 420))
        ports.bench.cables.sticks_after_pull = {later}
        with pytest.raises(CardFailure) as caught:
            check()
        failure, doubt = str(caught.value).splitlines()
        assert failure.startswith("dut.p0 (0000:01:00.0) reads received power 0.4200 mW")
        assert doubt.startswith("undecided: ") and f"{later} without carrier" in doubt
        assert ports.bench.pulled() == set()

    def test_one_port_that_shows_light_is_judged(self, ports: LitPorts) -> None:
        ports.of["dut.p0"] = ports.fixed(memory_of(CABLE_SFP))
        check()
        ports.of["dut.p1"] = ports.fixed(sfp())
        with pytest.raises(CardFailure, match=r"^dut\.p1 "):
            check()

    def test_modules_without_light_are_not_applicable_and_nothing_is_pulled(self, ports: LitPorts) -> None:
        ports.of |= {"dut.p0": ports.fixed(memory_of(CABLE_SFP)), "dut.p1": ports.fixed(sfp(received_uw=15))}
        with pytest.raises(NotApplicable) as caught:
            check()
        assert str(caught.value).splitlines() == [
            "dut.p0 (0000:01:00.0): its module shows no light above 0.02 mW: none",
            "dut.p1 (0000:02:00.0): its module shows no light above 0.02 mW: received power 0.0150 mW",
        ]
        assert ports.bench.said == []


class TestFarEnd:
    def test_power_that_follows_the_far_end_is_green(self, without_pull: LitPorts) -> None:
        check()
        assert all(without_pull.bench.nic(name).admin_up for name in without_pull.of)

    def test_readings_that_stay_fail_the_card(self, without_pull: LitPorts) -> None:
        without_pull.of["dut.p0"] = without_pull.fixed(sfp())
        with pytest.raises(CardFailure, match=r"^dut\.p0 .* reads received power 0\.4200 mW"):
            check()
        assert without_pull.bench.nic("peer.p0").admin_up

    def test_a_far_end_that_leaves_its_laser_on_shows_nothing(self, without_pull: LitPorts) -> None:
        without_pull.of |= {name: without_pull.fixed(sfp()) for name in without_pull.of}
        with pytest.raises(
            NotApplicable, match=r"^peer\.p0 \S+ sends light while its port is down: sent power 0\.5000"
        ):
            check()
        assert without_pull.bench.nic("peer.p0").admin_up

    def test_a_far_end_whose_module_is_off_with_its_port_shows_nothing(self, without_pull: LitPorts) -> None:
        for name in ("peer.p0", "peer.p1"):
            sound = without_pull.following(name)
            without_pull.of[name] = lambda name=name, sound=sound: (  # type: ignore[misc]
                sound() if without_pull.bench.nic(name).admin_up else unread()
            )
        with pytest.raises(NotApplicable, match=r"^peer\.p0 \S+: nobody knows whether its light is off while its port"):
            check()
        assert without_pull.bench.nic("peer.p0").admin_up

    def test_one_far_end_whose_driver_shows_no_module_is_left_alone(self, without_pull: LitPorts) -> None:
        def unshown() -> bytes:
            raise NotOffered("peer: enp1s0: its driver shows no module")

        without_pull.of["peer.p0"], said = unshown, list[str]()
        received.require_following(without_pull.taken, said.append)
        assert "not judged: peer: enp1s0: its driver shows no module" in said

    def test_a_far_end_whose_module_is_not_shown_is_left_alone(self, without_pull: LitPorts) -> None:
        def unread() -> bytes:
            raise ModuleUnread("peer: Input/output error")

        without_pull.of |= dict.fromkeys(("peer.p0", "peer.p1"), unread)
        with pytest.raises(NotApplicable, match=r"^peer: Input/output error"):
            check()
        assert all(without_pull.bench.nic(name).admin_up for name in without_pull.of)
