"""TCP that the card does itself: what its driver shows of it, over the connections of the kernel below.

The kernel below does all of it. A connection is called the card's when its address is that of a port with the offload
on, and its program had no socket yet when the offload was switched on: sockets that listened before are the system's.
What comes in at such a port takes receive buffers, unless it is placed directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import links
from below import fact_of, netdevs, ports, read, remember, remembered, split_unit, units

_LABEL = "TOE4"
_DEFECTS = "/sys/module/vcard/parameters/engine"
_SOCKETS = {"ESTAB", "CLOSE-WAIT", "FIN-WAIT-1", "FIN-WAIT-2"}


def leaves(tree: str, address: str, fact: Mapping[str, Any], branch: list[str]) -> Iterator[tuple[str, str]]:
    """Settings of a PCI function; ``misc`` only where it is asked for, as the driver marks it to be skipped."""
    facts = fact["toe"]
    if not facts:
        return
    yield f"{tree}.toecaps", "1<TOE>"
    yield f"{tree}.toe.ddp", str(int(_places(tree)))
    yield f"{tree}.toe.ddp_thres", str(facts["least_placed_bytes"])
    if branch == ["misc"]:
        yield f"{tree}.misc.tids", _tids(address, int(facts["tids"]))


def port_leaves(iface: str, tree: str, fact: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Receive buffers of a port that its offloaded connections have taken."""
    if fact["toe"]:
        taken = _octets(iface) // int(fact["toe"]["buffer_bytes"])
        queue = f"{tree}.ofld_rxq.0.fl"
        yield f"{queue}.cluster_allocated", str(min(taken, 1024))
        yield f"{queue}.cluster_recycled", str(max(0, taken - 1024))
        yield f"{queue}.cluster_fast_recycled", "0"


def takes(leaf: str, fact: Mapping[str, Any]) -> bool:
    return bool(fact["toe"]) and leaf == "toe.ddp"


def set_placement(name: str, value: str) -> str:
    """Carry out ``dev.t5nex.0.toe.ddp=1``."""
    for iface in ports():
        _settle(iface)
    remember("sysctl", {**remembered("sysctl"), name: value})
    return value


def switching(iface: str, on: bool) -> None:
    """Note what a port has counted, and which programs have sockets already, before its offload is switched."""
    _settle(iface)
    before = {pid for _, _, _, pid in _tcp()} if on else set()
    remember(f"toe-{iface}", {**remembered(f"toe-{iface}"), "before": " ".join(sorted(before))})


def forget(iface: str) -> None:
    if remembered(f"toe-{iface}"):
        remember(f"toe-{iface}", {})


def module_of(fact: Mapping[str, Any]) -> str:
    """The module without which the offload cannot be switched on; empty where there is none."""
    return str(fact["toe"].get("module", ""))


def is_used() -> bool:
    """Is the offload on at any port?"""
    return any(_is_on(iface) for iface in ports())


def _is_on(iface: str) -> bool:
    return remembered(f"options-{iface}").get(_LABEL) == "on"


def _tids(address: str, room: int) -> str:
    used = sum(_connections(iface) for iface in netdevs(address))
    return (
        f"ATID range: 0-8191, in use: 0\nTID range: 0-{room - 1}, in use: {used}\n"
        f"STID range: {room}-{room + 495}, in use: 0\nHW TID usage: {used} IP users, 0 IPv6 users"
    )


def _connections(iface: str) -> int:
    if not _is_on(iface) or _defects(iface)[0]:
        return 0
    own = {entry.address for entry in links.addresses(iface)}
    before = remembered(f"toe-{iface}").get("before", "").split()
    return sum(state in _SOCKETS and local in own and pid not in before for state, local, _, pid in _tcp())


def _tcp() -> list[tuple[str, str, str, str]]:
    """State, local address, foreign address, and the process, of every socket of TCP."""
    from netstat import listed, process_of

    return [
        (state, _host(local), _host(foreign), process_of(process)[1])
        for protocol, state, local, foreign, process in listed()
        if protocol == "tcp"
    ]


def _host(place: str) -> str:
    return place.rpartition(":")[0].strip("[]").removeprefix("::ffff:")


def _octets(iface: str) -> int:
    """Octets that receive buffers have taken since the driver was loaded."""
    state, now = remembered(f"toe-{iface}"), _received(iface)
    more = now - int(state.get("mark", now)) if _takes_buffers(iface) else 0
    return int(state.get("octets", "0")) + max(0, more)


def _settle(iface: str) -> None:
    counted = {"octets": str(_octets(iface)), "mark": str(_received(iface))}
    remember(f"toe-{iface}", {**remembered(f"toe-{iface}"), **counted})


def _takes_buffers(iface: str) -> bool:
    ignored, off = _defects(iface)
    if not _is_on(iface) or ignored:
        return False
    name = units()[ports()[iface]]
    driver, unit = split_unit(name)
    return bool(off) or not _places(f"dev.{driver}.{unit}")


def _places(tree: str) -> bool:
    return remembered("sysctl").get(f"{tree}.toe.ddp", "0") != "0"


def _received(iface: str) -> int:
    return int(read(f"/sys/class/net/{iface}/statistics/rx_bytes") or 0)


def _defects(iface: str) -> tuple[int, int]:
    """The words toe-ignored and ddp-off of the card's memory; the bench has one card in a server of this kind."""
    number = (read(f"/sys/class/net/{iface}/dev_port") or "0").strip()
    for line in (read(_DEFECTS) or "").splitlines():
        words = line.split()
        if fact_of(iface) is not None and words[:2] == ["0", number]:
            return int(words[2]), int(words[3])
    return 0, 0
