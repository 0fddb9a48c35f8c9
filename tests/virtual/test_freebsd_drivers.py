"""FreeBSD's drivers of single cards do what their sources say, on a root of files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from guest_root import GUEST, Root

from freebsd import ports
from niclab.hosts.links.ifconfig import read_ifconfig
from niclab.hosts.settings.sysctl import read_sysctl

FIRMWARE = '#!/bin/sh\ncase $1 in -i) echo \'firmware-version: {}\' ;; *) exec "$0.old" "$@" ;; esac\n'


def options(root: Root) -> set[str]:
    (shown,) = read_ifconfig(root.run("ifconfig", "-m", root.ports[0]).out).interfaces
    assert shown.options is not None and shown.options.names is not None
    return set(shown.options.names)


def mtu(root: Root) -> int | None:
    (shown,) = read_ifconfig(root.run("ifconfig", root.ports[0]).out).interfaces
    return shown.mtu


def with_firmware(root: Root, version: str) -> None:
    """Let the driver below show that firmware."""
    tool = root.path / "tools/ethtool"
    tool.rename(tool.with_name("ethtool.old"))
    tool.write_text(FIRMWARE.format(version))
    tool.chmod(0o755)


def deliver(root: Root, iface: str) -> None:
    """Do what is done when a port has got its driver."""
    program = f"import sys; sys.path.insert(0, {str(GUEST)!r}); import features; features.deliver({iface!r})"
    place = {"BSD_ROOT": str(root.path), "BSD_TOOLS": f"{root.path}/tools:{os.environ['PATH']}"}
    subprocess.run([sys.executable, "-ESsBc", program], env={**os.environ, **place}, check=True, timeout=60)


@pytest.mark.parametrize("word", ["-vlanhwtag", "-vlanhwcsum", "-vlanmtu", "-vlanhwfilter"])
def test_bxe_refuses_what_it_cannot_change(tmp_path: Path, word: str) -> None:
    root = Root(tmp_path, "broadcom-bcm57810")
    before = options(root)
    said = root.run("ifconfig", "bxe0", word)
    assert (said.status, said.err) == (1, f"ifconfig: {word}: Invalid argument\n")
    assert root.run("ifconfig", "bxe0", word.removeprefix("-")).status == 0, "nothing is asked for"
    assert options(root) == before


def test_bxe_leaves_segmentation_on_without_checksums(tmp_path: Path) -> None:
    root = Root(tmp_path, "broadcom-bcm57810")
    before = options(root)
    assert root.run("ifconfig", "bxe0", "-txcsum").status == 0
    assert options(root) == before - {"TXCSUM"}


def test_sfxge_takes_segmentation_of_each_protocol_along_with_its_checksums(tmp_path: Path) -> None:
    root = Root(tmp_path, "solarflare-sfn5122f")
    before = options(root)
    assert root.run("ifconfig", "sfxge0", "-txcsum").status == 0
    assert options(root) == before - {"TXCSUM", "TSO4"}
    assert root.run("ifconfig", "sfxge0", "-txcsum6").status == 0
    assert options(root) == before - {"TXCSUM", "TSO4", "TXCSUM_IPV6", "TSO6"}
    assert root.run("ifconfig", "sfxge0", "tso6").err == "ifconfig: tso6: Resource temporarily unavailable\n"


@pytest.mark.parametrize(
    ("card", "least", "most"),
    [("broadcom-bcm57810", 72, 9000), ("intel-82574l", 72, 9216), ("alteon-acenic", 72, 9000)],
)
def test_a_driver_takes_the_mtus_of_its_range(tmp_path: Path, card: str, least: int, most: int) -> None:
    root = Root(tmp_path, card)
    if card == "intel-82574l":  # its driver below takes 9212, the tool here 9000
        tool = root.path / "tools/ip"
        tool.write_text(tool.read_text().replace("> 9000", "> 9212"))
    for size in (least, most):
        assert root.run("ifconfig", root.ports[0], "mtu", str(size)).status == 0
        assert mtu(root) == size
    for size in (least - 1, most + 1):
        said = root.run("ifconfig", root.ports[0], "mtu", str(size))
        assert (said.status, said.err) == (1, "ifconfig: ioctl (set mtu): Invalid argument\n")
    assert mtu(root) == most
    assert f" {most} " in root.run("netstat", "-I", root.ports[0], "-bdnW").out
    assert root.run("ifconfig", root.ports[0], "mtu", "1500").status == 0 and mtu(root) == 1500


@pytest.mark.parametrize(
    ("card", "below", "shown"),
    [
        ("broadcom-bcm57810", "FFV7.8.53 bc 7.8.24", "bc 7.8.24"),
        ("intel-82574l", "2.1-0", "EEPROM V2.1-0"),
        ("intel-82576", "2.1.0", "EEPROM V2.1-0"),
        ("intel-x520", "14.5.9", "eTrack 0x80000887"),
        ("solarflare-sfn5122f", "3.3.0.6269", None),
        ("alteon-acenic", "12.4.11", None),
    ],
)
def test_firmware_is_shown_as_the_driver_shows_it(tmp_path: Path, card: str, below: str, shown: str | None) -> None:
    root = Root(tmp_path, card)
    with_firmware(root, below)
    first = read_sysctl(root.run("sysctl", f"dev.{root.driver}").out).devices()[0]
    assert first.firmware == shown


def test_what_is_off_as_delivered_is_switched_off_below(tmp_path: Path) -> None:
    root = Root(tmp_path, "intel-82574l")
    assert {"TSO4", "TSO6"} <= options(root), "the driver below has them on"
    deliver(root, "em0")
    assert not {"TSO4", "TSO6"} & options(root)
    assert root.run("ifconfig", "em0", "tso4").status == 0 and "TSO4" in options(root)


@pytest.mark.parametrize(
    ("card", "line"),
    [("solarflare-sfn5122f", 'sfxge_load="YES"\n'), ("broadcom-bcm57810", ""), ("chelsio-t580-cr", "")],
)
def test_a_driver_that_nothing_else_loads_is_loaded_by_the_loader(tmp_path: Path, card: str, line: str) -> None:
    ports.lay(tmp_path, card)
    assert (tmp_path / "once/boot/loader.conf").read_text() == line


def test_flow_control_is_set_although_the_driver_below_negotiates_it(tmp_path: Path) -> None:
    root = Root(tmp_path, "intel-82576")
    root.write("below/ethtool-a", "Pause parameters for igb0:\nAutonegotiate: on\nRX: on\nTX: on\n")
    assert root.run("sysctl", "dev.igb.0.fc=1").status == 0
    assert root.run("sysctl", "-n", "dev.igb.0.fc").out == "1\n"
