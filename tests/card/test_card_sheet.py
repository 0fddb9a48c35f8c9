"""Card sheets: the ones of the repository, everything that may be wrong with one, and the judging of versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niclab.bench.records import OperatingSystem
from niclab.card import (
    CARDS,
    AnySubsystem,
    IncomparableVersions,
    Unknown,
    Version,
    VersionLists,
    VersionRange,
    VersionVerdict,
    load_card,
)
from niclab.core.names import Duplex
from niclab.core.verdict import BenchFault, SheetSilent, SheetUnknown, Undecided

Edit = Callable[..., Path]
SAMPLE = Path(__file__).parents[1] / "fakes" / "samples" / "intel-82574l.yaml"
UNKNOWN = "required: {unknown: nobody measured it}"


def fault(file: Path) -> list[str]:
    """The lines of the error that a sheet gets, without the folder."""
    with pytest.raises(BenchFault) as caught:
        load_card(file)
    return str(caught.value).replace(f"{file.parent}/", "").splitlines()


@pytest.mark.parametrize("file", sorted(CARDS.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_sheet_of_the_repository_is_right(file: Path) -> None:
    card = load_card(file.stem)
    assert card.name == file.stem
    assert card.file == file
    assert "$schema=../schema/card.schema.json" in file.read_text(encoding="utf-8").splitlines()[0]


def test_what_stands_on_the_sheet_is_what_is_read() -> None:
    card = load_card(SAMPLE)
    assert (card.identity.vendor_id, card.identity.device_id, card.identity.ports) == ("8086", "10d3", 2)
    assert card.identity.subsystems is AnySubsystem.ANY
    driver = card.driver(OperatingSystem.LINUX)
    assert (driver.module, driver.in_kernel, driver.version) == ("e1000e", True, None)
    assert (card.pcie.speed_gts, card.pcie.width) == (2.5, 1)
    assert (card.link.speed_mbps, card.link.duplex, card.link.autoneg) == (1000, Duplex.FULL, True)
    limits = card.limits
    assert (limits.tcp_fraction_of_line_rate, limits.carrier_loss_within_ms, limits.carrier_return_within_ms) == (
        0.85,
        1000,
        5000,
    )


def test_an_unknown_fact_makes_the_question_not_applicable(edited_card: Edit) -> None:
    card = load_card(
        edited_card(("width: 1\n", "width: {unknown: why}\n"), ("autoneg: true", "autoneg: {unknown: why}"))
    )
    assert card.known(card.pcie.speed_gts, "pcie.speed_gts") == 2.5
    for fact, field in ((card.pcie.width, "pcie.width"), (card.link.autoneg, "link.autoneg")):
        with pytest.raises(SheetUnknown, match=f"sheet intel-82574l does not know {field}: why"):
            card.known(fact, field)


def test_a_sheet_without_a_driver_for_the_system_is_silent() -> None:
    with pytest.raises(SheetSilent, match="sheet intel-82574l names no driver for freebsd"):
        load_card(SAMPLE).driver(OperatingSystem.FREEBSD)


def test_an_unknown_name_lists_the_known_sheets() -> None:
    with pytest.raises(
        BenchFault, match=r"there is no card sheet 'intel-x999' in lab/cards; expected one of: .*intel-82574l"
    ):
        load_card("intel-x999")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"8086"', "8086", "7: identity.vendor_id: 8086 is not wanted; expected 4 lower-case hex digits in quotes"),
        ('"10d3"', "1e10", "8: identity.device_id: 1e10 is not wanted; expected 4 lower-case hex digits in quotes"),
        ('"10d3"', "0710", "8: identity.device_id: 0710 is not wanted; expected 4 lower-case hex digits in quotes"),
        ('"10d3"', '"10D3"', '8: identity.device_id: "10D3" is not wanted; expected 4 lower-case hex digits'),
        ('"10d3"', '"0x10d3"', '8: identity.device_id: "0x10d3" is not wanted; expected 4 lower-case hex digits'),
        ("subsystems: any", "subsystems: all", "9: identity.subsystems: all is not wanted; expected any, or a list of"),
        ("subsystems: any", "subsystems: []", "9: identity.subsystems: 0 entries; expected at least 1 of them"),
        ("subsystems: any", "subsystems: [a01f]", "9: identity.subsystems.0: a01f is not wanted; expected a subsystem"),
        ("ports: 2", "ports: 0", "11: identity.ports: 0 is not wanted; expected a number 1..64"),
        ("ports: 2", "ports: true", "11: identity.ports: true is not wanted; expected a number 1..64"),
        ("in_kernel: true", "in_kernel: false", "17: drivers.linux.in_kernel: false is not wanted; expected true, or"),
        (
            "    in_kernel: true\n",
            "",
            "15: drivers.linux: neither version nor in_kernel; expected version or in_kernel",
        ),
        (
            "in_kernel: true",
            "in_kernel: true\n    version: {required: {unknown: why}}",
            "15: drivers.linux: both version and",
        ),
        ("  linux:\n", "  windows:\n", "15: drivers.windows: unknown key; expected one of freebsd, linux"),
        (UNKNOWN, "required: []", "22: firmware.required: 0 entries; expected at least 1 of them"),
        (
            UNKNOWN,
            "required: 1.8-0",
            "22: firmware.required: 1.8-0 is not wanted; expected {unknown: the reason}, or a list",
        ),
        (
            UNKNOWN,
            "required: [1.10]",
            "22: firmware.required.0: 1.10 is not wanted; expected an exact version",
        ),
        (
            UNKNOWN,
            "required: [unknown]",
            "22: firmware.required.0: unknown is not wanted; expected an exact",
        ),
        (UNKNOWN, 'required: [">1.8, >2"]', '22: firmware.required.0: ">1.8, >2" is not wanted'),
        (UNKNOWN, 'required: [">=3, <1.8"]', '22: firmware.required.0: ">=3, <1.8" is not wanted'),
        (UNKNOWN, 'required: [">=latest"]', '22: firmware.required.0: ">=latest" is not wanted'),
        (UNKNOWN, 'required: [">=1.8 <3"]', '22: firmware.required.0: ">=1.8 <3" is not wanted'),
        (
            f"  {UNKNOWN}\n",
            "",
            "20: firmware.required: missing; expected {unknown: the reason}, or a list of at least one",
        ),
        ("speed_gts: 2.5", "speed_gts: 2.0", "26: pcie.speed_gts: 2.0 is not wanted; expected 2.5, 5, 8, 16, 32 or 64"),
        ("width: 1\n", "width: x1\n", "27: pcie.width: x1 is not wanted; expected 1, 2, 4, 8, 12, 16 or 32 lanes, or"),
        ("width: 1\n", "width: true\n", "27: pcie.width: true is not wanted; expected 1, 2, 4, 8, 12, 16 or 32 lanes"),
        (
            "speed_mbps: 1000",
            "speed_mbps: 0",
            "31: link.speed_mbps: 0 is not wanted; expected a link speed of 10..1600000",
        ),
        (
            "duplex: full",
            "duplex: half-ish",
            "32: link.duplex: half-ish is not wanted; expected full, half, or {unknown: the reason}",
        ),
        (
            "autoneg: true",
            "autoneg: unknown",
            "33: link.autoneg: unknown is not wanted; expected true, false, or {unknown:",
        ),
        (
            "autoneg: true",
            'autoneg: {unknown: ""}',
            "33: link.autoneg: a section is not wanted; expected true, false, or",
        ),
        (
            "autoneg: true",
            "autoneg: on",
            "33: link.autoneg: on is not wanted; expected true, false, or {unknown: the reason}",
        ),
        (
            "_line_rate: 0.85",
            "_line_rate: 85",
            "37: limits.tcp_fraction_of_line_rate: 85 is not wanted; expected a fraction",
        ),
        (
            "_line_rate: 0.85",
            "_line_rate: 0",
            "37: limits.tcp_fraction_of_line_rate: 0 is not wanted; expected a fraction",
        ),
        (
            "loss_within_ms: 1000",
            "loss_within_ms: 0.5",
            "38: limits.carrier_loss_within_ms: 0.5 is not wanted; expected wh",
        ),
        (
            "loss_within_ms",
            "loss_within_s",
            "38: limits.carrier_loss_within_s: unknown key (did you mean carrier_l",
        ),
        ("errata: []", "errata: [{text: slow}]", "43: errata.0.source: missing; expected where the facts come from"),
        ("card: intel", "card: other", "3: card: other-82574l is not the name of the file; expected intel-82574l"),
    ],
)
def test_a_mistake_gets_one_clear_line(edited_card: Edit, old: str, new: str, line: str) -> None:
    lines = fault(edited_card((old, new)))
    assert any(each.startswith(f"intel-82574l.yaml:{line}") for each in lines), lines


@pytest.mark.parametrize("section", ["identity", "drivers.linux", "firmware", "pcie", "link", "limits"])
@pytest.mark.parametrize("source", [None, '"?"', "unknown", '" "'])
def test_every_section_says_where_its_facts_come_from(edited_card: Edit, section: str, source: str | None) -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    start = text.index("source:", text.index(f"{section.rpartition('.')[2]}:"))
    old = text[text.rindex("\n", 0, start) : text.index("\n\n", start)]
    indent = old[1 : old.index("source")]
    lines = fault(edited_card((old, f"\n{indent}source: {source}" if source else "")))
    assert any(f": {section}.source: " in line and "expected where the facts come from" in line for line in lines), (
        lines
    )


def test_quotes_are_asked_for_by_example(edited_card: Edit) -> None:
    (line,) = fault(edited_card(('"8086"', "8086")))
    assert line.endswith('YAML does not read this as text, put it in quotes: "8086"')


def lists(required: object = None, **others: list[str]) -> VersionLists:
    """Version lists as a sheet would hold them."""
    return VersionLists.model_validate_json(json.dumps({"required": required or {"unknown": "why"}, **others}))


@pytest.mark.parametrize(
    ("version", "verdict"),
    [
        ("1.8-0", VersionVerdict.REQUIRED),
        ("2.1-2", VersionVerdict.ALLOWED),
        ("2.0", VersionVerdict.ALLOWED),
        ("1.9-0", VersionVerdict.FORBIDDEN),
        ("3", VersionVerdict.FORBIDDEN),
        ("10.0", VersionVerdict.FORBIDDEN),
        ("1.7-9", VersionVerdict.UNKNOWN),
    ],
)
def test_a_version_is_judged_by_the_strongest_list_that_names_it(version: str, verdict: VersionVerdict) -> None:
    rule = lists(["1.8-0"], allowed=[">=1.8, <3"], forbidden=["1.9-0", ">=3"])
    assert rule.is_known
    assert rule.verdict(version) is verdict


def test_lists_that_name_nothing_know_nothing() -> None:
    rule = lists()
    assert rule.required == Unknown(unknown="why")
    assert not rule.is_known
    assert rule.verdict("1.8-0") is VersionVerdict.UNKNOWN


@pytest.mark.parametrize("version", ["", " ", "N/A", "1.8-beta", "1.8.0", "1.08", "v1.8", "1.8 ", "1..8", "١.٨"])
def test_a_version_that_cannot_be_compared_is_never_judged(version: str) -> None:
    with pytest.raises(Undecided):
        lists(allowed=[">=1.8-0, <3"]).verdict(version)


@pytest.mark.parametrize("version", ["", " "])
def test_no_version_at_all_is_never_judged(version: str) -> None:
    with pytest.raises(Undecided, match="no version was read"):
        lists(["FW 6.01 beta"]).verdict(version)


def test_an_exact_version_needs_no_comparison() -> None:
    assert lists(["FW 6.01 beta"]).verdict("FW 6.01 beta") is VersionVerdict.REQUIRED
    assert lists(["FW 6.01 beta"]).verdict("FW 6.01") is VersionVerdict.UNKNOWN


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ('required: ["1.8-0"]\n  forbidden: ["1.8-0"]', "firmware.required.0: 1.8-0 is forbidden too (1.8-0)"),
        ('required: ["1.8-0"]\n  forbidden: ["<1.9"]', "firmware.required.0: 1.8-0 is forbidden too (<1.9)"),
        ('required: [">=1.8"]\n  allowed: ["1.9"]', "firmware.allowed.0: 1.9 is required too (>=1.8)"),
        (
            'required: ["a"]\n  forbidden: ["<1.9"]',
            "firmware.required.0: a cannot be compared with forbidden <1.9: 'a' is",
        ),
    ],
)
def test_contradicting_lists_are_refused(edited_card: Edit, change: str, line: str) -> None:
    (found,) = fault(edited_card((UNKNOWN, change)))
    assert found.startswith(f"intel-82574l.yaml:{23 if 'allowed.0' in line else 22}: {line}")
    assert found.endswith("; expected each version in one list")


def test_driver_versions_are_checked_for_contradictions_too(edited_card: Edit) -> None:
    version = 'version: {required: ["3.8"], forbidden: ["3.8"]}'
    (found,) = fault(edited_card(("in_kernel: true", version)))
    assert ":17: drivers.linux.version.required.0: 3.8 is forbidden too (3.8)" in found


def test_a_forbidden_version_inside_an_allowed_range_is_an_exception_to_it(edited_card: Edit) -> None:
    card = load_card(edited_card((UNKNOWN, 'required: [">=1.8"]\n  forbidden: ["1.9"]')))
    assert card.firmware.verdict("1.9") is VersionVerdict.FORBIDDEN
    assert card.firmware.verdict("1.10") is VersionVerdict.REQUIRED


numbers = st.lists(st.integers(0, 10**6), min_size=1, max_size=4)


@given(numbers, numbers)
def test_versions_are_ordered_like_their_numbers(first: list[int], second: list[int]) -> None:
    length = max(len(first), len(second))
    padded = [numbers + [0] * (length - len(numbers)) for numbers in (first, second)]
    one, two = (Version.parse(".".join(map(str, numbers))) for numbers in (first, second))
    assert one.compare(two) == (padded[0] > padded[1]) - (padded[0] < padded[1])
    assert two.compare(one) == -one.compare(two)


@given(numbers, st.sampled_from([">", ">=", "<", "<="]), numbers)
def test_a_range_holds_what_its_bound_says(have: list[int], sign: str, bound: list[int]) -> None:
    texts = [".".join(map(str, numbers)) for numbers in (have, bound)]
    order = Version.parse(texts[0]).compare(Version.parse(texts[1]))
    holds = {">": order > 0, ">=": order >= 0, "<": order < 0, "<=": order <= 0}[sign]
    assert (texts[0] in VersionRange.parse(f"{sign} {texts[1]}")) is holds


def test_versions_of_different_shapes_have_no_order() -> None:
    with pytest.raises(IncomparableVersions, match=r"1\.8-0 and 1\.8\.0 have different shapes"):
        Version.parse("1.8-0").compare(Version.parse("1.8.0"))
    assert Version.parse("1.8-0").compare(Version.parse("1.8")) == 0
    assert Version.parse("1.8-1").compare(Version.parse("1.8")) == 1
