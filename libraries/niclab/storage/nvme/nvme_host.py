"""The controller of the dut for NVMe over TCP: the kernel's own (nvme-tcp), through the port whose path has the target.

``/dev/nvme-fabrics`` takes what nvme-cli would write there (Linux, drivers/nvme/host/fabrics.c), so that no package is
needed. Nothing binds the connections to a port: paths have subnets of their own, and each connection must come from the
port's address and go out over its interface. The kernel chooses the number of queues: one for each CPU.

The controller is in the journal before it is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from niclab.bench.records import BenchPath, Role
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back
from niclab.storage.nvme.nvme_target import NAME, PORT
from niclab.storage.server_needs import Needs
from niclab.storage.session import SessionDisks, await_session, read_session, require_route, way_of
from niclab.storage.volumes import DiskTarget

MODULE = "nvme-tcp"
NEEDS = Needs(modules=(MODULE,))
HOST_ID = "6e69636c-6162-4000-8000-6e766d652d68"
"""Newer kernels refuse a name of a host with the number of another (nvmf_host_add())."""
CONTROLLERS = "/sys/class/nvme"
AGAIN_AFTER_S = 5
GIVES_UP_AFTER_S = 15
"""A controller that stays broken so long fails its operations, as a session of iSCSI; the kernel's own 600 s outlast a
run."""
ANSWERS_WITHIN_S = 15
"""Assumption: a silent target that answers a Keep Alive within this is no broken one. The kernel's own 5 s are less
than a loaded emulated server may stand still."""
_DISK = "nvme[0-9]+(c[0-9]+)?n[0-9]+"
_FIRST = 1
"""Namespaces are numbered from 1 on."""


@dataclass(frozen=True)
class NvmeDisks:
    """The disks of a controller, in the order of their namespaces.

    ``names``: as in ``/dev``; ``counted``: those that count, which are the disks of this path alone where the kernel
    makes one disk of all paths to a namespace (Linux, drivers/nvme/host/multipath.c).
    """

    names: tuple[str, ...]
    counted: tuple[str, ...]


@contextmanager
def attached(run: Run, path: BenchPath, target: DiskTarget) -> Iterator[NvmeDisks]:
    """Connect to a target through the dut's port of a path inside the ``with`` block.

    Args:
        run: The current run.
        path: The path.
        target: The target, with volumes of the lab alone.

    Raises:
        BenchFault: The controller cannot be made, goes through another port, or has other disks than the target.
    """
    dut, port = run.server(Role.DUT), run.bench.end(path, Role.DUT)
    with put_back(run, dut, port.name, f"controller of {target.name} is made", disconnect(target)):
        dut.run(connect(target))
        own = str(run.bench.address(port).ip)
        found = await_session(dut, target, lambda: _session(dut, target), own, _FIRST)
        require_route(dut, target, found, own)
        dut.run("udevadm settle --timeout=40")
        counted = tuple(found.disks[number][0] for number in sorted(found.disks))
        yield NvmeDisks(tuple(map(of_all_paths, counted)), counted)


def of_all_paths(name: str) -> str:
    """Return the disk of a namespace that programs open: ``nvme0n1`` for ``nvme0c2n1``, the disk of one path.

    Args:
        name: The disk that a controller has.
    """
    return re.sub("c[0-9]+", "", name)


def connect(target: DiskTarget) -> str:
    """Return the commands that make a controller of a target, one only.

    Args:
        target: The target.
    """
    options = {
        "transport": "tcp",
        "traddr": target.address,
        "trsvcid": PORT,
        "nqn": target.name,
        "hostnqn": f"{NAME}:dut",
        "hostid": HOST_ID,
        "reconnect_delay": AGAIN_AFTER_S,
        "ctrl_loss_tmo": GIVES_UP_AFTER_S,
        "keep_alive_tmo": ANSWERS_WITHIN_S,
    }
    words = ",".join(f"{name}={value}" for name, value in options.items())
    # the shell's own printf would not say why the kernel refuses it
    return f"modprobe {MODULE} && env printf %s '{words}' > /dev/nvme-fabrics"


def disconnect(target: DiskTarget) -> str:
    """Return the commands that end the controllers of a target, in whatever state they are.

    Args:
        target: The target.
    """
    return f"""for f in {CONTROLLERS}/nvme*/subsysnqn; do
  {{ [ -e "$f" ] && read -r v < "$f" && [ "$v" = {target.name} ]; }} 2>/dev/null || continue
  echo 1 > "${{f%/*}}/delete_controller" || [ ! -e "$f" ] || exit 1
done"""


def session_command(target: DiskTarget) -> str:
    """Return the command that shows the controllers of a target, and the connections with it.

    Args:
        target: The target.
    """
    return f"""c=$(ss -Htn state established dst {target.address}:{PORT}) || exit 1
echo "$c" | while read -r r s l p; do [ -z "$l" ] || echo "${{l%:*}}"; done | sort -u |
while read -r v; do
    {way_of("$v", target)}
done
for d in {CONTROLLERS}/nvme*; do
  {{ read -r v < "$d/subsysnqn" && [ "$v" = {target.name} ]; }} 2>/dev/null || continue
  for b in "$d"/nvme*n*; do
    {{ read -r n < "$b/nsid" && read -r v < "$b/size"; }} 2>/dev/null || continue
    f=${{b##*/}}; case $f in *c*n*) f=${{f%%c*}}n${{f##*n}} ;; esac
    [ ! -b "/dev/$f" ] || printf 'disk %s %s %s\\n' "$n" "${{b##*/}}" "$v"
  done
done"""


def _session(dut: Server, target: DiskTarget) -> SessionDisks:
    return read_session(dut.run(session_command(target)).stdout, _DISK)
