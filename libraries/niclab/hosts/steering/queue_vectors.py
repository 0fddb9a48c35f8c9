"""The interrupt vector of each receive queue of a Linux host's interface, by its name in ``/proc/interrupts``.

Drivers that give a queue a vector number both alike: igb and ixgbe ``eth0-TxRx-0`` or ``eth0-rx-0``, bnx2x
``eth0-fp-0``, be2net ``eth0-q0``, cxgb4 ``eth0-Rx0``, sfc ``eth0-0``. Names without a
number are those of the port (link, errors).
"""

from __future__ import annotations

import re

from niclab.core.verdict import NotApplicable
from niclab.hosts.host import Shell
from niclab.hosts.steering.interrupt_records import Interrupts
from niclab.hosts.steering.linux import irqs_of
from niclab.hosts.steering.steering_files import read_all

_NAME = r"{iface}[-:](?!tx-?[0-9])[a-z-]*?([0-9]{{1,4}})"
"""Vectors that only send have numbers of their own: ``eth0-tx-0``."""


def interrupts_by_queue(shell: Shell, name: str, iface: str) -> dict[int, int]:
    """Count the interrupts of each receive queue since the system has started.

    Args:
        shell: Runs commands on the host.
        name: Name of the host, for messages.
        iface: Name of the interface.

    Returns:
        Queue -> its interrupts at all CPUs.

    Raises:
        NotApplicable: No vector has the number of a queue, or two have the same.
        BenchFault: The interrupts of the host cannot be read.
    """
    shown = read_all(shell, name)
    actions = _actions(shown, iface)
    found = dict[int, int]()
    for action, count in actions.items():
        numbered = re.fullmatch(_NAME.format(iface=re.escape(iface)), action, re.IGNORECASE)
        if numbered is None:
            continue
        if int(numbered[1]) in found:
            raise NotApplicable(f"{name}: two interrupt vectors of {iface} have number {numbered[1]}")
        found[int(numbered[1])] = count
    if not found:
        names = ", ".join(actions) or "none"
        raise NotApplicable(f"{name}: no interrupt vector of {iface} has the number of a queue: {names}")
    return found


def _actions(shown: Interrupts, iface: str) -> dict[str, int]:
    """The handlers that bear the name of the interface, and the interrupts of each."""
    mine = set(irqs_of(shown, iface))
    return {
        action: sum(each.counts)
        for each in shown.irqs
        if each.irq in mine
        for action in each.actions
        if action.startswith(iface)
    }
