"""Reader of ``ethtool -c IFACE``, which prints no JSON before ethtool 6.10."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.links.ethtool_output import headed, on_off
from niclab.hosts.reading import whole_number
from niclab.hosts.settings.ethtool_records import Coalescing

KIND = "ethtool -c"
_MODES = re.compile(r"(Adaptive|CQE mode) RX: (\S{1,5})  TX: (\S{1,5})")
_NAME = r"stats-block-usecs|sample-interval|pkt-rate-(?:low|high)|[rt]x-(?:usecs|frames?|aggr)(?:-[a-z]{1,20}){0,3}"
# ethtool 6.2 to 6.6 print "tx-aggr-time-usecs" without its colon.
_PARAMETER = re.compile(rf"({_NAME}):?[ \t]{{1,3}}(\S{{1,20}})")
# Steps of the adaptive moderation (ethtool 6.11 and later), which nothing here asks for.
_PROFILE = re.compile(r"[rt]x-profile:(?:\s*n/a)?|\{\.usec = .{1,80}\},?")


def read_coalescing(text: str) -> Coalescing:
    """Read the coalescing of one interface; the row of the adaptive switches and one parameter must be there.

    Raises:
        ReadError: The text is no such output, or a row occurs twice.
    """
    iface, rows = headed(KIND, text, "Coalesce parameters for")
    modes: dict[str, tuple[bool | None, bool | None]] = {}
    parameters: dict[str, int | None] = {}
    for number, line in rows:
        where = f"line {number}"
        mode, parameter = _MODES.fullmatch(line), _PARAMETER.fullmatch(line)
        if mode is not None and mode[1] not in modes:
            modes[mode[1]] = (on_off(KIND, where, mode[2], mode[1]), on_off(KIND, where, mode[3], mode[1]))
        elif parameter is not None and parameter[1] not in parameters:
            name, value = parameter[1], parameter[2]
            parameters[name] = None if value == "n/a" else whole_number(KIND, where, value, name)
        elif not _PROFILE.fullmatch(line.strip()):
            raise unreadable(KIND, where, line, "'Adaptive RX: on  TX: off' or 'rx-usecs: 3', each once")
    if "Adaptive" not in modes or not parameters:
        raise unreadable(KIND, "text", text, "the row 'Adaptive RX: ...' and at least one parameter")
    return Coalescing(iface, *modes["Adaptive"], parameters)
