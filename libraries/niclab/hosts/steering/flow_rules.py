"""Rules that choose the queue of a flow (``ethtool -N``), and the reader of ``ethtool -n IFACE``.

Shapes: ethtool 4.8 to 6.14, rxclass.c, rxclass_print_nfc_rule() and rxclass_rule_getall(). A mask shows the bits that
are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import filled

_KIND = "ethtool -n"
_RINGS, _TOTAL = re.compile(r"[0-9]{1,5} RX rings available"), re.compile(r"Total ([0-9]{1,6}) rules")
_FILTER, _LINE = re.compile(r"Filter: ([0-9]{1,6})"), re.compile(r"\t([A-Za-z0-9 ]{1,40}): (.{1,200})")
_QUEUE = re.compile(r"Direct to queue ([0-9]{1,5})")
_ANY_TOS = {"TOS": "0x0 mask: 0xff"}


@dataclass(frozen=True)
class FlowRule:
    """Frames of UDP in IPv4 between two addresses and ports come by a queue.

    ``addresses``, ``ports``: of sender and receiver.
    """

    addresses: tuple[str, str]
    ports: tuple[int, int]
    queue: int

    @property
    def words(self) -> str:
        """The words of ``ethtool -N``."""
        (source, destination), (source_port, destination_port) = self.addresses, self.ports
        match = f"src-ip {source} dst-ip {destination} src-port {source_port} dst-port {destination_port}"
        return f"flow-type udp4 {match} action {self.queue}"

    @property
    def shown(self) -> Mapping[str, str]:
        """The lines that show it."""
        addresses = {"Src IP addr": self.addresses[0], "Dest IP addr": self.addresses[1]}
        ports = {"Src port": self.ports[0], "Dest port": self.ports[1]}
        return {
            "Rule Type": "UDP over IPv4",
            **{name: f"{address} mask: 0.0.0.0" for name, address in addresses.items()},
            **_ANY_TOS,
            **{name: f"{port} mask: 0x0" for name, port in ports.items()},
            "Action": f"Direct to queue {self.queue}",
        }


def read_flow_rules(text: str) -> Mapping[int, Mapping[str, str]]:
    """Read ``ethtool -n IFACE``.

    Returns:
        Number of each rule -> its lines, by their names.

    Raises:
        ReadError: The text is no such output, or shows another number of rules than it says.
    """
    found, total = dict[int, dict[str, str]](), None
    last = dict[str, str]()
    for number, line in filled(text):
        if _RINGS.fullmatch(line):
            continue
        if total is None:
            counted = _TOTAL.fullmatch(line)
            if counted is None:
                raise unreadable(_KIND, f"line {number}", line, "'Total N rules'")
            total = int(counted[1])
        elif heading := _FILTER.fullmatch(line):
            last = found.setdefault(int(heading[1]), {})
        elif (said := _LINE.fullmatch(line)) and found:
            last[said[1]] = said[2]
        else:
            raise unreadable(_KIND, f"line {number}", line, "'Filter: N', or one of its lines")
    if total != len(found):
        raise unreadable(_KIND, "rules", f"{len(found)}", f"the {total} that it says")
    return found
