"""PCI functions, as far as they are the same on every operating system: ids, links, and interfaces to choose from."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from itertools import pairwise

from niclab.core.verdict import BenchFault
from niclab.hosts.command_words import interface_name
from niclab.hosts.errors import ReadError
from niclab.hosts.host_records import PciDevice, PcieLink

_ID = re.compile(r"[0-9a-f]{4}")


def pci_id(host: str, text: str) -> str:
    """Return a vendor or device id that may be put into a command line.

    Args:
        host: Subject of the message.
        text: The id.

    Raises:
        BenchFault: It is none.
    """
    if not _ID.fullmatch(text):
        raise BenchFault(f"{host}: PCI id {text!r}; expected four hexadecimal digits")
    return text


def links_of(
    host: str, address: str, chain: Sequence[PciDevice], downstream_facing: Container[str]
) -> tuple[PcieLink, ...]:
    """Return every PCIe link from the root port down to a function, at least one.

    The internal bus of a switch, between its upstream and downstream ports, is no link and not listed.

    Args:
        host: Subject of the messages.
        address: PCI address of the function.
        chain: Each device from the port on the root bus down to the function.
        downstream_facing: Kinds of ports that look down: the upper end of a link.

    Raises:
        ReadError: The two ends of a link report different speeds or widths.
        BenchFault: No link leads to the function, or one is not trained.
    """
    pairs = [pair for pair in pairwise(chain) if pair[0].port_type in downstream_facing]
    links = tuple(_link(host, above, below) for above, below in pairs)
    if not links:
        raise BenchFault(f"{host}: no PCIe link leads to {address}: it sits on a root or conventional PCI bus")
    return links


def chosen_interface(host: str, address: str, ports: Mapping[str, int], port_index: int | None) -> str:
    """Return the one interface of a PCI function that is meant.

    Args:
        host: Subject of the message.
        address: PCI address of the function.
        ports: Interface -> its number on the function.
        port_index: The number of the one that is meant; None where the function has one interface.

    Raises:
        BenchFault: There is no such interface, or several.
    """
    chosen = [name for name, index in ports.items() if port_index is None or index == port_index]
    if len(chosen) != 1:
        shown = ", ".join(f"{name} (port {index})" for name, index in ports.items())
        wanted = "one interface; say which port" if port_index is None else f"port {port_index}"
        raise BenchFault(f"{host}: {address} has the interfaces {shown}; expected {wanted}")
    return interface_name(host, chosen[0])


def _link(host: str, above: PciDevice, below: PciDevice) -> PcieLink:
    where = f"{host}: link {above.slot} -> {below.slot}"
    if below.dead:
        raise BenchFault(f"{where}: {below.slot} does not answer (its configuration space reads all ones)")
    if below.lnksta_gts is None or below.lnksta_width is None:
        raise BenchFault(f"{where}: not trained, {below.slot} reports no speed or no width")
    if (above.lnksta_gts, above.lnksta_width) != (below.lnksta_gts, below.lnksta_width):
        raise ReadError(
            f"upper end reports {above.lnksta_gts} GT/s x{above.lnksta_width},"
            f" lower end {below.lnksta_gts} GT/s x{below.lnksta_width}: one link has one speed and width",
            where,
        )
    return PcieLink(above, below, below.lnksta_gts, below.lnksta_width)
