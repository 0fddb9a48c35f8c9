"""The servers' image: what can be checked without building one."""

from __future__ import annotations

import lzma
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import cardmodel
import image

ELF = b"\x7fELF" + bytes(range(256)) * 40
DEPENDENCIES = """\
kernel/fs/ext4/ext4.ko: kernel/lib/crc16.ko kernel/fs/mbcache.ko kernel/fs/jbd2/jbd2.ko
kernel/lib/crc16.ko:
kernel/fs/mbcache.ko:
kernel/fs/jbd2/jbd2.ko: kernel/lib/crc32c.ko
kernel/lib/crc32c.ko:
kernel/drivers/virtio/virtio_pci.ko: kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
kernel/drivers/virtio/virtio_ring.ko: kernel/drivers/virtio/virtio.ko
kernel/drivers/virtio/virtio.ko:
"""
BUILTIN = "kernel/drivers/block/virtio_blk.ko\n"


def _names(order: list[str]) -> list[str]:
    return [Path(path).stem for path in order]


def test_every_module_comes_after_what_it_needs() -> None:
    order = _names(image.load_order(["virtio_pci", "ext4"], DEPENDENCIES, BUILTIN))
    assert sorted(order) == sorted(Path(line.split(":")[0]).stem for line in DEPENDENCIES.splitlines())
    for line in DEPENDENCIES.splitlines():
        path, needs = line.split(":")
        assert all(order.index(Path(need).stem) < order.index(Path(path).stem) for need in needs.split())


def test_a_module_wanted_twice_is_loaded_once() -> None:
    order = image.load_order(["ext4", "crc16", "ext4"], DEPENDENCIES, BUILTIN)
    assert len(order) == len(set(order)) == 5


def test_what_is_built_in_needs_no_loading() -> None:
    assert image.load_order(["virtio_blk"], DEPENDENCIES, BUILTIN) == []


def test_a_module_the_kernel_lacks_is_named() -> None:
    with pytest.raises(image.ImageError, match="no module btrfs"):
        image.load_order(["btrfs"], DEPENDENCIES, BUILTIN)


def test_a_needed_module_the_kernel_lacks_is_named() -> None:
    with pytest.raises(image.ImageError, match="no module gone"):
        image.load_order(["some"], "kernel/some.ko: kernel/gone.ko\n", BUILTIN)


def zstd(content: bytes) -> bytes:
    return subprocess.run(["zstd", "--stdout"], input=content, check=True, capture_output=True).stdout


def wrapped(stream: bytes, size: int = 4) -> bytes:
    """A bzImage of two sectors of setup and some code, then the stream, the size of what is in it, and more code."""
    setup = bytearray(2 * 512)
    setup[0x1F1], setup[0x202:0x206] = 1, b"HdrS"
    setup[0x248:0x250] = struct.pack("<II", 700, len(stream) + size)
    return bytes(setup) + b"\xfd7zXZ\x00 code".ljust(700, b".") + stream + bytes(size) + b"relocations after it"


@pytest.mark.parametrize("compress", [lzma.compress, zstd])
def test_the_kernel_is_taken_out_of_its_wrapping(compress: Callable[[bytes], bytes]) -> None:
    assert image.extract_elf(wrapped(compress(ELF))) == ELF


def _damaged(stream: bytes) -> bytes:
    spoilt = bytearray(stream)
    spoilt[len(spoilt) // 2] ^= 0xFF
    return bytes(spoilt)


@pytest.mark.parametrize(
    ("kernel", "complaint"),
    [
        (b"", "is no bzImage"),
        (lzma.compress(ELF), "is no bzImage"),
        (wrapped(b"\x1f\x8b gzip"), "begins with 1f 8b 20 67 7a 69; expected an xz or zstd stream"),
        (wrapped(lzma.compress(b"a script")), "is no ELF file"),
        (wrapped(zstd(b"")), "is no ELF file"),
        (wrapped(lzma.compress(ELF)[:-20]), "is damaged"),
        (wrapped(zstd(ELF)[:-20]), "is damaged"),
        (wrapped(lzma.compress(ELF))[:-40], "is cut short"),
        (wrapped(_damaged(lzma.compress(ELF))), "is damaged"),
        (wrapped(_damaged(zstd(ELF))), "is damaged"),
    ],
    ids=["empty", "bare", "gzip", "script", "nothing", "cut xz", "cut zstd", "cut", "damaged xz", "damaged zstd"],
)
def test_what_is_no_kernel_is_refused(kernel: bytes, complaint: str) -> None:
    with pytest.raises(image.ImageError, match=complaint):
        image.extract_elf(kernel)


def test_compressed_modules_are_found_and_unpacked(tmp_path: Path) -> None:
    packed = DEPENDENCIES.replace(".ko", ".ko.xz")
    assert image.load_order(["ext4"], packed, BUILTIN)[-1] == "kernel/fs/ext4/ext4.ko.xz"
    (tmp_path / "a.ko").write_bytes(ELF)
    (tmp_path / "b.ko.xz").write_bytes(lzma.compress(ELF))
    assert image.unpacked(tmp_path / "a.ko") == image.unpacked(tmp_path / "b.ko.xz") == ELF


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the recipe, which a test may change."""
    shutil.copytree(image.HERE / "guest", tmp_path / "guest", symlinks=True)
    shutil.copy(image.HERE / "image.py", tmp_path / "image.py")
    monkeypatch.setattr(image, "HERE", tmp_path)
    monkeypatch.setattr(image, "__file__", str(tmp_path / "image.py"))
    return tmp_path


def test_the_key_is_that_of_the_recipe_not_of_its_place(recipe: Path) -> None:
    copied = image.key()
    moved = recipe.parent / "elsewhere"
    shutil.copytree(recipe, moved)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image, "HERE", moved)
        assert image.key() == copied
    assert len(copied) == 16


def test_each_release_has_an_image_of_its_own() -> None:
    assert image.key(image.BOOKWORM) == image.key() != image.key(image.TRIXIE)


def _change_content(recipe: Path) -> None:
    file = recipe / "guest/root/etc/inittab"
    file.write_text(file.read_text() + "# one line more\n")


def _change_mode(recipe: Path) -> None:
    file = recipe / "guest/root/etc/inittab"
    file.chmod(file.stat().st_mode ^ 0o100)


def _change_name(recipe: Path) -> None:
    (recipe / "guest/root/etc/inittab").rename(recipe / "guest/root/etc/inittab2")


def _add_file(recipe: Path) -> None:
    (recipe / "guest/root/etc/new").touch()


def _change_packages(recipe: Path) -> None:
    file = recipe / "image.py"
    file.write_text(file.read_text().replace('"tcpdump"', '"nmap"'))


@pytest.mark.parametrize("change", [_change_content, _change_mode, _change_name, _add_file, _change_packages])
def test_a_changed_recipe_makes_a_new_image(recipe: Path, change: object) -> None:
    before = image.key()
    assert callable(change)
    change(recipe)
    assert image.key() != before


def test_missing_tools_are_named_with_their_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "CACHE", tmp_path)
    monkeypatch.setattr(image, "TOOLS", {"sh": "dash", "no-such-tool": "its-package"})
    assert image.missing_tools() == {"no-such-tool": "its-package"}
    with pytest.raises(image.ImageError, match=r"lacks no-such-tool: .*apt-get install its-package"):
        image.ensure()
    assert not list(tmp_path.glob("image-*/"))


def test_an_image_that_is_there_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "CACHE", tmp_path)
    monkeypatch.setattr(image, "TOOLS", {"no-such-tool": "its-package"})  # a build would fail
    there = tmp_path / f"image-{image.key()}"
    there.mkdir()
    with pytest.raises(image.ImageError):
        image.ensure()  # half an image, without its manifest, is none
    (there / "manifest.json").write_text("{}")
    assert image.ensure() == there


def test_every_probe_of_the_e1000e_driver_has_its_word() -> None:
    """One beyond the list would use MSI-X, and see no change of carrier; 32 words are all that the driver takes."""
    (line,) = [
        line
        for line in (image.HERE / "guest/root/etc/modprobe.d/e1000e.conf").read_text().splitlines()
        if line.startswith("options ")
    ]
    assert line.split() == ["options", "e1000e", f"IntMode={','.join('1' * 32)}"]


@pytest.mark.parametrize(("driver", "name"), [("igb", "intel-82576"), ("e1000e", "intel-82574l")])
@pytest.mark.parametrize("mtu", [576, 1500, 9000])
def test_the_queue_of_an_emulated_card_never_outruns_its_cable(driver: str, name: str, mtu: int) -> None:
    """Counted as sch_tbf.c does it: the packet's bytes with the headers of each segment, and the overhead once."""
    rules = (Path(image.__file__).parent / "guest/root/etc/udev/rules.d/90-wire.rules").read_text()
    (rule,) = [line for line in rules.splitlines() if f'DRIVERS=="{driver}' in line]
    found = re.search(r" rate (\d+)kbit .* overhead (\d+)", rule)
    assert found is not None
    rate_mbps, overhead = int(found[1]) / 1000, int(found[2])
    card = cardmodel.card(name)
    cable_mbps = card.line_rate_mbps / card.rate_scale
    segments, header = 65535 // mtu, 14
    frames = segments * (mtu + header)
    assert 0.94 * cable_mbps < rate_mbps
    assert rate_mbps * (frames + segments * overhead) / (frames + overhead) < cable_mbps
