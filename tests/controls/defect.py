"""The parts of a control of a card's defect."""

from __future__ import annotations

from dataclasses import dataclass

ALTEON, BROADCOM, EMULEX = "alteon-acenic", "broadcom-bcm57810", "emulex-oce11102"
X520 = "intel-x520"


@dataclass(frozen=True)
class Defect:
    """``fault``: words of ``vbench fault set``. ``suites`` and ``tests`` are run; exactly ``red`` turn red."""

    card: str
    fault: tuple[str, str]
    red: frozenset[str]
    says: str
    suites: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    into: str = ""
    reload: bool = False
    cold_start: bool = False
    power_cycle: bool = False
    full: bool = False
    alone: bool = False
    """No other test is run next to it: the server it leaves cannot be given back as it was."""
    verdict: str = "CardFailure"
    """Another one where a cable, or the peer, gives the same."""

    def __str__(self) -> str:
        """The control's name: no two defects have the same, or pytest numbers both and the matrix finds neither."""
        port = self.fault[0].partition(".")[2]
        return "-".join(filter(None, (self.fault[1], self.card.split("-")[0], port)))


def red(*names: str) -> frozenset[str]:
    return frozenset(names)
