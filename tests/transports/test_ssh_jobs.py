"""Background jobs: their own process group, output in files, nothing left behind."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
from pathlib import Path

import pytest
from naps import nap_s, running
from throwaway_sshd import SshdMaker

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.transports import CommandTimeout
from niclab.transports.ssh.ssh import Result, SshHost
from niclab.transports.ssh.ssh_job import FIRST_LINE, ending_command


def test_its_begin_is_awaited_on_the_host(host: SshHost) -> None:
    results: list[Result] = []
    host.on_result = results.append
    job = host.start("sleep 0.4; echo ready 7; sleep 44.1")
    assert job.await_begin(FIRST_LINE, "the program to begin", 10) == "ready 7\n"
    assert len(results) == 1
    assert job.stop().signal == "TERM" and not Path(job.directory).exists()


def test_a_job_that_ends_before_it_begins_says_why(host: SshHost) -> None:
    job = host.start("printf ready; echo no such device >&2; exit 3")
    with pytest.raises(BenchFault, match=r"^dut: it to begin: it ended with status 3: no such device\nready$"):
        job.await_begin(FIRST_LINE, "it to begin", 10)
    job.stop()


def test_a_job_that_has_begun_and_ended_has_begun(host: SshHost) -> None:
    job = host.start("echo ready")
    job.wait(10)
    assert job.await_begin(FIRST_LINE, "it to begin", 10) == "ready\n"
    job.stop()


def test_a_job_that_does_not_begin_in_time_is_a_fault(host: SshHost) -> None:
    job = host.start("echo still starting >&2; sleep 44.2")
    with pytest.raises(BenchFault, match=r"it to begin: not within 0.5 s; it said: still starting"):
        job.await_begin(FIRST_LINE, "it to begin", 0.5)
    assert job.poll() is None
    job.stop()


def test_a_job_runs_beside_other_commands_and_gives_its_status_and_output(host: SshHost, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = host.start(f"echo first; echo wrong >&2; until [ -e {go} ]; do sleep 0.1; done; echo last; exit 7")
    assert job.poll() is None
    assert host.run("echo meanwhile").stdout == "meanwhile\n"
    go.touch()
    result = job.wait(30)
    assert (result.exit_status, result.signal, result.stdout, result.stderr) == (7, None, "first\nlast\n", "wrong\n")
    assert job.poll() == 7
    assert job.stop() == result
    assert not Path(job.directory).exists()


def test_output_can_be_read_while_the_job_runs(host: SshHost) -> None:
    job = host.start(f"echo early; echo bad >&2; sleep {nap_s()}")
    until(lambda: job.output() == "early\n" and job.errors() == "bad\n", within=10, what="early output")
    assert job.poll() is None
    job.stop()
    assert job.output() == "early\n"


def test_stopping_ends_the_whole_process_group(host: SshHost) -> None:
    naps = [f"sleep {nap_s()}" for _ in range(3)]
    job = host.start(f"{' & '.join(naps)}; echo never")
    until(lambda: all(map(running, naps)), within=10, what="the job to run")
    result = job.stop()
    assert (result.exit_status, result.signal, result.stdout) == (None, "TERM", "")
    until(lambda: not any(map(running, naps)), within=10, what="the whole group to end")
    assert job.poll() == 128 + 15


def test_a_job_that_ignores_sigterm_is_killed(host: SshHost) -> None:
    job = host.start("trap '' TERM; echo deaf; while :; do sleep 0.1; done")
    until(lambda: job.output() == "deaf\n", within=10, what="the trap to be set")
    assert job.stop(term_s=0.3).signal == "KILL"


def test_a_job_may_do_its_own_clean_up(host: SshHost) -> None:
    job = host.start("trap 'echo tidied; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
    until(lambda: job.output() == "ready\n", within=10, what="the trap to be set")
    result = job.stop()
    assert (result.stdout, result.exit_status) == ("ready\ntidied\n", 0)


def test_waiting_too_long_is_an_error_and_leaves_the_job_running(host: SshHost) -> None:
    nap = f"sleep {nap_s()}"
    job = host.start(nap)
    with pytest.raises(CommandTimeout, match=rf"dut: background job '{nap}' to end by itself: not within 0.3 s"):
        job.wait(0.3)
    assert job.poll() is None
    job.stop()
    until(lambda: not running(nap), within=10, what="the job to end")


def test_a_job_is_ended_by_its_mark_when_nobody_remembers_it(host: SshHost) -> None:
    naps, mark = [f"sleep {nap_s()}" for _ in range(2)], secrets.token_hex(8)
    job = host.start(" & ".join(naps), mark=mark)
    until(lambda: all(map(running, naps)), within=10, what="the job to run")
    assert job.directory == f"/tmp/niclab-job.{mark}"
    for _ in range(2):  # ending what has ended is no error
        host.run(ending_command(mark), check=True)
        until(lambda: not any(map(running, naps)), within=10, what="the job to end")
        assert not Path(job.directory).exists()


def test_what_another_program_became_is_not_ended_by_a_mark(host: SshHost) -> None:
    """The process number of a waiter may be another program's after a restart."""
    nap, mark = f"sleep {nap_s()}", secrets.token_hex(8)
    other = host.start(nap)
    until(lambda: running(nap), within=10, what="the other job to run")
    shutil.copytree(other.directory, f"/tmp/niclab-job.{mark}")
    host.run(ending_command(mark), check=True)
    assert running(nap) and not Path(f"/tmp/niclab-job.{mark}").exists()
    other.stop()


def test_a_stopped_job_says_so_once(host: SshHost) -> None:
    over = list[bool]()
    job = host.start(f"sleep {nap_s()}", mark=secrets.token_hex(8))
    job.when_over = lambda: over.append(job.over)
    job.stop()
    job.stop()
    assert over == [True]


def test_a_job_ends_itself_at_its_limit(host: SshHost) -> None:
    job = host.start(f"sleep {nap_s()}", limit_s=1)
    assert job.wait(30).exit_status == 124
    job.stop()


def test_a_job_whose_output_nobody_reads_does_not_stall(host: SshHost) -> None:
    job = host.start("seq 1 1000000")
    result = job.wait(60)
    assert result.exit_status == 0
    assert result.stdout.endswith("\n1000000\n")
    job.stop()


def test_a_command_that_cannot_be_found_says_so(host: SshHost) -> None:
    job = host.start("no-such-program --now")
    result = job.wait(30)
    assert result.exit_status == 127
    assert "no-such-program" in result.stderr
    job.stop()


def test_a_job_survives_the_connection_and_is_stopped_over_the_next(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    with SshHost(server.endpoint) as host:
        job = host.start(f"sleep {nap_s()}")
        server.signal_sessions(signal.SIGKILL)
        until(lambda: not server.sessions(), within=10, what="the session to end")
        assert job.poll() is None
        assert job.stop().signal == "TERM"


def test_a_job_that_vanished_is_an_error_and_no_stranger_is_killed_in_its_place(host: SshHost) -> None:
    nap = f"sleep {nap_s()}"
    job = host.start(nap)
    until(lambda: running(nap), within=10, what="the job to run")
    group = int(Path(job.directory, "pid").read_text())
    stranger = host.start(f"sleep {nap_s()}")
    until(lambda: Path(stranger.directory, "pid").exists(), within=10, what="the stranger to run")
    os.killpg(group, signal.SIGKILL)
    until(lambda: job.poll() is not None, within=10, what="the job to be seen ended")
    Path(job.directory, "status").unlink()
    Path(job.directory, "pid").write_text(Path(stranger.directory, "pid").read_text())
    for act in (job.poll, job.stop):
        with pytest.raises(BenchFault, match=rf"dut: background job '{nap}' vanished without an exit status"):
            act()
    assert stranger.poll() is None
    stranger.stop()
    assert job.over
    shutil.rmtree(job.directory)


def test_a_limit_that_is_none_is_an_error(host: SshHost) -> None:
    with pytest.raises(BenchFault, match="limit_s is 0; expected a number of at least 1"):
        host.start("true", limit_s=0)
