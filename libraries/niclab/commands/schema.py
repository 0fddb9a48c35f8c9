"""The generated files of ``lab/schema``: JSON Schemas of the typed records, and documentation of requirement tags.

Editors complete and check bench files, card sheets, plans, requirements, switch models and waivers with the schemas;
another schema is the form of ``certificate.json``. Robot Framework shows what a requirement is with
``robot --argumentfile lab/schema/tagdoc.args suites/``, as ``niclab certify`` does.
``python -m niclab.commands.schema`` writes all of them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from niclab.bench.records import Bench
from niclab.card import Card
from niclab.files.document import shown_file
from niclab.files.repository import REPOSITORY
from niclab.files.yaml import Sheet
from niclab.report.certificate.certificate_record import CertificateRecord
from niclab.scope.plan import Plan
from niclab.scope.requirements import Requirements, load_requirements
from niclab.scope.waivers import Waiver
from niclab.switch.model import SwitchModel

SCHEMAS: dict[str, type[Sheet]] = {
    "bench.schema.json": Bench,
    "card.schema.json": Card,
    "plan.schema.json": Plan,
    "requirements.schema.json": Requirements,
    "switch.schema.json": SwitchModel,
    "waiver.schema.json": Waiver,
}
DIRECTORY = REPOSITORY / "lab" / "schema"
CERTIFICATE_SCHEMA = "certificate.schema.json"
TAG_DOCUMENTATION = "tagdoc.args"


class _WithoutNull(GenerateJsonSchema):
    """An optional key is left out; its value is never null (:mod:`niclab.files.yaml` refuses an empty value)."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default", self) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def render(model: type[Sheet]) -> str:
    """The JSON Schema (draft 2020-12) of a sheet, as the text of its file."""
    return _text(model.model_json_schema(schema_generator=_WithoutNull))


def _text(schema: JsonSchemaValue) -> str:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def tag_documentation(requirements: Requirements) -> str:
    """Return an argument file by which log and report say what each part of a requirement is.

    Args:
        requirements: All requirements.

    Returns:
        ``--tagdoc`` and its value, one a line. The colon of a tag would end the pattern; ``?`` matches it.
    """
    return "".join(
        f"--tagdoc req?{name}:{part.title} ({requirements.source(requirement)})\n"
        for requirement in requirements.requirements
        for name, part in requirements.parts(requirement).items()
    )


def generated(directory: Path = DIRECTORY) -> dict[Path, str]:
    """Return the text of every file that is generated.

    Args:
        directory: Folder of the files.
    """
    schemas = {directory / name: render(model) for name, model in SCHEMAS.items()}
    schemas[directory / CERTIFICATE_SCHEMA] = _text(CertificateRecord.model_json_schema())
    return {**schemas, directory / TAG_DOCUMENTATION: tag_documentation(load_requirements())}


def stale(directory: Path = DIRECTORY) -> list[Path]:
    """The files that are missing or differ from the records."""
    files = generated(directory)
    return [file for file, text in files.items() if not file.is_file() or file.read_text(encoding="utf-8") != text]


def write(directory: Path = DIRECTORY) -> list[Path]:
    """Write the files that are stale, and return them."""
    files, texts = stale(directory), generated(directory)
    for file in files:
        file.write_text(texts[file], encoding="utf-8")
    return files


def main() -> int:
    """Write, and say what was written."""
    for file in write():
        sys.stdout.write(f"wrote {shown_file(file)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
