"""The iSCSI initiator of the dut: open-iscsi over one session of a port, bound to that port's interface.

All that it changes is in the journal before: the session, its records, the daemon.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from niclab.bench.records import BenchPath, Role
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import until
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back
from niclab.storage.iscsi_target import NAME, PORT, VOLUME_BYTES, VOLUMES, IscsiTarget

FOLDER = "/tmp/niclab.iscsi"
"""A place where the state of a server (:mod:`niclab.state`) is looked at for what the lab has left."""
PROGRAMS = ("iscsiadm", "iscsid")
LIMIT_S = 3600.0
BEGINS_WITHIN_S = 20.0
DISKS_WITHIN_S = 20.0
GIVES_UP_AFTER_S = 15
"""A session that stays broken so long fails its operations; open-iscsi's own 120 s outlast a run."""
_LISTENS = "grep -q '@ISCSIADM_ABSTRACT_NAMESPACE' /proc/net/unix"
"""The socket of ``iscsid``, or of whatever starts it when it is asked (open-iscsi, usr/mgmt_ipc.h)."""
_SECTOR = 512


@dataclass(frozen=True)
class SessionDisks:
    """A session as the kernel shows it.

    ``addresses``: local ones of its connections; ``disks``: name of the disk and its size in bytes by LUN.
    """

    addresses: tuple[str, ...]
    disks: dict[int, tuple[str, int]]


def require_installed(run: Run) -> None:
    """Require that the dut has an initiator.

    Args:
        run: The current run.

    Raises:
        NotApplicable: It has none.
    """
    dut = run.server(Role.DUT)
    has = "; ".join(f"command -v {name} >/dev/null || echo {name}" for name in PROGRAMS)
    missing = dut.run(f"{{ {has}; }}").stdout.split()
    if missing:
        raise NotApplicable(f"{dut.name} has no {', '.join(missing)}: the iSCSI initiator is open-iscsi's")


@contextmanager
def attached(run: Run, path: BenchPath, target: IscsiTarget) -> Iterator[tuple[str, ...]]:
    """Log in to a target through the dut's port of a path inside the ``with`` block; yields its disks by LUN.

    Args:
        run: The current run.
        path: The path.
        target: The target, with volumes of the lab alone.

    Raises:
        BenchFault: The session cannot be made, goes through another port, or has other disks than the target.
    """
    dut, port = run.server(Role.DUT), run.bench.end(path, Role.DUT)
    own = Records(target, f"niclab.{path.name}", run.interface(port))
    with ExitStack() as undoing:
        undoing.enter_context(put_back(run, dut, dut.name, "a folder of iSCSI is made", f"rm -rf {FOLDER}"))
        dut.run(f"mkdir -p {FOLDER} && echo InitiatorName={NAME}:dut > {FOLDER}/name && modprobe iscsi_tcp")
        if not dut.ssh.run(_LISTENS).succeeded:
            job = dut.start(f"exec iscsid -f -i {FOLDER}/name -p {FOLDER}/pid", limit_s=LIMIT_S)
            undoing.callback(job.stop)
            job.await_begin(_LISTENS, "iscsid to listen", BEGINS_WITHIN_S)
        undoing.enter_context(put_back(run, dut, port.name, f"session of {target.name} is made", own.undo()))
        dut.run(own.do())
        until(
            lambda: len(_session(dut, target).disks) >= VOLUMES,
            within=DISKS_WITHIN_S,
            what=f"{dut.name}: {VOLUMES} disks of {target.name}",
            every=0.5,
        )
        found = _session(dut, target)
        _require_sound(dut, target, found, str(run.bench.address(port).ip))
        dut.run("udevadm settle --timeout=20")
        yield tuple(found.disks[lun][0] for lun in sorted(found.disks))


@dataclass(frozen=True)
class Records:
    """The records of open-iscsi for a session that is bound to an interface.

    Args:
        target: The target.
        name: Of the record of the interface.
        iface: The interface.
    """

    target: IscsiTarget
    name: str
    iface: str

    def do(self) -> str:
        """Return the commands that make them, and log in."""
        bound = f"iscsiadm -m iface -I {self.name}"
        steps = [f"{bound} -o new", f"{bound} -o update -n iface.net_ifacename -v {shlex.quote(self.iface)}"]
        steps.append(f"{bound} -o update -n iface.initiatorname -v {NAME}:dut")
        steps.append(f"{self._node()} -o new")
        values = {
            "node.startup": "manual",
            "node.session.timeo.replacement_timeout": GIVES_UP_AFTER_S,
            "node.session.auth.authmethod": "None",
        }
        steps += [f"{self._node()} -o update -n {name} -v {value}" for name, value in values.items()]
        steps.append(f"{self._node()} --login")
        return "\n".join(["set -e", *(f"{each} >/dev/null" for each in steps)])

    def undo(self) -> str:
        """Return the commands that log out and remove them, in whatever state they are."""
        session = "for f in /sys/class/iscsi_session/session*/targetname; do [ -e $f ] || continue; read -r v < $f; "
        session += f'[ "$v" != {self.target.name} ] || {self._node()} --logout >/dev/null || exit 1; done'
        node = f"! {self._node()} >/dev/null 2>&1 || {self._node()} -o delete"
        bound = f"! iscsiadm -m iface -I {self.name} >/dev/null 2>&1 || iscsiadm -m iface -I {self.name} -o delete"
        return "\n".join(("set -e", session, f"{{ {node}; }}", f"{{ {bound}; }} >/dev/null"))

    def _node(self) -> str:
        return f"iscsiadm -m node -T {self.target.name} -p {self.target.address}:{PORT} -I {self.name}"


def session_command(target: IscsiTarget) -> str:
    """Return the command that shows the session of a target.

    Args:
        target: The target.
    """
    return f"""for d in /sys/class/iscsi_session/session*; do
  [ -e "$d/targetname" ] || continue
  read -r v < "$d/targetname"; [ "$v" = {target.name} ] || continue
  for f in "$d"/device/../iscsi_host/host*/ipaddress; do read -r v < "$f"; printf 'address %s\\n' "$v"; done
  for b in "$d"/device/target*/*:*:*:*/block/*; do
    [ -b "/dev/${{b##*/}}" ] || continue
    l=${{b%/block/*}}; read -r v < "$b/size"; printf 'disk %s %s %s\\n' "${{l##*:}}" "${{b##*/}}" "$v"
  done
done"""


def read_session(text: str) -> SessionDisks:
    """Read what :func:`session_command` prints.

    Args:
        text: The output.

    Raises:
        ReadError: A line is none that it prints.
    """
    addresses, disks = list[str](), dict[int, tuple[str, int]]()
    for line in text.splitlines():
        if match := re.fullmatch(r"disk ([0-9]+) (sd[a-z]+) ([0-9]+)", line):
            disks[int(match[1])] = (match[2], int(match[3]) * _SECTOR)
        elif match := re.fullmatch(r"address ([0-9a-f.:]+)", line):
            addresses.append(match[1])
        else:
            raise ReadError(f"iSCSI session: {line!r}; expected an address, or a disk with LUN, name and sectors")
    return SessionDisks(tuple(addresses), disks)


def _session(dut: Server, target: IscsiTarget) -> SessionDisks:
    return read_session(dut.run(session_command(target)).stdout)


def _require_sound(dut: Server, target: IscsiTarget, found: SessionDisks, address: str) -> None:
    """Require that the session goes through a port, and that its disks are those of the target."""
    if found.addresses != (address,):
        raise BenchFault(
            f"{dut.name}: the session of {target.name} comes from {', '.join(found.addresses) or 'no address'}; "
            f"expected one from {address} (bench file)"
        )
    sizes = {lun: size for lun, (_, size) in found.disks.items()}
    wanted = dict.fromkeys(range(VOLUMES), VOLUME_BYTES)
    if sizes != wanted:
        raise BenchFault(
            f"{dut.name}: {target.name} has disks of {sizes} bytes by LUN; expected {VOLUMES} of {VOLUME_BYTES}"
        )
