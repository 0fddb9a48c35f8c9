"""An iSCSI target on a Linux server: the kernel's own (LIO), through configfs, with volumes in memory.

All that it changes is in the journal before. What a killed run has left ends with ``niclab restore``, or when the next
run begins. The kernel's modules stay loaded, and ``configfs`` mounted, as their empty folders offer nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from niclab.bench.records import BenchPath, Role
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back
from niclab.storage.server_needs import Needs, begin_target, require_absent, require_port_free
from niclab.storage.volumes import VOLUME_BYTES, VOLUMES, DiskTarget, lost

PORT = 3260
"""RFC 7143, 13.1."""
NAME = "iqn.2026-01.net.niclab"
"""The beginning of the names of the lab's targets and initiators, and of nobody else's."""
TARGETS = "/sys/kernel/config/target"
STORE = f"{TARGETS}/core/rd_mcp_7114"
"""A number of its own, so that others' volumes in memory are not touched."""
MODULES = ("target_core_mod", "iscsi_target_mod")
NEEDS = Needs(modules=("configfs", *MODULES), memory_bytes=2 * VOLUMES * VOLUME_BYTES)
"""On a congested SAN, and by an engine of the card, there are as many volumes again."""
_PAGE_BYTES = 4096


@contextmanager
def offering(
    run: Run,
    path: BenchPath,
    volumes: range = range(VOLUMES),
    serials: tuple[str, ...] = (),
    after: DiskTarget | None = None,
) -> Iterator[DiskTarget]:
    """Offer volumes of the peer over a path inside the ``with`` block.

    Args:
        run: The current run.
        path: The path, at whose address the target listens.
        volumes: Numbers of the volumes; no other target has them meanwhile, but by :func:`offering_too`.
        serials: Serial number of each volume, by which an initiator knows it again; without one it has none.
        after: Another target, which is offered over the same path already.

    Raises:
        BenchFault: The peer's kernel has no target, cannot make it, or another one listens.
    """
    name = f"{after.name}.2" if after else _name(path)
    peer, target = run.server(Role.PEER), DiskTarget(name, run.bench.address_on(path, Role.PEER), volumes, serials)
    _require_free(peer, target, *map(volume, volumes))
    if after is None:
        require_port_free(peer, target.address, PORT)
    with put_back(run, peer, peer.name, "volumes are offered over iSCSI", _undo(target)):
        peer.run(_do(target))
        yield target


@contextmanager
def offering_too(run: Run, path: BenchPath, first: DiskTarget) -> Iterator[DiskTarget]:
    """Offer the volumes of a target over another path as well inside the ``with`` block, by a target of its own.

    Args:
        run: The current run.
        path: The other path.
        first: The target that has the volumes.

    Raises:
        BenchFault: The target cannot be made, or another one listens.
    """
    target = replace(first, name=_name(path), address=run.bench.address_on(path, Role.PEER))
    peer = run.server(Role.PEER)
    _require_free(peer, target)
    require_port_free(peer, target.address, PORT)
    with put_back(run, peer, peer.name, "volumes are offered over another path", _remove_target(target)):
        peer.run(_make_target(target))
        yield target


def _name(path: BenchPath) -> str:
    return f"{NAME}:{path.name}"


def volume(number: int) -> str:
    """Return the folder of a volume on the server of the target.

    Args:
        number: Of the volume, from 0 on.
    """
    return f"{STORE}/v{number}"


def gone(run: Run, target: DiskTarget) -> list[str]:
    """Return the volumes that a target has lost since it was made, in words.

    Args:
        run: The current run.
        target: The target.

    Raises:
        BenchFault: The server of the target does not answer.
    """
    places = range(len(target.volumes))
    looks = {f"LUN {place}": f"[ -e {_group(target)}/lun/lun_{place}/volume ]" for place in places}
    return lost(run.server(Role.PEER), target, looks)


def _group(target: DiskTarget) -> str:
    """The folder of the portal group of a target."""
    return f"{TARGETS}/iscsi/{target.name}/tpgt_1"


def _require_free(peer: Server, target: DiskTarget, *others: str) -> None:
    """Require that the kernel has a target, and that none of the lab's is left."""
    begin_target(peer, "an iSCSI target", TARGETS, MODULES)
    require_absent(peer, (*others, f"{TARGETS}/iscsi/{target.name}"))


def _do(target: DiskTarget) -> str:
    return f"{_make_volumes(target)}\n{_make_target(target)}"


def _make_volumes(target: DiskTarget) -> str:
    steps = ["set -e"]
    for place, number in enumerate(target.volumes):
        steps += [
            f"mkdir -p {volume(number)}",
            f"echo rd_pages={VOLUME_BYTES // _PAGE_BYTES} > {volume(number)}/control",
            f"echo 1 > {volume(number)}/enable",
        ]
        if target.serials:
            steps.append(f"echo {target.serials[place]} > {volume(number)}/wwn/vpd_unit_serial")
    return "\n".join(steps)


def _make_target(target: DiskTarget) -> str:
    """The commands that make target, portal and LUNs; every initiator of the path may log in (demo mode)."""
    group = _group(target)
    steps = ["set -e", f"mkdir -p {group}"]
    for place, number in enumerate(target.volumes):
        lun = f"{group}/lun/lun_{place}"
        steps += [f"mkdir {lun}", f"ln -s {volume(number)} {lun}/volume"]
    values = {"authentication": 0, "generate_node_acls": 1, "cache_dynamic_acls": 1, "demo_mode_write_protect": 0}
    steps += [f"echo {value} > {group}/attrib/{name}" for name, value in values.items()]
    steps += [f"mkdir {group}/np/{shlex.quote(f'{target.address}:{PORT}')}", f"echo 1 > {group}/enable"]
    return "\n".join(steps)


def _undo(target: DiskTarget) -> str:
    """The commands that remove all of it, in whatever state it is: also after a boot, which leaves none."""
    return "\n".join(
        (
            _remove_target(target),
            f"for f in {' '.join(map(volume, target.volumes))}; do",
            "  [ ! -d $f ] || rmdir $f || exit 1",
            "done",
            # another target of the lab may have volumes there still
            f"n=; for f in {STORE}/v*; do [ ! -d $f ] || n=$f; done",
            f'[ -n "$n" ] || [ ! -d {STORE} ] || rmdir {STORE}',
        )
    )


def _remove_target(target: DiskTarget) -> str:
    own, group = f"{TARGETS}/iscsi/{target.name}", _group(target)
    return "\n".join(
        (
            f"[ ! -d {group} ] || echo 0 > {group}/enable || :",
            f"for f in {group}/lun/lun_*; do rm -f $f/volume || exit 1; done",
            # the folders, each after what is in it
            f"for f in {group}/np/* {group}/lun/lun_* {group} {own}; do",
            "  [ ! -d $f ] || rmdir $f || exit 1",
            "done",
        )
    )
