"""The words spoken with a ``sh`` that stays open: one frame per command, and guards that end a command on the host.

A *shell* is started as ``exec /bin/sh -s MARK``. It reads its script from the channel, so a frame is a line of script:
a subshell that runs the command (``eval``), then a *token* and the exit status on stdout, then the token on stderr.
The subshell keeps ``cd``, ``exit``, ``set -e``, ``umask`` and variables away from the shell. The command's stdin is
empty. A token is random and used once. It is in no variable and no argument of a process, so output cannot contain it.

A shell cannot tell ``exit 137`` from a death by SIGKILL. Therefore an EXIT trap of the subshell announces on file
descriptor 9 (the shell's stderr) that the command chose its status itself.

The *warden* is one more shell. It runs no commands; it ends them. A guard is its background process: it sleeps, then
sends SIGTERM to the process group of a shell, and later SIGKILL. sshd makes every shell the leader of its own group.
A shell survives SIGTERM (``trap :``) to report the end; SIGKILL ends it too. A guard signals a group only while its
leader carries the mark in its arguments, so a process number that was given to another program is never signalled.

Everything here is for dash, busybox ash, bash and FreeBSD's sh: no job control, no ``read -t``, no ``/dev/fd``, and
``kill -TERM -GROUP``, the one way to signal a group that all of their ``kill`` builtins understand.
"""

from __future__ import annotations

import re
import secrets
import shlex

from niclab.transports.ssh.ssh_stream import Output

CHECK_SHELL = "kill -0 -$$ && command -v timeout >/dev/null && command -v sleep >/dev/null && echo $$"
"""First command of a shell: it leads its group, and has the tools that bound commands. Prints its process number."""

SET_UP_SHELL = b"""\
set --; trap : TERM; exec 9>&2 2>/dev/null
cat() {
    [ $# -gt 0 ] || { command cat; return; }
    for niclab_file; do
        case $niclab_file in
        */../*) command cat "$@"; return ;;
        /proc/interrupts|/proc/meminfo|/proc/modules|/proc/stat|/proc/net/*|/proc/irq/*) ;;
        /sys/class/net/*/queues/*|/sys/module/*/parameters/*) ;;
        *) command cat "$@"; return ;;
        esac
        [ -f "$niclab_file" ] && [ -r "$niclab_file" ] || { command cat "$@"; return; }
    done
    niclab_status=0
    for niclab_file; do
        niclab_line= niclab_read=
        while IFS= read -r niclab_line; do
            niclab_read=yes
            printf '%s\\n' "$niclab_line"
        done 2>/dev/null <"$niclab_file"
        [ -z "$niclab_line" ] || { niclab_read=yes; printf %s "$niclab_line"; }
        [ "$niclab_read" ] || command cat "$niclab_file" || niclab_status=$?
    done
    return $niclab_status
}
"""
"""Makes the shell ready. Its ``cat`` reads the text files of /proc and /sys that the lab reads often without starting a
program, which would cost an emulated server thirty times as much. It leaves to the program: every other file, which may
hold NUL bytes, and a shell drops those; options and pipes; a file that gives nothing, since only the program can say
why; and /proc/sys, whose files end after their first byte for a shell, which reads byte by byte.
"""

SET_UP_WARDEN = b"""\
exec 2>/dev/null
ours() {
    if [ -r "/proc/$1/cmdline" ]; then grep -qF "$2" "/proc/$1/cmdline"
    else ps -ww -o args= -p "$1" | grep -qF "$2"; fi
}
pause() { sleep "$1" & s=$!; [ -z "$off" ] || kill -KILL "$s"; wait "$s"; [ -z "$off" ] || exit; }
guard() {
    s= off=
    trap 'off=yes; kill -KILL "$s"' TERM
    pause "$3"
    ours "$1" "$2" || exit
    kill -TERM "-$1"
    pause "$4"
    ours "$1" "$2" && kill -KILL "-$1"
}
"""

# What belongs to the whole process, or outlives the command: `$$` names the shell, `exec` and `trap` would hide the
# status, tracing would show the frame, and what `&` leaves behind could write into the frames that follow.
_OWN_CHANNEL = re.compile(r"\$\$|\$\{\$|\bPPID\b|\b(?:exec|trap)\b|\bset\s+[-+]\w*[mnovx]|(?<![&<>])&(?!&)")
_END = re.compile(rb" (\d+) ([^\n]*)\n")


def needs_own_channel(command: str) -> bool:
    """Tell whether ``command`` may not share a shell.

    It may not where its text contains ``$$``, ``PPID``, ``exec``, ``trap``, a ``set`` of tracing or job control, or a
    single ``&``. A text that only quotes one of these loses nothing but speed.
    """
    return _OWN_CHANNEL.search(command) is not None


def start_shell(mark: str) -> str:
    """The command line that makes any login shell, csh too, the ``sh`` that reads frames."""
    return f"exec /bin/sh -s {mark}"


def new_mark() -> str:
    """A word that identifies one shell in the process list of the host."""
    return f"niclab-shell-{secrets.token_hex(8)}"


class Frame:
    """One command on its way through a shell.

    Args:
        command: The command.
        errand: Script of the shell itself that goes ahead of it. It prints nothing and cannot fail the command.

    Attributes:
        text: The line of script to send.
        output: Both streams; without the token once the frame has ended.
        ended: Both ends have arrived.
        soiled: Something was written after an end: a process that the command left behind is still writing.
        exit_status: None where a signal ended the command, and before the end.
        signal: The name of that signal without SIG, as the host names it.
    """

    def __init__(self, command: str, errand: str = "") -> None:
        self.output = Output()
        self.soiled = False
        self.exit_status: int | None = None
        self.signal: str | None = None
        token, chosen = secrets.token_hex(16), secrets.token_hex(16)
        self._token, self._chosen = token.encode(), chosen.encode()
        self._ended_stdout = self._ended_stderr = False
        self._searched = {False: 0, True: 0}  # on stderr or not: no token begins before
        self.text = (f"{errand}\n" if errand else "").encode() + (
            f"( trap 'printf {chosen} >&9' EXIT; eval {shlex.quote(command)}\n"
            "niclab=$?; trap - EXIT; exit $niclab ) </dev/null 2>&9; niclab=$?; niclab_signal=; "
            "[ $niclab -gt 128 ] && niclab_signal=$(kill -l $niclab); "
            f"printf '{token} %s %s\\n' $niclab $niclab_signal; printf {token} >&9\n"
        ).encode()

    @classmethod
    def question(cls) -> Frame:
        """A frame without a command: only a shell that is there ends it. Starts no process."""
        frame = cls(":")
        token = frame._token.decode()
        frame.text = f"printf '{token} 0 \\n'; printf {token} >&9\n".encode()
        return frame

    @property
    def ended(self) -> bool:
        return self._ended_stdout and self._ended_stderr

    def receive(self, data: bytes, on_stderr: bool) -> None:
        """Take what the shell sent."""
        if self._ended_stderr if on_stderr else self._ended_stdout:
            self.soiled = True
            return
        stream = self.output.stderr if on_stderr else self.output.stdout
        self.output.add(data, on_stderr)
        at = stream.find(self._token, self._searched[on_stderr])
        self._searched[on_stderr] = at if at >= 0 else max(0, len(stream) - len(self._token) + 1)
        if at >= 0 and on_stderr:
            self._end_stderr(at)
        elif at >= 0:
            self._end_stdout(at)
        if self.ended:
            self._tell_signal_from_status()

    def _end_stdout(self, at: int) -> None:
        stream = self.output.stdout
        end = _END.match(stream, at + len(self._token))
        if end is None:
            return  # the rest of the line is still to come
        self.exit_status, self.signal = int(end[1]), end[2].decode() or None
        self.soiled |= end.end() < len(stream)
        del stream[at:]
        self._ended_stdout = True

    def _end_stderr(self, at: int) -> None:
        stream = self.output.stderr
        self.soiled |= at + len(self._token) < len(stream)
        del stream[at:]
        self._ended_stderr = True

    def _tell_signal_from_status(self) -> None:
        """A status above 128 is a signal unless the command chose it; the announcement is the last of its stderr."""
        stderr = self.output.stderr
        if stderr.endswith(self._chosen):
            del stderr[-len(self._chosen) :]
            self.signal = None
        if self.signal is not None and not self.signal.isalpha():
            self.signal = None  # a number of no signal, like 255
        if self.signal is not None:
            self.exit_status = None


def guard(number: int, pid: int, mark: str, within_s: float, kill_after_s: float) -> bytes:
    """The warden's line that ends the group of shell ``pid`` after ``within_s``, by SIGKILL ``kill_after_s`` later."""
    seconds = f"{max(within_s, 0):.3f}"
    return f"guard {pid} {mark} {seconds} {kill_after_s} </dev/null >/dev/null & g{number}=$!\n".encode()


def call_off(number: int) -> bytes:
    """The warden's line that ends guard ``number`` and waits until it is gone."""
    return f"kill $g{number}; wait $g{number}; unset g{number}\n".encode()


def answer(token: str) -> bytes:
    """The warden's line that confirms all lines before."""
    return f"echo {token}\n".encode()
