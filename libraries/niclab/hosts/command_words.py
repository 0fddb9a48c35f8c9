"""Names and addresses that may be put into a command line: they are checked before they are used.

Every function returns its argument, or raises :class:`~niclab.core.verdict.BenchFault` saying what is wanted.
"""

from __future__ import annotations

import ipaddress
import re

from niclab.core.verdict import BenchFault

_INTERFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}")  # IFNAMSIZ is 16 with the final NUL
_MODULE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,55}")  # MODULE_NAME_LEN is 56 on 64-bit kernels
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_TOOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")


def interface_name(host: str, name: str) -> str:
    return _checked(host, "interface", name, _INTERFACE, "up to 15 letters, digits, '_', '.', '-'")


def module_name(host: str, name: str) -> str:
    return _checked(host, "module", name, _MODULE, "up to 56 letters, digits, '_', '-'")


def pci_address(host: str, address: str) -> str:
    return _checked(host, "PCI address", address, _PCI_ADDRESS, "domain:bus:device.function such as 0000:01:00.0")


def tool_name(host: str, name: str) -> str:
    return _checked(host, "tool", name, _TOOL, "the name of a program without a path")


def ip_address(host: str, address: str) -> str:
    """An IPv4 or IPv6 address; a link-local one may name its interface (``fe80::1%eth0``)."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError as error:
        raise BenchFault(f"{host}: address {address!r}; expected an IPv4 or IPv6 address") from error
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.scope_id is not None:
        interface_name(host, parsed.scope_id)
    return str(parsed)


def ip_cidr(host: str, cidr: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    """An address with its prefix length, both written out: ``198.18.10.1/24``."""
    try:
        parsed = ipaddress.ip_interface(cidr)
    except ValueError as error:
        raise BenchFault(f"{host}: address {cidr!r}; expected ADDRESS/PREFIX such as 198.18.10.1/24") from error
    if "/" not in cidr or "%" in cidr:
        raise BenchFault(f"{host}: address {cidr!r}; expected ADDRESS/PREFIX such as 198.18.10.1/24")
    return parsed


def mac_address(host: str, address: str) -> str:
    return _checked(host, "MAC address", address, _MAC, "six bytes such as 02:00:5e:00:53:01")


def _checked(host: str, what: str, value: str, pattern: re.Pattern[str], wanted: str) -> str:
    if not pattern.fullmatch(value):
        raise BenchFault(f"{host}: {what} {value!r}; expected {wanted}")
    return value
