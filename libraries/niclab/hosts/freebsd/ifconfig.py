"""Reader of FreeBSD's ``ifconfig`` (plain, -a, -m, -v, -l), releases 8 to 14."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from niclab.hosts import features
from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd.addresses import read_inet, read_inet6
from niclab.hosts.freebsd.bits import FLAGS, ND6_OPTIONS, Bits, read_bits
from niclab.hosts.freebsd.fields import with_fields
from niclab.hosts.freebsd.ifconfig_records import BsdInterface, BsdInterfaces, Vlan
from niclab.hosts.freebsd.lagg import read_lagg_line
from niclab.hosts.freebsd.media import check_supported, read_media
from niclab.hosts.freebsd.transceiver import read_transceiver_line
from niclab.hosts.reading import whole_number
from niclab.hosts.transcript import refuse_error, transcript

_KIND = "ifconfig"
_TOOLS = ("ifconfig",)

_HEADER = re.compile(r"([A-Za-z0-9_.:-]{1,64}): flags=(.*)")
_AFTER_FLAGS = re.compile(r"(.*?)(?:\s+metric (\S+))?(?:\s+mtu (\S+))?")
_NAMES = re.compile(r"[a-z][a-z0-9_]{0,14}[0-9](?:\.[0-9]{1,4})?")
# Digits that somebody blotted out ("xx") before publishing are kept as they are.
_CAPABILITIES = {capability.label: capability.bit for capability in features.CAPABILITIES}
_BLOTTED = frozenset("xX*")
_ETHER = re.compile(r"[0-9a-fx*]{2}(?::[0-9a-fx*]{2}){5}", re.IGNORECASE)
_VLAN = re.compile(
    r"vlan: (\S+)(?: vlanproto: (\S+))?(?: vlanpcp: (\S+))?(?: parent interface: (\S+)| vlandev: (\S+))?"
)
# A driver that knows why there is no carrier says it behind: "no carrier (No issue was observed)".
_STATUS = re.compile(r"status:\s*([a-z ]*[a-z])(?: \((.+)\))?")
_STATUSES = ("active", "no carrier", "associated", "inserted", "no ring", "running", "scanning")
# A long list of names may be broken by the width of a page.
_BROKEN_LIST = re.compile(
    r"(?:options|capabilities|nd6 options|[^\s:]{1,64}: flags|laggport: \S+ flags)=[0-9a-fx]+<[^>]*"
)
_LIST_PART = re.compile(r"[A-Z0-9_, ]*(?:>.*)?")
_MOST_PARTS = 8
_LONGEST_LINE = 4096
_SMALLEST_MTU = 68
_NO_PROTOCOL = "0x0000"  # of a VLAN that is not configured
_MOST_VLAN, _MOST_PCP = 4095, 7

# Lines of software interfaces (bridge, carp, pfsync, tunnels, vxlan, wireless) and of other address families, by how
# they begin in sbin/ifconfig. They are kept as they are.
_OTHER = (
    *("id ", "maxage ", "root id ", "member: ", "ifmaxaddr ", "port ", "priority "),
    *("carp: ", "pfsync: ", "syncdev: ", "syncok: ", "syncpeer: ", "maxupd: ", "peer ", "stats: ", "bridge flags="),
    *("tunnel ", "tunnelfib: ", "fib: ", "Opened by PID ", "grekey: ", "reqid: ", "vxlan ", "config: ", "ftable: "),
    *("ch ", "geneve ", "pflow: ", "maclabel ", "atalk ", "ipx ", "lladdr ", "infiniband ", "pcp ", "vf ", "level: "),
    *("ssid ", "regdomain ", "country ", "authmode ", "privacy ", "parent interface: "),
)
_TUNNEL_OPTIONS = re.compile(
    r"options=[0-9a-f]{1,8}<(?:ACCEPT_REV_ETHER_VER|IGNORE_SOURCE|SEND_REV_ETHER_VER|ENABLE_CSUM|ENABLE_SEQ|UDPENCAP).*>"
)
_NOT_HERE = re.compile(r".*(?:RX packets|TX packets|RX errors|TX errors|txqueuelen|Link encap|RX bytes|UP .*MTU:).*")

_Line = tuple[int, str]


def read_ifconfig(text: str, command: str | None = None) -> BsdInterfaces:
    """Read ``ifconfig``. Complaints of the tool beside interfaces are kept; alone they are an error."""
    found = transcript(text, *_TOOLS, alone=_KIND)
    for number, line in found.filled:
        if len(line) > _LONGEST_LINE:
            raise unreadable(_KIND, f"line {number}", line, f"a line of at most {_LONGEST_LINE} characters")
    lines = _unbroken(tuple((number, line.strip()) for number, line in found.filled))
    errors = tuple(line for _, line in lines if line.startswith("ifconfig: "))
    blocks = _blocks(tuple((number, line) for number, line in lines if not line.startswith("ifconfig: ")))
    if blocks is not None:
        return BsdInterfaces(tuple(_interface(block) for block in blocks), errors)
    names = _listed_names(lines, command or found.command)
    if names is None:
        raise refuse_error(_KIND, lines, _TOOLS, "an interface such as 'oce0: flags=8843<UP,...> metric 0 mtu 1500'")
    return BsdInterfaces(tuple(BsdInterface(name, inet=None, inet6=None) for name in names))


def _unbroken(lines: tuple[_Line, ...]) -> tuple[_Line, ...]:
    """Lists of names that run over several lines, joined; the list must close within a few lines. A backslash at the
    end of a line is a book's sign for a line that was too wide."""
    joined: list[_Line] = []
    rest = list(reversed(lines))
    while rest:
        number, line = rest.pop()
        while line.endswith("\\") and rest:
            line = f"{line[:-1].rstrip()} {rest.pop()[1]}"
        if _BROKEN_LIST.fullmatch(line):
            for _ in range(_MOST_PARTS):
                if line.count(">") or not rest or not _LIST_PART.fullmatch(rest[-1][1]):
                    break
                line += rest.pop()[1]
        joined.append((number, line))
    return tuple(joined)


def _blocks(lines: tuple[_Line, ...]) -> list[list[_Line]] | None:
    """The lines of each interface; None when no line begins one."""
    blocks: list[list[_Line]] = []
    names: set[str] = set()
    begun = any(_HEADER.fullmatch(line) for _, line in lines)
    for number, line in lines:
        if (header := _HEADER.fullmatch(line)) is not None:
            if header[1] in names:
                raise unreadable(_KIND, f"line {number}", line, f"{header[1]} once")
            names.add(header[1])
            blocks.append([(number, line)])
        elif blocks:
            blocks[-1].append((number, line))
        elif begun:
            raise unreadable(_KIND, f"line {number}", line, "an interface such as 'oce0: flags=8843<UP,...>'")
    return blocks or None


def _listed_names(lines: tuple[_Line, ...], command: str | None) -> list[str] | None:
    """``ifconfig -l``: names on one line. Without the command only names that end in a number are believed."""
    if len(lines) != 1:
        return None
    words = lines[0][1].split()
    if command is not None and re.search(r"\bifconfig .*-[a-z]*l", command):
        # lo0 is always there; an interface may have any other name. A message has no such word.
        whole = all(re.fullmatch(r"[A-Za-z0-9_.-]{1,15}", word) for word in words)
        return words if whole and any(_NAMES.fullmatch(word) for word in words) else None
    return words if all(_NAMES.fullmatch(word) for word in words) else None


def _interface(block: list[_Line]) -> BsdInterface:
    interface = _header(*block[0])
    for number, line in block[1:]:
        interface = _with_line(interface, f"line {number}", line)
    return interface


def _header(number: int, line: str) -> BsdInterface:
    where = f"line {number}"
    header = _HEADER.fullmatch(line)
    assert header is not None
    rest = _AFTER_FLAGS.fullmatch(header[2])
    assert rest is not None
    if rest[3] is None and "<" not in rest[1]:
        raise unreadable(_KIND, where, line, "'oce0: flags=8843<UP,...> metric 0 mtu 1500'")
    return BsdInterface(
        name=header[1],
        flags=read_bits(_KIND, where, rest[1], FLAGS),
        metric=whole_number(_KIND, where, rest[2], "metric") if rest[2] else None,
        mtu=_mtu(where, rest[3]) if rest[3] else None,
    )


def _mtu(where: str, text: str) -> int:
    """0 of what carries no packets (usbus); else no less than every IPv4 packet needs (RFC 791)."""
    mtu = whole_number(_KIND, where, text, "mtu")
    if 0 < mtu < _SMALLEST_MTU:
        raise unreadable(_KIND, where, text, f"an mtu of at least {_SMALLEST_MTU}")
    return mtu


def _with_line(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    if _NOT_HERE.fullmatch(line):
        raise unreadable(_KIND, where, line, "a line of FreeBSD's ifconfig")
    transceiver = read_transceiver_line(_KIND, where, line, interface.transceiver)
    if transceiver is not None:
        return replace(interface, transceiver=transceiver)
    lagg = read_lagg_line(_KIND, where, line, interface.lagg)
    if lagg is not None:
        return replace(interface, lagg=lagg)
    wireless = interface.name.startswith("wlan") and _name_of(line) not in _READERS
    if line.startswith(_OTHER) or _TUNNEL_OPTIONS.fullmatch(line) or wireless:
        return replace(interface, other=(*interface.other, line))
    reader = _READERS.get(_name_of(line))
    if reader is None:
        raise unreadable(_KIND, where, line, f"a line that begins with one of {', '.join(_READERS)}")
    return reader(interface, where, line)


def _name_of(line: str) -> str:
    """What the line is about: its first word up to '=' or ':'; "nd6 options" and "supported media" are two words."""
    match = re.match(r"(?:nd6 options|supported media|[A-Za-z0-9]+)", line)
    return match[0] if match else ""


def _once(interface: BsdInterface, attribute: str, where: str, line: str) -> None:
    if getattr(interface, attribute) is not None:
        raise unreadable(_KIND, where, line, f"{attribute} once per interface")


def _bits(attribute: str, name: str, known: Mapping[str, int]) -> Callable[[BsdInterface, str, str], BsdInterface]:
    def read(interface: BsdInterface, where: str, line: str) -> BsdInterface:
        _once(interface, attribute, where, line)
        value = line.removeprefix(name)
        if value.startswith("="):
            bits = read_bits(_KIND, where, value[1:], known)
            if bits.names is None and interface.flags is not None and interface.flags.names is not None:
                raise unreadable(
                    _KIND, where, line, f"'{name}=507bb<RXCSUM,TXCSUM>', with names as the flags have them"
                )
        elif re.fullmatch(r" [A-Z0-9_,]+", value):
            bits = Bits(None, tuple(value.strip().split(",")))
        else:
            raise unreadable(_KIND, where, line, f"'{name}=507bb<RXCSUM,TXCSUM>'")
        return with_fields(interface, {attribute: bits})

    return read


def _address(attribute: str) -> Callable[[BsdInterface, str, str], BsdInterface]:
    def read(interface: BsdInterface, where: str, line: str) -> BsdInterface:
        _once(interface, attribute, where, line)
        address = line.removeprefix(attribute).strip()
        if not _ETHER.fullmatch(address):
            raise unreadable(_KIND, where, line, f"'{attribute} 00:00:c9:e6:67:a8'")
        return with_fields(interface, {attribute: address.lower()})

    return read


def _inet(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    found, known = read_inet(_KIND, where, line), interface.inet or ()
    if found in known and _BLOTTED.isdisjoint(found.address):
        raise unreadable(_KIND, where, line, f"{found.address} once")
    return replace(interface, inet=(*known, found))


def _inet6(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    found, known = read_inet6(_KIND, where, line), interface.inet6 or ()
    if found in known and _BLOTTED.isdisjoint(found.address):
        raise unreadable(_KIND, where, line, f"{found.address} once")
    return replace(interface, inet6=(*known, found))


def _media(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    """``media: ...``, and without the colon one of the supported media."""
    if line.startswith("media: "):
        _once(interface, "media", where, line)
        return replace(interface, media=read_media(_KIND, where, line.removeprefix("media: ").strip()))
    if interface.supported_media is None or not re.fullmatch(r"media [A-Za-z0-9<].*", line):
        raise unreadable(_KIND, where, line, "'media: ...', or 'media NAME' below 'supported media:'")
    supported = line.removeprefix("media ").strip()
    if not interface.name.startswith("wlan") and (interface.media is None or interface.media.type == "Ethernet"):
        check_supported(_KIND, where, supported)
    return replace(interface, supported_media=(*interface.supported_media, supported))


def _supported_media(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    _once(interface, "supported_media", where, line)
    if line != "supported media:":
        raise unreadable(_KIND, where, line, "'supported media:' on a line of its own")
    return replace(interface, supported_media=())


def _status(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    _once(interface, "status", where, line)
    match = _STATUS.fullmatch(line)
    if match is None or match[1] not in _STATUSES or (match[2] is not None and match[1] != "no carrier"):
        raise unreadable(_KIND, where, line, f"a status of {', '.join(_STATUSES)}")
    other = interface.other if match[2] is None else (*interface.other, line)
    return replace(interface, status=match[1], other=other)


def _vlan(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    _once(interface, "vlan", where, line)
    match = _VLAN.fullmatch(line)
    if match is None:
        raise unreadable(_KIND, where, line, "'vlan: 100 parent interface: oce0'")
    parent = match[4] or match[5]
    if parent is None:
        raise unreadable(_KIND, where, line, "the parent interface behind the VLAN's number")
    identity = whole_number(_KIND, where, match[1], "vlan")
    pcp = whole_number(_KIND, where, match[3], "vlanpcp") if match[3] else None
    protocols = ("802.1q", "802.1ad") if parent != "<none>" else ("802.1q", "802.1ad", _NO_PROTOCOL)
    if identity > _MOST_VLAN or (pcp or 0) > _MOST_PCP or match[2] not in (None, *protocols):
        raise unreadable(_KIND, where, line, "a VLAN up to 4095, 802.1q or 802.1ad, a priority up to 7")
    vlan = Vlan(
        id=identity,
        protocol=None if match[2] == _NO_PROTOCOL else match[2],
        pcp=pcp,
        parent=None if parent == "<none>" else parent,
    )
    return replace(interface, vlan=vlan)


def _text(attribute: str, name: str) -> Callable[[BsdInterface, str, str], BsdInterface]:
    def read(interface: BsdInterface, where: str, line: str) -> BsdInterface:
        _once(interface, attribute, where, line)
        if not line.startswith(f"{name}:"):
            raise unreadable(_KIND, where, line, f"'{name}: TEXT'")
        return with_fields(interface, {attribute: line.removeprefix(f"{name}:").strip() or None})

    return read


def _groups(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    _once(interface, "groups", where, line)
    if not line.startswith("groups:"):
        raise unreadable(_KIND, where, line, "'groups: NAME ...'")
    return replace(interface, groups=tuple(line.removeprefix("groups:").split()))


_READERS: dict[str, Callable[[BsdInterface, str, str], BsdInterface]] = {
    "options": _bits("options", "options", _CAPABILITIES),
    "capabilities": _bits("capabilities", "capabilities", _CAPABILITIES),
    "nd6 options": _bits("nd6_options", "nd6 options", ND6_OPTIONS),
    "ether": _address("ether"),
    "hwaddr": _address("hwaddr"),
    "inet": _inet,
    "inet6": _inet6,
    "media": _media,
    "supported media": _supported_media,
    "status": _status,
    "vlan": _vlan,
    "groups": _groups,
    "description": _text("description", "description"),
    "drivername": _text("driver_name", "drivername"),
}
