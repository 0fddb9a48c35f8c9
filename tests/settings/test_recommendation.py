"""The recommended configuration: in force after a restart or red, taken away afterwards; rings that fit in memory."""

from __future__ import annotations

import itertools
import re

import pytest
from fake_bench import FakeBench
from fake_settings import SHEET, FakeSettings, settings_of, with_sheet

from niclab.bench.records import Role
from niclab.core.verdict import CardFailure, NotApplicable
from niclab.hosts.settings.persistent import Persistent, link_file
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
        ssh = bench.ssh[Role.DUT]
        ssh.replies |= {"mkdir": self._write, "printf": self._write, "rm -f": self._undo, "sysctl -n": self._sysctl}
        ssh.replies |= {"sync": ""}

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


def test_a_sysctl_that_is_lost_is_red(dut: Dut) -> None:
    library = Recommendation()
    library.make_the_recommended_configuration_persistent()
    dut.restart()
    dut.sysctl = "212992"
    with pytest.raises(
        CardFailure,
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
