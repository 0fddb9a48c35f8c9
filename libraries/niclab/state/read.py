"""The strict reader of what the programs of :mod:`niclab.state.state_program` print."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from niclab.hosts.errors import unreadable
from niclab.hosts.links.ifconfig import read_ifconfig
from niclab.hosts.reading import JsonNode, load_json
from niclab.state.snapshot import INTERFACE

_KIND = "state"
Table = dict[str, dict[str, str]]

_HEADINGS = {"-g": "Current hardware settings:", "-l": "Current hardware settings:"}
_TITLES = {"-i": "driver", "-k": "offload", "-g": "ring", "-c": "coalescing", "-a": "pause", "-l": "channels"}
_OF_DRIVER = ("driver", "version", "firmware-version")
_BSD_ROUTE_FIELDS = 4
_NO_TOOL = ("126", "127")


def read_state(text: str) -> Table:
    """Read the output of a program.

    Args:
        text: The output, whole.

    Returns:
        Subject -> key -> value.

    Raises:
        ReadError: It is not whole, a tool failed that must not, or a line is none that the program prints.
    """
    if not text.endswith("@ end\n"):
        raise unreadable(_KIND, "text", text[-60:], "'@ end' as the last line")
    table: Table = {}
    for name, lines, refused in _sections(text):
        words = name.split()
        if words[0] == "ethtool" and len(words) == 3 and words[1] in _TITLES:
            _ethtool(table, words[1], words[2], [] if refused else lines, refused)
        elif name not in _READERS:
            raise unreadable(_KIND, "heading", name, f"one of {', '.join(_READERS)}, ethtool OPTION IFACE")
        elif refused:
            raise unreadable(_KIND, name, f"exit status {refused}", "a tool that succeeds")
        else:
            _READERS[name](table, lines)
    return table


def _sections(text: str) -> Iterator[tuple[str, list[str], str]]:
    """Name, lines and status of a refusal of each section."""
    name, lines, refused = "", list[str](), ""
    for line in text.splitlines():
        if not line.startswith("@ "):
            if not name:
                raise unreadable(_KIND, "line 1", line, "a heading '@ NAME'")
            lines.append(line)
        elif line.startswith("@ refused "):
            refused = line.removeprefix("@ refused ")
        else:
            if name:
                yield name, lines, refused
            name, lines, refused = line.removeprefix("@ "), [], ""


def _links(table: Table, lines: list[str]) -> None:
    for node in load_json("ip -json address", "\n".join(lines)).items():
        if node.value == {}:
            continue
        flags = [flag.text() for flag in node.child("flags").items()]
        info = node.optional("linkinfo")
        kind = info.optional("info_kind") if info else None
        own = table.setdefault(node.child("ifname").text(), {})
        own |= {INTERFACE: kind.text() if kind else "device", "mtu": str(node.child("mtu").count())}
        own |= {"up": _yes("UP" in flags), "promiscuous": _yes("PROMISC" in flags)}
        own["all-multicast"] = _yes("ALLMULTI" in flags)
        for key, name in (("address", "mac"), ("master", "master"), ("link", "below")):
            if (value := node.optional(key)) is not None and value.value is not None:
                own[name] = value.text()
        if (length := node.optional("txqlen")) is not None:
            own["txqlen"] = str(length.count())
        if kind is not None and kind.text() == "vlan" and info is not None:
            own["vlan"] = str(info.child("info_data").child("id").count())
        own |= dict(_addresses(node))


def _addresses(node: JsonNode) -> Iterator[tuple[str, str]]:
    entries = node.optional("addr_info")
    for entry in entries.items() if entries else []:
        if entry.value == {}:
            continue
        dynamic = entry.optional("dynamic")
        made_by_kernel = entry.child("scope").text() == "link" or (dynamic is not None and dynamic.value is True)
        if entry.child("family").text() == "inet6" and made_by_kernel:
            continue
        yield f"address {entry.child('local').text()}/{entry.child('prefixlen').count()}", "present"


def _routes(table: Table, lines: list[str]) -> None:
    routes = table.setdefault("routes", {})
    for node in load_json("ip -json route", "\n".join(lines)).items():
        if node.value == {} or _word(node, "protocol") in ("kernel", "ra"):
            continue
        key = " ".join(filter(None, (node.child("dst").text(), _word(node, "dev"), _word(node, "table"))))
        routes[key] = f"via {_word(node, 'gateway') or 'link'}"


def _word(node: JsonNode, key: str) -> str:
    found = node.optional(key)
    return "" if found is None or found.value is None else str(found.value)


def _pairs(subject: str, rename: Callable[[str], str] = str) -> Callable[[Table, list[str]], None]:
    """Lines of a name, a tabulator and a value."""

    def read(table: Table, lines: list[str]) -> None:
        own = table.setdefault(subject, {})
        for line in lines:
            name, tab, value = line.partition("\t")
            if not tab or not name:
                raise unreadable(_KIND, subject, line, "a name, a tabulator, a value")
            own[rename(name)] = " ".join(value.split())

    return read


def _sysctl(table: Table, lines: list[str]) -> None:
    """Those of an interface belong to it, so that they come and go with it."""
    found: Table = {}
    _pairs("sysctl")(found, lines)
    own = table.setdefault("sysctl", {})
    for name, value in found["sysctl"].items():
        match = re.fullmatch(r"net/ipv4/conf/([^/]+)/([^/]+)", name)
        if match is not None and match[1] not in ("all", "default"):
            table.setdefault(match[1], {})[f"sysctl {match[2]}"] = value
        else:
            own[name.replace("/", ".")] = value


def _names(subject: str) -> Callable[[Table, list[str]], None]:
    """Lines of one name each; a name that comes several times is counted."""

    def read(table: Table, lines: list[str]) -> None:
        for line in lines:
            if not line.strip():
                raise unreadable(_KIND, subject, line, "a name")
        counts = Counter(line.strip() for line in lines)
        table[subject] = {name: "present" if number == 1 else f"{number} times" for name, number in counts.items()}

    return read


def _packages(table: Table, lines: list[str]) -> None:
    found = defaultdict[str, set[str]](set)
    for line in lines:
        fields = line.split("\t")
        if len(fields) != 3:
            raise unreadable(_KIND, "packages", line, "a status, a name and a version")
        if fields[0].startswith("ii"):
            found[fields[1]].add(fields[2])  # of some, such as kernels, several versions are installed
    table["packages"] = {name: ", ".join(sorted(versions)) for name, versions in found.items()}


def _sums(table: Table, lines: list[str]) -> None:
    own = table.setdefault("boot", {})
    for line in lines:
        match = re.fullmatch(r"([0-9]+) ([0-9]+) (/\S.*)", line)
        if match is None:
            raise unreadable(_KIND, "sums", line, "a sum, a size and a file")
        own[match[3]] = f"checksum {match[1]}, {match[2]} bytes"


def _ethtool(table: Table, option: str, iface: str, lines: list[str], refused: str) -> None:
    """The settings of one kind; a driver without them is one value."""
    own, title = table.setdefault(iface, {}), _TITLES[option]
    if refused in _NO_TOOL:
        raise unreadable(f"ethtool {option}", iface, f"exit status {refused}", "a tool that can be run")
    if refused:
        own[title] = "not offered"
        return
    if option in _HEADINGS:
        if _HEADINGS[option] not in [line.strip() for line in lines]:
            raise unreadable(f"ethtool {option}", iface, "\n".join(lines), _HEADINGS[option])
        lines = lines[[line.strip() for line in lines].index(_HEADINGS[option]) + 1 :]
    found: dict[str, str] = {}
    for line in filter(str.strip, lines):
        if option == "-i" and ":" in line:  # a version may have several words
            name, _, value = line.partition(":")
            found[name.strip()] = value.strip() or "none"
            continue
        if option == "-c" and line.startswith("{"):  # a row of an adaptation profile
            found[f"profile {' '.join(line.split())}"] = "present"
            continue
        if option == "-c" and (bare := re.fullmatch(r"([a-z-]+)\s+(\S+)", line)) is not None:
            found[bare[1]] = bare[2]  # ethtool 6.3 and later print tx-aggr-* without a colon
            continue
        pairs = re.findall(r"([A-Za-z][^:\t]*?):\s*(\S+(?: \[[a-z ]+\])?|$)", line)
        if not pairs:
            raise unreadable(f"ethtool {option}", iface, line, "NAME: VALUE")
        found |= {name.strip().lower(): value.split(" [")[0] for name, value in pairs if value}
    own |= {f"{title} {name}": value for name, value in _settings(option, found).items()}


def _settings(option: str, found: dict[str, str]) -> dict[str, str]:
    """Without results of negotiation and adaptation, which are no settings."""
    if option == "-i":
        return {name: value for name, value in found.items() if name in _OF_DRIVER}
    if option == "-a":
        negotiated = found.get("autonegotiate") == "on"
        return {name: value for name, value in found.items() if not negotiated or name == "autonegotiate"}
    if option == "-c":
        sides = {"rx-": found.get("adaptive rx"), "tx-": found.get("tx")}  # one line: "Adaptive RX: on  TX: off"
        adapted = tuple(side for side, state in sides.items() if state == "on")
        return {name: value for name, value in found.items() if not (adapted and name.startswith(adapted))}
    return found


def _interfaces(table: Table, lines: list[str]) -> None:
    for one in read_ifconfig("\n".join(lines) + "\n").interfaces:
        own = table.setdefault(one.name, {})
        own |= {INTERFACE: "lagg" if one.lagg else "vlan" if one.vlan else "device", "mtu": str(one.mtu)}
        own |= {"up": _yes(one.up), "promiscuous": _yes(one.flags.has("PROMISC", 8))}
        own["mac"] = one.ether or "none"
        own["options"] = ",".join(sorted(one.options.names)) if one.options else "none"
        own |= {f"address {each.address}/{each.prefix_length}": "present" for each in one.inet}
        if one.lagg:
            own["members"] = ",".join(sorted(port.name for port in one.lagg.ports))
        if one.vlan:
            own |= {"vlan": str(one.vlan.id), "below": one.vlan.parent}


def _bsd_routes(table: Table, lines: list[str]) -> None:
    """The routes that somebody set: flag S, without those that the kernel makes of the server's own addresses."""
    routes = table.setdefault("routes", {})
    for fields in map(str.split, lines):
        if len(fields) < _BSD_ROUTE_FIELDS or not re.fullmatch(r"U[A-Za-z0-9]*S[A-Za-z0-9]*", fields[2]):
            continue
        if not (fields[1].startswith("link#") and "lo0" in fields[3:]):
            routes[fields[0]] = f"via {fields[1]}"


def _bsd_sysctl(table: Table, lines: list[str]) -> None:
    _pairs("sysctl")(table, [line.replace("=", "\t", 1) for line in lines])


def _bsd_modules(table: Table, lines: list[str]) -> None:
    names = [line.split()[-1].removesuffix(".ko") for line in lines[1:] if line.strip()]
    _names("modules")(table, names)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


_READERS: dict[str, Callable[[Table, list[str]], None]] = {
    "links": _links,
    "routes": _routes,
    "sysctl": _sysctl,
    "modules": _names("modules"),
    "nfs": _pairs("nfs"),
    "iscsi": _pairs("iscsi"),
    "nvme": _pairs("nvme"),
    "steering": _pairs("steering", lambda name: name.removeprefix("/sys/class/net/").replace("/queues/", " ")),
    "interrupts": _pairs("interrupts"),
    "cmdline": _pairs("boot"),
    "processes": _names("processes"),
    "packages": _packages,
    "sums": _sums,
    "files": _names("files"),
    "interfaces": _interfaces,
    "bsdroutes": _bsd_routes,
    "bsdsysctl": _bsd_sysctl,
    "bsdmodules": _bsd_modules,
}
