"""The servers' image: Debian's stock kernel and a small Debian root, built once and cached by content.

``ensure()`` returns a folder ``~/.cache/niclab/image-<key>/`` with

- ``root.ext4``   the root file system every server's writable layer is based on (sparse raw image)
- ``vmlinux``     the kernel as ELF, taken out of Debian's vmlinuz: QEMU starts it without a boot loader
- ``initrd.cpio`` busybox and the modules that reach the root file system, uncompressed
- ``manifest.json`` release of Debian, kernel release and package versions

There is one of each release of Debian that a server can run (``BOOKWORM``, ``TRIXIE``), and one with the tools of the
rpm family (``BOOKWORM_RPM``), made when it is asked for. The key covers its name, everything under ``guest/`` and this
module: a changed recipe makes a new image.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import lzma
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path("~/.cache/niclab").expanduser()
BOOKWORM, TRIXIE = "bookworm", "trixie"
BOOKWORM_RPM = f"{BOOKWORM}+rpm"
ADDED = {"": (), "rpm": ("dnf", "rpm", "zypper")}
"""Packages that an image has on top of those of each: the word after its release's."""
COMPONENTS = ("main", "non-free")
"""bookworm has netperf in ``non-free``, trixie, relicensed, in ``main``."""
PACKAGES = [
    # a server: init, devices, kernel, remote access, logs
    "busybox-static",
    "kmod",
    "linux-image-amd64",
    "login",
    "netbase",
    "openssh-server",
    "procps",
    "sysvinit-core",
    "tiny-initramfs",
    "udev",
    "usr-is-merged",
    # what the lab asks of a server: see docs/bench-file.md, "Requirements of the servers"
    "ethtool",
    "iperf3",
    "iproute2",
    "iputils-ping",
    "multipath-tools",
    "netperf",
    "nfs-kernel-server",
    "open-iscsi",
    "pciutils",
    "python3",
    "tcpdump",
]
# never used by a server under test; a smaller module tree makes depmod in the guest six times as fast
EXCLUDED_PATHS = [
    "/usr/share/man/*",
    "/usr/share/locale/*",
    "/usr/share/doc/*",
    "/usr/share/info/*",
    "/usr/lib/debug/*",
    *(
        f"{root}/lib/modules/*/kernel/{tree}/*"
        for root in ("", "/usr")
        for tree in (
            "sound",
            "drivers/gpu",
            "drivers/media",
            "drivers/iio",
            "drivers/staging",
            "drivers/comedi",
            "drivers/bluetooth",
            "drivers/net/wireless",
            "drivers/isdn",
            "drivers/hid",
            "drivers/mtd",
            "drivers/usb",
            "drivers/platform",
            "drivers/md",
            "drivers/xen",
            "drivers/scsi/bnx2i",  # loads cnic, which takes the virtual driver bnx2x for the real one, and its memory
            "drivers/net/ethernet/sfc/siena",  # would take the cards of the virtual driver of that name from it
        )
    ),
    # programs that udev would run for each disk over iSCSI: multipathd has all it needs of a disk from udev's own rules
    *(
        f"{root}/lib/udev/rules.d/{name}.rules"
        for root in ("", "/usr")
        for name in ("55-scsi-sg3_id", "58-scsi-sg3_symlink", "60-multipath")
    ),
]
INCLUDED_PATHS = [
    f"{root}/lib/modules/*/kernel/drivers/md/{name}.ko*"
    for root in ("", "/usr")
    for name in ("dm-mod", "dm-multipath", "dm-round-robin")
]
"""Those of the excluded paths that are kept: modules of disks over two paths."""
INITRD_MODULES = ["virtio_pci", "virtio_blk", "ext4", "crc32c_generic"]
ROOT_SIZE = "2G"  # sparse: what is not written takes no room
TOOLS = {
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "fakeroot": "fakeroot",
    "cpio": "cpio",
    "qemu-img": "qemu-utils",
    "qemu-system-x86_64": "qemu-system-x86",
    "zstd": "zstd",
}


class ImageError(Exception):
    """The image cannot be built; the message says what is missing or which step failed."""


def missing_tools(tools: Mapping[str, str] | None = None) -> dict[str, str]:
    """Those of ``tools`` (program -> Debian package; left out: what the image needs) that the host does not have."""
    path = os.environ["PATH"] + os.pathsep + "/usr/sbin:/sbin"
    return {
        tool: package
        for tool, package in (TOOLS if tools is None else tools).items()
        if not shutil.which(tool, path=path)
    }


def key(suite: str = BOOKWORM) -> str:
    """Hash of everything the image depends on (16 hex digits)."""
    digest = hashlib.sha256(f"{suite}\n".encode() + Path(__file__).read_bytes())
    for file in sorted((HERE / "guest").rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(HERE)} {file.stat().st_mode:o}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def built(suite: str = BOOKWORM) -> bool:
    """Is the current image there?"""
    return (CACHE / f"image-{key(suite)}" / "manifest.json").exists()


def ensure(suite: str = BOOKWORM, log: Path | None = None) -> Path:
    """Return the folder of the current image; build it first when it is not there (needs network, about a minute).

    Args:
        suite: Debian's name of the release; ``+rpm`` after it: with dnf and zypper.
        log: File that receives the output of the build steps.

    Raises:
        ImageError: When a tool is missing or a step fails.
    """
    target = CACHE / f"image-{key(suite)}"
    with locked("image"):
        if not (target / "manifest.json").exists():
            _build(suite, target, log or CACHE / "image-build.log")
    return target


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Let no other process make what is called so in the cache inside the ``with`` block."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def made_whole(target: Path) -> Iterator[Path]:
    """Yield a folder to fill, which becomes ``target`` in place of what is there when all has gone well."""
    kind = target.name.partition("-")[0]
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{kind}-build-") as work:
        folder = Path(work) / "made"
        folder.mkdir()
        yield folder
        shutil.rmtree(target, ignore_errors=True)
        folder.rename(target)


def _build(suite: str, target: Path, log: Path) -> None:
    if missing := missing_tools():
        names = " ".join(sorted(set(missing.values())))
        raise ImageError(
            f"this machine lacks {', '.join(missing)}: run 'make setup', or as root: apt-get install {names}"
        )
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="image-build-") as folder, log.open("w") as output:
        work = Path(folder)
        _bootstrap(suite, work, output)
        # unpack and pack as (fake) root in one go, so that files keep their owners
        script = 'set -e; mkdir root; tar -xf root.tar -C root; cp -rP "$1"/. root/'
        script += '; mke2fs -q -t ext4 -L root -d root root.ext4 "$2"'
        _step(["fakeroot", "sh", "-c", script, "sh", str(HERE / "guest/root"), ROOT_SIZE], work, output)
        release = next((work / "root/lib/modules").iterdir()).name
        image = (work / f"root/boot/vmlinuz-{release}").read_bytes()
        (work / "vmlinux").write_bytes(extract_elf(image))
        _make_initrd(work, release, output)
        packages = subprocess.run(
            ["dpkg-query", f"--admindir={work}/root/var/lib/dpkg", "-W"], check=True, capture_output=True, text=True
        ).stdout.split("\n")
        manifest = {
            "suite": suite.partition("+")[0],
            "kernel": release,
            "packages": dict(line.split("\t") for line in packages if line),
        }
        (work / "manifest.json").write_text(json.dumps(manifest, indent=1))
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for name in ("root.ext4", "vmlinux", "initrd.cpio", "manifest.json"):
            (work / name).rename(target / name)


def _bootstrap(suite: str, work: Path, output: object) -> None:
    options = [f"--dpkgopt=path-exclude={path}" for path in EXCLUDED_PATHS]
    options += [f"--dpkgopt=path-include={path}" for path in INCLUDED_PATHS]  # dpkg: the last one that fits counts
    release, _, added = suite.partition("+")
    command = [
        "mmdebstrap",
        "--variant=apt",
        f"--components={','.join(COMPONENTS)}",
        f"--include={','.join((*PACKAGES, *ADDED[added]))}",
        '--aptopt=Apt::Install-Recommends "false"',
        '--aptopt=Acquire::Languages "none"',
        # the services that init starts here need none of their distribution's start-up links
        "--customize-hook=rm -f $1/etc/ssh/ssh_host_* $1/etc/hostname",
        *options,
        release,
        "root.tar",
    ]
    _step(command, work, output)


def _make_initrd(work: Path, release: str, output: object) -> None:
    initrd = work / "initrd"
    shutil.copytree(HERE / "guest/initrd", initrd)
    for folder in ("bin", "lib", "dev", "proc", "sys", "root"):
        (initrd / folder).mkdir()
    shutil.copy(work / "root/bin/busybox", initrd / "bin/busybox")
    modules = work / f"root/lib/modules/{release}"
    order = load_order(INITRD_MODULES, (modules / "modules.dep").read_text(), (modules / "modules.builtin").read_text())
    names = [f"{module_name(module)}.ko" for module in order]
    for module, name in zip(order, names, strict=True):
        (initrd / "lib" / name).write_bytes(unpacked(modules / module))
    (initrd / "modules").write_text("".join(f"{name}\n" for name in names))
    _step(["sh", "-c", "cd initrd && find . | sort | cpio --quiet -o -H newc -R 0:0 > ../initrd.cpio"], work, output)


def module_name(path: str) -> str:
    """The name of the module in a file, which may be compressed: ``ext4`` of ``kernel/fs/ext4/ext4.ko.xz``."""
    return Path(path).name.partition(".ko")[0]


def unpacked(module: Path) -> bytes:
    """A module as the kernel takes it; trixie has them compressed with xz."""
    return lzma.decompress(module.read_bytes()) if module.suffix == ".xz" else module.read_bytes()


def load_order(wanted: list[str], dependencies: str, builtin: str) -> list[str]:
    """Order in which to insert ``wanted`` modules, each after what it needs.

    Args:
        dependencies: Text of ``modules.dep``.
        builtin: Text of ``modules.builtin``; modules in it need no loading.
    """
    table = {
        module_name(path): (path, needs.split())
        for path, needs in (line.split(":") for line in dependencies.splitlines())
    }
    inside = {module_name(path) for path in builtin.splitlines()}
    order: list[str] = []

    def add(name: str) -> None:
        if name in inside:
            return
        if name not in table:
            raise ImageError(f"the kernel has no module {name}")
        path, needs = table[name]
        for need in reversed(needs):
            add(module_name(need))
        if path not in order:
            order.append(path)

    for name in wanted:
        add(name)
    return order


_SETUP_SECTORS, _HEADER_MAGIC, _PAYLOAD = 0x1F1, 0x202, 0x248
"""Places in a bzImage: setup_sects, header, payload_offset and payload_length (Linux, x86 boot protocol 2.08)."""
_SECTOR = 512
_SIZE_BYTES = 4
"""The size of the unpacked kernel follows the stream of the payload and belongs to it."""


def extract_elf(image: bytes) -> bytes:
    """Take the ELF kernel out of a bzImage: bookworm's are compressed with xz, trixie's with zstd.

    Raises:
        ImageError: When it is no bzImage, compressed otherwise, damaged, or holds something else.
    """
    if image[_HEADER_MAGIC : _HEADER_MAGIC + 4] != b"HdrS":
        raise ImageError("the kernel image is no bzImage")
    offset, length = struct.unpack_from("<II", image, _PAYLOAD)
    start = (image[_SETUP_SECTORS] + 1) * _SECTOR + offset
    stream = image[start : start + length - _SIZE_BYTES]
    if len(stream) != length - _SIZE_BYTES:
        raise ImageError("the kernel image is cut short")
    if stream.startswith(b"\xfd7zXZ\x00"):
        elf = _from_xz(stream)
    elif stream.startswith(b"\x28\xb5\x2f\xfd"):
        elf = _from_zstd(stream)
    else:
        raise ImageError(f"the kernel in its image begins with {stream[:6].hex(' ')}; expected an xz or zstd stream")
    if not elf.startswith(b"\x7fELF"):
        raise ImageError("the kernel in its image is no ELF file")
    return elf


def _from_xz(stream: bytes) -> bytes:
    try:
        return lzma.decompress(stream)
    except lzma.LZMAError as error:
        raise ImageError(f"the kernel image's xz stream is damaged: {error}") from error


def _from_zstd(stream: bytes) -> bytes:
    done = subprocess.run(["zstd", "--decompress", "--stdout"], input=stream, capture_output=True)
    if done.returncode:
        raise ImageError(f"the kernel image's zstd stream is damaged: {done.stderr.decode().strip()}")
    return done.stdout


def _step(command: list[str], cwd: Path, output: object) -> None:
    env = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "INITRD": "No"}
    done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)  # type: ignore[call-overload]
    if done.returncode:
        raise ImageError(
            f"{command[0]} failed with status {done.returncode}; see {getattr(output, 'name', 'its output')}"
        )
