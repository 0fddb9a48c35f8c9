"""The host's time stamp counter."""

from __future__ import annotations

import ctypes
import mmap
import platform
import time
from collections.abc import Callable

RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl rdx, 32; or rax, rdx; ret


def tsc_khz(measure_s: float = 0.2) -> int | None:
    """Frequency of the processor's time stamp counter in kHz, measured against the monotonic clock.

    The error is that of two clock readings in ``measure_s``: about 5 ppm at 0.2 s. ``None`` on other processors
    than x86-64 and where the system forbids executable memory.
    """
    if platform.machine() != "x86_64":
        return None
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except PermissionError:
        return None
    code.write(RDTSC)
    read: Callable[[], int] = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    start_ns, start = _both_clocks(read)
    time.sleep(measure_s)  # noqa: TID251 - the time itself is what is measured
    end_ns, end = _both_clocks(read)
    return round((end - start) * 1_000_000 / (end_ns - start_ns))


def _both_clocks(read: Callable[[], int], tries: int = 10) -> tuple[float, int]:
    """Monotonic clock (ns) and counter at one moment: of several readings that which was disturbed least."""
    readings = [(time.monotonic_ns(), read(), time.monotonic_ns()) for _ in range(tries)]
    before_ns, counter, after_ns = min(readings, key=lambda reading: reading[2] - reading[0])
    return (before_ns + after_ns) / 2, counter
