"""The recovery ladder: how a server that does not answer is recovered, and what is learned of why it does not.

Each step has a deadline and is a line of ``recoveries.jsonl`` in the evidence. A step saves the kernel's output
before a later one destroys it::

    console: log in, look around -> SysRq: sync, blocked tasks -> NMI: a crash on the console -> reset -> power cycle

A server that stays away is out of service: it is not tried again in this run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from niclab.bench.records import OperatingSystem
from niclab.core.marks import MarkKind
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import Deadline, pause, until
from niclab.run.server import POWER_WITHIN_S, Server
from niclab.transports.bmc.bmc import PowerState
from niclab.transports.console.console_line import NoBreak
from niclab.transports.console.serial import KernelDeath

FILE = "recoveries.jsonl"
"""File of the evidence: a line for each step."""
CONSOLE_WITHIN_S = 30.0
SYSRQ_WITHIN_S = 15.0
NMI_WITHIN_S = 15.0
RESET_SHOWS_WITHIN_S = 30.0
"""A machine that was reset says something on its console by then; one that does not gets a power cycle."""
_LOGIN_WITHIN_S = 10.0
_ECHO_WITHIN_S = 3.0
_TRACES_S = 1.0
_LOOKS = (
    "uptime",
    "ip -brief address || ifconfig -a",
    "ss -ltn || sockstat -l",
    "ps -A -o pid,stat,wchan,comm | grep ' D' || true",
    "dmesg | tail -n 40 | sed 's/^/| /'",  # marked: what the kernel said before is no news of it
    "sync",
)
_LOUD = "9"
_SYNCED, _BLOCKED = "Emergency Sync complete", "Show Blocked State"


class RecoveryStep(StrEnum):
    """A step of the ladder, in words."""

    CONSOLE = "console login"
    SYSRQ = "SysRq"
    NMI = "BMC NMI"
    RESET = "BMC reset"
    POWER_CYCLE = "power cycle"


class StepEnding(StrEnum):
    """The ending of a step. Only ``RECOVERED`` ends the ladder."""

    RECOVERED = "recovered"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True)
class Rung:
    """A step as it went. ``text``: what was learned, or why it was skipped or failed."""

    server: str
    step: RecoveryStep
    outcome: StepEnding
    deadline_s: float
    seconds: float
    ended: float
    text: str


@dataclass
class Recovery:
    """One climb of the ladder."""

    server: str
    rungs: list[Rung] = field(default_factory=list)

    @property
    def by(self) -> str:
        """The step that recovered the server; empty when none has."""
        return next((each.step.value for each in self.rungs if each.outcome is StepEnding.RECOVERED), "")

    def __str__(self) -> str:
        ways = "; ".join(f"{each.step} {each.outcome}: {each.text.splitlines()[0]}" for each in self.rungs)
        return f"{self.server} did not answer and was recovered by {self.by} ({ways})"


class _Skip(Exception):
    """A step that cannot be taken; the message says why."""


class _Ladder:
    """One climb. ``dead``: the kernel's last words are known, or nobody asks for them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.recovery = Recovery(server.name)
        self._dead = "the lab has crashed it" if server.crashed_by_lab else ""
        self._lives = False

    def climb(self) -> bool:
        """Take each step until the server answers; return whether it does."""
        ready_s = float(self._server.description.boot.ready_within_s)
        return (
            self._step(RecoveryStep.CONSOLE, CONSOLE_WITHIN_S, self._console)
            or self._step(RecoveryStep.SYSRQ, SYSRQ_WITHIN_S, self._sysrq)
            or self._step(RecoveryStep.NMI, NMI_WITHIN_S, self._nmi)
            or self._step(RecoveryStep.RESET, RESET_SHOWS_WITHIN_S + ready_s, self._reset)
            or self._step(RecoveryStep.POWER_CYCLE, 2 * POWER_WITHIN_S + ready_s, self._power_cycle)
        )

    def _step(self, step: RecoveryStep, deadline_s: float, take: Callable[[Deadline], str]) -> bool:
        deadline, boots = Deadline(deadline_s), step in (RecoveryStep.RESET, RecoveryStep.POWER_CYCLE)
        try:
            text, outcome = take(deadline), StepEnding.RECOVERED if boots else StepEnding.DONE
        except (_Skip, NotApplicable, NoBreak) as reason:
            text, outcome = str(reason), StepEnding.SKIPPED
        except KernelDeath as death:
            text, outcome, self._dead = str(death), StepEnding.DONE, "its kernel is dead already"
        except BenchFault as fault:
            text, outcome = str(fault), StepEnding.FAILED
        # it may be back by itself: the next step could crash it under its load, which looks like the driver's doing
        if not boots and outcome is not StepEnding.SKIPPED and self._server.answers():
            outcome = StepEnding.RECOVERED
        seconds = round(deadline.seconds - deadline.left, 3)
        rung = Rung(self._server.name, step, outcome, deadline_s, seconds, round(time.time(), 3), text or "no words")
        self.recovery.rungs.append(rung)
        self._server.notes.add(FILE, asdict(rung))
        return outcome is StepEnding.RECOVERED

    def _console(self, deadline: Deadline) -> str:
        self._require_words()
        if self._server.description.bmc is not None and self._is_off():
            self._dead = "it has no power"
            raise _Skip(self._dead)
        self._log_in(deadline)
        console, said = self._server.console, ["a shell answers on the console:"]
        self._lives = True
        try:
            for command in _LOOKS:
                said.append(f"# {command}\n{console.run(command, deadline.left)[1].rstrip()}")
        finally:
            console.send_line("exit")  # a shell of root must not stay open on the console
        return "\n".join(said)

    def _log_in(self, deadline: Deadline) -> None:
        try:
            self._server.log_in_on_console(min(_LOGIN_WITHIN_S, deadline.left))
        except KernelDeath as death:  # of earlier, perhaps: not every oops kills
            try:
                self._server.log_in_on_console(min(_LOGIN_WITHIN_S, deadline.left))
            except BenchFault:
                raise death from None

    def _is_off(self) -> bool:
        try:
            return self._server.bmc.power_status() is PowerState.OFF
        except BenchFault:
            return False  # the steps of the BMC say what is wrong with it

    def _sysrq(self, deadline: Deadline) -> str:
        self._require_hanging()
        if self._server.description.os is not OperatingSystem.LINUX:
            raise _Skip("it is no Linux; a BREAK may stop it in a debugger")
        console = self._server.console
        mark = console.mark()
        console.sysrq(_LOUD)  # what follows is less than a warning, which a quiet console leaves out
        console.sysrq("s")
        console.expect(_SYNCED, min(_ECHO_WITHIN_S, deadline.left))
        console.sysrq("w")
        console.expect(_BLOCKED, min(_ECHO_WITHIN_S, deadline.left))
        pause(_TRACES_S)  # a trace for each task, and no line that ends them
        return "the kernel answers:\n" + console.text_since(mark)

    def _nmi(self, deadline: Deadline) -> str:
        self._require_hanging()
        console = self._server.console  # without one there is nothing to learn
        self._server.bmc.nmi()
        return "the kernel died of it:\n" + "\n".join(console.expect_death(deadline.left))

    def _reset(self, _: Deadline) -> str:
        if self._dead == "it has no power":
            raise _Skip(self._dead)
        console = self._server.console if self._server.description.console is not None else None
        mark = console.mark() if console is not None else 0
        self._server.press_reset()
        if console is not None:
            until(
                lambda: bool(console.text_since(mark).strip()) or self._server.answers(),
                within=RESET_SHOWS_WITHIN_S,
                what=f"{console.name} to say anything after a reset",
            )
        self._server.wait_ready()
        return "it answers again"

    def _power_cycle(self, _: Deadline) -> str:
        if self._server.lease is not None and self._server.lease.lost:
            raise _Skip(self._server.lease.lost)
        self._server.cycle_power()
        return "it answers again"

    def _require_words(self) -> None:
        if self._dead:
            raise _Skip(self._dead)

    def _require_hanging(self) -> None:
        self._require_words()
        if self._lives:
            raise _Skip("its console answers")


def recover(server: Server) -> Recovery:
    """Get a server back that does not answer.

    Args:
        server: The server.

    Returns:
        What was done.

    Raises:
        BenchFault: It stays away, and is out of service from now on.
    """
    if server.out_of_service:
        raise BenchFault(server.out_of_service)
    ladder, begun = _Ladder(server), time.monotonic()
    was_ordered, recovered = server.crashed_by_lab, False
    try:
        recovered = ladder.climb()
    finally:
        by = ladder.recovery.by or "nothing"
        server.notes.mark(MarkKind.RECOVERY, f"{server.name}: {by}", time.monotonic() - begun)
    if not recovered:
        lines = [f"  {each.step}: {each.outcome}: {each.text.splitlines()[0]}" for each in ladder.recovery.rungs]
        head = f"{server.name} is out of service: it does not answer, and cannot be recovered:"
        server.out_of_service = "\n".join([head, *lines])
        raise BenchFault(server.out_of_service)
    if not was_ordered:
        server.recoveries.append(str(ladder.recovery))
    return ladder.recovery


def ensure_ready(servers: Iterable[Server]) -> list[Recovery]:
    """Make sure that servers answer; recover those that do not.

    Args:
        servers: The servers; all are asked side by side.

    Returns:
        How the servers that did not answer were recovered.

    Raises:
        BenchFault: One cannot be recovered.
    """
    asked = list(servers)
    lost = [server for server, up in zip(asked, side_by_side(Server.answers, asked), strict=True) if not up]
    return side_by_side(recover, lost)
