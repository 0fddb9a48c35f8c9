"""Reader of ``ip link`` and ``ip addr``, as JSON (``-j``) and as text, of one or several interfaces."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from niclab.hosts.errors import unreadable
from niclab.hosts.link_records import LinkBond, LinkSlave, NetworkLink, NetworkLinks
from niclab.hosts.linux.capture import content, is_json, json_document
from niclab.hosts.linux.ip_text import KIND, links_of_text
from niclab.hosts.reading import JsonNode
from niclab.hosts.records import Address, Operstate

_T = TypeVar("_T")

_MAC = re.compile(r"[0-9A-Za-z*]{2}(?::[0-9A-Za-z*]{2}){5}(?:(?::[0-9A-Za-z*]{2}){14})?")  # people blot them out
_WITH_MAC = ("ether", "loopback", "infiniband")


def read_links(text: str) -> NetworkLinks:
    """Read all interfaces; the brief form (``-br``) has neither index nor MTU.

    No interface at all, and one name or index twice, are errors.

    Empty objects are skipped: iproute2 before 5.3 prints one for every interface its filter left out.
    """
    lines = content(text)
    if is_json(lines):
        nodes = json_document(KIND, lines).items()
    else:
        nodes = JsonNode(KIND, "", list(links_of_text(lines))).items()
    links = tuple(_link(node) for node in nodes if node.value != {})
    if not links:
        raise unreadable(KIND, "text", text.strip(), "at least one interface")
    for seen in ([link.name for link in links], [link.index for link in links if link.index is not None]):
        if len(set(seen)) != len(seen):
            raise unreadable(KIND, "text", text.strip(), "each interface once")
    return NetworkLinks(links)


def _optional(node: JsonNode | None, name: str, read: Callable[[JsonNode], _T]) -> _T | None:
    member = node.optional(name) if node else None
    return None if member is None else read(member)


def _text(node: JsonNode | None, name: str) -> str | None:
    return _optional(node, name, JsonNode.text)


def _count(node: JsonNode | None, name: str) -> int | None:
    return _optional(node, name, JsonNode.count)


def _texts(node: JsonNode) -> tuple[str, ...]:
    return tuple(entry.text() for entry in node.items())


def _link(node: JsonNode) -> NetworkLink:
    info = node.optional("linkinfo")
    data = info.optional("info_data") if info else None
    slave = info.optional("info_slave_data") if info else None
    kind, slave_kind = _text(info, "info_kind"), _text(info, "info_slave_kind")
    address = _mac if _text(node, "link_type") in _WITH_MAC else JsonNode.text  # tunnels have addresses of their own
    return NetworkLink(
        name=node.child("ifname").text(),
        index=_count(node, "ifindex"),
        flags=_texts(node.child("flags")),
        mtu=_count(node, "mtu"),
        qdisc=_text(node, "qdisc"),
        state=_optional(node, "operstate", _state),
        master=_text(node, "master"),
        link=_text(node, "link"),
        group=_text(node, "group"),
        qlen=_count(node, "txqlen"),
        link_type=_text(node, "link_type"),
        mac=_optional(node, "address", address),
        broadcast=_optional(node, "broadcast", address),
        permanent_mac=_optional(node, "permaddr", address),
        kind=kind,
        slave_kind=slave_kind,
        vlan_id=_count(data, "id") if kind == "vlan" else None,
        vlan_protocol=_optional(data, "protocol", _protocol) if kind == "vlan" else None,
        bond=_bond(data) if kind == "bond" and data else None,
        bond_slave=_slave(slave) if slave_kind == "bond" and slave else None,
        alias=_text(node, "ifalias"),
        altnames=_optional(node, "altnames", _texts) or (),
        addresses=tuple(_address(entry) for entry in _optional(node, "addr_info", JsonNode.items) or [] if entry.value),
        statistics=_statistics(node.optional("stats64") or node.optional("stats")),
    )


def _state(node: JsonNode) -> Operstate:
    try:
        return Operstate(node.text())
    except ValueError as error:
        raise node.wrong(f"one of {', '.join(Operstate)}") from error


def _mac(node: JsonNode) -> str:
    """An address of 6 bytes (Ethernet) or 20 (InfiniBand)."""
    if not _MAC.fullmatch(node.text()):
        raise node.wrong("an address such as 00:1b:21:aa:bb:cc")
    return node.text()


def _one_of(words: tuple[str, ...]) -> Callable[[JsonNode], str]:
    """A reader of one of the words, or of the number that an old tool writes for one that it does not know."""

    def read(node: JsonNode) -> str:
        if isinstance(node.value, int) and not isinstance(node.value, bool) and node.value >= 0:
            return str(node.value)
        if node.text() not in words:
            raise node.wrong(f"one of {', '.join(words)}")
        return node.text()

    return read


_protocol = _one_of(("802.1Q", "802.1ad", "802.1q"))
_mode = _one_of(("balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"))
_lacp_rate = _one_of(("slow", "fast"))
_policy = _one_of(("layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4", "vlan+srcmac", "vlansrc"))


def _bond(data: JsonNode) -> LinkBond:
    ad_info = data.optional("ad_info")
    return LinkBond(
        mode=_mode(data.child("mode")),
        active_slave=_text(data, "active_slave"),
        primary=_text(data, "primary"),
        miimon_ms=_count(data, "miimon"),
        updelay_ms=_count(data, "updelay"),
        downdelay_ms=_count(data, "downdelay"),
        lacp_rate=_optional(data, "ad_lacp_rate", _lacp_rate),
        xmit_hash_policy=_optional(data, "xmit_hash_policy", _policy),
        aggregator_id=_count(ad_info, "aggregator"),
        partner_mac=_optional(ad_info, "partner_mac", _mac),
    )


def _slave(data: JsonNode) -> LinkSlave:
    return LinkSlave(
        state=_text(data, "state"),
        mii_status=_text(data, "mii_status"),
        link_failures=_count(data, "link_failure_count"),
        permanent_mac=_optional(data, "perm_hwaddr", _mac),
        aggregator_id=_count(data, "ad_aggregator_id"),
    )


def _address(node: JsonNode) -> Address:
    tentative = node.optional("tentative")
    return Address(
        family=node.child("family").text(),
        address=node.child("local").text(),
        prefix_length=node.child("prefixlen").count(),
        scope=node.child("scope").text(),
        tentative=tentative is not None and tentative.value is True,
    )


def _statistics(node: JsonNode | None) -> dict[str, int] | None:
    """``rx_bytes``, ``tx_carrier_errors``; both directions, and in each bytes, packets, errors and dropped."""
    if node is None:
        return None
    counters: dict[str, int] = {}
    for direction in ("rx", "tx"):
        part = node.child(direction)
        for needed in ("bytes", "packets", "errors", "dropped"):
            part.child(needed)
        assert isinstance(part.value, dict)
        counters.update({f"{direction}_{name}": part.child(name).count() for name in part.value})
    return counters
