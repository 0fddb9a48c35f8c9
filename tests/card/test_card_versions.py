"""The order of versions as vendors really write them."""

from __future__ import annotations

import json

import pytest

from niclab.card import IncomparableVersions, Version, VersionLists, VersionOrder, VersionRange, VersionVerdict
from niclab.core.verdict import Undecided

NUMBERS, SUFFIX, EXACT = VersionOrder.NUMBERS, VersionOrder.NUMBERS_SUFFIX, VersionOrder.EXACT


@pytest.mark.parametrize(
    ("order", "older", "newer"),
    [
        (NUMBERS, "4.4.249.3", "10.6.144.21"),  # Emulex firmware: 10 is after 4
        (NUMBERS, "4.2.116.0", "4.2.313.0"),  # Emulex FreeBSD module and package
        (NUMBERS, "1.24.3.0", "1.27.1.0"),  # Chelsio firmware
        (NUMBERS, "6.2.26", "7.8.53"),  # Broadcom boot code and firmware family
        (NUMBERS, "1.78.17-0", "1.78.19-0"),  # Broadcom driver of the kernel
        (NUMBERS, "3.3.0.6269", "3.3.2.1000"),  # Solarflare firmware
        (NUMBERS, "4.10.7.1001", "4.15.12.1008"),  # Solarflare driver
        (NUMBERS, "12.4.11", "12.10.0"),  # Alteon firmware
        (NUMBERS, "1.8-0", "2.1-0"),  # Intel e1000e
        (NUMBERS, "14.5.9", "15.0.28"),  # Intel firmware as Dell numbers it
        (SUFFIX, "3.6.7-k", "5.19.6"),  # Intel driver: in the kernel, and the vendor's
        (SUFFIX, "3.6.7-k", "3.19.1-k"),
        (SUFFIX, "4.2.248.0u", "4.4.161.0u"),  # Emulex driver of the kernel
        (SUFFIX, "2.0.0-ko", "3.0.0-ko"),  # Chelsio driver of the kernel
    ],
)
def test_versions_of_vendors_have_their_order(order: VersionOrder, older: str, newer: str) -> None:
    one, two = Version.parse(older, order), Version.parse(newer, order)
    assert (str(one), str(two)) == (older, newer)
    assert (one.compare(two), two.compare(one), one.compare(one)) == (-1, 1, 0)


@pytest.mark.parametrize(
    ("order", "text"),
    [
        (NUMBERS, "3.6.7-k"),
        (NUMBERS, "4.4.161.0u"),
        (NUMBERS, "0x61c10001"),
        (NUMBERS, "bc 7.8.53"),
        (SUFFIX, "0x61c10001"),
        (SUFFIX, "0x61"),
        (SUFFIX, "3.6.7-k-1"),
        (SUFFIX, "k-3.6.7"),
        (SUFFIX, "3.06.7-k"),
        (EXACT, "14.5.9"),
        (EXACT, "0x61c10001"),
    ],
)
def test_what_has_another_shape_has_no_order(order: VersionOrder, text: str) -> None:
    with pytest.raises(IncomparableVersions, match=text):
        Version.parse(text, order)


def test_a_suffix_alone_has_no_order() -> None:
    with pytest.raises(IncomparableVersions, match=r"^3\.6\.7-k and 3\.6\.7 differ in a suffix, which has no order$"):
        Version.parse("3.6.7-k", SUFFIX).compare(Version.parse("3.6.7", SUFFIX))
    assert "3.6.8" in VersionRange.parse(">3.6.7-k", SUFFIX)


def lists(**fields: object) -> VersionLists:
    return VersionLists.model_validate_json(json.dumps(fields))


def test_lists_judge_by_their_own_order() -> None:
    intel = lists(required=["5.19.6"], allowed=[">=3.6.7-k, <5.19.6"], forbidden=["<3.6.7-k"], order="numbers-suffix")
    assert intel.verdict("5.19.6") is VersionVerdict.REQUIRED
    assert intel.verdict("3.19.1-k") is VersionVerdict.ALLOWED
    assert intel.verdict("3.6.7-k") is VersionVerdict.ALLOWED
    assert intel.verdict("2.0.84-k2") is VersionVerdict.FORBIDDEN
    with pytest.raises(Undecided, match="differ in a suffix"):
        intel.verdict("3.6.7")


def test_exact_versions_match_or_are_unknown() -> None:
    intel = lists(required=["0x61c10001"], forbidden=["0x18b30001"], order="exact")
    assert list(intel.contradictions()) == []
    assert intel.verdict("0x61c10001") is VersionVerdict.REQUIRED
    assert intel.verdict("0x18b30001") is VersionVerdict.FORBIDDEN
    assert intel.verdict("0x80000887") is VersionVerdict.UNKNOWN


def test_a_range_among_exact_versions_is_refused() -> None:
    (found,) = lists(required=["a"], allowed=["b", ">1"], order="exact").contradictions()
    assert (found.verdict, found.index, found.wanted) == (VersionVerdict.ALLOWED, 1, "an exact version")
    assert found.reason == ">1 is no range where the order is exact: '1' is one of versions that have no order"
