"""Facts of a sheet that differ between kernels: written once for each range, read for the kernel of a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from niclab.card import CARDS, Card, Descriptors, load_card
from niclab.core.verdict import BenchFault

Edit = Callable[..., Path]
RX = "rx: {min: 64, max: 4096, default: 256}"


@pytest.fixture
def edited_card(tmp_path: Path) -> Edit:
    """Makes a copy of a sheet with ``(old, new)`` replaced."""

    def edit(*changes: tuple[str, str]) -> Path:
        text = (CARDS / "intel-82574l.yaml").read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        file = tmp_path / "intel-82574l.yaml"
        file.write_text(text)
        return file

    return edit


def rx_max(file: Path, kernel: str | None = None) -> Descriptors:
    card: Card = load_card(file)
    rings = (card if kernel is None else card.of_kernel(kernel)).rings
    assert rings is not None
    return rings.rx.max


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        ("5.10.0-30-amd64", 4096),
        ("6.1.0-56-amd64", 4096),
        ("6.2", 8192),
        ("6.7.12", 8192),
        ("6.8.0-rc1", 16384),
        ("6.12.117", 16384),
        (None, 16384),
    ],
)
def test_a_fact_is_that_of_the_kernel_and_of_the_newest_where_none_is_known(
    edited_card: Edit, kernel: str | None, wanted: int
) -> None:
    file = edited_card((RX, 'rx: {min: 64, max: {"<6.2": 4096, ">=6.2, <6.8": 8192, ">=6.8": 16384}, default: 256}'))
    assert rx_max(file, kernel) == wanted


def test_a_sheet_without_such_facts_is_the_same_on_every_kernel(edited_card: Edit) -> None:
    card = load_card(edited_card())
    assert card.of_kernel("6.1.0-56-amd64") == card


@pytest.mark.parametrize("kernel", ["", "linux", "v6.1"])
def test_a_release_that_is_no_kernels_is_refused(edited_card: Edit, kernel: str) -> None:
    file = edited_card((RX, 'rx: {min: 64, max: {"<6.2": 4096, ">=6.2": 8192}, default: 256}'))
    with pytest.raises(BenchFault, match="is no release of Linux"):
        load_card(file).of_kernel(kernel)


@pytest.mark.parametrize(
    "fact",
    [
        "{}",
        '{"<6.2": 4096}',
        '{">=6.2": 4096}',
        '{"<6.2": 4096, ">=6.3": 8192}',
        '{"<6.3": 4096, ">=6.2": 8192}',
        '{"<6.2": 4096, ">6.2": 8192}',
        '{"<6.2": 4096, ">=6.2, <6.1": 8192, ">=6.1": 1}',
        '{"6.2": 4096, ">=6.2": 8192}',
    ],
)
def test_ranges_cover_every_kernel_once(edited_card: Edit, fact: str) -> None:
    file = edited_card((RX, f"rx: {{min: 64, max: {fact}, default: 256}}"))
    with pytest.raises(BenchFault, match=r'rings\.rx\.max: .*"<6\.2": \.\.\., ">=6\.2": \.\.\.'):
        load_card(file)


def test_every_value_is_checked_like_a_single_one(edited_card: Edit) -> None:
    file = edited_card((RX, 'rx: {min: 64, max: {"<6.2": many, ">=6.2": 8192}, default: 256}'))
    with pytest.raises(
        BenchFault, match=r"rings\.rx\.max\.<6\.2: many is not wanted; expected a number of descriptors"
    ):
        load_card(file)


def test_contradictions_are_found_on_every_kernel(edited_card: Edit) -> None:
    file = edited_card((RX, 'rx: {min: 64, max: {"<6.2": 128, ">=6.2": 8192}, default: 256}'))
    with pytest.raises(BenchFault, match=r"rings\.rx\.default: 256 is above max 128 \(Linux before 6\.2\)"):
        load_card(file)
