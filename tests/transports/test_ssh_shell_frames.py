"""The frames of a shell that stays open, against every sh that is installed here."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naps import nap_s, running

from niclab.core.wait import until
from niclab.transports.ssh.ssh_shell import (
    CHECK_SHELL,
    SET_UP_SHELL,
    SET_UP_WARDEN,
    Frame,
    answer,
    call_off,
    guard,
    needs_own_channel,
    new_mark,
)
from niclab.transports.ssh.ssh_stream import OUTPUT_LIMIT_BYTES

SHELLS = [
    shell
    for shell in (["dash"], ["bash", "--posix"], ["busybox", "ash"], ["/bin/sh"])
    if shutil.which(shell[0]) and (shell != ["/bin/sh"] or Path("/bin/sh").resolve().name not in ("dash", "bash"))
]
ENDED_BY_TERM = [(None, "TERM"), (143, None)]  # the second is bash, which runs an EXIT trap at a signal, too


class LocalShell:
    """A shell behind pipes, as sshd starts it: leader of a session, three pipes."""

    def __init__(self, program: list[str]) -> None:
        self.mark = new_mark()
        self.process = subprocess.Popen(
            [*program, "-s", self.mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def run(self, command: str, within_s: float = 20) -> Frame:
        frame = Frame(command)
        self.send(frame.text)
        return self.finish(frame, within_s)

    def finish(self, frame: Frame, within_s: float = 20) -> Frame:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        out, err = self.process.stdout.fileno(), self.process.stderr.fileno()
        give_up = time.monotonic() + within_s
        while not frame.ended:
            ready, _, _ = select.select([out, err], [], [], max(give_up - time.monotonic(), 0))
            assert ready, f"no end within {within_s} s: {frame.output.received}"
            for number in ready:
                data = os.read(number, 65536)
                assert data, f"the shell ended: {frame.output.received}"
                frame.receive(data, number == err)
        return frame

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


def _end(frame: Frame) -> tuple[int | None, str | None, bytes, bytes]:
    return frame.exit_status, frame.signal, bytes(frame.output.stdout), bytes(frame.output.stderr)


def _bytes_command(stdout: bytes, stderr: bytes, status: int) -> str:
    def octal(data: bytes) -> str:
        return "".join(f"\\{byte:03o}" for byte in data)

    return f"printf '{octal(stdout)}'; printf '{octal(stderr)}' >&2; exit {status}"


@pytest.fixture(scope="module", params=SHELLS, ids=" ".join)
def shell(request: pytest.FixtureRequest) -> Iterator[LocalShell]:
    shell = LocalShell(request.param)
    shell.send(SET_UP_SHELL)
    frame = shell.run(CHECK_SHELL)
    assert _end(frame) == (0, None, f"{shell.process.pid}\n".encode(), b"")
    yield shell
    shell.stop()


hostile = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from([b"\n", b"\0", b"'", b" 0 \n", b"\xff", Frame("true").text, os.urandom(16).hex().encode()]),
    ),
    max_size=8,
).map(b"".join)


@given(stdout=hostile, stderr=hostile, status=st.integers(0, 255))
def test_every_byte_and_every_status_arrives(shell: LocalShell, stdout: bytes, stderr: bytes, status: int) -> None:
    frame = shell.run(_bytes_command(stdout, stderr, status))
    assert _end(frame) == (status, None, stdout, stderr)
    assert not frame.soiled


@given(stdout=hostile, stderr=hostile, status=st.integers(0, 255), data=st.data())
def test_frames_are_read_from_parts_of_any_size(stdout: bytes, stderr: bytes, status: int, data: st.DataObject) -> None:
    frame = Frame("anything")
    token = frame.text.rsplit(b"printf ", 1)[1].split()[0]
    chosen = frame.text.split(b"'printf ", 1)[1].split()[0]
    name = b"KILL" if status > 128 else b""
    parts = {False: stdout + token + b" %d %s\n" % (status, name), True: stderr + chosen + token}
    while parts[False] or parts[True]:
        assert not frame.ended
        on_stderr = data.draw(st.sampled_from([which for which in parts if parts[which]]))
        size = data.draw(st.integers(1, len(parts[on_stderr])))
        frame.receive(parts[on_stderr][:size], on_stderr)
        parts[on_stderr] = parts[on_stderr][size:]
    assert frame.ended
    assert _end(frame) == (status, None, stdout, stderr)
    assert not frame.soiled
    frame.receive(b"late", False)
    assert frame.soiled


@given(text=st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=60))
def test_every_text_reaches_the_command_unchanged(shell: LocalShell, text: str) -> None:
    quoted = "'" + text.replace("'", "'\\''") + "'"
    assert _end(shell.run(f"printf %s {quoted}")) == (0, None, text.encode(), b"")


@pytest.mark.parametrize(
    "command",
    [
        "cd /; umask 0; export A=1 PATH=/nowhere; readonly B=2; set -eu; false",
        "exit 7",
        "set -e; false; echo never",
        "}; exit 3; {",
        ")",
        "'",
        'echo "',
        "if",
        "echo $(",
        "cat <<END\nnever ended",
        "return 4",
        "break; continue",
        ": ${nothing?is not set}",
        "set -u; echo $nothing_at_all",
        ". /no/such/file",
        "shift 100",
        "readonly A=1; A=2",
        "eval exit 5; echo never",
        "alias true=false; unset -f kill; printf() { :; }; kill() { :; }; eval() { :; }",
        "echo a >&9",
        "read x; cat; exit 6",
        "# only a comment",
        "",
        "echo \\",
        "kill -TERM 0",
    ],
)
def test_no_command_hurts_the_shell(shell: LocalShell, command: str) -> None:
    shell.run(command)
    frame = shell.run('pwd; echo "$# ${A-} ${B-}"; umask; echo fine; command -v ls >/dev/null')
    umask = os.umask(0o22)
    os.umask(umask)
    assert (frame.exit_status, frame.signal, bytes(frame.output.stderr)) == (0, None, b"")
    assert frame.output.stdout.decode().split() == [str(Path.cwd()), "0", f"{umask:04o}", "fine"]


def test_a_program_that_a_signal_ends_is_told_from_a_status(shell: LocalShell) -> None:
    frame = shell.run("sh -c 'kill -KILL $$'")
    assert (frame.exit_status, frame.signal) == (None, "KILL")
    frame = shell.run("sh -c 'exit 255'")
    assert (frame.exit_status, frame.signal) == (255, None)


def test_both_streams_are_apart_and_stdin_is_empty(shell: LocalShell) -> None:
    assert _end(shell.run("cat; echo out; echo err >&2; { echo more >&2; } 2>&1")) == (
        0,
        None,
        b"out\nmore\n",
        b"err\n",
    )


def test_a_question_is_answered(shell: LocalShell) -> None:
    frame = Frame.question()
    shell.send(frame.text)
    assert _end(shell.finish(frame)) == (0, None, b"", b"")


def test_builtins_start_no_process(shell: LocalShell) -> None:
    frame = shell.run("PATH=/nowhere; read -r x < /proc/sys/kernel/ostype; echo $x; printf '%s\n' done; [ 1 = 1 ]")
    assert _end(frame) == (0, None, b"Linux\ndone\n", b"")


@pytest.mark.parametrize("late", [b"x", b"\n"])
def test_output_after_the_end_soils_the_shell(shell: LocalShell, late: bytes) -> None:
    frame = shell.run("echo done")
    assert not frame.soiled
    frame.receive(late, True)
    assert frame.soiled


def test_output_past_the_bound_is_dropped() -> None:
    frame = Frame("yes")
    for _ in range(OUTPUT_LIMIT_BYTES // 2**20 + 3):
        frame.receive(b"y\n" * 2**19, False)
    assert frame.output.overflowed
    assert len(frame.output.stdout) <= OUTPUT_LIMIT_BYTES


@pytest.mark.parametrize(
    "command",
    [
        "echo $$",
        "echo ${$}",
        "echo $PPID",
        "exec true",
        "trap : EXIT",
        "sleep 1 &",
        "a & b",
        "a &> b",
        "set -x",
        "set -o x",
    ],
)
def test_what_needs_a_process_of_its_own(command: str) -> None:
    assert needs_own_channel(command)


@pytest.mark.parametrize(
    "command", ["a && b", "a 2>&1", "a >&2", "cat <&3", "set -e; a", "set -- a b", "a || b; c", "executable", "set -eu"]
)
def test_what_may_share_a_shell(command: str) -> None:
    assert not needs_own_channel(command)


class _Guarded:
    """A shell and the warden that ends what it runs."""

    def __init__(self, program: list[str]) -> None:
        self.shell, self.warden = LocalShell(program), LocalShell(program)
        self.shell.send(SET_UP_SHELL)
        self.shell.run("true")
        self.warden.send(SET_UP_WARDEN + answer("ready"))
        assert self._heard() == b"ready\n"

    def order(self, line: bytes) -> None:
        self.warden.send(line + answer("yes"))
        assert self._heard() == b"yes\n"

    def _heard(self) -> bytes:
        assert self.warden.process.stdout is not None
        return self.warden.process.stdout.readline()

    def guard(self, within_s: float, kill_after_s: float, mark: str | None = None) -> None:
        self.order(guard(1, self.shell.process.pid, mark or self.shell.mark, within_s, kill_after_s))

    def stop(self) -> None:
        for shell in (self.shell, self.warden):
            shell.stop()


@pytest.fixture(params=SHELLS, ids=" ".join)
def guarded(request: pytest.FixtureRequest) -> Iterator[_Guarded]:
    guarded = _Guarded(request.param)
    yield guarded
    guarded.stop()


def test_a_guard_ends_the_command_and_its_children_and_the_shell_tells_the_end(guarded: _Guarded) -> None:
    nap = f"sleep {nap_s()}"
    frame = Frame(f"echo begun; sh -c '{nap}; true'; {nap}")
    guarded.shell.send(frame.text)
    until(lambda: running(nap), within=10, what="the command to run")
    guarded.guard(0.1, 20)
    guarded.shell.finish(frame)
    assert bytes(frame.output.stdout) == b"begun\n"
    assert (frame.exit_status, frame.signal) in ENDED_BY_TERM
    until(lambda: not running(nap), within=10, what="the children to end")


def test_a_guard_kills_what_ignores_sigterm(guarded: _Guarded) -> None:
    frame = Frame("sh -c 'trap \"\" TERM; while :; do sleep 0.1; done'")
    guarded.shell.send(frame.text)
    guarded.guard(0.3, 0.3)
    assert guarded.shell.process.wait(10) == -signal.SIGKILL


def test_a_guard_that_is_called_off_does_nothing_and_leaves_nothing(guarded: _Guarded) -> None:
    within_s = 100 + os.getpid() / 1000  # the guard's sleep has this number
    frame = Frame("sleep 0.3; echo whole")
    guarded.shell.send(frame.text)
    guarded.guard(within_s, 0.1)
    guarded.order(call_off(1))
    until(lambda: not running(f"sleep {within_s:.3f}"), within=10, what="the guard's sleep to end")
    assert _end(guarded.shell.finish(frame)) == (0, None, b"whole\n", b"")
    guarded.order(call_off(1))  # of a guard that is over


def test_a_guard_ends_no_stranger(guarded: _Guarded) -> None:
    frame = Frame("sleep 0.6; echo whole")
    guarded.shell.send(frame.text)
    guarded.guard(0.1, 0.1, mark=new_mark())
    assert _end(guarded.shell.finish(frame)) == (0, None, b"whole\n", b"")


def test_a_guard_outlives_its_warden(guarded: _Guarded) -> None:
    nap = f"sleep {nap_s()}"
    frame = Frame(nap)
    guarded.shell.send(frame.text)
    until(lambda: running(nap), within=10, what="the command to run")
    guarded.guard(0.5, 20)
    assert guarded.warden.process.stdin is not None
    guarded.warden.process.stdin.close()
    guarded.warden.process.wait(10)
    guarded.shell.finish(frame)
    assert (frame.exit_status, frame.signal) in ENDED_BY_TERM


@pytest.mark.parametrize(
    "command",
    [
        "cat /proc/sys/kernel/pid_max /proc/sys/kernel/ostype",
        "cat /proc/version",
        "cat /proc/mounts /proc/version",
        "cat /sys/kernel/mm/transparent_hugepage/enabled",
        "cat -- /proc/version",
        "cat /proc/self/mem",
        "cat /proc/no-such-file",
        "cat /proc/1/cmdline",
        "cat /proc/net/route /proc/1/cmdline",
        "cat /proc/net/../1/cmdline",
        "cat /sys/firmware/acpi/tables/DSDT",
        "cat /sys/bus/pci/devices/*/config",
        "cat /proc/net/route /proc/net/route",
        "cat /sys/kernel",
        "cat /proc/version /etc/hostname",
        "printf 'a\\nb' | cat",
        "echo x | cat - /proc/version",
        "cat -n /proc/version",
        "cat /dev/null /proc/version",
    ],
)
def test_cat_gives_what_the_program_gives(shell: LocalShell, command: str) -> None:
    frame = shell.run(command)
    expected = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert _end(frame) == (expected.returncode, None, expected.stdout, expected.stderr)


@pytest.mark.parametrize("file", ["/proc/irq/default_smp_affinity", "/proc/net/route"])
def test_cat_starts_no_program_for_a_text_file_of_proc(shell: LocalShell, file: str) -> None:
    frame = shell.run(f"PATH=/nowhere; cat {file}")
    assert _end(frame)[2] == Path(file).read_bytes()
