"""What a console's log says happened; what is none of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niclab.hosts.console_events import _DEATHS, ConsoleEventKind, read_console
from niclab.hosts.errors import ReadError
from niclab.transports.kernel_death import DeathWatch, Sign

Kind = ConsoleEventKind


def kinds(text: str) -> list[ConsoleEventKind]:
    return [event.kind for event in read_console(text).events]


def test_every_sign_of_death_is_an_event() -> None:
    assert set(_DEATHS) == set(Sign)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("dut login: ", Kind.LOGIN),
        ("login:", Kind.LOGIN),
        ("\x1b[?25hdut login: \x1b[0m", Kind.LOGIN),
        ("\0\0dut login: ", Kind.LOGIN),
        ("login: panic: bad event", Kind.PANIC),
        ("[   12.3] panic: bad event", Kind.PANIC),
        ("Login incorrect", Kind.LOGIN_FAILED),
        ("db>", Kind.DEBUGGER),
        ("reboot: Restarting system", Kind.REBOOT),
        ("[  1.2] reboot: Power down", Kind.POWEROFF),
        ("Press F2 to enter SETUP", Kind.BIOS),
        ("INFO: task kworker/0:1:17 blocked for more than 122 seconds.", Kind.HUNG_TASK),
        ("Linux version 2.6.18-308.el5 (mockbuild@x86) (gcc 4.1.2) #1 SMP", Kind.KERNEL),
        ("Copyright (c) 1992-2012 The FreeBSD Project.", Kind.KERNEL),
        ("2026-11-21T10:00:00.123Z [    0.000000] Linux version 6.1.0-18-amd64", Kind.KERNEL),
        ("[09:47:52] SeaBIOS (version rel-1.12.1.3-0-g300e8b7)", Kind.BIOS),
        ("Press F10 key now for boot menu", Kind.BIOS),
        ("\\\b|\b/\b-\bCopyright (c) 1992-2016 The FreeBSD Project.", Kind.KERNEL),
        ("-\\|/-\\/boot/kernel/kernel text=0xfe2da8 |/-\\", Kind.LOADER),
        (">> FreeBSD/sparc64 boot block", Kind.LOADER),
        ("FreeBSD/armv6 U-Boot loader, Revision 1.2", Kind.LOADER),
        ("<5>[    0.000000] Linux version 6.1.0-18-amd64", Kind.KERNEL),
        ("[    0.000000][    T0] Linux version 6.6.0", Kind.KERNEL),
        ("Welcome to emergency mode!", Kind.EMERGENCY),
        ("Rebooting in 30 seconds..", Kind.REBOOT),
    ],
)
def test_an_event_is_told(line: str, kind: ConsoleEventKind) -> None:
    assert kinds(f"something else\n{line}\nand more\n") == [kind]


@pytest.mark.parametrize(
    "line",
    [
        "Last login: Fri Nov 21 10:00:00 on ttyS0",
        "dut login: root",
        "traps: nginx[812] general protection fault ip:7f22 sp:7ffd error:0",
        "rcu: Hierarchical RCU implementation.",
        "[    1.2] NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
        "e1000e: eth0 NIC Link is Up 1000 Mbps",
        "FreeBSD/amd64 (boot) (ttyu0)",
        "Copyright (c) 1979, 1980, 1983, 1986, 1988, 1989, 1991, 1992, 1993, 1994",
    ],
)
def test_what_is_no_event_of_a_console(line: str) -> None:
    """Lines that only a console or a kernel writes are readable; nothing happened in them."""
    assert read_console(f"[    1.000000] usb 1-1: new device\n{line}\n").events == ()


@pytest.mark.parametrize(
    "line",
    [
        "please login: at the other terminal",
        "Kernel command lines are documented elsewhere",
        "dont panic: all is well",
        "sqlite3db> ",
        "Fan 1            | 5400 RPM          | ok",
    ],
)
def test_what_no_console_writes_is_refused(line: str) -> None:
    with pytest.raises(ReadError, match=r"cannot read console: text .*: expected the log of a console"):
        read_console(f"{line}\n")


@pytest.mark.parametrize(
    "text",
    [
        "[    1.434567] be2net 0000:04:00.0: FW config: function_mode=0x3, function_caps=0x7\n",
        "oce0: <Emulex CNA NIC function:0> mem 0xdf580000-0xdf583fff irq 32 at device 0.0 on pci4\n",
        "e1000e: eth0 NIC Link is Up 1000 Mbps\n",
        "\x1b[0;32m[  OK  ] Started D-Bus.\n",
        "login: root\nPassword:\n",
    ],
)
def test_a_quiet_console_is_readable(text: str) -> None:
    assert read_console(text).events == ()


def test_events_have_their_place_and_time() -> None:
    text = "\r\n\x1b[0m[   12.500000] Kernel panic - not syncing: x\r\nRebooting in 1 seconds..\r\n"
    panic, reboot = read_console(text).events
    assert (panic.kind, panic.line, panic.uptime_s, panic.text) == (
        Kind.PANIC, 2, 12.5, "Kernel panic - not syncing: x",
    )  # fmt: skip
    assert text[panic.offset :].startswith("\x1b[0m[   12.5")
    assert (reboot.line, text[reboot.offset :][:9]) == (3, "Rebooting")


def test_a_screen_that_moves_the_cursor_is_read_by_pieces() -> None:
    assert kinds("\x1b[2J\x1b[01;01HGNU GRUB  version 2.06\x1b[24;01Hdut login: ") == [Kind.GRUB, Kind.LOGIN]


def test_a_line_that_is_written_over_is_read_by_pieces() -> None:
    assert kinds("10%\r20%\rPower down.\r\n") == [Kind.POWEROFF]


def test_wrong_bytes_spoil_no_event() -> None:
    assert kinds("\ufffd\ufffdKernel panic - not syncing: x\ufffd\n") == [Kind.PANIC]


@given(st.lists(st.sampled_from(["dut login: ", "reboot: Power down", "hello", "db> ", "Oops: 0002 [#1]", "BUG: x"])))
def test_the_same_deaths_as_a_waiting_console_sees(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines) + "GNU GRUB\n"
    deaths = [event.offset for event in read_console(text).events if event.kind in set(_DEATHS.values())]
    assert deaths == DeathWatch().feed(text)
