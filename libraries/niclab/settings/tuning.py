"""Settings that a test or suite chooses: held until it ends, whatever ends it, and put back then, newest first."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack

from niclab.bench.records import Port, Role
from niclab.card import Setting, SettingKind
from niclab.core.verdict import BenchFault
from niclab.hosts.steering.steering_kinds import SteeringKind
from niclab.run.run import Run
from niclab.run.temporary import put_back
from niclab.settings import steering
from niclab.settings.held import held


def port_of(run: Run, name: str) -> Port:
    """Return a port by its name; that of a server means its port on the first path.

    Args:
        run: The current run.
        name: ``dut.p0``, or ``dut``.

    Raises:
        BenchFault: There is no such port.
    """
    if name in [role.value for role in Role]:
        return run.bench.end(run.bench.paths[0], Role(name))
    return run.bench.port(name)


class Tuning:
    """The settings of a run that its tests and suites have chosen. A part of the run.

    What is set in a test ends with the test, what is set in the setup of a suite with the suite.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._scopes: dict[str, ExitStack] = {}
        self._running: list[str] = []

    def begin(self, scope: str) -> None:
        """A suite or test begins.

        Args:
            scope: Its id.
        """
        self._running.append(scope)

    def end(self, scope: str) -> None:
        """A suite or test has ended: put back what was set in it.

        Args:
            scope: Its id.

        Raises:
            BenchFault: A setting could not be put back; all others have been, and the journal keeps that one.
        """
        if scope in self._running:
            self._running.remove(scope)
        self._scopes.pop(scope, ExitStack()).close()

    def set(self, port: str, setting: Setting) -> None:
        """Set a setting of a port until the running test or suite ends, and read it back.

        Args:
            port: Name of the port, see :func:`port_of`.
            setting: The setting.

        Raises:
            NotApplicable: The sheet or the system does not offer it.
            CardFailure: The dut takes it and does not show it.
            BenchFault: The peer or a system does not show it, or there is no such port.
        """
        self._hold(held(self._run, port_of(self._run, port), setting))

    def set_sysctl(self, role: Role, name: str, value: str) -> None:
        """Set a sysctl of a server until the running test or suite ends, and read it back.

        Args:
            role: The server.
            name: Name of the sysctl.
            value: Its value.

        Raises:
            NotApplicable: The system has no such sysctl.
            BenchFault: It does not take the value.
        """
        self.set(role.value, Setting(kind=SettingKind.SYSCTL, name=name, to=value))

    def undo(self, role: Role, what: str, command: str) -> None:
        """Run a command on a server when the running test or suite ends.

        Args:
            role: The server.
            what: What will be changed, in words.
            command: The command, which must do no harm where nothing was changed.
        """
        server = self._run.server(role)
        self._hold(put_back(self._run, server, server.name, what, command))

    def steer(self, port: str, kind: SteeringKind, cpus: frozenset[int]) -> None:
        """Steer interrupts or packets of a port until the running test or suite ends, and read it back.

        Args:
            port: Name of the port, see :func:`port_of`.
            kind: What is steered.
            cpus: The CPUs; interrupts and send queues get one of them in turn. RFS needs none.

        Raises:
            NotApplicable: The system or the port has no such steering, or the server has not those CPUs.
            CardFailure: A port of the dut does not show it.
            BenchFault: A port of the peer does not show it.
        """
        self._hold(steering.steered(self._run, port_of(self._run, port), kind, sorted(cpus)))

    def _hold(self, setting: AbstractContextManager[object]) -> None:
        if not self._running:
            raise BenchFault("no test or suite runs that could hold a setting")
        self._scopes.setdefault(self._running[-1], ExitStack()).enter_context(setting)
