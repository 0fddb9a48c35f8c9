"""The serial consoles: what a server says when nothing else can be asked any more."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.bench.records import Role
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault

CRASH_WITHIN_S = 30.0
ANSWER_WITHIN_S = 20.0


@library(scope="GLOBAL")
class Console(BenchLibrary):
    """Keywords about serial consoles. ``server`` is ``dut`` or ``peer``.

    | `Console Should Answer` | dut |
    | `Crash` | dut |
    | `Crash By NMI` | dut |
    | `Console Should Show A Panic` | dut |
    """

    @keyword
    def console_should_answer(self, server: Role) -> None:
        """Log in on the console, run a command there, and compare output and exit status.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            BenchFault: The console does not answer, or is that of another machine.
            NotApplicable: The server has no console.
        """
        target = self.run.server(server)
        target.log_in_on_console(within_s=ANSWER_WITHIN_S)
        try:
            status, output = target.console.run("uname -n; (exit 7)", within_s=ANSWER_WITHIN_S)
            expected = target.run("uname -n").stdout.strip()
        finally:
            target.console.send_line("exit")  # a shell of root must not stay open on the console
        if (status, output.strip()) != (7, expected):
            raise BenchFault(
                f"{target.name} console: 'uname -n; (exit 7)' gave status {status} and {output.strip()!r}; "
                f"expected 7 and {expected!r}: is this the console of another machine?"
            )

    @keyword
    def crash(self, server: Role) -> None:
        """Make the kernel of the server panic on purpose. The journal resets the server if nobody else does.

        Args:
            server: ``dut`` or ``peer``.
        """
        target = self.run.server(server)
        undo = Action(ActionKind.POWER, target.name, "on")
        self.run.journal.register(target.name, "kernel is made to panic", undo)
        target.crash()

    @keyword("Crash By NMI")
    def crash_by_nmi(self, server: Role) -> None:
        """Let the BMC give the processors of the server an NMI, at which its kernel panics where it is set up for it.

        Linux does with the sysctl ``kernel.unknown_nmi_panic`` 1. The journal resets the server if nobody else does.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            NotApplicable: The server has no BMC.
            BenchFault: The BMC does not answer, or refuses.
        """
        target = self.run.server(server)
        nmi = target.bmc.nmi
        self.run.journal.register(target.name, "kernel is made to panic", Action(ActionKind.POWER, target.name, "on"))
        target.crash(nmi)

    @keyword
    def console_should_show_a_panic(self, server: Role) -> None:
        """Read the panic of the kernel, with its reason, on the console.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            BenchFault: No panic is shown within 30 s.
        """
        target = self.run.server(server)
        lines = target.console.expect_death(within_s=CRASH_WITHIN_S)
        logger.info(f"{target.name} console:\n" + "\n".join(lines))
