"""The identity of a card: on PCI, on its name plate, and the bus it sits on."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from pydantic import Discriminator, Field, StringConstraints, Tag

from niclab.card.values import (
    Count,
    Lanes,
    Oui,
    PciClass,
    PciId,
    Section,
    SpeedGts,
    Subsystem,
    word_or_list,
)
from niclab.files.types import Text, Wanted, one_of


class AnySubsystem(Enum):
    """Every subsystem will do."""

    ANY = "any"


class AnyMaker(Enum):
    """MAC addresses of any maker will do: the card is a chip, which many makers put on boards of their own."""

    ANY = "any"


class PortLayout(Enum):
    """The place of the ports of one card: each a PCI function of its own, or all of them on one function."""

    FUNCTION_PER_PORT = "function-per-port"
    ONE_FUNCTION = "one-function"


Subsystems = Annotated[
    Annotated[Annotated[AnySubsystem, Wanted("any, or a list of subsystems")], Tag("word")]
    | Annotated[Annotated[tuple[Subsystem, ...], Field(min_length=1)], Tag("list")],
    Discriminator(word_or_list),
]
Makers = Annotated[
    Annotated[Annotated[AnyMaker, Wanted("any, or a list of OUIs")], Tag("word")]
    | Annotated[Annotated[tuple[Oui, ...], Field(min_length=1)], Tag("list")],
    Discriminator(word_or_list),
]
VpdKeyword = Annotated[
    str, StringConstraints(pattern=r"^[A-Z][A-Z0-9]$"), Wanted("a VPD keyword of two characters, such as PN")
]
BusWidth = Annotated[int, one_of(32, 64), Wanted("32 or 64 bits")]
BusClock = Annotated[int, one_of(33, 66, 100, 133), Wanted("33, 66, 100 or 133 MHz")]


class VpdFacts(Section):
    """Vital product data as ``lspci -vv`` shows it.

    ``keywords``: those that must be there; none where a card need not have product data. ``part_number``: how the part
    number (PN) begins, the revision of a board may follow it.
    """

    keywords: tuple[VpdKeyword, ...] = ()
    part_number: Text | None = None


class IdentityFacts(Section):
    """The identity of the card on PCI.

    ``ports``: how many PCI functions with this identity the dut must show; two single-port cards are 2.
    ``ports_per_card``: network ports on one card; on a card of one function there are more of them than functions.
    ``pci_class``: its last two digits, the programming interface, are not compared: no tool shows those of a network
    card.
    ``mac_ouis``: the makers whose MAC addresses a port may have.
    """

    vendor_id: PciId
    device_id: PciId
    subsystems: Subsystems
    ports: Count
    ports_per_card: Count | None = None
    port_layout: Annotated[PortLayout, Wanted("function-per-port or one-function")] = PortLayout.FUNCTION_PER_PORT
    pci_class: PciClass = "020000"
    mac_ouis: Makers | None = None
    vpd: VpdFacts | None = None

    @property
    def network_ports(self) -> int:
        """The number of network ports on the functions of the dut: a bench must name as many to test all of them."""
        if self.port_layout is PortLayout.ONE_FUNCTION and self.ports_per_card is not None:
            return self.ports * self.ports_per_card
        return self.ports


class Pcie(Section):
    """The PCIe link the card must train to: GT/s per lane, and lanes that must be *negotiated*.

    The lanes of the mechanical connector say nothing about the wiring of a slot (EMX-01).
    """

    speed_gts: SpeedGts
    width: Lanes


class ConventionalPci(Section):
    """The bus of a card from before PCI Express: it has no link that trains, and no PCI Express capability.

    Its speed cannot be read from the card: width times clock is what bounds its traffic.
    """

    width_bits: BusWidth
    clock_mhz: BusClock
