"""Link aggregation (LACP, 802.1AX-2014 clause 6).

Each port runs the protocol for itself. Ports that agree with the same partner system and key make up one aggregation,
which is named by its lowest port; a port whose partner says nothing is a link of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from switch.config import PortConfig
from switch.lacpdu import Information, Lacpdu, State

SYSTEM_PRIORITY, PORT_PRIORITY = 32768, 128
SHORT_S, LONG_S = 3.0, 90.0
"""After so long without a LACPDU a partner has expired (6.4.4)."""
FAST_S, SLOW_S = 1.0, 30.0
"""Intervals at which a partner that asked for short, or long, timeouts gets our state (6.4.4)."""
LEAST_GAP_S = 0.34
"""Not more than three LACPDUs a second leave a port (6.4.16)."""


@dataclass
class Statistics:
    received: int = 0
    illegal: int = 0
    sent: int = 0


class Lacp:
    """The protocol on one port.

    Args:
        system: MAC address by which the switch calls itself.
        send: Sends a LACPDU.
        changed: Called when the port enters or leaves an aggregation, or starts or stops carrying frames in it.
    """

    def __init__(
        self,
        number: int,
        system: bytes,
        settings: PortConfig,
        send: Callable[[Lacpdu], None],
        changed: Callable[[], None],
    ) -> None:
        self.number = number
        self.settings = settings
        self.partner: Information | None = None
        self.statistics = Statistics()
        self.not_in_sync = False
        """A defect: we never say that we are in sync."""
        self.other_system: bytes | None = None
        """A defect: we call ourselves so."""
        self._system = system
        self._send = send
        self._changed = changed
        self._expired = False
        self._heard_at = 0.0
        self._sent_at = float("-inf")
        self._need_to_send = False

    # --- state

    @property
    def system(self) -> bytes:
        return self.other_system or self._system

    @property
    def synchronized(self) -> bool:
        return self.partner is not None and not self._expired and self._joined and not self.not_in_sync

    @property
    def _joined(self) -> bool:
        partner = self.partner
        return partner is not None and bool(partner.state & State.AGGREGATION) and self.settings.lacp_aggregatable

    @property
    def carrying(self) -> bool:
        """May frames of users pass? Both ends are in sync; or there is no partner, and the port is on its own."""
        if self.partner is None:
            return True
        return self.synchronized and bool(self.partner.state & State.SYNCHRONIZATION)

    @property
    def aggregation(self) -> tuple[int, bytes, int, int] | None:
        """Ports with the same value belong together; ``None``: a link of its own."""
        partner = self.partner
        if partner is None or not self._joined:
            return None
        return partner.system_priority, partner.system, partner.key, self.settings.lacp_key

    @property
    def actor(self) -> Information:
        settings = self.settings
        carrying = self.partner is not None and self.carrying
        flags = {
            State.ACTIVITY: settings.lacp_active,
            State.TIMEOUT: settings.lacp_short,
            State.AGGREGATION: settings.lacp_aggregatable,
            State.SYNCHRONIZATION: self.synchronized,
            State.COLLECTING: carrying,
            State.DISTRIBUTING: carrying,
            State.DEFAULTED: self.partner is None,
            State.EXPIRED: self._expired,
        }
        state = State(0)
        for flag, is_set in flags.items():
            state |= flag if is_set else State(0)
        return Information(SYSTEM_PRIORITY, self.system, settings.lacp_key, PORT_PRIORITY, self.number, state)

    # --- what happens

    def received(self, pdu: Lacpdu, now: float) -> None:
        """A LACPDU has come."""
        self.statistics.received += 1
        before = self._view()
        self.partner, self._expired, self._heard_at = pdu.actor, False, now
        if pdu.partner != self.actor:
            self._need_to_send = True  # it does not know our state
        self._tell_of_change(before)
        self.tick(now)

    def down(self) -> None:
        """The link is gone, and the partner with it."""
        before = self._view()
        self.partner, self._expired, self._need_to_send = None, False, False
        self._sent_at = float("-inf")
        self._tell_of_change(before)

    def tick(self, now: float) -> None:
        """Look at the clock; to be called a few times a second while the link is up."""
        before = self._view()
        silence_s = now - self._heard_at
        timeout_s = SHORT_S if self.settings.lacp_short else LONG_S
        if self.partner is not None and self._expired and silence_s > timeout_s + SHORT_S:
            self.partner, self._expired = None, False
        elif self.partner is not None and not self._expired and silence_s > timeout_s:
            self._expired = True
        self._tell_of_change(before)
        if self._due(now):
            self._need_to_send = False
            self._sent_at = now
            self.statistics.sent += 1
            self._send(Lacpdu(self.actor, self.partner or Information()))

    def _due(self, now: float) -> bool:
        partner = self.partner
        if not self.settings.lacp_active and (partner is None or not partner.state & State.ACTIVITY):
            return False  # nobody has asked
        since_s = now - self._sent_at
        fast = partner is None or self._expired or bool(partner.state & State.TIMEOUT)
        return since_s >= (FAST_S if fast else SLOW_S) or (self._need_to_send and since_s >= LEAST_GAP_S)

    def _view(self) -> tuple[object, ...]:
        return self.aggregation, self.carrying, self.actor.state

    def _tell_of_change(self, before: tuple[object, ...]) -> None:
        if before != self._view():
            self._need_to_send = True
            self._changed()


def groups(ports: dict[int, Lacp]) -> tuple[dict[int, int], dict[int, list[int]]]:
    """Find the ports that belong together.

    Returns:
        Port -> leader of its group (its lowest port), and leader -> the ports that carry frames.
    """
    leaders: dict[object, int] = {}
    leader: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    for number in sorted(ports):
        name = ports[number].aggregation
        leader[number] = leaders.setdefault(name, number) if name is not None else number
        carrying = members.setdefault(leader[number], [])
        if ports[number].carrying:
            carrying.append(number)
    return leader, members
