"""Servers of the rpm family: which image, disk and archive each gets, and the archive itself."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from card_fakes import card_bench

import cardkit
import image
import layout
import rpmkit
import server as machine
from cardkit import Kit
from identity import Identity
from qemu import Qemu
from vendor import rpm_packages
from vendor.packages import Driver

DRIVER = Driver("be2net", "be2net-modules", "12.0.0.0", "4.4.161.0", "6.1.0-56-amd64")


def build(version: str, loadable: bool) -> bytes:
    return f"module {version} loadable {loadable}".encode()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with what is made elsewhere: the image, the kit of the card and those of the rpm family."""
    folder = tmp_path / "image"
    folder.mkdir()
    (folder / "root.ext4").write_bytes(bytes(1 << 20))
    for name in ("initrd.cpio", "card.cpio", "dnf.cpio", "zypper.cpio"):
        (folder / name).write_bytes(f"<{name}>".encode())
    monkeypatch.setattr(cardkit, "ensure", lambda *_: Kit(folder / "card.cpio", folder / "apt.ext4"))
    monkeypatch.setattr(rpmkit, "archive", lambda tool: folder / f"{tool}.cpio")
    monkeypatch.setattr(rpmkit, "disk", lambda _, card: folder / f"{card}-rpm.ext4")
    monkeypatch.setenv("VBENCH_ACCEL", "tcg")
    return folder


@pytest.mark.parametrize(
    ("system", "card", "archives", "disk"),
    [
        ("linux", "emulex-oce11102", "<initrd.cpio><card.cpio>", "apt.ext4"),
        ("rpm-dnf", "emulex-oce11102", "<initrd.cpio><card.cpio><dnf.cpio>", "emulex-oce11102-rpm.ext4"),
        ("rpm-zypper", "emulex-oce11102", "<initrd.cpio><card.cpio><zypper.cpio>", "emulex-oce11102-rpm.ext4"),
        ("rpm-dnf", "intel-82574l", "<initrd.cpio><dnf.cpio>", None),
    ],
)
def test_a_server_gets_what_is_of_its_system(
    system: str, card: str, archives: str, disk: str | None, cache: Path, tmp_path: Path
) -> None:
    bench = card_bench(tmp_path / "state", card, card)
    dut = replace(bench.server("dut"), system=system)
    machine.prepare(dut, Identity(bench), cache, Qemu(("qemu",), (7, 2)))
    assert (dut.folder / "initrd.cpio").read_bytes().startswith(f"{archives}0707".encode())
    argv = json.loads((dut.folder / "qemu.json").read_text())["argv"]
    vendors = [word for word in argv if word.startswith("file=") and "id=vendor" in word]
    assert vendors == ([] if disk is None else [f"file={cache / disk},if=none,id=vendor,format=raw,readonly=on"])


def test_the_family_has_an_image_of_its_own_and_a_disk_for_each_tool() -> None:
    servers = {system: layout.bench("x", None, {"dut": system}).server("dut") for system in layout.SYSTEMS}
    assert {system for system, each in servers.items() if each.suite == image.BOOKWORM_RPM} == set(layout.RPM_TOOLS)
    assert len({each.disk.name for each in servers.values()}) == len(servers)
    assert image.key(image.BOOKWORM_RPM) != image.key()


def test_the_image_has_the_tools_on_top_of_the_same_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = list[list[str]]()
    monkeypatch.setattr(image, "_step", lambda command, *_: steps.append(command))
    for suite in (image.BOOKWORM, image.BOOKWORM_RPM):
        image._bootstrap(suite, tmp_path, None)
    assert [step[-2:] for step in steps] == [["bookworm", "root.tar"]] * 2
    plain, of_rpm = ({*word.split("=")[1].split(",")} for step in steps for word in step if "--include" in word)
    assert of_rpm - plain == {"dnf", "rpm", "zypper"} and plain < of_rpm


def test_each_defective_package_has_its_defect_and_the_version_of_the_sheet() -> None:
    sound, defective = rpm_packages.sound(DRIVER, build), rpm_packages.defective(DRIVER, build)
    assert [each.version for each in sound] == ["4.4.161.0", "12.0.0.0", "12.0.0.1"]
    assert {(each.package, each.version) for each in defective.values()} == {("be2net-modules", "12.0.0.0")}
    good, found = sound[1], rpm_packages.Defect
    assert defective[found.FOREIGN] == good and defective[found.UNSIGNED] == replace(good, signed=False)
    assert list(defective[found.OTHER_VERSION].files.values()) == [build("4.4.161.0", True)]
    (file,) = defective[found.OTHER_KERNEL].files
    assert file == f"lib/modules/{rpm_packages.OTHER_KERNEL}/updates/be2net.ko" != next(iter(good.files))
    assert defective[found.POST_FAILS].scripts["post"].endswith("exit 1\n")


def test_a_system_is_laid_once_and_again_when_the_recipe_changes(tmp_path: Path) -> None:
    """By the words of the first program, with folders of ours in the place of its own."""
    for name in ("os/once/etc", "root/etc"):
        (tmp_path / name).mkdir(parents=True)
    lay = rpmkit.LAY.replace("/bin/busybox ", "").replace("/os", str(tmp_path / "os"))
    lay = lay.replace("/root", str(tmp_path / "root")).replace("sync", "true")
    file = tmp_path / "root/etc/file"

    def boot(key: str) -> str:
        (tmp_path / "os/key").write_text(key)
        (tmp_path / "os/once/etc/file").write_text(f"of {key}")
        subprocess.run(["sh", "-ec", lay], check=True, capture_output=True)
        return file.read_text()

    assert boot("one") == "of one"
    file.write_text("changed")
    assert boot("one") == "changed"
    assert boot("two") == "of two"
