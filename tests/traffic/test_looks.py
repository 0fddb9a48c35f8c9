"""A client between two looks, all in one command of a real shell."""

from __future__ import annotations

import subprocess

import pytest

from niclab.core.verdict import BenchFault
from niclab.traffic.runs.looks import parts_of, surrounded
from niclab.transports.ssh.ssh import Result

ASK = "echo looked && true"


def ran(client: str, ask: str = ASK) -> Result:
    command = surrounded(client, ask)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    return Result(command, done.returncode, None, done.stdout, done.stderr, 3.1)


@pytest.mark.parametrize("text", ["{}", "{}\n", "", "one\n@ client ended 0\ntwo\n", "@ client 0\n"])
@pytest.mark.parametrize("status", [0, 3])
def test_each_part_has_its_own_text_and_status(text: str, status: int) -> None:
    first, client, last = parts_of("dut", "the client", ran(f"(printf %s '{text}'; exit {status})"))
    assert (client.command, client.stdout, client.exit_status) == ("the client", text, status)
    assert (first.stdout, first.exit_status, last.stdout, last.exit_status) == ("looked\n", 0, "looked\n", 0)


def test_a_client_that_a_signal_ended_is_said_so() -> None:
    _, client, last = parts_of("dut", "the client", ran("sh -c 'echo said; kill -SEGV $$'"))
    assert (client.stdout, client.ending, last.succeeded) == ("said\n", "killed by SIGSEGV", True)


@pytest.mark.parametrize("fails", ["first", "last"])
def test_a_look_that_fails_is_seen(fails: str) -> None:
    ask = "echo looked && [ $n = now ]"
    before, after = ("n=later", "n=now") if fails == "first" else ("n=now", "n=later")
    ended = ran(after, f"n=${{n:-{before[2:]}}}; {ask}")
    first, client, last = parts_of("dut", "the client", ended)
    assert (first.succeeded, client.succeeded, last.succeeded) == (fails != "first", True, fails != "last")


def test_a_shell_that_ended_before_the_last_look_is_a_bench_fault() -> None:
    with pytest.raises(BenchFault, match=r"^dut: `the client`: exit status 7: no memory$"):
        parts_of("dut", "the client", ran("echo no memory >&2; exit 7"))
