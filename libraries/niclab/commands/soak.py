"""Soaking a card: load for hours, and a live page of what drifts, breaks or flaps meanwhile."""

from __future__ import annotations

import html
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from niclab.bench.bench_file import load_bench
from niclab.bench.records import Role
from niclab.card import load_card
from niclab.core.abort import EndRequests, on_ending
from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.files.mask import MessageMask
from niclab.files.secrets import handed_out
from niclab.frames.soak.soak_series import drifts
from niclab.frames.soak.soaking import Finding, Soaked, soak
from niclab.links import wiring
from niclab.report import now, write_atomically, write_json
from niclab.report.evidence.runfolder import subject_of
from niclab.report.own_checks.all_checks import own_checks
from niclab.report.own_checks.carrier_check import carrier_check, kept_carrier
from niclab.report.pages.charts import ChartLine, LineChart, Point
from niclab.report.verdicts import Verdict
from niclab.run.acquiring import ready
from niclab.run.run import Run, acquire, release
from niclab.run.watching.hygiene import BenchHygiene
from niclab.run.watching.kernel_watch import KernelWatch

RECORD, PAGE = "soak.json", "soak.html"
FORMAT = 1
REFRESH_S = 10
"""The page of a soak that goes on loads itself again so often."""
_STATUS = {  # the gravest first
    CardFailure: ExitStatus.CARD_FAILURE,
    BenchFault: ExitStatus.BENCH_FAULT,
    Undecided: ExitStatus.UNDECIDED,
}
_OF_CHECK: Mapping[Verdict, type[CardFailure] | type[BenchFault] | type[Undecided]] = {
    Verdict.CARD_FAILURE: CardFailure,
    Verdict.BENCH_FAULT: BenchFault,
    Verdict.UNDECIDED: Undecided,
}
_MASK = MessageMask(handed_out)


@dataclass(frozen=True)
class SoakSubject:
    """The subject of a soak, as its page says it."""

    card: str
    bench: str
    subject: str
    begun: str


def run(
    bench_file: Path, card: str, hours: float, results: Path, systems: Mapping[Role, str] | None = None
) -> ExitStatus:
    """Soak a card on a bench, and leave the bench as it was found.

    Args:
        bench_file: The bench file.
        card: Name of the card's sheet, or its file.
        hours: How long; a part of an hour for a look.
        results: The folder of the soak is made in ``soaks`` there.
        systems: Systems of servers that are to run others than the bench file says, by name.

    Returns:
        CERTIFIED where nothing was wrong, else the status of what was; a soak makes no certificate.

    Raises:
        BenchFault: The bench cannot be taken or no cycle begins, or the length is none.
        NotApplicable: A server does not run Linux.
    """
    if not 0 < hours < float("inf"):
        raise BenchFault(f"niclab soak: --hours: {hours:g}; expected a number above 0")
    bench, sheet = load_bench(bench_file).with_systems(systems or {}), load_card(card)
    begun = datetime.now(UTC)
    folder = results / "soaks" / f"{begun:%Y%m%d-%H%M%S}-{sheet.name}-{bench.name}"
    folder.mkdir(parents=True)
    about = SoakSubject(sheet.name, bench.name, subject_of(bench.emulated), now())
    print(f"soaking {sheet.name} for {hours:g} h; live page: {folder / PAGE}", flush=True)
    soaked = Soaked(hours)
    ending = _Ending()
    with (
        _noted(soaked),
        on_ending(ending),
        _acquired(acquire(bench_file, sheet, folder, lambda: "soak", systems), ending) as taken,
        _noted(soaked),
    ):
        soak(taken, soaked, lambda: keep(folder, about, soaked, over=False), _say)
    soaked.events += _of_run(folder)
    keep(folder, about, soaked, over=True)
    found = soaked.findings()
    for each in found:
        print(_MASK(f"  {type(each).__name__}: {each}"), flush=True)
    status = next((status for kind, status in _STATUS.items() if any(isinstance(each, kind) for each in found)), None)
    said = "nothing was wrong" if status is None else status.name.lower().replace("_", " ")
    print(f"{len(soaked.cycles)} cycles: {said}: {folder}", flush=True)
    return ExitStatus.CERTIFIED if status is None else status


def _of_run(folder: Path) -> list[Finding]:
    """The checks of a run as a whole: the last look at both kernels, the bench that is left, and the carriers.

    Nobody touches a link in a soak, so that carriers that were not watched are none that stayed.
    """
    checks = [each for each in own_checks(folder) if each.verdict is not Verdict.PASS]
    found: list[Finding] = [_OF_CHECK[each.verdict](each.message) for each in checks]
    if carrier_check(folder) is None:
        found.append(Undecided(f"carrier: {kept_carrier(folder) or 'not watched'}"))
    return found


class SoakEnded(BaseException):
    """A signal ends the soak. As with ``KeyboardInterrupt``, nobody who goes on after a fault takes it for one."""


@dataclass
class _Ending:
    """A signal ends the soak, and the bench is put back. Only who insists ends that as well."""

    requests: EndRequests = field(default_factory=EndRequests)
    is_over: bool = False
    """The bench is being put back: a first signal changes nothing."""

    def __call__(self, number: int, _: FrameType | None) -> None:
        is_first = not self.requests.begun
        if self.requests.counts(number) and not (is_first and self.is_over):
            left = "; what it left changed: niclab restore" if self.is_over else ""
            raise SoakEnded(f"ended by {signal.Signals(number).name}; expected a soak that lasts its time{left}")


@contextmanager
def _noted(soaked: Soaked) -> Iterator[None]:
    """A fault ends the command while there is nothing to keep; later it hides nothing of what was found."""
    try:
        yield
    except (CardFailure, Undecided) as error:
        soaked.events.append(error)
    except BenchFault as fault:
        if not (soaked.cycles or soaked.events):
            raise
        soaked.events.append(fault)
    except SoakEnded as ended:
        soaked.events.append(BenchFault(str(ended)))


@contextmanager
def _acquired(taken: Run, ending: _Ending) -> Iterator[Run]:
    try:
        taken.part(BenchHygiene).begin()
        with taken.part(KernelWatch).beginning():
            ready.make_ready(taken, _say)
            for line in wiring.prove(taken):
                _say(line)
        taken.part(BenchHygiene).settle()
        yield taken
    finally:
        ending.is_over = True
        try:
            taken.part(BenchHygiene).finish()
        finally:
            release()


def keep(folder: Path, about: SoakSubject, soaked: Soaked, *, over: bool) -> None:
    """Write the record and the page of a soak so far.

    Args:
        folder: Folder of the soak.
        about: Its subject.
        soaked: What was measured, and what was wrong.
        over: The soak has ended; the page does not load itself again then.

    Raises:
        BenchFault: They cannot be written.
    """
    cycles = [
        {"at_s": each.at_s, "found": {str(m): value for m, value in each.found.items()}} for each in soaked.cycles
    ]
    said = [_MASK(f"{type(each).__name__}: {each}") for each in (soaked.findings() if over else soaked.events)]
    content = {"format": FORMAT, **asdict(about), "hours": soaked.hours, "over": over, "findings": said}
    write_json(folder / RECORD, {**content, "drifts": [str(each) for each in drifts(soaked.cycles)], "cycles": cycles})
    write_atomically(folder / PAGE, page(about, soaked, said, over=over), durable=over)


def page(about: SoakSubject, soaked: Soaked, said: list[str], *, over: bool) -> str:
    """Return the page of a soak.

    Args:
        about: Its subject.
        soaked: What was measured.
        said: What was wrong, in words.
        over: The soak has ended.
    """
    spent = soaked.cycles[-1].at_s / 3600 if soaked.cycles else 0.0
    state = f"{spent:.2f} of {soaked.hours:g} h, {len(soaked.cycles)} cycles; {'over' if over else 'running'}"
    wrong = "".join(f"<li>{html.escape(each)}</li>" for each in said) or "<li>Nothing so far.</li>"
    lines = "".join(f"<li>{html.escape(str(each))}</li>" for each in drifts(soaked.cycles))
    pictures = "\n".join(each.svg() for each in charts(soaked))
    refresh = "" if over else f'<meta http-equiv="refresh" content="{REFRESH_S}">'
    title = html.escape(f"Soak of {about.card} on {about.bench}")
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">{refresh}<title>{title}</title></head>
<body><h1>{title}</h1>
<p>{html.escape(about.subject)}; begun {about.begun}; {state}</p>
<h2>Wrong</h2><ul>{wrong}</ul>
<h2>Drifts</h2><ul>{lines}</ul>
{pictures}
</body></html>
"""


def charts(soaked: Soaked) -> list[LineChart]:
    """Return a chart of each figure against time.

    Args:
        soaked: What was measured.
    """
    measures = dict.fromkeys(measure for each in soaked.cycles for measure in each.found)
    made = []
    for measure in measures:
        at = [(each.at_s / 3600, each.found[measure]) for each in soaked.cycles if measure in each.found]
        line = ChartLine(measure.place, tuple(Point(hour, value, value, value) for hour, value in at))
        made.append(LineChart(str(measure), "", "hours", measure.quantity.value, (line,)))
    return made


def _say(text: str) -> None:
    print(_MASK(f"  {text}"), flush=True)
