"""The party at fault for a PCI Express link that is not as it must be: the card, or the bench that it sits in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from niclab.core.verdict import Blamed, Charge
from niclab.hosts.host_records import PciDevice, PcieLink


@dataclass(frozen=True)
class Measure:
    """A quantity of links.

    Attributes:
        of: Reads it of a link.
        able: Reads of one end how much it could do; None where that is unknown.
        told: Reads of the upper end how much it is set to at most; None where nothing limits it.
        shown: Puts it into words.
    """

    of: Callable[[PcieLink], float]
    able: Callable[[PciDevice], float | None]
    told: Callable[[PciDevice], float | None]
    shown: Callable[[float], str]


WIDTH = Measure(lambda link: link.width, lambda end: end.lnkcap_width, lambda _: None, lambda found: f"x{found:g}")
SPEED = Measure(
    lambda link: link.gts, lambda end: end.lnkcap_gts, lambda end: end.lnkctl2_gts, lambda found: f"{found:g} GT/s"
)

RETRAINED_GTS = 2.5
"""Linux' target for a link that does not train (pcie_failed_link_retrain(), drivers/pci/quirks.c, 6.5 and later)."""


def judged(path: Sequence[PcieLink], measure: Measure, wanted: float, subject: str, source: str) -> Iterator[Charge]:
    """Judge each link of a path that falls short; where none does, the least one that is more than is wanted.

    The lower end does not say what limits it by its own target (LnkCtl2): that is for tests of compliance alone (PCI
    Express Base Specification 6.0, 7.5.3.19).

    Args:
        path: The links from the root port down to the card.
        measure: What is compared.
        wanted: What the sheet says.
        subject: Begins the message.
        source: What is expected, and by what.
    """
    least = min(path, key=measure.of)
    short = [link for link in path if measure.of(link) < wanted]
    for link in short or ([least] if measure.of(least) > wanted else []):
        text = f"{subject} {measure.shown(measure.of(link))} ({link_shown(link)}); {source}"
        yield Charge(text, *_party(link, measure, wanted, is_own=link is path[-1]))


def link_shown(link: PcieLink) -> str:
    """A link with its ends, its width and its speed, in words."""
    return f"{link.upstream.slot} to {link.downstream.slot}: x{link.width} at {link.gts:g} GT/s"


def _party(link: PcieLink, measure: Measure, wanted: float, *, is_own: bool) -> tuple[Blamed | None, str]:
    """Blame the end that cannot do more or was set to less; the card for its own link otherwise."""
    above, below = link.upstream, link.downstream
    able, told = measure.able(above), measure.told(above)
    if able and able < wanted:
        return Blamed.BENCH, f"{above.slot} above it can do {measure.shown(able)} only (LnkCap)"
    if told is not None and told == measure.of(link) < wanted:
        limit = f"{above.slot} above it is set to {measure.shown(told)} at most (LnkCtl2 Target Link Speed)"
        if told == RETRAINED_GTS:  # either end may be why it did not train
            return (
                None,
                f"{limit}: by firmware, or by a kernel that could not train it faster ('retraining' in its log)",
            )
        return Blamed.BENCH, f"{limit}: by firmware"
    if is_own or measure.of(link) > wanted:
        return Blamed.CARD, ""
    able = measure.able(below)
    if able and able < wanted:
        return Blamed.BENCH, f"{below.slot}, a bridge above the card, can do {measure.shown(able)} only (LnkCap)"
    return None, f"{below.slot} is a bridge: of the slot, or of the card"
