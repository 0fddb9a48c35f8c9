"""Plans: which requirements a certificate must decide, and what may be not applicable. ``lab/plans/*.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault
from niclab.files.repository import REPOSITORY
from niclab.files.types import Name, Text, Wanted
from niclab.files.yaml import Problem, Sheet, load, shown_file
from niclab.scope.requirements import Requirement, RequirementId, load_requirements

PLANS = REPOSITORY / "lab" / "plans"


PLAN_OF_PROFILE = {Profile.QUICK: "quick", Profile.FULL: "qualification"}
"""The plan of a run for which nobody chose one."""


class Plan(Sheet):
    """A plan. A run that fulfils it verifies every requirement of ``requires``.

    ``may_be_not_applicable`` names those of them that a card need not have, each with the reason that a reader of the
    certificate accepts.
    """

    plan: Name
    description: Text
    profile: Annotated[Profile, Wanted("quick or full")]
    requires: Annotated[tuple[RequirementId, ...], Field(min_length=1)]
    may_be_not_applicable: Mapping[RequirementId, Text] = {}

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong across fields: unknown or doubled requirements, exceptions for what is not required."""
        known: Mapping[str, Requirement] = load_requirements().requirements
        if self.plan != self.file.stem:
            yield Problem(("plan",), f"{self.plan} is not the name of the file", self.file.stem)
        for place, requirement in enumerate(self.requires):
            if requirement not in known:
                yield Problem(("requires", place), requirement, "a requirement of lab/requirements.yaml")
            elif requirement in self.requires[:place]:
                yield Problem(("requires", place), f"{requirement} again", "each requirement once")
        for requirement in self.may_be_not_applicable:
            if requirement not in self.requires:
                yield Problem(("may_be_not_applicable", requirement), requirement, "a requirement of requires")


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
        return load(Path(name), Plan)
    file = directory / f"{name}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(each.stem for each in directory.glob("*.yaml"))) or "none yet"
        raise BenchFault(f"{shown_file(file)}: no such plan; expected one of {known}")
    return load(file, Plan)
