"""The JSON Schemas in the repository are those of the records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from niclab.bench.records import Bench
from niclab.card import Card
from niclab.commands import schema


def test_the_schemas_of_the_repository_are_fresh() -> None:
    assert schema.stale() == [], "run: python -m niclab.commands.schema"


def test_stale_and_missing_schemas_are_seen_and_written(tmp_path: Path) -> None:
    assert schema.write(tmp_path) == [
        tmp_path / name for name in (*schema.SCHEMAS, schema.CERTIFICATE_SCHEMA, schema.TAG_DOCUMENTATION)
    ]
    assert schema.stale(tmp_path) == []
    (tmp_path / "card.schema.json").write_text("{}\n")
    (tmp_path / "bench.schema.json").unlink()
    assert schema.stale(tmp_path) == [tmp_path / "bench.schema.json", tmp_path / "card.schema.json"]


def test_schemas_refuse_unknown_keys_and_null_and_carry_help() -> None:
    for model in (Bench, Card):
        text = schema.render(model)
        described = json.loads(text)
        sections = [described, *(part for part in described["$defs"].values() if part["type"] == "object")]
        assert all(section["additionalProperties"] is False for section in sections)
        assert '"null"' not in text
    port = json.loads(schema.render(Bench))["$defs"]["Ssh"]["properties"]["port"]
    assert (port["minimum"], port["maximum"], port["description"]) == (1, 65535, "a TCP port 1..65535")


def test_the_command_says_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schema, "write", lambda: [tmp_path / "card.schema.json"])
    assert schema.main() == 0
    assert capsys.readouterr().out == f"wrote {tmp_path}/card.schema.json\n"
