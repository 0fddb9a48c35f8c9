"""Settings that FreeBSD's drivers keep in sysctl, each in its own way; what is not here cannot be asked or set.

Sources: sys/dev/cxgbe/t4_main.c (``qsize_rxq``, ``nrxq``, ``holdoff_tmr_idx``, ``pause_settings``); sys/dev/ixgbe,
sys/dev/e1000 and sys/dev/ixl (``fc``: 0 none, 1 received, 2 sent, 3 both).
"""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable

CHELSIO = ("cxgbe", "cxl", "cc")
"""Ports of cxgbe(4). their timers and packet counts are at the device they hang on."""
FLASHED_BY_MODULE = ("oce",)
"""Drivers that write a firmware image which was made a firmware module, named in ``fw_upgrade`` (oce(4))."""
FLOW_CONTROL = ("ix", "em", "igb", "ixl")
"""Drivers with ``dev.DRIVER.N.fc``."""

_NO_SYMBOL = re.compile(r"[-.]")

_RX, _TX, _AUTONEG = 1, 2, 4
_PAUSE = re.compile(r"(?:0x)?([0-7])(?:<[A-Z_,]*>)?")


def pause_bits(name: str, value: int | str) -> tuple[bool, bool, bool]:
    """(rx, tx, autoneg) of ``pause_settings``: bit 0 received, 1 sent, 2 negotiated; ``3<PAUSE_RX,PAUSE_TX>``."""
    match = _PAUSE.fullmatch(str(value))
    if match is None:
        raise unreadable("sysctl", name, str(value), "bits such as '3<PAUSE_RX,PAUSE_TX>'")
    bits = int(match[1])
    return bool(bits & _RX), bool(bits & _TX), bool(bits & _AUTONEG)


def firmware_module(file: str) -> str:
    """The name of the firmware module of an image, without ``.ko``: ``oc11_4_4_249_3`` of ``oc11-4.4.249.3.ufi``.

    sys/tools/fw_stub.awk puts ``_`` into names where ``-`` and ``.`` are.
    """
    return _NO_SYMBOL.sub("_", file.rpartition(".")[0] or file)


def pause_word(rx: bool, tx: bool, autoneg: bool) -> int:
    """The number that sets flow control so."""
    return _RX * rx + _TX * tx + _AUTONEG * autoneg


def numbers(name: str, value: int | str) -> tuple[int, ...]:
    """A list of numbers: ``1 5 10 50 100 200``."""
    words = str(value).split()
    if not words or not all(word.isdecimal() for word in words):
        raise unreadable("sysctl", name, str(value), "numbers between blanks")
    return tuple(int(word) for word in words)
