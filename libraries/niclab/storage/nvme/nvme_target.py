"""A target of NVMe over TCP on a Linux server: the kernel's own (nvmet), through configfs, with volumes in memory.

A volume is a file in memory behind a loop device, whose counts are those of the target: nvmet itself counts nothing
that configfs shows. All that it changes is in the journal before. What a killed run has left ends with ``niclab
restore``, or when the next run begins. The kernel's modules stay loaded, and ``configfs`` mounted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from niclab.bench.records import BenchPath, Role
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back
from niclab.storage.disk_counts import DiskCounts, DiskStat, Numbers, counted, of_all
from niclab.storage.server_needs import Needs, begin_target, missing, require_absent, require_port_free
from niclab.storage.volumes import VOLUME_BYTES, VOLUMES, DiskTarget, lost

PORT = 4420
"""NVM Express TCP Transport Specification 1.0, 3.1.1: assigned by IANA."""
NAME = "nqn.2026-01.net.niclab"
"""The beginning of the names of the lab's targets and hosts, and of nobody else's."""
TARGETS = "/sys/kernel/config/nvmet"
NUMBER = 7114
"""A number of its own, so that others' ports in configfs are not touched."""
FOLDER = "/tmp/niclab.nvme"
"""A place where the state of a server (:mod:`niclab.state`) is looked at for what the lab has left."""
BLOCKS = "/sys/block"
MODULES = ("nvmet", "nvmet-tcp", "loop")
NEEDS = Needs(("losetup",), memory_bytes=VOLUMES * VOLUME_BYTES)
"""Its modules are looked for by themselves: without them the test is not applicable."""
_GONE_WITHIN = 100
"""Tenths of a second in which a loop device ends that udev reads."""


@contextmanager
def offering(run: Run, path: BenchPath) -> Iterator[DiskTarget]:
    """Offer volumes of the peer over a path inside the ``with`` block.

    Args:
        run: The current run.
        path: The path, at whose address the target listens.

    Raises:
        BenchFault: The peer lacks a program, cannot make the target, or another one listens.
    """
    peer = run.server(Role.PEER)
    target = DiskTarget(f"{NAME}:{path.name}", run.bench.address_on(path, Role.PEER))
    _require_free(peer, target)
    with put_back(run, peer, peer.name, "volumes are offered over NVMe", undo(target)):
        peer.run(do(target))
        yield target


def look(run: Run, target: DiskTarget, disks: Sequence[str]) -> DiskCounts:
    """Read what disks, the target's volumes and TCP have counted until now.

    Args:
        run: The current run.
        target: The target.
        disks: Names of the disks on the dut.

    Raises:
        BenchFault: A count cannot be read.
    """
    devices = " ".join(f"{_namespace(target, number)}/device_path" for number in target.volumes)
    command = f"for f in {devices}; do read -r d < $f && cat {BLOCKS}/${{d##*/}}/stat || exit 1; done"

    def of_target(rows: Numbers) -> tuple[int, int, int]:
        found = [DiskStat.of(row) for row in of_all(rows, len(target.volumes))]
        commands = sum(each.operations + each.merged for each in found)  # each command is one request to the volume
        return sum(each.read_bytes for each in found), sum(each.written_bytes for each in found), commands

    return counted(run, disks, command, of_target, stay=False)


def gone(run: Run, target: DiskTarget) -> list[str]:
    """Return the volumes that a target has lost since it was made, in words.

    Args:
        run: The current run.
        target: The target.

    Raises:
        BenchFault: The server of the target does not answer.
    """
    looks = {
        f"namespace {number + 1}": f'[ "$(cat {_namespace(target, number)}/enable 2>/dev/null)" = 1 ]'
        for number in target.volumes
    }
    return lost(run.server(Role.PEER), target, looks)


def _subsystem(target: DiskTarget) -> str:
    return f"{TARGETS}/subsystems/{target.name}"


def _namespace(target: DiskTarget, number: int) -> str:
    """The folder of a namespace, which are numbered from 1 on."""
    return f"{_subsystem(target)}/namespaces/{number + 1}"


def _require_free(peer: Server, target: DiskTarget) -> None:
    """Require that the kernel has a target, and that neither one of the lab's nor another is in its place."""
    if lacks := missing(peer, NEEDS):
        raise BenchFault(f"{peer.name}: has no {', '.join(lacks)}; expected {NEEDS}")
    begin_target(peer, "a target of NVMe", TARGETS, MODULES)
    require_absent(peer, (_subsystem(target), f"{TARGETS}/ports/{NUMBER}", FOLDER))
    require_port_free(peer, target.address, PORT)


def do(target: DiskTarget) -> str:
    """Return the commands that make volumes, target and port. Every host of the path may connect.

    Args:
        target: The target.
    """
    own, port, size = _subsystem(target), f"{TARGETS}/ports/{NUMBER}", len(target.volumes) * VOLUME_BYTES
    steps = [
        "set -e",
        f"mkdir -p {FOLDER}",
        f"mount -t tmpfs -o size={size},mode=700 niclab.nvme {FOLDER}",
        f"mkdir {own}",
        f"echo 1 > {own}/attr_allow_any_host",
    ]
    for number in target.volumes:
        file, namespace = f"{FOLDER}/v{number}", _namespace(target, number)
        steps += [
            f"truncate -s {VOLUME_BYTES} {file}",
            f"losetup -f {file}",
            f"mkdir {namespace}",
            *_loops(file, f'echo "/dev/$d" > {namespace}/device_path'),
            f"echo 1 > {namespace}/enable",
        ]
    values = {"trtype": "tcp", "adrfam": "ipv4", "traddr": target.address, "trsvcid": PORT}
    steps += [f"mkdir {port}", *(f"echo {value} > {port}/addr_{name}" for name, value in values.items())]
    return "\n".join([*steps, f"ln -s {own} {port}/subsystems/{target.name}"])


def undo(target: DiskTarget) -> str:
    """Return the commands that remove all of it, in whatever state it is: also after a boot, which leaves none.

    Args:
        target: The target.
    """
    own, port = _subsystem(target), f"{TARGETS}/ports/{NUMBER}"
    n = f'n=0; while [ -e "{BLOCKS}/$d/loop/backing_file" ]'
    return "\n".join(
        (
            f"rm -f {port}/subsystems/{target.name} || exit 1",
            # the folders, each after what is in it
            f"for f in {own}/namespaces/* {own} {port}; do",
            '  [ ! -e "$f/device_path" ] || echo 0 > "$f/enable" || :',
            '  [ ! -d "$f" ] || rmdir "$f" || exit 1',
            "done",
            *_loops(f"{FOLDER}/*", 'losetup -d "/dev/$d" || exit 1'),
            # one that udev reads ends after it
            *_loops(f"{FOLDER}/*", f"{n}; do n=$((n+1)); [ $n -le {_GONE_WITHIN} ] || exit 1; sleep 0.1; done"),
            f"! grep -qs ' {FOLDER} ' /proc/mounts || umount {FOLDER} || exit 1",
            f"rm -rf {FOLDER}",
        )
    )


def _loops(file: str, then: str) -> tuple[str, ...]:
    """Commands for each loop device ``$d`` of files, the pattern of which is one of ``case``."""
    return (
        f"for f in {BLOCKS}/loop*/loop/backing_file; do",
        '  { [ -e "$f" ] && read -r v < "$f"; } 2>/dev/null || continue',
        f'  d=${{f%/loop/backing_file}}; d=${{d##*/}}; case "$v" in {file}) {then} ;; esac',
        "done",
    )
