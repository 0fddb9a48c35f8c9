"""The memory of a module, as ethtool prints it, and the ways in which a driver has none."""

from __future__ import annotations

import pytest
from fake_shell import Answer, FakeShell, failed
from module_dumps import GOOD_SFP, memory_of, text_of

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import ModuleUnread, ReadError
from niclab.hosts.links.ethtool_module import read_module_memory
from niclab.hosts.linux_host import LinuxHost

TEXT = text_of(GOOD_SFP)


def said(answer: Answer | str) -> bytes:
    return LinuxHost(FakeShell({"ethtool -m eth0 hex on": answer}), "dut").links.module_memory("eth0")


def test_every_byte_is_read() -> None:
    memory = said(TEXT)
    assert len(memory) == 512 and memory == memory_of(GOOD_SFP)
    assert read_module_memory("\n".join(line.rstrip() for line in TEXT.splitlines())) == memory


def test_a_last_row_may_be_short() -> None:
    lines = TEXT.splitlines()
    assert read_module_memory("\n".join([*lines[:3], "0x0010:\t\t08 03 "])) == memory_of(GOOD_SFP)[:18]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Identifier                                : 0x03 (SFP)\n",
        "Offset\t\tValues\n------\t\t------\n",
        TEXT.replace("0x0010", "0x0020", 1),
        TEXT.replace(" 67 ", " 6g ", 1),
        TEXT.replace("08 03 00 1e", "08 03", 1),
        TEXT.replace("03 04 07 10 ", "03 04 07 10 11 ", 1),
        TEXT + "netlink error: Input/output error\n",
    ],
)
def test_what_is_no_dump_is_refused(text: str) -> None:
    with pytest.raises(ReadError, match=r"^dut: `ethtool -m eth0 hex on`: cannot read ethtool -m: "):
        said(text)


def test_a_driver_without_modules_is_not_applicable() -> None:
    with pytest.raises(NotApplicable, match=r"^dut: eth0: its driver shows no module \(Cannot get module EEPROM"):
        said(failed("Cannot get module EEPROM information: Operation not supported\n", exit_status=1))


def test_a_module_that_the_driver_cannot_read() -> None:
    with pytest.raises(ModuleUnread, match=r"^dut: `ethtool -m eth0 hex on` failed with .*Input/output error$"):
        said(failed("Cannot get Module EEPROM data: Input/output error\n", exit_status=1))


@pytest.mark.parametrize("words", ["Operation not permitted", "No such device"])
def test_a_question_that_could_not_be_asked_is_a_fault(words: str) -> None:
    with pytest.raises(BenchFault, match=words) as caught:
        said(failed(f"Cannot get module EEPROM information: {words}\n", exit_status=1))
    assert not isinstance(caught.value, ModuleUnread)
