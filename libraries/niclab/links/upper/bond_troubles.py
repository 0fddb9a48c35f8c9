"""The side that is charged with a bond that uses or lacks a link.

The bond of the dut is charged to the card, that of the known-good peer to the bench. Links that the lab has not let
fail are looked at: one that the peer or the switch keeps down excuses the dut's bond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from niclab.bench.records import Role, Wiring
from niclab.core.verdict import Trouble, blame
from niclab.links.failure import Cause
from niclab.links.link_loss import Loss
from niclab.links.upper.upper_devices import Stack
from niclab.links.witness import Witnesses
from niclab.run.run import Run

_BY_DUT = (Cause.OWN_LINK, Cause.DRIVER_UNLOAD)


def of_bond(bond: Stack, lost: Sequence[Loss], text: str) -> Trouble:
    """Charge a bond that is wrong.

    Args:
        bond: The bond. That of the peer is wrong by the card's fault only where each of its lost links is lost by what
            was done to the dut: the card goes on to give it light.
        lost: The links that the lab has let fail.
        text: The problem.
    """
    theirs = [loss.cause for loss in lost if loss.path.through is Wiring.DIRECT]
    of_card = bond.server.role is Role.DUT or (bool(theirs) and all(cause in _BY_DUT for cause in theirs))
    return Trouble(text, of_card)


def explained(run: Run, lost: Sequence[Loss], troubles: Sequence[Trouble]) -> list[Trouble]:
    """Add why links are down that nobody has let fail, or that are for another reason than that.

    Args:
        run: The qualification run.
        lost: The links that the lab has let fail.
        troubles: What is wrong with bonds.

    Returns:
        The troubles and the reasons; all of the bench where each reason is.
    """
    reasons = run.part(Witnesses).why_down({loss.path.name: loss.cause for loss in lost})
    of_bench = bool(reasons) and not any(reason.of_card for reason in reasons)
    return [*(replace(each, of_card=each.of_card and not of_bench) for each in troubles), *reasons]


def of_card(run: Run, lost: Sequence[Loss], troubles: Sequence[Trouble]) -> list[str]:
    """Return what is wrong by the card's fault, explained.

    Args:
        run: The qualification run.
        lost: The links that the lab has let fail.
        troubles: What is wrong with bonds.

    Returns:
        Lines of a message, those of the card first; empty where nothing is wrong.

    Raises:
        BenchFault: All of it is the bench's.
    """
    if not troubles:
        return []
    found = explained(run, lost, troubles)
    if not any(each.of_card for each in found):
        blame(found)
    return [each.text for each in sorted(found, key=lambda each: not each.of_card)]
