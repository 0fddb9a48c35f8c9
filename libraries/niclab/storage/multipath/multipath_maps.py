"""Maps of the dut's kernel (dm-multipath) over disks that it has through two sessions, and the daemon that makes them.

The daemon is the lab's own, with a configuration of its own: it sees a folder of the lab as ``/etc``, in a mount
namespace that ends with it. Only disks with serial numbers of the lab get a map. Every path is a group of its own, and
the daemon prefers the group whose target has a certain address (libmultipath, prioritizers/iet.c).

All that it changes is in the journal before. The kernel's modules stay loaded, as they do nothing without a map.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.core.wait import NotInTime, until
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back
from niclab.storage.server_needs import Needs, missing
from niclab.storage.volumes import SECTOR_BYTES, VOLUME_BYTES

FOLDER = "/tmp/niclab.multipath"
"""A place where the state of a server (:mod:`niclab.state`) is looked at for what the lab has left."""
NEEDS = Needs(("multipathd", "dmsetup", "setsid", "unshare"), ("dm-multipath", "dm-round-robin", "scsi_dh_alua"))
"""The last one for the daemon's table of devices, in which the kernel's target has ``hardware_handler "1 alua"``
(``multipath -t``)."""
FAILS_PATH_AFTER_S = 5
"""The daemon's default for ``fast_io_fail_tmo`` (multipath.conf(5)): a session that stays broken so long fails its
operations, and the kernel does them over another path."""
LOOKS_EVERY_S = 2
"""The daemon asks each disk so often whether its path works."""
MAPS_WITHIN_S = 30.0
_SERIAL = "6e69636c61622e6d756c7469"
"""``niclab.multi`` in ASCII; the kernel makes 25 hexadecimal digits of a serial number part of the name of a volume
(Linux, drivers/target/target_core_spc.c, spc_gen_naa_6h_vendor_specific())."""
_NAME = f"36001405{_SERIAL}"
"""Begin of the name of a map: NAA, and the company of the kernel's target (ibid.)."""
BLOCK = "/sys/block"
_LISTENS = "grep -q multipathd /proc/net/unix"
_MOST = 16
_MAP = re.compile(rf"({_NAME}[0-9a-f]): 0 ([0-9]+) multipath 2 [01] [0-9]+ 0 [0-9]+ ([0-9]+)((?: [^ ]+)*) ?")
_GROUP = re.compile(r" [ADE] 0 1 0 ([0-9]+:[0-9]+) ([AF]) [0-9]+")
"""A group of one path: device, and whether it is active or has failed (Linux, drivers/md/dm-mpath.c,
multipath_status(); the round-robin selector shows nothing of its own)."""


@dataclass(frozen=True)
class DiskMap:
    """A map: its size in bytes, the disk that it uses, and whether each of its disks is active, by name."""

    name: str
    size: int
    used: str
    active: dict[str, bool]


def require_installed(run: Run) -> None:
    """Require that the dut has what maps need, and no daemon of its own.

    Args:
        run: The current run.

    Raises:
        BenchFault: It lacks something, or a daemon runs.
    """
    dut = run.server(Role.DUT)
    if lacks := missing(dut, NEEDS):
        raise BenchFault(f"{dut.name}: has no {', '.join(lacks)}; expected multipathd (Debian: multipath-tools)")
    require_free(dut)


def require_free(dut: Server) -> None:
    """Require that no multipathd runs, or is started by systemd when it is asked.

    Args:
        dut: The server.

    Raises:
        BenchFault: One does.
    """
    look = f"! {_LISTENS} || echo listens"
    if dut.run(look).stdout:
        raise BenchFault(
            f"{dut.name}: a multipathd runs; expected none, as the lab starts its own "
            "(systemctl disable --now multipathd.socket multipathd)"
        )


def serials(volumes: int) -> tuple[str, ...]:
    """Return serial numbers of volumes that the lab's daemon makes maps of.

    Args:
        volumes: How many, at most 16.
    """
    assert volumes <= _MOST
    return tuple(f"{_SERIAL}{number:x}" for number in range(volumes))


@contextmanager
def mapped(run: Run, paths: Sequence[Sequence[str]], preferred: str) -> Iterator[tuple[str, ...]]:
    """Run the daemon inside the ``with`` block; yields the names of the maps, in the order of the disks.

    Args:
        run: The current run.
        paths: Names of the disks over each path.
        preferred: Address of the target whose path is preferred.

    Raises:
        BenchFault: A daemon runs already, it does not make the maps, or a map has other disks.
    """
    dut = run.server(Role.DUT)
    require_free(dut)
    with put_back(run, dut, dut.name, "multipathd is started, and maps disks", end_daemon()):
        dut.run(begin_daemon(preferred))
        names = [f"{_NAME}{number:x}" for number in range(len(paths[0]))]
        _await_maps(dut, dict(zip(names, zip(*paths, strict=True), strict=True)))
        dut.run("udevadm settle --timeout=40")
        yield tuple(names)


def _await_maps(dut: Server, wanted: Mapping[str, Sequence[str]]) -> None:
    """Wait until there are the maps of these disks, by name, and no others of the lab."""
    expected = {name: (VOLUME_BYTES, sorted(disks)) for name, disks in wanted.items()}

    def found() -> dict[str, tuple[int, list[str]]]:
        return {each.name: (each.size, sorted(each.active)) for each in look(dut)}

    try:
        until(lambda: found() == expected, within=MAPS_WITHIN_S, what=f"{dut.name}: maps", every=0.5, error=NotInTime)
    except NotInTime as error:
        said = dut.run(f"tail -c 400 {FOLDER}/said").stdout.strip()
        raise BenchFault(f"{dut.name}: multipathd has made {found()}; expected {expected}. It says: {said}") from error


def configuration(preferred: str) -> str:
    """Return the daemon's configuration (multipath.conf(5)).

    Args:
        preferred: Address of the target whose path is preferred.
    """
    return f"""defaults {{
  user_friendly_names no
  find_multipaths no
  skip_kpartx yes
  polling_interval {LOOKS_EVERY_S}
  max_polling_interval {LOOKS_EVERY_S}
}}
blacklist {{
  wwid ".*"
}}
blacklist_exceptions {{
  wwid "^{_NAME}"
}}
overrides {{
  path_grouping_policy failover
  path_selector "round-robin 0"
  prio iet
  prio_args "preferredip={preferred}"
  detect_prio no
  path_checker tur
  detect_checker no
  failback immediate
  no_path_retry fail
  fast_io_fail_tmo {FAILS_PATH_AFTER_S}
}}"""


def begin_daemon(preferred: str) -> str:
    """Return the commands that start the daemon. It listens when they end.

    Args:
        preferred: Address of the target whose path is preferred.
    """
    own = f"echo $$ > {FOLDER}/pid && mount --bind {FOLDER}/etc /etc && exec multipathd -d -s"
    return f"""modprobe -a dm-multipath dm-round-robin scsi_dh_alua || exit 1
mkdir -p {FOLDER}/etc/multipath && printf '%s\\n' {shlex.quote(configuration(preferred))} \\
  > {FOLDER}/etc/multipath.conf || exit 1
# it is a process of its own from here on: its output must not hold the connection to the server open
setsid unshare -m sh -c '{own}' </dev/null >{FOLDER}/said 2>&1 &
n=0
until {_LISTENS}; do
  n=$((n+1)); [ $n -le 100 ] || {{ cat {FOLDER}/said >&2; exit 1; }}
  sleep 0.1
done"""


def end_daemon() -> str:
    """Return the commands that end the daemon, and remove maps and folder: also after a boot, which ends all but that.

    A map outlives its daemon.
    """
    return f"""m=; c=; {{ read -r m < {FOLDER}/pid && read -r c < "/proc/$m/comm"; }} 2>/dev/null
if [ "$c" = multipathd ]; then
  kill "$m"; n=0
  while [ -d "/proc/$m" ]; do n=$((n+1)); [ $n -le 100 ] || exit 1; sleep 0.1; done
fi
for f in {BLOCK}/dm-*/dm/name; do
  {{ [ -e "$f" ] && read -r v < "$f"; }} || continue
  case $v in {_NAME}?) dmsetup remove --retry "$v" || exit 1 ;; esac
done
rm -rf {FOLDER}"""


def status_command() -> str:
    """Return the command that shows the kernel's maps, and the disks by device number."""
    return f"""dmsetup status --target multipath || exit 1
for f in {BLOCK}/sd*/dev; do
  [ -e "$f" ] || continue
  read -r v < "$f"; f=${{f%/dev}}; printf 'disk %s %s\\n' "$v" "${{f##*/}}"
done"""


def read_status(text: str) -> list[DiskMap]:
    """Read the lab's maps in what :func:`status_command` prints, in the order of their names.

    Args:
        text: The output.

    Raises:
        ReadError: A map of the lab is shown otherwise.
    """
    disks = dict(re.findall(r"^disk ([0-9]+:[0-9]+) (sd[a-z]+)$", text, re.MULTILINE))
    lines = [line for line in text.splitlines() if line.startswith(_NAME)]
    return sorted((_read_map(line, disks) for line in lines), key=lambda each: each.name)


def _read_map(line: str, disks: Mapping[str, str]) -> DiskMap:
    match = _MAP.fullmatch(line)
    groups = _GROUP.findall(match[4]) if match else []
    used = int(match[3]) if match else 0
    if match is None or _GROUP.sub("", match[4]) or not 0 < used <= len(groups):
        raise ReadError(f"dmsetup status: {line!r}; expected groups of one path, and the number of the one in use")
    if unknown := [device for device, _ in groups if device not in disks]:
        raise ReadError(f"dmsetup status: {line!r}; expected disks, {', '.join(unknown)} is none")
    active = {disks[device]: state == "A" for device, state in groups}
    return DiskMap(match[1], int(match[2]) * SECTOR_BYTES, disks[groups[used - 1][0]], active)


def look(dut: Server) -> list[DiskMap]:
    """Look at the lab's maps.

    Args:
        dut: The server.

    Raises:
        ReadError: They are shown otherwise than the kernel shows them.
        BenchFault: The server does not answer.
    """
    return read_status(dut.run(status_command()).stdout)
