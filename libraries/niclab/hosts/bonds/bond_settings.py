"""The requested setup of a bond, in the words of Linux' bonding driver (Documentation/networking/bonding.rst).

And which tag a VLAN puts on its frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum


class BondMode(Enum):
    BALANCE_RR = "balance-rr"
    ACTIVE_BACKUP = "active-backup"
    BALANCE_XOR = "balance-xor"
    BROADCAST = "broadcast"
    LACP = "802.3ad"
    BALANCE_TLB = "balance-tlb"
    BALANCE_ALB = "balance-alb"

    @property
    def sends_copies(self) -> bool:
        """Does every frame go over every link, so that it arrives more than once?"""
        return self is BondMode.BROADCAST

    @property
    def own_delay_ms(self) -> int:
        """The time that the driver itself may take, beyond noticing the loss, until partners send over another link.

        balance-alb tells each partner by ARP to which link it shall send, and keeps that back for 2 s after the last
        time, and after any ARP request of its own (RLB_UPDATE_DELAY, drivers/net/bonding/bond_alb.c of Linux).
        """
        return 2000 if self is BondMode.BALANCE_ALB else 0


class PrimaryReselect(Enum):
    """The rule by which the primary becomes active again after it has returned."""

    ALWAYS = "always"
    BETTER = "better"
    FAILURE = "failure"


class FailOverMac(Enum):
    NONE = "none"
    ACTIVE = "active"
    FOLLOW = "follow"


class LacpRate(Enum):
    SLOW = "slow"
    FAST = "fast"


class HashPolicy(Enum):
    LAYER2 = "layer2"
    LAYER23 = "layer2+3"
    LAYER34 = "layer3+4"
    ENCAP23 = "encap2+3"
    ENCAP34 = "encap3+4"
    VLAN_SRCMAC = "vlan+srcmac"


class VlanTag(Enum):
    """The tag of a VLAN's frames, in the words of ``ip link``."""

    CUSTOMER = "802.1Q"
    SERVICE = "802.1ad"
    """The outer one of two: a provider's."""


@dataclass(frozen=True)
class BondSettings:
    """The requested settings of a bond. None: the driver's default, which is not checked."""

    mode: BondMode
    miimon_ms: int | None = None
    updelay_ms: int | None = None
    downdelay_ms: int | None = None
    arp_interval_ms: int | None = None
    arp_ip_target: tuple[str, ...] | None = None
    primary: str | None = None
    primary_reselect: PrimaryReselect | None = None
    fail_over_mac: FailOverMac | None = None
    num_grat_arp: int | None = None
    min_links: int | None = None
    lacp_rate: LacpRate | None = None
    xmit_hash_policy: HashPolicy | None = None

    def options(self) -> Iterator[tuple[str, str]]:
        """The option of ``ip link`` (and file in sysfs) and the value of everything that is asked."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                yield field.name.removesuffix("_ms"), _word(value)


def _word(value: Enum | int | str | tuple[str, ...]) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    return ",".join(value) if isinstance(value, tuple) else str(value)
