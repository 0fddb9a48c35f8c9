"""The kernel modules build against the image's kernel without a warning, and say what the kernel needs of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "lab/virtual/card"))

import build  # noqa: E402
import kbuild  # noqa: E402

import models  # noqa: E402

HEADER = (ROOT / "lab/virtual/card/mailbox.h").read_text()
FAULTS = re.findall(r'\bX\((\w+),\s*(\d+),\s*"([\w-]+)",\s*(SLOT|PORT),\s*"[^"]+"\)', HEADER)


def field(module: Path, name: str) -> str:
    return subprocess.run(
        ["modinfo", "-F", name, str(module)], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("suite", [build.image.BOOKWORM, build.image.TRIXIE])
def test_all_modules_build_and_tell_what_they_are(suite: str) -> None:
    folder = build.modules(build.image.ensure(suite))
    build.check(folder)
    assert field(folder / "be2net.ko", "version") == "", "an in-box driver has no version of its own"
    assert field(folder / "be2net.ko", "intree") == "Y"
    assert "v000019A2d00000710" in field(folder / "be2net.ko", "alias")


@pytest.mark.slow
def test_a_driver_for_a_package_calls_itself_what_it_is_told() -> None:
    module = build.driver("be2net", "10.6.144.2702")
    assert field(module, "version") == "10.6.144.2702" and field(module, "intree") == ""
    assert field(module, "vermagic").split()[0] == kbuild.kernel_of(build.image.ensure()).release


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("be3net", "1.0", "no driver 'be3net'; there are be2net"),
        ("be2net", 'x"; evil', "expected letters, digits"),
    ],
)
def test_a_driver_that_cannot_be_is_refused(name: str, version: str, message: str) -> None:
    with pytest.raises(kbuild.BuildError, match=message):
        build.driver(name, version)


def test_every_fault_has_a_word_of_its_own_and_is_used_by_the_card() -> None:
    words = [int(word) for _, word, _, _ in FAULTS]
    assert len(FAULTS) > 30
    assert sorted(words) == list(range(len(words)))
    sources = "".join(path.read_text() for path in (ROOT / "lab/virtual/card").rglob("*.c"))
    assert [constant for constant, *_ in FAULTS if f"VCARD_FAULT_{constant}" not in sources] == []


def test_each_driver_has_a_source() -> None:
    assert {path.stem for path in (ROOT / "lab/virtual/card/drivers").glob("*.c")} == set(models.DRIVERS)
