"""The servers on a certificate run what the run was called with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from niclab.bench.records import OperatingSystem
from niclab.card import load_card
from niclab.card.card_file import CARDS
from niclab.files.repository import REPOSITORY
from niclab.report.certificate.certified_identity import bench_of, unknown_of
from niclab.report.certificate.unknown_facts import passed_over
from niclab.report.evidence.inputs import Input, keep_inputs
from niclab.report.evidence.runfolder import new_run
from niclab.report.pages.content_rows import subject_rows

CARD = "emulex-oce11102"
CERTIFICATE = dict.fromkeys(("card", "subject", "bench", "started", "finished", "who", "git", "run"), None) | {
    "facts": {},
    "versions": {},
}


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run on the bench of the repository, which boots debian13 and freebsd."""
    made = new_run(tmp_path, CARD, "virtual", command_line=[])
    files = {Input.BENCH: REPOSITORY / "lab/benches/virtual.yaml", Input.SHEET: REPOSITORY / f"lab/cards/{CARD}.yaml"}
    keep_inputs(made, files, CARD)
    return made


@pytest.mark.parametrize(
    ("called", "systems"),
    [
        ({}, ["linux", "linux"]),
        ({"dut": "freebsd"}, ["freebsd", "linux"]),
        ({"dut": "debian13", "peer": "freebsd"}, ["debian13", "freebsd"]),
    ],
)
def test_the_systems_are_those_of_the_call(run_dir: Path, called: dict[str, Any], systems: list[str]) -> None:
    servers = bench_of(run_dir, {"called": called})["servers"]
    assert [servers[role]["os"] for role in ("dut", "peer")] == systems


def test_the_software_is_what_the_servers_said(run_dir: Path) -> None:
    software = {"dut": {"kernel": "6.1.0-28-amd64", "ethtool": "6.1"}}
    servers = bench_of(run_dir, {"called": {}, "software": software})["servers"]
    assert [servers[role]["software"] for role in ("dut", "peer")] == [software["dut"], {}]
    rows = dict(subject_rows({**CERTIFICATE, "equipment": {"servers": servers}}))
    assert rows["Software of dut"] == "kernel 6.1.0-28-amd64, ethtool 6.1"
    assert rows["Software of peer"] == "not recorded"


def test_unknown_facts_are_those_of_the_system_that_was_booted(run_dir: Path) -> None:
    of_linux = unknown_of(run_dir, {"called": {}})
    assert unknown_of(run_dir, {"called": {"dut": "debian13"}}) == of_linux
    assert unknown_of(run_dir, {"called": {"dut": "freebsd"}}) != of_linux


def test_what_a_test_compares_and_nobody_knows_is_passed_over() -> None:
    """The sheet knows the rings as delivered on FreeBSD, and not the largest ones, which the same test compares."""
    found = list(passed_over(load_card("chelsio-t580-cr"), OperatingSystem.FREEBSD))
    assert [text.partition(":")[0] for part, text in found if part == "DEL-01/rings"] == [
        f"sheet chelsio-t580-cr does not know drivers.freebsd.rings.{ring}.max" for ring in ("rx", "tx")
    ]
    assert "DEL-01/rings" not in dict(passed_over(load_card("chelsio-t580-cr"), OperatingSystem.LINUX))


@pytest.mark.parametrize(
    ("fact", "field", "parts"),
    [
        ("change", "offloads.table.tso4.linux.change", {"DEL-01/offloads", "EMX-06/defaults"}),
        ("actual_default", "drivers.linux.tunables.rx_frag_size.actual_default", {"DEL-01/tunables", "EMX-05"}),
    ],
)
def test_a_fact_that_is_one_of_many_of_a_test_is_not_forgotten(
    tmp_path: Path, fact: str, field: str, parts: set[str]
) -> None:
    text = (CARDS / "emulex-oce11102.yaml").read_text()
    sheet = tmp_path / "emulex-oce11102.yaml"
    sheet.write_text(re.sub(rf"^( +{fact}: )\w+$", r"\1{unknown: nobody said}", text, flags=re.MULTILINE))
    for system, expected in ((OperatingSystem.LINUX, parts), (OperatingSystem.FREEBSD, set[str]())):
        found = {part for part, text in passed_over(load_card(str(sheet)), system) if f" {field}: " in text}
        assert found == expected


def test_a_largest_number_of_queues_that_nobody_knows_is_passed_over(tmp_path: Path) -> None:
    text = (CARDS / "emulex-oce11102.yaml").read_text()
    sheet = tmp_path / "emulex-oce11102.yaml"
    sheet.write_text(text.replace("combined: {max: 16,", "combined: {max: {unknown: nobody said},"))
    found = [
        text for part, text in passed_over(load_card(str(sheet)), OperatingSystem.LINUX) if part == "DEL-01/queues"
    ]
    assert any(" channels.combined.max: " in each for each in found)


@pytest.mark.parametrize(("facts", "shown"), [({"part_numbers": "SFN5122F-R7"}, "SFN5122F-R7"), ({}, "not recorded")])
def test_the_part_number_is_what_the_card_said(facts: dict[str, str], shown: str) -> None:
    rows = dict(subject_rows({**CERTIFICATE, "facts": {**CERTIFICATE["facts"], **facts}}))
    assert rows["Part number"] == shown and "Part_numbers" not in rows
