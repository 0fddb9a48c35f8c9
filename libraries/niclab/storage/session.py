"""The session of the dut's disks, as its kernel shows it: from where it comes, over which port it leaves, its disks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.hosts.errors import ReadError
from niclab.run.server import Server
from niclab.storage.volumes import SECTOR_BYTES, VOLUME_BYTES, DiskTarget

DISKS_WITHIN_S = 20.0


@dataclass(frozen=True)
class SessionDisks:
    """A session as the kernel shows it.

    ``addresses``: local ones of its connections; ``has_address``: interfaces that have these; ``goes_over``: those over
    which frames to the target leave; ``disks``: name of the disk and its size in bytes by its number at the target.
    """

    addresses: tuple[str, ...]
    has_address: tuple[str, ...]
    goes_over: tuple[str, ...]
    disks: dict[int, tuple[str, int]]


def way_of(address: str, target: DiskTarget) -> str:
    """Return the commands that show the way of a session to its target.

    Args:
        address: Its local address, as a word of the shell.
        target: The target.
    """
    return f"""printf 'address %s\\n' "{address}"
    ip -o addr show to "{address}" | sed -n 's/^[0-9]*: *\\([^ ]*\\) .*/has \\1/p'
    ip -o route get {target.address} from "{address}" | sed -n 's/.* dev \\([^ ]*\\).*/over \\1/p'"""


def read_session(text: str, disk: str) -> SessionDisks:
    """Read what the command of a session prints: lines of :func:`way_of`, and ``disk NUMBER NAME SECTORS``.

    Args:
        text: The output.
        disk: A regular expression of the name of a disk.

    Raises:
        ReadError: A line is none that it prints.
    """
    words, disks = {"address": list[str](), "has": list[str](), "over": list[str]()}, dict[int, tuple[str, int]]()
    for line in text.splitlines():
        if match := re.fullmatch(rf"disk (?P<number>[0-9]+) (?P<name>{disk}) (?P<sectors>[0-9]+)", line):
            disks[int(match["number"])] = (match["name"], int(match["sectors"]) * SECTOR_BYTES)
        elif match := re.fullmatch(r"(address(?= [0-9a-f.:]+$)|has|over) (\S+)", line):
            words[match[1]].append(match[2])
        else:
            raise ReadError(
                f"session of disks: {line!r}; expected an address, an interface, or a disk: number, name, sectors"
            )
    return SessionDisks(tuple(words["address"]), tuple(words["has"]), tuple(words["over"]), disks)


def await_session(
    dut: Server, target: DiskTarget, look: Callable[[], SessionDisks], address: str, first: int = 0
) -> SessionDisks:
    """Wait until a session has a disk for each volume of its target, and require that they are those.

    Args:
        dut: The server.
        target: The target.
        look: Shows the session.
        address: From which it must come.
        first: Number of the first disk.

    Raises:
        BenchFault: They do not come in time, or it comes from elsewhere, or they are others.
    """

    def whole() -> list[SessionDisks]:
        shown = look()
        return [shown] if len(shown.disks) >= len(target.volumes) else []

    what = f"{dut.name}: {len(target.volumes)} disks of {target.name}"
    (found,) = until(whole, within=DISKS_WITHIN_S, what=what, every=0.5)
    _require_sound(dut, target, found, address, first)
    return found


def require_route(dut: Server, target: DiskTarget, found: SessionDisks, address: str) -> None:
    """Require that a session goes out over the interface that has its address.

    Args:
        dut: The server.
        target: The target.
        found: The session.
        address: Its address.

    Raises:
        BenchFault: It does not.
    """
    if len(found.goes_over) != 1 or found.goes_over != found.has_address:
        raise BenchFault(
            f"{dut.name}: the session of {target.name} goes over {', '.join(found.goes_over) or 'nothing'}; expected "
            f"{', '.join(found.has_address) or 'an interface'}, which has {address} (route to {target.address})"
        )


def _require_sound(dut: Server, target: DiskTarget, found: SessionDisks, address: str, first: int) -> None:
    """Require that a session comes from an address, and that its disks are those of the target."""
    if found.addresses != (address,):
        raise BenchFault(
            f"{dut.name}: the session of {target.name} comes from {', '.join(found.addresses) or 'no address'}; "
            f"expected one from {address} (bench file)"
        )
    sizes = {number: size for number, (_, size) in found.disks.items()}
    wanted = dict.fromkeys(range(first, first + len(target.volumes)), VOLUME_BYTES)
    if sizes != wanted:
        raise BenchFault(
            f"{dut.name}: {target.name} has disks of {sizes} bytes by number; expected {len(wanted)} of {VOLUME_BYTES}"
        )
