"""The state of a link at both ends of its path: asked for a diagnosis, and compared with what the lab has done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from niclab.bench.records import BenchPath, Port, Role, Wiring
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, Trouble
from niclab.hosts.host import HostSystem
from niclab.hosts.kernel.kernel_log import KernelLine, KernelLogMark, LogCut
from niclab.links import switch_ports
from niclab.links.diagnosis import Diagnosis, LinkEnd, Reason, SwitchEnd, diagnose
from niclab.links.failure import Cause
from niclab.run.run import Run
from niclab.switch.switch_records import Admin, Oper


@dataclass(frozen=True)
class Explained:
    """A failed link: what the lab has done to it, and why both ends say that it is down."""

    path: BenchPath
    cause: Cause
    diagnosis: Diagnosis

    @property
    def is_right(self) -> bool:
        """Do both ends show the cause that was brought about, and no other?"""
        return [reason.value for reason in self.diagnosis.reasons] == [self.cause.value]

    def figure(self) -> NotedFigure:
        """Return it as a figure for report and certificate."""
        return NotedFigure(
            kind=FigureKind.CAUSE,
            subject=f"cause of the lost link of path {self.path.name}",
            found=str(self.diagnosis),
            expected=self.cause.value,
            source="what the lab has done to it",
            outcome=Decision.MET if self.is_right else Decision.MISSED,
        )

    def __str__(self) -> str:
        return str(self.figure())


class Witnesses:
    """The ends of the paths of a run, and both kernel logs since the links were whole. A part of the run.

    Args:
        run: The qualification run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._marks: dict[Role, KernelLogMark] = {}

    def begin(self) -> None:
        """Set a mark in both kernel logs: the links are whole now.

        Raises:
            BenchFault: A server does not answer.
        """
        servers = list(self._run.servers.values())
        marks = side_by_side(lambda server: server.host.system.dmesg_mark(), servers)
        self._marks = {server.role: mark for server, mark in zip(servers, marks, strict=True)}

    def ask(self, path: BenchPath) -> Diagnosis:
        """Ask both ends of a path, and conclude why its link is down.

        Args:
            path: The path.

        Returns:
            The diagnosis.

        Raises:
            BenchFault: A server or the switch does not answer.
        """
        ports = [self._run.bench.end(path, role) for role in (Role.DUT, Role.PEER)]
        own, partner = side_by_side(lambda port: self._end(port, path), ports)
        return diagnose(own, partner)

    def why_down(self, done: Mapping[str, Cause]) -> list[Trouble]:
        """Explain every path that is down, though nobody has let its link fail, or for another reason than that.

        Args:
            done: What the lab has done to links: name of the path -> cause.

        Returns:
            A line of a message for each, and whether the card is to blame; a path that cannot be asked is the bench's.
        """
        lines = list[Trouble]()
        for path in self._run.bench.paths:
            try:
                found = self.ask(path)
            except BenchFault as error:
                lines.append(Trouble(f"path {path.name}: nobody knows why: {error}", of_card=False))
                continue
            known = (Reason.NO_LOSS.value, done[path.name].value if path.name in done else "")
            others = tuple(reason for reason in found.reasons if reason.value not in known)
            if others:
                found = replace(found, reasons=others)
                lines.append(Trouble(f"path {path.name} is down: {found}", of_card=found.is_of_card))
        return lines

    def _end(self, port: Port, path: BenchPath) -> LinkEnd:
        host, iface = self._run.server_of(port).host, self._run.interface(port)
        has_driver = host.pci.driver(port.pci) is not None
        shown = host.links.interface(iface) if has_driver else None
        lines = self._lines(port.role, host.system)
        mine = {iface, port.pci}
        trouble = [f"{each.kind}: {each.words}" for each in host.system.trouble(lines) if each.devices & mine]
        named = [line.text.strip() for line in lines if any(name in line.text for name in mine)]
        return LinkEnd(
            port.name,
            has_driver,
            is_up=shown is not None and shown.admin_up,
            has_carrier=shown is not None and shown.carrier,
            switch=None if path.through is Wiring.DIRECT else self._switch_end(port),
            trouble=tuple(trouble),
            said=named[-1] if named else "",
        )

    def _lines(self, role: Role, system: HostSystem) -> tuple[KernelLine, ...]:
        """Return the kernel's lines since the links were whole, as far as it still has them."""
        if role not in self._marks:
            return ()
        try:
            return system.dmesg_since(self._marks[role])
        except LogCut as cut:
            return cut.lines

    def _switch_end(self, port: Port) -> SwitchEnd:
        name = switch_ports.switch_port(self._run, port)
        state = self._run.switch.ports.state(name)
        return SwitchEnd(f"{self._run.switch.name} {name}", state.admin is Admin.UP, state.oper is Oper.UP)
