"""The tools of a FreeBSD server: one program under many names, each printing what the tool of that name prints.

It acts on the Linux kernel below; see ../README.md. ``bsd.py serve`` stays resident and answers ``client.c``, which
stands under the names of the tools; ``bsd.py TOOL ARGUMENTS`` is one call without it.
"""

from __future__ import annotations

import importlib
import os
import sys

TOOLS = {
    "ifconfig": "ifconfig",
    "sysctl": "sysctl",
    "kldload": "kld",
    "kldunload": "kld",
    "kldstat": "kld",
    "pciconf": "pciconf",
    "netstat": "netstat",
    "sockstat": "netstat",
    "vmstat": "vmstat",
    "dmesg": "messages",
    "pkg": "packages",
    "pkg_add": "packages",
    "pkg_delete": "packages",
    "pkg_info": "packages",
    "cxgbetool": "cxgbetool",
    "uname": "system",
    "kenv": "system",
    "service": "system",
    "shutdown": "system",
    "reboot": "system",
    "halt": "system",
    "poweroff": "system",
    "file": "system",
    "ping": "ping",
    "ping6": "ping",
    "rc.bsd": "boot",
}
"""Name -> module with a function of that name (other signs than letters, digits and _ left out)."""
_CHANGERS = ("kldload", "kldunload", "pkg", "pkg_add", "pkg_delete", "cxgbetool")


def main(arguments: list[str]) -> int:
    name = os.path.basename(arguments[0])
    if name not in TOOLS:
        sys.stderr.write(f"{name}: not a tool of this server\n")
        return 127
    from below import Refusal, ToolMissing, alone

    try:
        run = getattr(importlib.import_module(TOOLS[name]), name.replace(".", "_"))
        if _changes(name, arguments[1:]):
            alone()
        status: int = run(arguments[1:])
        sys.stdout.flush()
    except Refusal as refusal:
        sys.stdout.flush()
        sys.stderr.write(f"{refusal}\n" if str(refusal) else "")
        return refusal.status
    except ToolMissing as error:
        sys.stderr.write(f"{name}: {error}\n")
        return 71  # EX_OSERR of sysexits(3)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    return status


def _changes(name: str, words: list[str]) -> bool:
    """Does a call change what is remembered? Such calls come one after the other, until each ends."""
    if name == "ifconfig":
        while words and words[0].startswith("-"):
            words = words[1:]
        return len(words) > 1
    return name in _CHANGERS or (name in ("sysctl", "kenv") and any("=" in word for word in words))


def _resident() -> None:
    """Serve in the background, in a session of its own."""
    from serve import serve

    if os.fork():
        return
    os.setsid()
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("-1000")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    serve(main)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        _resident()
    else:
        sys.exit(main(sys.argv[1:]))
