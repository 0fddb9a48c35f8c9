"""The state of a bench at one moment, and its differences to another moment.

A value that changes by itself would be charged to a test that did nothing. Such values are not taken, or are left out
of the comparison (:data:`LEFT_OUT`). Not taken at all:

* carrier, operational state, counters, speed: they follow the other end of the cable;
* indexes of interfaces, numbers of interrupts and processes, queueing disciplines: another one after each driver load;
* IPv6 addresses that the kernel makes, routes that follow an address, lifetimes: they come and go with a link;
* pause of a port that negotiates it, coalescing of an adaptive port: results, not settings;
* processes other than the lab's tools, kernel threads: the system starts and ends them.

A queue that steers nothing may come and go: until a port is first up it may show as many queues as its driver can make
(Linux 6.1, igb_main.c, __igb_open(): netif_set_real_num_rx_queues()). A port that was down may come to have CPUs for
its send queues, which its driver sets when it is first up (ixgbe_main.c, ixgbe_configure_tx_ring():
netif_set_xps_queue(); i40e and ice alike): what a test has set is undone by the journal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from niclab.core.verdict import BenchFault

Values = Mapping[str, Mapping[str, str]]
"""Subject -> key -> value: ``enp1s0`` -> ``mtu`` -> ``1500``."""

ABSENT = "absent"
INTERFACE = "interface"
"""Key of an interface that has come or gone, and of the kind of one that is there."""


class Depth(StrEnum):
    """The extent of a snapshot.

    ``FULL``, at both ends of a run: everything. ``BETWEEN``, after each suite: interfaces with addresses, bonds and
    VLANs, routes, sysctls, modules, the NFS server with its exports, iSCSI sessions and targets, those of
    NVMe; shut switch ports. No ``ethtool``, packages, boot files, processes, BMC.
    """

    FULL = "full"
    BETWEEN = "between"


@dataclass(frozen=True)
class Snapshot:
    """The state of one server, or of the switch.

    Args:
        server: ``dut``, ``peer`` or ``switch``.
        depth: How much was taken.
        values: Subject -> key -> value.
    """

    server: str
    depth: Depth
    values: Values


@dataclass(frozen=True)
class Leftover:
    """One value that is not as it was."""

    server: str
    subject: str
    key: str
    was: str
    is_now: str

    def __str__(self) -> str:
        return f"{self.server}: {self.subject} {self.key}: {self.is_now}; expected {self.was} (state before)"


@dataclass(frozen=True)
class Volatile:
    """Values that change without a test; ``subject`` and ``key`` are patterns of whole words."""

    subject: str
    key: str
    reason: str

    def fits(self, subject: str, key: str) -> bool:
        """Return whether a value is one of these."""
        return bool(re.fullmatch(self.subject, subject) and re.fullmatch(self.key, key))


_ON_DEMAND = (
    "bonding|8021q|garp|mrp|stp|llc|bridge|tls|af_packet\\w*|\\w*_diag|sch_\\w+|tcp_\\w+|nf_\\w+|nft_\\w+|x_tables"
    "|ip6?_tables|libcrc32c|crc\\w+|ipmi_\\w+|if_lagg|if_vlan|if_infiniband|nfs\\w*|lockd|sunrpc|auth_rpcgss|grace"
    "|fscache|netfs"
    "|iscsi\\w*|libiscsi\\w*|scsi_\\w+|sd_mod|dm_\\w+|sg|t10_pi|target_core\\w*|uio|nvme\\w*"
    "|isofs|nls_\\w+|v?fat|loop|fuse|overlay|binfmt_misc|configfs|xt_\\w+"
    "|\\w*aes\\w*|\\w*sha[0-9]+\\w*|crypt\\w+|ghash\\w*|cmac|[cg]cm|authenc\\w*"
)
LEFT_OUT = (
    Volatile("modules", _ON_DEMAND, "the kernel loads it when it is first used, and keeps it"),
    Volatile("sysctl", r"kernel\.printk", "daemons of the system set it while they start"),
)
_STEERS_NOTHING = re.compile(rf"{ABSENT}|[0,]+")
_MOVED_BY_DAEMON = Volatile("interrupts", ".*", "irqbalance moves interrupts as it likes")


def diff(before: Snapshot, after: Snapshot) -> list[Leftover]:
    """Compare two states of one server.

    Args:
        before: The earlier state.
        after: The later one, taken to the same depth.

    Returns:
        Every value that differs, appeared or vanished, in a fixed order; volatile values are left out.

    Raises:
        BenchFault: They are of two servers, or of two depths.
    """
    if (before.server, before.depth) != (after.server, after.depth):
        raise BenchFault(
            f"state: {after.server} ({after.depth}) is compared with {before.server} ({before.depth}); "
            "expected the same server to the same depth (snapshot)"
        )
    volatile = list(LEFT_OUT)
    if any("irqbalance" in each.values.get("processes", {}) for each in (before, after)):
        volatile.append(_MOVED_BY_DAEMON)
    found = []
    for subject in sorted({*before.values, *after.values}):
        for left in _of_subject(before.server, subject, before.values.get(subject), after.values.get(subject)):
            is_drivers = _is_no_steering(left) or _is_set_when_first_up(left, before)
            if not (is_drivers or any(each.fits(subject, left.key) for each in volatile)):
                found.append(left)
    return found


def _is_no_steering(left: Leftover) -> bool:
    """Return True if a queue has come or gone that steers nothing."""
    return left.subject == "steering" and all(map(_STEERS_NOTHING.fullmatch, (left.was, left.is_now)))


def _is_set_when_first_up(left: Leftover, before: Snapshot) -> bool:
    """Return True if a send queue that had no CPUs has some, of a port that was down."""
    if left.subject != "steering" or not left.key.endswith("/xps_cpus") or not _STEERS_NOTHING.fullmatch(left.was):
        return False
    return before.values.get(left.key.partition(" ")[0], {}).get("up") == "no"


def _of_subject(
    server: str, subject: str, old: Mapping[str, str] | None, new: Mapping[str, str] | None
) -> list[Leftover]:
    """Return the differences of one subject; an interface that came or went is one difference."""
    if (old is None or new is None) and INTERFACE in (present := old or new or {}):
        old, new = ({INTERFACE: present[INTERFACE]} if each is not None else None for each in (old, new))
    old, new = old or {}, new or {}
    return [
        Leftover(server, subject, key, old.get(key, ABSENT), new.get(key, ABSENT))
        for key in sorted({*old, *new})
        if old.get(key, ABSENT) != new.get(key, ABSENT)
    ]


def with_leftovers(before: Snapshot, after: Snapshot, known: Sequence[Leftover]) -> Snapshot:
    """Return the earlier state as if what is known had always been so, so that it is reported once.

    Args:
        before: The earlier state.
        after: The later state, in which the leftovers were found.
        known: The leftovers.
    """
    values = {subject: dict(pairs) for subject, pairs in before.values.items()}
    for left in known:
        if left.key == INTERFACE and left.subject in after.values:
            values[left.subject] = dict(after.values[left.subject])
        elif left.key == INTERFACE:
            values.pop(left.subject, None)
        elif left.is_now == ABSENT:
            values.get(left.subject, {}).pop(left.key, None)
        else:
            values.setdefault(left.subject, {})[left.key] = left.is_now
    return replace(before, values=values)
