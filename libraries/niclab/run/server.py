"""One server of a bench: shell, operating system, BMC, console, power."""

from __future__ import annotations

import shlex
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property

from niclab.bench.logins import BmcProtocol, Jump, Ssh
from niclab.bench.records import Bench, OperatingSystem, Port, Role
from niclab.core.marks import MarkKind
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import NotInTime, until
from niclab.files.secrets import Secrets
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.host import Host
from niclab.hosts.linux_host import LinuxHost
from niclab.run.acquiring.lease import Lease
from niclab.run.acquiring.server_copy import ServerCopy
from niclab.run.run_notes import RunNotes
from niclab.transports.bmc.bmc import Bmc, PowerState
from niclab.transports.bmc.ipmi import Ipmi, IpmiEndpoint
from niclab.transports.bmc.redfish import Redfish, RedfishEndpoint
from niclab.transports.console.serial import ConsoleEndpoint, SerialConsole
from niclab.transports.ssh.ssh import Job, Result, SshEndpoint, SshHost
from niclab.transports.ssh.ssh_job import ending_command

GREETING_WITHIN_S = 1.0
LOOK_EVERY_S, LOOK_AT_LEAST_EVERY_S = 0.2, 2.0
"""Pauses while a server starts. OpenSSH since 9.8 counts a second for each connection that does not log in, and shuts
out a client that has 15 (sshd_config(5), PerSourcePenalties: noauth, min): every 2 s never adds up.
"""
ANSWER_WITHIN_S = 5.0
"""A server that runs answers ``true`` over an open connection in milliseconds, over a new one in a second or two."""
POWER_WITHIN_S = 30.0

_SSH_GREETING = b"SSH-"


class Server:
    """A server that can be asked and switched. Constructing it connects to nothing.

    Args:
        bench: The bench that it belongs to.
        role: Which of its two servers it is.
        secrets: The secrets that the bench file names.
        notes: Those of the run; the console's log is in their folder.
    """

    def __init__(self, bench: Bench, role: Role, secrets: Secrets, notes: RunNotes) -> None:
        self.role, self.name = role, role.value
        self.description = bench.server(role)
        self._bench, self._secrets, self.notes = bench, secrets, notes
        self.ssh = SshHost(ssh_endpoint(self.name, self.description.ssh))
        self.journal: Journal | None = None
        """Journal that records the ends of background jobs; the run gives its own."""
        self.loopback_bps: float | None = None
        """Throughput of the server with itself alone, bit/s, once it has been measured."""
        self.lease: Lease | None = None
        """Says on the server who uses it; taken again after each restart."""
        self.copy: ServerCopy | None = None
        """The copy of the journal on the server."""
        self.on_lease: Callable[[Server], object] = lambda _: None
        """Is called when the lease was taken again after a restart."""
        self._console: SerialConsole | None = None
        self._console_mark = 0
        self.before_boot: list[Callable[[Server], object]] = []
        """Look at the server before the lab makes it boot: the next kernel does not say what this one has said."""
        self.crashes = 0
        """Number of kernel panics that the lab has caused."""
        self.boots_ordered = 0
        """Number of times that the lab has restarted, reset or crashed the server, or cut its power."""
        self.boots_found = 0
        """Number of boots that were noticed and that nobody had ordered."""
        self.crashed_by_lab = False
        """It is silent because the lab has made its kernel panic."""
        self.recoveries: list[str] = []
        """Recoveries of the server each time that it did not answer, in words."""
        self.out_of_service = ""
        """Reason why the server is not tried again in this run."""

    @cached_property
    def host(self) -> Host:
        """The operating system."""
        if self.description.os is OperatingSystem.FREEBSD:
            return FreeBsdHost(self.ssh, self.name)
        return LinuxHost(self.ssh, self.name)

    @cached_property
    def bmc(self) -> Bmc:
        """The BMC, by the protocol that the bench file chooses for power.

        Raises:
            NotApplicable: The server has none.
        """
        if self.description.bmc is None:
            raise NotApplicable(f"bench {self._bench.name}: {self.name} has no BMC")
        return self.ipmi if self.description.bmc.power is BmcProtocol.IPMI else self.redfish

    @cached_property
    def ipmi(self) -> Ipmi:
        """The BMC over IPMI.

        Raises:
            NotApplicable: The bench file describes no IPMI for this server.
        """
        entry = self.description.bmc.ipmi if self.description.bmc else None
        if entry is None:
            raise NotApplicable(f"bench {self._bench.name}: {self.name} has no BMC with IPMI")
        password = self._secrets.get(entry.password_secret)
        name = f"{self.name} BMC"
        return Ipmi(IpmiEndpoint(name, entry.address, entry.port, entry.user, password, entry.cipher_suite))

    @cached_property
    def redfish(self) -> Redfish:
        """The BMC over Redfish.

        Raises:
            NotApplicable: The bench file describes no Redfish for this server.
        """
        entry = self.description.bmc.redfish if self.description.bmc else None
        if entry is None:
            raise NotApplicable(f"bench {self._bench.name}: {self.name} has no BMC with Redfish")
        password = self._secrets.get(entry.password_secret)
        name = f"{self.name} BMC"
        return Redfish(RedfishEndpoint(name, entry.url, entry.user, password, entry.ca_file, system=entry.system))

    @property
    def console(self) -> SerialConsole:
        """The serial console, open: logged from the first use on, connected again when the line was lost.

        Raises:
            NotApplicable: The server has none.
        """
        entry = self.description.console
        if entry is None:
            raise NotApplicable(f"bench {self._bench.name}: {self.name} has no serial console")
        if self._console is None:
            self.notes.folder.mkdir(parents=True, exist_ok=True)
            password = self._secrets.get(entry.password_secret)
            log_file = self.notes.folder / f"console-{self.name}.log"
            self._console = SerialConsole(
                ConsoleEndpoint(f"{self.name} console", entry.url, entry.user, password, log_file, entry.baud)
            )
        if not self._console.alive:
            self._console.open()
        return self._console

    def log_in_on_console(self, within_s: float) -> None:
        """Get to a shell on the console.

        Args:
            within_s: Deadline in seconds.

        Raises:
            NotApplicable: The server has no console.
            BenchFault: There is no shell in time, or the login is refused.
        """
        console, entry = self.console, self.description.console
        assert entry is not None  # the console property has said so
        console.login(entry.user, self._secrets.get(entry.password_secret), within_s=within_s)

    def start_console_log(self) -> None:
        """From here on every byte of the console is logged; :meth:`console_text` begins here."""
        self._console_mark = self.console.mark()

    def console_text(self) -> str:
        """The console's output since :meth:`start_console_log` was last called."""
        return self.console.text_since(self._console_mark)

    def start(self, command: str, *, limit_s: float) -> Job:
        """Start a background job whose end is in the journal: a run that is killed leaves none behind.

        Args:
            command: The command line.
            limit_s: The job ends itself after this time in seconds.

        Raises:
            BenchFault: It cannot be started or written down.
        """
        if self.journal is None:
            return self.ssh.start(command, limit_s=limit_s)
        journal, mark = self.journal, uuid.uuid4().hex
        undo = Action(ActionKind.SHELL, self.name, ending_command(mark))
        entry = journal.register(self.name, f"job is started: {command[:60]}", undo)
        job = self.ssh.start(command, limit_s=limit_s, mark=mark)

        def settle() -> None:
            if entry in journal.pending():  # the end of the run may have ended it
                journal.done(entry)

        job.when_over = settle
        return job

    def run(self, command: str, *, timeout_s: float = 60) -> Result:
        """Run a command that must succeed.

        Args:
            command: The command line.
            timeout_s: Deadline in seconds.

        Raises:
            BenchFault: It fails, or the server does not answer by the deadline.
        """
        return self.ssh.run(command, timeout_s=timeout_s, check=True)

    def interface(self, port: Port) -> str:
        """Name of the network interface of ``port``."""
        return self.host.pci.interface_at(port.pci, port.index)

    @property
    def boots_seen(self) -> tuple[int, ...]:
        """Changes with every boot that the lab knows of: what was started on the server before is gone."""
        return self.boots_ordered, len(self.recoveries), self.boots_found

    def answers(self) -> bool:
        """Does the server run a command within ``ANSWER_WITHIN_S``?"""
        try:
            return self.ssh.run("true", timeout_s=ANSWER_WITHIN_S).exit_status == 0
        except BenchFault:
            return False

    def _greeting(self) -> bytes:
        """The first line of the SSH port. A quick look before a login that would wait long for a server that boots."""
        entry = self.description.ssh
        if entry.jump is not None:
            return _SSH_GREETING  # cannot be seen from here
        try:
            with socket.create_connection((entry.address, entry.port), timeout=GREETING_WITHIN_S) as connection:
                connection.settimeout(GREETING_WITHIN_S)
                return connection.recv(len(_SSH_GREETING))
        except OSError:
            return b""

    def wait_ready(self, since: str | None = None) -> None:
        """Wait until the server runs commands, and take its lease again, which a restart has removed.

        Args:
            since: A boot id; the server must have started again since then.

        Raises:
            BenchFault: It does not within ``boot.ready_within_s``, or somebody else has taken its lease meanwhile.
        """

        pause_s = LOOK_EVERY_S

        def ready() -> bool:
            nonlocal pause_s
            greeting = self._greeting()
            pause_s = min(2 * pause_s, LOOK_AT_LEAST_EVERY_S) if greeting else LOOK_EVERY_S
            return greeting == _SSH_GREETING and self.answers() and (since is None or self._has_booted(since))

        within_s, what = self.description.boot.ready_within_s, f"{self.name} to answer over SSH"
        until(ready, within=within_s, what=what, every=lambda: pause_s, error=NotInTime)
        self.crashed_by_lab = False
        if self.lease is not None:
            self.lease.take()
            self.on_lease(self)

    def _has_booted(self, since: str) -> bool:
        """Is this another boot? A server that goes down may answer nothing, which is no boot id."""
        try:
            return self.host.system.boot_id() != since
        except BenchFault:
            return False

    def reboot(self) -> None:
        """Restart the operating system in an orderly way and wait until it runs again."""
        self._let_look()
        before = self.host.system.boot_id()
        self.boots_ordered += 1
        with self.notes.timed(MarkKind.BOOT, self.name):
            self.host.system.reboot()
            self.wait_ready(since=before)

    def power_cycle(
        self,
        by: Bmc | None = None,
        while_off: Callable[[], object] | None = None,
        *,
        before_off: Callable[[], object] | None = None,
    ) -> None:
        """Cut the power by the BMC, give it back, and wait until the server runs again.

        Args:
            by: The BMC over one of its protocols; None: over that which the bench file chooses for power.
            while_off: Is called while the power is off; None: nothing is.
            before_off: Is called right before the order to cut the power; where it raises, none is given.

        Raises:
            NotApplicable: It has no BMC.
            BenchFault: The power does not go or return, or the server does not come back, or has never been away.
        """
        bmc = by or self.bmc  # without one nothing happens
        self._let_look()
        before = self._boot_that_runs()
        with self.notes.timed(MarkKind.BOOT, self.name), self._blaming(bmc, "power off and on", before):
            if before_off is not None:
                before_off()
            self.cycle_power(bmc, while_off, since=before)

    def cycle_power(
        self, by: Bmc | None = None, while_off: Callable[[], object] | None = None, since: str | None = None
    ) -> None:
        """The same as a step of a recovery, which is noted as a whole. ``since``: the boot that must end."""
        bmc = by or self.bmc
        undo = Action(ActionKind.POWER, self.name, PowerState.ON.value)
        entry = self.journal.register(self.name, "power is cut for a cycle", undo) if self.journal else None
        self.ssh.close()
        self.boots_ordered += 1
        try:
            bmc.set_power(PowerState.OFF, within_s=POWER_WITHIN_S)
            if while_off is not None:
                while_off()
        except BenchFault:
            with suppress(BenchFault):  # the first fault is the news; the journal still has what is to be done
                bmc.set_power(PowerState.ON, within_s=POWER_WITHIN_S)
            raise  # the entry stays: the server may go off after this
        bmc.set_power(PowerState.ON, within_s=POWER_WITHIN_S)
        if self.journal and entry:
            self.journal.done(entry)
        self.wait_ready(since)

    def reset(self) -> None:
        """Press the reset button by the BMC and wait until the server runs again.

        Raises:
            NotApplicable: It has no BMC.
            BenchFault: The server does not come back, or has never been away.
        """
        bmc = self.bmc  # without one nothing happens
        self._let_look()
        before = self._boot_that_runs()
        with self.notes.timed(MarkKind.BOOT, self.name), self._blaming(bmc, "reset", before):
            self.press_reset()
            self.wait_ready(before)

    def _boot_that_runs(self) -> str | None:
        """The boot id; None of a server that is dead: when it answers again, it has started."""
        return self.host.system.boot_id() if not self.crashed_by_lab and self.answers() else None

    @contextmanager
    def _blaming(self, bmc: Bmc, order: str, before: str | None) -> Iterator[None]:
        """Name the BMC where the server runs on as if nothing had been ordered."""
        try:
            yield
        except NotInTime:
            if before is None or self._boot_that_runs() != before:
                raise
            raise BenchFault(
                f"{bmc.name}: has carried out {order}, and {self.name} still runs the boot {before}; "
                "expected another boot: is this the BMC of another server?"
            ) from None

    def press_reset(self) -> None:
        """Press the reset button by the BMC.

        Raises:
            NotApplicable: It has no BMC.
            BenchFault: The BMC does not answer, or refuses.
        """
        bmc = self.bmc
        self.ssh.close()
        self.boots_ordered += 1
        bmc.reset()

    def crash(self, order: Callable[[], object] | None = None) -> None:
        """Make the kernel panic, by an order to the BMC or half a second from now. Nothing answers afterwards."""
        self._let_look()
        if order is not None:
            order()
        self.boots_ordered += 1
        self.crashes += 1
        self.crashed_by_lab = True
        if order is None:
            self.ssh.start(f"sleep 0.5; {self.host.system.panic_command()}")
        self.ssh.close()

    def require_lease(self) -> None:
        """Require that nobody else has taken the server, before something that must not happen to others.

        A server that does not answer says nothing about its lease.

        Raises:
            BenchFault: Somebody has. The server is out of service for this run then.
        """
        if self.lease is None or self.crashed_by_lab:
            return
        with suppress(BenchFault):
            self.lease.check()
        if self.lease.lost:
            self.out_of_service = self.lease.lost
            raise BenchFault(self.lease.lost)

    def _let_look(self) -> None:
        self.require_lease()
        for look in () if self.crashed_by_lab else self.before_boot:
            look(self)

    def close(self) -> None:
        """Close every connection. Errors of a dying line are of no interest any more."""
        self.ssh.close()
        if self._console is not None:
            self._console.close()
        for made in ("ipmi", "redfish"):
            if made in self.__dict__:
                self.__dict__[made].close()

    def files(self, commands: Iterable[tuple[str, str]], keep: Callable[[str, str], object]) -> None:
        """Run each command (name, command line) and keep what it printed, whatever its exit status."""
        for name, command in commands:
            result = self.ssh.run(command, timeout_s=30)
            text = result.stdout if result.succeeded else f"{result.stdout}{result.stderr}[{result.ending}]\n"
            keep(f"{self.name}-{name}.txt", f"# {command}\n{text}")


def quoted(*words: str) -> str:
    """A command line of these words, safe for a shell."""
    return shlex.join(words)


def ssh_endpoint(name: str, entry: Jump) -> SshEndpoint:
    """The login of a bench file as the transport takes it.

    Args:
        name: The subject of messages.
        entry: The login.
    """
    jump = ssh_endpoint(f"{name} jump host", entry.jump) if entry.jump else None
    sudo = isinstance(entry, Ssh) and entry.sudo
    return SshEndpoint(name, entry.address, entry.port, entry.user, entry.key_file, entry.known_hosts, jump, sudo=sudo)
