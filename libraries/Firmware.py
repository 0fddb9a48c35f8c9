"""Firmware written to the card: up, back, and images that must be refused."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import Port, Role
from niclab.card import Activation, FirmwareImage, FirmwareUpdate, FlashTool, Unknown
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided, fail_with
from niclab.hosts.host import Host
from niclab.run.run import current


class Which(Enum):
    """Which firmware is meant: the one that was written, or the one that ran before."""

    OTHER = "other"
    FORMER = "former"


@library(scope="GLOBAL")
class Firmware(BenchLibrary):
    """Keywords about writing firmware. Constructing the library connects to nothing.

    What ran before the first image was written is in the journal as the image that brings it back.
    """

    def __init__(self) -> None:
        self._before: str | None = None

    @keyword
    def write_other_firmware(self) -> None:
        """Write an image of the sheet that is not what runs, on every port's card. It need not run yet.

        Skips the test where the sheet names no image to write, and none to come back with.
        """
        update, running = _update(), self._running()
        self._before = running
        other = next((image for image in update.images if image.version != running), None)
        back = next((image for image in update.images if image.version == running), None)
        if other is None or back is None:
            missing = f"no image beside firmware {running}" if other is None else f"no image of firmware {running}"
            raise NotApplicable(f"sheet {_sheet()} names {missing}, so it cannot be changed and put back")
        self._write(other, back)

    @keyword
    def write_firmware_back(self) -> None:
        """Write the image of what ran before `Write Other Firmware`."""
        if self._before is None:
            raise BenchFault("no firmware was written: 'Write Other Firmware' comes first")
        back = next(image for image in _update().images if image.version == self._before)
        self._write(back, back)
        self._journal_done()

    @keyword
    def firmware_should_run(self, which: Which) -> None:
        """Every port runs the firmware written by `Write Other Firmware` (``OTHER``), or what ran before (``FORMER``).

        Before the sheet's way of activation has happened, that is still what ran before.
        """
        if self._before is None:
            raise BenchFault("no firmware was written: 'Write Other Firmware' comes first")
        written = next(image.version for image in _update().images if image.version != self._before)
        wanted, problems = written if which is Which.OTHER else self._before, []
        for port, _, _ in _ports():
            found = _version_of(port)
            if found != wanted:
                problems.append(f"{port.place} runs firmware {found}, wanted {wanted}")
        fail_with(problems)

    @keyword
    def activation_should_be(self, way: Activation) -> None:
        """Skips the test unless the sheet says that new firmware runs after this, such as ``DRIVER_RELOAD``."""
        found = _activation()
        if found is not way:
            raise NotApplicable(f"sheet {_sheet()} says that firmware runs after a {found.value}, not a {way.value}")

    @keyword
    def foreign_image_should_be_refused(self) -> None:
        """An image of another card is refused on every port, and what runs and is written stays what it was."""
        file = self.run.card.section(_update().foreign_image, "an image of another card")
        self._refused(file)

    @keyword
    def damaged_images_should_be_refused(self) -> None:
        """Images that are cut short or have a wrong bit are refused on every port, and nothing changes.

        They stand beside the sheet's first image, with ``-truncated`` and ``-bit-flipped`` before the ending. Skips the
        test where the servers have none.
        """
        images = _update().images
        if not images:
            raise NotApplicable(f"sheet {_sheet()} names no firmware image")
        stem, _, ending = images[0].file.rpartition(".")
        files = [f"{stem}-{damage}.{ending}" for damage in ("truncated", "bit-flipped")]
        present = [file for file in files if all(host.firmware_file(file) for _, host, _ in _ports())]
        if not present:
            raise NotApplicable(f"dut: none of {', '.join(files)} is where its firmware images are")
        for file in present:
            self._refused(file)

    # --- how

    def _refused(self, file: str) -> None:
        problems = []
        for port, host, iface in _ports():
            if not host.firmware_file(file):
                raise BenchFault(f"{port.role.value}: firmware image {file} is missing, sheet {_sheet()} names it")
            before = host.driver_info(iface).firmware
            attempt = host.flash(iface, file)
            logger.info(f"{port.place}: {file}: {attempt.refused}")
            if attempt.refused is None:
                problems.append(f"{port.place} took firmware image {file}, wanted it refused")
            if attempt.now.firmware != before:
                problems.append(f"{port.place} shows firmware {attempt.now.firmware} after {file}, before {before}")
        fail_with(problems)

    def _write(self, image: FirmwareImage, back: FirmwareImage) -> None:
        run = self.run
        for port, host, iface in _ports():
            for file in (image.file, back.file):
                if not host.firmware_file(file):
                    raise BenchFault(f"{port.role.value}: firmware image {file} is missing, sheet {_sheet()} names it")
            undo = Action(ActionKind.SHELL, port.role.value, host.flashing(iface, back.file))
            subject = f"{port.name} firmware"
            if subject not in [entry.subject for entry in run.journal.pending()]:
                run.journal.register(subject, f"firmware {self._before} is replaced", undo)
            attempt = host.flash(iface, image.file)
            if attempt.refused is not None:
                raise CardFailure(f"{port.place} refused firmware image {image.file}: {attempt.refused}")

    @staticmethod
    def _journal_done() -> None:
        run = current()
        for entry in run.journal.pending():
            if entry.subject.endswith(" firmware"):
                run.journal.done(entry)

    @staticmethod
    def _running() -> str:
        """The firmware that every port runs.

        :raises Undecided: when they run different ones, or it cannot be read.
        """
        found = {port.name: _version_of(port) for port, _, _ in _ports()}
        if len(set(found.values())) != 1:
            raise Undecided(f"dut: ports run different firmware: {found}")
        return next(iter(found.values()))


def _version_of(port: Port) -> str:
    run = current()
    text = run.server_of(port).host.driver_info(run.server_of(port).interface(port)).firmware
    if text is None:
        raise Undecided(f"{port.place} reports no firmware version")
    return run.card.firmware.read(text).version


def _update() -> FirmwareUpdate:
    """:raises NotApplicable: when the sheet does not say how firmware is written, or not with ethtool."""
    card = current().card
    update = card.section(card.firmware.update, "how firmware is updated")
    if update.tool is not FlashTool.ETHTOOL:
        raise NotApplicable(f"sheet {card.name} says that firmware is {_TOOLS[update.tool]}")
    for port in current().ports(Role.DUT)[:1]:  # a system without a tool for this card says so here
        server = current().server_of(port)
        server.host.flashing(server.interface(port), "any.bin")
    return update


_TOOLS = {
    FlashTool.VENDOR: "written by the vendor's own tool",
    FlashTool.HOST_LOADED: "loaded by the driver each time it starts",
    FlashTool.UNKNOWN: "written in a way that nobody knows",
}


def _activation() -> Activation:
    card, activation = current().card, _update().activation
    if isinstance(activation, Unknown):
        raise NotApplicable(f"sheet {card.name} does not know firmware.update.activation")
    return activation


def _ports() -> Iterator[tuple[Port, Host, str]]:
    """The first port of each card function: firmware is the card's, so each function is written once."""
    run = current()
    for port in run.ports(Role.DUT):
        server = run.server_of(port)
        yield port, server.host, server.interface(port)


def _sheet() -> str:
    return current().card.name
