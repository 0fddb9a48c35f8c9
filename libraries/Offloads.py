"""The offload table of the sheet against the card: what is on, what can be switched, and what goes with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import Port, Role
from niclab.card import Change, FreebsdOffload, LinuxOffload, OffloadName, Proof, Unknown
from niclab.card import Offloads as Table
from niclab.core.verdict import BenchFault, NotApplicable, fail_with
from niclab.core.wait import pause
from niclab.hosts.ethtool_records import Feature, Features
from niclab.hosts.features import CAPABILITIES
from niclab.hosts.records import Counters
from niclab.run.run import current
from niclab.run.server import Server
from niclab.run.temporary import put_back
from niclab.traffic import tcp

EVERY = "every"
"""Stands for all rows of the table in the argument ``offload``."""

SENDERS = {
    OffloadName.TX_CHECKSUM: Role.DUT,
    OffloadName.TSO4: Role.DUT,
    OffloadName.RX_CHECKSUM: Role.PEER,
    OffloadName.GRO: Role.PEER,
    OffloadName.LRO: Role.PEER,
}
"""Which end sends the TCP that an offload of the dut works on."""


@dataclass(frozen=True)
class Switch:
    """A row of the sheet's table, as the dut's system has it.

    ``word``: what shows it; ``set_words``: what switches it, each of them alike; ``tried``: those, and for what cannot
    be changed the words by which one would try. ``shows_fixed``: does the system show what cannot be changed? ifconfig
    does not: there it is found out by trying only.
    """

    word: str
    set_words: tuple[str, ...]
    tried: tuple[str, ...]
    default: bool | Unknown
    change: Change | Unknown
    clears: tuple[OffloadName, ...]
    proof: Proof | None
    shows_fixed: bool


Rows = dict[OffloadName, Switch]


def _switch(row: LinuxOffload | FreebsdOffload) -> Switch:
    if isinstance(row, LinuxOffload):
        words = (row.set_word or row.word,)
        return Switch(row.word, words, words, row.default, row.change, row.clears, row.proof, shows_fixed=True)
    own = next((one.word for one in CAPABILITIES if one.label == row.label), None)
    tried = row.set_words or ((own,) if own else ())
    return Switch(row.label, row.set_words, tried, row.default, row.change, row.clears, row.proof, shows_fixed=False)


@dataclass(frozen=True)
class Seen:
    """A port with the features it shows."""

    port: Port
    server: Server
    iface: str

    @property
    def place(self) -> str:
        return self.port.place

    def features(self) -> Features:
        return self.server.host.features(self.iface)


@library(scope="GLOBAL")
class Offloads(BenchLibrary):
    """Keywords about offloads. Constructing the library connects to nothing.

    ``offload`` is a name of the sheet's table such as ``tso4``, or ``every`` for all rows of it.
    """

    @keyword
    def offloads_should_be_as_delivered(self) -> None:
        """Every offload is on or off as the sheet says it is delivered, and fixed if and only if the sheet says so."""
        rows, problems = _rows(EVERY), list[str]()
        if all(isinstance(row.default, Unknown) and isinstance(row.change, Unknown) for row in rows.values()):
            raise NotApplicable(f"sheet {_sheet()} knows of no offload how it is delivered")
        for seen in _ports():
            shown = seen.features()
            for name, row in rows.items():
                feature = _feature(seen, shown, row)
                if row.default in (True, False) and feature.on is not row.default:
                    problems.append(_said(seen, name, row, f"is {_word(feature.on)}", _word(bool(row.default))))
                if row.shows_fixed and row.change is Change.FIXED and not feature.fixed:
                    problems.append(_said(seen, name, row, "can be changed", "it fixed"))
                if row.change is Change.BOTH and feature.fixed:
                    problems.append(_said(seen, name, row, "is fixed", "that it can be changed"))
        fail_with(problems)

    @keyword
    def offload_should_switch_as_on_the_sheet(self, offload: str) -> None:
        """Every port: what can be switched goes off and on, and takes along what the sheet says and nothing else.

        What the sheet calls fixed, ``not-off`` or ``not-on`` must stay as it is when it is told to change. Everything
        is put back.
        """
        rows, problems = _rows(offload), list[str]()
        judged = {name: row for name, row in rows.items() if isinstance(row.change, Change)}
        if not judged:
            raise NotApplicable(f"sheet {_sheet()} does not know how {offload} can be changed")
        for seen in _ports():
            for name, row in judged.items():
                problems += self._switched(seen, name, row)
        fail_with(problems)

    @keyword
    def refused_words_should_be_refused(self) -> None:
        """The words that the sheet lists as refused change nothing and are answered with an error."""
        system = self.run.server(Role.DUT).description.os
        words = [entry for entry in _table().refused if entry.os is system]
        if not words:
            raise NotApplicable(f"sheet {_sheet()} lists no words that {system.value} must refuse")
        problems = []
        for seen in _ports():
            before = seen.features()
            for entry in words:
                attempt = seen.server.host.set_feature(seen.iface, entry.word, True)
                if attempt.refused is None or attempt.now != before:
                    problems.append(f"{seen.place} took the word {entry.word}, sheet {_sheet()} wants it refused")
        fail_with(problems)

    @keyword
    def offload_counters_should_follow_the_switch(self, offload: str, seconds: float = 2) -> None:
        """While traffic flows, the counters that prove an offload grow with it on, and do not with it off.

        For offloads of plain TCP whose counter the sheet names, on the dut's end of the first path. ``seconds``: how
        long each state is watched. Everything is put back.
        """
        provable = {
            name: row
            for name, row in _rows(offload).items()
            if row.proof and row.change is Change.BOTH and name in SENDERS
        }
        if not provable:
            raise NotApplicable(f"sheet {_sheet()} names no counter by which TCP proves {offload}")
        seen, problems = next(_ports()), list[str]()
        path = self.run.bench.paths[0]
        for name, row in provable.items():
            for on in (True, False):
                with tcp.steady(self.run, path, SENDERS[name]):
                    problems += self._proved(seen, name, row, on, seconds)
        fail_with(problems)

    # --- one offload on one port

    def _switched(self, seen: Seen, name: OffloadName, row: Switch) -> list[str]:
        before = seen.features()
        now_on = _feature(seen, before, row).on
        with self._put_back(seen, name):
            if row.change is Change.BOTH:
                problems = [
                    problem
                    for word in row.set_words
                    for on in (False, True)
                    for problem in self._told(seen, name, row, word, on)
                ]
            else:
                stays = now_on if row.change is Change.FIXED else row.change is Change.NOT_OFF
                problems = self._resists(seen, name, row, stays)
        after = seen.features()
        changed = _differences(before, after)
        if changed:
            problems.append(f"{seen.place}: after {name.value} was put back, {changed} did not come back")
        return problems

    def _told(self, seen: Seen, name: OffloadName, row: Switch, word: str, on: bool) -> list[str]:
        """Switch it and look at the whole table: itself, what it takes along, and the rest."""
        before = seen.features()
        attempt = seen.server.host.set_feature(seen.iface, word, on)
        if _feature(seen, attempt.now, row).on is not on:
            why = f" ({attempt.refused})" if attempt.refused else ""
            return [
                _said(seen, name, row, f"stays {_word(not on)} when told to go {_word(on)}{why}", "that it changes")
            ]
        if on:
            return []
        problems = []
        for other, its_row in _rows(EVERY).items():
            was, now = _feature(seen, before, its_row).on, _feature(seen, attempt.now, its_row).on
            if other in row.clears and now:
                problems.append(_said(seen, other, its_row, f"stays on when {name.value} goes off", "it off too"))
            elif other is not name and other not in row.clears and was is not now:
                found = f"goes {_word(now)} when {name.value} goes off"
                problems.append(_said(seen, other, its_row, found, "it untouched"))
        return problems

    def _resists(self, seen: Seen, name: OffloadName, row: Switch, stays: bool) -> list[str]:
        problems = []
        for word in row.tried:
            attempt = seen.server.host.set_feature(seen.iface, word, not stays)
            found = _feature(seen, attempt.now, row).on
            if found is not stays:
                wish = f"it {row.change.value}" if isinstance(row.change, Change) else "it as it was"
                problems.append(_said(seen, name, row, f"goes {_word(found)} when told to", wish))
        return problems

    def _proved(self, seen: Seen, name: OffloadName, row: Switch, on: bool, seconds: float) -> list[str]:
        assert row.proof is not None
        with self._put_back(seen, name):
            attempt = seen.server.host.set_feature(seen.iface, row.set_words[0], on)
            if _feature(seen, attempt.now, row).on is not on:
                raise BenchFault(f"{seen.place}: {name.value} could not be switched {_word(on)} ({attempt.refused})")
            before = seen.server.host.counters(seen.iface)
            pause(seconds)
            after = seen.server.host.counters(seen.iface)
        grown = _total(after, row.proof.counter) - _total(before, row.proof.counter)
        per = None
        if row.proof.per is not None:
            per = _total(after, row.proof.per) - _total(before, row.proof.per)
        logger.info(f"{seen.place}: {name.value} {_word(on)}: {row.proof.counter} +{grown}, {row.proof.per} +{per}")
        return _judged(seen, name, row, on, grown, per)

    @staticmethod
    def _put_back(seen: Seen, name: OffloadName) -> AbstractContextManager[None]:
        words = {row.word: row.set_words[0] for row in _rows(EVERY).values() if row.set_words}
        restoring = seen.server.host.restoring_features(seen.iface, words)
        what = f"{seen.iface}: {name.value} is switched"
        return put_back(current(), seen.server, seen.port.name, what, restoring)


def _sheet() -> str:
    return current().card.name


def _table() -> Table:
    card = current().card
    return card.section(card.offloads, "offloads")


def _rows(offload: str) -> Rows:
    """The rows of the dut's system; ``every`` for all of them.

    :raises NotApplicable: when the sheet has none for it.
    :raises BenchFault: for a name that is no offload.
    """
    system = current().server(Role.DUT).description.os
    rows = {name: _switch(row) for name, row in _table().rows(system).items()}
    if offload != EVERY:
        known = [name.value for name in OffloadName]
        if offload not in known:
            raise BenchFault(f"offload {offload!r} is not known; wanted: {EVERY}, {', '.join(known)}")
        rows = {name: row for name, row in rows.items() if name.value == offload}
    if not rows:
        what = "any offload" if offload == EVERY else f"offload {offload}"
        raise NotApplicable(f"sheet {_sheet()} says nothing about {what} for {system.value}")
    return rows


def _ports() -> Iterator[Seen]:
    run = current()
    for port in run.ports(Role.DUT):
        yield Seen(port, run.server_of(port), run.interface(port))


def _feature(seen: Seen, shown: Features, row: Switch) -> Feature:
    """:raises BenchFault: when the port does not show the feature at all."""
    try:
        return shown[row.word]
    except BenchFault as error:
        raise BenchFault(f"{seen.place}: {error}; sheet {_sheet()} has it") from error


def _differences(before: Features, after: Features) -> str:
    """The features that differ, in words; empty when all is as it was."""
    names = [*before.features, *(name for name in after.features if name not in before.features)]
    return ", ".join(name for name in names if before.features.get(name) != after.features.get(name))


def _total(counters: Counters, name: str) -> int:
    """A counter, or the sum of it over all queues (``txq0: NAME``, ``[0]: NAME``, ``txq.0.NAME``).

    :raises BenchFault: when there is none of that name.
    """
    found = [value for known, value in counters.entries if known == name or known.endswith((f": {name}", f".{name}"))]
    if not found:
        raise BenchFault(f"no counter {name!r} among {len(counters.entries)}; sheet {_sheet()} names it as a proof")
    return sum(found)


def _judged(seen: Seen, name: OffloadName, row: Switch, on: bool, grown: int, per: int | None) -> list[str]:
    assert row.proof is not None
    counter, at_least = row.proof.counter, row.proof.at_least
    if per is None or at_least is None:
        if (grown > 0) is on:
            return []
        found, wish = f"{counter} grew by {grown} with it {_word(on)}", "growth" if on else "none"
    else:
        if per == 0:
            raise BenchFault(f"{seen.place}: {row.proof.per} did not grow, so no traffic flowed")
        if (grown >= at_least * per) is on:
            return []
        found = f"{counter} grew {grown / per:.2f} times as much as {row.proof.per} with it {_word(on)}"
        wish = f"at least {at_least:g} times" if on else f"less than {at_least:g} times"
    return [_said(seen, name, row, found, wish)]


def _said(seen: Seen, name: OffloadName, row: Switch, found: str, wish: str) -> str:
    return f"{seen.place}: offload {name.value} ({row.word}) {found}, sheet {_sheet()} wants {wish}"


def _word(on: bool) -> str:
    return "on" if on else "off"
