"""The kernel's message buffer: what the kernel below logs, in the words of this system, and what was written to the
console.

Lines that the tools have logged for this system are taken as they are. Of the lines of the kernel below, changes of a
link are shown in this system's words, errors as they are, and the rest is left out.
"""

from __future__ import annotations

import os
import re

from below import ROOT, Refusal, ports

_OWN = "bsd: "
_LINK = (("Link is Up", "UP"), ("Link is Down", "DOWN"))
_ERROR = 3
_USER = 8
_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")
"""Form in which /dev/kmsg writes what cannot be printed, and a backslash."""


def dmesg(arguments: list[str]) -> int:
    if any(word not in ("-a", "-c") for word in arguments):
        raise Refusal("usage: dmesg [-ac] [-M core [-N system]]")
    for line in lines():
        if not line.startswith("<118>"):
            print(line)
        elif "-a" in arguments:
            print(line.removeprefix("<118>"))
    return 0


def lines() -> list[str]:
    """The buffer, line by line; what programs wrote to the console behind ``<118>``."""
    interfaces = list(ports())
    found = []
    for priority, text in records():
        if priority >= _USER:
            found.append(text.removeprefix(_OWN) if text.startswith(_OWN) else f"<118>{text}")
        elif (told := _told(text, interfaces)) is not None:
            found.append(told)
        elif priority <= _ERROR:
            found.append(text)
    return found


def _told(text: str, interfaces: list[str]) -> str | None:
    """``be2net 0000:81:00.0 oce0: Link is Up`` -> ``oce0: link state changed to UP``."""
    for words, state in _LINK:
        before, found, _ = text.partition(f": {words}")
        if not found:
            before, found, _ = text.partition(f": NIC {words}")
        name = before.rpartition(" ")[2]
        if found and (name in interfaces or not interfaces):
            return f"{name}: link state changed to {state}"
    return None


def records() -> list[tuple[int, str]]:
    """Priority and text of every record of the kernel's log, the oldest first."""
    try:
        log = os.open(f"{ROOT}/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise Refusal(f"dmesg: cannot read the message buffer: {error.strerror}") from error
    rows = []
    try:
        while True:
            try:
                record = os.read(log, 8192)
            except BlockingIOError:
                break
            except BrokenPipeError:
                continue  # overwritten meanwhile: the next one is read
            if not record:
                break
            rows += _split(record.decode(errors="replace"))
    finally:
        os.close(log)
    return rows


def _split(text: str) -> list[tuple[int, str]]:
    """One record of /dev/kmsg (``6,339,5140900,-;text``, then lines of keys); a file of them in tests."""
    rows = []
    for line in text.splitlines():
        head, semicolon, said = line.partition(";")
        priority = head.partition(",")[0]
        if semicolon and priority.isdecimal():
            rows.append((int(priority), _ESCAPED.sub(lambda found: chr(int(found[1], 16)), said)))
    return rows
