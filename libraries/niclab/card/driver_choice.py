"""The driver that a run qualifies: the one that the servers have, that of the operating system, or the vendor's."""

from __future__ import annotations

from dataclasses import dataclass

from niclab.bench.records import OperatingSystem
from niclab.card.sheet import Card
from niclab.card.software import PackageFacts
from niclab.card.values import Unknown
from niclab.card.versions import VersionVerdict
from niclab.core.verdict import BenchFault, NotApplicable, Undecided

INBOX, VENDOR = "inbox", "vendor"


@dataclass(frozen=True)
class DriverChoice:
    """A choice of the driver.

    ``word``: empty: the driver that a server has; ``inbox``: that of its operating system, and no other; ``vendor``:
    the package that the sheet requires; anything else: that version of the package.
    """

    word: str = ""

    @property
    def is_inbox(self) -> bool:
        """Is the driver of the operating system asked for, so that another is a fault?"""
        return self.word == INBOX

    @property
    def is_package(self) -> bool:
        """Is a package asked for?"""
        return self.word not in ("", INBOX)

    def version(self, card: Card, system: OperatingSystem) -> str:
        """Return the version of the sheet's package that is to run on the dut; empty where no package is asked for.

        Args:
            card: The sheet.
            system: Operating system of the dut.

        Raises:
            BenchFault: The sheet has no such driver for the system, does not know its version, or does not want that
                version.
            NotApplicable: The sheet has no driver for the system.
        """
        driver, package = card.driver(system), card.driver(system).package
        subject = f"driver {self.word}: sheet {card.name}"
        if self.is_inbox and not driver.in_kernel:
            raise BenchFault(
                f"{subject} names no driver {driver.module} that comes with {system.value}; expected {VENDOR}"
            )
        if not self.is_package:
            return ""
        if package is None:
            raise BenchFault(f"{subject} names no package of {driver.module} for {system.value}; expected {INBOX}")
        if self.word == VENDOR:
            try:
                return required_version(card, package)
            except NotApplicable as error:  # a run that was asked for a driver cannot be skipped
                raise BenchFault(f"driver {self.word}: {error}; expected a known version, or {INBOX}") from error
        try:
            verdict = package.verdict(self.word)
        except Undecided as error:
            raise BenchFault(f"{subject}: package {package.name}: {error}; expected a version that it wants") from error
        if verdict not in (VersionVerdict.REQUIRED, VersionVerdict.ALLOWED):
            said = "forbids it" if verdict is VersionVerdict.FORBIDDEN else "neither requires nor allows it"
            raise BenchFault(f"{subject}: package {package.name}: {said}; expected {VENDOR}, {INBOX} or another")
        return self.word


AS_FOUND = DriverChoice()
"""The driver that each server has."""


def required_version(card: Card, package: PackageFacts) -> str:
    """Return the exact version of a package that a sheet requires.

    Args:
        card: The sheet.
        package: Its package.

    Raises:
        BenchFault: It requires a range, where an exact version must come first.
        NotApplicable: Nobody knows the version.
    """
    required = card.known(package.required, f"the required version of package {package.name}")
    if isinstance(required, Unknown) or required[0].startswith((">", "<")):
        raise BenchFault(
            f"sheet {card.name}: package {package.name} requires {required}; expected one exact version first"
        )
    return required[0]
