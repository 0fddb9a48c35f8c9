"""Calls of Linux for a port's hardware clock and its time stamps: sent to servers as source, Python 3.7 only.

Numbers are those of the kernel's user interface: linux/sockios.h, linux/ethtool.h, linux/net_tstamp.h,
linux/ptp_clock.h, linux/timex.h. A dynamic clock is a file of ``/dev`` whose descriptor makes the number of the clock
(``clock_gettime(2)``, "Dynamic clocks").
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

SIOCETHTOOL, SIOCSHWTSTAMP, SIOCGHWTSTAMP = 0x8946, 0x89B0, 0x89B1
ETHTOOL_GET_TS_INFO = 0x41
PTP_CLOCK_GETCAPS = 0x80503D01
ADJ_FREQUENCY = 0x0002
SCALED = 65.536
"""2^-16 ppm, the unit of a frequency in ``timex``, for each ppb."""
_INFO = struct.Struct("=IIiI3II3I")
_CONFIG = struct.Struct("=iii")
_TIMEX_BYTES, _TIMEX_FREQUENCY_AT = 256, 16
_CAPS_BYTES = 80


def _asked(iface: str, call: int, data: bytes) -> bytes:
    """Ask the driver of an interface; raises OSError with its words."""
    buffer = ctypes.create_string_buffer(data, len(data))
    request = struct.pack("=16sQ16x", iface.encode(), ctypes.addressof(buffer))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        fcntl.ioctl(asking.fileno(), call, request)
    return buffer.raw


def offered(iface: str) -> tuple[int, int, int]:
    """Return the number of the clock, -1 for none, and the bits of the kinds of sending and of filters."""
    answer = _INFO.unpack(_asked(iface, SIOCETHTOOL, _INFO.pack(ETHTOOL_GET_TS_INFO, *[0] * 10)))
    return answer[2], answer[3], answer[7]


def stamping(iface: str) -> tuple[int, int]:
    """Return the kind of sending and the filter that are set; off, where the driver does not say it."""
    try:
        _, sends, passes = _CONFIG.unpack(_asked(iface, SIOCGHWTSTAMP, _CONFIG.pack(0, 0, 0)))
    except OSError:
        return 0, 0
    return sends, passes


def stamp(iface: str, sends: int, passes: int) -> tuple[int, int]:
    """Set the kind of sending and the filter; return what the driver has made of them."""
    _, sent, passed = _CONFIG.unpack(_asked(iface, SIOCSHWTSTAMP, _CONFIG.pack(0, sends, passes)))
    return sent, passed


class Clock:
    """A hardware clock by its number."""

    def __init__(self, number: int) -> None:
        self._file = os.open(f"/dev/ptp{number}", os.O_RDWR)
        self._id = (~self._file << 3) | 3

    def now(self) -> int:
        return time.clock_gettime_ns(self._id)

    def set(self, ns: int) -> None:
        time.clock_settime_ns(self._id, ns)

    def close(self) -> None:
        os.close(self._file)

    def most_ppb(self) -> int:
        """By how much its rate can be changed."""
        caps = bytearray(_CAPS_BYTES)
        fcntl.ioctl(self._file, PTP_CLOCK_GETCAPS, caps)
        return struct.unpack_from("=i", caps)[0]  # type: ignore[no-any-return]

    def frequency(self, scaled: int | None = None) -> int:
        """Return by how much its rate is changed, in units of ``SCALED``; set it before, if given."""
        timex = ctypes.create_string_buffer(_TIMEX_BYTES)
        struct.pack_into("@Iqq", timex, 0, 0 if scaled is None else ADJ_FREQUENCY, 0, scaled or 0)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.clock_adjtime(ctypes.c_int(self._id), timex) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return struct.unpack_from("@q", timex, _TIMEX_FREQUENCY_AT)[0]  # type: ignore[no-any-return]


def put_back(iface: str, ahead_ns: int, scaled: int, sends: int, passes: int) -> None:
    """Give the clock of an interface its former rate and distance from the system's time, and stamps as they were."""
    number = offered(iface)[0]
    attempts: list[Callable[[], Any]] = [lambda: stamp(iface, sends, passes)]
    if number >= 0:
        clock = Clock(number)
        attempts += [lambda: clock.frequency(scaled), lambda: clock.set(time.time_ns() + ahead_ns)]
    failed = []
    for attempt in attempts:
        try:
            attempt()
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:  # otherwise nothing was changed
                failed.append(error)
    if failed:
        raise failed[0]
