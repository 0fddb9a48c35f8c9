"""Commands that may take a link down for a moment, whether they are meant to or not."""

from __future__ import annotations

import re

_SHOWING = "-i -k -g -c -a -l -S -x -m -d -e -T -P -n -u -w -I -h --json --include-statistics --version"
_ETHTOOL_SHOWS = frozenset(_SHOWING.split(" "))
_ETHTOOL = re.compile(r"\bethtool((?:\s+-\S+)*)")
_OTHERS = re.compile(
    r"\blink (?:set|add|del)|\bip -(?:batch|b)\b"  # also in the input of `ip -batch`
    r"|(?<!command -v )\b(?:modprobe|insmod|rmmod|kldload|kldunload|devctl)\b(?! --version)|\bsetpci [^;&|)]*="
    r"|\b(?:reboot|shutdown|poweroff|halt|systemctl|service|nmcli|networkctl|ifup|ifdown|ifenslave)\b"
    r"|\b(?:apt-get|apt|dpkg|pkg|pkg_add|pkg_delete|dkms)\b"
    r"|\bifconfig [a-z]\w* \S"
    r"|: writes firmware;"  # by a tool that nobody here knows
    r"|\bsysctl (?:-\S+ )*(?:dev|hw)\.\S+="
    r"|>\s*[\"']?/sys/(?!class/net/[^/\s]+/queues/[rt]x-[0-9]+/[rx]ps_)|\btee\b|>\s*/proc/sysrq"
)


def may_touch_a_link(command: str) -> bool:
    """Return whether a command may take the link of a port down, if only for a moment, or give it one.

    Drivers restart a port for many a setting, such as rings, queues, offloads, the MTU, and for a self test. A command
    that is not known to leave links alone counts as one that may touch them, if it is of a program that can.

    Args:
        command: The command line, for ``sh``.
    """
    if _OTHERS.search(command):
        return True
    return any(set(options.split()) - _ETHTOOL_SHOWS for options in _ETHTOOL.findall(command))
