"""Programs that write firmware: what is run, and what their end means."""

from __future__ import annotations

import pytest
from fake_shell import Answer, FakeShell, Script, failed

from niclab.checks.flashing import DEVLINK
from niclab.core.verdict import BenchFault
from niclab.hosts.drivers.firmware_tools import answer_of
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.link_touching import may_touch_a_link
from niclab.hosts.linux_host import LinuxHost
from niclab.hosts.settings.settings_records import FirmwareTool, ToolAnswer, ToolRun

TOOL = FirmwareTool(
    "cd /opt/elx && ./flash -i {interface} -p {pci} {image} # {file}",
    ("bash", "/opt/elx/flash"),
    refused="not compatible with the adapter",
    unsupported="cannot determine the system",
)
PLACE = ("eth0", "0000:81:00.0", "x.bin")
LINUX = ": writes firmware; cd /opt/elx && ./flash -i eth0 -p 0000:81:00.0 /lib/firmware/x.bin # x.bin"


def linux(script: dict[str, Script]) -> tuple[LinuxHost, FakeShell]:
    shell = FakeShell(script)
    return LinuxHost(shell, "dut"), shell


def test_a_tool_is_run_with_port_and_image() -> None:
    dut, shell = linux({LINUX: "Done\n"})
    assert dut.firmware.write_with(TOOL, *PLACE) == ToolRun(ToolAnswer.WRITTEN, "Done")
    assert shell.timeouts_s[LINUX] == 600 and may_touch_a_link(LINUX)
    assert dut.firmware.tool_command(TOOL, *PLACE) == LINUX
    bsd = FreeBsdHost(FakeShell({}), "dut").firmware.tool_command(TOOL, "oce0", *PLACE[1:])
    assert bsd == ": writes firmware; cd /opt/elx && ./flash -i oce0 -p 0000:81:00.0 /boot/firmware/x.bin # x.bin"


@pytest.mark.parametrize(
    "place", [("eth0;x", *PLACE[1:]), ("eth0", "81:00", "x.bin"), (*PLACE[:2], "../x"), (*PLACE[:2], "")]
)
def test_words_that_are_no_port_or_image_are_refused(place: tuple[str, str, str]) -> None:
    with pytest.raises(BenchFault, match="; expected "):
        linux({})[0].firmware.tool_command(TOOL, *place)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (Answer("Done"), ToolAnswer.WRITTEN),
        (failed("Image is not compatible with the adapter", exit_status=5), ToolAnswer.REFUSED),
        (failed("Image is not compatible with the adapter", exit_status=255), ToolAnswer.REFUSED),
        (Answer("Image is not compatible with the adapter\n"), ToolAnswer.REFUSED),
        (failed("cannot determine the system", exit_status=1), ToolAnswer.UNSUPPORTED),
        (failed("Unsupported operating system: FreeBSD 9.1", exit_status=1), ToolAnswer.UNSUPPORTED),
        (Answer("ERROR: this OS version is not supported. Exiting.\n"), ToolAnswer.UNSUPPORTED),
        (failed("The operating system is not supported", exit_status=2), ToolAnswer.UNSUPPORTED),
        (failed("no adapter found", exit_status=1), ToolAnswer.FAILED),
        (failed("option not supported", exit_status=255), ToolAnswer.FAILED),
    ],
)
def test_the_words_of_a_tool_count_more_than_its_exit_status(said: Answer, answer: ToolAnswer) -> None:
    assert answer_of(TOOL, said) is answer


def test_a_tool_whose_refusals_nobody_knows_blames_no_card() -> None:
    said = failed("Image is not compatible with the adapter", exit_status=5)
    assert answer_of(FirmwareTool("x {image}", ("x",)), said) is ToolAnswer.FAILED


@pytest.mark.parametrize(
    "said",
    [
        failed("env: bash: not found", exit_status=127),
        failed("./flash: Permission denied", exit_status=126),
        failed("./flash: line 3: lspci: command not found", exit_status=1),
        failed("ioctl: No such device", exit_status=1),
        Answer("", None),
        Answer("", 137),
    ],
)
def test_a_tool_that_could_not_work_is_the_benchs(said: Answer) -> None:
    with pytest.raises(BenchFault, match=r"^dut: `: writes firmware; cd /opt/elx && .*` failed with"):
        linux({LINUX: said})[0].firmware.write_with(TOOL, *PLACE)


@pytest.mark.parametrize(
    "said",
    [
        failed("devlink answers: Operation not permitted", exit_status=1),
        failed("kernel answers: Cannot allocate memory", exit_status=1),
        failed("Error: mlx5_core: no memory.\nkernel answers: Cannot allocate memory", exit_status=1),
        failed("devlink answers: No such device", exit_status=1),
    ],
)
def test_a_kernel_that_could_not_ask_the_card_is_no_card_that_refuses(said: Answer) -> None:
    """As with ethtool: a wrong image is not proven to be refused, nor is the right one."""
    assert answer_of(DEVLINK, said) is None


@pytest.mark.parametrize(
    "said",
    [
        failed("Error: mlx5_core: Component firmware image is not valid.\nkernel answers: Invalid argument"),
        failed("devlink answers: Input/output error", exit_status=1),
    ],
)
def test_a_driver_whose_kernel_answers_has_refused(said: Answer) -> None:
    assert answer_of(DEVLINK, said) is ToolAnswer.REFUSED
    assert answer_of(DEVLINK, Answer("Preparing to flash\nFlashing 100%\n")) is ToolAnswer.WRITTEN


def test_missing_programs_are_named() -> None:
    looks = 'test -x "$(command -v bash)" || echo bash; test -x "$(command -v /opt/x)" || echo /opt/x'
    assert linux({looks: "bash\n"})[0].firmware.missing_programs(("bash", "/opt/x")) == ("bash",)
    with pytest.raises(BenchFault, match="expected a name or a path"):
        linux({})[0].firmware.missing_programs(("a b",))
