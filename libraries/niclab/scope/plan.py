"""Plans: which parts of requirements a certificate must decide, and what may lack an answer. ``lab/plans/*.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault
from niclab.files.document import Problem, shown_file
from niclab.files.repository import REPOSITORY
from niclab.files.types import Name, Text, Wanted
from niclab.files.yaml import Sheet, load
from niclab.scope.requirements import PartId, RequirementPart, Requirements, load_requirements

PLANS = REPOSITORY / "lab" / "plans"


PLAN_OF_PROFILE = {Profile.QUICK: "quick", Profile.FULL: "qualification"}
"""The plan of a run for which nobody chose one."""


class Plan(Sheet):
    """A plan. A run that fulfils it verifies every part of ``requires``; a requirement means all of its parts.

    Parts that ``lab/requirements.yaml`` declares not covered are not demanded: the certificate says of each that no
    test decides it. ``not_asked`` groups parts that the plan leaves out, in words for the headline.
    ``may_be_not_applicable`` names required parts that a card or bench need not have, ``may_be_unknown`` those whose
    facts the sheet may call unknown; each with the reason that a reader of the certificate accepts.
    """

    plan: Name
    description: Text
    profile: Annotated[Profile, Wanted("quick or full")]
    requires: Annotated[tuple[PartId, ...], Field(min_length=1)]
    not_asked: Mapping[Text, Annotated[tuple[PartId, ...], Field(min_length=1)]] = {}
    may_be_not_applicable: Mapping[PartId, Text] = {}
    may_be_unknown: Mapping[PartId, Text] = {}

    def parts(self, requirements: Requirements) -> list[str]:
        """Return the ids of the required parts that tests can decide.

        Args:
            requirements: All requirements of the lab.
        """
        return [name for name, part in _chosen(requirements, self.requires).items() if not part.not_covered]

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong across fields: unknown or doubled parts, exceptions for what is not required."""
        requirements = load_requirements()
        if self.plan != self.file.stem:
            yield Problem(("plan",), f"{self.plan} is not the name of the file", self.file.stem)
        seen = set[str]()
        fields = [
            ("requires", self.requires),
            *((f"not_asked.{words}", names) for words, names in self.not_asked.items()),
        ]
        for field, names in fields:
            for place, name in enumerate(names):
                chosen = set(requirements.chosen(name))
                if not chosen:
                    yield Problem((field, place), name, "a requirement of lab/requirements.yaml, or a part of one")
                elif chosen & seen:
                    yield Problem((field, place), f"{name} again", "each part once")
                seen |= chosen
        required = set(_chosen(requirements, self.requires))
        for field in ("may_be_not_applicable", "may_be_unknown"):
            for name in getattr(self, field):
                if not set(requirements.chosen(name)) & required:
                    yield Problem((field, name), name, "a requirement of requires, or a part of one")

    def may_be_without(self, part: str, allowances: Mapping[str, str]) -> bool:
        """Return whether an allowance names a part, or the requirement that it belongs to.

        Args:
            part: Id of the part.
            allowances: ``may_be_not_applicable`` or ``may_be_unknown``.
        """
        return part in allowances or part.partition("/")[0] in allowances


def _chosen(requirements: Requirements, names: Iterable[str]) -> Mapping[str, RequirementPart]:
    return {part: each for name in names for part, each in requirements.chosen(name).items()}


def load_plan(name: str, directory: Path = PLANS) -> Plan:
    """Read a plan.

    Args:
        name: Name of the plan, that of its file without ``.yaml``; or the path of a file that ends so.
        directory: Folder of the plans.

    Returns:
        The plan.

    Raises:
        BenchFault: There is no such plan (the message names those there are), or the file is wrong.
    """
    if name.endswith(".yaml"):
        return load(Path(name), Plan, Plan.problems)
    file = directory / f"{name}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(each.stem for each in directory.glob("*.yaml"))) or "none yet"
        raise BenchFault(f"{shown_file(file)}: no such plan; expected one of {known}")
    return load(file, Plan, Plan.problems)
