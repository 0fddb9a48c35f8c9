"""Disks of the peer that the dut has through two of its ports: a session over each of two paths, and maps over both.

The first path is preferred. How long operations may wait for its loss is the initiator's own time, not the card's:
nothing of it looks at carrier. open-iscsi asks a silent target after some seconds, waits for its answer, and a session
that stays broken fails its operations (Linux, drivers/scsi/libiscsi.c, iscsi_check_transport_timeouts(), and
scsi_transport_iscsi.c, session_recovery_timedout()), which the kernel then does over the other path.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import ExitStack

from niclab.bench.records import BenchPath, Port, Role
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import NotInTime, until
from niclab.links import failure, wiring
from niclab.links.failure import Cause
from niclab.links.link_loss import Loss
from niclab.links.witness import Explained, Witnesses
from niclab.run.run import Run
from niclab.storage.disk_loads import DiskAgent, DiskClient
from niclab.storage.iscsi.iscsi_initiator import ANSWERS_WITHIN_S, GIVES_UP_SETTING, attached
from niclab.storage.iscsi.iscsi_target import offering, offering_too
from niclab.storage.iscsi.iscsi_workloads import require_asked
from niclab.storage.multipath import multipath_maps
from niclab.storage.multipath.multipath_maps import FAILS_PATH_AFTER_S, LOOKS_EVERY_S

VOLUMES = 2
"""Each costs two disks and a map; the stall of one is that of all, as they share the sessions."""
ASKS_AFTER_S = 5
"""open-iscsi's own, which another configuration of a server may have changed."""
LOGIN_WITHIN_S = 10
REOPENS_AFTER_S = 3
"""open-iscsi tries to log in again so long after it could not (usr/initiator.c, ISCSI_CONN_ERR_REOPEN_DELAY)."""
PROGRAMS_S = 5
"""Assumption: the programs of a loaded server need no longer for all that they do after a time has run out."""
LOST_WITHIN_S = ASKS_AFTER_S + ANSWERS_WITHIN_S + FAILS_PATH_AFTER_S + PROGRAMS_S
LOST_SOURCE = (
    f"a silent session is asked after {ASKS_AFTER_S} s and answers within {ANSWERS_WITHIN_S} s, a broken one fails its "
    f"operations after {FAILS_PATH_AFTER_S} s; {PROGRAMS_S} s for the programs"
)
BACK_WITHIN_S = 2 * LOGIN_WITHIN_S + REOPENS_AFTER_S + LOOKS_EVERY_S + PROGRAMS_S
BACK_SOURCE = (
    f"two logins of up to {LOGIN_WITHIN_S} s, the first one begun without a link, {REOPENS_AFTER_S} s between them, a "
    f"look of multipathd every {LOOKS_EVERY_S} s; {PROGRAMS_S} s for the programs"
)
LOOK_EVERY_S = 1.0
_SETTINGS = {
    GIVES_UP_SETTING: FAILS_PATH_AFTER_S,
    "node.conn[0].timeo.noop_out_interval": ASKS_AFTER_S,
    "node.conn[0].timeo.login_timeout": LOGIN_WITHIN_S,
}


class MultipathDisks:
    """The disks, at most once in a run, and the path of them that is lost. A part of the run.

    Args:
        run: The qualification run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._undoing = ExitStack()
        self._client: DiskClient | None = None
        self._disks: dict[str, tuple[str, ...]] = {}
        self._maps: tuple[str, ...] = ()
        self._lost: Loss | None = None

    def connect(self) -> None:
        """Make volumes, a target and a session over each of the first two paths, and maps.

        Raises:
            NotApplicable: The sheet asks for no load, a server does not run Linux, or the bench has one path.
            BenchFault: The dut has no open-iscsi or multipathd, or something cannot be made. What was made is removed.
        """
        run, paths = self._run, self._run.bench.paths[:2]
        require_asked(run)
        if len(paths) < 2:
            raise NotApplicable(f"bench {run.bench.name} has one path; multipath takes two")
        multipath_maps.require_installed(run)
        if self._client is not None:
            raise BenchFault("the disks are connected already: 'Disconnect The Disks' comes first")
        with ExitStack() as undoing:
            first = undoing.enter_context(
                offering(run, paths[0], range(VOLUMES), multipath_maps.serials(VOLUMES)),
            )
            second = undoing.enter_context(offering_too(run, paths[1], first))
            for path, target in zip(paths, (first, second), strict=True):
                self._disks[path.name] = undoing.enter_context(attached(run, path, target, settings=_SETTINGS))
            self._maps = undoing.enter_context(multipath_maps.mapped(run, [*self._disks.values()], first.address))
            agent = DiskAgent(run.server(Role.DUT))
            undoing.callback(agent.end)  # before the maps: it has them open
            self._client = DiskClient(agent, [f"mapper/{name}" for name in self._maps], secrets.token_hex(8))
            run.part(Witnesses).begin()
            self._undoing = undoing.pop_all()

    def disconnect(self) -> None:
        """Restore the path and remove all of it, if there is something.

        Raises:
            BenchFault: Something cannot be undone; the journal keeps it.
        """
        if self._client is None:
            return
        if self._lost is not None:
            self.restore()
            self.not_on(self.preferred)  # a session ends in order over a link alone
        self._client = None
        self._undoing.close()

    @property
    def client(self) -> DiskClient:
        """The client that loads the maps.

        Raises:
            BenchFault: There are none.
        """
        if self._client is None:
            raise BenchFault("there are no disks: 'Connect Disks Over Two Paths' comes first")
        return self._client

    @property
    def preferred(self) -> BenchPath:
        """The path that is used while it works."""
        return self._run.bench.paths[0]

    @property
    def other(self) -> BenchPath:
        """The path that is used else."""
        return self._run.bench.paths[1]

    @property
    def is_lost(self) -> bool:
        """Is the preferred path lost?"""
        return self._lost is not None

    def ends(self, path: BenchPath) -> list[Port]:
        """Return both ports of a path, the dut's first.

        Args:
            path: The path.
        """
        return [self._run.bench.end(path, role) for role in (Role.DUT, Role.PEER)]

    def lose(self, cause: Cause, say: Callable[[str], object]) -> None:
        """Let the link of the preferred path fail; :meth:`restore` undoes it.

        Args:
            cause: The way in which it fails.
            say: Takes what was done.

        Raises:
            NotApplicable: The bench cannot do that to this path.
        """
        path = self.preferred
        cause = failure.chosen(path, cause)
        ports = failure.ends_without_link(path, cause)
        self._lost = Loss(path, cause, failure.lose(self._run, path, cause), ports, {})
        say(f"path {path.name} is lost by {cause.value}: no link at {' and '.join(sorted(ports))}")

    def require_cause(self, say: Callable[[str], object]) -> None:
        """See that both ends of the lost path show the cause that the lab has brought about, and no other.

        Args:
            say: Takes what was concluded.

        Raises:
            BenchFault: They show another one, or a server does not answer.
        """
        assert self._lost is not None
        found = Explained(self._lost.path, self._lost.cause, self._run.part(Witnesses).ask(self._lost.path))
        self._run.notes.figure(found.figure())
        say(str(found))
        if not found.is_right:
            raise BenchFault(str(found))

    def restore(self) -> None:
        """Restore the lost path, if it is lost, without waiting for it.

        Raises:
            BenchFault: It cannot be restored; the journal keeps it.
        """
        if self._lost is not None:
            wiring.mend_path(self._run, self._lost.entry)
            self._lost = None

    def not_on(self, path: BenchPath) -> list[str]:
        """Wait until all maps are there and use a path, and lack no path but one that is lost.

        Args:
            path: The path.

        Returns:
            What is wrong at the end, in words; empty when nothing is.

        Raises:
            BenchFault: The dut does not answer.
        """
        within_s, source = (LOST_WITHIN_S, LOST_SOURCE) if self.is_lost else (BACK_WITHIN_S, BACK_SOURCE)
        wrong = list[str]()

        def are_right() -> bool:
            wrong[:] = self._wrong(path)
            return not wrong

        try:
            until(are_right, within=within_s, what=f"maps use path {path.name}", every=LOOK_EVERY_S, error=NotInTime)
        except NotInTime:
            return [f"{each}; expected path {path.name} within {within_s} s ({source})" for each in wrong]
        return []

    def _wrong(self, path: BenchPath) -> list[str]:
        dut, lost = self._run.server(Role.DUT), self._lost.path.name if self._lost else ""
        maps, wrong = {each.name: each for each in multipath_maps.look(dut)}, list[str]()
        for name, disks in zip(self._maps, zip(*self._disks.values(), strict=True), strict=True):
            if name not in maps:
                wrong.append(f"{dut.name}: has no map {name}")
                continue
            found, by_disk = maps[name], dict(zip(disks, self._disks, strict=True))
            if others := found.active.keys() - by_disk.keys():
                wrong.append(f"{dut.name}: map {name} has disk {' and '.join(sorted(others))} of neither path")
                continue
            failed = sorted(by_disk[disk] for disk, is_active in found.active.items() if not is_active)
            gone = sorted(by_disk[disk] for disk in disks if disk not in found.active)
            if by_disk[found.used] != path.name or {*failed, *gone} - {lost}:
                words = f", failed: path {' and '.join(failed)}" if failed else ""
                words += f", has no disk of path {' and '.join(gone)}" if gone else ""
                wrong.append(f"{dut.name}: map {name} uses path {by_disk[found.used]}{words}")
        return wrong
