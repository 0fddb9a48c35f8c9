"""Bench-fault campaign: at random moments something of the bench breaks while a certificate is made.

    python tests/robustness/campaign.py --runs 100 --seed 1

Every run has one strike, drawn with its moment from the seed. Afterwards the strike is mended and ``niclab restore`` is
asked whether the bench is as before. Required of each run: no false pass, nothing charged to the card, an end in time,
whole evidence, and a message that names the culprit. A strike that left no trace in its run is shown as not felt: such
a run proves little. Starts a bench of its own and removes it.

The clock of this machine is never changed, as everything else on it would suffer: only those of the servers jump.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path

import nightly
from nightly import Nightly, Outcome

import parts
import process
import slots

SUITES = ("bench", "identity", "link", "over_switch")
HEAD = ("run", "strike", "at", "took s", "verdicts", "restored", "felt", "judged")
SUMMARY = ("strike", "runs", "felt", "taken well")
RECOVERY_S = 420.0
"""Time in s that a strike may cost: a whole recovery of each server, one after the other."""
ENDS_WITHIN_S = 120.0
"""A run that is asked to end puts the bench back in this time."""
ROLES = ("dut", "peer")
_CONSOLE = "(timeout 60 yes babble > /dev/console &) < /dev/null > /dev/null 2>&1"
_FILL = "dd if=/dev/zero of=/var/tmp/campaign-fill bs=1M > /dev/null 2>&1; true"
_DROP = "pkill -KILL -f 'sshd: root' ; true"
_KILL_SSHD = "systemctl stop ssh.socket ssh.service sshd.service 2> /dev/null; pkill -KILL sshd; true"


class Processes(Enum):
    """The processes of a run that get a signal; a pipeline that ends signals all of them."""

    BOTH = "both"
    NICLAB = "niclab"
    ROBOT = "Robot"


@dataclass(frozen=True)
class Strike:
    """The damage of a strike, and its mend. ``vbench``: arguments; ``shell``: a command on the server ``role``.

    ``culprit``: a pattern that one message must hold, if anything is red. ``must_show``: such a run cannot be clean.
    ``moment``: part of the time of a sound run, 0 to 1. ``first``: strikes before the run begins. ``to``: the processes
    that get the signals.
    """

    name: str
    culprit: str
    role: str = ""
    vbench: tuple[str, ...] = ()
    shell: str = ""
    mend: str = ""
    signals: tuple[int, ...] = ()
    part: str = ""
    secret: str = ""
    fills_results: bool = False
    second_run: bool = False
    must_show: bool = False
    moment: float = 0.0
    first: bool = False
    to: Processes = Processes.BOTH

    def __str__(self) -> str:
        return f"{self.name} {self.role}".strip()


def fault(target: str, setting: str) -> tuple[str, ...]:
    """Arguments of vbench that inject a fault."""
    return ("fault", "set", target, setting)


def strikes() -> list[Strike]:
    """Every strike, once for each server where it is one of a server."""
    found = []
    for role in ROLES:
        on = partial(Strike, role=role)
        found += [
            on("server killed", role, part=f"qemu-{role}", must_show=True),
            on("server frozen", role, vbench=fault(f"server:{role}", "frozen"), must_show=True),
            on("SSH dropped", role, shell=_DROP),
            on("sshd killed", role, shell=_KILL_SSHD, must_show=True),
            on("disk full", rf"{role}|No space", shell=_FILL, mend="rm -f /var/tmp/campaign-fill"),
            on("clock jumps", rf"{role}|clock", shell="date -s '+1 day' > /dev/null", mend="hwclock -s || true"),
            on("BMC dead", f"{role} BMC", vbench=fault(f"bmc:{role}", "drop")),
            on("BMC slow", f"{role} BMC", vbench=fault(f"bmc:{role}", "delay_s=20")),
            on("console babbles", rf"{role}", shell=_CONSOLE),
        ]
    return [
        *found,
        Strike("consoles dead", "console", part="consoles"),
        Strike("BMC wrong password", "BMC", secret="VBENCH_BMC_PASSWORD", must_show=True, first=True),
        Strike("switch agent dead", "sw|switch|port", vbench=fault("switch:", "agent_dead")),
        Strike("switch agent slow", "sw|switch|port", vbench=fault("switch:", "agent_slow_s=5")),
        Strike("switch reboots", "sw|switch|port", vbench=fault("switch:", "reboot_s=20")),
        Strike("results disk full", "No space|cannot be written", fills_results=True, must_show=True),
        Strike("SIGINT", "", signals=(signal.SIGINT,), must_show=True),
        Strike("SIGTERM", "", signals=(signal.SIGTERM,), must_show=True),
        Strike("SIGTERM twice", "", signals=(signal.SIGTERM, signal.SIGTERM), must_show=True),
        Strike("SIGKILL", "", signals=(signal.SIGKILL,), must_show=True),
        Strike("SIGKILL niclab alone", "", signals=(signal.SIGKILL,), must_show=True, to=Processes.NICLAB),
        Strike("SIGKILL Robot alone", "", signals=(signal.SIGKILL,), must_show=True, to=Processes.ROBOT),
        Strike("second run", "in use", second_run=True),
    ]


def plan(seed: int, runs: int) -> list[Strike]:
    """Draw the strikes of a campaign: each kind as often as any other, give or take one, in random order."""
    chance, every = random.Random(seed), strikes()
    drawn = list[Strike]()
    while len(drawn) < runs:
        drawn += chance.sample(every, len(every))
    drawn = drawn[:runs]
    chance.shuffle(drawn)
    return [each if each.first else replace(each, moment=chance.uniform(0.05, 0.9)) for each in drawn]


@dataclass
class Met:
    """One run with its strike."""

    strike: Strike
    outcome: Outcome
    limit_s: float
    restored: str = ""
    """Reason why the bench is not as before; empty when it is."""
    second: str = ""
    """Output of a second run."""
    usual: frozenset[str] = frozenset()
    """Warnings of a sound run."""

    @property
    def felt(self) -> bool:
        """Does the run show its strike: no certificate, something red or unclean, a refusal, or a new warning?"""
        warned = set(self.outcome.warnings) - self.usual
        return not self.outcome.is_clean or bool(warned) or bool(self.second)


def judge(met: Met) -> list[str]:
    """Return the mistakes of a run that took its strike; none when it took it well."""
    strike, outcome, problems = met.strike, met.outcome, list[str]()
    charged = [name for name in outcome.red if outcome.verdicts[name] == "card-failure"]
    if charged:
        problems.append(f"charged to the card: {', '.join(charged)}")
    if strike.must_show and outcome.is_clean:
        problems.append("a false pass")
    if outcome.seconds > met.limit_s:
        problems.append(f"took {outcome.seconds:.0f} s; expected at most {met.limit_s:.0f} s")
    if met.restored:
        problems.append(f"the bench is not as before: {met.restored}")
    whole = signal.SIGKILL not in strike.signals and not strike.fills_results
    if whole and not outcome.verdicts and not strike.second_run:
        problems.append(f"no certificate (status {outcome.status})")
    lost = [each for each in outcome.reasons if each.startswith("Evidence ") or "is not whole" in each]
    if whole and lost:
        problems.append(f"evidence is not complete: {'; '.join(lost)}")
    said = "\n".join([*(outcome.messages.get(name, "") for name in outcome.red), *outcome.reasons])
    if strike.culprit and outcome.red and not re.search(strike.culprit, said):
        problems.append(f"no message names the culprit ({strike.culprit})")
    if strike.second_run and not re.search(strike.culprit, met.second):
        problems.append(f"the second run was not refused by name: {met.second.strip()[-120:]!r}")
    return problems


def row(number: int, met: Met) -> tuple[str, ...]:
    """The line of one run."""
    at, took = f"{met.strike.moment:.2f}", f"{met.outcome.seconds:.0f}"
    judged = "; ".join(judge(met)) or "well"
    restored, felt = met.restored or "equal", "yes" if met.felt else "no"
    return (str(number), str(met.strike), at, took, nightly.counts(met.outcome), restored, felt, judged)


def summary(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Count the runs of each strike, those that felt it and those that took it well; ``rows`` are of :func:`row`."""
    strike, felt, judged = (HEAD.index(name) for name in ("strike", "felt", "judged"))
    found = []
    for name in sorted({each[strike] for each in rows}):
        mine = [each for each in rows if each[strike] == name]
        counts = (len(mine), sum(each[felt] == "yes" for each in mine), sum(each[judged] == "well" for each in mine))
        found.append((name, *map(str, counts)))
    return found


class Field:
    """Carries strikes out on a bench."""

    def __init__(self, bench: Nightly) -> None:
        self._bench = bench
        self._layout = slots.bench(bench.name)

    def strike(self, strike: Strike, run: subprocess.Popen[bytes] | None) -> tuple[Callable[[], object], str]:
        """Break what is to be broken; return how it is mended, and what a second run said.

        ``run``: None before it begins.
        """
        bench, mend = self._bench, list[Callable[[], object]]()
        second = ""
        if strike.vbench:
            bench.vbench(*strike.vbench)
        if strike.shell:
            bench.vbench("ssh", strike.role, strike.shell, check=False)
            if strike.mend:
                mend.append(lambda: bench.vbench("ssh", strike.role, strike.mend, check=False))
        for pid in parts.running(self._layout).get(strike.part, []):
            process.send(pid, signal.SIGKILL)
        if strike.secret:
            mend.append(self._wrong_secret(strike.secret))
        if strike.fills_results:
            mend.append(self._fill_results())
        for number in strike.signals if run else ():
            for each in pids(run.pid, strike.to):
                send(each, number)
        if strike.second_run:
            other = bench.certify()
            try:
                other.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                for each in (*children(other.pid), other.pid):
                    send(each, signal.SIGKILL)
                other.wait()
            second = (bench.results / f"{bench.name}.log").read_text(errors="replace")[-4000:]
        return lambda: [each() for each in mend], second

    def _wrong_secret(self, name: str) -> Callable[[], object]:
        file = self._layout.folder / "secrets.env"
        right = file.read_text()
        file.write_text(re.sub(rf"^{name}=.*$", f"{name}=wrong-for-a-while", right, flags=re.MULTILINE))
        return lambda: file.write_text(right)

    def _fill_results(self) -> Callable[[], object]:
        """The results are a small file system of their own; a file takes all that is left."""
        filler = self._bench.results / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
            except OSError:
                pass
        return lambda: filler.unlink(missing_ok=True)


def children(pid: int) -> list[int]:
    """The processes that a process has started and that still run."""
    file = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def pids(niclab: int, which: Processes) -> list[int]:
    """The processes of a run that a signal is for."""
    robots = [] if which is Processes.NICLAB else children(niclab)
    return robots if which is Processes.ROBOT else [niclab, *robots]


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def one(bench: Nightly, scene: Field, strike: Strike, sound: Outcome) -> Met:
    """One run with its strike, mended and restored."""
    before, start = bench.folders(), time.monotonic()
    limit_s = sound.seconds + RECOVERY_S
    mend: Callable[[], object] = lambda: None  # noqa: E731 - until something is broken
    second = ""
    if strike.first:
        mend, second = scene.strike(strike, None)
    run = bench.certify()
    try:
        run.wait(strike.moment * sound.seconds)
    except subprocess.TimeoutExpired:
        if not strike.first:
            mend, second = scene.strike(strike, run)
    struck = time.monotonic() - start
    if strike.signals:
        limit_s = struck + ENDS_WITHIN_S
    try:
        status = run.wait(max(1.0, limit_s + 60 - struck))
    except subprocess.TimeoutExpired:
        for each in (*children(run.pid), run.pid):
            send(each, signal.SIGKILL)
        status = run.wait()
    outcome = nightly.outcome_of(status, time.monotonic() - start, bench.newest(before))
    mend()
    bench.vbench("up", check=False)
    bench.vbench("fault", "clear")
    restored = nightly.restored_equal(*bench.restore())
    return Met(strike, outcome, limit_s, restored, second, frozenset(sound.warnings))


@contextlib.contextmanager
def small_results(results: Path) -> Iterator[None]:
    """Make the results a file system of 512 MiB, which a strike can fill; at the end they are in the folder itself.

    Raises:
        SystemExit: When this user may not mount one.
    """
    results.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", str(results)], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{results}: no file system of its own can be mounted there: {done.stderr}")
    try:
        yield
    finally:
        kept = Path(tempfile.mkdtemp(dir=results.parent))
        shutil.copytree(results, kept, symlinks=True, dirs_exist_ok=True)
        subprocess.run(["umount", str(results)], check=True)
        shutil.copytree(kept, results, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(kept)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; 0 when every run took its strike well."""
    parser = argparse.ArgumentParser(description="Break the bench at random moments.")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strike", help="only strikes whose name has these words")
    nightly.options_of(parser, "campaign", SUITES)
    options = parser.parse_args(arguments)
    planned = plan(options.seed, options.runs if not options.strike else 100 * len(strikes()))
    planned = [each for each in planned if not options.strike or options.strike in str(each)][: options.runs]
    fills = any(each.fills_results for each in planned)
    bench = Nightly(options.name, options.card, options.suite or SUITES, options.results)
    rows = []
    with small_results(options.results) if fills else contextlib.nullcontext(), bench.up():
        sound = bench.whole_run()
        print(f"a sound run: {sound.seconds:.0f} s, {nightly.counts(sound)}", flush=True)
        if not sound.is_clean:
            raise SystemExit(f"the bench is not sound: {sound.reasons}")
        scene = Field(bench)
        for number, strike in enumerate(planned, 1):
            rows.append(row(number, one(bench, scene, strike, sound)))
            print(*rows[-1], sep="  ", flush=True)
    print(nightly.table([HEAD, *rows]))
    print(nightly.table([SUMMARY, *summary(rows)]))
    well = sum(each[-1] == "well" for each in rows)
    print(f"{well} of {len(rows)} strikes taken well (seed {options.seed})")
    return 0 if well == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
