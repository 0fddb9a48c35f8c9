"""The throughput of TCP on the virtual card: the formula of README.md, "Time", computed from a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import models

HEADERS = 20 + 20 + 12  # IPv4, TCP, TCP timestamps
ETHERNET = 14
FRAME_OVERHEAD, FRAME_MIN = 24, 60  # FCS, preamble, gap; IEEE 802.3-2018, 4A.4.2
PAYLOAD, TLP_OVERHEAD, DESCRIPTOR = 256, 24, 32  # bytes of a TLP, around it, and next to a transfer (silicon/pcie.c)
LANE_MBPS = {1: 2000, 2: 4000, 3: 7877}
BUFFER = 65160  # bytes TCP hands over at once with segmentation offload


@dataclass(frozen=True)
class Case:
    """Settings of both ends of a TCP stream."""

    mtu: int = 1500
    tso: bool = True
    tx_checksum: bool = True
    merging: bool = True  # GRO or LRO at the receiver
    rx_checksum: bool = True
    width: int | None = None  # lanes at the sender; None: the model's
    gen: int | None = None


def stages_ns(model: dict[str, Any], case: Case) -> dict[str, float]:
    """Time of the real card for one frame in each stage, nanoseconds."""
    cost = {"frame_ns": 0, **model["costs"]}
    segment = case.mtu - HEADERS
    frame = case.mtu + ETHERNET
    tso = case.tso and case.tx_checksum and "TSO" in model["features"]["enabled"]
    frames = max(1, BUFFER // segment) if tso else 1
    buffer = frames * segment + HEADERS + ETHERNET
    tx_byte_ps = cost["tx_byte_ps"] + (0 if case.tx_checksum else cost["tx_csum_byte_ps"])
    rx_byte_ps = cost["rx_byte_ps"] + (0 if case.rx_checksum else cost["rx_csum_byte_ps"])
    packets = 1 / models.RX_AGGREGATE if case.merging else 1.0
    return {
        "tx processor": cost["tx_skb_ns"] / frames + cost["tx_segment_ns"] + buffer * tx_byte_ps / 1000 / frames,
        "tx bus": _bus_ns(model, buffer, case.width, case.gen) / frames,
        "wire": (max(frame, FRAME_MIN) + FRAME_OVERHEAD) * 8000 / model["link"]["mbps"],
        "rx bus": _bus_ns(model, frame, None, None),
        "rx processor": cost["rx_frame_ns"] + packets * cost["rx_stack_ns"] + frame * rx_byte_ps / 1000,
    }


def tcp_mbps(model: dict[str, Any], case: Case) -> tuple[float, str]:
    """Goodput on the bench (at the model's scale) and the stage that limits it."""
    stages = stages_ns(model, case)
    limit = max(stages, key=lambda name: stages[name])
    return (case.mtu - HEADERS) * 8000 / stages[limit] / model["scale"], limit


def _bus_ns(model: dict[str, Any], size: int, width: int | None, gen: int | None) -> float:
    pci = model["pci"]
    if "width_bits" in pci:
        rate = pci["width_bits"] * pci["clock_mhz"] * models.BUS_EFFICIENCY
        return float(size * 8000 / rate)
    lanes = min(width or 64, pci["width"])
    speed = min(gen or 9, pci["gen"])
    raw = size + math.ceil(size / PAYLOAD) * TLP_OVERHEAD + DESCRIPTOR
    return float(raw * 8000 / (lanes * LANE_MBPS[speed]))
