"""The counters of the switch at its ports during a run through it: evidence of where frames were lost, no verdict.

A switch says neither whose frames it discards nor why: what it cannot deliver may be held up by the receiver's pauses.
Some switches bring their counters up to date only every few seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from niclab.bench.records import BenchPath, Wiring
from niclab.run.run import Run
from niclab.switch.switch_port_table import difference
from niclab.switch.switch_records import PortCounters

_LOST = ("in_errors", "in_discards", "out_errors", "out_discards", "fcs_errors")


@dataclass(frozen=True)
class PortCount:
    """``port``: of the server (``dut.p0``).

    ``place``: what it is cabled to; ``counted``: fields of ``PortCounters``, but for those that the switch does not
    have.
    """

    port: str
    place: str
    counted: Mapping[str, int]

    @property
    def received(self) -> int:
        """Frames that came into the switch."""
        return self._frames("in")

    @property
    def sent(self) -> int:
        """Frames that the switch sent to the server."""
        return self._frames("out")

    def _frames(self, way: str) -> int:
        return sum(self.counted[f"{way}_{kind}"] for kind in ("unicast", "multicast", "broadcast"))

    def __str__(self) -> str:
        lost = [f"{self.counted[name]} {name}" for name in _LOST if self.counted.get(name)]
        return f"{self.place} ({self.port}) {', '.join([f'{self.received} in', f'{self.sent} out', *lost])}"


Look = Mapping[str, PortCounters]
"""Port of a server -> counters of the port that it is cabled to."""


class SwitchCountWatch:
    """Looks at every port of the switch that a server is cabled to: which of them a bond uses is the bond's choice.

    Sees nothing where ``path`` is a cable.
    """

    def __init__(self, run: Run, path: BenchPath) -> None:
        entry = run.bench.switch if path.through is Wiring.SWITCH else None
        self._run = run
        self._places: Mapping[str, str] = entry.ports if entry else {}

    def look(self) -> Look:
        """Look.

        Raises:
            BenchFault: When the switch does not answer, or has no such counters.
        """
        return {port: self._run.switch.ports.counters(place) for port, place in self._places.items()}

    def since(self, before: Look) -> tuple[PortCount, ...]:
        """Return what was counted from ``before`` until now.

        Raises:
            BenchFault: Also when counters jumped or ran backwards meanwhile.
        """
        after = self.look()
        return tuple(
            PortCount(port, place, difference(before[port], after[port], f"{self._run.switch.name}: {place} ({port})"))
            for port, place in sorted(self._places.items())
        )


def described(counts: Sequence[PortCount]) -> str:
    """``switch: port1 (dut.p0) 6250 in, 3120 out; port3 (peer.p0) 3120 in, 6248 out, 2 out_discards``."""
    return f"switch: {'; '.join(map(str, counts))}"
