"""The servers' image: what can be checked without building one."""

from __future__ import annotations

import lzma
import shutil
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


def test_the_kernel_is_taken_out_of_its_wrapping() -> None:
    wrapped = b"MZ boot code" * 100 + lzma.compress(ELF) + b"relocations after it"
    assert image.extract_elf(wrapped) == ELF


def _damaged() -> bytes:
    stream = bytearray(lzma.compress(ELF))
    stream[len(stream) // 2] ^= 0xFF
    return bytes(stream)


@pytest.mark.parametrize(
    ("wrapped", "complaint"),
    [
        (b"", "holds no xz stream"),
        (b"MZ" + b"\x1f\x8b gzip", "holds no xz stream"),
        (lzma.compress(b"a script"), "is no ELF file"),
        (lzma.compress(b""), "is no ELF file"),
        (lzma.compress(ELF)[:-20], "is cut short"),
        (_damaged(), "is damaged"),
    ],
    ids=["empty", "gzip", "no elf", "empty stream", "cut", "damaged"],
)
def test_what_is_no_kernel_is_refused(wrapped: bytes, complaint: str) -> None:
    with pytest.raises(image.ImageError, match=complaint):
        image.extract_elf(wrapped)


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


def test_the_queue_of_the_emulated_card_has_the_rate_of_its_cable() -> None:
    rules = (Path(image.__file__).parent / "guest/root/etc/udev/rules.d/90-wire.rules").read_text()
    card = cardmodel.card("intel-82574l")
    assert f" rate {card.line_rate_mbps / card.rate_scale:g}mbit " in rules
