"""Speeds of link modes of both systems, and their words."""

from __future__ import annotations

import pytest

from niclab.card import Unknown
from niclab.hosts.link_modes import in_mbps, speeds_of


@pytest.mark.parametrize(
    ("modes", "speeds"),
    [
        (["100baseT/Half", "100baseT/Full", "1000baseT/Full"], {100, 1000}),
        (["10000baseSR/Full", "Autoneg", "FIBRE"], {10000}),
        (["10Gbase-SR", "1000baseSX"], {10000, 1000}),
        (["autoselect"], set()),
        (None, set()),
    ],
)
def test_speeds_are_read_from_the_names_of_modes(modes: list[str] | None, speeds: set[int]) -> None:
    assert speeds_of(modes) == speeds


def test_speeds_in_words_leave_out_what_nobody_knows() -> None:
    assert in_mbps({10000, 1000, Unknown(unknown="test")}) == "1000, 10000 Mbit/s"
    assert in_mbps({Unknown(unknown="test")}) == in_mbps(set()) == "no speed"
