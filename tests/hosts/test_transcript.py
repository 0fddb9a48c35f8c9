"""What a terminal adds is taken away, and nothing else."""

from __future__ import annotations

import pytest

from niclab.hosts.transcript import transcript


@pytest.mark.parametrize(
    ("first", "command"),
    [
        ("[root@dut ~]# tool -i eth0", "tool -i eth0"),
        ("root@dut:~ # tool -i eth0", "tool -i eth0"),
        ("ix64ph1053:~/netperf-2.6.0 # tool -i eth0", "tool -i eth0"),
        ("#./tool -i eth0", "./tool -i eth0"),
        ("$ sudo /usr/sbin/tool -i eth0", "sudo /usr/sbin/tool -i eth0"),
        ("# LD_PRELOAD=x.so tool -i eth0", "LD_PRELOAD=x.so tool -i eth0"),
        ("tool -i eth0", "tool -i eth0"),
    ],
)
def test_the_prompt_with_the_command_is_taken_away(first: str, command: str) -> None:
    printed = transcript(f"{first}\r\nname: value\r\n[root@dut ~]# \r\n", "tool")
    assert printed.filled == ((2, "name: value"),)
    assert printed.command == command


@pytest.mark.parametrize(
    "line", ["# a comment", "# other -i eth0", "tool: no such device", "value #", "name: tool -i eth0", "tools -i eth0"]
)
def test_other_lines_stay(line: str) -> None:
    printed = transcript(f"name: value\n{line}\nname: value\n", "tool")
    assert (2, line) in printed.filled
    assert printed.command is None


def test_a_prompt_between_lines_stays() -> None:
    assert (2, "[root@dut ~]#") in transcript("a: b\n[root@dut ~]# \nc: d\n", "tool").filled
