"""Reader of ``ip -j -s -d link`` and ``ip -j -s -d addr`` (iproute2 4.17 and later)."""

from __future__ import annotations

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import JsonNode, load_json
from niclab.hosts.records import Address, Interface, Operstate, Statistics

_KIND = "ip -j"


def read_interfaces(text: str) -> tuple[Interface, ...]:
    """Read the interfaces of ``ip -j [-s] [-d] link|addr [show dev X]``.

    Empty objects are skipped: iproute2 before 5.3 prints one for every interface its filter left out. No interface at
    all is an error. ``carrier`` is the flag ``LOWER_UP``, which the kernel sets for what sysfs calls ``carrier``
    (net/core/dev.c, ``dev_get_flags``); an interface that is down has none.
    """
    interfaces = tuple(_interface(node) for node in load_json(_KIND, text).items() if node.value != {})
    if not interfaces:
        raise unreadable(_KIND, "text", text, "at least one interface")
    return interfaces


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
        carrier_reason=None if carrier else "no carrier" if admin_up else "interface is administratively down",
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
