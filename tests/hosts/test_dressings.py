"""The same record whatever a terminal, a page or a mail puts around an output: prompts, colours, margins, fences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from niclab.commands.parse import parse
from niclab.hosts.errors import ReadError

EXAMINED = Path(__file__).parent / "examined"
COMMANDS = {
    **{"ethtool": "ethtool eth0", "ip-link": "ip -d -s link", "bonding": "cat /proc/net/bonding/bond0"},
    **{"vlan": "cat /proc/net/vlan/config", "interrupts": "cat /proc/interrupts", "ipmi": "ipmitool sdr elist"},
    **{"ifconfig-freebsd": "ifconfig -m", "sysctl-freebsd": "sysctl dev", "netstat-freebsd": "netstat -i"},
    **{"vmstat-freebsd": "vmstat -i", "dmesg-freebsd": "dmesg", "pkg": "pkg info", "dpkg": "dpkg -l"},
}
GREEN, PLAIN = "\x1b[01;32m", "\x1b[00m"


def command(kind: str) -> str:
    return COMMANDS.get(kind, kind.replace("-", " -"))


def each_line(change: Callable[[str], str]) -> Callable[[str, str], str]:
    return lambda _kind, text: "\n".join(change(line) if line.strip() else line for line in text.split("\n"))


DRESSINGS: dict[str, Callable[[str, str], str]] = {
    "returns": each_line(lambda line: line.removesuffix("\r") + "\r"),
    "blanks at line ends": each_line(lambda line: line + "   "),
    "a margin": each_line(lambda line: "    " + line),
    "a prompt before": lambda kind, text: f"[root@dut ~]# {command(kind)}\n{text}",
    "a prompt on both sides": lambda kind, text: f"\n\nroot@dut:~$ sudo {command(kind)}\n{text}\nroot@dut:~$ ",
    "FreeBSD's prompt": lambda kind, text: f"root@dut:~ # {command(kind)}\n{text}\nroot@dut:~ # ",
    "coloured prompts": lambda kind, text: (
        f"{GREEN}root@dut{PLAIN}:~# {command(kind)}\n{text}\n{GREEN}root@dut{PLAIN}:~# "
    ),
    "bracketed paste": lambda kind, text: f"\x1b[?2004h[root@dut ~]# {command(kind)}\r\n\x1b[?2004l\r{text}",
    "the title of a window": lambda kind, text: f"\x1b]0;root@dut: ~\x07root@dut:~# {command(kind)}\n{text}",
    "a coloured match": each_line(lambda line: f"\x1b[01;31m\x1b[K{line[:3]}\x1b[m\x1b[K{line[3:]}"),
    "a fence": lambda _kind, text: f"```\n{text}\n```\n",
    "script": lambda _kind, text: (
        f"Script started on Tue 01 Jan 2019 10:00:00\n{text}\nScript done on Tue 01 Jan 2019\n"
    ),
    "ssh": lambda _kind, text: (
        "Warning: Permanently added 'dut' (ED25519) to the list of known hosts.\nroot@dut's password: \n"
        "(root@dut) Password for root@dut: \nWarning: Identity file k not accessible: No such file or directory.\n"
        f"Last login: Tue Jan  1 10:00:00 2019 from 10.0.0.1\n{text}\nlogout\nConnection to dut closed.\n"
    ),
    "complaints of the shell and of sudo": lambda _kind, text: (
        "-bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8): No such file or directory\n"
        f"sudo: unable to resolve host dut: Name or service not known\n{text}\nYou have new mail in /var/mail/root\n"
    ),
    "sudo -S": lambda _kind, text: f"[sudo] password for joe: {text.lstrip(chr(10))}",
    "a byte order mark": lambda _kind, text: "\ufeff" + text,
}
# A console's log has its own prompts and screens. A text that begins with a prompt has had its dressing.
UNDRESSED = ("console",)
PROMPTS = "#[$>\x1b"
BEGUN = ("~ #", "root@", "user@", "zcu102", "solopharm", "cat ", "netperf ", "lspci ", "ethtool -")
# A log's and a run's time belongs to the command, which these dressings make up.
TIMED = {"netperf", "iperf3"}


def texts(kind: str) -> list[dict[str, Any]]:
    entries = json.loads((EXAMINED / f"{kind}.json").read_text())["read"]
    return [
        entry
        for entry in entries
        if (first := next(line for line in entry["text"] if line.strip()))
        and first[0] not in PROMPTS
        and not first.startswith(BEGUN)
        and "command" not in entry
        and not any(line.endswith("=") for line in entry["text"])  # a mail as it travels bears no other dressing
    ]


@pytest.mark.parametrize("dressing", DRESSINGS)
@pytest.mark.parametrize(
    "kind", sorted(path.stem for path in EXAMINED.glob("*.json") if path.stem not in (*UNDRESSED, *TIMED))
)
def test_what_stands_around_an_output_changes_nothing(kind: str, dressing: str) -> None:
    for entry in texts(kind):
        text = "\n".join(entry["text"])
        plain = parse(kind, text)
        assert parse(kind, DRESSINGS[dressing](kind, text)) == plain, entry["name"]


@pytest.mark.parametrize("dressing", DRESSINGS)
def test_a_dressing_alone_is_no_output(dressing: str) -> None:
    for kind in ("ethtool-i", "ethtool", "lspci", "ipmi", "sysctl-freebsd", "ifconfig-freebsd", "netperf", "dmesg"):
        with pytest.raises(ReadError):
            parse(kind, DRESSINGS[dressing](kind, ""))


@pytest.mark.parametrize(
    "last",
    ["Killed", "client_loop: send disconnect: Broken pipe", "Connection to dut closed by remote host.", "^C"],
)
def test_an_output_that_broke_off_is_no_record(last: str) -> None:
    """Nobody knows what is missing. Logs and runs of traffic tell it by themselves."""
    told = ("dmesg", "dmesg-freebsd", *TIMED, *UNDRESSED)
    for kind in (path.stem for path in EXAMINED.glob("*.json") if path.stem not in told):
        for entry in texts(kind):
            text = "\n".join(entry["text"])
            if "#" not in text and "$" not in text:  # of a session, the part that is whole is read
                with pytest.raises(ReadError):
                    parse(kind, f"{text}\n{last}\n")
