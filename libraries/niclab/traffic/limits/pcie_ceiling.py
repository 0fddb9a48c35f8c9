"""The most that a PCI Express link can carry: the ceiling under every throughput of a card.

Transfers/s x lanes x encoding, less what frames a packet (TLP) of one full payload:

* encoding: 8b/10b at 2.5 and 5 GT/s, 128b/130b at 8 to 32 GT/s (PCI Express Base Specification 5.0, 4.2.1 and 4.2.2);
  at 64 GT/s 236 of the 256 bytes of a flit are for TLPs (6.0);
* a memory write with a 64-bit address costs 24 bytes more than its payload: header 16, sequence number and framing 4,
  LCRC 4 (Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018; Xilinx WP350).

Left out are acknowledgements, flow control and the card's descriptors, so the ceiling is an upper bound: a limit above
it cannot be reached, one below it perhaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from niclab.hosts.host_records import PcieLink

TLP_OVERHEAD_BYTES = 24
SMALLEST_MAX_PAYLOAD_BYTES = 128
"""Every function can do as much (Base Specification, Device Capabilities); taken where the host does not say."""


@dataclass(frozen=True)
class Ceiling:
    """``bps``: bit/s of payload in one direction; ``text`` says of which link and why."""

    bps: float
    text: str


def ceiling(links: Sequence[PcieLink]) -> Ceiling:
    """The ceiling of the narrowest of ``links``, as they were negotiated.

    Raises:
        ValueError: Without links.
    """
    if not links:
        raise ValueError("no links; expected at least one")
    return min((_of(link) for link in links), key=lambda each: each.bps)


def _of(link: PcieLink) -> Ceiling:
    payload = link.downstream.max_payload_bytes or SMALLEST_MAX_PAYLOAD_BYTES
    bps = link.gts * 1e9 * link.width * _encoding(link.gts) * payload / (payload + TLP_OVERHEAD_BYTES)
    text = f"{bps / 1e9:.2f} Gbit/s over PCIe {link.gts:g} GT/s x{link.width} with payloads of {payload} bytes"
    return Ceiling(bps, f"{text} ({link.upstream.slot} -> {link.downstream.slot})")


def _encoding(gts: float) -> float:
    if gts <= 5:
        return 8 / 10
    return 128 / 130 if gts <= 32 else 236 / 256
