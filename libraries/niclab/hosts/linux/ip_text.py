"""The text of ``ip [-d] [-s] [-o] link|addr`` as the JSON of ``ip -j`` would hold it (iproute2 2.6.18 to 6.x)."""

from __future__ import annotations

import re
from ipaddress import ip_address
from itertools import pairwise
from typing import Any

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import unbroken, whole_number
from niclab.hosts.transcript import Line

KIND = "ip link"

_HEAD = re.compile(r"([0-9]{1,9}): ([^\s@:]{1,30})(?:@([^\s:]{1,30}))?: <([A-Z0-9_,-]*)>((?: .*)?)")
# "ip -br link": no index, no MTU.
_BRIEF = re.compile(
    r"([^\s@:]{1,30})(?:@(\S{1,30}))?\s+(UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT|NOTPRESENT|TESTING)\s+"
    r"(?:([0-9A-Za-z*:.]{2,60})\s+)?<([A-Z0-9_,-]*)>\s*"
)
# How details begin where their indentation was lost.
_BARE = re.compile(
    r"(?:link/|inet6? |[RT]X: |[RT]X errors|altname |alias |valid_lft |promiscuity |vlan |bond(?:_slave)? ).*"
)
_ADDRESS = re.compile(r"(inet6?) ([^\s/]{1,60})/([0-9]{1,3})(?: (.*))?")
_PEER = re.compile(r"(inet6?) ([^\s/]{1,60}) peer \S{1,60}/([0-9]{1,3})(?: (.*))?")
_SCOPES = ("host", "link", "global", "site", "nowhere")
_BLOTS = frozenset("ghijklmnopqrstuvwxyz*#?<[")
_BITS = {"inet": 32, "inet6": 128}
# Of a link that is no Ethernet; behind "link/none" and "link/ppp" the next word may stand at once.
_HARDWARE_ADDRESS = re.compile(r"[0-9A-Za-z*]{1,4}[.:][0-9A-Za-z*.:]{0,60}|[0-9]{1,10}|::")
_MAC = re.compile(r"[0-9A-Za-z*]{2}(:[0-9A-Za-z*]{2}){5}")  # more than hex: people blot out their addresses
_GUID = re.compile(r"[0-9A-Za-z*]{2}(:[0-9A-Za-z*]{2}){19}")
_TUNNEL_ADDRESS = re.compile(
    r"[0-9*xX]{1,3}(?:\.[0-9A-Za-z*]{1,3}){3}|(?:[0-9a-f]{0,4}:){1,7}:[0-9a-f]{0,4}|::|[0-9]{1,10}"
)
_CUT_TYPE = re.compile(
    r"link/(?:n(?:on?)?|pp?|si?|ca?|v(?:oi?)?|gr?|e(?:t(?:h(?:er?)?)?)?|l(?:o(?:o(?:p(?:b\w{0,3})?)?)?)?|i(?:n(?:f\w{0,7})?)?)?"
)
_CUT_NUMBER = re.compile(r"link/\[[^\]]*")
_MORE = ("prog/xdp", "promiscuity", "RX", "TX", "addrgenmode", "valid_lft")
_NUMBER = re.compile(r"[0-9]{1,20}")
_STATISTICS = re.compile(r"(RX|TX)( errors)?:\s+(.*)")
# Kinds of iproute2's "ip link help"; the line of details begins with one of them.
_KINDS = re.compile(
    r"amt|bareudp|batadv|bond|bridge|can|dsa|dummy|erspan|geneve|gre|gretap|gtp|hsr|ifb|ip6erspan|ip6gre|ip6gretap|"
    r"ip6tnl|ipip|ipoib|ipvlan|ipvtap|lowpan|macsec|macvlan|macvtap|netdevsim|netkit|nlmon|openvswitch|ovpn|pfcp|ppp|"
    r"rmnet|sit|team|tun|vcan|veth|virt_wifi|vlan|vrf|vti|vti6|vxcan|vxlan|wireguard|wwan|xfrm"
)
# A kind of a driver from elsewhere, of which iproute2 has no details to show.
_OTHER_KIND = re.compile(r"\s+[a-z][a-z0-9_-]{1,20} addrgenmode .*")
_WITH_MAC = ("link/ether", "link/loopback")
_NUMBERED = re.compile(r"[0-9]{1,9}: ")
_HEAD_WORDS = {"qdisc": "qdisc", "state": "operstate", "master": "master", "group": "group"}
# Statistics whose heading differs from iproute2's JSON name.
_OLD_NAMES = {
    "overrun": "over_errors",
    "missed": "missed_errors",
    "mcast": "multicast",
    "carrier": "carrier_errors",
    "collsns": "collisions",
}

# The same of a bond's details.
_BOND_NAMES = {"lacp_rate": "ad_lacp_rate"}

_Link = dict[str, Any]


def links_of_text(lines: list[Line]) -> list[_Link]:
    """One object an interface, with the names of ``ip -j``."""
    links: list[_Link] = []
    reader: _Reader | None = None
    for number, line in _unfolded(unbroken(lines, _begins)):
        match, brief = _HEAD.fullmatch(line), _BRIEF.fullmatch(line)
        if match is not None:
            reader = _Reader(_head(number, line, match))
            links.append(reader.link)
        elif brief is not None and reader is None:
            links.append(_brief(number, line, brief))
        elif reader is None or not (line[0].isspace() or reader.heading_waits or _BARE.fullmatch(line)):
            raise unreadable(KIND, f"line {number}", line, "'2: eth0: <FLAGS> mtu 1500 ...' or its indented details")
        else:
            reader.detail(number, line)
    if reader is not None and reader.heading_waits:
        raise unreadable(
            KIND, "text", lines[-1][1], "numbers below the heading of statistics: the output is incomplete"
        )
    for link in links:
        if "ifindex" in link and not any(link.get(said) for said in ("link_type", "addr_info", "linkinfo")):
            raise unreadable(KIND, "text", link["ifname"], "a line 'link/ether MAC', an address or a kind below it")
    return links


def _begins(line: str) -> bool:
    return _NUMBERED.match(line) is not None or any(pattern.fullmatch(line) for pattern in (_BRIEF, _BARE))


def _unfolded(lines: list[Line]) -> list[Line]:
    """``ip -o`` writes a backslash where the other form begins a new line."""
    return [(number, part) for number, line in lines for part in line.split("\\") if part.strip()]


def _head(number: int, line: str, match: re.Match[str]) -> _Link:
    words = match[5].split()
    pairs = dict(pairwise(words))
    if "mtu" not in pairs:
        raise unreadable(KIND, f"line {number}", line, "mtu N behind the flags")
    where = f"line {number}"
    link: _Link = {
        "ifindex": int(match[1]),
        "ifname": match[2],
        "flags": match[4].split(",") if match[4] else [],
        "mtu": whole_number(KIND, where, pairs["mtu"], "mtu"),
        "addr_info": [],
    }
    if match[3] is not None and match[3] != "NONE":
        link["link"] = match[3]
    link.update({name: pairs[word] for word, name in _HEAD_WORDS.items() if word in pairs})
    if "qlen" in pairs:
        link["txqlen"] = whole_number(KIND, where, pairs["qlen"], "qlen")
    return link


def _brief(number: int, line: str, match: re.Match[str]) -> _Link:
    if match[4] is not None and not any(each.fullmatch(match[4]) for each in (_MAC, _GUID, _TUNNEL_ADDRESS)):
        raise unreadable(KIND, f"line {number}", line, "an address such as 00:1b:21:aa:bb:cc")
    link: _Link = {"ifname": match[1], "operstate": match[3], "flags": match[5].split(",") if match[5] else []}
    link.update({name: match[at] for name, at in (("link", 2), ("address", 4)) if match[at] not in (None, "NONE")})
    return link


def _is_address(family: str, text: str, bits: int) -> bool:
    """Whether this is an address of that family; one with letters that it cannot have was blotted out by somebody."""
    if bits > _BITS[family]:
        return False
    try:
        return ip_address(text).version == (4 if family == "inet" else 6)
    except ValueError:
        return any(char in _BLOTS for char in text.lower()) and "-" not in text[:1]


class _Reader:
    """Reads the indented lines below one interface's head."""

    def __init__(self, link: _Link) -> None:
        self.link = link
        self._heading: tuple[str, list[str]] | None = None
        self._below_vf = False

    @property
    def heading_waits(self) -> bool:
        """Whether the last line was a heading, whose numbers are missing."""
        return self._heading is not None

    def detail(self, number: int, line: str) -> None:
        words = line.split()
        statistics = _STATISTICS.fullmatch(line.strip())
        if self._heading is not None:
            self._numbers(number, line, words)
        elif statistics is not None:
            self._heading = (statistics[1].lower(), statistics[3].split() if not statistics[2] else [])
        elif words[0].startswith("link/"):
            self._hardware(number, line, words)
        elif words[0] in ("inet", "inet6"):
            self._address(number, line)
        elif words[0] in ("altname", "alias"):
            self._name(number, line, words)
        elif words[0] == "vf":
            self._below_vf = True
        elif _KINDS.fullmatch(words[0].removesuffix("_slave")) or _OTHER_KIND.fullmatch(line):
            self._kind(words)
        elif not self._is_continuation(line):
            raise unreadable(KIND, f"line {number}", line, "link/..., inet, RX:, TX:, altname or a kind such as vlan")

    def _is_continuation(self, line: str) -> bool:
        """Deeper lines (lifetimes, priority maps), and hardware details on a line of their own."""
        return line.expandtabs().startswith("      ") or line.split()[0] in _MORE

    def _numbers(self, number: int, line: str, words: list[str]) -> None:
        """Values below a heading. Of errors in detail and of virtual functions they are only checked."""
        assert self._heading is not None
        direction, names = self._heading
        self._heading = None
        values = [whole_number(KIND, f"line {number}", word, f"{direction} statistics") for word in words]
        if self._below_vf or not names:
            return
        if len(values) != len(names):
            raise unreadable(KIND, f"line {number}", line, f"{len(names)} numbers: {' '.join(names)}")
        counters = {_OLD_NAMES.get(name, name): value for name, value in zip(names, values, strict=True)}
        self.link.setdefault("stats64", {})[direction] = counters

    def _hardware(self, number: int, line: str, words: list[str]) -> None:
        if "link_type" in self.link:
            raise unreadable(KIND, f"line {number}", line, "link/... once an interface")
        unread = len(words) > 1 and words[1].startswith("-")
        if unread or (len(words) == 1 and (_CUT_TYPE.fullmatch(words[0]) or _CUT_NUMBER.fullmatch(words[0]))):
            raise unreadable(KIND, f"line {number}", line, "'link/ether 00:1b:21:aa:bb:cc'")
        self.link["link_type"] = words[0].removeprefix("link/")
        if len(words) > 1 and _HARDWARE_ADDRESS.fullmatch(words[1]):
            self.link["address"] = words[1]
        if words[0] in _WITH_MAC and not (len(words) > 1 and _MAC.fullmatch(words[1])):
            raise unreadable(KIND, f"line {number}", line, f"'{words[0]} 00:1b:21:aa:bb:cc'")
        if words[0] == "link/infiniband" and not (len(words) > 1 and _GUID.fullmatch(words[1])):
            raise unreadable(KIND, f"line {number}", line, "an address of 20 bytes")
        pairs = dict(pairwise(words))
        whole = _MAC if words[0] in _WITH_MAC else _GUID if words[0] == "link/infiniband" else None
        for word in ("brd", "permaddr") if whole else ():
            if word in words and whole is not None and not whole.fullmatch(pairs.get(word, "")):
                raise unreadable(KIND, f"line {number}", line, f"'{word} ff:ff:ff:ff:ff:ff'")
        names = {"brd": "broadcast", "permaddr": "permaddr"}
        self.link.update({name: pairs[word] for word, name in names.items() if word in pairs})

    def _address(self, number: int, line: str) -> None:
        match = _ADDRESS.fullmatch(line.strip()) or _PEER.fullmatch(line.strip())
        if match is None:
            # A point-to-point address without a prefix is that of one host.
            words = line.split()
            match = _ADDRESS.fullmatch(f"{words[0]} {words[1]}/32 {' '.join(words[2:])}") if len(words) > 1 else None
        words = (match[4] or "").split() if match else []
        if match is None or "scope" not in words[:-1] or not _is_address(match[1], match[2], int(match[3])):
            raise unreadable(KIND, f"line {number}", line, "'inet 10.0.0.1/24 scope global'")
        scope = words[words.index("scope") + 1]
        if scope not in _SCOPES and any(known.startswith(scope) for known in _SCOPES):
            raise unreadable(KIND, f"line {number}", line, "a whole scope such as global")
        address = {
            "family": match[1],
            "local": match[2],
            "prefixlen": int(match[3]),
            "scope": scope,
            "tentative": "tentative" in words,
        }
        if address in self.link["addr_info"]:
            raise unreadable(KIND, f"line {number}", line, "each address once")
        self.link["addr_info"].append(address)

    def _name(self, number: int, line: str, words: list[str]) -> None:
        if len(words) < 2:
            raise unreadable(KIND, f"line {number}", line, f"a name behind {words[0]}")
        if words[1] in self.link.get("altnames", []):
            raise unreadable(KIND, f"line {number}", line, "each name once")
        if words[0] == "altname":
            self.link.setdefault("altnames", []).append(words[1])
        else:
            self.link["ifalias"] = line.strip().removeprefix("alias").strip()

    def _kind(self, words: list[str]) -> None:
        info = self.link.setdefault("linkinfo", {})
        pairs = dict(pairwise(words[1:]))
        numbers = {
            _BOND_NAMES.get(name, name): int(value) if _NUMBER.fullmatch(value) else value
            for name, value in pairs.items()
        }
        if words[0].endswith("_slave"):
            info.update(info_slave_kind=words[0].removesuffix("_slave"), info_slave_data=numbers)
        elif "info_kind" not in info:
            ad = {
                name.removeprefix("ad_"): numbers[name]
                for name in ("ad_aggregator", "ad_partner_mac")
                if name in numbers
            }
            info.update(info_kind=words[0], info_data={**numbers, **({"ad_info": ad} if ad else {})})
