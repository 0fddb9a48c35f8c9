"""The defects that the switch can be given, by the names that ``vbench fault`` knows."""

from __future__ import annotations

import math

WHOLE = 0
"""The defects of the switch as a whole are kept where a port's number would be."""

SWITCH_DEFECTS = {
    "set_not_writable": "every SET is refused with notWritable",
    "set_gen_err": "every SET is refused with genErr",
    "set_ignored": "every SET is accepted, and nothing is done",
    "agent_slow_s": "the agent answers so many seconds late",
    "agent_dead": "the agent answers nothing; frames are carried",
    "reboot_s": "the switch restarts: for so many seconds no answers and no links, then counters and time from zero",
    "fdb_not_flushed": "addresses learned at a port stay known there when its link is lost",
}
PORT_DEFECTS = {
    "counters_stuck": "the counters that the agent tells stand still",
    "err_disabled": "the port has shut itself: no link, while its ifAdminStatus is up",
    "vlan_leak": "the port sends and takes frames of every VLAN, without tags",
    "lacp_other_system": "the port names another system than its neighbours in LACP",
    "lacp_not_in_sync": "the port never says in LACP that it is in sync",
    "silent": "the port has carrier and carries no frames",
}
WITH_SECONDS = ("agent_slow_s", "reboot_s")
LONGEST_S = 3600.0


class Defects:
    """The present defects of the switch: ``WHOLE`` or a port's number -> name -> value (1 for those without)."""

    def __init__(self) -> None:
        self.of: dict[int, dict[str, float]] = {}

    def has(self, name: str, port: int = WHOLE) -> bool:
        return name in self.of.get(port, {})

    def value(self, name: str) -> float:
        """The seconds of a defect of the whole switch; 0 when it does not have it."""
        return self.of.get(WHOLE, {}).get(name, 0.0)

    def put(self, name: str, value: float, ports: list[int], whole: bool) -> None:
        """Add a defect.

        Args:
            ports: The ports of the target.
            whole: The target is the switch itself; a defect of ports is then put on all of them.

        Raises:
            ValueError: When there is no such defect, or not of such a target, or the value makes no sense.
        """
        if name in SWITCH_DEFECTS:
            if not whole:
                raise ValueError(f"{name} is a fault of the whole switch: its target is 'switch:'")
            if (name in WITH_SECONDS and not 0 < value <= LONGEST_S) or not math.isfinite(value):
                raise ValueError(f"{name} is {value:g}; expected a number of seconds above 0, at most {LONGEST_S:g}")
            self.of.setdefault(WHOLE, {})[name] = value
        elif name in PORT_DEFECTS:
            for port in ports:
                self.of.setdefault(port, {})[name] = value
        else:
            raise ValueError(f"no fault {name!r}; there are {', '.join([*SWITCH_DEFECTS, *PORT_DEFECTS])}")

    def clear(self) -> None:
        self.of.clear()
