"""Settings of a FreeBSD host: the commands given, what is read back, what is refused, what no driver offers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from examples import text_of
from fake_shell import Answer, FakeShell, Script, failed
from freebsd_host_texts import MANAGED, UP

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import ReadError
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.settings.ethtool_records import Feature

SHOWN: dict[str, Script] = {
    "ifconfig oce0": UP,
    "ifconfig -m oce0": text_of("ifconfig-freebsd", "oce-m-9.1"),
    "sysctl -n dev.cxl.0.qsize_rxq": "1024\n",
    "sysctl -n dev.cxl.0.qsize_txq": "2048\n",
    "sysctl -n dev.cxl.0.nrxq": "8\n",
    "sysctl -n dev.cxl.0.ntxq": "16\n",
    "sysctl -n dev.cxl.0.%parent": "t5nex0\n",
    "sysctl -n dev.cxl.0.holdoff_tmr_idx": "1\n",
    "sysctl -n dev.cxl.0.holdoff_pktc_idx": "-1\n",
    "sysctl -n dev.t5nex.0.holdoff_timers": "1 5 10 50 100 200\n",
    "sysctl -n dev.t5nex.0.holdoff_pkt_counts": "1 8 16 32\n",
    "sysctl -n dev.cxl.0.pause_settings": "7<PAUSE_RX,PAUSE_TX,PAUSE_AUTONEG>\n",
    "sysctl -n dev.ix.1.fc": "1\n",
}

Ask = Callable[[FreeBsdHost], object]


def host(script: dict[str, Script] | None = None) -> tuple[FreeBsdHost, FakeShell]:
    shell = FakeShell(SHOWN | (script or {}))
    return FreeBsdHost(shell, "dut"), shell


def test_the_offload_table_of_the_emulex_document_is_read() -> None:
    """The page has lost letters (VLAN_HWCUM) and broken the lines: the bits 507bb decide."""
    features = host()[0].settings.features("oce0").features
    fixed = Feature(on=True, fixed=True, requested=None)
    assert {name: feature.fixed for name, feature in features.items()} == {
        **{"RXCSUM": False, "TXCSUM": False, "VLAN_MTU": False, "VLAN_HWTAGGING": False, "JUMBO_MTU": True},
        **{"VLAN_HWCSUM": False, "TSO4": False, "TSO6": False, "LRO": False, "VLAN_HWFILTER": False},
        **{"VLAN_HWTSO": False},
    }
    assert all(feature.on for feature in features.values()) and features["JUMBO_MTU"] == fixed


def test_features_that_are_off() -> None:
    text = MANAGED.replace("options=507bb<RXCSUM,TXCSUM,VLAN_MTU", "options=507ba<TXCSUM,VLAN_MTU")
    no_options = "\n".join(line for line in MANAGED.split("\n") if "\toptions=" not in line)
    features = host({"ifconfig -m oce0": text})[0].settings.features("oce0")
    assert (features["RXCSUM"].on, features["TXCSUM"].on) == (False, True)
    features = host({"ifconfig -m oce0": no_options})[0].settings.features("oce0")
    assert not features["TXCSUM"].on


def test_features_that_are_not_told_are_an_error() -> None:
    with pytest.raises(ReadError, match="capabilities 'None'"):
        host({"ifconfig -m oce0": UP})[0].settings.features("oce0")


def test_what_is_shown_is_read() -> None:
    dut, _ = host()
    assert dut.settings.mtu("oce0") == 1500
    assert (
        dut.settings.rings("cxl0").current.rx,
        dut.settings.rings("cxl0").current.tx,
        dut.settings.rings("cxl0").max.rx,
    ) == (1024, 2048, None)
    assert (dut.settings.channels("cxl0").current.rx, dut.settings.channels("cxl0").current.tx) == (8, 16)
    coalescing = dut.settings.coalescing("cxl0")
    assert coalescing.parameters == {"rx-usecs": 5, "rx-frames": None} and coalescing.adaptive_rx is None
    pause = dut.settings.pause("cxl0")
    assert (pause.autoneg, pause.rx, pause.tx) == (True, True, True)
    pause = dut.settings.pause("ix1")
    assert (pause.autoneg, pause.rx, pause.tx) == (None, True, False)


CHANGES: dict[str, Ask] = {
    "ifconfig oce0 tso4": lambda dut: dut.settings.set_feature("oce0", "tso4", True),
    "ifconfig oce0 -txcsum": lambda dut: dut.settings.set_feature("oce0", "txcsum", False),
    "ifconfig oce0 mtu 9000": lambda dut: dut.settings.set_mtu("oce0", 9000),
    "sysctl dev.cxl.0.qsize_rxq=512": lambda dut: dut.settings.set_rings("cxl0", {"rx": 512}),
    "sysctl dev.cxl.0.holdoff_tmr_idx=4": lambda dut: dut.settings.set_coalescing("cxl0", {"rx-usecs": 100}),
    "sysctl dev.cxl.0.pause_settings=1": lambda dut: dut.settings.set_pause("cxl0", {"autoneg": False, "tx": False}),
    "sysctl dev.ix.1.fc=2": lambda dut: dut.settings.set_pause("ix1", {"rx": False, "tx": True}),
}


@pytest.mark.parametrize("command", CHANGES)
def test_a_change_is_asked_for_and_read_back(command: str) -> None:
    dut, shell = host({command: ""})
    attempt = CHANGES[command](dut)
    assert getattr(attempt, "refused", "?") is None
    assert command in shell.commands and shell.commands[-1] != command


@pytest.mark.parametrize("command", CHANGES)
def test_a_refusal_is_an_answer_with_what_is_there(command: str) -> None:
    dut, shell = host({command: failed("ioctl (SIOCSIFCAP): Invalid argument\n")})
    assert getattr(CHANGES[command](dut), "refused", None) == "ioctl (SIOCSIFCAP): Invalid argument"
    assert shell.commands[-1] != command


@pytest.mark.parametrize("command", CHANGES)
@pytest.mark.parametrize(
    "answer",
    [
        failed("ifconfig: interface oce0 does not exist"),
        failed("sysctl: unknown oid 'x'"),
        failed("Operation not permitted"),
        failed("sh: sysctl: not found", exit_status=127),
        failed("", exit_status=None),
        failed("Killed", exit_status=137),
        failed("ifconfig: ioctl (SIOCSIFCAP): Cannot allocate memory"),
        failed("/boot/loader.conf: No space left on device"),
    ],
    ids=["no interface", "no setting", "no rights", "no tool", "no status", "killed", "no memory", "no space"],
)
def test_what_is_no_refusal_is_a_fault_of_the_lab(command: str, answer: Answer) -> None:
    with pytest.raises(BenchFault, match=rf"^dut: `{command}` failed with "):
        CHANGES[command](host({command: answer})[0])


def test_the_misprint_of_lro_is_refused() -> None:
    """EMX-06: ``lso`` is no word of ifconfig."""
    attempt = host({"ifconfig oce0 lso": failed("ifconfig: lso: bad value\n")})[0].settings.set_feature(
        "oce0", "lso", True
    )
    assert attempt.refused == "ifconfig: lso: bad value" and attempt.now["LRO"].on


def test_a_time_that_the_card_does_not_have_is_refused() -> None:
    dut, shell = host()
    for value in (7, True):
        attempt = dut.settings.set_coalescing("cxl0", {"rx-usecs": value})
        assert attempt.refused == f"rx-usecs {value}; expected one of (1, 5, 10, 50, 100, 200)"
    assert not [command for command in shell.commands if "=" in command]
    assert (
        dut.settings.set_pause("ix1", {"autoneg": True}).refused
        == "ix has no switch for the negotiation of flow control"
    )


@pytest.mark.parametrize(
    ("name", "value", "ask"),
    [
        ("dev.cxl.0.qsize_rxq", "many", lambda dut: dut.settings.rings("cxl0")),
        ("dev.cxl.0.nrxq", "-1", lambda dut: dut.settings.channels("cxl0")),
        ("dev.cxl.0.holdoff_tmr_idx", "6", lambda dut: dut.settings.coalescing("cxl0")),
        ("dev.t5nex.0.holdoff_timers", "1 x", lambda dut: dut.settings.coalescing("cxl0")),
        ("dev.cxl.0.pause_settings", "8", lambda dut: dut.settings.pause("cxl0")),
        ("dev.ix.1.fc", "-1", lambda dut: dut.settings.pause("ix1")),
    ],
)
def test_a_setting_that_cannot_be_read_is_an_error(name: str, value: str, ask: Ask) -> None:
    dut, _ = host({f"sysctl -n {name}": f"{value}\n"})
    with pytest.raises(ReadError, match=f"cannot read sysctl.*{name}"):
        ask(dut)
    with pytest.raises(BenchFault, match="said nothing"):
        ask(host({f"sysctl -n {name}": "\n"})[0])


NOT_OF_OCE: dict[str, Ask] = {
    "rings": lambda dut: dut.settings.rings("oce0"),
    "set_rings": lambda dut: dut.settings.set_rings("oce0", {"rx": 512}),
    "restoring_rings": lambda dut: dut.undo.rings("oce0"),
    "coalescing": lambda dut: dut.settings.coalescing("oce0"),
    "set_coalescing": lambda dut: dut.settings.set_coalescing("oce0", {"rx-usecs": 1}),
    "restoring_coalescing": lambda dut: dut.undo.coalescing("oce0", ("rx-usecs",)),
    "pause": lambda dut: dut.settings.pause("oce0"),
    "set_pause": lambda dut: dut.settings.set_pause("oce0", {"rx": True}),
    "restoring_pause": lambda dut: dut.undo.pause("oce0"),
    "channels": lambda dut: dut.settings.channels("oce0"),
    "set_channels": lambda dut: dut.settings.set_channels("oce0", {"combined": 1}),
    "restoring_channels": lambda dut: dut.undo.channels("oce0"),
    "is_build_on_disk": lambda dut: dut.drivers.is_build_on_disk("oce"),
    "detach_driver": lambda dut: dut.pci.detach_driver("0000:81:00.0"),
    "remove_function": lambda dut: dut.pci.remove_function("0000:81:00.0"),
    "can_reset_function": lambda dut: dut.pci.can_reset_function("0000:81:00.0"),
    "reset_function": lambda dut: dut.pci.reset_function("0000:81:00.0"),
    "reset_interface": lambda dut: dut.drivers.reset_interface("oce0"),
    "restoring_driver": lambda dut: dut.undo.driver("0000:81:00.0", "oce0"),
    "eeprom": lambda dut: dut.firmware.eeprom("oce0", 16),
    "registers": lambda dut: dut.firmware.registers("oce0"),
    "identify": lambda dut: dut.firmware.identify("oce0", 1),
}


@pytest.mark.parametrize("question", NOT_OF_OCE)
def test_what_a_driver_does_not_offer_is_not_applicable(question: str) -> None:
    dut, shell = host()
    with pytest.raises(NotApplicable, match=r"^dut: .*(driver|oce)"):
        NOT_OF_OCE[question](dut)
    assert shell.commands == []


def test_restoring_commands_set_what_is_there_now() -> None:
    dut, _ = host()
    words = {"TSO4": "tso4", "TXCSUM": "txcsum", "JUMBO_MTU": "x"}
    assert dut.undo.features("oce0", words) == "ifconfig oce0 txcsum tso4"
    off = MANAGED.replace("options=507bb<RXCSUM", "options=507ba<", 1).replace("<,", "<")
    assert host({"ifconfig -m oce0": off})[0].undo.features("oce0", {"RXCSUM": "rxcsum"}) == "ifconfig oce0 -rxcsum"
    assert dut.undo.rings("cxl0") == (
        "{ test $(sysctl -n dev.cxl.0.qsize_rxq) = 1024 || sysctl dev.cxl.0.qsize_rxq=1024; }"
        " && { test $(sysctl -n dev.cxl.0.qsize_txq) = 2048 || sysctl dev.cxl.0.qsize_txq=2048; }"
    ), "busy for every value once a port was up"
    usecs = "{ test $(sysctl -n dev.cxl.0.holdoff_tmr_idx) = 1 || sysctl dev.cxl.0.holdoff_tmr_idx=1; }"
    frames = "{ test $(sysctl -n dev.cxl.0.holdoff_pktc_idx) = -1 || sysctl dev.cxl.0.holdoff_pktc_idx=-1; }"
    assert dut.undo.coalescing("cxl0", ("rx-usecs",)) == usecs
    assert dut.undo.coalescing("cxl0", ("rx-usecs", "rx-frames")) == f"{usecs} && {frames}"
    assert dut.undo.pause("cxl0") == "sysctl dev.cxl.0.pause_settings=7"
    assert dut.undo.pause("ix1") == "sysctl dev.ix.1.fc=1"
    assert dut.undo.mtu("oce0") == "ifconfig oce0 mtu 1500"


def test_nothing_to_put_back_is_an_error() -> None:
    dut, _ = host()
    for words in ({}, {"JUMBO_MTU": "x"}, {"TOE4": "toe"}):
        with pytest.raises(BenchFault, match=r"cannot be put back|no feature"):
            dut.undo.features("oce0", words)
    with pytest.raises(BenchFault, match="nothing to put back"):
        dut.undo.coalescing("cxl0", ())
    with pytest.raises(BenchFault, match="no setting is named"):
        dut.settings.set_rings("cxl0", {})


@pytest.mark.parametrize("word", ["", "tso4;reboot", "tso4 up", "-tso4", "$(id)"])
def test_a_word_that_is_none_reaches_no_shell(word: str) -> None:
    dut, shell = host()
    asks: tuple[Ask, ...] = (
        lambda dut: dut.settings.set_feature("oce0", word, True),
        lambda dut: dut.settings.set_coalescing("cxl0", {word: 1}),
        lambda dut: dut.settings.set_rings("cxl0", {word: 1}),
    )
    for ask in asks:
        with pytest.raises(BenchFault, match="; expected "):
            ask(dut)
    assert shell.commands == []
