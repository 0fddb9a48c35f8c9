"""What a terminal adds is taken away, and nothing else."""

from __future__ import annotations

import pytest

from niclab.hosts.errors import ReadError
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
        ("\u279c  ~ tool -i eth0", "tool -i eth0"),
        ("\u279c  src git:(main) \u2717 sudo tool -i eth0", "sudo tool -i eth0"),
        ("root@dut:~# **tool -i eth0**", "tool -i eth0"),
        ("> [root@dut ~]# tool -i eth0", "tool -i eth0"),
        ("tool -l x && echo $SHELL", "tool -l x && echo $SHELL"),
    ],
)
def test_the_prompt_with_the_command_is_taken_away(first: str, command: str) -> None:
    printed = transcript(f"{first}\r\nname: value\r\n[root@dut ~]# \r\n", "tool")
    assert printed.filled == ((2, "name: value"),)
    assert printed.command == command


@pytest.mark.parametrize(
    "before",
    [
        "joe@dut:~$ sudo tool -i eth0\n[sudo] password for joe: \n",
        "    [sudo] password for joe:\nSorry, try again.\n[sudo] password for joe:\n",
        "+ tool -i eth0\n",
        "(venv) joe@dut:~$ tool -i eth0\n",
        "root@h:~# for i in eth0; do tool -i $i; done\n",
        "$ ssh dut sudo tool -i eth0\n",
        "\ufeff\x00\x00",
    ],
)
@pytest.mark.parametrize("after", ["", "\n\n", "joe@dut:~$ exit\n", "#\n# \n", "[root@dut]~# logout\n"])
def test_nothing_but_the_output_stays(before: str, after: str) -> None:
    printed = transcript(f"{before}name: value\n{after}", "tool")
    assert [line for _, line in printed.filled] == ["name: value"]


def test_a_question_for_a_password_stays_behind_the_first_line() -> None:
    assert len(transcript("name: value\n[sudo] password for joe:\nname: value\n", "tool").filled) == 3


def test_another_command_is_an_error_for_a_reader_of_one_tool_alone() -> None:
    text = "name: value\nroot@dut:~ # other\nname: value\n"
    assert len(transcript(text, "tool").filled) == 3
    with pytest.raises(ReadError, match="line 2 'root@dut:~ # other': expected the output of tool only"):
        transcript(text, "tool", alone="tool -i")


@pytest.mark.parametrize(
    "line", ["# a comment", "# other -i eth0", "tool: no such device", "value #", "name: tool -i eth0", "tools -i eth0"]
)
def test_other_lines_stay(line: str) -> None:
    printed = transcript(f"name: value\n{line}\nname: value\n", "tool")
    assert (2, line) in printed.filled
    assert printed.command is None


def test_a_prompt_between_lines_stays() -> None:
    assert (2, "[root@dut ~]#") in transcript("a: b\n[root@dut ~]# \nc: d\n", "tool").filled


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("> > name: value\n> >\n> > more: 2\n", ["name: value", "more: 2"]),
        ("> name: value\nmore: 2\n", ["> name: value", "more: 2"]),
        ("name: &lt;UP&gt;\n<b>more: 2</b>\n", ["name: <UP>", "more: 2"]),
        ("name: <UP>\n<b>more: 2</b>\n", ["name: <UP>", "<b>more: 2</b>"]),
        ("name: a =3D b=20\nmore: 2, and a long li=\nne\n", ["name: a = b", "more: 2, and a long line"]),
        ("name: a=3D b=8843 c\n", ["name: a=3D b=8843 c"]),
        ("name: a=b, =3D\n", ["name: a=b, =3D"]),
        ("name: 256      <--- too small\n----> more: 2\n", ["name: 256", "      more: 2"]),
        ("name: value\n....snip....\nmore: 2\n--snip--\n", ["name: value", "more: 2"]),
        ("name: value\n[...snip...]\nmore: 2\n< SNIP >\n", ["name: value", "more: 2"]),
        ("name: value\n...output omitted...\nmore: 2\n<output omitted>\n", ["name: value", "more: 2"]),
        ("name: value\n(omitted)\nmore: 2\n", ["name: value", "(omitted)", "more: 2"]),
        ("name: value\n\nreal\t0m0.160s\nuser\t0m0.004s\nsys\t0m0.001s\n", ["name: value"]),
    ],
)
def test_what_mails_and_pages_add_is_taken_away(text: str, filled: list[str]) -> None:
    assert [line for _, line in transcript(text, "tool").filled] == filled
