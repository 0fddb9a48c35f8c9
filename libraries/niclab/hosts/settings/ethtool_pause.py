"""Reader of ``ethtool -a IFACE``.

It is read as text: the ``--json`` of ethtool 6.1 prints every switch as true, whatever it is (``show_bool_val()`` of
netlink/netlink.c prints whether there is a value, and not the value).
"""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.links.ethtool_output import headed
from niclab.hosts.settings.ethtool_records import Pause

KIND = "ethtool -a"
_ROW = re.compile(r"(Autonegotiate|RX|TX|RX negotiated|TX negotiated):[\t ]+(on|off)")
_NEEDED = ("Autonegotiate", "RX", "TX")


def read_pause(text: str) -> Pause:
    """Read the pause frames of one interface; the negotiated ones are there while autonegotiation is on.

    Raises:
        ReadError: The text is no such output, a row occurs twice, or one of the three switches is missing.
    """
    iface, lines = headed(KIND, text, "Pause parameters for")
    rows = dict[str, bool]()
    for number, line in lines:
        match = _ROW.fullmatch(line)
        if match is None or match[1] in rows:
            raise unreadable(KIND, f"line {number}", line, "one of the five switches, on or off, each once")
        rows[match[1]] = match[2] == "on"
    for name in _NEEDED:
        if name not in rows:
            raise unreadable(KIND, "rows", ", ".join(rows), f"a row {name}")
    return Pause(
        iface=iface,
        autoneg=rows["Autonegotiate"],
        rx=rows["RX"],
        tx=rows["TX"],
    )
