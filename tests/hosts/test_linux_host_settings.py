"""Settings of a Linux host: the commands given, what is read back, what is a refusal and what no answer at all."""

from __future__ import annotations

import json
import subprocess
from operator import attrgetter
from pathlib import Path

import pytest
from fake_shell import Answer, FakeShell, Script, failed

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import NotOffered
from niclab.hosts.linux_host import LinuxHost

FEATURES = json.dumps(
    [
        {
            "ifname": "eth0",
            "tx-checksumming": {"active": True, "fixed": None, "requested": None},
            "scatter-gather": {"active": True, "fixed": None, "requested": None},
            "tx-scatter-gather": {"active": True, "fixed": False, "requested": True},
            "tcp-segmentation-offload": {"active": False, "fixed": None, "requested": None},
            "tx-tcp-segmentation": {"active": False, "fixed": False, "requested": True},
            "generic-receive-offload": {"active": True, "fixed": False, "requested": True},
            "rx-vlan-offload": {"active": True, "fixed": True, "requested": False},
        }
    ]
)
RINGS = """Ring parameters for eth0:
Pre-set maximums:
RX:\t\t4096
RX Mini:\tn/a
RX Jumbo:\tn/a
TX:\t\t4096
Current hardware settings:
RX:\t\t512
RX Mini:\tn/a
RX Jumbo:\tn/a
TX:\t\t256
"""
COALESCING = """Coalesce parameters for eth0:
Adaptive RX: on  TX: n/a
stats-block-usecs:\tn/a
sample-interval:\tn/a
pkt-rate-low:\tn/a
pkt-rate-high:\tn/a

rx-usecs:\t18
rx-frames:\tn/a
rx-usecs-irq:\tn/a
rx-frames-irq:\tn/a

tx-usecs:\t0
tx-frames:\tn/a
tx-usecs-irq:\tn/a
tx-frames-irq:\tn/a

rx-usecs-low:\tn/a
rx-frame-low:\tn/a
tx-usecs-low:\tn/a
tx-frame-low:\tn/a

rx-usecs-high:\tn/a
rx-frame-high:\tn/a
tx-usecs-high:\tn/a
tx-frame-high:\tn/a
"""
PAUSE = "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\toff\n\n"
CHANNELS = """Channel parameters for eth0:
Pre-set maximums:
RX:\t\tn/a
TX:\t\tn/a
Other:\t\t1
Combined:\t63
Current hardware settings:
RX:\t\tn/a
TX:\t\tn/a
Other:\t\t1
Combined:\t4
"""
ADDR = (
    '[{"ifindex":2,"ifname":"eth0","flags":["BROADCAST","UP"],"mtu":1500,"operstate":"UP","link_type":"ether",'
    '"address":"00:00:c9:00:00:01","addr_info":[]}]'
)
SHOWN: dict[str, Script] = {
    "ethtool --json -k eth0": FEATURES,
    "ethtool -g eth0": RINGS,
    "ethtool -c eth0": COALESCING,
    "ethtool -a eth0": PAUSE,
    "ethtool -l eth0": CHANNELS,
    "ip -j -s -d addr show dev eth0": ADDR,
    **{f"ethtool -{option} eth0 | cksum": "4038471504 75\n" for option in "kgcal"},
}


def host(**script: Script) -> tuple[LinuxHost, FakeShell]:
    """A host that shows the settings above; ``script`` by command, blanks as ``__``."""
    shell = FakeShell(SHOWN | {command.replace("__", " "): answer for command, answer in script.items()})
    return LinuxHost(shell, "dut"), shell


CHANGES = {
    "ethtool -K eth0 tso on": lambda dut: dut.settings.set_feature("eth0", "tso", True),
    "ethtool -K eth0 tso off": lambda dut: dut.settings.set_feature("eth0", "tso", False),
    "ethtool -G eth0 rx 4096": lambda dut: dut.settings.set_rings("eth0", {"rx": 4096}),
    "ethtool -C eth0 adaptive-rx off rx-usecs 100": lambda dut: dut.settings.set_coalescing(
        "eth0", {"adaptive-rx": False, "rx-usecs": 100}
    ),
    "ethtool -A eth0 autoneg off rx on": lambda dut: dut.settings.set_pause("eth0", {"autoneg": False, "rx": True}),
    "ethtool -L eth0 combined 1": lambda dut: dut.settings.set_channels("eth0", {"combined": 1}),
    "ip link set dev eth0 mtu 9000": lambda dut: dut.settings.set_mtu("eth0", 9000),
}


@pytest.mark.parametrize("command", CHANGES)
def test_a_change_is_asked_for_and_read_back(command: str) -> None:
    shell = FakeShell(SHOWN | {command: ""})
    attempt = CHANGES[command](LinuxHost(shell, "dut"))
    assert shell.commands[0].startswith(f"{command}; ") and len(shell.commands) == 1
    assert attempt.refused is None
    assert attempt.now == CHANGES[command](LinuxHost(FakeShell(SHOWN | {command: ""}), "dut")).now


@pytest.mark.parametrize("command", CHANGES)
def test_a_refusal_is_an_answer_with_what_is_there(command: str) -> None:
    shell = FakeShell(SHOWN | {command: failed("netlink error: Invalid argument\n", exit_status=1)})
    attempt = CHANGES[command](LinuxHost(shell, "dut"))
    assert attempt.refused == "netlink error: Invalid argument"
    assert len(shell.commands) == 1


def test_what_is_not_shown_after_a_change_is_a_fault() -> None:
    shell = FakeShell(SHOWN | {"ethtool -G eth0 rx 4096": "", "ethtool -g eth0": failed("netlink error: I/O error\n")})
    with pytest.raises(BenchFault, match=r"^dut: `ethtool -g eth0` failed with exit status 1, said: .*I/O error$"):
        LinuxHost(shell, "dut").settings.set_rings("eth0", {"rx": 4096})


@pytest.mark.parametrize("command", CHANGES)
@pytest.mark.parametrize(
    "answer",
    [
        failed("netlink error: No such device"),
        failed("Cannot set device settings: Operation not permitted"),
        failed("bash: ethtool: command not found", exit_status=127),
        failed("", exit_status=None),
        failed("Killed", exit_status=137),
    ],
    ids=["no device", "no rights", "no tool", "no status", "killed"],
)
def test_what_is_no_refusal_is_a_fault_of_the_lab(command: str, answer: Answer) -> None:
    with pytest.raises(BenchFault, match=rf"^dut: `{command}` failed with "):
        CHANGES[command](LinuxHost(FakeShell(SHOWN | {command: answer}), "dut"))


def test_a_value_that_is_there_already_is_no_refusal() -> None:
    shell = FakeShell(
        SHOWN | {"ethtool -G eth0 rx 512": failed("no ring parameters changed, aborting", exit_status=80)}
    )
    assert LinuxHost(shell, "dut").settings.set_rings("eth0", {"rx": 512}).refused is None


def test_what_is_shown_is_read() -> None:
    dut, _ = host()
    assert dut.settings.features("eth0")["tx-tcp-segmentation"].requested is True
    assert dut.settings.rings("eth0").current.rx == 512 and dut.settings.rings("eth0").max.rx_mini is None
    assert dut.settings.coalescing("eth0").parameters["rx-usecs"] == 18
    assert (dut.settings.pause("eth0").rx, dut.settings.pause("eth0").tx) == (True, False)
    assert dut.settings.channels("eth0").current.combined == 4
    assert dut.settings.mtu("eth0") == 1500


@pytest.mark.parametrize(
    ("ask", "option"),
    [
        ("settings.features", "--json -k"),
        ("settings.rings", "-g"),
        ("settings.coalescing", "-c"),
        ("settings.pause", "-a"),
        ("settings.channels", "-l"),
    ],
)
def test_an_answer_for_another_interface_is_refused(ask: str, option: str) -> None:
    shell = FakeShell({f"ethtool {option} eth1": SHOWN[f"ethtool {option} eth0"]})
    with pytest.raises(BenchFault, match=rf"^dut: `ethtool {option} eth1` answered for eth0$"):
        attrgetter(ask)(LinuxHost(shell, "dut"))("eth1")


def test_restoring_commands_set_what_is_there_now_and_run_twice() -> None:
    dut, _ = host()
    words = {
        "tx-checksumming": "tx",
        "tx-tcp-segmentation": "tx-tcp-segmentation",
        "generic-receive-offload": "gro",
        "rx-vlan-offload": "rxvlan",
    }

    def again(option: str) -> str:
        return f""" || test $? -eq 80 || test "$(LC_ALL=C ethtool {option} eth0 | cksum)" = '4038471504 75'"""

    assert dut.undo.features("eth0", words) == f"ethtool -K eth0 tx on tx-tcp-segmentation on gro on{again('-k')}"
    assert dut.undo.rings("eth0") == f"ethtool -G eth0 rx 512 tx 256{again('-g')}"
    wanted = f"ethtool -C eth0 adaptive-rx on rx-usecs 18 tx-usecs 0{again('-c')}"
    off, on = "ethtool -C eth0 adaptive-rx off rx-usecs 18 tx-usecs 0", "ethtool -C eth0 adaptive-rx on"
    wanted += f" || {{ {{ {off} || test $? -eq 80; }} && {{ {on} || test $? -eq 80; }}; }}"
    assert dut.undo.coalescing("eth0", ("rx-usecs", "tx-usecs", "rx-frames")) == wanted
    assert dut.undo.pause("eth0") == f"ethtool -A eth0 autoneg on rx on tx off{again('-a')}"
    assert dut.undo.channels("eth0") == f"ethtool -L eth0 combined 4{again('-l')}"
    assert dut.undo.mtu("eth0") == "ip link set dev eth0 mtu 1500"


@pytest.mark.parametrize(("shows_later", "status"), [("rings of before", 0), ("other rings", 1)])
def test_a_refused_restoring_is_well_only_where_nothing_has_changed(
    tmp_path: Path, shows_later: str, status: int
) -> None:
    """The command in a real shell, with an ethtool that refuses to set anything."""
    said = subprocess.run("echo rings of before | cksum", shell=True, capture_output=True, text=True).stdout  # noqa: S602
    shell = FakeShell(SHOWN | {"ethtool -g eth0 | cksum": said})
    command = LinuxHost(shell, "dut").undo.rings("eth0")
    tool = tmp_path / "ethtool"
    tool.write_text(f'#!/bin/sh\n[ "$1" = -g ] && echo {shows_later} || exit 75\n')
    tool.chmod(0o755)
    done = subprocess.run(["sh", "-c", command], env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert done.returncode == status


@pytest.mark.parametrize("now", ["off 60", "on 60", "off 18", "on 18"])
def test_a_time_is_put_back_on_a_driver_that_takes_none_while_it_adapts(tmp_path: Path, now: str) -> None:
    """Linux, i40e_ethtool.c, __i40e_set_coalesce(): another rx-usecs together with adaptive-rx is refused."""
    dut, _ = host()
    state, tool = tmp_path / "state", tmp_path / "ethtool"
    state.write_text(f"{now}\n")
    tool.write_text(
        "#!/bin/sh\n"
        f"read -r on usecs < {state}; is=$usecs\n"
        '[ "$1" = -C ] || exit 0\nshift 2\n'
        "while [ $# -gt 0 ]; do case $1 in adaptive-rx) on=$2 ;; rx-usecs) usecs=$2 ;; esac; shift 2; done\n"
        '[ $on = off ] || [ $usecs = $is ] || { echo "netlink error: Invalid argument" >&2; exit 1; }\n'
        f"echo $on $usecs > {state}\n"
    )
    tool.chmod(0o755)
    command = dut.undo.coalescing("eth0", ("rx-usecs",))
    for _ in range(2):
        done = subprocess.run(["sh", "-c", command], env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
        assert (done.returncode, state.read_text()) == (0, "on 18\n")


def test_nothing_to_put_back_is_an_error() -> None:
    dut, _ = host()
    with pytest.raises(BenchFault, match=r"^dut: eth0: `ethtool -K` has nothing to put back$"):
        dut.undo.features("eth0", {"rx-vlan-offload": "rxvlan"})


@pytest.mark.parametrize("word", ["", "rx;reboot", "rx usecs", "-rx", "$(id)"])
def test_a_word_that_is_none_reaches_no_shell(word: str) -> None:
    dut, shell = host()
    for ask in (
        lambda: dut.settings.set_feature("eth0", word, True),
        lambda: dut.settings.set_coalescing("eth0", {word: 1}),
    ):
        with pytest.raises(BenchFault, match=r"expected a word of letters, digits and - _ \."):
            ask()
    assert shell.commands == []


def test_pause_frames_that_are_off_read_as_off() -> None:
    """The JSON of ethtool 6.1 calls every switch true, so it is not asked for."""
    dut, shell = host(**{"ethtool__-a__eth0": PAUSE.replace("\ton", "\toff")})
    shown = dut.settings.pause("eth0")
    assert (shown.autoneg, shown.rx, shown.tx) == (False, False, False)
    assert not any("--json -a" in command for command in shell.commands)


@pytest.mark.parametrize(("said", "kind"), [("Operation not supported", NotOffered), ("No such device", BenchFault)])
def test_a_driver_without_queues_is_distinguished_from_a_tool_that_fails(said: str, kind: type[Exception]) -> None:
    shell = FakeShell(SHOWN | {"ethtool -l eth0": failed(f"netlink error: {said}\n", exit_status=1)})
    with pytest.raises(kind, match=said) as caught:
        LinuxHost(shell, "dut").settings.channels("eth0")
    assert isinstance(caught.value, NotApplicable) is (kind is NotOffered)
