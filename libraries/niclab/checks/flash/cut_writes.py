"""A loss of power while firmware is written: the port is there afterwards, and takes an image."""

from __future__ import annotations

from dataclasses import dataclass

from niclab.bench.records import Port, Role
from niclab.card import FirmwareImage
from niclab.checks.asked import Say
from niclab.checks.firmware import FirmwareChange
from niclab.checks.flashing import Flashing
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided, fail_with
from niclab.core.wait import pause, persistent_problems
from niclab.run.acquiring.card_start import KeptFromStarting, missing_ports, whose
from niclab.run.driver_in_use import load_missing
from niclab.run.run import Run
from niclab.transports.ssh.ssh import Job

SHARES = (0.5, 0.25, 0.1)
"""Parts of the time of a whole write after which the power is cut, in turn until the write was not over by then: a BMC
takes some of that time, too."""
APPEARS_WITHIN_S = 30.0
"""Assumption: a server may answer over SSH before its drivers have found every device."""
_WRITE_LIMIT_S = 600
_SHOWN_CHARACTERS = 300


class _Ended(Exception):
    """The write was over before the order to cut the power."""


@dataclass(frozen=True)
class _Cut:
    """One try on one port."""

    port: Port
    image: FirmwareImage
    ran: str

    @property
    def after(self) -> str:
        return f"after a loss of power while {self.image.file} was written"


class CutWrites:
    """Cuts the power of the dut while an image is written into a port, and writes again. May destroy a card.

    A write is known to be under way when the power goes: the same port has taken the image of what it runs by the same
    command just before, whose time is measured; at a part of it the command still runs on the dut. It is known to have
    been cut off when the port does not run the image after the power has returned.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self._run, self._change = run, run.part(FirmwareChange)

    def require_writable(self, say: Say) -> None:
        """Cut a write off on every port of the dut, one after the other; afterwards each holds the other image.

        Args:
            say: Takes what was seen of each port.

        Raises:
            CardFailure: A port is gone afterwards, cannot be set up, or refuses the image; or refuses before the one of
                what it runs.
            Undecided: Each write was over before the power was gone, or ended by itself with an error; or a port runs a
                firmware that nobody wrote.
            NotApplicable: The sheet does not say that the card survives it, or the dut has no BMC.
            BenchFault: An image or a program is missing, or the dut does not come back in its time.
        """
        self._require_allowed()
        other, back = self._change.begin()
        for port in self._run.ports(Role.DUT):
            why = f"the power is cut while firmware is written: not recovered until {back.file} is written and runs"
            whole_s = self._change.write_to(port, back, back, why)
            say(f"{port.place}: {back.file}, the image of what runs, is written in {whole_s:.1f} s")
            cut = self._cut_off(port, (other, back), whole_s, say)
            try:
                took_s = self._change.write_to(port, other, back, why)
            except CardFailure as error:
                raise CardFailure(f"{cut.after}: {error}; expected it taken") from error
            say(f"{port.place}: {other.file} is written {cut.after}, in {took_s:.1f} s")

    def _require_allowed(self) -> None:
        way, card = Flashing(self._run), self._run.card
        way.require_offered()
        facts = card.section(way.update.power_loss, "firmware.update.power_loss")
        if not card.known(facts.survives, "firmware.update.power_loss.survives"):
            raise NotApplicable(f"sheet {card.name}: the card does not survive a loss of power while it is written")
        _ = self._run.server(Role.DUT).bmc  # without one nothing is written

    def _cut_off(self, port: Port, images: tuple[FirmwareImage, FirmwareImage], whole_s: float, say: Say) -> _Cut:
        """Lose the power in a write, which is tried again where the write was over before."""
        for share in SHARES:
            ran = self._change.version_of(port)
            cut = _Cut(port, next(image for image in images if image.version != ran), ran)
            if not self._lose_power(cut, share * whole_s):
                say(f"{port.place}: {cut.image.file} is written in less than {share * whole_s:.1f} s this time")
                continue
            runs = self._require_there(cut)
            say(f"{cut.after} {port.place} {f'runs firmware {runs}' if runs else 'shows no firmware: it wants one'}")
            if runs not in (None, ran, cut.image.version):
                raise Undecided(
                    f"{port.place} runs firmware {runs} {cut.after}; expected {ran}, {cut.image.version}, or none: a "
                    "third one may be an image for such a case, or the driver's own"
                )
            if runs != cut.image.version:
                return cut
        raise Undecided(
            f"{port.place}: each of {len(SHARES)} writes of firmware was over before the power was gone; expected one "
            f"cut off (a whole one takes {whole_s:.1f} s)"
        )

    def _lose_power(self, cut: _Cut, after_s: float) -> bool:
        """Begin the write and cut the power after this time; False where the write was over by then.

        The write is a job of its own on the dut: it is not the end of the connection that ends it.
        """
        server, jobs = self._run.server(Role.DUT), list[Job]()
        command = Flashing(self._run).command(cut.port, cut.image.file)

        def begin() -> None:
            jobs.append(server.start(command, limit_s=_WRITE_LIMIT_S))
            pause(after_s)
            if jobs[0].poll() is not None:
                raise _Ended

        try:
            server.power_cycle(before_off=begin)
        except _Ended:
            result = jobs[0].stop()
            if result.exit_status != 0:
                said = (result.stderr + result.stdout).strip()[-_SHOWN_CHARACTERS:]
                raise Undecided(
                    f"{cut.port.place}: the write of {cut.image.file} has ended with {result.ending} before the power "
                    f"was cut: {said}; expected it under way"
                ) from None
            return False
        server.run(f"rm -rf {jobs[0].directory}")  # the boot has ended the job
        jobs[0].when_over()
        return True

    def _require_there(self, cut: _Cut) -> str | None:
        """Require every port of the dut there and up; return the version that this one runs, None where it shows none.

        Its way back is in the journal, and stays there.
        """
        run, server = self._run, self._run.server(Role.DUT)
        load_missing(run, server)
        self._require_interfaces(cut)
        for port in run.ports(Role.DUT):
            self._set_up(port, cut)
        text = server.host.drivers.driver_info(server.interface(cut.port)).firmware
        try:
            return None if text is None else run.card.firmware.read(text)
        except Undecided:
            return None

    def _require_interfaces(self, cut: _Cut) -> None:
        problems = list[str]()
        for port, error in persistent_problems(lambda: missing_ports(self._run), within=APPEARS_WITHIN_S):
            reason = whose(self._run, port, error)
            if isinstance(reason, KeptFromStarting):
                raise reason from error
            problems.append(f"{port.place} is missing {cut.after}: {reason}; expected it, as before")
        fail_with(problems)

    def _set_up(self, port: Port, cut: _Cut) -> None:
        """Set a port up, which some drivers want before they write."""
        server = self._run.server_of(port)
        try:
            server.host.links.set_link(server.interface(port), True)
        except BenchFault as error:
            if not server.answers():
                raise
            raise CardFailure(f"{port.place} cannot be set up {cut.after}: {error}; expected it up") from error
