"""Interrupt coalescing of a port: as delivered, parameters set, unsupported ones refused.

Whatever sets a parameter does so by :func:`put`.
"""

from __future__ import annotations

from niclab.card import CoalescingFacts, CoalescingParameter
from niclab.core.verdict import CardFailure, Collected, NotApplicable
from niclab.core.wait import pause
from niclab.hosts.host import Host
from niclab.hosts.settings.ethtool_records import Coalescing
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.settings.dut_ports import (
    DutPort,
    chosen_rows,
    driver_section,
    dut_ports,
    is_unknown,
    refusal,
    require_known,
    settled,
)

SETTLES_WITHIN_S = 3.0
"""be2net applies a new coalescing value once a second (be_worker), and shows the value that is in force."""
TRIED_AS_UNSUPPORTED = ("rx-frames", "tx-frames", "rx-usecs-irq", "sample-interval")
UNSUPPORTED_VALUE = 7


def put(
    host: Host, shown: Coalescing, name: str, value: int, *, settles_within_s: float = SETTLES_WITHIN_S
) -> Attempt[int | None]:
    """Give a parameter of a port a value, with adaptive coalescing off where there is such, and read it back.

    Args:
        host: The port's host.
        shown: What the port shows before.
        name: Name of the parameter.
        value: Its value.
        settles_within_s: Seconds that the port has to show it.
    """
    iface, values = shown.iface, dict[str, int | bool]()
    if shown.adaptive_rx is not None:
        values["adaptive-rx"] = False
    attempt = host.settings.set_coalescing(iface, values | {name: value})
    now = attempt.now
    if attempt.refused is None and now.parameters.get(name) != value:
        now = settled(
            lambda: host.settings.coalescing(iface), lambda seen: seen.parameters.get(name) == value, settles_within_s
        )
    return Attempt(attempt.refused, now.parameters.get(name))


def as_delivered(run: Run) -> None:
    """Judge adaptive coalescing and every parameter of every port of the dut against the sheet.

    Args:
        run: The current run.

    Raises:
        CardFailure: A port has another value.
        NotApplicable: The sheet knows nothing of coalescing.
    """
    section, judged = _section(run), Collected()
    defaults = [row.default for row in section.parameters]
    require_known(run, "coalescing", [section.adaptive_rx, section.adaptive_tx, *defaults])
    for dut in dut_ports(run):
        with judged.one():
            shown = dut.ask("coalescing", dut.host.settings.coalescing)
            judged.problems += dut.compare("adaptive receive coalescing", shown.adaptive_rx, section.adaptive_rx)
            judged.problems += dut.compare("adaptive send coalescing", shown.adaptive_tx, section.adaptive_tx)
            for row in section.parameters:
                judged.problems += dut.compare(row.name, shown.parameters.get(row.name), row.default)
    judged.end()


def set_parameter(run: Run, parameter: str) -> None:
    """Give a parameter of every port of the dut another value, with adaptive coalescing off, and put it back.

    Args:
        run: The current run.
        parameter: Name of a parameter of the sheet, such as ``rx-usecs``, or ``every``.

    Raises:
        CardFailure: A parameter does not keep to the sheet, or does not come back.
        BenchFault: It could not be put back.
        NotApplicable: The sheet does not name the parameter.
        SheetUnknown: The sheet does not know whether it can be set.
    """
    section, judged = _section(run), Collected()
    rows = chosen_rows(run, parameter, {row.name: row for row in section.parameters}, "coalescing parameter")
    known = [row for row in rows.values() if not is_unknown(row.settable)]
    if not known:
        for name, row in rows.items():
            run.card.known(row.settable, f"coalescing.parameters.{name}.settable")
    for row in known:
        for dut in dut_ports(run):
            with judged.one():
                _try(dut, row, judged)
    judged.end()


def refuse_unsupported(run: Run) -> None:
    """Set parameters that the sheet does not list on every port of the dut: each must be refused.

    Args:
        run: The current run.

    Raises:
        CardFailure: A port takes one, shows no parameter of the sheet, or a value does not come back.
        BenchFault: The parameters could not be put back.
        NotApplicable: The sheet lists no parameter, or all that are tried.
    """
    section, judged = _section(run), Collected()
    listed = [row.name for row in section.parameters]
    others = [name for name in TRIED_AS_UNSUPPORTED if name not in listed]
    if not listed or not others:
        known = "no parameter" if not listed else "every parameter that is tried"
        raise NotApplicable(f"sheet {run.card.name} lists {known} of coalescing")
    for dut in dut_ports(run):
        with judged.one():
            _try_unsupported(dut, listed, others, judged)
    judged.end()


def _try_unsupported(dut: DutPort, listed: list[str], others: list[str], judged: Collected) -> None:
    before = dut.ask("coalescing", dut.host.settings.coalescing).parameters
    shown = tuple(name for name in (*listed, *others) if before.get(name) is not None)
    if not shown:
        raise CardFailure(dut.expected(", ".join(listed), None, "a value"))
    with dut.put_back("unsupported coalescing is tried", dut.host.undo.coalescing(dut.iface, shown)):
        for name in others:
            if dut.host.settings.set_coalescing(dut.iface, {name: UNSUPPORTED_VALUE}).refused is None:
                taken = f"{dut.place} took {name}; expected it refused (sheet {dut.run.card.name})"
                judged.problems.append(taken)
    after = dut.ask("coalescing", dut.host.settings.coalescing).parameters
    judged.problems += [
        f"{dut.place}: {name} did not come back: it is {after.get(name)}, before {before.get(name)}"
        for name in others
        if after.get(name) != before.get(name)
    ]


def _try(dut: DutPort, row: CoalescingParameter, judged: Collected) -> None:
    """Give one parameter another value, and put it back."""
    shown, name = dut.ask("coalescing", dut.host.settings.coalescing), row.name
    before = shown.parameters.get(name)
    if before is None:
        raise CardFailure(dut.expected(name, None, "a value"))
    with dut.put_back(f"{name} is set", dut.host.undo.coalescing(dut.iface, (name,))):
        resting = _resting(dut, shown, row)
        value = _another(row, before if resting is None else resting)
        within_s = SETTLES_WITHIN_S if row.settable else 0
        attempt = put(dut.host, shown, name, value, settles_within_s=within_s)
        judged.problems += _not_as_set(dut, row, value, resting, attempt)
    was = shown.adaptive_rx, before

    def read() -> tuple[bool | None, int | None]:
        seen = dut.ask("coalescing", dut.host.settings.coalescing)
        return seen.adaptive_rx, seen.parameters.get(name)

    def is_back(now: tuple[bool | None, int | None]) -> bool:
        # adaptive coalescing may have changed the value by now
        return now[0] is was[0] and (now == was or bool(now[0]))

    now = settled(read, is_back, SETTLES_WITHIN_S)
    if not is_back(now):
        judged.problems.append(f"{dut.place}: {name} did not come back: adaptive and value are {now}, before {was}")


def _not_as_set(
    dut: DutPort, row: CoalescingParameter, value: int, resting: int | None, attempt: Attempt[int | None]
) -> list[str]:
    found = attempt.now
    if row.settable and found != value:
        return [dut.expected(row.name, f"{found} when set to {value}{refusal(attempt)}", value)]
    if not row.settable and found != resting:
        return [dut.expected(row.name, f"{found} when set to {value}", f"{resting} as before, it is shown only")]
    return []


def _resting(dut: DutPort, shown: Coalescing, row: CoalescingParameter) -> int | None:
    """The value of a parameter before it is set, adaptive coalescing off where that changes one that is shown only."""
    if row.settable or not shown.adaptive_rx or not is_unknown(row.default):
        return shown.parameters.get(row.name)
    dut.host.settings.set_coalescing(dut.iface, {"adaptive-rx": False})
    pause(SETTLES_WITHIN_S)
    return dut.ask("coalescing", dut.host.settings.coalescing).parameters.get(row.name)


def _another(row: CoalescingParameter, before: int) -> int:
    most = row.max if isinstance(row.max, int) else before + 1
    return most if before != most else max(most - 1, 0)


def _section(run: Run) -> CoalescingFacts:
    return driver_section(run, "coalescing", CoalescingFacts, lambda dut: dut.host.settings.coalescing(dut.iface))
