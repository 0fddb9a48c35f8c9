"""JSON Schemas of bench files, card sheets, plans, requirements and switch models, generated from the typed records.

Editors complete and check with them; ``python -m niclab.commands.schema`` writes them to ``lab/schema``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from niclab.bench.records import Bench
from niclab.card import Card
from niclab.files.repository import REPOSITORY
from niclab.files.yaml import Sheet, shown_file
from niclab.scope.plan import Plan
from niclab.scope.requirements import Requirements
from niclab.switch.model import SwitchModel

SCHEMAS: dict[str, type[Sheet]] = {
    "bench.schema.json": Bench,
    "card.schema.json": Card,
    "plan.schema.json": Plan,
    "requirements.schema.json": Requirements,
    "switch.schema.json": SwitchModel,
}
DIRECTORY = REPOSITORY / "lab" / "schema"


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
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(schema_generator=_WithoutNull),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def stale(directory: Path = DIRECTORY) -> list[Path]:
    """The schema files that are missing or differ from the records."""
    files = {directory / name: render(model) for name, model in SCHEMAS.items()}
    return [file for file, text in files.items() if not file.is_file() or file.read_text(encoding="utf-8") != text]


def write(directory: Path = DIRECTORY) -> list[Path]:
    """Write the schema files that are stale, and return them."""
    files = stale(directory)
    for file in files:
        file.write_text(render(SCHEMAS[file.name]), encoding="utf-8")
    return files


def main() -> int:
    """Write, and say what was written."""
    for file in write():
        sys.stdout.write(f"wrote {shown_file(file)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
