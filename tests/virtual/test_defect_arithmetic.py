"""The arithmetic of a virtual card's defects, run as the module has it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from card_fakes import compiled

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="this host has no C compiler to ask")

TYPES = """
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
typedef uint32_t u32;
typedef uint64_t u64;
#include "net/defects.h"
"""


def printed(body: str, folder: Path) -> list[int]:
    return [int(word) for word in compiled(f"{TYPES}int main(void) {{ {body} return 0; }}\n", folder).split()]


@pytest.mark.parametrize(
    ("permille", "counted"), [(0, 69_400_000), (16, 68_289_600), (500, 34_700_000), (1000, 0), (4000, 0)]
)
def test_so_many_bytes_of_a_thousand_are_not_counted(tmp_path: Path, permille: int, counted: int) -> None:
    frames = f"""
        u32 owed = 0, sizes[] = {{ 60, 1514, 333, 65535, 64, 1894 }};
        u64 sum = 0;
        for (int n = 0; n < 6000; n++)
            sum += defect_bytes(sizes[n % 6], {permille}, &owed);
        printf("%llu\\n", (unsigned long long)sum);
    """
    assert printed(frames, tmp_path) == [counted]


def test_a_counter_wraps_at_its_bits(tmp_path: Path) -> None:
    asked = [((1 << 32) + 5, 32), ((1 << 32) + 5, 0), ((1 << 32) - 1, 32), (70000, 16), (70000, 64), (70000, 99)]
    body = "".join(
        f'printf("%llu\\n", (unsigned long long)defect_wrapped({count}ULL, {bits}));' for count, bits in asked
    )
    assert printed(body, tmp_path) == [5, (1 << 32) + 5, (1 << 32) - 1, 4464, 70000, 70000]


def test_one_second_of_so_many_is_bad(tmp_path: Path) -> None:
    body = 'for (int s = 0; s < 46; s++) {{ if (defect_burst(s, {})) printf("%d\\n", s); }}'
    assert printed(body.format(23), tmp_path) == [0, 23]
    assert printed(body.format(0), tmp_path) == []
    assert len(printed(body.format(1), tmp_path)) == 46


def test_so_many_last_bits_of_a_port_are_not_compared(tmp_path: Path) -> None:
    body = "".join(f'printf("%u\\n", defect_port_bits({bits}));' for bits in (0, 1, 4, 16, 40))
    assert printed(body, tmp_path) == [0, 1, 15, 65535, 65535]


def test_frames_of_the_first_milliseconds_of_a_second_are_late_and_stay_in_order(tmp_path: Path) -> None:
    body = """
        for (int at = 0; at < 1200; at += 3)
            printf("%llu\\n", (unsigned long long)(defect_late(at * 1000000ULL, 10) / 1000000));
    """
    late = printed(body, tmp_path)
    assert late == sorted(late)
    assert [at for at, due in zip(range(0, 1200, 3), late, strict=True) if at != due] == [0, 3, 6, 9, 1002, 1005, 1008]
    assert late[0] == 10 and late[334] == 1010
    assert printed('printf("%llu\\n", (unsigned long long)defect_late(7, 0));', tmp_path) == [7]


def test_a_cost_grows_by_as_much_as_it_was_in_so_many_seconds(tmp_path: Path) -> None:
    asked = [(1000, 0, 10), (1000, 5, 10), (1000, 10, 10), (1000, 100, 10), (1000, 86400, 10), (1000, 100, 0)]
    body = "".join(
        f'printf("%llu\\n", (unsigned long long)defect_grown({cost}ULL, {seconds}ULL * DEFECT_SECOND_NS, {every}));'
        for cost, seconds, every in asked
    )
    assert printed(body, tmp_path) == [1000, 1500, 2000, 11000, 8_641_000, 1000]
