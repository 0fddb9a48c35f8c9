"""Bench hygiene: a run leaves the bench as it found it, and a test leaves it to the next one as it found it.

The state of both servers and of the switch is taken before the run, and compared with that after it. In between, the
state with the test ports prepared is compared after each suite. A change whose undo is in the journal is no leftover
until the run ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from niclab.bench.records import Port
from niclab.core.parallel import side_by_side
from niclab.core.plain import as_json
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault, CardFailure
from niclab.report import read_json_object, write_json
from niclab.report.evidence.runfolder import is_continued
from niclab.report.own_checks.hygiene_check import AFTER, BEFORE, FORMAT, RESULT
from niclab.run.acquiring import ready
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.run import Run
from niclab.run.watching.kept_state import (
    Fitting,
    KeptState,
    keep_for_restore,
    kept_for_restore,
    take_all,
)
from niclab.state.attribution import Ran, read_commands, who_left
from niclab.state.snapshot import INTERFACE, Depth, Leftover, Snapshot, diff, with_leftovers

END = "the end of the run"


@dataclass(frozen=True)
class LeftBehind:
    """A leftover.

    ``place``: the suite, the end of the run, or an earlier run; ``test``: who left it; ``undone``: by the lab, later.
    """

    leftover: Leftover
    place: str
    test: str
    undone: bool = False

    def __str__(self) -> str:
        who = f"left by {self.test!r}" if self.test else f"left by one of the tests of {self.place}"
        return f"{self.leftover}; {who}; {'undone' if self.undone else 'not undone'}"


class BenchHygiene:
    """The states of a run, and what was left behind. A part of the run.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._before: list[Snapshot] = []
        self._working: dict[str, Snapshot] = {}
        self._older: frozenset[str] = frozenset()
        self._prepared: frozenset[str] = frozenset()
        self._restoring: dict[tuple[str, str], str] = {}  # server, interface -> command that puts its MTU back
        self._tests: list[Ran] = []
        self._findings: list[LeftBehind] = []
        self._faults: list[str] = []

    def begin(self) -> None:
        """Take the state before the run; ``niclab restore`` finds it next to the journal.

        What cannot be taken is a fault of the bench on the certificate.
        """
        self._older = frozenset(entry.id for entry in self._run.journal.pending())
        self._take_up()
        self._faults += self._run.bench_servers.left_elsewhere
        kept = self._kept()
        try:
            if kept is not None and kept.run == self._run.journal.run and is_continued(self._run.run_dir):
                self._before, wanted = kept.states, kept.states
            else:
                self._before = take_all(self._run, Depth.FULL)
                wanted = self._since(kept)
            self._write(BEFORE, self._before)
            keep_for_restore(self._run, wanted, self._older)
        except BenchFault as error:
            self._faults.append(f"the state before the run cannot be taken: {error}")
        self._keep()

    def _take_up(self) -> None:
        """Begin with what was found before the run was killed, if it is continued."""
        file = self._run.evidence_folder / RESULT
        try:
            if is_continued(self._run.run_dir) and file.exists():
                found = read_json_object(file)
                self._findings += [_read(each) for each in found["findings"]]
                self._faults += map(str, found["faults"])
        except BenchFault as error:
            self._faults.append(str(error))
        except (KeyError, TypeError) as error:
            self._faults.append(f"{file}: is no result of a comparison: {error}; expected faults and findings")

    def _kept(self) -> KeptState | None:
        """The state before the last run, if that run has not found the bench as before."""
        try:
            return kept_for_restore(self._run.journal)
        except BenchFault as error:
            self._faults.append(f"not compared with the state before the last run: {error}")
            return None

    def _since(self, kept: KeptState | None) -> list[Snapshot]:
        """Report what differs from the state before an earlier run; return the state that the bench should have.

        A difference stays one for every later run until it is put right or accepted: this run takes its own state only
        for what happens from now on.
        """
        if kept is None:
            return self._before
        if kept.fitting != (now := Fitting.of(self._run)):
            self._faults.append(
                f"not compared with the state before run {kept.run}: taken with {kept.fitting}; now {now}; expected "
                f"the same (niclab restore, before another card or system is used)"
            )
            return self._before
        place = f"run {kept.run}, or changed since"
        left = [each for old, new in zip(kept.states, self._before, strict=True) for each in diff(old, new)]
        self._findings += [LeftBehind(each, place, "") for each in left]
        return kept.states if left else self._before

    def settle(self) -> None:
        """Take the state that every suite is to leave: the bench acquired, its test ports prepared."""
        self._prepared = frozenset(entry.id for entry in self._run.journal.pending())
        try:
            self._working = {each.server: each for each in take_all(self._run, Depth.BETWEEN)}
            ports = list(self._run.interfaces)
            commands = side_by_side(self._restoring_mtu, ports)
            self._restoring = {
                (port.role.value, self._run.interface(port)): command
                for port, command in zip(ports, commands, strict=True)
            }
        except BenchFault as error:
            self._faults.append(f"the state of the prepared bench cannot be taken: {error}")
        self._keep()

    def _restoring_mtu(self, port: Port) -> str:
        """The command that gives a port its present MTU again; some cards need their link down and up then."""
        undo, iface = self._run.server_of(port).host.undo, self._run.interface(port)
        return " && ".join([undo.mtu(iface), undo.link(iface, up=False), undo.link(iface, up=True)])

    def ran(self, test: Ran) -> None:
        """Note a test that has ended.

        Args:
            test: The test.
        """
        self._tests.append(test)

    def after_suite(self, suite: str, warn: Callable[[str], object]) -> list[LeftBehind]:
        """Compare the bench with the prepared one, and undo what was left behind where that is safe.

        Test ports that a test has taken down or lost are made ready first, as before each test.

        Args:
            suite: Name of the suite.
            warn: Takes what had to be made ready.

        Returns:
            What its tests left behind.
        """
        tests, self._tests = self._tests, []
        if not self._working or not tests:
            return []
        found = self._left_by(suite, tests, warn)
        self._findings += found
        self._keep()
        return found

    def _left_by(self, suite: str, tests: Sequence[Ran], warn: Callable[[str], object]) -> list[LeftBehind]:
        try:
            ready.make_ready(self._run, warn)
            found, now = self._compare(suite, tests)
            found = [replace(each, undone=self._undo(each.leftover)) for each in found]
        except (BenchFault, CardFailure) as error:  # a card that is gone cannot be made ready
            self._faults.append(f"{suite}: the state after it cannot be compared: {error}")
            return []
        for server, state in now.items():
            left = [each.leftover for each in found if each.leftover.server == server and not each.undone]
            self._working[server] = with_leftovers(self._working[server], state, left)
        return found

    def finish(self) -> list[LeftBehind]:
        """Undo what the run has changed, compare the bench with the state before the run, and write the result.

        What was changed to bring the bench up stays for :func:`niclab.run.run.release`: a server that is off shows
        nothing.

        Returns:
            What was left behind at the end and was not found before.
        """
        found = list[LeftBehind]()
        try:
            if self._before:
                self._run.ending.close()
                self._run.undoing.undo_everything(leaving=self._older)
                after = take_all(self._run, Depth.FULL)
                self._write(AFTER, after)
                found = self._new(after)
                if not found and not self._findings:
                    self._run.journal.state_file.unlink(missing_ok=True)
        except (BenchFault, CardFailure) as error:
            self._faults.append(f"the state after the run cannot be compared: {error}")
        self._findings += found
        self._keep(over=True)
        return found

    def _new(self, after: Sequence[Snapshot]) -> list[LeftBehind]:
        reported = [each.leftover for each in self._findings if not each.undone]
        known = {(each.server, each.subject, each.key) for each in reported}
        left = [each for old, new in zip(self._before, after, strict=True) for each in diff(old, new)]
        return [
            LeftBehind(each, END, self._test_of(each, self._tests))
            for each in left
            if (each.server, each.subject, each.key) not in known
        ]

    def _compare(self, suite: str, tests: Sequence[Ran]) -> tuple[list[LeftBehind], dict[str, Snapshot]]:
        with self._run.part(PreparedPorts).looked_at():
            now = {each.server: each for each in take_all(self._run, Depth.BETWEEN)}
        left = [each for server, state in now.items() for each in diff(self._working[server], state)]
        left = [each for each in left if not self._is_owned(each, now[each.server])]
        return [LeftBehind(each, suite, self._test_of(each, tests)) for each in left], now

    def _is_owned(self, left: Leftover, now: Snapshot) -> bool:
        """Is its undo in the journal? The undo of a bond or VLAN puts its members back as well."""
        names = {left.subject, left.key, *left.key.split(), left.was, left.is_now} - {"yes", "no", "present", "absent"}
        names |= {now.values.get(left.subject, {}).get("master", left.subject)}
        names = {name for name in names if not name.isdecimal() and name not in _COMMON}
        pending = [entry for entry in self._run.journal.pending() if entry.id not in self._prepared]
        mine = [entry for entry in pending if entry.action.where in (left.server, "controller")]
        return any(_names(f"{entry.action.command} {entry.what}", name) for entry in mine for name in names)

    def _test_of(self, left: Leftover, tests: Sequence[Ran]) -> str:
        return who_left(left, read_commands(self._run.evidence_folder / f"commands-{left.server}.jsonl"), tests)

    def _undo(self, left: Leftover) -> bool:
        """Put a test port's MTU or state back, or take an address of it away; anything else is only reported."""
        command = self._undo_command(left)
        if command is None:
            return False
        run = self._run
        entry = run.journal.register(
            left.server,
            f"left behind: {left}",
            Action(ActionKind.SHELL, left.server, command, iface=left.subject),
        )
        try:
            run.journal.undo(entry, run.undo)
        except BenchFault:
            return False  # it stays in the journal, and is tried again at the end
        return True

    def _undo_command(self, left: Leftover) -> str | None:
        restoring = self._restoring.get((left.server, left.subject))
        if restoring is None:
            return None  # no test port
        undo = self._run.server(left.server).host.undo
        if left.key == "mtu":
            return restoring
        if left.key == "up":
            return undo.link(left.subject, up=left.was == "yes")
        if left.key.startswith("address ") and left.was == "absent" and "." in left.key:
            return undo.address(left.subject, left.key.removeprefix("address "))
        return None

    def _keep(self, *, over: bool = False) -> None:
        """Write what is known so far: a killed run may be continued."""
        found = {"faults": self._faults, "findings": [_plain(each) for each in self._findings]}
        write_json(self._run.evidence_folder / RESULT, {"format": FORMAT, "over": over, **found})

    def _write(self, name: str, states: Sequence[Snapshot]) -> None:
        write_json(self._run.evidence_folder / name, {"format": FORMAT, "states": as_json(list(states))})


_COMMON = frozenset(
    {INTERFACE, "mtu", "up", "mac", "address", "master", "device", "bond", "vlan", "link", "lagg", "txqlen"}
    | {"sysctl", "routes", "modules", "admin", "UP", "DOWN", "options", "none", "below", "members"}
)
"""Words of many commands, which name no subject."""


def _names(text: str, name: str) -> bool:
    """Does a text have a name as a whole word, a sysctl also as its file?"""
    words = {name, name.replace(".", "/")}
    return any(re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) for word in words)


def _plain(found: LeftBehind) -> dict[str, object]:
    left = found.leftover
    return {
        **{"server": left.server, "subject": left.subject, "key": left.key, "was": left.was, "is": left.is_now},
        **{"place": found.place, "test": found.test, "undone": found.undone, "text": str(found)},
    }


def _read(plain: Mapping[str, Any]) -> LeftBehind:
    left = Leftover(*(str(plain[key]) for key in ("server", "subject", "key", "was", "is")))
    return LeftBehind(left, str(plain["place"]), str(plain["test"]), undone=plain["undone"] is True)
