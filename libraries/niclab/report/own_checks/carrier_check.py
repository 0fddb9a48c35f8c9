"""Changes of carrier over the whole run that nobody has brought about, as an own check on the certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.report import read_json_object, write_json
from niclab.report.allure.allure_results import TestRecord, check_of_run
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER

FILE = "carrier.json"
"""File of the evidence."""
FORMAT = 3
CHECK = "Carrier over the whole run"
WANTED_SHARE = 0.3
"""The part of the run that is to be watched: where it is less, nothing but a flap is judged, and the certificate
says so. Of a quick run 43 % were with an emulated 82574L, 33 % with an emulated SFN5122F."""


class Unwatched(Enum):
    """The reasons for which a change would not have been seen, or not have been unexpected."""

    TOUCHED = "links were touched"
    BOOTED = "a server booted"
    REMADE = "the interface was made again, or is not there"
    KILLED = "the run was killed, and not continued yet"
    UNSAID = "links were touched, and the driver did not say of every return when it came"


@dataclass
class KeptPort:
    """The account of a port.

    Attributes:
        watched_s: Seconds in which a change would have been unexpected.
        on_purpose: Changes of carrier at other times.
        unexpected: Changes that nobody has brought about.
        unwatched_s: The other seconds, by reason.
    """

    watched_s: float = 0.0
    on_purpose: int = 0
    unexpected: int = 0
    unwatched_s: dict[Unwatched, float] = field(default_factory=dict)

    def add(self, watched_s: float, unwatched_s: float, why: Unwatched) -> None:
        """Add a time between two looks.

        Args:
            watched_s: Seconds of it that were watched.
            unwatched_s: The others.
            why: Why they were not.
        """
        self.watched_s += watched_s
        if unwatched_s > 0:
            self.unwatched_s[why] = self.unwatched_s.get(why, 0.0) + unwatched_s

    @property
    def seconds(self) -> float:
        """All its seconds."""
        return self.watched_s + sum(self.unwatched_s.values())

    def __str__(self) -> str:
        others = ", ".join(f"{seconds:.0f} s {why.value}" for why, seconds in self.unwatched_s.items())
        counted = f"{self.on_purpose} changes on purpose, {self.unexpected} not"
        text = f"{self.watched_s:.0f} s of {self.seconds:.0f} s watched; {counted}"
        return f"{text}; not watched: {others}" if others else text


@dataclass(frozen=True)
class KeptCarrier:
    """The record of a run.

    Attributes:
        ports: Name of a port -> its account.
        not_counted: Name of a port of which nothing is counted -> why.
        findings: Each begins with the name of its verdict.
        began: When the watch began, in the first part of a run that was killed.
    """

    ports: Mapping[str, KeptPort]
    not_counted: Mapping[str, str]
    findings: Sequence[str]
    began: datetime

    @property
    def share(self) -> float:
        """The part of the run that was watched, on average of all ports; a port that is not counted has none."""
        seconds = max((each.seconds for each in self.ports.values()), default=0.0)
        watched_s = sum(each.watched_s for each in self.ports.values())
        return watched_s / (seconds * (len(self.ports) + len(self.not_counted))) if seconds else 0.0

    def __str__(self) -> str:
        share = f"{100 * self.share:.0f} % of the run was watched"
        if self.share >= WANTED_SHARE:
            return share
        wanted = f"{100 * WANTED_SHARE:.0f} %"
        return f"{share}; expected at least {wanted}: a link that flapped in the rest is not seen"

    def lines(self) -> tuple[str, ...]:
        """Say of each port how long it was watched, and what it counted."""
        counted = tuple(f"{name}: {each}" for name, each in self.ports.items())
        return (*counted, *(f"{name}: not watched: {why}" for name, why in self.not_counted.items()))


def keep_carrier(evidence: Path, kept: KeptCarrier) -> None:
    """Write what is known so far.

    Args:
        evidence: The evidence folder of the run.
        kept: What is known.

    Raises:
        BenchFault: It cannot be written.
    """
    ports = {
        name: {
            "watched_s": round(each.watched_s, 1),
            "on_purpose": each.on_purpose,
            "unexpected": each.unexpected,
            "unwatched_s": {why.value: round(seconds, 1) for why, seconds in each.unwatched_s.items()},
        }
        for name, each in kept.ports.items()
    }
    content = {"format": FORMAT, "began": kept.began.isoformat(), "ports": ports, "not_counted": kept.not_counted}
    write_json(evidence / FILE, {**content, "findings": kept.findings})


def carrier_check(run_dir: Path) -> TestRecord | None:
    """Judge the changes of carrier of a run; None where too little was watched to say that there were none.

    Args:
        run_dir: Folder of the run.

    Returns:
        The check: passed, with how much of the run was watched, or with the worst verdict of all findings.
    """
    try:
        kept = kept_carrier(run_dir)
    except BenchFault as fault:
        return check_of_run(CHECK, [f"{BenchFault.__name__}: {fault}"])
    if kept is None or not (kept.share >= WANTED_SHARE or kept.findings):
        return None
    found = check_of_run(CHECK, kept.findings)
    return found if kept.findings else replace(found, message=str(kept))


def kept_carrier(run_dir: Path) -> KeptCarrier | None:
    """Read what was kept of a run; None where nothing was.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: It cannot be read.
    """
    file = run_dir / EVIDENCE_FOLDER / FILE
    if not file.exists():
        return None
    content = read_json_object(file)
    try:
        if content["format"] != FORMAT:
            raise BenchFault(f"{file}: format {content['format']!r}; expected {FORMAT}")
        ports = {
            str(name): KeptPort(
                float(each["watched_s"]),
                int(each["on_purpose"]),
                int(each["unexpected"]),
                {Unwatched(why): float(seconds) for why, seconds in each["unwatched_s"].items()},
            )
            for name, each in content["ports"].items()
        }
        began = datetime.fromisoformat(content["began"])
        return KeptCarrier(ports, dict(content["not_counted"]), tuple(map(str, content["findings"])), began)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BenchFault(f"{file}: is no record of carriers: {error}; expected ports and findings") from error
