"""The requirements that every certificate lists, and their parts: ``lab/requirements.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints

from niclab.files.document import Problem
from niclab.files.repository import REPOSITORY
from niclab.files.types import Record, Text, Wanted
from niclab.files.yaml import Sheet, load

REQUIREMENTS_FILE = REPOSITORY / "lab" / "requirements.yaml"

DocumentId = Annotated[
    str, StringConstraints(pattern=r"^[A-Z]{3,4}$"), Wanted("three or four capital letters, like EMX")
]
RequirementId = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3,4}-[0-9]{2}$"), Wanted("an id like EMX-03")]
PartName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$"),
    Wanted("lower-case words joined by -, like power-cycle"),
]
PartId = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Z]{3,4}-[0-9]{2}(/[a-z0-9]+(-[a-z0-9]+)*)?$"),
    Wanted("a requirement, like EMX-01, or a part of one, like CARD-02/update"),
]


class SourceDocument(Record):
    """A document that requirements come from."""

    title: Text
    issued: Text


class About(StrEnum):
    """The subject of a requirement."""

    CARD = "card"
    LAB = "lab"


class RequirementPart(Record):
    """The part of a requirement that one or more tests decide.

    ``not_covered``: why no test decides it. ``of_sheet``: the effects that a card's sheet predicts decide it.
    ``alternatives``: one of its tests suffices, as each is for another kind of card.
    """

    title: Text
    not_covered: Text | None = None
    of_sheet: bool = False
    alternatives: bool = False


class Requirement(RequirementPart):
    """One requirement: what must hold, and where the document says so (a section, table or case).

    ``about``: whether it is required of the card, or of the lab that tests it. ``parts``: what it consists of; without
    parts it is its own and only one.
    """

    place: Text
    about: Annotated[About, Wanted("card or lab")] = About.CARD
    parts: Mapping[PartName, RequirementPart] = {}


class Requirements(Sheet):
    """Every requirement by its id; the letters of an id name its document."""

    documents: Mapping[DocumentId, SourceDocument]
    requirements: Mapping[RequirementId, Requirement]

    def source(self, requirement: str) -> str:
        """Return where a requirement comes from: title of the document, and the place in it.

        Args:
            requirement: Id of a requirement of this file.
        """
        document = self.documents[requirement.partition("-")[0]]
        return f"{document.title} ({document.issued}), {self.requirements[requirement].place}"

    def parts(self, requirement: str) -> dict[str, RequirementPart]:
        """Return the parts of a requirement by their ids; one without parts is its own.

        Args:
            requirement: Id of a requirement of this file.
        """
        whole = self.requirements[requirement]
        return {f"{requirement}/{name}": part for name, part in whole.parts.items()} or {requirement: whole}

    def every_part(self) -> dict[str, RequirementPart]:
        """Return all parts of all requirements by their ids, in the order of the file."""
        return {name: part for requirement in self.requirements for name, part in self.parts(requirement).items()}

    def chosen(self, name: str) -> dict[str, RequirementPart]:
        """Return the parts that a name means: one part, all parts of a requirement, or none if it is unknown.

        Args:
            name: Id of a requirement or of a part.
        """
        if name in self.requirements:
            return self.parts(name)
        found = self.every_part().get(name)
        return {name: found} if found else {}

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong across fields: unknown documents, and fields that exclude each other."""
        for requirement, whole in self.requirements.items():
            document = requirement.partition("-")[0]
            if document not in self.documents:
                known = ", ".join(self.documents)
                yield Problem(("requirements", requirement), f"there is no document {document}", f"one of {known}")
            for field in ("not_covered", "of_sheet", "alternatives"):
                if whole.parts and getattr(whole, field):
                    yield Problem(("requirements", requirement, field), "the requirement has parts", "in one of them")
            for name, part in self.parts(requirement).items():
                if part.not_covered and (part.of_sheet or part.alternatives):
                    place = ("requirements", requirement, *(("parts", name.partition("/")[2]) if whole.parts else ()))
                    yield Problem(place, "not_covered with of_sheet or alternatives", "not_covered alone")


def load_requirements(file: Path = REQUIREMENTS_FILE) -> Requirements:
    """Read the requirements.

    Args:
        file: The YAML file.

    Returns:
        The requirements in the order of the file.

    Raises:
        BenchFault: The file is missing or wrong; every problem, one a line.
    """
    return load(file, Requirements, Requirements.problems)
