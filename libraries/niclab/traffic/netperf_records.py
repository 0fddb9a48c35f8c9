"""Records of netperf results, and its units."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Bits of one unit. netlib.c, format_units() and calc_thruput(): K, M and G bytes count by 1024, bits by 1000. What
# netperf calls 10^0bits (-f b, from 2.6.1 on) it divides by 1 and not by 1/8: the number it prints is bytes.
_BITS = {
    "Bytes": 8.0,
    "KBytes": 8.0 * 1024,
    "MBytes": 8.0 * 1024**2,
    "GBytes": 8.0 * 1024**3,
    "10^0bits": 8.0,
    "10^3bits": 1e3,
    "10^6bits": 1e6,
    "10^9bits": 1e9,
}
_LETTERS = {
    "B": "Bytes",
    "K": "KBytes",
    "M": "MBytes",
    "G": "GBytes",
    "b": "10^0bits",
    "k": "10^3bits",
    "m": "10^6bits",
    "g": "10^9bits",
    "x": "Trans",
}
TRANSACTIONS = "Trans"
_UNIT = re.compile(r"(10\^[0369]bits|[KMG]?Bytes|Trans)\s*/s(?:ec)?")


def unit_of(text: str) -> str | None:
    """``10^6bits`` of ``10^6bits/sec``; None when that is no unit of netperf."""
    match = _UNIT.fullmatch(text)
    return match[1] if match else None


def unit_of_letter(letter: str) -> str | None:
    """The unit of the option ``-f``."""
    return _LETTERS.get(letter)


def bits_per_unit(unit: str) -> float | None:
    """Bits of one ``unit``; None for transactions, which are no bits."""
    return _BITS.get(unit)


@dataclass(frozen=True)
class Confidence:
    """How sure netperf (-i, -I) is of its means. ``level_pct`` 95 or 99; ``wanted_pct``: the half width of the
    interval that was asked for, in percent of the mean. ``met``: whether it was reached, None where an omni output
    names no width (it prints no warning either). The widths that were reached, in percent, are whole ones; classic
    output prints them only when they are too wide. CPU None when it was not measured."""

    level_pct: int | None
    wanted_pct: float | None
    met: bool | None
    throughput_pct: float | None
    cpu_local_pct: float | None
    cpu_remote_pct: float | None


@dataclass(frozen=True)
class Interim:
    """One line of ``-D``. ``ended_at``: seconds since 1970, None where the version does not print it."""

    throughput_bps: float | None
    transactions_per_s: float | None
    interval_s: float
    ended_at: float | None


@dataclass(frozen=True)
class NetperfResult:
    """One result. ``local`` is the host netperf ran on, ``remote`` the one of netserver. None: the text does not say.

    ``test``: as ``-t`` names it; of omni output without a title by protocol and direction. ``throughput_bps``: what the
    receiver got, in bit/s of payload; None for request/response tests, which have ``transactions_per_s``. ``unit``: as
    printed. ``send_throughput_bps``: what was handed to the sending socket, UDP only. ``loss``: the part 0..1 of the
    UDP messages that did not arrive.
    Socket sizes in bytes: of the sender and the receiver of a stream; of the local socket of a request/response test,
    whose remote socket is ``remote_...``. CPU in percent of the whole machine, service demand in microseconds of CPU
    time a KB (1024 bytes) or a transaction. ``selectors``: everything an omni output names, by netperf's names.
    """

    test: str | None
    throughput_bps: float | None
    transactions_per_s: float | None
    elapsed_s: float | None
    unit: str | None
    cpu_local_pct: float | None = None
    cpu_remote_pct: float | None = None
    service_demand_local_us: float | None = None
    service_demand_remote_us: float | None = None
    service_demand_per: str | None = None
    loss: float | None = None
    send_throughput_bps: float | None = None
    messages_sent: int | None = None
    messages_failed: int | None = None
    messages_received: int | None = None
    send_socket_bytes: int | None = None
    recv_socket_bytes: int | None = None
    remote_send_socket_bytes: int | None = None
    remote_recv_socket_bytes: int | None = None
    message_bytes: int | None = None
    request_bytes: int | None = None
    response_bytes: int | None = None
    confidence: Confidence | None = None
    interim: tuple[Interim, ...] = ()
    selectors: dict[str, str | float | int | None] | None = None
