"""FreeBsdHost, the network part, against scripted answers; the wait for carrier in a real shell."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from examples import text_of
from fake_shell import Answer, failed
from freebsd_host_texts import (
    DOWN,
    MANAGED,
    MESSAGES,
    NETSTAT,
    OCE,
    SHOW,
    UNPLUGGED,
    UP,
    WITHOUT_IPV4,
    host,
)

from niclab.core.names import Duplex
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import ReadError
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.host_records import CarrierChanges, Operstate


def shown(text: str, counted: str = NETSTAT) -> str:
    return f"{text}--\n{counted}"


def test_names() -> None:
    assert host({"ifconfig -l": "oce0 oce1 lo0\n"})[0].links.names() == {"oce0", "oce1", "lo0"}


def test_interface() -> None:
    dut, _ = host({SHOW: [shown(UP), shown(UNPLUGGED), shown(DOWN)]})
    record = dut.links.interface("oce0")
    assert (record.mac, record.mtu, record.index, record.kind) == ("00:00:c9:e6:67:a8", 1500, 3, None)
    assert (record.admin_up, record.carrier) == (True, True)
    assert record.operstate is Operstate.UP
    assert [(one.family, one.address, one.prefix_length, one.scope) for one in record.addresses] == [
        ("inet", "10.1.1.1", 24, "global"),
        ("inet6", "fe80::200:c9ff:fee6:67a8", 64, "link"),
    ]
    record = dut.links.interface("oce0")
    assert (record.admin_up, record.carrier) == (True, False)
    record = dut.links.interface("oce0")
    assert (record.admin_up, record.carrier) == (False, False)
    assert record.operstate is Operstate.DOWN


def test_an_interface_that_is_down_has_no_carrier_whatever_its_status() -> None:
    record = host({SHOW: shown(DOWN.replace("no carrier", "active"))})[0].links.interface("oce0")
    assert record.carrier is False


@pytest.mark.parametrize(
    "text",
    [
        "",
        shown(""),
        UP,
        shown(UP, ""),
        shown(UP, NETSTAT.replace("<Link#3>", "10.9.9.0/24")),
        shown(UP, NETSTAT.replace("oce0", "oce1")),
        shown(UP.replace(" mtu 1500", "")),
        shown(UP.replace("oce0: flags", "oce1: flags")),
        shown(UP + UP.replace("oce0", "oce1")),
    ],
)
def test_half_an_interface_is_none(text: str) -> None:
    with pytest.raises(BenchFault, match=r"^dut: `ifconfig oce0"):
        host({SHOW: text})[0].links.interface("oce0")


def test_an_interface_that_is_not_there_says_ifconfigs_words() -> None:
    dut, _ = host({SHOW: failed("ifconfig: interface oce0 does not exist\n")})
    with pytest.raises(BenchFault, match="interface oce0 does not exist"):
        dut.links.interface("oce0")


def test_statistics() -> None:
    statistics = host({"netstat -I oce0 -bdnW": NETSTAT})[0].counts.statistics("oce0")
    assert (statistics.rx_bytes, statistics.rx_packets, statistics.rx_errors) == (1024880, 92712345, 17)
    assert (statistics.rx_dropped, statistics.tx_packets, statistics.tx_errors) == (3, 88123456, 1)
    assert (statistics.tx_bytes, statistics.tx_dropped) == (46134, 5)


def test_a_column_that_is_missing_is_no_zero() -> None:
    counted = "".join(f"{line.rpartition(' ')[0]}\n" for line in NETSTAT.splitlines())
    with pytest.raises(ReadError, match="cannot read netstat -bdnW: line 1"):
        host({"netstat -I oce0 -bdnW": counted})[0].counts.statistics("oce0")


def test_link_settings() -> None:
    dut, _ = host({"ifconfig -m oce0": [MANAGED, MANAGED.replace("active", "no carrier")]})
    link = dut.links.link_settings("oce0")
    assert (link.speed_mbps, link.duplex, link.autoneg, link.link) == (10000, Duplex.FULL, True, True)
    assert link.supported == ("10Gbase-SR/Full",)
    link = dut.links.link_settings("oce0")
    assert (link.speed_mbps, link.link) == (None, False)


def test_link_of_another_interface_is_refused() -> None:
    with pytest.raises(BenchFault, match=r"showed \['oce0'\]; expected oce1"):
        host({"ifconfig -m oce1": MANAGED})[0].links.link_settings("oce1")


def test_counters() -> None:
    counters = host({"sysctl dev.oce.0": OCE})[0].counts.counters("oce0")
    assert counters["stats.rx.total_pkts"] == 1234 and "%desc" not in counters
    with pytest.raises(ReadError, match="no counter 'nonsense'"):
        _ = counters["nonsense"]
    with pytest.raises(BenchFault, match="shows no counter of oce0"):
        host({"sysctl dev.oce.0": "dev.oce.0.%driver: oce\n"})[0].counts.counters("oce0")
    with pytest.raises(BenchFault, match="unknown oid"):
        host({"sysctl dev.oce.0": failed("sysctl: unknown oid 'dev.oce.0'\n")})[0].counts.counters("oce0")


TOLD = "sysctl -n net.link.log_link_state_change"
BUFFER = "sysctl -n kern.msgbuf"
CHANGES = "oce0: link state changed to UP\noce0: link state changed to DOWN\noce0: link state changed to UP\n"


def test_carrier_changes() -> None:
    dut, _ = host({TOLD: "1\n", BUFFER: MESSAGES + CHANGES})
    assert dut.counts.carrier_changes("oce0") == CarrierChanges(3, 2, 1)


def test_the_memory_of_a_module_is_not_there() -> None:
    with pytest.raises(NotApplicable, match=r"^dut: oce0: FreeBSD shows words of a module, not its memory$"):
        host({})[0].links.module_memory("oce0")


def test_carriers_of_every_look_are_not_there() -> None:
    dut, _ = host({})
    for question in (lambda: dut.counts.carriers_command(["oce0"]), lambda: dut.counts.read_carriers("oce0 1 2 1")):
        with pytest.raises(NotApplicable, match="FreeBSD keeps no count"):
            question()


def test_carrier_changes_that_cannot_be_counted() -> None:
    with pytest.raises(BenchFault, match="overwritten the beginning of this boot"):
        host({TOLD: "1\n", BUFFER: CHANGES})[0].counts.carrier_changes("oce0")
    with pytest.raises(BenchFault, match="log_link_state_change is 0; expected 1"):
        host({TOLD: "0\n"})[0].counts.carrier_changes("oce0")


WAIT, LOOK = "(timeout...", "(s=$(ifconfig..."


@pytest.mark.parametrize(("status", "wait"), [(0, True), (124, False)])
def test_waiting_for_carrier(status: int, wait: bool) -> None:
    dut, shell = host({WAIT: f"status {status}\n"})
    assert dut.links.await_carrier("oce0", up=True, within_s=3) == wait
    assert shell.timeouts_s[shell.commands[0]] == 8


@pytest.mark.parametrize("text", ["", "0\n", "status 8\n", "status 127\n"])
def test_a_wait_that_saw_nothing_is_a_fault(text: str) -> None:
    with pytest.raises(BenchFault, match=r"^dut: waiting for the carrier of oce0 ended with"):
        host({WAIT: text})[0].links.await_carrier("oce0", up=True, within_s=3)


class TestWaitingInARealShell:
    """ifconfig prints the file ``state``, which the test changes."""

    def wait(self, folder: Path, state: str, up: bool, within_s: float = 0.3, takes_s: float = 0) -> bool:
        (folder / "state").write_text(state)
        ifconfig = folder / "ifconfig"
        ifconfig.write_text(f"#!/bin/sh\n[ -s {folder}/state ] || exit 1\nsleep {takes_s}\ncat {folder}/state\n")
        ifconfig.chmod(0o755)

        def run(command: str) -> Answer:
            environment = {"PATH": f"{folder}:/usr/bin:/bin"}
            done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)
            return Answer(done.stdout, done.returncode, done.stderr)

        return host({WAIT: run, LOOK: run})[0].links.await_carrier("oce0", up, within_s)

    @pytest.mark.parametrize(("state", "up"), [(UP, True), (UNPLUGGED, False), (DOWN, False)])
    def test_what_is_so_already_is_seen_at_once(self, tmp_path: Path, state: str, up: bool) -> None:
        assert self.wait(tmp_path, state, up, within_s=5) is True

    @pytest.mark.parametrize("within_s", [0, 0.1])
    def test_a_look_that_takes_longer_than_the_time_is_not_cut_short(self, tmp_path: Path, within_s: float) -> None:
        assert self.wait(tmp_path, UP, up=True, within_s=within_s, takes_s=0.3) is True
        assert self.wait(tmp_path, UP, up=False, within_s=within_s, takes_s=0.3) is False

    @pytest.mark.parametrize(
        ("state", "up"), [(UP, False), (UNPLUGGED, True), (DOWN.replace("no carrier", "active"), True)]
    )
    def test_what_never_comes_is_late(self, tmp_path: Path, state: str, up: bool) -> None:
        began = time.monotonic()
        assert self.wait(tmp_path, state, up) is False
        assert time.monotonic() - began >= 0.29

    @pytest.mark.parametrize("up", [True, False])
    @pytest.mark.parametrize("state", ["", "oce0: flags=8843<UP> metric 0 mtu 1500\n"])
    def test_no_interface_or_no_status_is_a_fault(self, tmp_path: Path, state: str, up: bool) -> None:
        with pytest.raises(BenchFault, match="expected an interface that shows a status"):
            self.wait(tmp_path, state, up)


def test_set_link_reads_back() -> None:
    dut, _ = host({f"ifconfig oce0 up && {SHOW}": shown(UP), f"ifconfig oce0 down && {SHOW}": [shown(DOWN), shown(UP)]})
    dut.links.set_link("oce0", up=True)
    dut.links.set_link("oce0", up=False)
    with pytest.raises(BenchFault, match="dut: oce0 is not down after"):
        dut.links.set_link("oce0", up=False)


ADD = f"ifconfig oce0 inet 10.1.1.1/24 alias && {SHOW}"
REMOVE = f"ifconfig oce0 inet 10.1.1.1 -alias && {SHOW}"


def test_addresses_are_read_back() -> None:
    dut, _ = host(
        {
            SHOW: [shown(WITHOUT_IPV4), shown(WITHOUT_IPV4), shown(UP)],
            ADD: [shown(UP), shown(WITHOUT_IPV4)],
            REMOVE: [shown(WITHOUT_IPV4), shown(UP), failed("ifconfig: ioctl (SIOCDIFADDR): Can't assign address\n")],
        }
    )
    dut.links.add_address("oce0", "10.1.1.1/24")
    with pytest.raises(BenchFault, match="does not have"):
        dut.links.add_address("oce0", "10.1.1.1/24")
    with pytest.raises(BenchFault, match=r"oce0 has 10\.1\.1\.1 already"):
        dut.links.add_address("oce0", "10.1.1.1/24")
    dut.links.remove_address("oce0", "10.1.1.1/24")
    with pytest.raises(BenchFault, match="still has"):
        dut.links.remove_address("oce0", "10.1.1.1/24")
    with pytest.raises(BenchFault, match="Can't assign address"):
        dut.links.remove_address("oce0", "10.1.1.1/24")


def test_ping() -> None:
    four = "ping -n -c 18 -W 1000 -i 0.02 -s 1472 -D -S 10.1.1.1 10.1.1.2"
    six = "ping6 -n -c 3 -i 0.5 fe80::2%oce0"
    dut, shell = host(
        {
            SHOW: shown(UP),
            four: text_of("ping", "freebsd-unreachable-duplicates"),
            six: Answer(text_of("ping", "freebsd-ping6-silent"), 2),
        }
    )
    result = dut.links.ping("10.1.1.2", source="oce0", size=1472, dont_fragment=True)
    assert (result.sent, result.received, result.duplicates) == (3, 1, 1)
    assert dut.links.ping("fe80::2%oce0", count=2, interval_s=0.5).received == 0
    assert shell.timeouts_s[six] >= 10


def test_a_ping_that_could_not_ask_is_a_fault() -> None:
    short = "ping -n -c 1 -W 1000 -i 0.02 10.1.1.2"
    said = text_of("ping", "freebsd-answered")
    dut, _ = host(
        {
            SHOW: shown(WITHOUT_IPV4),
            short: [
                failed("ping: -i interval too short: Operation not permitted\n", 77),
                Answer(said, 64),
                Answer(said, None),
                "",
            ],
        }
    )
    for _ in range(4):
        with pytest.raises(BenchFault, match=r"^dut: `ping -n -c 1"):
            dut.links.ping("10.1.1.2", count=1)
    with pytest.raises(BenchFault, match="oce0 has no IPv4 address to ping from"):
        dut.links.ping("10.1.1.2", source="oce0")


def test_what_the_journal_keeps_runs_twice(tmp_path: Path) -> None:
    """The command itself, in a real shell, with an ifconfig that forgets the address when it is reported to."""
    dut, shell = host({})
    assert dut.undo.link("oce0", up=False) == "ifconfig oce0 down"
    command = dut.undo.address("oce0", "10.1.1.1/24")
    state, told = tmp_path / "state", tmp_path / "told"
    ifconfig = tmp_path / "ifconfig"
    ifconfig.write_text(
        f'#!/bin/sh\nif [ -z "$2" ]; then cat {state}; else echo "$*" >> {told}; echo oce0: > {state}; fi\n'
    )
    ifconfig.chmod(0o755)

    def status() -> int:
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
        return subprocess.run(["sh", "-c", command], env=environment, capture_output=True, check=False).returncode

    state.write_text(UP.replace("10.1.1.1 ", "10.1.1.11 "))
    assert status() == 0 and not told.exists()
    state.write_text(UP)
    assert (status(), status()) == (0, 0)
    assert told.read_text() == "oce0 inet 10.1.1.1 -alias\n"
    state.unlink()
    assert status() != 0
    assert shell.commands == []


def test_what_shows_that_nothing_has_changed() -> None:
    assert host({})[0].links.show_command(["oce0", "cxl1"]) == "kenv -q niclab_boot_id; ifconfig oce0; ifconfig cxl1"


HOSTILE: list[Callable[[FreeBsdHost], object]] = [
    lambda dut: dut.links.interface("oce0;reboot"),
    lambda dut: dut.links.link_settings("-a"),
    lambda dut: dut.links.module_memory("oce0 hex"),
    lambda dut: dut.counts.counters("oce0 x"),
    lambda dut: dut.counts.carrier_changes("$(id)"),
    lambda dut: dut.links.await_carrier("oce0'", up=True, within_s=1),
    lambda dut: dut.links.set_link("oce0 mtu 9000", up=True),
    lambda dut: dut.undo.link("oce0;reboot", up=True),
    lambda dut: dut.undo.address("oce0", "10.1.1.1"),
    lambda dut: dut.undo.address("oce0;reboot", "10.1.1.1/24"),
    lambda dut: dut.links.show_command(["oce0", "$(id)"]),
    lambda dut: dut.links.add_address("oce0", "10.1.1.1"),
    lambda dut: dut.links.remove_address("oce0", "x/24"),
    lambda dut: dut.links.ping("host.example"),
    lambda dut: dut.links.ping("10.1.1.2", count=0),
    lambda dut: dut.links.ping("10.1.1.2", wait_s=0),
    lambda dut: dut.links.ping("10.1.1.2", interval_s=0),
    lambda dut: dut.links.ping("10.1.1.2", size=65508),
]


@pytest.mark.parametrize("ask", HOSTILE)
def test_what_is_no_name_reaches_no_shell(ask: Callable[[FreeBsdHost], object]) -> None:
    dut, shell = host({})
    with pytest.raises(BenchFault, match="expected"):
        ask(dut)
    assert shell.commands == []
