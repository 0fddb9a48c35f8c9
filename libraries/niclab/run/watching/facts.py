"""The facts of the card on the certificate: read of every port at the start, and again before the bench is released."""

from __future__ import annotations

from niclab.bench.records import Role
from niclab.core.marks import MarkKind
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault
from niclab.report.evidence.runfolder import QUALIFIED_DRIVER, RUN_FILE, note_software, record_card, record_facts
from niclab.run.driver_in_use import driver_in_words
from niclab.run.run import Run
from niclab.run.watching.server_software import software_of


class CardFacts:
    """Driver, driver package, firmware and system of the card. A part of the run.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._found: dict[str, str] = {}

    def record(self) -> dict[str, str]:
        """Read the facts, and note them for the certificate, with the software of both servers and its addresses.

        Returns:
            Name -> value of each fact.

        Raises:
            BenchFault: The dut cannot be asked, or the run folder cannot be written. Or the card is another one than in
                the killed part of the run.
        """
        self._found = self._read()
        self._note_untried()
        if (self._run.run_dir / RUN_FILE).exists():
            record_card(self._run.run_dir, self._addresses())
            record_facts(self._run.run_dir, **self._found)
            note_software(self._run.run_dir, software_of(self._run))
        return dict(self._found)

    def _addresses(self) -> str:
        """The MAC addresses of the card, which no other of its kind has."""
        shown = self._run.shown(self._run.ports(Role.DUT))
        return ", ".join(f"{port.key} {each.own_mac}" for port, each in shown.items())

    def _note_untried(self) -> None:
        server, ports = self._run.server(Role.DUT), self._run.ports(Role.DUT)
        found = side_by_side(lambda port: server.host.settings.untried(self._run.interface(port)), ports)
        for words in dict.fromkeys(each for offered in found for each in offered):
            having = [port.name for port, offered in zip(ports, found, strict=True) if words in offered]
            self._run.notes.mark(MarkKind.UNTRIED, f"{words}: {', '.join(having)}")

    def require_unchanged(self) -> None:
        """Read the facts again: one run qualifies one state of one card.

        Does nothing where none were recorded, because acquiring the bench has failed before.

        Raises:
            BenchFault: A fact has another value than at the start, or the dut cannot be asked.
        """
        if not self._found:
            return
        now = self._read()
        changed = [
            f"dut: {name} is {now[name]}; expected {before}, as at the start of the run"
            for name, before in self._found.items()
            if now[name] != before
        ]
        if changed:
            raise BenchFault("\n".join(changed))

    def _read(self) -> dict[str, str]:
        run = self._run
        server, ports = run.server(Role.DUT), run.ports(Role.DUT)
        host, infos = (
            server.host,
            side_by_side(lambda port: server.host.drivers.driver_info(run.interface(port)), ports),
        )
        release = host.system.os_release()
        facts = {
            "driver": _of_every_port(
                {
                    port.key: f"{info.driver} {info.version or '(no version)'}"
                    for port, info in zip(ports, infos, strict=True)
                }
            ),
            "firmware": _of_every_port(
                {port.key: info.firmware or "not reported" for port, info in zip(ports, infos, strict=True)}
            ),
            "kernel": host.system.kernel(),
            "system": release.pretty_name or release.id,
            QUALIFIED_DRIVER: driver_in_words(run, Role.DUT),
        }
        package = run.card.driver(server.description.os).package
        if package is not None:
            found = host.drivers.package(package.name)
            facts["package"] = f"{package.name} {'not installed' if found is None else found.full_version}"
        return facts


def _of_every_port(values: dict[str, str]) -> str:
    """Return the value of all ports once if it is the same, or else that of each."""
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{port} {value}" for port, value in values.items())
