"""A server's machine: its disk, its initial RAM disk, and the QEMU command line that is the hardware."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cardkit
import hostcpu
import image
import nvram
import rpmkit
from freebsd import kit as freebsd_kit
from identity import Identity
from layout import FREEBSD, RPM_TOOLS, Server
from qemu import Qemu
from wholefile import write_private

MEMORY_MIB = 448
"""Memory of a server; 340 are free after tests of a whole run, which leave some behind.

The largest receive rings of both ports of any card take 300 (16384 of 9600 bytes, T580).
"""
TRANSLATION_MIB = 128  # emulated code; with the memory and QEMU itself about 550 MiB a server
PROCESSOR = {
    "tcg": (f"tcg,thread={{threads}},tb-size={TRANSLATION_MIB}", "-cpu", "max,-svm"),
    "kvm": ("kvm", "-cpu", "host"),
}
FIRST_WIRE = 20  # file descriptor of the first cable's socket; QEMU has its own below
MANAGEMENT_MAC = "52:54:00:12:34:56"  # rc.boot knows the management interface by it
ROOT_PORT_ADDRESS = 0x10  # PCI device number of the first root port on the root complex


def prepare(server: Server, identity: Identity, current_image: Path, program: Qemu) -> str | None:
    """Make the server's disk and its card's memory (if there is none), its initial RAM disk, and what its BMC starts.

    That is ``qemu.json``.

    Returns:
        A note for the user when the server had a disk that gave way to a new one, see :func:`lay_disk`.
    """
    server.folder.mkdir(parents=True, exist_ok=True)
    note = lay_disk(server, current_image)
    kit = cardkit.ensure(current_image, server.card.name) if server.card.virtual else None
    if kit and not server.nvram.exists():
        nvram.lay_out(server.nvram, server.card.name, server.serial, {port.place: port.mac for port in server.ports})
    system = [freebsd_kit.ensure(server.card.name)] if server.system == FREEBSD else []
    if tool := RPM_TOOLS.get(server.system):
        system.append(rpmkit.archive(tool))
    _make_initrd(server, identity, [current_image / "initrd.cpio", *([kit.initrd] if kit else []), *system])
    disk = kit.disk if kit else None
    if kit and tool:
        disk = rpmkit.disk(current_image, server.card.name)
    description = {"argv": argv(server, current_image, disk, program), "cwd": str(server.folder)}
    (server.folder / "qemu.json").write_text(json.dumps(description, indent=1))
    return note


def lay_disk(server: Server, current_image: Path) -> str | None:
    """Make the server's disk, unless it has one of this very image.

    Kernel and modules must be of one build, and a bench must be what the repository says: a disk of another image gives
    way to a new one.

    Returns:
        A note for the user when there was one.
    """
    origin = server.folder / f"image{server.disk.stem.removeprefix('disk')}.json"
    had_one = server.disk.exists()
    if had_one and json.loads(origin.read_text())["image"] == str(current_image):
        return None
    server.disk.unlink(missing_ok=True)
    origin.write_text(json.dumps({"image": str(current_image)}))
    command = ["qemu-img", "create", "-q", "-f", "qcow2", "-b", str(current_image / "root.ext4"), "-F", "raw"]
    subprocess.run([*command, str(server.disk)], check=True)
    return f"{server.role}: its disk was made from another image; it starts with a new one" if had_one else None


def _make_initrd(server: Server, identity: Identity, before: list[Path]) -> None:
    """The archives of the image and the card, and after them one of what makes this server itself."""
    with tempfile.TemporaryDirectory(dir=server.folder) as folder:
        tree = Path(folder)
        private, _ = identity.host_key(server.role)
        for name, text, mode in (
            ("server/etc/hostname", server.role + "\n", 0o644),
            ("server/etc/ssh/ssh_host_ed25519_key", private, 0o600),
            ("server/root/.ssh/authorized_keys", identity.user_public_key + "\n", 0o600),
            ("password", identity.secret("VBENCH_CONSOLE_PASSWORD"), 0o600),
        ):
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(mode)
        (tree / "server/root/.ssh").chmod(0o700)
        archive = subprocess.run(
            ["sh", "-c", "find . | sort | cpio --quiet -o -H newc -R 0:0"], cwd=tree, check=True, capture_output=True
        ).stdout
    write_private(server.folder / "initrd.cpio", b"".join([*(path.read_bytes() for path in before), archive]))


HYSTART_LOW_WINDOW = "tcp_cubic.hystart_low_window=128"
"""Segments below which CUBIC's slow start is not ended by a delayed acknowledgement; 16 is the kernel's own choice.

From there on CUBIC's window grows by wall time and by round trips, and both are some hundred times slower on a path at
line rate / 200: what costs a real card a moment would cost the virtual one a whole run of some seconds. Measured with
acknowledgements delayed (tx-slow=800): three runs of eight at 10 Mbit/s instead of 47, with 128 none of 24."""


def argv(server: Server, base: Path, disk: Path | None, program: Qemu) -> list[str]:
    """The machine: processors, memory, a disk, a management port, and the card (see :func:`card_arguments`)."""
    folder = server.folder
    accel = accelerator(base, program)
    threads = "single" if server.card.processors == 1 else "multi"
    tsc = hostcpu.tsc_khz() if accel == "tcg" else None
    kernel = ["console=ttyS0,115200", "quiet", "root=/dev/vda", "mitigations=off", "cryptomgr.notests", "panic=0"]
    kernel += ["sysrq_always_enabled", "unknown_nmi_panic"]  # a server that hangs can be asked why
    kernel.append(HYSTART_LOW_WINDOW)
    # an emulated processor has the host's counter; calibrating it against emulated timers goes wrong now and then
    if tsc:
        kernel += [f"tsc_early_khz={tsc}", "tsc=reliable"]
    wires = [
        (FIRST_WIRE + index, server.address, port.qemu_udp, panel_address(server), port.panel_udp)
        for index, port in enumerate(server.ports)
    ]
    command = [
        # its own identity, not that of the BMC which starts it
        *(sys.executable, str(Path(__file__).with_name("launch.py")), f"qemu-{server.role}", json.dumps(wires)),
        *(*program.command, "-name", f"vbench-{server.role}", "-nodefaults", "-no-user-config", "-display", "none"),
        *("-accel", *(word.format(threads=threads) for word in PROCESSOR[accel])),
        *(
            "-M",
            "q35,sata=off,smbus=off",
            "-m",
            str(MEMORY_MIB),
            "-smp",
            str(server.card.processors),
            "-rtc",
            "base=utc,clock=host",
        ),
        *("-kernel", str(base / "vmlinux"), "-initrd", str(folder / "initrd.cpio"), "-append", " ".join(kernel)),
        *("-drive", f"file={server.disk},if=none,id=disk,cache=unsafe", "-device", "virtio-blk-pci,drive=disk"),
        *("-device", "virtio-rng-pci"),
        *("-chardev", f"socket,id=serial,path={folder}/serial,reconnect=1", "-serial", "chardev:serial"),
        *("-netdev", f"user,id=mgmt,restrict=on,hostfwd=tcp:{server.address}:2222-:22"),
        *("-device", f"virtio-net-pci,netdev=mgmt,mac={MANAGEMENT_MAC},romfile="),
    ]
    for user in ("bmc", "console", "cables"):
        command += ["-qmp", f"unix:{server.qmp(user)},server=on,wait=off"]
    for port, (descriptor, *_) in zip(server.ports, wires, strict=True):
        command += ["-netdev", f"dgram,id=net-{port.name},local.type=fd,local.str={descriptor}"]
    return command + card_arguments(server, disk)


def card_arguments(server: Server, disk: Path | None) -> list[str]:
    """The card.

    Args:
        disk: The disk of a virtual card's vendor.
    """
    return _qemu_card(server) if disk is None else _virtual_card(server, disk)


def panel_address(server: Server) -> str:
    """Return the address at which the cables listen."""
    return server.address.rsplit(".", 1)[0] + ".40"


def _qemu_card(server: Server) -> list[str]:
    """A PCIe root port for each card, and behind it a function for each port of the card."""
    card, command = server.card.qemu, list[str]()
    assert card is not None, f"{server.card.name} is none of QEMU's"
    buses = sorted({_bus(port.pci) for port in server.ports})
    for number in range(len(buses)):
        slot = f"pcie-root-port,id=root{number},chassis={number + 1},addr={ROOT_PORT_ADDRESS + number:#x}"
        command += ["-device", f"{slot},x-speed=2_5,x-width={card.lanes}"]
    for port in server.ports:
        siblings = [other for other in server.ports if _bus(other.pci) == _bus(port.pci)]
        place = f"bus=root{buses.index(_bus(port.pci))},addr=0.{port.pci[-1]}"
        if len(siblings) > 1:
            # Linux finds the functions of a card with ARI by the next function that each names
            place += f",multifunction=on,x-pcie-ari-nextfn-1={'on' if port is siblings[0] else 'off'}"
        function = f"{card.device},{place},netdev=net-{port.name},mac={port.mac},id={port.name},romfile="
        command += ["-device", function]
    return command


def _bus(pci: str) -> str:
    """Domain and bus of a PCI address."""
    return pci.rpartition(":")[0]


def _virtual_card(server: Server, disk: Path) -> list[str]:
    """The memory of a virtual card, a virtio-net for the wire of each port, and the disk with the vendor's files."""
    memory = f"memory-backend-file,id=nvram,share=on,size={nvram.constants()['FILE_SIZE']},mem-path={server.nvram}"
    command = ["-object", memory, "-device", "ivshmem-plain,memdev=nvram"]
    for port in server.ports:
        wire = f"virtio-net-pci,netdev=net-{port.name},id={port.name},mac={port.wire_mac},romfile="
        command += ["-device", wire]
    command += ["-drive", f"file={disk},if=none,id=vendor,format=raw,readonly=on"]
    return [*command, "-device", "virtio-blk-pci,drive=vendor"]


def accelerator(base: Path, program: Qemu) -> str:
    """``kvm`` where a guest really starts with it, else ``tcg``; asked once per boot of the host.

    ``VBENCH_ACCEL`` overrides. A device file that opens is no proof: some hosts offer one that cannot run this guest.
    """
    if chosen := os.environ.get("VBENCH_ACCEL"):
        if chosen not in PROCESSOR:
            raise image.ImageError(f"VBENCH_ACCEL is {chosen!r}; expected {' or '.join(PROCESSOR)}")
        return chosen
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    cache = image.CACHE / "accelerator.json"
    if cache.exists():
        known: dict[str, str] = json.loads(cache.read_text())
        if known.get("boot_id") == boot_id:
            return known["accelerator"]
    found = "kvm" if _kvm_boots(base, program) else "tcg"
    cache.write_text(json.dumps({"boot_id": boot_id, "accelerator": found}))
    return found


def _kvm_boots(base: Path, program: Qemu, within_s: float = 5.0) -> bool:
    """Does the kernel get as far as its first line under KVM?"""
    with tempfile.TemporaryDirectory() as folder:
        serial = Path(folder) / "serial"
        command = [*program.command, "-accel", "kvm", "-cpu", "host", "-M", "q35", "-m", "256", "-nodefaults"]
        command += [
            "-display",
            "none",
            "-no-reboot",
            "-kernel",
            str(base / "vmlinux"),
            "-append",
            "console=ttyS0 panic=-1",
        ]
        process = subprocess.Popen(
            [*command, "-serial", f"file:{serial}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            end = time.monotonic() + within_s
            while time.monotonic() < end:
                if serial.exists() and b"Linux version" in serial.read_bytes():
                    return True
                try:
                    process.wait(0.05)
                except subprocess.TimeoutExpired:
                    continue
                return serial.exists() and b"Linux version" in serial.read_bytes()
            return False
        finally:
            process.kill()
            process.wait()
