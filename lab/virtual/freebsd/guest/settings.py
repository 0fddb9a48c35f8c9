"""Settings of a port that are in sysctl here and in ethtool below: rings, holdoff of interrupts, flow control."""

from __future__ import annotations

import links
from below import Refusal, remembered, run

TIMERS = (1, 5, 10, 50, 100, 200)
PACKETS = (1, 8, 16, 32)
_RINGS = {"qsize_rxq": "RX Mini", "qsize_txq": "TX"}
"""Ring names of ethtool: RX Mini of Linux' driver is the queue of responses, which the size means here."""
_BEFORE_UP = (*_RINGS, "holdoff_pktc_idx")
"""Taken only until the interface is marked up for the first time (cxgbe(4))."""
_PAUSE_RX, _PAUSE_TX, _AUTONEG = 1, 2, 4


def shown(iface: str, leaf: str) -> str:
    """The value as sysctl shows it."""
    if leaf in _RINGS:
        return _values(run("ethtool", "-g", iface)[1].partition("Current hardware settings:")[2]).get(_RINGS[leaf], "0")
    if leaf == "holdoff_tmr_idx":
        return str(_nearest(TIMERS, _coalescing(iface, "rx-usecs")))
    if leaf == "holdoff_pktc_idx":
        frames = _coalescing(iface, "rx-frames")
        return str(_nearest(PACKETS, frames) if frames else -1)
    if leaf in ("pause_settings", "fc"):
        values = _values(run("ethtool", "-a", iface)[1])
        bits = _PAUSE_RX * (values.get("RX") == "on") + _PAUSE_TX * (values.get("TX") == "on")
        return str(bits) if leaf == "fc" else _pause_text(bits)
    if leaf in ("nrxq", "ntxq"):
        return str(_queues(iface, "rx" if leaf == "nrxq" else "tx"))
    raise Refusal(f"unknown oid '{leaf}'")


def change(iface: str, leaf: str, value: str) -> str:
    """Set it, and return what it is then.

    Raises:
        Refusal: In the words of sysctl, for what the driver or the card refuses.
    """
    if not value.lstrip("-").isdecimal():
        raise Refusal(f"invalid integer '{value}'")
    number = int(value)
    if leaf in _BEFORE_UP and (links.is_up(iface) or iface in remembered("were-up")):
        raise Refusal(f"{_oid(iface, leaf)}: Device busy")
    if leaf in _RINGS:
        words = ["-G", iface, _RINGS[leaf].lower().replace(" ", "-"), value]
    elif leaf == "holdoff_tmr_idx":
        words = ["-C", iface, "rx-usecs", str(_of(TIMERS, number, iface, leaf))]
    elif leaf == "holdoff_pktc_idx":
        words = ["-C", iface, "rx-frames", str(0 if number == -1 else _of(PACKETS, number, iface, leaf))]
    elif leaf in ("pause_settings", "fc") and 0 <= number < 2 * _AUTONEG:
        receive, send = ("on" if number & bit else "off" for bit in (_PAUSE_RX, _PAUSE_TX))
        # Intel's drivers below take no direction while they negotiate, which ``fc`` says nothing of.
        words = ["-A", iface, *(("autoneg", "off") if leaf == "fc" else ()), "rx", receive, "tx", send]
    else:
        raise Refusal(f"{_oid(iface, leaf)}: Invalid argument")
    status, _, said = run("ethtool", *words)
    if status and "unmodified" not in said:
        raise Refusal(f"{_oid(iface, leaf)}: Invalid argument")
    return shown(iface, leaf)


def _of(known: tuple[int, ...], index: int, iface: str, leaf: str) -> int:
    if not 0 <= index < len(known):
        raise Refusal(f"{_oid(iface, leaf)}: Invalid argument")
    return known[index]


def _oid(iface: str, leaf: str) -> str:
    name = iface.rstrip("0123456789")
    return f"dev.{name}.{iface[len(name) :]}.{leaf}"


def _nearest(known: tuple[int, ...], value: int) -> int:
    return min(range(len(known)), key=lambda index: abs(known[index] - value))


def _coalescing(iface: str, word: str) -> int:
    text = _values(run("ethtool", "-c", iface)[1]).get(word, "0")
    return int(text) if text.isdecimal() else 0


def _queues(iface: str, direction: str) -> int:
    import os

    from below import ROOT

    folder = f"{ROOT}/sys/class/net/{iface}/queues"
    return sum(name.startswith(f"{direction}-") for name in os.listdir(folder))


def _pause_text(bits: int) -> str:
    """As sysctl prints a word of bits with the names of those that are set (release 9 and later)."""
    names = [name for bit, name in ((_PAUSE_RX, "PAUSE_RX"), (_PAUSE_TX, "PAUSE_TX")) if bits & bit]
    return f"{bits}<{','.join(names)}>" if names else "0"


def _values(text: str) -> dict[str, str]:
    """``name: value`` lines."""
    rows = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in rows}
