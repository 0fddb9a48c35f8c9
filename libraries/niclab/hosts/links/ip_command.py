"""Reader of ``ip -j -s -d addr`` and ``ip -j -d link`` (iproute2 4.17 and later)."""

from __future__ import annotations

from collections.abc import Sequence

from niclab.core.verdict import BenchFault
from niclab.hosts.bonds.bond_records import Vlan
from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import Address, Interface, Operstate, Statistics
from niclab.hosts.reading import JsonNode, load_json

_KIND = "ip -j"
_VLAN_PROTOCOLS = ("802.1Q", "802.1ad")
_HIGHEST_VLAN = 4094


def interface_command(iface: str = "") -> str:
    """The command that shows one interface whole, or all of them, for :func:`read_interfaces`."""
    return f"ip -j -s -d addr show dev {iface}" if iface else "ip -j -s -d addr show"


def the_one(host: str, command: str, iface: str, records: Sequence[Interface]) -> Interface:
    """Return the only interface that a command has shown.

    Raises:
        BenchFault: It has shown another, or several.
    """
    if len(records) != 1 or records[0].name != iface:
        raise BenchFault(f"{host}: `{command}` showed {[record.name for record in records]}; expected {iface}")
    return records[0]


def read_interfaces(text: str) -> tuple[Interface, ...]:
    """Read the interfaces of ``ip -j [-s] [-d] link|addr [show dev X]``.

    Empty objects are skipped: iproute2 before 5.3 prints one for every interface its filter left out. ``carrier`` is
    the flag ``LOWER_UP``, which the kernel sets for what sysfs calls ``carrier`` (net/core/dev.c, ``dev_get_flags``);
    an interface that is down has none.

    Raises:
        ReadError: The text is no such document, has no interface, or one of them twice.
    """
    interfaces = tuple(_interface(node) for node in _nodes(text))
    for seen in ([one.name for one in interfaces], [one.index for one in interfaces]):
        if len(set(seen)) != len(seen):
            raise unreadable(_KIND, "text", text, "each interface once")
    return interfaces


def read_vlan(text: str) -> Vlan:
    """Read ``ip -j -d link show dev X`` of one VLAN interface.

    Raises:
        ReadError: The text is no such document, or the interface is no VLAN.
    """
    nodes = _nodes(text)
    if len(nodes) != 1:
        raise unreadable(_KIND, "text", text, "one interface")
    info = nodes[0].child("linkinfo")
    if info.child("info_kind").text() != "vlan":
        raise info.wrong("an interface of kind vlan")
    data = info.child("info_data")
    protocol, vlan_id = data.child("protocol").text(), data.child("id").count()
    if protocol not in _VLAN_PROTOCOLS or vlan_id > _HIGHEST_VLAN:
        raise data.wrong(f"a protocol of {', '.join(_VLAN_PROTOCOLS)} and an id of 0 to {_HIGHEST_VLAN}")
    return Vlan(nodes[0].child("ifname").text(), vlan_id, nodes[0].child("link").text(), protocol)


def _nodes(text: str) -> list[JsonNode]:
    nodes = [node for node in load_json(_KIND, text).items() if node.value != {}]
    if not nodes:
        raise unreadable(_KIND, "text", text, "at least one interface")
    return nodes


def _interface(node: JsonNode) -> Interface:
    link_info = node.optional("linkinfo")
    stats = node.optional("stats64") or node.optional("stats")
    addresses = node.optional("addr_info")
    flags = [flag.text() for flag in node.child("flags").items()]
    admin_up, carrier = "UP" in flags, "LOWER_UP" in flags
    return Interface(
        name=node.child("ifname").text(),
        index=node.child("ifindex").count(),
        mac=_text(node.optional("address")),
        mtu=node.child("mtu").count(),
        admin_up=admin_up,
        operstate=_operstate(node.child("operstate")),
        kind=_text(link_info.optional("info_kind")) if link_info else None,
        master=_text(node.optional("master")),
        addresses=tuple(_address(entry) for entry in addresses.items() if entry.value != {}) if addresses else (),
        statistics=_statistics(stats) if stats else None,
        carrier=carrier,
        permanent_mac=_text(node.optional("permaddr")),
    )


def _text(node: JsonNode | None) -> str | None:
    return node.text() if node else None


def _operstate(node: JsonNode) -> Operstate:
    try:
        return Operstate(node.text())
    except ValueError as error:
        raise node.wrong(f"one of {', '.join(Operstate)}") from error


def _address(node: JsonNode) -> Address:
    tentative = node.optional("tentative")
    return Address(
        family=node.child("family").text(),
        address=node.child("local").text(),
        prefix_length=node.child("prefixlen").count(),
        scope=node.child("scope").text(),
        tentative=tentative is not None and tentative.value is True,
    )


def _statistics(node: JsonNode) -> Statistics:
    rx, tx = node.child("rx"), node.child("tx")
    return Statistics(
        rx_bytes=rx.child("bytes").count(),
        rx_packets=rx.child("packets").count(),
        rx_errors=rx.child("errors").count(),
        rx_dropped=rx.child("dropped").count(),
        tx_bytes=tx.child("bytes").count(),
        tx_packets=tx.child("packets").count(),
        tx_errors=tx.child("errors").count(),
        tx_dropped=tx.child("dropped").count(),
    )
