"""The products of vendors: packages, the repository, signatures, firmware images; asked of dpkg, gpgv and sha256sum."""

from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import cardmodel
import cardsheet
import nvram
from vendor import deb, firmware, medium, packages, versions
from vendor.deb import Deb, DebError
from vendor.firmware import Image, ImageFormatError
from vendor.packages import Defect, Driver
from vendor.signing import Signer, SigningError, signer
from vendor.versions import VersionError

CARD = "emulex-oce11102"
KERNEL = "6.1.0-56-amd64"
DRIVER = Driver("be2net", "be2net-modules", "10.6.144.2702", "10.2.405.26", KERNEL)
UPDATES = f"lib/modules/{KERNEL}/updates"

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("dpkg-deb", "gpg", "gpgv"))), reason="this host lacks dpkg-deb, gpg or gpgv"
)


def build(version: str, loadable: bool) -> bytes:
    """A module that tells how it was asked for."""
    return f"module {version} loadable {loadable}".encode() * 100


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def fields(file: Path) -> dict[str, str]:
    text = run("dpkg-deb", "--field", file).stdout
    return dict(line.split(": ", 1) for line in text.splitlines() if not line.startswith(" "))


def content(file: Path, name: str) -> bytes:
    done = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(file)], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        member = tar.extractfile(f"./{name}")
        assert member is not None
        return member.read()


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Signer]:
    with signer(tmp_path_factory.mktemp("key") / "vendor.key") as key:
        yield key


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory, key: Signer) -> Path:
    """Everything of one vendor."""
    folder = tmp_path_factory.mktemp("vendor")
    medium.write(folder, CARD, DRIVER, build, [], key)
    return folder


# --- versions


@pytest.mark.parametrize(
    ("version", "older", "newer"),
    [
        ("10.6.144.2702", "10.6.144.2701", "10.6.144.2703"),
        ("1.78.80", "1.78.79", "1.78.81"),
        ("4.10.0", "4.9.0", "4.10.1"),
        ("3.6.7-k", "3.6.6-k", "3.6.8-k"),
        ("7.0.09", "7.0.08", "7.0.10"),
    ],
)
def test_versions_beside_one(version: str, older: str, newer: str) -> None:
    assert (versions.older(version), versions.newer(version)) == (older, newer)


@pytest.mark.parametrize(
    ("rules", "version"), [(["<4.4.249.3"], "4.4.249.2"), (["5.0.1"], "5.0.1"), ([">5, <6", "<4"], "3"), ([], None)]
)
def test_a_forbidden_version(rules: list[str], version: str | None) -> None:
    assert versions.forbidden(rules) == version


def test_what_has_no_number_has_no_neighbour() -> None:
    with pytest.raises(VersionError, match="'k' has no number that could be higher"):
        versions.newer("k")
    with pytest.raises(VersionError, match=r"'0\.0' has no number that could be lower"):
        versions.older("0.0")


# --- packages


def test_the_repository_has_every_version_in_both_styles(shipped: Path) -> None:
    found = {(f["Package"], f["Version"]) for f in map(fields, (shipped / "apt").glob("*.deb"))}
    wanted = ("10.2.405.26", "10.6.144.2702", "10.6.144.2703")
    styles = ("be2net-modules", "be2net-dkms")
    assert found == {*((name, version) for name in styles for version in wanted), ("no-compiler", "1")}


def test_a_package_brings_the_module_of_its_version_into_updates(shipped: Path) -> None:
    file = shipped / "apt/be2net-modules_10.2.405.26_amd64.deb"
    assert content(file, f"{UPDATES}/be2net.ko") == build("10.2.405.26", True)
    assert fields(file)["Architecture"] == "amd64"


def test_a_dkms_package_brings_an_archive_that_dkms_loads(shipped: Path) -> None:
    file = shipped / "apt/be2net-dkms_10.6.144.2702_amd64.deb"
    archive = content(file, "usr/share/be2net-dkms/be2net-10.6.144.2702.dkms.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        module = tar.extractfile(f"dkms_main_tree/{KERNEL}/x86_64/module/be2net.ko")
        conf = tar.extractfile("dkms_binaries_only/dkms.conf")
        assert module is not None and module.read() == build("10.6.144.2702", True)
        assert conf is not None and b'PACKAGE_VERSION="10.6.144.2702"\n' in conf.read()
    assert fields(file)["Conflicts"] == "be2net-modules"


DKMS = """\
#!/bin/sh
cd "$(dirname "$0")"
case $1 in
add | ldtarball) [ ! -e added ] || exit 3; touch added ;;
install) [ -e added ] ;;
esac
"""
"""As dkms 3.0.10 and 3.2.2: what loads an archive adds the module too, and a module cannot be added twice."""


def test_the_script_of_a_dkms_package_adds_the_module_once(tmp_path: Path) -> None:
    driver = Driver("be2net", "be2net-dkms", "1.1", "1.0", KERNEL)
    (tmp_path / "dkms").write_text(DKMS)
    (tmp_path / "dkms").chmod(0o755)
    script = packages.dkms_package(driver, "1.1", b"module").scripts["postinst"]
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", script, "postinst", "configure"], env=path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_each_defective_package_has_its_defect_and_the_name_of_a_sound_one(shipped: Path) -> None:
    files = {defect: next((shipped / "defective" / defect.value).iterdir()) for defect in Defect}
    sound = shipped / "apt/be2net-modules_10.6.144.2702_amd64.deb"
    assert fields(files[Defect.WRONG_ARCHITECTURE])["Architecture"] == "arm64"
    for defect in (Defect.UNLOADABLE, Defect.POSTINST_FAILS, Defect.OTHER_VERSION):
        assert files[defect].name == sound.name
        assert fields(files[defect])["Version"] == "10.6.144.2702"
    module = f"{UPDATES}/be2net.ko"
    assert content(files[Defect.UNLOADABLE], module) == build("10.6.144.2702", False)
    assert content(files[Defect.OTHER_VERSION], module) == build("10.2.405.26", True)
    assert content(files[Defect.POSTINST_FAILS], module) == content(sound, module)


def test_the_post_install_script_that_fails_does_so_half_way(shipped: Path, tmp_path: Path) -> None:
    (file,) = (shipped / "defective/postinst-fails").iterdir()
    run("dpkg-deb", "--control", file, tmp_path / "c")
    script = (tmp_path / "c/postinst").read_text().replace("depmod -a", "echo depmod")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == f"depmod {KERNEL}\n"
    assert done.stderr == "be2net-modules: cannot update the boot files\n"


def test_the_same_content_makes_the_same_package(tmp_path: Path) -> None:
    one = packages.modules_package(DRIVER, "1.0", b"module")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    first, second = (deb.build(one, tmp_path / folder) for folder in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()


def test_what_dpkg_refuses_is_told(tmp_path: Path) -> None:
    with pytest.raises(DebError, match=r"Bad Name.*dpkg-deb failed with status 2"):
        deb.build(Deb("Bad Name", "1", "all", "none"), tmp_path)


def test_a_package_of_dkms_alone_gives_its_name_to_the_other_style() -> None:
    driver = Driver("be2net", "be2net-dkms", "1.1", "1.0", KERNEL)
    assert {one.package for one in packages.sound(driver, build)} == {"be2net-modules", "be2net-dkms"}


@pytest.mark.parametrize("name", cardmodel.virtual_names())
def test_the_packages_and_images_of_every_sheet_can_be_made(name: str) -> None:
    driver = medium.driver_of(name, KERNEL)
    if driver is not None:
        assert len({one.file_name for one in packages.sound(driver, build)}) == 6
    assert all(len(image) > 1000 for image in medium.firmware_of(name).values())


# --- checksums and signatures


def test_the_checksums_fit_and_are_signed(shipped: Path) -> None:
    done = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=shipped, capture_output=True, text=True)
    wrong = [line.split(":")[0] for line in done.stdout.splitlines() if not line.endswith(": OK")]
    assert wrong == ["defective/damaged/be2net-modules_10.6.144.2702_amd64.deb"]
    listed = {line.split(maxsplit=1)[1] for line in (shipped / "SHA256SUMS").read_text().splitlines()}
    there = {str(path.relative_to(shipped)) for path in shipped.rglob("*") if path.is_file()}
    assert listed == there - {"SHA256SUMS", "SHA256SUMS.asc"}
    verify = ("gpgv", "--keyring", shipped / "vendor.gpg")
    assert run(*verify, shipped / "SHA256SUMS.asc", shipped / "SHA256SUMS").returncode == 0
    assert run(*verify, shipped / "apt/InRelease").returncode == 0


def test_a_changed_list_of_checksums_does_not_fit_its_signature(shipped: Path, tmp_path: Path) -> None:
    changed = tmp_path / "SHA256SUMS"
    changed.write_text((shipped / "SHA256SUMS").read_text().replace("0", "1", 1))
    done = run("gpgv", "--keyring", shipped / "vendor.gpg", shipped / "SHA256SUMS.asc", changed)
    assert done.returncode != 0
    assert "BAD signature" in done.stderr


def test_the_index_names_every_package_with_its_checksum(shipped: Path) -> None:
    index = (shipped / "apt/Packages").read_text()
    for file in (shipped / "apt").glob("*.deb"):
        assert f"Filename: ./{file.name}\nSize: {file.stat().st_size}\n" in index
    assert "defective" not in index
    release = (shipped / "apt/Release").read_text()
    assert run("sha256sum", shipped / "apt/Packages").stdout.split()[0] in release


def test_the_key_is_made_once(tmp_path: Path) -> None:
    for name in ("first", "second"):
        with signer(tmp_path / "k/vendor.key") as key:
            key.export(tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert (tmp_path / "k/vendor.key").stat().st_mode & 0o077 == 0


def test_a_damaged_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "vendor.key").write_text("no key")
    with pytest.raises(SigningError, match=r"gpg --import failed with status 2"), signer(tmp_path / "vendor.key"):
        raise AssertionError("it was taken")


# --- firmware


def crc_fits(data: bytes) -> bool:
    """As the driver checks it: CRC-32 of the whole file with the field itself as 0, and the length."""
    at, length_at = nvram.constants()["FW_CRC"], nvram.constants()["FW_LENGTH"]
    crc, length = struct.unpack_from("<I", data, at)[0], struct.unpack_from("<I", data, length_at)[0]
    blank = data[:at] + bytes(4) + data[at + 4 :]
    return zlib.crc32(blank) == crc and length == len(data) - nvram.constants()["FW_HEADER"]


def test_an_image_is_what_the_driver_checks() -> None:
    data = Image("be2net", CARD, "4.4.249.3").data()
    assert data[:8] == b"VCARDFW1"
    assert data[8:24].rstrip(b"\0") == b"be2net"
    assert data[0x18:0x38].rstrip(b"\0") == CARD.encode()
    assert data[0x38:0x58].rstrip(b"\0") == b"4.4.249.3"
    assert crc_fits(data)
    assert len(data) < nvram.constants()["IMAGE_SIZE"]
    assert not crc_fits(firmware.truncated(data))
    assert not crc_fits(firmware.bit_flipped(data))
    assert len(firmware.bit_flipped(data)) == len(data)


def test_images_of_two_versions_differ_in_more_than_the_header() -> None:
    first, second = (Image("be2net", CARD, version).data()[96:] for version in ("1.0", "1.1"))
    assert first != second


@pytest.mark.parametrize("version", ["", "v" * 33, "ä"])
def test_what_does_not_fit_into_the_header_is_refused(version: str) -> None:
    with pytest.raises(ImageFormatError, match="expected 1 to 32 ASCII characters"):
        Image("be2net", CARD, version).data()


def test_the_images_of_a_card_are_those_of_its_sheet_and_those_it_must_refuse() -> None:
    images, chelsio = medium.firmware_of(CARD), medium.firmware_of("chelsio-t580-cr")
    sheet = cardsheet.read(CARD)["firmware"]
    listed = {image["file"] for image in sheet["update"]["images"]}
    assert {"oc11-4.4.249.3.ufi"} < listed < set(images)
    made = {"oc11-4.4.249.2.ufi", "oc11-4.4.249.3-truncated.ufi", "oc11-4.4.249.3-bit-flipped.ufi", "t5fw-1.27.1.0.bin"}
    assert set(images) == listed | made
    assert images["t5fw-1.27.1.0.bin"] == chelsio["t5fw-1.27.1.0.bin"]
    assert {name for name, data in images.items() if not crc_fits(data)} == {
        "oc11-4.4.249.3-truncated.ufi",
        "oc11-4.4.249.3-bit-flipped.ufi",
    }
