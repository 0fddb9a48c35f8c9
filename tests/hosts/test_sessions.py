"""Which output of a session is the one that was asked for."""

from __future__ import annotations

import pytest

from niclab.commands.parse import parse
from niclab.hosts.errors import ReadError
from niclab.hosts.sessions import parts_of_session

ETH0 = "driver: tg3\nversion: 3.137\nfirmware-version: 5719\nbus-info: 0000:02:00.0\nsupports-test: yes\n"
RINGS = "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t2047\nCurrent hardware settings:\nRX:\t\t200\n"


@pytest.mark.parametrize(
    ("first", "second"), [("[root@dut ~]# ", "[root@dut ~]# "), ("# ", "# "), ("j@d:~$ ", "j@d:~$ ")]
)
def test_each_kind_finds_its_own_output(first: str, second: str) -> None:
    text = f"{first}ethtool -i eth0\n{ETH0}{second}ethtool -g eth0\n{RINGS}"
    assert parse("ethtool-i", text)["bus"] == "0000:02:00.0"
    assert parse("ethtool-g", text)["iface"] == "eth0"
    with pytest.raises(ReadError):
        parse("ethtool-k", text)


def test_two_answers_are_one_too_many() -> None:
    with pytest.raises(ReadError, match="driver once"):
        parse("ethtool-i", f"# ethtool -i eth0\n{ETH0}# ethtool -i eth1\n{ETH0}")


def test_the_same_question_with_an_answer_that_cannot_be_read_is_one_too_many() -> None:
    broken = ETH0.replace("version:", "version")
    with pytest.raises(ReadError, match="name: value"):
        parse("ethtool-i", f"# ethtool -i eth0\n{broken}# ethtool -i eth1\n{ETH0}")


def test_an_error_message_beside_it_is_no_second_answer() -> None:
    text = f"# ethtool -i eth9\nCannot get driver information: No such device\n# ethtool -i eth0\n{ETH0}"
    assert parse("ethtool-i", text)["driver"] == "tg3"


def test_what_stands_before_the_first_prompt_may_be_cut() -> None:
    with pytest.raises(ReadError):
        parse("ethtool-i", f"driver: tg3\n[root@dut ~]# ethtool -g eth0\n{RINGS}")


def test_a_comment_does_not_cut_an_output_in_two() -> None:
    assert parts_of_session("driver: tg3\n# a comment\nversion: 1\n") == []


def test_a_text_of_prompts_alone_is_not_cut() -> None:
    assert parts_of_session(1000 * "[root@dut ~]# ethtool -i eth0\n") == []
