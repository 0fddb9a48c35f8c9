"""The recommended configuration: in force after a restart or red, taken away afterwards; rings that fit in memory."""

from __future__ import annotations

import itertools
import re

import pytest
from fake_bench import FakeBench
from fake_settings import SHEET, FakeSettings, settings_of, with_sheet

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable
from niclab.hosts.errors import ReadError
from niclab.hosts.settings.ethtool_records import Rings
from niclab.hosts.settings.persistent import Persistent, link_file, read_setup
from niclab.run.run import Run
from Recommendation import Recommendation

RECOMMENDED = """
recommended:
  mtu: 9000
  rings: {rx: 4096}
  pause: {autoneg: false}
  coalescing: [{name: rx-usecs, value: 100}]
  sysctls: [{name: net.core.rmem_max, value: "16777216"}]
  source: test
"""


class Dut:
    """A dut whose udev sets its ports up by the files when it restarts. ``ignored``: lines that it does not know."""

    def __init__(self, bench: FakeBench) -> None:
        self.settings: FakeSettings = settings_of(bench)
        self.files: dict[str, str] = {}
        self.sysctl = "212992"
        self.ignored: set[str] = set()
        self.udev, self.applied = "257", ""
        """Version of udev, and the file that it takes instead of the lab's."""
        ssh = bench.ssh[Role.DUT]
        ssh.replies |= {"mkdir": self._write, "printf": self._write, "rm -f": self._undo, "sysctl -n": self._sysctl}
        ssh.replies |= {"sync": "", "udevadm": self._udev}

    def _write(self, command: str) -> str:
        text, file = re.findall(r"printf %s '(.*)' > (\S+) && sync", command, re.DOTALL)[0]
        self.files[file] = text
        return ""

    def _undo(self, command: str) -> str:
        first, *rest = command.split(" && ")
        self.files.pop(first.split()[-1], None)
        for each in rest:
            word = each.strip("{}; ")
            if word.startswith("restore"):
                self.settings._command(word)
            elif word.startswith("sysctl"):
                self.sysctl = word.replace("'", "").split("=")[1]
        return ""

    def _udev(self, command: str) -> str:
        iface = command.rpartition("/")[2]
        (mac,) = [nic.mac for nic in self.settings.host.nics if nic.iface == iface]
        file = self.applied or f"/etc/systemd/network/10-niclab-{mac.replace(':', '')}.link"
        return f"{self.udev}\nINTERFACE={iface}\nID_NET_LINK_FILE={file}\n"

    def _sysctl(self, _: str) -> str:
        return self.sysctl + "\n"

    def restart(self) -> None:
        for file, text in self.files.items():
            if file.endswith(".conf"):
                self.sysctl = text.split(" = ")[1].strip()
        texts = [text for file, text in self.files.items() if file.endswith(".link")]
        for text, port in zip(texts, self.settings.ports.values(), strict=False):
            values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
            values = {name: value for name, value in values.items() if name not in self.ignored}
            port.mtu = int(values.get("MTUBytes", port.mtu))
            port.rings["rx"] = int(values.get("RxBufferSize", port.rings["rx"]))
            port.pause["autoneg"] = values.get("AutoNegotiationFlowControl", "yes") == "yes"
            port.coalescing["rx-usecs"] = int(values.get("RxCoalesceSec", "18us").removesuffix("us"))
            port.adaptive = values.get("UseAdaptiveRxCoalesce", "yes") == "yes"


@pytest.fixture
def dut(bench: FakeBench, taken: Run) -> Dut:
    with_sheet(bench, taken, more=SHEET + RECOMMENDED)
    return Dut(bench)


def test_it_survives_a_restart_and_is_taken_away(dut: Dut, taken: Run) -> None:
    words = Recommendation()
    words.make_the_recommended_configuration_persistent()
    assert len(dut.files) == 3 and len(taken.journal.pending()) >= 3
    dut.restart()
    words.recommended_configuration_should_be_in_force()
    words.remove_the_recommended_configuration()
    assert not dut.files and dut.sysctl == "212992"
    assert {(port.mtu, port.rings["rx"], port.pause["autoneg"]) for port in dut.settings.ports.values()} == {
        (1500, 256, True)
    }
    assert not [entry for entry in taken.journal.pending() if "niclab" in entry.what]


def test_both_ends_go_down_and_up_after_the_mtu_is_put_back(dut: Dut, bench: FakeBench) -> None:
    Recommendation().make_the_recommended_configuration_persistent()
    dut.restart()
    done = {role: len(ssh.commands) for role, ssh in bench.ssh.items()}
    Recommendation().remove_the_recommended_configuration()
    for role, iface in itertools.product(Role, ("enp1s0", "enp2s0")):
        commands = bench.ssh[role].commands[done[role] :]
        bounce = f"ip link set dev {iface} down && ip link set dev {iface} up"
        assert bounce in commands, role
        if role is Role.DUT:
            restored = next(
                n for n, command in enumerate(commands) if command.startswith("rm -f") and "restore" in command
            )
            assert restored < commands.index(bounce)


def test_what_another_library_made_persistent_is_removed_too(dut: Dut, taken: Run) -> None:
    """The run remembers it, whichever object of the library asks."""
    before = taken.journal.pending()
    Recommendation().make_the_recommended_configuration_persistent()
    Recommendation().remove_the_recommended_configuration()
    assert not dut.files and taken.journal.pending() == before


@pytest.mark.parametrize(
    ("ignored", "words"),
    [
        ("MTUBytes", "MTU is 1500; expected 9000 (recommended by sheet intel-82574l)"),
        ("RxBufferSize", "ring rx is 256; expected 4096 (recommended by sheet intel-82574l)"),
        ("AutoNegotiationFlowControl", "pause autoneg is True; expected False (recommended by sheet intel-82574l)"),
        ("RxCoalesceSec", "rx-usecs is 18; expected 100 (recommended by sheet intel-82574l)"),
        (
            "UseAdaptiveRxCoalesce",
            "adaptive receive coalescing is True; expected False (recommended by sheet intel-82574l)",
        ),
    ],
)
def test_what_is_lost_by_the_restart_is_red(dut: Dut, ignored: str, words: str) -> None:
    dut.ignored.add(ignored)
    library = Recommendation()
    library.make_the_recommended_configuration_persistent()
    dut.restart()
    with pytest.raises(CardFailure) as caught:
        library.recommended_configuration_should_be_in_force()
    assert [line.split("): ")[1] for line in str(caught.value).splitlines()] == [words, words]
    library.remove_the_recommended_configuration()
    assert not dut.files


@pytest.mark.parametrize(
    ("ignored", "udev", "applied", "words"),
    [
        ("RxCoalesceSec", "249", "", "rx-usecs is 18; expected 100 {}; udev 249 does not set it, 250 does"),
        ("RxBufferSize", "243", "", "ring rx is 256; expected 4096 {}; udev 243 does not set it, 244 does"),
        ("AutoNegotiationFlowControl", "245", "", "pause autoneg is True; expected False {}; udev 245 does not set it"),
        (
            "MTUBytes",
            "257",
            "/etc/systemd/network/05-own.link",
            "MTU is 1500; expected 9000 {}; udev took /etc/systemd",
        ),
    ],
)
def test_what_the_dut_does_not_set_is_the_benchs(dut: Dut, ignored: str, udev: str, applied: str, words: str) -> None:
    dut.ignored.add(ignored)
    dut.udev, dut.applied = udev, applied
    library = Recommendation()
    library.make_the_recommended_configuration_persistent()
    dut.restart()
    with pytest.raises(BenchFault) as caught:
        library.recommended_configuration_should_be_in_force()
    first, second = (line.split("): ", 1)[1] for line in str(caught.value).splitlines())
    expected = words.format("(recommended by sheet intel-82574l)")
    assert first.startswith(expected) and second.startswith(expected)


def test_what_the_dut_does_not_set_hides_no_failure_of_the_card(dut: Dut) -> None:
    dut.ignored |= {"MTUBytes", "RxCoalesceSec"}
    dut.udev = "249"
    library = Recommendation()
    library.make_the_recommended_configuration_persistent()
    dut.restart()
    with pytest.raises(CardFailure, match=r"^dut\.p0 .*: MTU is 1500; expected 9000 .*\ndut\.p1 .*: MTU is 1500; "):
        library.recommended_configuration_should_be_in_force()


def test_a_port_that_cannot_be_read_hides_no_failure_of_another(dut: Dut, bench: FakeBench) -> None:
    library, read = Recommendation(), dut.settings.rings
    library.make_the_recommended_configuration_persistent()

    def lost(iface: str) -> Rings:
        if iface == "enp2s0":
            raise BenchFault("dut: connection lost")
        return read(iface)

    bench.dut.rings = lost  # type: ignore[attr-defined]
    with pytest.raises(CardFailure, match=r"^dut\.p0 .*: MTU is 1500; expected 9000") as caught:
        library.recommended_configuration_should_be_in_force()
    assert "\nundecided: dut: connection lost" in str(caught.value)


def test_a_sysctl_that_is_lost_is_the_benchs(dut: Dut) -> None:
    """No card and no driver sets it."""
    library = Recommendation()
    library.make_the_recommended_configuration_persistent()
    dut.restart()
    dut.sysctl = "212992"
    with pytest.raises(
        BenchFault,
        match=r"^dut: net\.core\.rmem_max is 212992; expected 16777216 \(recommended by sheet intel-82574l\)$",
    ):
        library.recommended_configuration_should_be_in_force()


def test_a_sheet_without_recommendation_is_not_applicable(bench: FakeBench, taken: Run) -> None:
    assert bench and taken
    with pytest.raises(NotApplicable, match="says nothing about recommended"):
        Recommendation().make_the_recommended_configuration_persistent()


def test_a_file_finds_its_port_and_keeps_its_name() -> None:
    text = link_file("00:0f:53:01:00:00", Persistent(mtu=9000, adaptive_rx=False, coalescing={"rx-usecs": 100}))
    assert text.splitlines() == [
        "[Match]",
        "MACAddress=00:0f:53:01:00:00",
        "",
        "[Link]",
        "NamePolicy=keep kernel database onboard slot path",
        "MTUBytes=9000",
        "UseAdaptiveRxCoalesce=no",
        "RxCoalesceSec=100us",
    ]
    with pytest.raises(ValueError, match="coalescing rx-frames; expected rx-usecs, tx-usecs"):
        link_file("00:0f:53:01:00:00", Persistent(coalescing={"rx-frames": 1}))


def test_the_setup_of_an_interface_is_read_or_refused() -> None:
    found = read_setup("257\nDEVPATH=/devices/x\nID_NET_LINK_FILE=/usr/lib/systemd/network/99-default.link\n")
    assert (found.version, found.file) == (257, "/usr/lib/systemd/network/99-default.link")
    assert read_setup("257\nDEVPATH=/devices/x\n").file is None
    for text in ("", "DEVPATH=/devices/x\n", "x\n"):
        with pytest.raises(ReadError, match="udevadm"):
            read_setup(text)
