"""Pause frames of a port: as delivered, and switched. Whatever sets them does so by :func:`put`."""

from __future__ import annotations

from collections.abc import Mapping

from niclab.card import PauseFacts
from niclab.core.verdict import Collected
from niclab.hosts.host import Host
from niclab.hosts.settings.ethtool_records import Pause
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.settings.dut_ports import DutPort, dut_ports, refusal, require_known, settled

SETTLES_WITHIN_S = 5.0
"""ixgbe shows new pause frames once the link is back (ixgbe_fc_autoneg()), cxgb4 once its firmware has reported them
(t4_handle_get_port_info())."""


def put(
    host: Host,
    facts: PauseFacts,
    shown: Pause,
    name: str,
    on: bool,
    *,
    settles_within_s: float = SETTLES_WITHIN_S,
) -> Attempt[Pause]:
    """Switch one part of the pause frames of a port, and read it back.

    The negotiation goes off with it where the port shows it; ``host.undo.pause`` brings everything back.

    Args:
        host: The port's host.
        facts: The card's sheet of pause frames.
        shown: What the port shows before.
        name: ``autoneg``, ``rx`` or ``tx``.
        on: On or off.
        settles_within_s: Seconds that the port has to show it.
    """
    iface, values = shown.iface, {name: on}
    if facts.send_needs_receive and (name, on) in (("rx", False), ("tx", True)):
        values = {"rx": on, "tx": on}
    if shown.autoneg:
        values = without_autoneg(values)
    attempt = host.settings.set_pause(iface, values)
    if attempt.refused is not None or switches(attempt.now)[name] is on:
        return attempt
    seen = settled(lambda: host.settings.pause(iface), lambda now: switches(now)[name] is on, settles_within_s)
    return Attempt(None, seen)


def without_autoneg(values: Mapping[str, bool]) -> dict[str, bool]:
    """Add to values for pause frames that their negotiation is off, unless they name it.

    e1000e, igb and igc heed neither ``rx`` nor ``tx`` while it is on, and ask for both (their ``set_pauseparam``).

    Args:
        values: Switches by name.
    """
    return {"autoneg": False, **values} if {"rx", "tx"} & set(values) else dict(values)


def as_delivered(run: Run) -> None:
    """Judge the flow control of every port of the dut against the sheet: negotiation, pause frames both ways.

    Args:
        run: The current run.

    Raises:
        CardFailure: A port has another flow control.
        NotApplicable: The sheet knows nothing of it, and the driver does not offer it.
        SheetUnknown: The sheet knows nothing of what the driver shows.
    """
    section, judged = run.card.section(run.card.pause, "pause"), Collected()
    facts = {"autoneg": section.autoneg, "rx": section.rx, "tx": section.tx}
    require_known(run, "pause", facts.values(), None if section.settable else read_pause)
    for dut in dut_ports(run):
        with judged.one():
            shown = dut.ask("pause frames", dut.host.settings.pause)
            for name, fact in facts.items():
                judged.problems += dut.compare(f"pause {name}", switches(shown)[name], fact)
    judged.end()


def read_pause(dut: DutPort) -> Pause:
    """Read the pause frames of a port.

    Raises:
        NotOffered: Its driver has none to show.
    """
    return dut.host.settings.pause(dut.iface)


def switched(run: Run) -> None:
    """Switch pause frames off and on in each direction, on every port of the dut, and put them back.

    Where the sheet says that they cannot be set, no attempt may change them.

    Args:
        run: The current run.

    Raises:
        CardFailure: A port does not keep to the sheet, or its pause frames do not come back.
        BenchFault: They could not be put back.
        NotApplicable: The sheet says nothing about them, or knows none of a driver that does not offer them.
        SheetUnknown: The sheet knows nothing of those that the driver shows.
    """
    section, judged = run.card.section(run.card.pause, "pause"), Collected()
    if not section.settable:
        require_known(run, "pause", [section.autoneg, section.rx, section.tx], read_pause)
    for dut in dut_ports(run):
        with judged.one():
            before = dut.ask("pause frames", dut.host.settings.pause)
            with dut.put_back("pause frames are switched", dut.host.undo.pause(dut.iface)):
                for name in ("rx", "tx"):
                    for on in (False, True):
                        judged.problems += _tried(dut, before, section, name, on)
            judged.problems += not_back(dut, before)
    judged.end()


def _tried(dut: DutPort, before: Pause, facts: PauseFacts, name: str, on: bool) -> list[str]:
    attempt = put(dut.host, facts, before, name, on, settles_within_s=SETTLES_WITHIN_S if facts.settable else 0)
    found = switches(attempt.now)[name]
    if facts.settable and found is not on:
        return [dut.expected(f"pause {name}", f"{found}{refusal(attempt)}", on)]
    if not facts.settable and found != switches(before)[name]:
        return [dut.expected(f"pause {name}", f"changed to {found}", "it fixed")]
    return []


def not_back(dut: DutPort, before: Pause) -> list[str]:
    """Say that the pause frames of a port are not what they were, when they had time to come back.

    Args:
        dut: The port.
        before: What it showed before.

    Returns:
        The problem, or nothing.
    """

    def read() -> Pause:
        return dut.ask("pause frames", dut.host.settings.pause)

    after = settled(read, lambda now: switches(now) == switches(before), SETTLES_WITHIN_S)
    if switches(after) == switches(before):
        return []
    return [f"{dut.place}: pause frames did not come back: {after}, before {before}"]


def switches(pause: Pause) -> dict[str, bool | None]:
    """The switches of pause frames by name; None where the port shows none."""
    return {"autoneg": pause.autoneg, "rx": pause.rx, "tx": pause.tx}
