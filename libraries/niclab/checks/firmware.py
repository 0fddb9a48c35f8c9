"""Firmware: the version that runs, and writing images, those to be taken and those to be refused."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from enum import Enum

from niclab.bench.records import Port, Role
from niclab.card import Activation, FirmwareImage, FirmwareUpdate, Unknown
from niclab.checks.asked import Say, driver_infos, dut_driver
from niclab.checks.driver import judge_versions
from niclab.checks.flash.way_back import ACTIVATION, WayBack, missing_image
from niclab.checks.flashing import Flashing, WriteOutcome, Writer
from niclab.core.undo import Action, Entry
from niclab.core.verdict import BenchFault, CardFailure, Collected, NotApplicable, SheetSilent, SheetUnknown, Undecided
from niclab.hosts.host import Host
from niclab.hosts.host_records import DriverInfo
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.run.watching.kernel_watch import KernelWatch

_DAMAGES = ("truncated", "bit-flipped")


class Which(Enum):
    """The firmware that is meant: the one that was written, or the one that ran before."""

    OTHER = "other"
    FORMER = "former"


def require_version(run: Run) -> None:
    """Judge the firmware version that every port reports.

    Raises:
        CardFailure: A version is forbidden, or neither required nor allowed.
        NotApplicable: The sheet says that the dut's driver does not show the firmware.
        SheetUnknown: The sheet names no versions.
        Undecided: A port reports none, or one that cannot be compared.
    """
    require_shown(run)
    firmware = run.card.firmware
    if not firmware.is_known:
        raise SheetUnknown(f"sheet {run.card.name} names no firmware versions")
    found = [(port, info.firmware) for port, info in driver_infos(run)]
    judge_versions(run, "firmware", found, firmware, read=firmware.read)


def require_same_on_all_ports(run: Run) -> None:
    """Compare the firmware of all ports of the dut.

    Raises:
        CardFailure: They differ.
        NotApplicable: No port reports a version, and the sheet names none, or says that the dut's driver shows none.
        Undecided: No port reports a version, and the sheet names some.
    """
    found = {port.name: info.firmware for port, info in driver_infos(run)}
    if len(set(found.values())) > 1:
        shown = ", ".join(f"{name} {firmware}" for name, firmware in found.items())
        raise CardFailure(f"dut: ports run different firmware: {shown}; expected the same on all")
    if None in found.values():
        require_shown(run)
        said = f"dut: none of {', '.join(found)} reports a firmware version"
        if not run.card.firmware.is_known:
            raise NotApplicable(f"{said}, and sheet {run.card.name} names none")
        raise Undecided(said)


def require_shown(run: Run) -> None:
    """Refuse where the sheet says that the dut's driver does not show the firmware that the lists name.

    Args:
        run: The run.

    Raises:
        NotApplicable: It does not.
    """
    driver = dut_driver(run)
    if driver.firmware is not None and isinstance(driver.firmware.required, Unknown):
        reason = driver.firmware.required.unknown
        raise NotApplicable(
            f"dut: driver {driver.module} does not show the firmware that sheet {run.card.name} names: {reason}"
        )


class FirmwareChange:
    """Writing firmware and coming back to what ran before. A part of the run.

    The image that brings the former firmware back, and what makes it run, is in the journal before the first one is
    written.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._before: str | None = None
        self._is_written_back = False
        self._takes_own_image = set[Port]()

    def write_other(self) -> None:
        """Write an image of the sheet that is not what runs, on every port's card. It need not run yet.

        Raises:
            CardFailure: The card refuses it, or takes longer than the sheet allows.
            NotApplicable: Firmware is written in another way.
            SheetSilent: The sheet names no image to write, or none to come back with.
        """
        self._write(*self.begin())

    def begin(self) -> tuple[FirmwareImage, FirmwareImage]:
        """Note what runs as the former firmware. Nothing is written yet.

        Returns:
            The image of another firmware, and that of the former one.

        Raises:
            NotApplicable, SheetSilent: As :meth:`write_other`.
        """
        update, running = self._update(), self._running()
        self._before, self._is_written_back = running, False
        other = next((image for image in update.images if image.version != running), None)
        back = next((image for image in update.images if image.version == running), None)
        if other is None or back is None:
            missing = f"no image apart from firmware {running}" if other is None else f"no image of firmware {running}"
            raise SheetSilent(f"sheet {self._sheet} names {missing}, so it cannot be changed and put back")
        return other, back

    def write_back(self) -> None:
        """Write the image of what ran before :meth:`write_other`.

        Raises:
            CardFailure: The card refuses it, or takes longer than the sheet allows.
            BenchFault: No firmware was written.
        """
        back = next(image for image in self._update().images if image.version == self._former)
        self._write(back, back)
        self._is_written_back = True

    def put_back(self) -> None:
        """Bring back what ran before the first write, and make it run. Does nothing where that is so already.

        A port that may have taken a wrong image gets its own one.

        Raises:
            BenchFault: It cannot be written, or the server does not come back.
        """
        for entry in self._undone_by():
            self._run.journal.undo(entry, self._run.undo)

    def require_running(self, which: Which) -> None:
        """Check what every port runs. Before the sheet's way of activation, that is still what ran before.

        The journal keeps the former image until it was written back and runs: a card may forget the second write.

        Args:
            which: The firmware that was written, or the former one.

        Raises:
            CardFailure: A port runs another version.
            Undecided: A port reports none, or one that is not built as the sheet says.
            BenchFault: No firmware was written.
        """
        written = next(image.version for image in self._update().images if image.version != self._former)
        wanted = written if which is Which.OTHER else self._former
        judged = Collected()
        for port, _, _ in self._ports():
            with judged.one():
                if (found := self.version_of(port)) != wanted:
                    raise CardFailure(f"{port.place} runs firmware {found}; expected {wanted}")
        judged.end()
        if which is Which.FORMER and self._is_written_back:
            for entry in self._undone_by():
                self._run.journal.done(entry)

    def require_activation(self, way: Activation) -> None:
        """Skip unless the sheet says that new firmware runs after this.

        Args:
            way: The way of activation.

        Raises:
            NotApplicable: The sheet names another way.
            SheetUnknown: It does not know it.
        """
        found = self._run.card.known(self._way().update.activation, "firmware.update.activation")
        if found is not way:
            raise NotApplicable(f"sheet {self._sheet} says that firmware runs after a {found.value}, not a {way.value}")

    def require_writer(self, writer: Writer) -> None:
        """Skip unless this writes the firmware of the card.

        Args:
            writer: The program.

        Raises:
            NotApplicable: The sheet names another one.
        """
        found = self._way().writer
        if found is not writer:
            raise NotApplicable(
                f"sheet {self._sheet} says that firmware is written by {found.value}, not by {writer.value}"
            )

    def require_foreign_image_refused(self, say: Say) -> None:
        """Offer an image of another card to every port.

        Args:
            say: Takes the answer of each port.

        Raises:
            CardFailure: A port takes it, or shows another firmware afterwards.
            Undecided: A port refuses the image of what it runs as well, so that nothing is proven.
        """
        self._require_refused([self._run.card.section(self._update().foreign_image, "an image of another card")], say)

    def require_damaged_images_refused(self, say: Say) -> None:
        """Offer images that are cut short or have a wrong bit to every port.

        They lie with the sheet's first image, with ``-truncated`` and ``-bit-flipped`` before the ending.

        Args:
            say: Takes the answer of each port.

        Raises:
            CardFailure: A port takes one, or shows another firmware afterwards.
            Undecided: A port refuses the image of what it runs as well, so that nothing is proven.
            NotApplicable: The servers have the sound image, and no such ones.
            BenchFault: They do not have the sound image, or only one of the damaged ones.
            SheetSilent: The sheet names no image.
        """
        images = self._run.card.section(self._update().images or None, "firmware images")
        stem, _, ending = images[0].file.rpartition(".")
        files = [f"{stem}-{damage}.{ending}" for damage in _DAMAGES]
        present = [file for file in files if all(host.firmware.has_image(file) for _, host, _ in self._ports())]
        if not present:
            for port, host, _ in self._ports():
                if not host.firmware.has_image(images[0].file):
                    raise missing_image(self._run, port, images[0].file)
            raise NotApplicable(f"dut: none of {', '.join(files)} is where its firmware images are")
        if missing := [file for file in files if file not in present]:
            raise BenchFault(
                f"dut: firmware image {', '.join(missing)} is missing where {', '.join(present)} is; expected both"
            )
        self._require_refused(files, say)

    # --- how

    @property
    def _sheet(self) -> str:
        return self._run.card.name

    def _undone_by(self) -> list[Entry]:
        """The entries that bring the former firmware back, the newest first: images before what makes them run."""
        ends = (" firmware", " image", ACTIVATION)
        return [each for each in self._run.journal.pending() if each.subject.endswith(ends)]

    @property
    def _former(self) -> str:
        if self._before is None:
            raise BenchFault("no firmware was written: 'Write Other Firmware' comes first")
        return self._before

    def _way(self) -> Flashing:
        way = Flashing(self._run)
        way.require_offered()
        return way

    def _update(self) -> FirmwareUpdate:
        """The sheet's section, where the dut has all that writing takes: what it lacks is said before any change."""
        way = self._way()
        way.require_programs()
        return way.update

    def _require_refused(self, files: Sequence[str], say: Say) -> None:
        """Offer images that must be refused until the card takes one, which gets its own image back at once."""
        judged = Collected()
        with judged.one():
            for file in files:
                for port, host, iface in self._ports():
                    self._offer(file, port, host, iface, judged, say)
                if judged.problems:
                    break
        judged.end()

    def _offer(self, file: str, port: Port, host: Host, iface: str, judged: Collected, say: Say) -> None:
        """Offer it to one port. ``judged``: takes what is wrong, also where the port then takes no other image."""
        if not host.firmware.has_image(file):
            raise missing_image(self._run, port, file)
        own = self._own_image(port)
        undo = WayBack(self._run).action(port, own.file)
        self._require_own_image_taken(port, own, undo)
        before = host.drivers.driver_info(iface).firmware
        entry = self._run.journal.register(f"{port.name} image", f"firmware image {file} is offered", undo)
        with self._run.part(KernelWatch).refusing(port):
            outcome = self._outcome(port, file, entry)
        attempt = outcome.attempt
        say(f"{port.place}: {file}: {attempt.refused}")
        if outcome.unsure and attempt.now.firmware == before:
            judged.doubts.append(str(_undecided(port, file, outcome)))
            return
        if attempt.refused is None:
            judged.problems.append(f"{port.place} took firmware image {file}; expected it refused")
        if attempt.now.firmware != before:
            judged.problems.append(f"{port.place} shows firmware {attempt.now.firmware} after {file}, before {before}")
        if attempt.refused is not None and attempt.now.firmware == before:
            self._run.journal.done(entry)
            return
        try:
            self._run.journal.undo(entry, self._run.undo)
        except BenchFault as error:
            judged.problems.append(f"{port.place}: its own image is not written back: {error}")
            raise

    def _require_own_image_taken(self, port: Port, own: FirmwareImage, undo: Action) -> None:
        """Write the image of what runs, once a port: a port that takes no image at all refuses wrong ones too.

        It is taken when the same version runs on; a port may show that version as the one that is flashed as well.
        """
        if port in self._takes_own_image:
            return
        server, journal, file = self._run.server_of(port), self._run.journal, own.file
        iface = server.interface(port)
        if not server.host.firmware.has_image(file):
            raise missing_image(self._run, port, file)
        before = server.host.drivers.driver_info(iface).firmware
        entry = journal.register(f"{port.name} image", f"firmware image {file} of what runs is written", undo)
        attempt = self._flash(port, file, entry)
        if attempt.refused is not None or not self._is_alone(own.version, attempt.now.firmware):  # undone at the end
            found = attempt.refused or f"shows firmware {attempt.now.firmware} afterwards, before {before}"
            raise Undecided(
                f"{port.place}: {file}, the image of what runs: {found}; expected it taken, or the refusal of another "
                f"image proves nothing (sheet {self._sheet})"
            )
        journal.done(entry)
        self._takes_own_image.add(port)

    def _flash(self, port: Port, file: str, *made: Entry) -> Attempt[DriverInfo]:
        """Write an image. ``made``: entries of the journal that are for this write alone.

        Raises:
            Undecided: The tool that writes fails, and does not say that the card refused.
        """
        outcome = self._outcome(port, file, *made)
        if outcome.unsure:
            raise _undecided(port, file, outcome)
        return outcome.attempt

    def _outcome(self, port: Port, file: str, *made: Entry) -> WriteOutcome:
        outcome = Flashing(self._run).write(port, file)
        if outcome.wrote_nothing:  # it would fail to undo it
            for entry in made:
                self._run.journal.done(entry)
        return outcome

    def _is_alone(self, version: str, shown: str | None) -> bool:
        """Does a port show this version as what runs, and no other one as flashed?"""
        firmware = self._run.card.firmware
        return shown is not None and {firmware.read(shown), firmware.flashed(shown) or version} == {version}

    def _own_image(self, port: Port) -> FirmwareImage:
        """Return the image of what runs now.

        Without such an image nothing is offered: a card that takes a wrong one could not be put right.

        Raises:
            SheetSilent: The sheet names none.
        """
        running = self.version_of(port)
        back = next((image for image in self._update().images if image.version == running), None)
        if back is None:
            raise SheetSilent(f"sheet {self._sheet} names no image of firmware {running}, which would undo a wrong one")
        return back

    def _write(self, image: FirmwareImage, back: FirmwareImage) -> None:
        for port, _, _ in self._ports():
            self.write_to(port, image, back, f"firmware {self._before} is replaced")

    def write_to(self, port: Port, image: FirmwareImage, back: FirmwareImage, why: str) -> float:
        """Write an image into one port, once the journal has the way back; return the seconds that it took.

        Args:
            port: The port.
            image: The image.
            back: That of the former firmware.
            why: The change, for the journal.

        Raises:
            CardFailure: The card refuses it, or takes longer than the sheet allows.
            Undecided: It takes longer, and the dut stood still meanwhile.
        """
        made = WayBack(self._run).keep(port, image, back, why)
        way = self._way()
        stood_s, started = way.standstills(), time.monotonic()
        attempt = self._flash(port, image.file, *reversed(made))
        took_s = time.monotonic() - started
        if attempt.refused is not None:
            raise CardFailure(f"{port.place} refused firmware image {image.file}: {attempt.refused}")
        way.require_in_time(f"{port.place} took {took_s:.0f} s to write firmware image {image.file}", took_s, stood_s)
        return took_s

    def _running(self) -> str:
        """The firmware that every port runs."""
        found = {port.name: self.version_of(port) for port, _, _ in self._ports()}
        if len(set(found.values())) != 1:
            raise Undecided(f"dut: ports run different firmware: {found}")
        return next(iter(found.values()))

    def version_of(self, port: Port) -> str:
        """Return the version that a port runs.

        Args:
            port: The port.

        Raises:
            Undecided: It reports none, or one that is not built as the sheet says.
        """
        server = self._run.server_of(port)
        text = server.host.drivers.driver_info(server.interface(port)).firmware
        if text is None:
            raise Undecided(f"{port.place} reports no firmware version")
        return self._run.card.firmware.read(text)

    def _ports(self) -> Iterator[tuple[Port, Host, str]]:
        for port in self._run.ports(Role.DUT):
            server = self._run.server_of(port)
            yield port, server.host, server.interface(port)


def _undecided(port: Port, file: str, outcome: WriteOutcome) -> Undecided:
    return Undecided(f"{port.place}: firmware image {file}: {outcome.unsure}")
