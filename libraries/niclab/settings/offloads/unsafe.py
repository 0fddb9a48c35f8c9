"""Switching an offload, with a warning where the sheet says that checksum offload must stay on (DEL-08)."""

from __future__ import annotations

import logging

from niclab.bench.records import Port, Role
from niclab.card import OffloadName
from niclab.hosts.settings.ethtool_records import Features
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run

_LOG = logging.getLogger(__name__)
CHECKSUMS = (OffloadName.TX_CHECKSUM, OffloadName.RX_CHECKSUM)
REQUIREMENT = "DEL-08"
"""Requirement of the known issue that checksum offload must stay on under iSCSI."""


def switch_offload(run: Run, port: Port, offload: OffloadName, word: str, on: bool) -> Attempt[Features]:
    """Switch an offload of a port, and read the features of the port back. Warn first where that is unsafe.

    Args:
        run: The current run.
        port: The port.
        offload: The offload.
        word: The name that switches it.
        on: Does it go on?

    Raises:
        BenchFault: The server does not answer.
    """
    if port.role is Role.DUT:
        run.part(UnsafeChecksums).before(port.place, offload, on)
    return run.server_of(port).host.settings.set_feature(run.interface(port), word, on)


class UnsafeChecksums:
    """Warns once in a test of each port and offload. A part of the run.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._warned: set[tuple[str | None, str, OffloadName]] = set()

    def before(self, place: str, offload: OffloadName, on: bool) -> None:
        """Warn before an offload of the dut is switched, where that is unsafe.

        Args:
            place: The port of the dut, as messages name it.
            offload: The offload.
            on: Does it go on?
        """
        known = [each for each in self._run.card.errata if each.requirement == REQUIREMENT]
        once = (self._run.current_test, place, offload)
        if on or offload not in CHECKSUMS or not known or once in self._warned:
            return
        self._warned.add(once)
        for each in known:
            _LOG.warning("%s: offload %s goes off: %s (%s)", place, offload.value, each.text, each.source)
