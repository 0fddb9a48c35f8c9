"""Pause frames of a port: as delivered, and switched."""

from __future__ import annotations

from niclab.card import PauseFacts
from niclab.core.verdict import fail_with
from niclab.hosts.ethtool_records import Pause
from niclab.run.run import Run
from niclab.settings.ports import DutPort, dut_ports, refusal, require_known


def as_delivered(run: Run) -> None:
    """Judge the flow control of every port of the dut against the sheet: negotiation, pause frames both ways.

    Args:
        run: The current run.

    Raises:
        CardFailure: A port has another flow control.
        NotApplicable: The sheet knows nothing of it.
    """
    section, problems = run.card.section(run.card.pause, "pause"), list[str]()
    facts = {"autoneg": section.autoneg, "rx": section.rx, "tx": section.tx}
    require_known(run, "pause", facts.values())
    for dut in dut_ports(run):
        shown = dut.ask("pause frames", dut.host.settings.pause)
        for name, fact in facts.items():
            problems += dut.compare(f"pause {name}", _switches(shown)[name], fact)
    fail_with(problems)


def switched(run: Run) -> None:
    """Switch pause frames off and on in each direction, on every port of the dut, and put them back.

    Where the sheet says that they cannot be set, no attempt may change them.

    Args:
        run: The current run.

    Raises:
        CardFailure: A port does not keep to the sheet, or its pause frames do not come back.
        BenchFault: They could not be put back.
        NotApplicable: The sheet says nothing about them, or only that nothing shows them.
    """
    section, problems = run.card.section(run.card.pause, "pause"), list[str]()
    if not section.settable:
        require_known(run, "pause", [section.autoneg, section.rx, section.tx])
    for dut in dut_ports(run):
        before = dut.ask("pause frames", dut.host.settings.pause)
        with dut.put_back("pause frames are switched", dut.host.undo.pause(dut.iface)):
            for name in ("rx", "tx"):
                for on in (False, True):
                    problems += _tried(dut, section, before, name, on)
        after = dut.ask("pause frames", dut.host.settings.pause)
        if _switches(after) != _switches(before):
            problems.append(f"{dut.place}: pause frames did not come back: {after}, before {before}")
    fail_with(problems)


def _tried(dut: DutPort, section: PauseFacts, before: Pause, name: str, on: bool) -> list[str]:
    attempt = dut.host.settings.set_pause(dut.iface, section.asked(name, on))
    found = _switches(attempt.now)[name]
    if section.settable and found is not on:
        return [dut.expected(f"pause {name}", f"{found}{refusal(attempt)}", on)]
    if not section.settable and found != _switches(before)[name]:
        return [dut.expected(f"pause {name}", f"changed to {found}", "it fixed")]
    return []


def _switches(pause: Pause) -> dict[str, bool | None]:
    return {"autoneg": pause.autoneg, "rx": pause.rx, "tx": pause.tx}
