"""``vbench switch``: the switch's state in words, and its ports shut and opened by hand."""

from __future__ import annotations

from typing import Any

import control
from layout import Bench

ACTIONS = ("show", "shut", "open", "reset")


class SwitchError(Exception):
    """The action wants a port, or takes none."""


def run(bench: Bench, action: str, port: str | None) -> str:
    """Do it; return the state in words.

    Raises:
        SwitchError: When the port is missing, or one is given that has no place.
        ControlError: When the switch does not answer or refuses.
    """
    if (action in ("shut", "open")) != (port is not None):
        raise SwitchError(f"switch {action}: port {port}; expected {'no port' if port else 'the name of a port'}")
    request: dict[str, Any] = {"status": True} if action == "show" else {action: port or {}}
    return described(control.ask(bench.folder / "switch.control", request))


def described(status: dict[str, Any]) -> str:
    """The answer of the switch as a table."""
    lines = [f"{'port':6} {'to':8} {'admin':5} {'link':4} {'pvid':>4}  with, neighbour, faults"]
    for name, port in status["ports"].items():
        told = [", ".join(port["with"]), port["neighbour"] or "", *port["faults"]]
        rest = ", ".join(text for text in told if text)
        line = f"{name:6} {port['to']:8} {port['admin']:5} {port['link']:4} {port['pvid']:>4}  {rest}"
        lines.append(line.rstrip())
    for number, vlan in status["vlans"].items():
        members = [f"{port}{'' if port in vlan['untagged'] else ' tagged'}" for port in vlan["egress"]]
        lines.append(f"vlan {number} {vlan['name']}: ports {', '.join(members) or 'none'}")
    if status["rebooting"]:
        lines.append("it restarts")
    if status["faults"]:
        lines.append(f"faults: {', '.join(status['faults'])}")
    return "\n".join(lines)
