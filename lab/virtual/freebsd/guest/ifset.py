"""The changes that ifconfig makes: state, MTU, addresses, options, names, and the interfaces lagg(4) and vlan(4)."""

from __future__ import annotations

from collections.abc import Callable

import features
import kld
import links
from below import Refusal, fact_of, kernel_says, remember, remembered, run

_MIIMON_MS = "100"
_LAGG = "if_lagg"
"""ifconfig loads it when the first lagg is made."""
_WITH_VALUE = (
    *("mtu", "name", "ether", "lladdr", "laggproto", "laggport", "-laggport", "lagghash", "vlan", "vlandev"),
    *("netmask", "broadcast", "prefixlen", "metric", "media", "mediaopt", "description"),
)


def create(name: str, words: list[str]) -> int:
    """``ifconfig lagg create``, ``ifconfig lagg0 create``, ``ifconfig oce0.3 create``; then the rest of the words.

    ``ifconfig vlan create vlan 3 vlandev oce0``: a VLAN whose name does not say what it is.
    """
    if name.rstrip("0123456789") == "vlan" and {*words[0:3:2]} == {"vlan", "vlandev"} and len(words) > 3:
        pairs, words = dict([words[0:2], words[2:4]]), words[4:]
        made: str | None = _tagged(pairs["vlandev"], _free(name), pairs["vlan"])
    else:
        made = _made(name)
    if made is None:
        raise Refusal("ifconfig: SIOCIFCREATE2: Invalid argument")
    print_name = made != name
    if words[:1] == ["name"] and len(words) > 1:
        _rename(made, words[1])
        made, words, print_name = words[1], words[2:], True
    status = change(made, words) if words else 0
    if print_name:
        print(made)
    return status


def created_by_name(iface: str, words: list[str]) -> int | None:
    """Words that make an interface by naming it (``ifconfig vlan3 create ...`` in another order); None: no such."""
    if "create" not in words:
        return None
    return create(iface, [word for word in words if word != "create"])


def _made(name: str) -> str | None:
    """Make an interface of this name, or the next free one of its kind; None when no kind has such names."""
    if links.exists(name):
        raise Refusal("ifconfig: SIOCIFCREATE2: File exists")
    kind = name.rstrip("0123456789")
    if kind == "vlan":
        raise Refusal("ifconfig: vlan: this server makes VLANs with their id and interface only, such as oce0.3")
    if kind == "lagg":
        made = _free(name)
        kld.load(_LAGG, silent=True)
        run("modprobe", "bonding", "max_bonds=0")  # without the bond that it makes by itself
        _ip("link", "add", made, "type", "bond", "mode", "active-backup", "miimon", _MIIMON_MS)
        return made
    below, dot, tag = name.rpartition(".")
    if dot and tag.isdecimal() and links.exists(below):
        return _tagged(below, name, tag)
    return None


def _free(name: str) -> str:
    """``vlan`` -> the next free name of that kind; one with a number as it is."""
    if name[-1].isdecimal():
        return name
    return next(f"{name}{number}" for number in range(1000) if not links.exists(f"{name}{number}"))


def _tagged(below: str, name: str, tag: str) -> str | None:
    """Make a VLAN; None for an id that no VLAN has."""
    if not tag.isdecimal() or not 0 < int(tag) < 4095:
        return None
    _ip("link", "add", "link", below, "name", name, "type", "vlan", "id", tag)
    if links.is_up(below):
        _ip("link", "set", "dev", name, "up")
    return name


def change(iface: str, words: list[str]) -> int:
    """Carry out the words of a command line in their order.

    Raises:
        Refusal: As ifconfig says it.
    """
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("inet", "inet6") or _is_address(word):
            rest = _address(iface, word, rest)
        elif word in _SIMPLE:
            _SIMPLE[word](iface)
        elif features.is_word(word):
            features.change(iface, word)
        elif word in _WITH_VALUE:
            if not rest:
                raise Refusal(f"ifconfig: '{word}' requires 1 argument")
            iface = _with_value(iface, word, rest.pop(0))
        else:
            raise Refusal(f"ifconfig: {word}: bad value")
    return 0


def _with_value(iface: str, word: str, value: str) -> str:
    """Carry out a word with a value; the name that the interface has afterwards."""
    if word == "mtu":
        _mtu(iface, value)
    elif word == "name":
        _rename(iface, value)
        print(value)
        return value
    elif word in ("ether", "lladdr"):
        _ip("link", "set", "dev", iface, "address", value)
    elif word == "laggproto":
        _protocol(iface, value)
    elif word in ("laggport", "-laggport"):
        _member(iface, value, joins=word == "laggport")
    elif word == "lagghash":
        _hash(iface, value)
    elif word in ("metric", "description", "media", "mediaopt"):
        if word.startswith("media") and value not in ("autoselect", "auto", "full-duplex"):
            raise Refusal(f"ifconfig: unknown media subtype: {value}")
    else:
        raise Refusal(f"ifconfig: {word}: Invalid argument")
    return iface


def _rename(iface: str, name: str) -> None:
    """Give an interface another name; Linux 6.1 renames none that is up."""
    _ip("link", "set", "dev", iface, "down")
    _ip("link", "set", "dev", iface, "name", name)


def _mtu(iface: str, value: str) -> None:
    if not value.isdecimal():
        raise Refusal(f"ifconfig: {value}: bad value")
    fact = fact_of(iface)
    limits = fact["mtu"] if fact else {}
    taken = not limits or limits["min"] <= int(value) <= limits["max"]
    wanted = str(min(int(value), limits.get("below", int(value))))
    if not taken or run("ip", "link", "set", "dev", links.below_name(iface), "mtu", wanted)[0]:
        raise Refusal("ifconfig: ioctl (set mtu): Invalid argument")
    remember(f"mtu-{iface}", {wanted: value} if wanted != value else {})


def _protocol(iface: str, value: str) -> None:
    if not links.is_lagg(iface):
        raise Refusal("ifconfig: SIOCSLAGG: Invalid argument")
    if value not in links.LAGG_MODES:
        raise Refusal(f"ifconfig: Invalid aggregation protocol: {value}")
    if links.lagg_protocol(iface) != value:
        if links.members(iface):
            raise Refusal("ifconfig: SIOCSLAGG: Device busy")
        _ip("link", "set", "dev", iface, "type", "bond", "mode", links.LAGG_MODES[value])


def _hash(iface: str, value: str) -> None:
    if not links.is_lagg(iface):
        raise Refusal("ifconfig: SIOCSLAGGHASH: Invalid argument")
    wrong = [layer for layer in value.split(",") if layer not in ("l2", "l3", "l4")]
    if wrong:
        raise Refusal(f"ifconfig: Invalid lagghash option: {wrong[0]}")
    layers = ",".join(sorted(set(value.split(","))))
    if links.lagg_protocol(iface) in ("lacp", "loadbalance"):
        policy = links.LAGG_HASHES.get(layers, links.LAGG_HASHES[links.ALL_LAYERS])
        _ip("link", "set", "dev", iface, "type", "bond", "xmit_hash_policy", policy)
    remember("lagghash", {**remembered("lagghash"), iface: layers})


def _member(iface: str, port: str, *, joins: bool) -> None:
    if not links.is_lagg(iface) or not links.exists(port):
        raise Refusal("ifconfig: SIOCSLAGGPORT: " + ("Invalid argument" if links.exists(port) else "No such device"))
    was_up = links.is_up(port)
    if not joins:
        _ip("link", "set", "dev", port, "nomaster")
    elif port in links.members(iface):
        raise Refusal("ifconfig: SIOCSLAGGPORT: File exists")
    else:
        first = not links.members(iface)
        _ip("link", "set", "dev", port, "down")
        status, _, said = run("ip", "link", "set", "dev", port, "master", iface)
        if status:
            raise Refusal(f"ifconfig: SIOCSLAGGPORT: {_reason(said)}")
        if first and links.value(iface, "bonding/mode").startswith("active-backup"):
            _ip("link", "set", "dev", iface, "type", "bond", "primary", port, "primary_reselect", "always")
    if was_up:
        _ip("link", "set", "dev", port, "up")


def _destroy(iface: str) -> None:
    if not links.is_lagg(iface) and not links.is_vlan(iface):
        raise Refusal("ifconfig: SIOCIFDESTROY: Invalid argument")
    members = [(name, links.is_up(name)) for name in links.members(iface)]
    for name in links.names():
        if links.is_vlan(name) and links.parent(name) == iface:
            _ip("link", "delete", "dev", name)
    _ip("link", "delete", "dev", iface)
    remember("lagghash", {name: layers for name, layers in remembered("lagghash").items() if name != iface})
    for name, was_up in members:
        if was_up:
            _ip("link", "set", "dev", name, "up")


def _state(up: bool) -> Callable[[str], None]:
    def switched(iface: str) -> None:
        if not up and links.is_up(iface):
            remember("were-up", {**remembered("were-up"), iface: "1"})
        _ip("link", "set", "dev", links.below_name(iface), "up" if up else "down")

    return switched


_SIMPLE: dict[str, Callable[[str], None]] = {
    "up": _state(True),
    "down": _state(False),
    "destroy": _destroy,
    "promisc": lambda iface: _ip("link", "set", "dev", iface, "promisc", "on"),
    "-promisc": lambda iface: _ip("link", "set", "dev", iface, "promisc", "off"),
}


def _is_address(word: str) -> bool:
    bare = word.partition("/")[0]
    return bool(bare) and ((bare.count(".") == 3 and bare.replace(".", "").isdecimal()) or ":" in bare)


def _address(iface: str, word: str, rest: list[str]) -> list[str]:
    """``inet 10.0.0.1/24 alias``, ``inet 10.0.0.1 netmask 255.255.255.0``, ``inet 10.0.0.1 -alias``; what follows."""
    family = word if word in ("inet", "inet6") else "inet6" if ":" in word else "inet"
    if word in ("inet", "inet6"):
        if not rest:
            raise Refusal(f"ifconfig: '{word}' requires an address")
        word = rest.pop(0)
    if not _is_address(word):
        raise Refusal(f"ifconfig: {word}: bad value")
    address, _, length = word.partition("/")
    removed = False
    while rest and rest[0] in ("alias", "add", "-alias", "delete", "remove", "netmask", "prefixlen", "broadcast"):
        next_word = rest.pop(0)
        removed |= next_word in ("-alias", "delete", "remove")
        if next_word in ("netmask", "prefixlen", "broadcast") and rest:
            value = rest.pop(0)
            length = str(_prefix(value)) if next_word == "netmask" else value if next_word == "prefixlen" else length
    address = address.partition("%")[0]
    if removed:
        _remove(iface, family, address)
    else:
        _add(iface, family, address, length or ("24" if family == "inet" else "64"))
    return rest


def _prefix(mask: str) -> int:
    if mask.startswith("0x"):
        return int(mask, 16).bit_count()
    return int.from_bytes(bytes(int(part) for part in mask.split(".")), "big").bit_count()


def _add(iface: str, family: str, address: str, length: str) -> None:
    _remove(iface, family, address, quietly=True)
    broadcast = ["brd", "+"] if family == "inet" and int(length) < 31 else []
    below = links.below_name(iface)
    status, _, said = run("ip", "address", "add", f"{address}/{length}", *broadcast, "dev", below)
    if status:
        raise Refusal(f"ifconfig: ioctl (SIOCAIFADDR): {_reason(said)}")
    _ip("link", "set", "dev", below, "up")  # an address sets an interface up


def _remove(iface: str, family: str, address: str, *, quietly: bool = False) -> None:
    known = [entry for entry in links.addresses(iface) if entry.family == family and entry.address == address]
    if not known and not quietly:
        raise Refusal("ifconfig: ioctl (SIOCDIFADDR): Can't assign requested address")
    for entry in known:
        _ip("address", "delete", f"{address}/{entry.length}", "dev", links.below_name(iface))


def _ip(*words: str) -> None:
    status, _, said = run("ip", *words)
    if status:
        kernel_says(f"ifconfig: {' '.join(words)}: {said.strip()}")
        raise Refusal(f"ifconfig: {_reason(said)}")


def _reason(said: str) -> str:
    """Translate the answer of the kernel below into the words of this system."""
    words = said.strip().rpartition("RTNETLINK answers: ")[2].partition("\n")[0]
    return {"File exists": "File exists", "No such device": "No such device"}.get(words, words or "Invalid argument")
