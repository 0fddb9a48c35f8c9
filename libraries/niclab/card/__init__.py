"""The card sheet: what a card must be, and where each fact comes from.

A fact that nobody knows stands as ``unknown``, never as a guess, and a section nobody has written is left out: the
check that needs it is then not applicable. :meth:`Card.known` and :meth:`Card.section` turn them into that verdict.
"""

from niclab.card.identity import AnySubsystem, ConventionalPci, Identity, Pcie, PortLayout, Vpd
from niclab.card.limits import Foible, Limits, Metric, Reference
from niclab.card.model import Costs, Model
from niclab.card.offloads import (
    Change,
    FreebsdOffload,
    LinuxOffload,
    Offload,
    OffloadName,
    Offloads,
    Proof,
    RefusedWord,
)
from niclab.card.settings import (
    Channels,
    Coalescing,
    CoalescingParameter,
    Duplex,
    Link,
    Mtu,
    Pause,
    QueueCount,
    Recommended,
    Ring,
    Rings,
)
from niclab.card.sheet import CARDS, Card, load_card
from niclab.card.software import (
    Activation,
    Driver,
    Drivers,
    Firmware,
    FirmwareImage,
    FirmwareText,
    FirmwareUpdate,
    FlashTool,
    Package,
    TunableFact,
    TunableWhere,
)
from niclab.card.values import Unknown
from niclab.card.versions import (
    IncomparableVersions,
    Version,
    VersionLists,
    VersionOrder,
    VersionRange,
    VersionVerdict,
    matches,
)

__all__ = [
    "CARDS",
    "Activation",
    "AnySubsystem",
    "Card",
    "Change",
    "Channels",
    "Coalescing",
    "CoalescingParameter",
    "ConventionalPci",
    "Costs",
    "Driver",
    "Drivers",
    "Duplex",
    "Firmware",
    "FirmwareImage",
    "FirmwareText",
    "FirmwareUpdate",
    "FlashTool",
    "Foible",
    "FreebsdOffload",
    "Identity",
    "IncomparableVersions",
    "Limits",
    "Link",
    "LinuxOffload",
    "Metric",
    "Model",
    "Mtu",
    "Offload",
    "OffloadName",
    "Offloads",
    "Package",
    "Pause",
    "Pcie",
    "PortLayout",
    "Proof",
    "QueueCount",
    "Recommended",
    "Reference",
    "RefusedWord",
    "Ring",
    "Rings",
    "TunableFact",
    "TunableWhere",
    "Unknown",
    "Version",
    "VersionLists",
    "VersionOrder",
    "VersionRange",
    "VersionVerdict",
    "Vpd",
    "load_card",
    "matches",
]
