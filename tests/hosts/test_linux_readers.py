"""Golden texts of many tool versions and drivers, and what every reader must do with text that is not its own."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from goldens import CAPTURES, READERS, captures, expectation, plain, text_of
from hypothesis import given, settings
from hypothesis import strategies as st

from niclab.hosts.errors import ReadError
from niclab.hosts.linux.dmesg import read_dmesg
from niclab.hosts.linux.kernel_events import kernel_events
from niclab.hosts.linux.pci import read_sysfs_speed_gts, read_sysfs_width
from niclab.hosts.linux.system import (
    read_boot_id,
    read_clock_s,
    read_kernel,
    read_os_release,
    read_tool_version,
    read_uptime_s,
)
from niclab.traffic import WorthlessResult

SMALL_READERS = {
    "sysfs speed": read_sysfs_speed_gts,
    "sysfs width": read_sysfs_width,
    "uptime": read_uptime_s,
    "clock": read_clock_s,
    "boot id": read_boot_id,
    "kernel": read_kernel,
    "os-release": read_os_release,
    "tool version": read_tool_version,
}
ALL_READERS = {**READERS, **SMALL_READERS}
STRICT_READERS = sorted(READERS)
LOGS = ("console", "dmesg", "dmesg-freebsd")  # what a kernel says is read in each of them
# ip's text may be read by three readers: all interfaces, all with what tests of a host need, and VLANs alone.
SHARED = {
    **{kind: set(LOGS) for kind in LOGS},
    # sysctl -e prints what could stand in loader.conf; the names are the same ones.
    "loader-conf": {"sysctl-freebsd"},
    # The lsmod of a small busybox prints the file as it is.
    "lsmod": {"proc-modules"},
    **{"ip": {"ip-link"}, "ip-link": {"ip", "vlan"}, "vlan": {"ip", "ip-link"}},
}


@pytest.mark.parametrize("path", captures(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_capture_reads_as_expected(path: Path) -> None:
    expected = json.loads(expectation(path).read_text())
    assert plain(READERS[path.parent.name](text_of(path))) == expected


def test_every_capture_says_where_it_comes_from() -> None:
    assert len(captures()) > 40
    assert [path for path in captures() if not path.read_text().startswith("#| ")] == []


@pytest.mark.parametrize("kind", STRICT_READERS)
@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "No such device\n", "\x00\x00"])
def test_text_without_content_is_an_error(kind: str, text: str) -> None:
    with pytest.raises(ReadError, match=r"cannot read .*: expected "):
        READERS[kind](text)


@pytest.mark.parametrize("kind", STRICT_READERS)
def test_a_reader_refuses_the_texts_of_the_others(kind: str) -> None:
    """Negative control of the readers: none of them makes a record out of another tool's text."""
    for path in captures():
        if path.parent.name not in {kind, *SHARED.get(kind, ())}:
            with pytest.raises(ReadError):
                READERS[kind](text_of(path))


@pytest.mark.parametrize("kind", sorted(ALL_READERS))
@settings(max_examples=60, deadline=None)
@given(text=st.text() | st.text(alphabet=" \t\n:[]{}()<>.,-=#0123456789abfxU", max_size=200))
def test_random_text_raises_nothing_but_read_error(kind: str, text: str) -> None:
    try:
        ALL_READERS[kind](text)
    except ReadError as error:
        assert str(error).startswith("cannot read ")


@pytest.mark.parametrize("kind", sorted(READERS))
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_mutated_captures_raise_nothing_but_read_error(kind: str, data: st.DataObject) -> None:
    text = text_of(data.draw(st.sampled_from(sorted((CAPTURES / kind).glob("*.txt")))))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = (
            text[:start] + data.draw(st.text(max_size=8) | st.sampled_from(["9" * 5000, "\n", ":", "-1"])) + text[end:]
        )
    try:
        READERS[kind](text)
    except WorthlessResult as error:
        assert ": worthless result: " in str(error)
    except ReadError as error:
        assert str(error).startswith("cannot read ")


@pytest.mark.parametrize("kind", sorted(ALL_READERS))
@pytest.mark.parametrize(
    "piece", ["a", "0", "1.", " ", ": ", "rcu", "rcu ", "[", "{", "ping", "base", "Link is ", "a b"]
)
def test_long_text_is_read_in_linear_time(kind: str, piece: str) -> None:
    """300 kB in one line: seconds would mean a pattern that backtracks."""
    text = piece * (300_000 // len(piece))
    started = time.process_time()
    try:
        ALL_READERS[kind](text)
    except ReadError as error:
        assert len(str(error)) < 1000
    assert time.process_time() - started < 2


@pytest.mark.parametrize("text", ["rcu " * 100_000, "NETDEV WATCHDOG: " + "a" * 300_000, "a:" * 150_000 + "link is up"])
def test_events_of_a_long_kernel_line_are_found_in_linear_time(text: str) -> None:
    started = time.process_time()
    kernel_events(read_dmesg(text))
    assert time.process_time() - started < 2


def test_deeply_nested_json_is_a_read_error() -> None:
    with pytest.raises(ReadError, match=r"ip -j"):
        READERS["ip"]("[" * 100_000)


@pytest.mark.parametrize(
    ("text", "gts"),
    [
        ("8.0 GT/s PCIe\n", 8.0),
        ("2.5 GT/s\n", 2.5),
        ("5 GT/s\n", 5.0),
        ("32.0 GT/s PCIe\n", 32.0),
        ("Unknown\n", None),
        ("Unknown speed\n", None),
        ("", None),
    ],
)
def test_sysfs_speed(text: str, gts: float | None) -> None:
    assert read_sysfs_speed_gts(text) == gts


@pytest.mark.parametrize("text", ["7.0 GT/s PCIe", "8.0", "GT/s", "8,0 GT/s PCIe", "8.0 GT/s x8"])
def test_sysfs_speed_that_is_none(text: str) -> None:
    with pytest.raises(ReadError, match=r"sysfs link attribute"):
        read_sysfs_speed_gts(text)


@pytest.mark.parametrize(
    ("text", "width"), [("8\n", 8), ("1", 1), ("0\n", None), ("63\n", None), ("255\n", None), ("", None)]
)
def test_sysfs_width(text: str, width: int | None) -> None:
    assert read_sysfs_width(text) == width


@pytest.mark.parametrize("text", ["3", "x8", "-1", "8 8", "٨"])
def test_sysfs_width_that_is_none(text: str) -> None:
    with pytest.raises(ReadError, match=r"sysfs link attribute"):
        read_sysfs_width(text)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("ethtool version 6.1\n", "6.1"),
        ("lspci version 3.9.0\n", "3.9.0"),
        ("ip utility, iproute2-6.1.0, libbpf 1.1.2\n", "6.1.0"),
        ("ping from iputils 20221126\nlibcap: yes\n", "20221126"),
        ("iperf 3.12 (cJSON 1.7.15)\nLinux dut 6.1.0\n", "3.12"),
        ("kmod version 30\n+ZSTD +XZ\n", "30"),
        ("Python 3.11.2\n", "3.11.2"),
        (
            "ping: invalid option -- 'V'\nBusyBox v1.35.0 (Debian 1:1.35.0-4+deb12u1+b1) multi-call binary.\n",
            "busybox 1.35.0",
        ),
        ("no version here\n", "unknown"),
    ],
)
def test_tool_version(text: str, version: str) -> None:
    assert read_tool_version(text) == version


def test_numbers_of_a_usage_text_are_no_version() -> None:
    assert read_tool_version("Usage: foo [-4] HOST", refused=True) == "unknown"


def test_os_release() -> None:
    release = read_os_release('# comment\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n')
    assert (release.id, release.version_id, release.pretty_name) == ("debian", "12", "Debian GNU/Linux 12 (bookworm)")


@pytest.mark.parametrize("text", ['ID="debian\n', "NAME=x\n", "ID=\n", "debian 12\n"])
def test_os_release_that_is_none(text: str) -> None:
    with pytest.raises(ReadError, match=r"os-release"):
        read_os_release(text)


def test_boot_messages_of_a_healthy_host_are_no_events() -> None:
    quiet = """[    0.5] pcieport 0000:00:1c.0: AER: enabled with IRQ 24
[    1.0] rcu: Hierarchical RCU implementation.
[    1.1] rcu: srcu_init: Setting srcu_struct sizes based on contention.
[    1.2] NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.
[    2.0] e1000e 0000:01:00.0 eth0: (PCI Express:2.5GT/s:Width x1) 68:05:ca:c1:27:84
[    2.1] IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready
[    2.2] bond0: (slave eth0): link status definitely up, 1000 Mbps full duplex
[    3.0] usb 1-1: link qh8-0e01/ffff start 1 [1/0 us]
"""
    assert kernel_events(read_dmesg(quiet)) == ()
