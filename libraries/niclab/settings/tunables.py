"""Tunables of the dut's driver: module parameters and sysctls."""

from __future__ import annotations

from niclab.bench.records import Role
from niclab.core.verdict import Collected, NotApplicable, SheetUnknown, Trouble
from niclab.run.run import Run
from niclab.settings.dut_ports import Show, charged, end, is_unknown


def as_on_the_sheet(run: Run, show: Show) -> None:
    """Judge every tunable of the dut's driver against the default that the sheet knows it to have.

    Args:
        run: The current run.
        show: Takes each tunable and its documented default as a sentence.

    Raises:
        CardFailure: A tunable has another value.
        BenchFault: The server sets it.
        SheetUnknown: The sheet knows no default of the tunables that it names.
        NotApplicable: It names none.
    """
    server, card = run.server(Role.DUT), run.card
    driver = card.driver(server.description.os)
    facts = [fact for fact in driver.tunables if not is_unknown(fact.actual_default)]
    if not facts:
        said = f"sheet {card.name} knows no default of a tunable of {driver.module}"
        raise SheetUnknown(said) if driver.tunables else NotApplicable(said)
    judged, others = Collected(), list[Trouble]()
    for fact in facts:
        with judged.one():
            found = server.host.drivers.parameter(driver.module, fact.name)
            show(f"{server.name}: {fact.name} is {found}, documented {fact.documented_default}")
            if found != str(fact.actual_default):
                set_by = server.host.loading.parameter_entries(driver.module, fact.name)
                what = f"{server.name}: tunable {fact.name} of {driver.module} is {found}; "
                what += f"expected {fact.actual_default} (sheet {card.name})"
                what += f"; the server sets it: {'; '.join(set_by)}" if set_by else ""
                others += charged(judged, [Trouble(what, of_card=not set_by)])
    end(judged, others)
