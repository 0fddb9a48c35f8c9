"""A machine that is a QEMU process.

Files in its run directory:

``qemu.json``
    ``{"argv": [...], "cwd": "..."}``: how to start it. Written by the bench, read at every power-on.
``qemu.pid``
    which process it is (:mod:`process`). Written here; a BMC that was restarted finds the running machine by it.
``qemu.log``
    what QEMU wrote to stdout and stderr, appended.
``qmp-bmc``
    QEMU's QMP socket for the BMC alone.

The QEMU process is detached: it outlives the BMC.
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import time
from pathlib import Path

from bmc.machine import MachineError
from process import Pid, ProcessError, alive, ended, kill, pid_of, read_pid, write_pid
from qmp import QmpError, QmpUnreachable, qmp_execute

log = logging.getLogger(__name__)

START_S = 20.0
"""From the start of the process to its first QMP answer; 0.1 s on a quiet host."""
QUIT_S = 2.0
"""Time for a QEMU to end by itself at a hard power-off, before it is killed."""
GONE_S = 5.0
"""Time for the kernel to remove a killed QEMU."""
QMP_S = 2.0
"""Deadline of one QMP command."""
POLL_S = 0.02
"""Interval of asking whether a starting QEMU's QMP socket is there."""


class QemuMachine:
    """The :class:`bmc.machine.Machine` that is the QEMU of ``run_dir``.

    Args:
        cycle_s: How long it stays off in a power cycle, in seconds.
    """

    def __init__(self, run_dir: Path, cycle_s: float = 1.0) -> None:
        self._start_file = run_dir / "qemu.json"
        self._pid_file = run_dir / "qemu.pid"
        self._log_file = run_dir / "qemu.log"
        self._qmp = run_dir / "qmp-bmc"
        self._cycle_s = cycle_s
        self._child: subprocess.Popen[bytes] | None = None

    def is_on(self) -> bool:
        """Does the process of the pid file run? A finished child of ours is reaped on the way."""
        return self._running() is not None

    async def power_on(self) -> None:
        """Start QEMU and wait for its first QMP answer."""
        if self.is_on():
            return
        argv, cwd = self._how_to_start()
        log.info("starting %s", argv[0])
        try:
            with self._log_file.open("ab") as output:
                child = subprocess.Popen(
                    argv,
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise MachineError(f"{self._start_file}: argv: cannot start {argv[0]!r} in {cwd}: {error}") from error
        self._child = child
        try:
            write_pid(self._pid_file, pid_of(child.pid))
        except ProcessError as error:
            raise self._ended_at_once(child) from error
        await self._await_qmp(child)

    async def power_off(self) -> None:
        """Ask QEMU to quit; kill it when it has not ended within ``QUIT_S``, for example because it is stopped."""
        pid = self._running()
        if pid is None:
            return
        end_s = time.monotonic() + QUIT_S
        try:
            await qmp_execute(self._qmp, "quit", QUIT_S)
        except QmpError as error:  # the end of the process decides, not the answer
            log.warning("quit: %s", error)
        if await ended(pid, max(0.0, end_s - time.monotonic())):
            return
        log.warning("process %d does not quit within %g s: killing it", pid.pid, QUIT_S)
        kill(pid)
        if not await ended(pid, GONE_S):
            raise MachineError(f"process {pid.pid}: still there {GONE_S:g} s after SIGKILL")

    async def cycle(self) -> None:
        """Off, ``cycle_s`` seconds of nothing, on."""
        await self.power_off()
        await asyncio.sleep(self._cycle_s)  # the off time itself is what is wanted
        await self.power_on()

    async def reset(self) -> None:
        """QMP ``system_reset``."""
        await self._command("system_reset")

    async def nmi(self) -> None:
        """QMP ``inject-nmi``."""
        await self._command("inject-nmi")

    async def soft_shutdown(self) -> None:
        """QMP ``system_powerdown``: the ACPI power button."""
        await self._command("system_powerdown")

    async def _command(self, command: str) -> None:
        try:
            await qmp_execute(self._qmp, command, QMP_S)
        except QmpError as error:
            raise MachineError(str(error)) from error

    def _running(self) -> Pid | None:
        if self._child is not None:
            self._child.poll()  # reaps it
        try:
            pid = read_pid(self._pid_file)
        except ProcessError as error:
            raise MachineError(str(error)) from error
        return pid if pid is not None and alive(pid) else None

    async def _await_qmp(self, child: subprocess.Popen[bytes]) -> None:
        end_s = time.monotonic() + START_S
        while True:
            if child.poll() is not None:
                raise self._ended_at_once(child)
            try:
                await qmp_execute(self._qmp, "query-status", QMP_S)
                return
            except QmpUnreachable as error:
                if time.monotonic() > end_s:
                    child.kill()
                    raise MachineError(f"QEMU does not answer {START_S:g} s after its start: {error}") from error
            except QmpError as error:
                child.kill()
                raise MachineError(str(error)) from error
            await asyncio.sleep(POLL_S)

    def _ended_at_once(self, child: subprocess.Popen[bytes]) -> MachineError:
        code = child.wait()  # it has ended: this only collects the exit status
        tail = self._log_file.read_bytes()[-500:].decode(errors="replace").strip()
        return MachineError(f"QEMU ended at once with exit status {code}; end of {self._log_file}: {tail!r}")

    def _how_to_start(self) -> tuple[list[str], Path]:
        file = self._start_file
        try:
            start = json.loads(file.read_text())
        except OSError as error:
            raise MachineError(f"{file}: cannot be read: {error}") from error
        except ValueError as error:
            raise MachineError(f"{file}: not JSON: {error}") from error
        if not isinstance(start, dict):
            raise MachineError(f'{file}: {start!r}; expected {{"argv": [...], "cwd": "..."}}')
        argv, cwd = start.get("argv"), start.get("cwd")
        if not isinstance(argv, list) or not argv or not all(isinstance(word, str) and word for word in argv):
            raise MachineError(f"{file}: argv is {argv!r}; expected a list of words, the program first")
        if not isinstance(cwd, str) or not Path(cwd).is_dir():
            raise MachineError(f"{file}: cwd is {cwd!r}; expected an existing directory")
        return argv, Path(cwd)
