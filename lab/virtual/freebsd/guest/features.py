"""The options of an interface: bits here, features of ethtool below, and the rules of the card's model between them.

A bit whose feature the kernel below cannot change, or does not have, is kept here until the driver is loaded again. A
bit is ``held`` when the kernel below has switched its feature off together with another one, and this system's driver
does not: it is shown as on, and comes back below with that other one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import toe
from below import Refusal, fact_of, kernel_says, remember, remembered, run

TABLE = {
    0: "RXCSUM",
    1: "TXCSUM",
    2: "NETCONS",
    3: "VLAN_MTU",
    4: "VLAN_HWTAGGING",
    5: "JUMBO_MTU",
    6: "POLLING",
    7: "VLAN_HWCSUM",
    8: "TSO4",
    9: "TSO6",
    10: "LRO",
    11: "WOL_UCAST",
    12: "WOL_MCAST",
    13: "WOL_MAGIC",
    14: "TOE4",
    15: "TOE6",
    16: "VLAN_HWFILTER",
    18: "VLAN_HWTSO",
    19: "LINKSTATE",
    21: "RXCSUM_IPV6",
    22: "TXCSUM_IPV6",
    23: "HWSTATS",
}
"""Names of the bits (sys/net/if.h)."""
WORDS = {
    "rxcsum": (0,),
    "txcsum": (1,),
    "netcons": (2,),
    "vlanmtu": (3,),
    "vlanhwtag": (4,),
    "polling": (6,),
    "vlanhwcsum": (7,),
    "tso4": (8,),
    "tso6": (9,),
    "tso": (8, 9),
    "lro": (10,),
    "wol_ucast": (11,),
    "wol_mcast": (12,),
    "wol_magic": (13,),
    "wol": (11, 12, 13),
    "toe": (14, 15),
    "vlanhwfilter": (16,),
    "vlanhwtso": (18,),
    "rxcsum6": (21,),
    "txcsum6": (22,),
}
"""Words of ifconfig, and the bits that each asks for (sbin/ifconfig/ifconfig.c)."""
_CHECKSUMS = (1, 22)
"""Bits without which a driver that says so segments nothing."""
_HELD = "held"


def is_word(word: str) -> bool:
    return word.removeprefix("-") in WORDS


def options(iface: str) -> tuple[int, int]:
    """Capabilities of an interface, and those that are on; no bit of what is no port of a card."""
    fact = fact_of(iface)
    if fact is None:
        return 0, 0
    rules, below = fact["options"], _below(iface)
    state = remembered(f"options-{iface}")
    able = sum(1 << rule["bit"] for rule in rules)
    return able, sum(1 << rule["bit"] for rule in rules if _is_on(rule, below, state))


def named(bits: int) -> str:
    """``507bb<RXCSUM,...>``."""
    return f"{bits:x}<{','.join(name for bit, name in TABLE.items() if bits >> bit & 1)}>"


def change(iface: str, word: str) -> None:
    """Carry out a word such as ``-txcsum``.

    Raises:
        Refusal: As ifconfig says it.
    """
    on, name = not word.startswith("-"), word.removeprefix("-")
    fact = fact_of(iface)
    rules = list(fact["options"]) if fact else []
    wanted = [rule for rule in rules if name in rule["words"]]
    if not wanted:
        bits = WORDS[name]
        wanted = [rule for rule in rules if rule["bit"] in bits]
        if on and not wanted:
            raise Refusal(f"ifconfig: {word}: Invalid argument")
    for rule in wanted:
        _switch(iface, rules, rule, on, word)


def deliver(iface: str) -> None:
    """Switch the features of a port that has just got its driver as this system's driver delivers them."""
    fact = fact_of(iface)
    for rule in fact["options"] if fact else ():
        below = _below(iface)
        feature = below.get(rule["below"] or "")
        if feature is not None and not feature[1] and feature[0] is not rule["default"]:
            _tell(iface, rule, rule["default"], below, {})


def _switch(iface: str, rules: Sequence[Mapping[str, Any]], rule: Mapping[str, Any], on: bool, word: str) -> None:
    below, state = _below(iface), remembered(f"options-{iface}")
    if _is_on(rule, below, state) is on:
        return
    refused_on = rule["change"] == "not-on" and on and not _has_module(iface, rule)
    if rule["change"] == "fixed" or (rule["change"] == "not-off" and not on) or refused_on:
        if rule["error"]:
            raise Refusal(f"ifconfig: {word}: {rule['error']}")
        return
    masters = [other for other in rules if rule["name"] in other["clears"] and other["bit"] in _CHECKSUMS]
    if on and any(not _is_on(master, below, state) for master in masters):
        raise Refusal(f"ifconfig: {word}: Resource temporarily unavailable")
    before = {other["label"]: _is_on(other, below, state) for other in rules}
    if rule["name"] == "toe":
        toe.switching(iface, on)
    state.pop(rule["label"], None)
    _tell(iface, rule, on, below, state)
    now = _below(iface)
    if not on:
        _take_along(iface, rules, rule, now, state)
    for other in rules:
        feature = now.get(other["below"] or "")
        lost = feature == (False, False) and before[other["label"]] and other["name"] not in rule["clears"]
        if lost and other is not rule:
            state[other["label"]] = _HELD
        elif state.get(other["label"]) == _HELD and feature is not None and feature[0]:
            state.pop(other["label"])
    remember(f"options-{iface}", state)


def _has_module(iface: str, rule: Mapping[str, Any]) -> bool:
    """Is the module there that can switch it on? The kernel says which one is missing."""
    fact = fact_of(iface)
    module = toe.module_of(fact) if fact is not None and rule["name"] == "toe" else ""
    if module and f"{module}.ko" not in remembered("klds"):
        kernel_says(f"You must kldload {module}.ko before trying to enable TOE on a cxgbe interface.")
        return False
    return bool(module)


def _take_along(
    iface: str,
    rules: Sequence[Mapping[str, Any]],
    rule: Mapping[str, Any],
    now: Mapping[str, tuple[bool, bool]],
    state: dict[str, str],
) -> None:
    """Keep off what the driver clears with this one, so that the kernel below does not bring it back by itself later.

    Where it has left such a feature on, that is the card's doing and stays to be seen.
    """
    for other in rules:
        if other["name"] not in rule["clears"]:
            continue
        feature = now.get(other["below"] or "")
        if feature is None or feature[1]:
            state[other["label"]] = "off"
        elif not feature[0]:
            state.pop(other["label"], None)
            _tell(iface, other, False, now, state)


def _tell(
    iface: str,
    rule: Mapping[str, Any],
    on: bool,
    below: Mapping[str, tuple[bool, bool]],
    state: dict[str, str],
) -> None:
    """Switch the feature below; where there is none that can be switched, remember."""
    feature = below.get(rule["below"] or "")
    if feature is None or feature[1]:
        state[rule["label"]] = "on" if on else "off"
        return
    for word in rule["set_below"]:
        run("ethtool", "-K", iface, word, "on" if on else "off")  # what it has done is read back


def _is_on(rule: Mapping[str, Any], below: Mapping[str, tuple[bool, bool]], state: Mapping[str, str]) -> bool:
    feature, kept = below.get(rule["below"] or ""), state.get(rule["label"])
    if feature is None or feature[1]:
        return bool(rule["default"]) if kept is None else kept == "on"
    return feature[0] or kept == _HELD


def _below(iface: str) -> dict[str, tuple[bool, bool]]:
    """Feature -> is it on, is it fixed. One of several parts, which ethtool indents, is fixed where all of them are."""
    found, whole = dict[str, tuple[bool, bool]](), ""
    for line in run("ethtool", "-k", iface)[1].splitlines():
        name, colon, value = line.strip().partition(": ")
        if not colon:
            continue
        is_fixed = "[fixed]" in value
        found[name] = (value.startswith("on"), is_fixed)
        if not line.startswith("\t"):
            whole, parts = name, list[bool]()
        elif whole:
            parts.append(is_fixed)
            found[whole] = (found[whole][0], all(parts))
    return found
