"""The requirements that every certificate lists: ``lab/requirements.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints

from niclab.files.repository import REPOSITORY
from niclab.files.types import Record, Text, Wanted
from niclab.files.yaml import Problem, Sheet, load

REQUIREMENTS_FILE = REPOSITORY / "lab" / "requirements.yaml"

DocumentId = Annotated[
    str, StringConstraints(pattern=r"^[A-Z]{3,4}$"), Wanted("three or four capital letters, like EMX")
]
RequirementId = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3,4}-[0-9]{2}$"), Wanted("an id like EMX-03")]


class SourceDocument(Record):
    """A document that requirements come from."""

    title: Text
    issued: Text


class About(StrEnum):
    """What a requirement is about."""

    CARD = "card"
    LAB = "lab"


class Requirement(Record):
    """One requirement: what must hold, and where the document says so (a section, table or case).

    ``about``: whether it is required of the card, or of the lab that tests it.
    """

    title: Text
    place: Text
    about: Annotated[About, Wanted("card or lab")] = About.CARD


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

    def problems(self) -> Iterator[Problem]:
        """Yield each requirement whose document is not described."""
        for requirement in self.requirements:
            document = requirement.partition("-")[0]
            if document not in self.documents:
                known = ", ".join(self.documents)
                yield Problem(("requirements", requirement), f"there is no document {document}", f"one of {known}")


def load_requirements(file: Path = REQUIREMENTS_FILE) -> Requirements:
    """Read the requirements.

    Args:
        file: The YAML file.

    Returns:
        The requirements in the order of the file.

    Raises:
        BenchFault: The file is missing or wrong; every problem, one a line.
    """
    return load(file, Requirements)
