"""Both kernels judge every test: what they report turns exactly the test red in which it was said."""

from __future__ import annotations

import json

import pytest
from control_bench import NAME, Bench, only

pytestmark = pytest.mark.bench

UP, CARRIES, IDLE = "Every Link Is Up", "Every Link Carries Traffic", "The Link Is As On The Sheet When Idle"
OOPS = (
    "BUG: kernel NULL pointer dereference, address: 0000000000000010",
    "RIP: 0010:e1000_clean_rx_irq+0x1a/0x2f0 [e1000e]",
    "---[ end trace 0000000000000000 ]---",
)


def said(role: str, *lines: str) -> str:
    """Arguments of vbench that write lines into a server's kernel log."""
    words = "; ".join(f"echo '{line}' > /dev/kmsg" for line in lines)
    return f'ssh --name {NAME} {role} "{words}"'


@pytest.mark.slow
def test_an_oops_of_the_driver_is_the_cards(bench: Bench) -> None:
    run = bench.run(*only(UP, CARRIES), inject=(UP, said("dut", *OOPS), ""))
    run.should_show(red={UP}, green={CARRIES})
    assert run.red[UP].startswith(f"KernelFailure: dut kernel: oops: {OOPS[0]}")


@pytest.mark.slow
def test_an_oops_of_the_peer_is_the_benchs(bench: Bench) -> None:
    run = bench.run(*only(UP, CARRIES), inject=(UP, said("peer", *OOPS), ""))
    run.should_show(red={UP}, green={CARRIES})
    assert run.red[UP].startswith("BenchFault: peer kernel: oops")


@pytest.mark.slow
def test_a_dut_that_boots_by_itself_is_not_passed_over(bench: Bench) -> None:
    boot = f'ssh --name {NAME} dut "(sleep 1; echo b > /proc/sysrq-trigger) > /dev/null 2>&1 &"'
    run = bench.run(*only(UP, "A Link That Is Up Stays Up", CARRIES), inject=("A Link That Is Up Stays Up", boot, ""))
    assert set(run.red) == {"A Link That Is Up Stays Up"}, run.red
    (message,) = run.red.values()
    assert "the lab did not order it" in message or "does not answer any more" in message, message


@pytest.mark.slow
def test_a_dut_whose_kernel_dies_is_recovered_with_its_last_words(bench: Bench) -> None:
    crash = f'ssh --name {NAME} dut "(sleep 1; echo c > /proc/sysrq-trigger) > /dev/null 2>&1 &"'
    run = bench.run(*only("A Link That Is Up Stays Up", CARRIES), inject=("A Link That Is Up Stays Up", crash, ""))
    run.should_show(red={"A Link That Is Up Stays Up"}, green={CARRIES})
    (message,) = run.red.values()
    assert "Kernel panic - not syncing: sysrq triggered crash" in message, message
    assert "was recovered by BMC reset" in message, message
    steps = [json.loads(line) for line in (bench.output / "evidence" / "recoveries.jsonl").read_text().splitlines()]
    assert [each["step"] for each in steps] == ["console login", "SysRq", "BMC NMI", "BMC reset"], steps
