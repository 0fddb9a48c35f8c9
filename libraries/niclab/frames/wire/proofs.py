"""The proof of each offload by what is on the wire and what the stack is handed: no counter of a driver is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from niclab.card import OffloadName
from niclab.core.verdict import BenchFault
from niclab.frames.exchange import Say
from niclab.frames.wire import receiving, sending
from niclab.run.run import Run

PROOFS: Mapping[OffloadName, Callable[[Run, OffloadName, Say], None]] = {
    OffloadName.TSO4: sending.segmentation,
    OffloadName.TSO6: sending.segmentation,
    OffloadName.TX_CHECKSUM: sending.checksums,
    OffloadName.VLAN_INSERT: sending.tags,
    OffloadName.VLAN_STRIP: sending.tags,
    OffloadName.RX_CHECKSUM: receiving.checksums,
    OffloadName.GRO: receiving.merging,
    OffloadName.LRO: receiving.merging,
    OffloadName.RX_HASH: receiving.hashes,
}


def prove(run: Run, offload: str, say: Say) -> None:
    """Judge an offload of the dut's port on the first path, off and on, and put it back.

    Args:
        run: The current run.
        offload: Its name on the sheet, such as ``tso4``.
        say: Takes what was seen.

    Raises:
        CardFailure: What is on the wire is wrong, or the offload does not do what it says.
        BenchFault: The peer or the tool failed, or no offload of that name can be seen.
        Undecided: The exchange proves nothing.
        NotApplicable: The sheet has no such offload, or a server does not run Linux.
    """
    name = next((each for each in PROOFS if each.value == offload), None)
    if name is None:
        known = ", ".join(each.value for each in PROOFS)
        raise BenchFault(f"offload {offload!r} cannot be seen on the wire; expected one of {known}")
    PROOFS[name](run, name, say)
