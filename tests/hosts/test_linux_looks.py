"""Looks of a Linux host into a card: the EEPROM, a dump of the registers, the light; and drivers that offer none."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable

import pytest
from fake_shell import Answer, FakeShell, failed

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import LookFailed, ReadError
from niclab.hosts.host import HostFirmware
from niclab.hosts.linux_host import LinuxHost

EEPROM = "ethtool -e eth0 raw on length 1024 | od -An -v -tx1"
REGISTERS = "ethtool -d eth0 raw on | od -An -v -tx1 -w1 | sort | uniq -c"
LIGHT = "ethtool -p eth0 1"
LOOKS: dict[str, Callable[[HostFirmware], object]] = {
    EEPROM: lambda card: card.eeprom("eth0", 1024),
    REGISTERS: lambda card: card.registers("eth0"),
    LIGHT: lambda card: card.identify("eth0", 1),
}


def said(command: str, answer: Answer | str) -> object:
    shell = FakeShell({f"bash -c {shlex.quote(f'set -o pipefail; {command}')}": answer})
    return LOOKS[command](LinuxHost(shell, "dut").firmware)


def test_every_byte_is_read() -> None:
    rows = " 52 54 00 02 00 00 20 04 ff ff ff ff ff ff ff ff\n 00 10\n"
    assert said(EEPROM, rows) == bytes.fromhex("52540002000020 04 ffffffffffffffff 0010".replace(" ", ""))


@pytest.mark.parametrize("text", ["", "\n", " 52 5g\n", " 5254\n", "0000000 52 54\n"])
def test_what_is_no_dump_is_refused(text: str) -> None:
    with pytest.raises(ReadError, match=r"^dut: `ethtool -e eth0 raw on length 1024`: cannot read ethtool -e: text"):
        said(EEPROM, text)


def test_registers_are_counted() -> None:
    assert said(REGISTERS, "   4500  00\n     80  ff\n") == 4580
    with pytest.raises(ReadError, match=r"^dut: `ethtool -d eth0 raw on`: cannot read uniq -c: text 'x'; expected"):
        said(REGISTERS, "x")
    with pytest.raises(NotApplicable, match=r"^dut: eth0: its driver shows no registers"):
        said(REGISTERS, "")
    with pytest.raises(LookFailed, match=r"^dut: `ethtool -d eth0 raw on` shows 0xff as each of 4580 bytes$"):
        said(REGISTERS, "   4580  ff\n")
    assert said(REGISTERS, "   4580  00\n") == 4580


def test_the_tools_count_bytes() -> None:
    counted = REGISTERS.partition(" | ")[2]
    shown = subprocess.run(["bash", "-c", counted], input=b"\0\xff\xff\x10", capture_output=True, check=True)
    assert said(REGISTERS, shown.stdout.decode()) == 4


def test_a_light_says_nothing() -> None:
    assert said(LIGHT, "") is None


@pytest.mark.parametrize("command", LOOKS)
def test_a_driver_without_a_look_is_not_applicable(command: str) -> None:
    with pytest.raises(NotApplicable, match=r"^dut: eth0: its driver shows no .* \(Cannot get it: Operation not supp"):
        said(command, failed("Cannot get it: Operation not supported\n", exit_status=74))


@pytest.mark.parametrize("command", LOOKS)
def test_a_driver_that_cannot_take_a_look_that_it_offers(command: str) -> None:
    with pytest.raises(LookFailed, match=r"^dut: `ethtool .*` failed with Cannot get it: Input/output error$"):
        said(command, failed("Cannot get it: Input/output error\n", exit_status=74))


@pytest.mark.parametrize("words", ["No such device", "Operation not permitted", "Resource temporarily unavailable"])
@pytest.mark.parametrize("command", LOOKS)
def test_a_tool_that_could_not_ask_is_a_fault_of_the_bench(command: str, words: str) -> None:
    with pytest.raises(BenchFault, match=words) as caught:
        said(command, failed(f"Cannot get it: {words}\n", exit_status=74))
    assert not isinstance(caught.value, LookFailed)
