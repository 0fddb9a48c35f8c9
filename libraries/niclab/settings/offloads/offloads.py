"""Offloads of the dut's ports against the table of the sheet: as delivered, switched, unsupported names refused."""

from __future__ import annotations

from collections.abc import Sequence

from niclab.bench.records import Role
from niclab.card import Changeable, OffloadName, Unknown
from niclab.core.verdict import Collected, NotApplicable, SheetUnknown
from niclab.hosts.settings.ethtool_records import Features
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.settings.dut_ports import DutPort, dut_ports, refusal
from niclab.settings.offloads.offload_table import OffloadRow, on_or_off, put_features_back, rows, table
from niclab.settings.offloads.unsafe import switch_offload


def as_delivered(run: Run) -> None:
    """Judge whether every offload is on or off, and fixed or not, as the sheet says.

    Args:
        run: The current run.

    Raises:
        CardFailure: A port shows an offload otherwise.
        BenchFault: A port does not show an offload of the table.
        SheetUnknown: The sheet knows of no offload how it is delivered.
    """
    named, judged = rows(run), Collected()
    if all(isinstance(row.default, Unknown) and isinstance(row.change, Unknown) for row in named.values()):
        raise SheetUnknown(f"sheet {run.card.name} knows of no offload how it is delivered")
    for dut in dut_ports(run):
        with judged.one():
            shown = dut.host.settings.features(dut.iface)
            for row in named.values():
                judged.problems += _not_as_delivered(dut, shown, row)
    judged.end()


def switched(run: Run, offload: str) -> None:
    """Switch offloads of every port of the dut off and on, judge what changes with them, and put everything back.

    An offload that the sheet calls fixed, ``not-off`` or ``not-on`` must stay as it is.

    Args:
        run: The current run.
        offload: Name of an offload, such as ``tso4``, or ``every``.

    Raises:
        CardFailure: An offload does not keep to the table, or does not come back.
        BenchFault: A port does not show an offload of the table, or one could not be put back.
        SheetUnknown: The sheet does not know how the offload can be changed.
    """
    known = [row for row in rows(run, offload).values() if isinstance(row.change, Changeable)]
    if not known:
        raise SheetUnknown(f"sheet {run.card.name} does not know how {offload} can be changed")
    judged = Collected()
    for dut in dut_ports(run):
        with judged.one():
            _try_each(dut, known, judged)
    judged.end()


def refuse_unsupported_names(run: Run) -> None:
    """Switch features by names that the sheet lists as refused: each must be an error and change nothing.

    Args:
        run: The current run.

    Raises:
        CardFailure: A port takes such a name, or its features do not come back.
        BenchFault: Its offloads could not be put back.
        NotApplicable: The sheet lists no such name for the dut's system.
    """
    system, card = run.server(Role.DUT).description.os, run.card.name
    entries = [entry for entry in table(run).refused if entry.os is system]
    if not entries:
        raise NotApplicable(f"sheet {card} lists no feature names that {system.value} must refuse")
    judged = Collected()
    for dut in dut_ports(run):
        with judged.one():
            before = dut.host.settings.features(dut.iface)
            with put_features_back(dut, "unsupported feature names are tried"):
                for entry in entries:
                    attempt = dut.host.settings.set_feature(dut.iface, entry.word, True)
                    if attempt.refused is None or attempt.now != before:
                        taken = f"{dut.place} took the feature name {entry.word}"
                        judged.problems.append(f"{taken}; expected it refused: {entry.why} (sheet {card})")
            if changed := _differences(before, dut.host.settings.features(dut.iface)):
                tried = f"{dut.place}: after unsupported feature names were tried"
                judged.problems.append(f"{tried}, {changed} did not come back")
    judged.end()


def _not_as_delivered(dut: DutPort, shown: Features, row: OffloadRow) -> list[str]:
    feature, problems = row.feature(dut, shown), list[str]()
    if row.default in (True, False) and feature.on is not row.default:
        problems.append(row.expected(dut, f"is {on_or_off(feature.on)}", on_or_off(bool(row.default))))
    if row.shows_fixed and row.change is Changeable.FIXED and not feature.fixed:
        problems.append(row.expected(dut, "can be changed", "it fixed"))
    if row.change is Changeable.BOTH and feature.fixed:
        problems.append(row.expected(dut, "is fixed", "that it can be changed"))
    return problems


def _try_each(dut: DutPort, named: Sequence[OffloadRow], judged: Collected) -> None:
    """Each offload in turn; the next one begins with what was read when the last one had been put back."""
    before = dut.host.settings.features(dut.iface)
    for row in named:
        with put_features_back(dut, f"{row.name.value} is switched"):
            judged.problems += _tried(dut, row, before)
        after = dut.host.settings.features(dut.iface)
        if changed := _differences(before, after):
            judged.problems.append(f"{dut.place}: after {row.name.value} was put back, {changed} did not come back")
        before = after


def _tried(dut: DutPort, row: OffloadRow, before: Features) -> list[str]:
    if row.change is not Changeable.BOTH:
        is_fixed = row.change is Changeable.FIXED
        return _resists(dut, row, row.feature(dut, before).on if is_fixed else row.change is Changeable.NOT_OFF)
    problems = list[str]()
    for word in row.set_words:
        for on in (False, True):
            attempt = switch_offload(dut.run, dut.port, row.name, word, on)
            problems += _judged(dut, row, on, before, attempt)
            before = attempt.now
    return problems


def _judged(dut: DutPort, row: OffloadRow, on: bool, before: Features, attempt: Attempt[Features]) -> list[str]:
    """Judge an offload that can be switched, and everything that goes off with it."""
    if row.feature(dut, attempt.now).on is not on:
        found = f"stays {on_or_off(not on)} when switched {on_or_off(on)}{refusal(attempt)}"
        return [row.expected(dut, found, "that it changes")]
    if on:
        return []
    others = [other for other in rows(dut.run).values() if other.name is not row.name]
    return [text for other in others for text in _side_effect(dut, row.name, row.clears, other, before, attempt.now)]


def _side_effect(
    dut: DutPort,
    cause: OffloadName,
    clears: tuple[OffloadName, ...],
    other: OffloadRow,
    before: Features,
    after: Features,
) -> list[str]:
    was, now = other.feature(dut, before).on, other.feature(dut, after).on
    if other.name in clears:
        return [other.expected(dut, f"stays on when {cause.value} goes off", "it off too")] if now else []
    if was is now:
        return []
    return [other.expected(dut, f"goes {on_or_off(now)} when {cause.value} goes off", "it untouched")]


def _resists(dut: DutPort, row: OffloadRow, stays: bool) -> list[str]:
    """Try to switch an offload that must stay as it is."""
    problems = []
    for word in row.tried:
        found = row.feature(dut, dut.host.settings.set_feature(dut.iface, word, not stays).now).on
        if found is not stays:
            expected = f"it {row.change.value}" if isinstance(row.change, Changeable) else "it as it was"
            problems.append(row.expected(dut, f"goes {on_or_off(found)} when switched", expected))
    return problems


def _differences(before: Features, after: Features) -> str:
    """Name the features that differ; empty when all is as it was."""
    names = [*before.features, *(name for name in after.features if name not in before.features)]
    return ", ".join(name for name in names if before.features.get(name) != after.features.get(name))
