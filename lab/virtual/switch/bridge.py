"""The bridge: which frame goes where. 802.1Q VLANs, learning, ageing, flooding; each VLAN learns for itself (IVL)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from switch import frames
from switch.config import Config, Vlan
from switch.port import Port


@dataclass
class Learned:
    """A row of the forwarding table: behind which port, and when a frame was last seen (monotonic, s)."""

    port: int
    seen: float


class Bridge:
    """Frames between the ports.

    Args:
        group: Port number -> the ports that count as one link with it, those that may carry frames first; the first of
            all is the group's name (see :mod:`switch.lacp`).
    """

    def __init__(self, ports: dict[int, Port], config: Config, now: Callable[[], float] = time.monotonic) -> None:
        self.ports = ports
        self.config = config
        self.fdb: dict[tuple[int, bytes], Learned] = {}
        self.changes = 0
        """Counts additions to and removals from the forwarding table."""
        self.leaking: set[int] = set()
        """Ports that get flooded frames of every VLAN: a defect."""
        self.leader: dict[int, int] = {number: number for number in ports}
        self.members: dict[int, list[int]] = {number: [number] for number in ports}
        """Leader -> the ports of its group that carry frames now."""
        self._now = now

    def forward(self, port: Port, frame: bytes, at: float) -> None:
        """A frame has come in at ``port``, at this moment."""
        leader = self.leader[port.number]
        if port.number not in self.members[leader]:
            port.counters.in_discards += 1  # a port of an aggregation that is not collecting
            return
        tag, frame = self._classify(port, frame)
        vlan_number = tag & frames.VLAN_BITS
        vlan = self.config.vlans.get(vlan_number)
        if vlan is None or not vlan.active or not self._admits(port, vlan):
            port.counters.in_discards += 1
            return
        source = frame[6:12]
        if not source[0] & 1:
            self._learn(vlan_number, source, leader)
        known = None if frame[0] & 1 else self.fdb.get((vlan_number, frame[:6]))
        if known is not None:
            if known.port != leader:
                self._send(known.port, frame, tag, vlan, at)
            return
        for target in self.members:
            if target != leader:
                self._send(target, frame, tag, vlan, at)

    def _classify(self, port: Port, frame: bytes) -> tuple[int, bytes]:
        """The tag that the frame leaves with (VLAN 0: it is dropped), and the frame without its tag.

        The priority is kept (IEEE 802.1Q-2018, 6.9.4: as it came, unless regeneration is set).
        """
        tag = frames.tag_of(frame)
        settings = self.config.ports[port.number]
        if tag is not None:
            frame = frames.without_tag(frame)
            if tag & frames.VLAN_BITS:
                return tag, frame
        if settings.tagged_only:
            return 0, frame
        return settings.pvid | (tag or 0), frame

    def _admits(self, port: Port, vlan: Vlan) -> bool:
        filtering = self.config.ports[port.number].ingress_filtering
        return port.number in vlan.egress or not filtering or port.number in self.leaking

    def _learn(self, vlan: int, address: bytes, leader: int) -> None:
        known = self.fdb.get((vlan, address))
        if known is None:
            self.changes += 1
            self.fdb[vlan, address] = Learned(leader, self._now())
        else:
            known.port, known.seen = leader, self._now()

    def _send(self, leader: int, frame: bytes, tag: int, vlan: Vlan, at: float) -> None:
        """Send to a port, or to the one of a group that the two addresses choose."""
        carrying = [member for member in self.members[leader] if self.ports[member].up]
        if not carrying:
            return
        port = carrying[(frame[5] ^ frame[11]) % len(carrying)]
        if port in vlan.egress:
            self.ports[port].send(frame if port in vlan.untagged else frames.with_tag(frame, tag), at)
        elif port in self.leaking:
            self.ports[port].send(frame, at)

    def age(self) -> None:
        """Forget those who have been silent for longer than the ageing time."""
        limit = self._now() - self.config.ageing_s
        self._forget(lambda _, learned: learned.seen < limit)

    def flush(self, port: int) -> None:
        """Forget all who were seen behind the port."""
        self._forget(lambda _, learned: learned.port == port)

    def forget_vlans(self) -> None:
        """Forget all who were seen in a VLAN that is no more, or behind a port that is no more its member."""
        vlans = self.config.vlans
        self._forget(lambda vlan, learned: vlan not in vlans or learned.port not in vlans[vlan].egress | self.leaking)

    def _forget(self, which: Callable[[int, Learned], bool]) -> None:
        gone = [key for key, learned in self.fdb.items() if which(key[0], learned)]
        for key in gone:
            del self.fdb[key]
        self.changes += bool(gone)
