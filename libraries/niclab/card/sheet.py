"""The card sheet as a whole: what a card must be, and where each fact comes from."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TypeVar

from pydantic import BaseModel

from niclab.bench.records import OperatingSystem
from niclab.card.effects import Effect, Sequence
from niclab.card.identity_facts import ConventionalPci, IdentityFacts, Pcie
from niclab.card.kernels import KernelContext, release
from niclab.card.limits import Erratum, HarmlessMessage, IscsiOffload, Limits, Reference, StorageFacts
from niclab.card.offload_facts import Offloads
from niclab.card.settings_facts import (
    ChannelFacts,
    CoalescingFacts,
    EepromFacts,
    FilterFacts,
    FunctionFacts,
    LinkFacts,
    Mtu,
    PauseFacts,
    Recommended,
    RingFacts,
    SelfTestFacts,
)
from niclab.card.software import Driver, Drivers, Firmware
from niclab.card.values import Unknown
from niclab.core.verdict import NotApplicable, SheetSilent, SheetUnknown
from niclab.files.types import Name, Text
from niclab.files.yaml import Sheet

T = TypeVar("T")


class Card(Sheet):
    """A whole sheet.

    A section that is left out is one about which nobody has said anything; :meth:`section` turns it into a verdict.
    """

    card: Name
    description: Text
    identity: IdentityFacts
    drivers: Drivers
    firmware: Firmware
    pcie: Pcie | None = None
    conventional_pci: ConventionalPci | None = None
    link: LinkFacts
    rings: RingFacts | None = None
    coalescing: CoalescingFacts | None = None
    pause: PauseFacts | None = None
    channels: ChannelFacts | None = None
    mtu: Mtu | None = None
    filters: FilterFacts | None = None
    self_test: SelfTestFacts | None = None
    eeprom: EepromFacts | None = None
    virtual_functions: FunctionFacts | None = None
    offloads: Offloads | None = None
    limits: Limits
    recommended: Recommended | None = None
    effects: tuple[Effect, ...] = ()
    sequence: Sequence | None = None
    iscsi: StorageFacts | None = None
    iscsi_offload: IscsiOffload | None = None
    nvme_tcp: StorageFacts | None = None
    references: tuple[Reference, ...] = ()
    errata: tuple[Erratum, ...] = ()
    harmless_messages: tuple[HarmlessMessage, ...] = ()

    def of_kernel(self, kernel: str) -> Card:
        """The sheet with the facts that hold on a kernel; until it is asked for one, those of the newest.

        Args:
            kernel: Release, as ``uname -r`` prints it.

        Raises:
            BenchFault: When ``kernel`` is no release.
        """
        return self.read_for(KernelContext(release(kernel)))

    def read_for(self, kernels: KernelContext) -> Card:
        """The sheet as it is read in another context."""
        context = {"file": self.file, "text": self.text, "kernels": kernels}
        return Card.model_validate_json(self.text, context=context)

    def of_system(self, system: OperatingSystem) -> Card:
        """The sheet with MTU, flow control and firmware as a system's driver has them, where the sheet says so.

        Args:
            system: Operating system of the dut.
        """
        driver = self.drivers.linux if system is OperatingSystem.LINUX else self.drivers.freebsd
        if driver is None:
            return self
        own = {"mtu": driver.mtu, "pause": driver.pause, "firmware": driver.firmware}
        return self.model_copy(update={name: section for name, section in own.items() if section is not None})

    @property
    def name(self) -> str:
        """The name messages call the sheet by."""
        return self.card

    def driver(self, system: OperatingSystem) -> Driver:
        """The driver for an operating system.

        Raises:
            SheetSilent: When the sheet has none.
        """
        driver = self.drivers.linux if system is OperatingSystem.LINUX else self.drivers.freebsd
        if driver is None:
            raise SheetSilent(f"sheet {self.name} names no driver for {system.value}")
        return driver

    def of_driver(self, name: str, system: OperatingSystem) -> RingFacts | CoalescingFacts | ChannelFacts | None:
        """``rings``, ``coalescing`` or ``channels`` of a system's driver; None when nobody has written them."""
        place = self if system is OperatingSystem.LINUX else self.drivers.freebsd
        section: RingFacts | CoalescingFacts | ChannelFacts | None = getattr(place, name, None)
        return section

    def calls_harmless(self, words: str) -> bool:
        """Does a kernel message that names the card mean no harm?"""
        return any(each.text in words for each in self.harmless_messages)

    def known(self, fact: T | Unknown, field: str) -> T:
        """``fact`` when it is known; ``field`` is its name on the sheet, such as ``pcie.width``.

        Raises:
            SheetUnknown: When it is unknown.
        """
        if isinstance(fact, Unknown):
            raise SheetUnknown(f"sheet {self.name} does not know {field}: {fact.unknown}")
        return fact

    def section(self, section: T | None, field: str) -> T:
        """``section`` when the sheet has it; ``field`` is its name on the sheet, such as ``rings``.

        Raises:
            SheetSilent: It is left out.
        """
        if section is None:
            raise SheetSilent(f"sheet {self.name} says nothing about {field}")
        return section

    def pcie_link(self) -> Pcie:
        """The PCI Express link.

        Raises:
            NotApplicable: When the card sits on conventional PCI.
        """
        if self.pcie is None:
            raise NotApplicable(f"sheet {self.name} is of a card on conventional PCI, which has no link that trains")
        return self.pcie


def unknown_facts(sheet: object, field: str = "") -> Iterator[tuple[str, Unknown]]:
    """Yield every fact that is unknown, with its name on the sheet, such as ``rings.rx.max``.

    Args:
        sheet: A card's sheet, or a part of it.
        field: Name of that part.
    """
    if isinstance(sheet, Unknown):
        yield field, sheet
    elif isinstance(sheet, BaseModel):
        for name in type(sheet).model_fields:
            yield from unknown_facts(getattr(sheet, name), f"{field}.{name}".lstrip("."))
    elif isinstance(sheet, tuple):
        for number, each in enumerate(sheet):
            name = getattr(each, "name", str(number))
            yield from unknown_facts(each, f"{field}.{name.value if isinstance(name, Enum) else name}")
