"""The state before a run, kept next to the journal until a bench is found equal to it.

A run that ends in order and finds the bench as before removes it. After a run that was killed, or that left something
behind, it stays: the next run and ``niclab restore`` compare the bench with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from niclab.bench.records import Role
from niclab.core.parallel import side_by_side
from niclab.core.plain import as_json
from niclab.core.undo import Journal
from niclab.core.verdict import BenchFault
from niclab.report import read_json_object, write_json
from niclab.report.own_checks.hygiene_check import FORMAT
from niclab.run.run import Run
from niclab.state.snapshot import Depth, Snapshot, diff
from niclab.state.take import take, take_switch


@dataclass(frozen=True)
class Fitting:
    """Equipment of a bench without which a state means something else.

    ``systems``: names of the systems that the servers boot. ``ports``: PCI addresses of the test ports of each server.
    ``switched``: the bench has a managed switch.
    """

    card: str
    systems: Mapping[Role, str]
    ports: Mapping[Role, Sequence[str]]
    switched: bool

    @classmethod
    def of(cls, run: Run) -> Fitting:
        """Return the equipment of a run.

        Args:
            run: The run.
        """
        ports = {role: sorted({port.pci for port in run.ports(role)}) for role in Role}
        systems = {role: run.bench.server(role).boots for role in Role}
        return cls(run.card.name, systems, ports, run.bench.switch is not None)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Fitting:
        """Return the equipment that was kept.

        Raises:
            KeyError: A field is missing.
            ValueError: A server is unknown.
        """
        systems = {Role(role): str(system) for role, system in fields["systems"].items()}
        ports = {Role(role): [str(pci) for pci in addresses] for role, addresses in fields["ports"].items()}
        return cls(str(fields["card"]), systems, ports, bool(fields["switched"]))

    def plain(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            "card": self.card,
            "switched": self.switched,
            "systems": {role.value: system for role, system in self.systems.items()},
            "ports": {role.value: list(pcis) for role, pcis in self.ports.items()},
        }

    def __str__(self) -> str:
        each = (f"{role.value} {self.systems[role]} with ports {', '.join(self.ports[role])}" for role in Role)
        return f"card {self.card}, {', '.join(each)}, {'a switch' if self.switched else 'no switch'}"


@dataclass(frozen=True)
class KeptState:
    """The state before a run. ``older``: ids of the changes that brought the bench up."""

    run: str
    states: list[Snapshot]
    older: frozenset[str]
    fitting: Fitting


def take_all(run: Run, depth: Depth, fitting: Fitting | None = None) -> list[Snapshot]:
    """Take the state of both servers side by side, and of the switch if the bench has one.

    Args:
        run: The run, with servers that answer.
        depth: How much is taken.
        fitting: The equipment whose ports are looked at; by default that of the run.

    Raises:
        BenchFault: One does not answer, or the answer cannot be read.
    """
    ports = (fitting or Fitting.of(run)).ports

    def ask(role: Role) -> Snapshot:
        return take(run.server(role), depth, ports[role])

    states = side_by_side(ask, Role)
    if run.bench.switch is not None:
        states.append(take_switch(run.switch, run.bench.switch.ports, depth))
    return states


def keep_for_restore(run: Run, before: Sequence[Snapshot], older: frozenset[str]) -> None:
    """Keep the state before a run for whoever comes after it, if it does not end in order.

    Args:
        run: The run.
        before: The state that the bench should have after it.
        older: Ids of the changes that brought the bench up; they are undone after the comparison.

    Raises:
        BenchFault: It cannot be written.
    """
    content = {"format": FORMAT, "run": run.journal.run, "older": sorted(older)}
    equipment = {"fitting": Fitting.of(run).plain()}
    write_json(run.journal.state_file, {**content, **equipment, "states": as_json(list(before))})
    run.bench_servers.keep_state(run.journal.state_file.read_bytes())


def kept_for_restore(journal: Journal) -> KeptState | None:
    """Read the state before the last run of a bench, None when there is none.

    Args:
        journal: The journal of the bench.

    Returns:
        The state.

    Raises:
        BenchFault: The file cannot be read.
    """
    file = journal.state_file
    if not file.exists():
        return None
    content = read_json_object(file)
    try:
        states = [Snapshot(each["server"], Depth(each["depth"]), each["values"]) for each in content["states"]]
        return KeptState(str(content["run"]), states, frozenset(content["older"]), Fitting.read(content["fitting"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BenchFault(f"{file}: is no state of a bench: {error}; expected format {FORMAT}") from error


def compare_with_kept(run: Run, kept: KeptState) -> list[str]:
    """Compare a restored bench with the state before the run that was interrupted.

    Args:
        run: The run that restores, with servers that answer.
        kept: The state before the interrupted run.

    Returns:
        A line for each difference.

    Raises:
        BenchFault: The state cannot be taken.
    """
    if not run.servers:
        raise BenchFault(f"bench {run.bench.name} is down; expected up (state before the interrupted run)")
    now = {each.server: each for each in take_all(run, Depth.FULL, kept.fitting)}
    if missing := [old.server for old in kept.states if old.server not in now]:
        raise BenchFault(f"bench {run.bench.name} has no {', '.join(missing)}; expected one, as before that run")
    return [str(left) for old in kept.states for left in diff(old, now[old.server])]
