"""FreeBsdHost, the system part, drivers and loader.conf, against scripted answers and, where it counts, a real sh."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_shell import Answer, Script, failed, lines
from freebsd_host_texts import KLDSTAT, MESSAGES, OCE, T5NEX, host, pciconf

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import ReadError
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.host_records import ModuleState, OsRelease
from niclab.hosts.kernel.freebsd_lines import kernel_lines, lines_after, link_changes
from niclab.hosts.kernel.kernel_log import KernelLine, KernelLogMark, LogCut
from niclab.transports import CommandTimeout, ConnectionLost

BOOT = "0123456789abcdef0123456789abcdef"
BOOT_ID = "kenv -q niclab_boot_id >/dev/null || kenv niclab_boot_id=..."
BUFFER = "sysctl -n kern.msgbuf"


def test_the_clock() -> None:
    assert host({"date +%s": "1369826500\n"})[0].system.clock_s() == 1369826500


def test_available_memory_is_what_the_kernel_has_not_wired() -> None:
    assert host({"sysctl -n hw.usermem": "987654321\n"})[0].system.available_bytes() == 987654321
    with pytest.raises(BenchFault, match=r"^dut: `sysctl -n hw\.usermem` said 'many'; expected bytes"):
        host({"sysctl -n hw.usermem": "many\n"})[0].system.available_bytes()


def test_a_clock_with_other_words_is_refused() -> None:
    dut, _ = host({"date +%s": "1369826500.N\n"})
    with pytest.raises(ReadError, match=r"cannot read date \+%s"):
        dut.system.clock_s()


def test_a_boot_is_named_once(tmp_path: Path) -> None:
    """The command itself, in a real shell with a kernel environment that is a file."""
    dut, shell = host({BOOT_ID: [f"{BOOT}\n", f"{BOOT}\n"]})
    assert dut.system.boot_id() == BOOT and dut.system.boot_id() == BOOT
    environment = tmp_path / "env"
    fake(tmp_path, "kenv", f'case $1 in -q) cat {environment} 2>/dev/null;; *) echo "${{1#*=}}" > {environment};; esac')
    first, again = (in_sh(tmp_path, command) for command in shell.commands)
    assert first == again and len(first.strip()) == 32
    environment.unlink()  # a boot begins without
    assert in_sh(tmp_path, shell.commands[1]) != first


@pytest.mark.parametrize("text", ["", "x\n", f"{BOOT}0\n"])
def test_a_boot_id_that_is_none(text: str) -> None:
    dut, _ = host({BOOT_ID: text})
    with pytest.raises(ReadError, match="32 hexadecimal digits"):
        dut.system.boot_id()


@pytest.mark.parametrize(
    ("text", "version"),
    [("FreeBSD 9.1-RELEASE", "9.1"), ("FreeBSD 14.0-RELEASE-p5", "14.0"), ("FreeBSD 13.2-STABLE", "13.2")],
)
def test_release(text: str, version: str) -> None:
    dut, _ = host({"uname -sr": f"{text}\n", "uname -r": f"{text.split()[1]}\n"})
    assert dut.system.os_release() == OsRelease("freebsd", version, text)
    assert dut.system.kernel() == text.split()[1]


@pytest.mark.parametrize("text", ["", "Linux 6.1.0-18-amd64\n", "FreeBSD\n", "FreeBSD 13.2-RELEASE x\n"])
def test_another_release_is_refused(text: str) -> None:
    dut, _ = host({"uname -sr": text})
    with pytest.raises(ReadError, match="uname -sr"):
        dut.system.os_release()


def test_root() -> None:
    assert host({"id -u": "0\n"})[0].system.is_root() and not host({"id -u": "1001\n"})[0].system.is_root()
    with pytest.raises(BenchFault, match="expected a number"):
        host({"id -u": "root\n"})[0].system.is_root()


TOOLS: dict[str, Script] = {
    "command -v netperf && netperf -V": "/usr/local/bin/netperf\nNetperf version 2.7.1\n",
    "command -v ifconfig && ifconfig --version": Answer("/sbin/ifconfig\n", 1, "usage: ifconfig 1 2\n"),
    "command -v fio && fio -v": failed("", 127),
    "command -v ping && ping --version": failed("sh: no\n", 2),
    "uname -sr": "FreeBSD 13.2-RELEASE\n",
    "uname -r": "13.2-RELEASE\n",
}


def test_the_software_is_read_by_one_command() -> None:
    dut, shell = host(TOOLS)
    found = dut.system.software(["netperf", "ifconfig", "fio"])
    assert (found.release, found.kernel) == (dut.system.os_release(), "13.2-RELEASE")
    assert found.tools == {"netperf": "2.7.1", "ifconfig": "unknown", "fio": None}
    assert len(shell.commands) == 2
    with pytest.raises(BenchFault, match=r"`command -v ping` failed with exit status 2"):
        dut.system.software(["ping"])


LOG = lines(
    *("<118>Starting sshd.", "oce0: link state changed to UP", "<118>niclab mark x", "<118>login"),
    "<5>[12] oce0: link state changed to DOWN",
)


def test_the_kernels_own_lines_are_told_from_the_consoles() -> None:
    up, down = KernelLine(None, "oce0: link state changed to UP"), KernelLine(12, "oce0: link state changed to DOWN", 5)
    assert kernel_lines(LOG) == (up, down)
    assert lines_after(LOG, "niclab mark x") == (down,)
    assert lines_after(LOG, "niclab mark y") is None


def test_marks_in_the_log() -> None:
    dut, shell = host({BOOT_ID: [f"{BOOT}\n", *[f"{BOOT}\n{LOG}"] * 2], BUFFER: LOG})
    mark = dut.system.dmesg_mark()
    assert mark.boot_id == BOOT and shell.commands[-1].endswith(f' && echo "{mark.token}" > /dev/console')
    assert len(dut.system.dmesg()) == 2
    assert [line.seconds for line in dut.system.dmesg_since(KernelLogMark(BOOT, "niclab mark x"))] == [12]
    with pytest.raises(LogCut, match="the message buffer has overwritten it") as caught:
        dut.system.dmesg_since(mark)
    assert len(caught.value.lines) == 2 and not caught.value.booted


def test_a_look_is_one_command() -> None:
    dut, shell = host({"ifconfig oce0; echo '@ kernel log'; kenv ...": f"oce0: up\n@ kernel log\n{BOOT}\n{LOG}"})
    look = dut.system.look(KernelLogMark(BOOT, "niclab mark x"), "ifconfig oce0")
    assert ([line.seconds for line in look.lines], look.booted, look.shown) == ([12], False, "oce0: up\n")
    assert shell.commands[0].endswith(f'echo "{look.mark.token}" > /dev/console && {BUFFER}')


def test_a_mark_of_another_boot_is_refused() -> None:
    """A warm reboot leaves the lines of the boot before in the buffer."""
    log = f"oce0: watchdog timeout\n---<<BOOT>>---\n{LOG}"
    dut, _ = host({BOOT_ID: f"{BOOT}\n{log}"})
    with pytest.raises(LogCut, match="has booted since the mark") as caught:
        dut.system.dmesg_since(KernelLogMark("f" * 32, "niclab mark x"))
    assert caught.value.booted and [line.text for line in caught.value.lines[1:]] == [
        "oce0: link state changed to UP",
        "oce0: link state changed to DOWN",
    ]


def test_link_changes_are_counted_from_this_boot_on() -> None:
    old = "oce0: link state changed to UP\n" * 3
    assert link_changes(old + MESSAGES + LOG, "oce0") == (1, 1)
    assert link_changes(old + MESSAGES + LOG, "oce1") == (0, 0)
    assert link_changes(LOG, "oce0") is None


def test_a_reboot_is_asked_for() -> None:
    endings: list[Any] = [
        *("", Answer(exit_status=None), Answer(exit_status=143)),
        *(Answer(raises=ConnectionLost("gone")), Answer(raises=CommandTimeout("late")), failed("not super-user\n")),
    ]
    dut, _ = host({"sync; shutdown -r now": endings})
    for _ in range(5):
        dut.system.reboot()
    with pytest.raises(BenchFault, match="not super-user"):
        dut.system.reboot()


MODINFO = 'IFS=";"; for d in $(sysctl -n kern.module_path)...'


def test_module_file() -> None:
    dut, shell = host({MODINFO: ["/boot/modules/oce.ko\n", "", "/boot/kernel/if_em.ko\n", ""], "kldstat -v": KLDSTAT})
    oce = dut.drivers.modinfo("oce")
    assert (oce.filename, oce.built_in) == ("/boot/modules/oce.ko", False)
    for _ in ("the kernel alone has it", "a file of it lies next to it, as with GENERIC"):
        em = dut.drivers.modinfo("if_em")
        assert (em.filename, em.built_in) == (None, True)
    with pytest.raises(BenchFault, match=r"no if_ix\.ko in kern\.module_path, and the kernel has no such module"):
        dut.drivers.modinfo("if_ix")
    assert len(shell.commands) == 8


def test_module_file_in_a_real_shell(tmp_path: Path) -> None:
    dut, shell = host({MODINFO: "/boot/kernel/oce.ko\n", "kldstat -v": KLDSTAT})
    dut.drivers.modinfo("oce")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "oce.ko").touch()
    fake(tmp_path, "sysctl", f'echo "{tmp_path}/a;{tmp_path}/b"')
    assert in_sh(tmp_path, shell.commands[0]) == f"{tmp_path}/b/oce.ko\n"


def test_loaded_module() -> None:
    dut, _ = host({"kldstat -v": KLDSTAT, "sysctl dev.oce": OCE})
    loaded = dut.drivers.loaded_module("oce")
    assert loaded is not None
    assert loaded.state is ModuleState.LIVE
    assert loaded.version == "4.2.116.0"
    assert dut.drivers.loaded_module("if_em") is None and dut.drivers.loaded_module("if_ix") is None


def test_a_loaded_module_without_a_device_says_no_version() -> None:
    dut, _ = host({"kldstat -v": KLDSTAT, "sysctl dev.oce": failed("sysctl: unknown oid 'dev.oce'\n")})
    loaded = dut.drivers.loaded_module("oce")
    assert loaded is not None and loaded.version is None


def test_reload() -> None:
    reload_it = "kldunload oce && kldload oce"
    dut, _ = host(
        {
            reload_it: ["", "", failed("kldunload: can't unload file: Device busy\n")],
            "kldstat -v": [KLDSTAT, KLDSTAT, KLDSTAT, KLDSTAT.split(" 2    1")[0], KLDSTAT],
            "sysctl dev.oce": OCE,
        }
    )
    assert dut.undo.load_driver("oce") == "kldload -n oce"
    dut.drivers.reload("oce")
    with pytest.raises(BenchFault, match="module oce is not loaded after"):
        dut.drivers.reload("oce")
    with pytest.raises(BenchFault, match="Device busy"):
        dut.drivers.reload("oce")


def test_a_driver_in_the_kernel_cannot_be_reloaded() -> None:
    dut, shell = host({"kldstat -v": KLDSTAT})
    with pytest.raises(NotApplicable, match="driver if_em is in FreeBSD's kernel and cannot be unloaded"):
        dut.drivers.reload("if_em")
    assert not any("kldunload" in command for command in shell.commands)


UNKNOWN = failed("sysctl: unknown oid 'x'\n")


def test_settings_of_a_driver() -> None:
    two = OCE + OCE.replace("oce.0", "oce.1")
    dut, _ = host(
        {
            "sysctl dev.oce": [OCE, two, two, two.replace("1.max_rsp_handled: 64", "1.max_rsp_handled: 512")],
            "sysctl hw.oce.buf_size": ["hw.oce.buf_size: 2048\n", UNKNOWN],
        }
    )
    assert dut.drivers.parameter("oce", "max_rsp_handled") == "64"
    assert dut.drivers.parameter("oce", "buf_size") == "2048"
    with pytest.raises(BenchFault, match=r"no setting buf_size in dev\.oce or hw\.oce"):
        dut.drivers.parameter("oce", "buf_size")
    with pytest.raises(BenchFault, match="the devices of oce differ in max_rsp_handled"):
        dut.drivers.parameter("oce", "max_rsp_handled")


def test_sysctl_that_fails_otherwise_is_a_fault() -> None:
    dut, _ = host({"sysctl dev.oce": failed("sysctl: Permission denied\n")})
    with pytest.raises(BenchFault, match="Permission denied"):
        dut.drivers.parameter("oce", "max_rsp_handled")


def test_driver_of_a_port() -> None:
    dut, _ = host(
        {
            "pciconf -l": pciconf(),
            "sysctl dev.oce.0": OCE,
            "sysctl dev.t5nex.0": T5NEX,
            "sysctl -n dev.cxl.1.%parent": "t5nex0\n",
        }
    )
    info = dut.drivers.driver_info("oce0")
    assert (info.driver, info.version, info.firmware) == ("oce", "4.2.116.0", "4.4.249.3")
    info = dut.drivers.driver_info("cxl1")
    assert (info.driver, info.version, info.firmware) == ("t5nex", None, "1.27.1.0")


def test_a_port_on_no_pci_function_is_a_fault() -> None:
    dut, _ = host({"pciconf -l": pciconf(), "sysctl -n dev.ue.0.%parent": "uhub0\n"})
    with pytest.raises(BenchFault, match="ue0 hangs on uhub0, which pciconf does not show"):
        dut.drivers.driver_info("ue0")
    with pytest.raises(BenchFault, match="expected a driver's name and a number"):
        dut.drivers.driver_info("lan")


def test_firmware() -> None:
    loading = "cxgbetool t5nex0 loadfw /boot/firmware/t5fw.bin"
    dut, _ = host(
        {
            "pciconf -l": pciconf(),
            "sysctl dev.t5nex.0": T5NEX,
            "sysctl -n dev.cxl.0.%parent": "t5nex0\n",
            loading: ["", failed("cxgbetool: Invalid argument\n"), failed("sh: cxgbetool: not found\n", 127)],
            "test -f /boot/firmware/t5fw.bin": ["", failed(""), failed("", 2), "", "", ""],
            "test -f /boot/modules/t5fw.ko": failed(""),
        }
    )
    assert dut.firmware.has_image("t5fw.bin") and not dut.firmware.has_image("t5fw.bin")
    with pytest.raises(BenchFault):
        dut.firmware.has_image("t5fw.bin")
    assert dut.firmware.flash("cxl0", "t5fw.bin").refused is None
    assert dut.firmware.flash("cxl0", "t5fw.bin").refused == "cxgbetool: Invalid argument"
    with pytest.raises(BenchFault, match="not found"):
        dut.firmware.flash("cxl0", "t5fw.bin")
    assert dut.undo.firmware("cxl0", "t5fw.bin") == loading
    with pytest.raises(NotApplicable, match=r"^dut: FreeBSD has no tool that writes firmware of sfxge cards$"):
        dut.firmware.flash("sfxge0", "sfn.bin")


def test_an_image_that_is_there_as_a_module_alone_is_not_offered_to_a_card_that_takes_files() -> None:
    """Its tool says of a missing file what sounds like a refusal of the card."""
    dut, shell = host(
        {
            "pciconf -l": pciconf(),
            "sysctl dev.t5nex.0": T5NEX,
            "sysctl -n dev.cxl.0.%parent": "t5nex0\n",
            "cxgbetool t5nex0 loadfw ...": failed("cxgbetool: open: No such file or directory\n"),
            "test -f /boot/firmware/t5fw.bin": failed(""),
        }
    )
    with pytest.raises(BenchFault, match=r"^dut: firmware image /boot/firmware/t5fw\.bin is missing; expected"):
        dut.firmware.flash("cxl0", "t5fw.bin")
    assert not [command for command in shell.commands if command.startswith("cxgbetool")]


def test_firmware_that_the_driver_writes_of_a_module() -> None:
    module, image = "/boot/modules/oc11_4_4_249_3.ko", "oc11-4.4.249.3.ufi"
    writing = "sysctl dev.oce.0.fw_upgrade=oc11_4_4_249_3"
    refused = "sysctl: dev.oce.0.fw_upgrade: Invalid argument\n"
    dut, shell = host(
        {
            "pciconf -l": pciconf(),
            "sysctl dev.oce.0": OCE,
            writing: ["dev.oce.0.fw_upgrade:  -> \n", failed(refused)],
            f"test -f {module}": ["", "", "", failed("")],
            f"test -f /boot/firmware/{image}": failed(""),
        }
    )
    assert dut.firmware.has_image(image)
    first, second = dut.firmware.flash("oce0", image), dut.firmware.flash("oce0", image)
    assert first.refused is None and first.now.firmware == "4.4.249.3"
    assert second.refused == refused.strip()
    before = len(shell.commands)
    with pytest.raises(
        BenchFault, match=f"^dut: firmware module {module} is missing; expected one made of {image}, as"
    ):
        dut.firmware.flash("oce0", image)
    assert writing not in shell.commands[before:]
    assert dut.undo.firmware("oce0", image) == writing
    with pytest.raises(BenchFault, match="file name"):
        dut.undo.firmware("oce0", "../x")


HOSTILE: list[Callable[[FreeBsdHost], object]] = [
    lambda dut: dut.drivers.modinfo("oce;reboot"),
    lambda dut: dut.drivers.loaded_module("$(id)"),
    lambda dut: dut.undo.load_driver("oce;reboot"),
    lambda dut: dut.drivers.reload("../x"),
    lambda dut: dut.drivers.parameter("oce", "a b"),
    lambda dut: dut.firmware.has_image("../../etc/passwd"),
    lambda dut: dut.system.software(["a;b"]),
]


@pytest.mark.parametrize("ask", HOSTILE)
def test_what_is_no_name_reaches_no_shell(ask: Callable[[FreeBsdHost], object]) -> None:
    dut, shell = host({})
    with pytest.raises(BenchFault, match="expected"):
        ask(dut)
    assert shell.commands == []


def fake(folder: Path, name: str, script: str) -> None:
    """A tool of that name, first in the path of :func:`in_sh`."""
    tool = folder / name
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


def in_sh(folder: Path, command: str) -> str:
    environment = {"PATH": f"{folder}:/usr/bin:/bin"}
    return subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=True).stdout
