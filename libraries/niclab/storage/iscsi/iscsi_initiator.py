"""The iSCSI initiator of the dut: open-iscsi over one session, through the port whose path has the target's address.

Unless it is asked for, no record of an interface binds the session to its port: ``iscsiadm -m iface`` loads the offload
modules of every card that has some (open-iscsi, transport_probe_for_offload()), which would change the card under test.
Paths have subnets of their own, and the session must come from the port's address and go out over its interface.

All that it changes is in the journal before: the daemon with its folder, the session with its record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import MappingProxyType

from niclab.bench.records import BenchPath, Role
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back
from niclab.storage.iscsi.iscsi_target import NAME, PORT
from niclab.storage.server_needs import Needs, missing
from niclab.storage.session import SessionDisks, await_session, read_session, require_route, way_of
from niclab.storage.volumes import DiskTarget

FOLDER = "/tmp/niclab.iscsi"
"""A place where the state of a server (:mod:`niclab.state`) is looked at for what the lab has left."""
PROGRAMS = ("iscsiadm", "iscsid")
NEEDS = Needs(PROGRAMS, ("iscsi_tcp", "sd_mod"))
LOGS_IN_WITHIN_S, TRIES = 15, 3
"""open-iscsi's own eight tries of a target that does not answer outlast the command that asks for them."""
GIVES_UP_SETTING = "node.session.timeo.replacement_timeout"
GIVES_UP_AFTER_S = 15
"""A session that stays broken so long fails its operations; open-iscsi's own 120 s outlast a run."""
ANSWERS_WITHIN_S = 15
"""Assumption: a silent target that answers a NOP-Out within this has no broken session. open-iscsi's own 5 s are less
than a loaded emulated server may stand still."""
DEFAULT = "default"
"""The record of an interface that open-iscsi always has: the software initiator, bound to nothing."""
SESSIONS = "/sys/class/iscsi_session"
_LISTENS = "grep -q '@ISCSIADM_ABSTRACT_NAMESPACE' /proc/net/unix"
"""The socket of ``iscsid``, or of whatever starts it when it is asked (open-iscsi, usr/mgmt_ipc.h)."""
DISK = "sd[a-z]+"
"""The name of a disk."""


def require_installed(run: Run) -> None:
    """Require that the dut has an initiator.

    Args:
        run: The current run.

    Raises:
        BenchFault: It has none.
    """
    dut = run.server(Role.DUT)
    if lacks := missing(dut, Needs(PROGRAMS)):
        raise BenchFault(f"{dut.name}: has no {', '.join(lacks)}; expected an iSCSI initiator (Debian: open-iscsi)")


@contextmanager
def attached(
    run: Run,
    path: BenchPath,
    target: DiskTarget,
    record: str = DEFAULT,
    address: str = "",
    settings: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[tuple[str, ...]]:
    """Log in to a target through the dut's port of a path inside the ``with`` block; yields its disks by LUN.

    Args:
        run: The current run.
        path: The path.
        target: The target, with volumes of the lab alone.
        record: Name of open-iscsi's record of the interface.
        address: IP address from which the session must come; by default that of the port.
        settings: Settings of open-iscsi by name, where they are others than those of a session of the lab.

    Raises:
        BenchFault: The session cannot be made, goes through another port, or has other disks than the target.
    """
    dut, port = run.server(Role.DUT), run.bench.end(path, Role.DUT)
    with ExitStack() as undoing:
        if not _has_daemon(run, dut):  # one that is ended before another session's logout leaves that unable to
            undoing.enter_context(put_back(run, dut, dut.name, "iscsid is started where none listens", end_daemon()))
        dut.run(f"modprobe iscsi_tcp || exit 1\n{begin_daemon()}")
        undoing.enter_context(
            put_back(run, dut, port.name, f"session of {target.name} is made", log_out(target, record))
        )
        dut.run(log_in(target, record, settings))
        own = str(run.bench.address(port).ip)
        found = await_session(dut, target, lambda: _session(dut, target), address or own)
        if address in ("", own):  # no interface of the server has the address of a card's engine
            require_route(dut, target, found, own)
        dut.run("udevadm settle --timeout=40")
        yield tuple(found.disks[lun][0] for lun in sorted(found.disks))


def _has_daemon(run: Run, dut: Server) -> bool:
    """Does a session that is made already end the daemon after it?"""
    actions = [entry.action for entry in run.journal.pending()]
    return any((each.where, each.command) == (dut.name, end_daemon()) for each in actions)


def begin_daemon() -> str:
    """Return the commands that start an ``iscsid`` of the lab where nobody listens. It listens when they end."""
    own = f"mkdir -p {FOLDER} && echo InitiatorName={NAME}:dut > {FOLDER}/name"
    # it is a process of its own from here on: its output must not hold the connection to the server open
    own += f" && iscsid -i {FOLDER}/name -p {FOLDER}/pid </dev/null >{FOLDER}/said 2>&1"
    return f"{_LISTENS} || {{ {own}; }} || {{ cat {FOLDER}/said >&2; exit 1; }}"


def end_daemon() -> str:
    """Return the commands that end the lab's ``iscsid``, and remove its folder: also after a boot, which ends it."""
    return f"""p=; c=; {{ read -r p < {FOLDER}/pid && read -r c < "/proc/$p/comm"; }} 2>/dev/null
if [ "$c" = iscsid ]; then
  kill "$p"; n=0
  while [ -d "/proc/$p" ]; do n=$((n+1)); [ $n -le 100 ] || exit 1; sleep 0.1; done
fi
rm -rf {FOLDER}"""


def log_in(target: DiskTarget, record: str = DEFAULT, settings: Mapping[str, int] = MappingProxyType({})) -> str:
    """Return the commands that make the record of a target, and log in.

    Args:
        target: The target.
        record: Name of the record of the interface.
        settings: Settings of open-iscsi by name, where they are others than these.
    """
    node, values = (
        _node(target, record),
        {
            "node.startup": "manual",
            "node.session.initial_login_retry_max": TRIES,
            GIVES_UP_SETTING: GIVES_UP_AFTER_S,
            "node.conn[0].timeo.login_timeout": LOGS_IN_WITHIN_S,
            "node.conn[0].timeo.noop_out_timeout": ANSWERS_WITHIN_S,
            "node.session.auth.authmethod": "None",
            **settings,
        },
    )
    updates = [f"{node} -o update -n '{name}' -v {value}" for name, value in values.items()]
    return "\n".join(f"{each} >/dev/null || exit 1" for each in (f"{node} -o new", *updates, f"{node} --login"))


def log_out(target: DiskTarget, record: str = DEFAULT) -> str:
    """Return the commands that end the session of a target and remove its record, in whatever state they are.

    A session outlives its daemon, and nobody else can end it.

    Args:
        target: The target.
        record: Name of the record of the interface.
    """
    node = _node(target, record)
    return f"""for f in {SESSIONS}/session*/targetname; do
  {{ [ -e "$f" ] && read -r v < "$f" && [ "$v" = {target.name} ]; }} || continue
  {begin_daemon()}
  {node} --logout >/dev/null || exit 1
done
! {node} >/dev/null 2>&1 || {node} -o delete || exit 1"""


def _node(target: DiskTarget, record: str) -> str:
    return f"iscsiadm -m node -T {target.name} -p {target.address}:{PORT} -I {record}"


def session_command(target: DiskTarget) -> str:
    """Return the command that shows the session of a target.

    Args:
        target: The target.
    """
    return f"""for d in {SESSIONS}/session*; do
  [ -e "$d/targetname" ] || continue
  read -r v < "$d/targetname"; [ "$v" = {target.name} ] || continue
  for f in "$d"/device/../iscsi_host/host*/ipaddress; do
    {{ read -r v < "$f"; }} 2>/dev/null || continue
    {way_of("$v", target)}
  done
  for b in "$d"/device/target*/*:*:*:*/block/*; do
    [ -b "/dev/${{b##*/}}" ] || continue
    l=${{b%/block/*}}; read -r v < "$b/size"; printf 'disk %s %s %s\\n' "${{l##*:}}" "${{b##*/}}" "$v"
  done
done"""


def _session(dut: Server, target: DiskTarget) -> SessionDisks:
    return read_session(dut.run(session_command(target)).stdout, DISK)
