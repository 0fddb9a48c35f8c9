"""Background jobs on a host: programs that run while other commands are run (iperf3 -s, tcpdump, traffic).

A job's output goes to files on the host, never to a pipe that nobody reads and that would stall it. A small shell on
the host (the *waiter*) starts the job, waits for it and writes its exit status to a file. A job is ended only while its
waiter is alive and carries the job's directory in its arguments, so that a process number that was given to another
program after a reboot is never signalled.
"""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from niclab.core.verdict import BenchFault
from niclab.core.wait import waiting
from niclab.transports import CommandTimeout
from niclab.transports.ssh.ssh_records import Result

_KILL_WORKS_WITHIN_S = 3
_TALK_S = 10
_LOOK_EVERY_S = 0.1
_SHOWN_CHARACTERS = 300

FIRST_LINE = 'IFS= read -r line <"$1/out"'
"""Has a job written a whole line to stdout? For :meth:`Job.await_begin`."""

# $1 is the job's directory, $2 the longest time it may run, $3 the command. `timeout` makes the process group.
_WAITER = """
echo $$ >"$1/waiter"
began=$(date +%s)
timeout -k 3 "$2" sh -c "$3" >"$1/out" 2>"$1/err" </dev/null &
echo $! >"$1/pid"
wait $!
echo "$? $(($(date +%s) - began))" >"$1/status.new"
mv "$1/status.new" "$1/status"
"""

# $1 is the job's directory, $2 the waiter: prints "status N SECONDS", "running" or "gone".
_STATE = """
waiter_lives() {
    if [ -r "/proc/$2/cmdline" ]; then
        while words= && { IFS= read -r words || [ -n "$words" ]; }; do
            case $words in *"$1"*) return 0 ;; esac
        done <"/proc/$2/cmdline"
        return 1
    else ps -ww -o args= -p "$2" 2>/dev/null | grep -qF "$1"; fi
}
ended() { [ -s "$1/status" ] && read -r words <"$1/status" && echo "status $words"; }
state() {
    if ended "$1"; then return
    elif waiter_lives "$1" "$2"; then echo running
    elif ended "$1"; then return
    else echo gone; fi
}
"""

_SHOW = 'cat "$1/out"; cat "$1/err" >&2'

# $1 directory, $2 waiter. Ends with the job, or by its own deadline; prints the state, and what the job has written.
_WAIT = f"""{_STATE}
while s=$(state "$1" "$2"); [ "$s" = running ]; do sleep {_LOOK_EVERY_S}; done
echo "$s"; {_SHOW}
"""

# $1 directory, $2 waiter. Ends when the job has begun or ended, or by its own deadline; prints the same.
_BEGIN = f"""{_STATE}
s=begun
until begun "$1"; do
    s=$(state "$1" "$2")
    [ "$s" = running ] || break
    sleep {_LOOK_EVERY_S}
    s=begun
done
[ "$s" = begun ] || ! begun "$1" || s=begun
echo "$s"; {_SHOW}
"""

# $1 directory, $2 waiter, $3 tenths of a second before KILL, $4 tenths of a second for KILL to work. Prints the state,
# and after that of an ended job what it has written; then nothing of it is left.
_STOP = (
    _STATE
    + """
over() { case "$(state "$1" "$2")" in running) return 1 ;; *) return 0 ;; esac; }
await() { n=$3; while [ "$n" -gt 0 ] && ! over "$1" "$2"; do sleep 0.1; n=$((n - 1)); done; }
signal_group() { kill -"$2" "-$(cat "$1/pid")" 2>/dev/null || kill -"$2" "$(cat "$1/pid")" 2>/dev/null; }
over "$1" "$2" || { signal_group "$1" TERM; await "$1" "$2" "$3"; }
over "$1" "$2" || { signal_group "$1" KILL; await "$1" "$2" "$4"; }
s=$(state "$1" "$2"); echo "$s"
case "$s" in status*) cat "$1/out" && cat "$1/err" >&2 && rm -rf "$1" ;; esac
"""
)


class Runner(Protocol):
    """The part of a host that a job needs."""

    @property
    def name(self) -> str: ...

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result: ...

    def observe(self, result: Result) -> None: ...


@dataclass(frozen=True)
class _Ended:
    status: int
    seconds: int


def launch_command(command: str, limit_s: float, mark: str | None = None) -> str:
    """The shell text that starts ``command`` as a job and prints ``WAITER DIRECTORY``.

    Args:
        command: The command.
        limit_s: It ends itself after this time in seconds.
        mark: Letters and digits that no other job has, for :func:`ending_command`.
    """
    made = "$(mktemp -d /tmp/niclab-job.XXXXXX)" if mark is None else f"/tmp/niclab-job.{mark} && mkdir -m 700 $d"
    return (
        f'd={made} || exit 1; : >"$d/out"; : >"$d/err"; '
        f'sh -c {shlex.quote(_WAITER)} niclab-job "$d" {limit_s:.0f} {shlex.quote(command)} '
        '>/dev/null 2>&1 </dev/null & echo "$! $d"'
    )


def ending_command(mark: str) -> str:
    """The shell text that ends the job of a mark and removes its files; no error when there is no such job any more."""
    stop = f'set -- $d "$(cat $d/waiter)" 50 {_KILL_WORKS_WITHIN_S * 10}\n{_STOP}\n[ "$s" != running ]'
    return f"d=/tmp/niclab-job.{mark}; if [ -s $d/waiter ]; then {{ {stop}; }} >/dev/null 2>&1 || exit 1; fi; rm -rf $d"


def launched(host: Runner, command: str, answer: str) -> Job:
    """The job that :func:`launch_command` started and answered for with ``WAITER DIRECTORY``."""
    waiter, _, directory = answer.strip().partition(" ")
    if not waiter.isdigit() or not directory.startswith("/tmp/niclab-job."):
        raise BenchFault(
            f"{host.name}: starting background job {command!r} answered {answer!r}; expected its process and directory"
        )
    return Job(host, command, directory, int(waiter))


class Job:
    """A command that runs in the background on ``host``, in its own process group.

    Its :class:`Result` has ``seconds`` in whole seconds, by the host's clock. A shell reports an end by signal N as
    exit status 128 + N; results say the signal, :meth:`poll` gives the number. :attr:`over` becomes true when nothing
    of the job is left on the host.
    """

    def __init__(self, host: Runner, command: str, directory: str, waiter: int) -> None:
        self.host = host
        self.command = command
        self.directory = directory
        self.over = False
        self.when_over: Callable[[], object] = lambda: None
        """Called once when :meth:`stop` has ended it and nothing of it is left."""
        self._waiter = waiter
        self._waited: Result | None = None
        self._result: Result | None = None

    def poll(self) -> int | None:
        """The exit status (128 + N after signal N), None while it runs.

        Raises:
            BenchFault: When it vanished (the host was restarted).
        """
        if self._result is not None:
            return _shell_status(self._result)
        ended = self._ask()
        return ended.status if ended else None

    def wait(self, within_s: float) -> Result:
        """Wait for its own end and return its result; its files stay until :meth:`stop`.

        Raises:
            CommandTimeout: When it still runs after ``within_s`` seconds. It is left running.
        """
        if self._result is not None:
            return self._result
        what = f"{self._subject} to end by itself"
        state, out, err = self._blocked(_script(_WAIT, self.directory, self._waiter), what, within_s)
        ended = self._state(state)
        assert ended is not None  # the script ends with the job
        self._waited = self._ended(ended, out, err)
        return self._waited

    def await_begin(self, begun: str, what: str, within_s: float) -> str:
        """Wait until it has begun its work; what is asked again and again is asked on the host itself.

        Args:
            begun: A condition of the shell, such as :data:`FIRST_LINE`; ``$1`` is the directory of the job.
            what: What is waited for, for the message.
            within_s: Deadline in seconds.

        Returns:
            What it has written to stdout so far.

        Raises:
            BenchFault: It ends before, with its own words, or does not begin in time.
        """
        subject = f"{self.host.name}: {what}"
        script = _script(f"begun() {{ {begun}; }}\n{_BEGIN}", self.directory, self._waiter)
        try:
            state, out, err = self._blocked(script, subject, within_s)
        except CommandTimeout as error:
            said = (self.errors() + self.output()).strip()[-_SHOWN_CHARACTERS:]
            raise BenchFault(f"{error}{f'; it said: {said}' if said else ''}") from error
        if state == "begun":
            return out
        ended = self._state(state)
        said = (err + out).strip()[-_SHOWN_CHARACTERS:]
        raise BenchFault(f"{subject}: it ended with status {ended.status if ended else state}: {said}")

    def _blocked(self, script: str, what: str, within_s: float) -> tuple[str, str, str]:
        """Run a script that waits on the host: the state that it prints first, stdout and stderr of the job."""
        try:
            with waiting(what):
                answer = self.host.run(script, timeout_s=within_s, check=True)
        except CommandTimeout as error:
            raise CommandTimeout(f"{what}: not within {within_s:g} s") from error
        state, _, out = answer.stdout.partition("\n")
        return state, out, answer.stderr

    def output(self) -> str:
        """The job's standard output so far."""
        return self._result.stdout if self._result is not None else self._read("out")

    def errors(self) -> str:
        """The job's standard error so far."""
        return self._result.stderr if self._result is not None else self._read("err")

    def stop(self, term_s: float = 5) -> Result:
        """End its process group by SIGTERM, after ``term_s`` seconds by SIGKILL; collect its output, remove its files.

        Ending a job that has ended is no error, nor is stopping it twice.

        Raises:
            BenchFault: When it survives SIGKILL, or vanished.
        """
        if self._result is not None:
            return self._result
        result = self._waited or self._stopped(term_s)
        if self._waited is not None:
            self.host.run(f"rm -rf {shlex.quote(self.directory)}", check=True)
        self._result = result
        self.over = True
        self.when_over()
        self.host.observe(result)
        return result

    def _stopped(self, term_s: float) -> Result:
        script = _script(_STOP, self.directory, self._waiter, max(1, round(term_s * 10)), _KILL_WORKS_WITHIN_S * 10)
        answer = self.host.run(script, timeout_s=term_s + _KILL_WORKS_WITHIN_S + _TALK_S, check=True)
        state, _, said = answer.stdout.partition("\n")
        ended = self._state(state)
        if ended is None:
            raise BenchFault(
                f"{self._subject} still runs {_KILL_WORKS_WITHIN_S} s after SIGKILL (waiter {self._waiter})"
            )
        return self._ended(ended, said, answer.stderr)

    @property
    def _subject(self) -> str:
        return f"{self.host.name}: background job {self.command!r}"

    def _ask(self) -> _Ended | None:
        script = _script(_STATE + 'state "$1" "$2"', self.directory, self._waiter)
        return self._state(self.host.run(script, check=True).stdout)

    def _state(self, answer: str) -> _Ended | None:
        """Return how it ended, None while it runs."""
        words = answer.split()
        if words == ["running"]:
            return None
        if len(words) == 3 and words[0] == "status" and words[1].isdigit() and words[2].lstrip("-").isdigit():
            return _Ended(int(words[1]), int(words[2]))
        if words == ["gone"]:
            self.over = True
            raise BenchFault(
                f"{self._subject} vanished without an exit status: its waiter, process {self._waiter}, is gone "
                f"(was the host restarted, or {self.directory} removed?)"
            )
        raise BenchFault(
            f"{self._subject}: its state reads {answer!r}; expected 'running', 'gone' or 'status N SECONDS'"
        )

    def _read(self, name: str) -> str:
        return self.host.run(f"cat {shlex.quote(f'{self.directory}/{name}')}", check=True).stdout

    def _ended(self, ended: _Ended, out: str, err: str) -> Result:
        name = _signal_name(ended.status)
        return Result(self.command, None if name else ended.status, name, out, err, ended.seconds)


def _script(text: str, *arguments: object) -> str:
    """``text`` with its arguments: without a ``sh`` of its own, so that it costs no new process on the host."""
    return f"set -- {' '.join(shlex.quote(str(argument)) for argument in arguments)}\n{text}"


def _signal_name(status: int) -> str | None:
    """The signal that a shell's exit status means, without SIG; None for a status of the program's own."""
    try:
        return signal.Signals(status - 128).name.removeprefix("SIG") if status > 128 else None
    except ValueError:  # a plain exit status above 128, like 255
        return None


def _shell_status(result: Result) -> int:
    if result.signal is not None:
        return 128 + signal.Signals[f"SIG{result.signal}"].value
    if result.exit_status is None:
        raise ValueError(f"a result has an exit status or a signal, this has neither: {result!r}")
    return result.exit_status
