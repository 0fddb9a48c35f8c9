"""The commands of the journal to a switch: three, each of which may be run again.

::

    open Gi1/0/1
    vlans Gi1/0/1 pvid=1 untagged=1 tagged=10,20
    remove-vlan 100
"""

from __future__ import annotations

import re
import shlex

from niclab.core.verdict import BenchFault
from niclab.switch.switch import Switch
from niclab.switch.switch_records import Admin, PortVlans

_WANTED = "open PORT, vlans PORT pvid=N untagged=N,N tagged=N,N, or remove-vlan N"
_VLANS = re.compile(r"pvid=(\d+) untagged=((?:\d+,)*\d+)? tagged=((?:\d+,)*\d+)?")


def open_command(port: str) -> str:
    """Open a port."""
    return shlex.join(["open", port])


def vlans_command(port: str, vlans: PortVlans) -> str:
    """Bring a port back to ``vlans``."""
    return f"{shlex.join(['vlans', port])} {vlans}"


def remove_vlan_command(vlan: int) -> str:
    """Remove a VLAN."""
    return f"remove-vlan {vlan}"


def carry_out(switch: Switch, command: str) -> None:
    """Run one of the commands, and see that it is done.

    Raises:
        BenchFault: When it is none of them, or the switch does not do it.
    """
    match _words(command):
        case ["open", port]:
            switch.ports.set_admin(port, Admin.UP)
        case ["vlans", port, *rest] if found := _VLANS.fullmatch(" ".join(rest)):
            pvid, untagged, tagged = found.groups()
            switch.vlans.set(port, PortVlans(int(pvid), _numbers(untagged), _numbers(tagged)))
        case ["remove-vlan", vlan] if vlan.isdecimal():
            switch.vlans.delete(int(vlan))
        case _:
            raise BenchFault(f"{switch.name}: undo command {command!r} is not wanted; expected {_WANTED}")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _numbers(text: str | None) -> frozenset[int]:
    return frozenset(map(int, text.split(","))) if text else frozenset()
