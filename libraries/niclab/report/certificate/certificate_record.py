"""The published form of ``certificate.json``; its JSON Schema is ``lab/schema/certificate.schema.json``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Verdicts = Literal["pass", "card-failure", "bench-fault", "not-applicable", "undecided"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CertifiedTest(_Part):
    """One test. ``requirements``: what it decides; ``waiver``: what covers its failure; ``evidence``: its files."""

    name: str
    verdict: Verdicts
    message: str
    requirements: list[str]
    seconds: float
    waiver: str | None
    evidence: list[str]


Statuses = Literal["verified", "verified in part", "failed", "undecided", "not applicable", "not tested"]


class CertifiedPart(_Part):
    """One part of a requirement. ``asked``: how many of the tests that decide it were applicable."""

    id: str
    title: str
    status: Statuses
    reason: str
    tests: list[str]
    asked: int


class CertifiedRequirement(_Part):
    """One requirement; verified when each of its parts is. One without parts is its own only part."""

    id: str
    title: str
    source: str
    status: Statuses
    reason: str
    parts: list[CertifiedPart]


class CertifiedFigure(_Part):
    """One figure. ``low`` to ``high`` is the interval, ``at_least`` and ``at_most`` are limits, all in ``unit``.

    ``runs``: how many runs of traffic it is of, 0 where it is of none.
    """

    kind: Literal["throughput", "traffic", "failover", "carrier", "cause", "pcie"]
    subject: str
    found: str
    expected: str
    source: str
    outcome: Literal["met", "missed", "undecided"]
    unit: str
    value: float | None
    low: float | None
    high: float | None
    at_least: float | None
    at_most: float | None
    runs: int
    ended: float
    test: str


class CertifiedRemark(_Part):
    """A circumstance that no test judges."""

    about: str
    text: str
    details: list[str]


class CertifiedWaiver(_Part):
    """A waiver of the card. ``tests``: whose failures it covers in this run."""

    waiver: str
    covers: str
    reason: str
    owner: str
    expires: str
    tests: list[str]


class CertifiedControls(_Part):
    """The newest run of the negative controls: ``found`` of ``run`` found the defect that they injected."""

    when: str
    commit: str
    run: int
    found: int
    missed: list[str]


class CertificateRecord(_Part):
    """The whole file. What a run did not record is null or empty, and a reason where the verdict needs it."""

    format: Literal[5]
    verdict: Literal["CERTIFIED", "CERTIFIED WITH WAIVERS", "NOT CERTIFIED"]
    reasons: list[str]
    card: str | None
    bench: str | None
    subject: str | None
    run: str | None
    started: str | None
    finished: str | None
    who: dict[str, str] | None
    git: dict[str, str | bool] | None
    issued: str
    facts: dict[str, str]
    versions: dict[str, str]
    command_line: list[str] | None
    robot_rc: int
    expected_tests: int | None
    inputs: dict[str, str]
    identity: dict[str, str | int | list[str] | None] = Field(description="The card, by its sheet.")
    equipment: dict[str, object] = Field(
        description="Servers with their ports, paths, and switch, by the bench file; software as the servers say it."
    )
    figures: list[CertifiedFigure]
    charts: list[str] = Field(description="Files of the evidence.")
    counts: dict[Verdicts, int]
    tests: list[CertifiedTest]
    waivers: list[CertifiedWaiver]
    controls: CertifiedControls | None
    plan: str | None
    scope: str
    requirements: list[CertifiedRequirement]
    lab_counts: dict[Verdicts, int]
    timing: dict[str, object] | None
    remarks: list[CertifiedRemark]
    sha256: dict[str, str | None]
