"""The CPUs that a Linux host lets take a port's interrupts and packets: files of the kernel, and their content.

Documentation/networking/scaling.rst (RPS, RFS, XPS), Documentation/core-api/irq/irq-affinity.rst.
"""

from __future__ import annotations

from niclab.hosts.errors import ReadError
from niclab.hosts.steering.interrupt_records import Interrupts
from niclab.hosts.steering.steering_kinds import SteeringKind

RFS_TABLE = "/proc/sys/net/core/rps_sock_flow_entries"


def irqs_of(interrupts: Interrupts, iface: str) -> list[int]:
    """The interrupts that bear the name of ``iface``: ``eth5``, ``eth5-rx-0``, ``eth5-TxRx-1``."""
    found = []
    for each in interrupts.irqs:
        named = any(action == iface or action.startswith((f"{iface}-", f"{iface}:")) for action in each.actions)
        if isinstance(each.irq, int) and named:
            found.append(each.irq)
    return found


def affinity_file(irq: int) -> str:
    return f"/proc/irq/{irq}/smp_affinity_list"


def effective_file(irq: int) -> str:
    """File of the CPU at which the interrupt arrives: the assigned one once it has moved (since Linux 4.15)."""
    return f"/proc/irq/{irq}/effective_affinity_list"


def queue_files(iface: str, kind: SteeringKind) -> str:
    """The files of all queues, as a pattern of the shell."""
    name = {
        SteeringKind.RPS: "rx-*/rps_cpus",
        SteeringKind.RFS: "rx-*/rps_flow_cnt",
        SteeringKind.XPS: "tx-*/xps_cpus",
    }[kind]
    return f"/sys/class/net/{iface}/queues/{name}"


def cpus_of_list(text: str) -> frozenset[int]:
    """``0-2,5``: 0, 1, 2 and 5.

    Raises:
        ReadError: For another text.
    """
    found: set[int] = set()
    for part in text.strip().split(","):
        low, dash, high = part.partition("-")
        if not (low.isdigit() and (high.isdigit() if dash else True)):
            raise ReadError(f"CPU list {text.strip()!r}; expected numbers and ranges such as 0-2,5")
        found |= set(range(int(low), int(high or low) + 1))
    return frozenset(found)


def cpus_of_mask(text: str) -> frozenset[int]:
    """``00000000,00000005``: 0 and 2.

    Raises:
        ReadError: For another text.
    """
    try:
        mask = int(text.strip().replace(",", ""), 16)
    except ValueError as error:
        raise ReadError(f"CPU mask {text.strip()!r}; expected hexadecimal digits in groups") from error
    return frozenset(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)


def mask_of(cpus: frozenset[int]) -> str:
    """The mask as the kernel takes it: groups of 32 bits with commas between them."""
    digits = f"{sum(1 << cpu for cpu in cpus):x}"
    padded = digits.zfill(-(-len(digits) // 8) * 8)
    return ",".join(padded[at : at + 8] for at in range(0, len(padded), 8))
