"""The reports of a FreeBSD server on itself, its kernel environment, its services, and its restart."""

from __future__ import annotations

import os
import sys

from below import ROOT, Refusal, facts, read, remember, remembered, run

_UNAME = "amnrsvpiKU"
_SERVICES = ("sshd", "syslogd", "devd", "netif", "routing", "powerd")


def uname(arguments: list[str]) -> int:
    letters = "".join(word[1:] for word in arguments if word.startswith("-")) or "s"
    if any(not word.startswith("-") for word in arguments) or any(letter not in _UNAME for letter in letters):
        bad = next((letter for letter in letters if letter not in _UNAME), None)
        first = f"uname: illegal option -- {bad}\n" if bad else ""
        raise Refusal(f"{first}usage: uname [-aiKmnoprsUv]")
    fact = facts()
    values = {
        "s": "FreeBSD",
        "n": (read("/proc/sys/kernel/hostname") or "").strip(),
        "r": str(fact["release"]),
        "v": str(fact["version"]),
        "m": str(fact["machine"]),
        "p": str(fact["machine"]),
        "i": "GENERIC",
        "K": str(fact["osreldate"]),
        "U": str(fact["osreldate"]),
    }
    wanted = "snrvm" if "a" in letters else [letter for letter in "snrvmpiKU" if letter in letters]
    print(" ".join(values[letter] for letter in wanted))
    return 0


def kenv(arguments: list[str]) -> int:
    quiet = "-q" in arguments
    words = [word for word in arguments if word not in ("-q", "-h", "-v", "-N")]
    known = remembered("kenv")
    if words[:1] == ["-u"] and len(words) == 2:
        if words[1] not in known:
            raise Refusal("" if quiet else f"kenv: unable to unset {words[1]}")
        known.pop(words[1])
        remember("kenv", known)
        return 0
    if len(words) > 1 or any(word.startswith("-") for word in words):
        raise Refusal("usage: kenv [-hNq]\n       kenv [-qv] variable[=value]\n       kenv [-q] -u variable")
    if not words:
        for name in sorted(known):
            print(f'{name}="{known[name]}"')
        return 0
    name, equals, value = words[0].partition("=")
    if equals:
        remember("kenv", {**known, name: value.strip('"')})
        print(f'{name}="{value}"')
        return 0
    if name not in known:
        raise Refusal("" if quiet else f"kenv: unable to get {name}")
    print(known[name])
    return 0


def service(arguments: list[str]) -> int:
    if arguments == ["-l"] or arguments == ["-e"]:
        for name in sorted(_SERVICES):
            print(name if arguments == ["-l"] else f"/etc/rc.d/{name}")
        return 0
    if len(arguments) < 2:
        raise Refusal("Usage: service [-j <jail name or id>] [-v] <rc.d script> start|stop|etc.")
    name, action = arguments[0], arguments[1].removeprefix("one").removeprefix("force")
    if name not in _SERVICES:
        raise Refusal(f"{name} does not exist in /etc/rc.d or the local startup\ndirectories (/usr/local/etc/rc.d)")
    program = {"sshd": "sshd", "syslogd": "syslogd"}.get(name)
    pid = _pid_of(program) if program else None
    if action == "status":
        print(f"{name} is running as pid {pid}." if pid else f"{name} is not running.")
        return 0 if pid else 1
    if action in ("restart", "reload") and name == "sshd" and pid:
        os.kill(pid, 1)
        print("Performing sanity check on sshd configuration.")
        return 0
    if action in ("start", "stop", "restart", "reload"):
        raise Refusal(f"{name}: this server's {name} cannot {action} on request")
    raise Refusal(f"{name}: unknown directive '{arguments[1]}'.\nUsage: {name} [start|stop|restart|status]")


def _pid_of(program: str) -> int | None:
    for entry in sorted((name for name in os.listdir(f"{ROOT}/proc") if name.isdecimal()), key=int):
        words = (read(f"/proc/{entry}/cmdline") or "").split("\0")
        if any(os.path.basename(word.split(" ")[0].rstrip(":")) == program for word in words[:2]):
            return int(entry)
    return None


def shutdown(arguments: list[str]) -> int:
    how = [word for word in arguments if word.startswith("-")]
    times = [word for word in arguments if not word.startswith("-")]
    letters = "".join(word[1:] for word in how)
    if len(times) < 1 or any(letter not in "chknopr" for letter in letters):
        raise Refusal("usage: shutdown [-] [-c | -h | -p | -r | -k [-n]] time [warning-message ...]")
    if times[0] != "now" and times[0] != "+0":
        raise Refusal(f"shutdown: {times[0]}: this server takes 'now' and '+0' only")
    print("Shutdown NOW!")
    sys.stderr.write(f"shutdown: [pid {os.getpid()}]\n")
    sys.stderr.flush()
    return _down("reboot" if "r" in letters else "poweroff" if "p" in letters or "h" in letters else "reboot")


def reboot(arguments: list[str]) -> int:
    if any(not word.startswith("-") for word in arguments):
        raise Refusal("usage: reboot [-dlNnpqr] [-k kernel]")
    return _down("reboot")


def halt(_: list[str]) -> int:
    return _down("poweroff")


poweroff = halt


def _down(how: str) -> int:
    """The init of the system below ends everything and goes down."""
    status, _, said = run("init", {"reboot": "6", "poweroff": "0"}[how])
    if status:
        raise Refusal(f"shutdown: {said.strip()}")
    return 0


def elf_machine(path: str) -> int | None:
    """The processor that an ELF file is for; None when it is no ELF file."""
    try:
        with open(path, "rb") as file:
            head = file.read(20)
    except OSError:
        return None
    return int.from_bytes(head[18:20], "little") if head[:4] == b"\x7fELF" else None


def file(arguments: list[str]) -> int:
    brief = "-b" in arguments
    machines = {62: "ELF 64-bit LSB relocatable, x86-64", 3: "ELF 32-bit LSB shared object, Intel 80386"}
    failed = 0
    for path in [word for word in arguments if not word.startswith("-")]:
        machine = elf_machine(f"{ROOT}{path}")
        if not os.path.exists(f"{ROOT}{path}"):
            text, failed = f"cannot open `{path}' (No such file or directory)", 1
        elif machine in machines:
            text = f"{machines[machine]}, version 1 (FreeBSD), not stripped"
        else:
            text = "ASCII text"
        print(text if brief else f"{path}: {text}")
    return failed
