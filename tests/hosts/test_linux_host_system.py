"""LinuxHost, the system part, against scripted answers."""

from __future__ import annotations

import lzma
import re
import subprocess
from operator import attrgetter
from pathlib import Path

import pytest
from examples import text_of
from fake_shell import Answer, FakeShell, Script, failed, lines

from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ModuleRefused, ReadError
from niclab.hosts.host_records import OsRelease
from niclab.hosts.kernel.kernel_log import KernelLogMark, LogCut
from niclab.hosts.linux_host import LinuxHost
from niclab.transports import CommandTimeout, ConnectionLost

BOOT_ID = "6a1f0c9e-0000-4000-8000-0123456789ab"
OTHER_BOOT_ID = "7b1f0c9e-0000-4000-8000-0123456789ab"
BOOT_ID_COMMAND = "cat /proc/sys/kernel/random/boot_id"
MARK_COMMAND = 'read -r boot_id < /proc/sys/kernel/random/boot_id && echo "$boot_id" && echo "niclab mark...'
LOG_COMMAND = 'read -r boot_id < /proc/sys/kernel/random/boot_id && echo "$boot_id" && dmesg -rS'
LOADED_COMMAND = "for a in version srcversion..."
RELOAD_COMMAND = "modprobe -r e1000e && modprobe e1000e"


# users, taints, a module that stays for ever, and one of a kernel that unloads none (kernel/module/procfs.c)
MODULES = """e1000e 315392 0 - Live 0xffffffffc0a3b000
mdio 16384 2 bnx2x,ixgbe, Live 0xffffffffc0711000
be2net 147456 0 - Loading 0xffffffffc0b00000 (OE+)
xen_fs 16384 1 [permanent], Live 0x0000000000000000
old 20480 - - Live 0x00000000
"""


def loaded(version: str = "", srcversion: str = "") -> str:
    return lines(f"version={version}", f"srcversion={srcversion}") + MODULES


def host(script: dict[str, Script]) -> tuple[LinuxHost, FakeShell]:
    shell = FakeShell(script)
    return LinuxHost(shell, "dut"), shell


def test_construction_runs_nothing() -> None:
    shell = FakeShell({})
    assert LinuxHost(shell, "dut").name == "dut"
    assert shell.commands == []


def test_time_and_identity() -> None:
    dut, _ = host(
        {
            BOOT_ID_COMMAND: f"{BOOT_ID}\n",
            "date +%s.%N": "1795258980.123456789\n",
            "uname -r": "6.1.0-18-amd64\n",
            "cat /etc/os-release": 'ID=debian\nVERSION_ID="12"\n',
            "id -u": ["0\n", "1000\n"],
        }
    )
    assert dut.system.boot_id() == BOOT_ID
    assert dut.system.clock_s() == pytest.approx(1795258980.123456789)
    assert dut.system.kernel() == "6.1.0-18-amd64"
    assert dut.system.os_release().id == "debian"
    assert dut.system.is_root() is True
    assert dut.system.is_root() is False


def test_available_memory_is_what_the_kernel_calls_so() -> None:
    text = "MemTotal:        2035396 kB\nMemFree:          123 kB\nMemAvailable:     456 kB\nHugePages_Total:  0\n"
    assert host({"cat /proc/meminfo": text})[0].system.available_bytes() == 1024 * 456


@pytest.mark.parametrize(
    ("command", "text", "method"),
    [
        ("cat /proc/meminfo", "MemTotal: 1 kB\nMemFree: 1 kB\n", "system.available_bytes"),
        ("date +%s.%N", "1795258980.%N\n", "system.clock_s"),
        (BOOT_ID_COMMAND, "\n", "system.boot_id"),
        ("uname -r", "\n", "system.kernel"),
    ],
)
def test_unreadable_answer_names_host_and_command(command: str, text: str, method: str) -> None:
    dut, _ = host({command: text})
    with pytest.raises(ReadError) as error:
        attrgetter(method)(dut)()
    assert str(error.value).startswith(f"dut: `{command}`: cannot read ")


def test_failed_command_names_host_command_status_and_words() -> None:
    dut, _ = host({"cat /proc/stat": failed("cat: /proc/stat: Permission denied\n")})
    with pytest.raises(BenchFault) as error:
        dut.counts.cpu_times()
    assert str(error.value) == (
        "dut: `cat /proc/stat` failed with exit status 1, said: cat: /proc/stat: Permission denied"
    )


def test_command_without_exit_status_failed() -> None:
    dut, _ = host({"uname -r": Answer("6.1.0\n", exit_status=None)})
    with pytest.raises(BenchFault, match=r"no exit status"):
        dut.system.kernel()


TOOLS: dict[str, Script] = {
    "command -v ethtool && ethtool --version": "/usr/sbin/ethtool\nethtool version 6.1\n",
    "command -v iperf3 && iperf3 --version": failed("", 127),
    "command -v ip && ip -V": "/usr/sbin/ip\nip utility, iproute2-6.1.0, libbpf 1.1.2\n",
    "command -v foo && foo --version": Answer("/usr/bin/foo\n", 2, "Usage: foo [-4] HOST\n"),
    "cat /etc/os-release": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "uname -r": "6.1.0-18-amd64\n",
}


def test_the_software_is_read_by_one_command() -> None:
    dut, shell = host(TOOLS)
    found = dut.system.software(["ethtool", "iperf3", "ip", "foo"])
    assert found.release == OsRelease("debian", "12", "Debian GNU/Linux 12 (bookworm)")
    assert found.kernel == "6.1.0-18-amd64"
    assert found.tools == {"ethtool": "6.1", "iperf3": None, "ip": "6.1.0", "foo": "unknown"}
    assert len(shell.commands) == 1


def test_software_that_cannot_be_read_names_its_command() -> None:
    dut, _ = host({"cat /etc/os-release": failed("cat: no such file\n"), "uname -r": "6.1.0-18-amd64\n"})
    with pytest.raises(BenchFault, match=r"`cat /etc/os-release` failed with exit status 1, said: cat: no such file"):
        dut.system.software([])


class RealShell:
    """This machine's ``sh``, with tools of the folder first."""

    def __init__(self, folder: Path) -> None:
        self._environment = {"PATH": f"{folder}:/usr/bin:/bin"}

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Answer:
        words = ["sh", "-c", command]
        done = subprocess.run(
            words, env=self._environment, capture_output=True, text=True, timeout=timeout_s, check=check
        )
        return Answer(done.stdout, done.returncode, done.stderr)


def test_tools_of_a_real_shell(tmp_path: Path) -> None:
    """Standard error comes last; a tool that fails, or ends its shell, is one answer among others."""
    scripts = {
        "warns": "echo 'warning 9.9' >&2; echo 'warns 1.2'",
        "refuses": "echo 'usage 4.5' >&2; exit 2",
        "silent": "",
        "talks": "printf 'talks 3.1'",
        "errs": "echo OpenSSH_9.2p1 >&2",
    }
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    found = LinuxHost(RealShell(tmp_path), "dut").system.software([*scripts, "nosuch", "errs"]).tools
    versions = {"warns": "1.2", "refuses": "unknown", "silent": "unknown", "talks": "3.1", "errs": "9.2p1"}
    assert found == {**versions, "nosuch": None}


def test_tools_of_a_shell_that_ends_early_are_a_fault() -> None:
    class Cut(RealShell):
        def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Answer:
            answer = super().run(command, timeout_s=timeout_s, check=check)
            return Answer(answer.stdout[:-30], None, answer.stderr)

    with pytest.raises(BenchFault, match="`command -v sh && sh --version` failed with no exit status"):
        LinuxHost(Cut(Path("/")), "dut").system.software(["ls", "sh"])


@pytest.mark.parametrize("name", ["ethtool; reboot", "", "-x", "$(id)", "/bin/sh"])
def test_tool_names_are_checked_before_anything_runs(name: str) -> None:
    dut, shell = host({})
    with pytest.raises(BenchFault, match=r"dut: tool .*; expected the name of a program"):
        dut.system.software([name])
    assert shell.commands == []


def test_modinfo() -> None:
    dut, _ = host({"modinfo e1000e": text_of("modinfo", "e1000e-outoftree")})
    assert dut.drivers.modinfo("e1000e").version == "3.8.4-NAPI"


def test_modinfo_of_an_unknown_module() -> None:
    dut, _ = host({"modinfo nosuch": failed("modinfo: ERROR: Module nosuch not found.\n")})
    with pytest.raises(BenchFault, match=r"dut: `modinfo nosuch` .*Module nosuch not found"):
        dut.drivers.modinfo("nosuch")


def test_loaded_module() -> None:
    dut, _ = host({LOADED_COMMAND: loaded(srcversion="66BAFAFEFF141B143DADEC6")})
    module = dut.drivers.loaded_module("e1000e")
    assert module is not None
    assert (module.version, module.srcversion) == (None, "66BAFAFEFF141B143DADEC6")
    assert dut.drivers.loaded_module("igb") is None


def test_module_names_with_a_dash_are_found_with_an_underscore() -> None:
    dut, shell = host({LOADED_COMMAND: lines("version=", "srcversion=", "snd_pcm 1 0 - Live 0x0")})
    assert dut.drivers.loaded_module("snd-pcm") is not None
    assert "/sys/module/snd_pcm/" in shell.commands[0]


def test_an_unreadable_module_list_is_not_an_unloaded_module() -> None:
    dut, _ = host({LOADED_COMMAND: lines("version=", "srcversion=")})
    with pytest.raises(ReadError, match=r"dut: `.*cat /proc/modules`: .*at least one module"):
        dut.drivers.loaded_module("e1000e")


@pytest.mark.parametrize("text", ["", "e1000e 1 0 - Live 0x0\n", "version=1\nx\nsrcversion=2\ne1000e 1 0 - Live 0x0\n"])
def test_a_loaded_module_without_its_attributes_is_an_error(text: str) -> None:
    dut, _ = host({LOADED_COMMAND: text})
    with pytest.raises(ReadError, match="'version=', 'srcversion=' and /proc/modules"):
        dut.drivers.loaded_module("e1000e")


def test_reload_driver() -> None:
    dut, shell = host({RELOAD_COMMAND: "", LOADED_COMMAND: loaded()})
    dut.drivers.reload("e1000e")
    assert shell.commands[0] == RELOAD_COMMAND
    assert shell.timeouts_s[RELOAD_COMMAND] >= 120


def test_reload_of_a_module_in_use_says_modprobes_words() -> None:
    dut, _ = host({RELOAD_COMMAND: failed("modprobe: FATAL: Module e1000e is in use.\n")})
    with pytest.raises(BenchFault, match=r"FATAL: Module e1000e is in use"):
        dut.drivers.reload("e1000e")


@pytest.mark.parametrize(
    ("said", "lacks_key"),
    [
        ("Unknown symbol in module, or unknown parameter (see dmesg)", False),
        ("Exec format error", False),
        ("Key was rejected by service", True),
        ("Required key not available", True),
    ],
)
def test_a_module_that_the_kernel_refuses_is_told_apart(said: str, lacks_key: bool) -> None:
    dut, _ = host({RELOAD_COMMAND: failed(f"modprobe: ERROR: could not insert 'e1000e': {said}\n")})
    with pytest.raises(ModuleRefused, match=re.escape(said)) as caught:
        dut.drivers.reload("e1000e")
    assert caught.value.lacks_key is lacks_key


@pytest.mark.parametrize(
    ("lockdown", "refused"),
    [("none [integrity] confidentiality", True), ("[none] integrity confidentiality", False), ("", False)],
)
def test_a_kernel_that_is_locked_down_refuses_a_module_for_its_key(lockdown: str, refused: bool) -> None:
    """Secure Boot of Debian: EPERM, and `Lockdown: modprobe: unsigned module loading is restricted` in the log."""
    said = "modprobe: ERROR: could not insert 'e1000e': Operation not permitted\n"
    dut, _ = host({RELOAD_COMMAND: failed(said), "cat /sys/kernel/security/lockdown": lockdown})
    with pytest.raises(BenchFault, match="Operation not permitted") as caught:
        dut.drivers.reload("e1000e")
    assert isinstance(caught.value, ModuleRefused) is refused
    assert not refused or caught.value.lacks_key  # type: ignore[attr-defined]


def test_reload_that_leaves_no_module_is_a_fault() -> None:
    """Negative control: modprobe says 0 (an install line of modprobe.d may), nothing is loaded."""
    dut, _ = host({RELOAD_COMMAND: "", LOADED_COMMAND: lines("version=", "srcversion=", "igb 1 0 - Live 0x0")})
    with pytest.raises(BenchFault, match=r"dut: module e1000e is not loaded after"):
        dut.drivers.reload("e1000e")


def test_dmesg_since_a_mark() -> None:
    written: list[str] = []

    def write(command: str) -> str:
        written.append(command.split('"')[3])
        return f"{BOOT_ID}\n"

    def log(_: str) -> str:
        return lines(
            BOOT_ID, "[    1.000000] old", f"[    2.000000] {written[0]}", "[    3.000000] e1000e: eth0 Link is Down"
        )

    dut, _ = host({MARK_COMMAND: write, LOG_COMMAND: log})
    mark = dut.system.dmesg_mark()
    assert [line.text for line in dut.system.dmesg_since(mark)] == ["e1000e: eth0 Link is Down"]


def test_two_marks_differ() -> None:
    dut, _ = host({MARK_COMMAND: f"{BOOT_ID}\n"})
    assert dut.system.dmesg_mark() != dut.system.dmesg_mark()


@pytest.mark.parametrize(
    ("boot", "log", "expected", "booted"),
    [
        (BOOT_ID, ["[1.000000] old", "[2.000000] niclab mark 00", "[3.000000] new"], ["new"], False),
        (BOOT_ID, ["[3.000000] cut"], ["cut"], False),
        (OTHER_BOOT_ID, ["[0.000000] Linux"], ["Linux"], True),
    ],
    ids=["marked", "overwritten", "booted"],
)
def test_a_look_is_one_command_from_mark_to_mark(boot: str, log: list[str], expected: list[str], booted: bool) -> None:
    def answer(command: str) -> str:
        token = command.split('"')[3]
        return lines("shown", "@ kernel log", boot, *log, f"[    4.000000] {token}", "[    5.000000] next look's")

    dut, shell = host({"show this; echo '@ kernel log'; read -r boot_id ...": answer})
    look = dut.system.look(KernelLogMark(BOOT_ID, "niclab mark 00"), "show this")
    assert [line.text for line in look.lines] == expected and look.booted is booted
    assert look.lost is (expected == ["cut"])
    assert look.shown == "shown\n" and len(shell.commands) == 1
    assert look.mark.boot_id == boot and f'echo "{look.mark.token}" > /dev/kmsg && dmesg' in shell.commands[0]


def test_a_look_without_a_boot_id_is_a_fault() -> None:
    dut, _ = host({"echo '@ kernel log'; ...": "@ kernel log\n"})
    with pytest.raises(ReadError, match=r"dut: .*expected a UUID"):
        dut.system.look(KernelLogMark(BOOT_ID, "niclab mark 00"))


def test_an_overwritten_mark_is_a_fault_not_an_empty_log() -> None:
    dut, _ = host({LOG_COMMAND: lines(BOOT_ID, "[    9.000000] new")})
    with pytest.raises(LogCut, match=r"ring buffer has overwritten it") as caught:
        dut.system.dmesg_since(KernelLogMark(BOOT_ID, "niclab mark 00"))
    assert [line.text for line in caught.value.lines] == ["new"] and not caught.value.booted


def test_a_mark_of_another_boot_is_a_fault() -> None:
    dut, _ = host({LOG_COMMAND: lines(OTHER_BOOT_ID, "[    0.000000] Linux")})
    with pytest.raises(LogCut, match=r"dut: has booted since") as caught:
        dut.system.dmesg_since(KernelLogMark(BOOT_ID, "niclab mark 00"))
    assert [line.text for line in caught.value.lines] == ["Linux"] and caught.value.booted


@pytest.mark.parametrize(
    "answer",
    [
        Answer(),
        Answer(exit_status=None),
        Answer(exit_status=143),
        Answer(exit_status=-1),
        Answer(raises=ConnectionLost("dut: connection lost")),
        Answer(raises=CommandTimeout("dut: no answer")),
    ],
    ids=["answered", "no status", "SIGTERM", "signal", "lost", "silent"],
)
def test_halt_returns_however_the_connection_ends(answer: Answer) -> None:
    dut, shell = host({"sync; reboot": answer})
    dut.system.reboot()
    assert shell.timeouts_s["sync; reboot"] <= 30


def test_reboot_that_was_refused_is_a_fault() -> None:
    dut, _ = host({"sync; reboot": failed("sh: 1: reboot: not found\n", 127)})
    with pytest.raises(BenchFault, match=r"reboot: not found"):
        dut.system.reboot()


NOTE_COMMAND = (
    "if [ -e /sys/module/e1000e/notes/.note.gnu.build-id ];"
    " then od -An -v -tx1 /sys/module/e1000e/notes/.note.gnu.build-id; fi"
)
NOTE = """ 04 00 00 00 14 00 00 00 03 00 00 00 47 4e 55 00
 8f 3a 11 5e 02 77 c0 9d 41 6b aa 10 fe 3c 58 90
 21 d4 e6 7b
"""


@pytest.mark.parametrize(("answer", "same"), [("1\n0 0 0 0\n", True), ("0\n0 0 0 1\n", False)])
def test_the_build_in_memory_is_compared_with_the_file(answer: str, same: bool) -> None:
    dut, shell = host({NOTE_COMMAND: NOTE, "modinfo...": text_of("modinfo", "e1000e-outoftree"), "bash -c...": answer})
    assert dut.drivers.is_build_on_disk("e1000e") is same
    assert "8f 3a 11 5e" in shell.commands[-1]


@pytest.mark.parametrize("suffix", ["ko", "ko.xz"])
@pytest.mark.parametrize("build_id", [bytes(range(20)), b"\n" * 20, b"\0\1" * 10, bytes(range(0x80, 0x94))])
def test_any_build_id_is_found_in_a_file(tmp_path: Path, build_id: bytes, suffix: str) -> None:
    """Line feeds, zeros and bytes that are no text, across the lines of od, in a plain and in a packed file."""
    note = bytes.fromhex("04000000 14000000 03000000 474e5500") + build_id
    module = tmp_path / f"e1000e.{suffix}"
    pack = lzma.compress if suffix.endswith("xz") else bytes
    described = text_of("modinfo", "e1000e-outoftree")
    named = re.sub(r"(?m)^(filename: *).*$", rf"\g<1>{module}", described)
    fake = FakeShell({NOTE_COMMAND: note.hex(" "), "modinfo...": named})

    class Mixed(RealShell):
        def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Answer:
            asked = super() if "PIPESTATUS" in command else fake
            return asked.run(command, timeout_s=timeout_s, check=check)

    dut = LinuxHost(Mixed(tmp_path), "dut")
    module.write_bytes(pack(b"\x7fELF" + note + b"rest"))
    assert dut.drivers.is_build_on_disk("e1000e") is True
    module.write_bytes(pack(b"\x7fELF" + note[:-1] + b"\xff rest"))
    assert dut.drivers.is_build_on_disk("e1000e") is False


def test_a_module_without_build_id_cannot_be_compared() -> None:
    dut, _ = host({NOTE_COMMAND: ""})
    assert dut.drivers.is_build_on_disk("e1000e") is None


@pytest.mark.parametrize("answer", ["", "0\n1 0 0 1\n", "0\n0 1 0 1\n", "0\n0 0 0 2\n", "0\n"])
def test_a_file_that_cannot_be_searched_is_a_fault_not_a_difference(answer: str) -> None:
    dut, _ = host({NOTE_COMMAND: NOTE, "modinfo...": text_of("modinfo", "e1000e-outoftree"), "bash -c...": answer})
    with pytest.raises(BenchFault, match="dut: `bash -c"):
        dut.drivers.is_build_on_disk("e1000e")


@pytest.mark.parametrize("note", [" 04 00\n", NOTE.replace("14", "13"), "od: error\n"])
def test_an_unreadable_build_id_is_an_error(note: str) -> None:
    dut, _ = host({NOTE_COMMAND: note})
    with pytest.raises(ReadError, match=r"dut: `if .*build-id"):
        dut.drivers.is_build_on_disk("e1000e")
