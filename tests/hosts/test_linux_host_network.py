"""LinuxHost, the network part, against scripted answers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examples import text_of
from fake_shell import Answer, FakeShell, Script, failed

from niclab.core.verdict import BenchFault
from niclab.hosts.counts.proc_load import FRAME_COUNTERS
from niclab.hosts.errors import ReadError
from niclab.hosts.host_records import CarrierChanges, CarrierLook, Operstate
from niclab.hosts.linux_host import LinuxHost

IP = "ip -j -s -d addr show dev v0"
CHANGES = "cd /sys/class/net/v0 && cat carrier_changes..."
UP = text_of("ip-link", "veth-addr")
COUNTED = "cpu0 1 2 3 4 5 6 7 8\n" + "".join(f"{name}:{90 if name == 'rx_bytes' else 0}\n" for name in FRAME_COUNTERS)
DOWN = UP.replace('"UP","LOWER_UP"', '"NOARP"').replace('"operstate":"UP"', '"operstate":"DOWN"')
UNPLUGGED = UP.replace('"UP","LOWER_UP"', '"NO-CARRIER","UP"').replace('"operstate":"UP"', '"operstate":"DOWN"')
WITHOUT_IPV4 = UP.replace('"local":"10.9.0.1"', '"local":"10.9.0.99"')


def host(script: dict[str, Script]) -> tuple[LinuxHost, FakeShell]:
    shell = FakeShell(script)
    return LinuxHost(shell, "dut"), shell


def test_names() -> None:
    assert host({"ls /sys/class/net": "enp1s0\nlo\n"})[0].links.names() == {"enp1s0", "lo"}


def test_interface() -> None:
    dut, _ = host({IP: [UP, UNPLUGGED]})
    record = dut.links.interface("v0")
    assert (record.mac, record.mtu, record.admin_up, record.carrier) == ("e2:a6:5c:31:6d:2b", 1500, True, True)
    assert record.operstate is Operstate.UP
    assert [address.address for address in record.addresses] == ["10.9.0.1", "fe80::e0a6:5cff:fe31:6d2b"]
    record = dut.links.interface("v0")
    assert record.carrier is False


def test_carrier_of_an_interface_that_is_down() -> None:
    dut, _ = host({IP: DOWN})
    record = dut.links.interface("v0")
    assert record.carrier is False


def test_unknown_interface_says_ips_words() -> None:
    dut, _ = host({IP: failed('Device "v0" does not exist.\n')})
    with pytest.raises(BenchFault, match=r'dut: `ip -j -s -d addr show dev v0` .*Device "v0" does not exist'):
        dut.links.interface("v0")


def test_answer_of_another_interface_is_refused() -> None:
    dut, _ = host({"ip -j -s -d addr show dev v1": UP, "ethtool v1": text_of("ethtool", "veth")})
    with pytest.raises(BenchFault, match=r"showed \['v0'\]; expected v1"):
        dut.links.interface("v1")
    with pytest.raises(BenchFault, match=r"`ethtool v1` answered for v0"):
        dut.links.link_settings("v1")


def test_ethtool() -> None:
    dut, _ = host(
        {
            "ethtool -i v0": text_of("ethtool-i", "veth"),
            "ethtool v0": text_of("ethtool", "veth"),
            "ethtool -S v0": text_of("ethtool-S", "veth"),
            "while read -r line...": COUNTED,
        }
    )
    assert dut.drivers.driver_info("v0").driver == "veth"
    assert dut.links.link_settings("v0").speed_mbps == 10000
    assert dut.counts.counters("v0")["peer_ifindex"] == 2
    assert dut.counts.statistics("v0").rx_bytes == 90


def test_driver_without_counters_is_a_fault() -> None:
    dut, _ = host({"ethtool -S lo": failed("no stats available\n", 94)})
    with pytest.raises(BenchFault, match=r"`ethtool -S lo` failed with exit status 94, said: no stats available"):
        dut.counts.counters("lo")


def test_statistics_that_are_missing_are_a_fault() -> None:
    dut, _ = host({"while read -r line...": "cpu0 1 2 3 4 5 6 7 8\nrx_bytes:90\n"})
    with pytest.raises(ReadError, match=r"^dut: .* statistics of an interface: .* also rx_packets"):
        dut.counts.statistics("eth0")


def test_several_interfaces_are_one_command() -> None:
    dut, shell = host({"ip -j -s -d addr show": UP})
    assert [each.name for each in dut.links.interfaces(["v0"])] == ["v0"]
    with pytest.raises(BenchFault, match=r"^dut: `ip -j -s -d addr show` showed no eth7$"):
        dut.links.interfaces(["v0", "eth7"])
    assert len(shell.commands) == 2


@pytest.mark.parametrize(
    ("text", "changes"),
    [("4\n2\n2\n", CarrierChanges(4, 2, 2)), ("4\n", CarrierChanges(4, None, None))],
)
def test_carrier_changes(text: str, changes: CarrierChanges) -> None:
    dut, _ = host({CHANGES: text})
    assert dut.counts.carrier_changes("v0") == changes


@pytest.mark.parametrize("text", ["", "4\n2\n", "x\n"])
def test_carrier_changes_that_are_none(text: str) -> None:
    dut, _ = host({CHANGES: text})
    with pytest.raises(ReadError, match=r"^dut: .*carrier counts"):
        dut.counts.carrier_changes("v0")


def test_carriers_of_interfaces_that_are_there() -> None:
    dut, _ = host({})
    command = dut.counts.carriers_command(["lo", "gone7"])
    shown = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    (found,) = dut.counts.read_carriers(shown.stdout).items()
    assert found == ("lo", CarrierLook(1, 0, found[1].up)) and shown.stderr == ""


@pytest.mark.parametrize("text", ["v0 2 7\n", "v0 2 x 1\n", "v0 2 7 2\n", "v0 2 7 1 9\n"])
def test_carriers_that_are_none(text: str) -> None:
    with pytest.raises(ReadError, match=r"name, index, changes|a count"):
        host({})[0].counts.read_carriers(text)


def test_set_link_reads_back() -> None:
    dut, _ = host({f"ip link set dev v0 up && {IP}": UP, f"ip link set dev v0 down && {IP}": [DOWN, UP]})
    dut.links.set_link("v0", up=True)
    dut.links.set_link("v0", up=False)
    with pytest.raises(BenchFault, match=r"dut: v0 is not down after"):
        dut.links.set_link("v0", up=False)


def test_addresses_are_read_back() -> None:
    dut, _ = host(
        {
            f"ip addr add 10.9.0.1/24 dev v0 && {IP}": [UP, WITHOUT_IPV4],
            f"ip addr del 10.9.0.1/24 dev v0 && {IP}": [WITHOUT_IPV4, UP],
        }
    )
    dut.links.add_address("v0", "10.9.0.1/24")
    dut.links.remove_address("v0", "10.9.0.1/24")
    with pytest.raises(BenchFault, match=r"does not have 10.9.0.1/24 after"):
        dut.links.add_address("v0", "10.9.0.1/24")
    with pytest.raises(BenchFault, match=r"still has 10.9.0.1/24 after"):
        dut.links.remove_address("v0", "10.9.0.1/24")


def test_address_present_already_says_ips_words() -> None:
    dut, _ = host({"ip addr add 10.9.0.1/24 dev v0...": failed("RTNETLINK answers: File exists\n", 2)})
    with pytest.raises(BenchFault, match=r"exit status 2, said: RTNETLINK answers: File exists"):
        dut.links.add_address("v0", "10.9.0.1/24")


@pytest.mark.parametrize(
    "cidr", ["10.9.0.1", "10.9.0.1/33", "10.9.0.256/24", "v0", "", "10.9.0.1/24; id", "fe80::1%v0/64"]
)
def test_bad_addresses_run_nothing(cidr: str) -> None:
    dut, shell = host({})
    for method in (dut.links.add_address, dut.links.remove_address):
        with pytest.raises(BenchFault, match=r"dut: address .*; expected ADDRESS/PREFIX"):
            method("v0", cidr)
    assert shell.commands == []


@pytest.mark.parametrize("iface", ["", "-h", "a b", "eth0;id", "x" * 16, "../eth0", "eth0\n", "$(id)", "..", "."])
def test_bad_interface_names_run_nothing(iface: str) -> None:
    dut, shell = host({})
    actions: list[Callable[[], object]] = [
        lambda: dut.links.interface(iface),
        lambda: dut.drivers.driver_info(iface),
        lambda: dut.links.link_settings(iface),
        lambda: dut.links.module_memory(iface),
        lambda: dut.counts.counters(iface),
        lambda: dut.counts.statistics(iface),
        lambda: dut.counts.carrier_changes(iface),
        lambda: dut.counts.carriers_command([iface]),
        lambda: dut.links.set_link(iface, up=False),
        lambda: dut.links.add_address(iface, "10.0.0.1/8"),
        lambda: dut.links.remove_address(iface, "10.0.0.1/8"),
        lambda: dut.links.ping("10.0.0.1", source=iface),
    ]
    for action in actions:
        with pytest.raises(BenchFault, match=r"dut: interface '[^']*'; expected up to 15 letters"):
            action()
    assert shell.commands == []


def test_ping() -> None:
    command = "ping -n -c 17 -W 1 -i 0.02 127.0.0.1"
    dut, shell = host({command: text_of("ping", "iputils-answered")})
    result = dut.links.ping("127.0.0.1", count=2)
    assert (result.sent, result.received) == (2, 2)
    assert shell.timeouts_s[command] == pytest.approx(17 * 0.02 + 1 + 10)


@pytest.mark.parametrize(
    ("seen", "received"),
    [((1, 2, 3, 4), 2), ((1, 2), 2), ((1, 3, 4), 1), ((3, 4), 0)],
    ids=["all", "the-last-come-too-late", "one-is-lost", "the-first-are-lost"],
)
def test_only_those_are_judged_whose_answer_was_waited_for(seen: tuple[int, ...], received: int) -> None:
    lines = [f"64 bytes from 127.0.0.1: icmp_seq={number} ttl=64 time=0.1 ms" for number in seen]
    summary = f"17 packets transmitted, {len(seen)} received, 1% packet loss, time 320ms"
    text = "\n".join([*lines, "", "--- 127.0.0.1 ping statistics ---", summary, ""])
    dut, _ = host({"ping...": Answer(text, 1)})
    result = dut.links.ping("127.0.0.1", count=2)
    assert (result.sent, result.received) == (2, received)


def test_ping_with_everything() -> None:
    command = "ping -n -c 1 -W 3 -i 1 -s 3000 -M do -I v0 10.9.0.2"
    text = text_of("ping", "iputils-too-long").replace("ping: local error: message too long, mtu=1500\n", "")
    dut, _ = host({command: Answer(text, 1, "ping: local error: message too long, mtu=1500\n")})
    result = dut.links.ping("10.9.0.2", source="v0", count=1, interval_s=1, wait_s=3, size=3000, dont_fragment=True)
    assert (result.received, result.errors) == (0, ("ping: local error: message too long, mtu=1500",))


def test_ping_from_an_address() -> None:
    dut, shell = host({"ping...": text_of("ping", "iputils-answered")})
    dut.links.ping("127.0.0.1", source="10.9.0.1")
    assert " -I 10.9.0.1 127.0.0.1" in shell.commands[0]


def test_silence_is_a_result() -> None:
    dut, _ = host({"ping...": Answer(text_of("ping", "iputils-silent"), 1)})
    result = dut.links.ping("10.9.0.2", count=2)
    assert (result.sent, result.received) == (2, 0)


@pytest.mark.parametrize(
    "answer",
    [
        failed("ping: connect: Network is unreachable\n", 2),
        failed("ping: SO_BINDTODEVICE nosuch: No such device\n", 2),
        failed("ping: invalid option -- 'M'\nBusyBox v1.35.0 multi-call binary.\n", 1),
        Answer("PING 10.99.0.2 (10.99.0.2): 56 data bytes\n", 1, "ping: sendto: Network is unreachable\n"),
        Answer("", 0),
        Answer(text_of("ping", "iputils-silent"), None),
    ],
    ids=["unreachable", "no device", "busybox refuses -M", "busybox unreachable", "nothing said", "no status"],
)
def test_ping_that_did_not_ping_is_a_fault(answer: Answer) -> None:
    dut, _ = host({"ping...": answer})
    with pytest.raises(BenchFault, match=r"^dut: `ping .* failed with"):
        dut.links.ping("10.9.0.2")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"destination": "peer"}, "expected an IPv4 or IPv6 address"),
        ({"destination": "10.0.0.1; id"}, "expected an IPv4 or IPv6 address"),
        ({"destination": "fe80::1%a;id"}, "interface 'a;id'"),
        ({"destination": "10.0.0.1", "count": 0}, "ping count 0"),
        ({"destination": "10.0.0.1", "wait_s": 0}, "ping wait_s 0"),
        ({"destination": "10.0.0.1", "interval_s": 0}, "ping interval_s 0"),
        ({"destination": "10.0.0.1", "size": 65508}, "ping size 65508"),
    ],
)
def test_bad_ping_arguments_run_nothing(arguments: dict[str, Any], said: str) -> None:
    dut, shell = host({})
    with pytest.raises(BenchFault, match=said):
        dut.links.ping(**arguments)
    assert shell.commands == []


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("120.15 120.15 seen\n", True),
        ("120.15 120.97 seen\n", True),
        ("99.99 101.00 late v0\n", False),
    ],
)
def test_await_carrier(text: str, wait: bool) -> None:
    dut, shell = host({"read -r begin...": text})
    assert dut.links.await_carrier("v0", up=False, within_s=1) == wait
    assert '"$state" = 0' in shell.commands[0]
    assert "-ge 100" in shell.commands[0]


@pytest.mark.parametrize("text", ["", "120.15 120.97\n", "120.97 120.15 seen\n", "120 121 seen\n", "1.00 2.00 late\n"])
def test_a_wait_for_carrier_that_cannot_be_read_is_an_error(text: str) -> None:
    dut, _ = host({"read -r begin...": text})
    with pytest.raises(ReadError, match=r"^dut: .*wait for carrier"):
        dut.links.await_carrier("v0", up=True, within_s=1)


def test_a_wait_that_names_another_interface_is_an_error() -> None:
    with pytest.raises(BenchFault, match=r"^dut: the wait for the carrier of v0 names v1$"):
        host({"read -r begin...": "1.00 2.00 late v1\n"})[0].links.await_carriers(["v0"], up=True, within_s=1)


def test_several_carriers_are_awaited_in_one_command(tmp_path: Path) -> None:
    dut, shell = host({"read -r begin...": "1.00 1.00 late v1\n"})
    assert dut.links.await_carriers(["v0", "v1"], up=True, within_s=0.1) == ("v1",)
    script = shell.commands[0].replace("/sys/class/net", str(tmp_path))
    for name, state in (("v0", 1), ("v1", 0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "carrier").write_text(f"{state}\n")
    late = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=10)
    assert late.stdout.endswith(" late v1\n"), late
    (tmp_path / "v1" / "carrier").write_text("1\n")
    seen = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=10)
    assert seen.stdout.endswith(" seen\n"), seen


def test_await_carrier_in_a_real_shell(tmp_path: Path) -> None:
    """The script itself, with a carrier that goes while it looks."""
    dut, shell = host({"read -r begin...": "1.00 1.00 seen\n"})
    dut.links.await_carrier("v0", up=False, within_s=0.3)
    carrier = tmp_path / "carrier"
    script = shell.commands[0].replace("/sys/class/net/$i/carrier", str(carrier))
    carrier.write_text("1\n")
    late = subprocess.run(script, shell=True, capture_output=True, text=True, timeout=10)  # noqa: S602 - our own text
    assert late.stdout.endswith(" late v0\n"), late
    carrier.write_text("0\n")
    seen = subprocess.run(script, shell=True, capture_output=True, text=True, timeout=10)  # noqa: S602 - our own text
    assert seen.stdout.endswith(" seen\n"), seen
    carrier.unlink()
    gone = subprocess.run(script, shell=True, capture_output=True, text=True, timeout=10)  # noqa: S602 - our own text
    assert gone.stdout.endswith(" seen\n"), gone
