"""The card's self test: ethtool ends with 2 when a test fails, and says which."""

from __future__ import annotations

import pytest
from fake_shell import Answer, FakeShell, failed

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.host_records import SelfTest
from niclab.hosts.linux_host import LinuxHost

PASSED = "The test result is PASS\nThe test extra info:\nregister_test (offline)\t 0\nlink_test (online)\t 0\n\n"
FAILED = PASSED.replace("PASS", "FAIL").replace("(offline)\t 0", "(offline)\t 1")


def said(answer: Answer | str) -> SelfTest:
    return LinuxHost(FakeShell({"ethtool -t eth0 offline": answer}), "dut").drivers.self_test("eth0", True)


def test_a_card_that_passes() -> None:
    assert said(PASSED) == SelfTest(True, (("register_test (offline)", 0), ("link_test (online)", 0)))


def test_a_card_that_fails_says_which_test() -> None:
    found = said(Answer(stdout=FAILED, exit_status=2))
    assert not found.passed and found.results[0] == ("register_test (offline)", 1)


def test_a_driver_without_self_test_is_not_applicable() -> None:
    with pytest.raises(NotApplicable, match="no self test"):
        said(failed("Cannot test: Operation not supported\n", exit_status=76))


def test_a_tool_that_fails_is_a_fault() -> None:
    with pytest.raises(BenchFault, match="No such device"):
        said(failed("netlink error: No such device\n", exit_status=1))
