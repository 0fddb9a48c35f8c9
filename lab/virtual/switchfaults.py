"""The defects of the switch as ``vbench fault list`` shows them."""

from __future__ import annotations

from switch.defects import PORT_DEFECTS, SWITCH_DEFECTS, WITH_SECONDS

OFFENDS = {
    "set_not_writable": "a refused SET is never silent",
    "set_gen_err": "a refused SET is never silent",
    "set_ignored": "every SET is read back",
    "agent_slow_s": "deadlines of SNMP",
    "agent_dead": "deadlines of SNMP",
    "reboot_s": "a restart of the switch is noticed",
    "fdb_not_flushed": "CARD-04 traffic after a failure",
    "counters_stuck": "counters of the switch prove traffic",
    "err_disabled": "wiring proof: a port without link",
    "vlan_leak": "CARD-05 isolation of VLANs",
    "lacp_other_system": "CARD-04 802.3ad has one partner",
    "lacp_not_in_sync": "CARD-04 802.3ad carries on all its ports",
    "silent": "CARD-04 a port that fails silently",
}
"""Defect -> the check that must see it."""

ROWS = tuple(
    (name, "seconds" if name in WITH_SECONDS else None, effect, OFFENDS[name])
    for name, effect in (SWITCH_DEFECTS | PORT_DEFECTS).items()
)
"""Name, meaning of its value or ``None``, effect, what it offends."""
