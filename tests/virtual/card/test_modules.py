"""The modules of virtual cards as a system has them."""

from __future__ import annotations

import lzma
import subprocess
from pathlib import Path

import pytest

import modules

MODULE = b"\x7fELF" + bytes(range(256)) * 8000


@pytest.fixture
def module(tmp_path: Path) -> Path:
    file = tmp_path / "ixgbe.ko"
    file.write_bytes(MODULE)
    return file


def test_a_module_stands_uncompressed_where_the_systems_own_does(module: Path) -> None:
    assert modules.packed(module, Path("kernel/drivers/net/ixgbe.ko")) == MODULE


def test_a_module_is_compressed_as_the_kernel_unpacks_it(module: Path, tmp_path: Path) -> None:
    packed = modules.packed(module, Path("kernel/drivers/net/ixgbe.ko.xz"))
    assert lzma.decompress(packed) == MODULE
    file = tmp_path / "ixgbe.ko.xz"
    file.write_bytes(packed)
    listed = subprocess.run(["xz", "--robot", "--list", "-vv", str(file)], check=True, capture_output=True, text=True)
    (block,) = [line.split("\t") for line in listed.stdout.splitlines() if line.startswith("block")]
    assert "CRC32" in block and "--lzma2=dict=1MiB" in block
