"""The cause of a link failure, by what both ends of its path show. Asks nobody: :mod:`niclab.links.witness` does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Reason(Enum):
    """The reason why a link is down.

    Those that the lab can bring about are named like :class:`niclab.links.failure.Cause`.
    """

    NO_LOSS = "no loss"
    """Nobody has lost anything."""
    CABLE = "cable"
    """Both ends of a direct path work and have no carrier; or the dut and its switch port do, and have none."""
    PARTNER_CABLE = "partner-cable"
    """The same of the peer and its switch port."""
    SWITCH_PORT = "switch-port"
    """The switch's port of the dut is shut."""
    PARTNER_SWITCH_PORT = "partner-switch-port"
    """The switch's port of the peer is shut."""
    OWN_LINK = "own-link"
    """The dut's interface is down."""
    PARTNER_LINK = "partner-link"
    """The peer's interface is down."""
    DRIVER_UNLOAD = "driver-unload"
    """No driver has the PCI function of the dut's port."""
    PARTNER_DRIVER_UNLOAD = "partner-driver-unload"
    """No driver has the PCI function of the peer's port."""
    DRIVER_TROUBLE = "driver-trouble"
    """The dut's kernel reports trouble with the port."""
    PARTNER_DRIVER_TROUBLE = "partner-driver-trouble"
    """The peer's kernel reports trouble with the port."""
    ONE_END = "one-end"
    """One end has lost its carrier, the other end of the same cable has not."""


@dataclass(frozen=True)
class SwitchEnd:
    """The switch's port of a server's port: its name, is it open, and does it have a link."""

    name: str
    is_open: bool
    has_link: bool

    def __str__(self) -> str:
        return f"{self.name} {'open' if self.is_open else 'shut'}, {'link' if self.has_link else 'no link'}"


@dataclass(frozen=True)
class LinkEnd:
    """The state of one end of a path.

    Attributes:
        port: Name of the port.
        has_driver: A driver has its PCI function.
        is_up: Its interface is set up.
        has_carrier: Its interface has carrier.
        switch: The port of the switch that it is cabled to; None for a direct path.
        trouble: Trouble with the port that the kernel has reported since the links were whole.
        said: The last line of the kernel log since then that names the port, empty where there is none.
    """

    port: str
    has_driver: bool
    is_up: bool
    has_carrier: bool
    switch: SwitchEnd | None = None
    trouble: tuple[str, ...] = ()
    said: str = ""

    def __str__(self) -> str:
        state = f"{'up' if self.is_up else 'down'}, {'carrier' if self.has_carrier else 'no carrier'}"
        words = [f"{self.port} {state if self.has_driver else 'without driver'}"]
        words += [str(self.switch)] if self.switch else []
        words += [f"its kernel reports {'; '.join(self.trouble)}"] if self.trouble else []
        words += [f'its kernel says "{self.said}"'] if self.said and not self.trouble else []
        return ", ".join(words)


@dataclass(frozen=True)
class Diagnosis:
    """The reasons why a link is down, by both of its ends.

    Attributes:
        reasons: Every reason that holds, that of the dut first; never empty.
        ends: What they were concluded from, the dut's end first.
    """

    reasons: tuple[Reason, ...]
    ends: tuple[LinkEnd, LinkEnd]

    @property
    def is_of_card(self) -> bool:
        """Is the dut's end to blame? Not where the peer or the switch is seen to keep the link down.

        A link that both ends lack though they work is the card's: the known-good peer and the cable had it before.
        """
        if self.reasons == (Reason.ONE_END,):
            return not self.ends[0].has_carrier
        return any(reason in _OF_CARD for reason in self.reasons)

    def __str__(self) -> str:
        seen = "; ".join(map(str, self.ends))
        return f"{' and '.join(reason.value for reason in self.reasons)} ({seen})"


_OF_CARD = (Reason.CABLE, Reason.OWN_LINK, Reason.DRIVER_UNLOAD, Reason.DRIVER_TROUBLE)


@dataclass(frozen=True)
class _Names:
    """The reasons by their names for one end."""

    cable: Reason
    switch_port: Reason
    link: Reason
    no_driver: Reason
    trouble: Reason


_OWN = _Names(
    cable=Reason.CABLE,
    switch_port=Reason.SWITCH_PORT,
    link=Reason.OWN_LINK,
    no_driver=Reason.DRIVER_UNLOAD,
    trouble=Reason.DRIVER_TROUBLE,
)
_PARTNER = _Names(
    cable=Reason.PARTNER_CABLE,
    switch_port=Reason.PARTNER_SWITCH_PORT,
    link=Reason.PARTNER_LINK,
    no_driver=Reason.PARTNER_DRIVER_UNLOAD,
    trouble=Reason.PARTNER_DRIVER_TROUBLE,
)


def diagnose(own: LinkEnd, partner: LinkEnd) -> Diagnosis:
    """Conclude from both ends of a path why its link is down.

    A port that has no driver or is set down has no carrier by itself, and gives its partner on a cable none: it is the
    cable only where both ends work. Over a switch each end has a cable of its own.

    Args:
        own: The dut's end.
        partner: The peer's end.

    Returns:
        The diagnosis.
    """
    reasons = [*_at_end(own, _OWN), *_at_end(partner, _PARTNER)]
    return Diagnosis(tuple(reasons) or (_between(own, partner),), (own, partner))


def _at_end(end: LinkEnd, names: _Names) -> list[Reason]:
    """Return the reasons that one end shows by itself."""
    reasons = list[Reason]()
    if not end.has_driver:
        reasons.append(names.no_driver)
    elif not end.is_up:
        reasons.append(names.link)
    elif end.trouble and not end.has_carrier:
        reasons.append(names.trouble)
    if end.switch is None:
        return reasons
    if not end.switch.is_open:
        reasons.append(names.switch_port)
    elif not reasons and not end.has_carrier and not end.switch.has_link:
        reasons.append(names.cable)
    return reasons


def _between(own: LinkEnd, partner: LinkEnd) -> Reason:
    """Return the reason that only both ends together show: neither of them has one by itself."""
    if own.switch is None and partner.switch is None:
        if own.has_carrier is not partner.has_carrier:
            return Reason.ONE_END
        return Reason.NO_LOSS if own.has_carrier else Reason.CABLE
    pairs = [(end.has_carrier, end.switch.has_link) for end in (own, partner) if end.switch is not None]
    return Reason.NO_LOSS if all(carrier is link for carrier, link in pairs) else Reason.ONE_END
