"""Logging in and running commands on a console, against real shells on a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toy_consoles import MachineConsole

from niclab.core.verdict import BenchFault
from niclab.transports import AuthenticationFailed
from niclab.transports.console.serial import ConsoleEndpoint, KernelDeath, NotSeen, SerialConsole

PASSWORD = "pass word!"
_GETTY = r"""
stty -echo 2>/dev/null; stty echo
printf 'Welcome # to the > server\nLast login: yesterday\n%b' "$1"
while :; do
    printf 'dut login: '; read user || exit
    [ -n "$user" ] || continue
    stty -echo; printf 'Password: '; IFS= read -r word; stty echo; printf '\n'
    if [ "$user" = root ] && [ "$word" = 'pass word!' ]; then
        printf 'Last login: Sat Nov 21 on ttyS0\n%b# motd ends in a hash #\n' "$2"
        exec env PS1='root@dut:~# ' sh -i
    fi
    sleep 0.1; printf 'Login incorrect\n'
done
"""
SHELLS = {
    "dash": ["env", "PS1=# ", "sh", "-i"],
    "bash": ["env", "TERM=vt220", "bash", "--norc", "--noprofile", "-i"],
    "ash-like": ["env", "PS1=~ # \x1b[6n", "sh", "-i"],
}

Maker = Callable[[list[str]], SerialConsole]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Maker]:
    """Starts a program on a terminal and opens its console."""
    made: list[tuple[MachineConsole, SerialConsole]] = []

    def make(command: list[str]) -> SerialConsole:
        server = MachineConsole(command)
        endpoint = ConsoleEndpoint("dut console", server.url, "root", PASSWORD, tmp_path / "console.log")
        console = SerialConsole(endpoint)
        made.append((server, console))
        console.open()
        return console

    yield make
    for server, console in made:
        console.close()
        server.stop()


@pytest.mark.parametrize("shell", list(SHELLS))
def test_a_command_gives_its_status_and_only_its_output(machine: Maker, shell: str) -> None:
    console = machine(SHELLS[shell])
    assert console.run("echo hello; exit 42", 10) == (42, "hello\n")
    assert console.run("true", 10) == (0, "")
    assert console.run("printf 'no newline'; false", 10) == (1, "no newline")
    assert console.run("echo out; echo err >&2", 10) == (0, "out\nerr\n")
    assert console.run(r"""printf '%s|' 'it'"'"'s' "a b" '$HOME' '"q"'""", 10) == (0, """it's|a b|$HOME|"q"|""")
    assert console.run("kill -9 $$", 10)[0] == 128 + 9
    assert console.run(r"printf '\033[31mred\033[0m\n'", 10) == (0, "red\n")
    assert console.run("echo " + "long " * 60, 10) == (0, "long " * 59 + "long\n")


def test_a_hundred_kilobytes_of_output_are_complete(machine: Maker) -> None:
    console = machine(SHELLS["dash"])
    status, output = console.run("seq 1 20000", 30)
    assert (status, output) == (0, "".join(f"{n}\n" for n in range(1, 20001)))


def test_a_command_that_does_not_end_is_interrupted_and_the_next_one_works(machine: Maker) -> None:
    console = machine(SHELLS["bash"])
    with pytest.raises(NotSeen, match=r"dut console: 'sleep 60' did not end within 0.5 s"):
        console.run("sleep 60", 0.5)
    assert console.run("echo well", 10) == (0, "well\n")


def test_a_command_that_is_no_shell_text_has_a_status_like_others(machine: Maker) -> None:
    console = machine(SHELLS["bash"])
    for text in ("if true; then", "echo 'never closed", ")"):
        status, output = console.run(text, 10)
        assert status == 2
        assert "yntax error" in output or "nterminated" in output
    assert console.run("echo well", 10) == (0, "well\n")


def test_a_kernel_that_dies_under_a_command_is_told(machine: Maker) -> None:
    console = machine(SHELLS["dash"])
    with pytest.raises(KernelDeath, match="not syncing: test"):
        console.run("sleep 0.1; printf '[ 1.0] Kernel %s - not syncing: test\\n' panic; sleep 20", 15)


def test_commands_that_cannot_be_typed_are_errors(machine: Maker) -> None:
    console = machine(SHELLS["dash"])
    with pytest.raises(BenchFault, match=r"is one line without NUL, this is 'a.nb'"):
        console.run("a\nb", 5)
    with pytest.raises(BenchFault, match=r"may have 1000 bytes with its markers, this has \d+: 'xxx"):
        console.run("x" * 990, 5)


def test_logging_in_through_a_getty_leaves_no_password_in_the_log(machine: Maker, tmp_path: Path) -> None:
    console = machine(["sh", "-c", _GETTY])
    console.login("root", PASSWORD, 15)
    assert console.run("echo in", 10) == (0, "in\n")
    log = (tmp_path / "console.log").read_text()
    assert "Password: " in log
    assert PASSWORD not in log


WORDS = [
    "Every login: is logged. Password: yours alone\\n",
    "login: see the rules\\nPassword: see the rules\\n",
    "Last failed login: Mon Nov 23 10:00:00 on ttyS0\\nThere was 1 failed login attempt since the last one.\\n",
    "Previous login: yesterday\\nAuthentication failures: 3\\n",
    "Login incorrect since yesterday: 3 times\\n",
    "Default password: none\\n",
]


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("after", [False, True], ids=["before the login", "after it"])
def test_words_about_logins_are_no_prompts(machine: Maker, tmp_path: Path, words: str, after: bool) -> None:
    console = machine(["sh", "-c", _GETTY, "getty", "" if after else words, words if after else ""])
    console.login("root", PASSWORD, 20)
    assert console.run("id -u >/dev/null", 5) == (0, "")
    log = (tmp_path / "console.log").read_text()
    assert PASSWORD not in log and "***" not in log, "nothing was typed where it is shown"


def test_an_open_shell_needs_no_login(machine: Maker) -> None:
    for shell in SHELLS.values():
        console = machine(shell)
        console.login("root", PASSWORD, 15)
        assert console.run("echo in", 10) == (0, "in\n")


def test_logging_in_twice_is_no_error(machine: Maker) -> None:
    console = machine(["sh", "-c", _GETTY])
    console.login("root", PASSWORD, 15)
    console.login("root", PASSWORD, 15)
    assert console.run("echo still", 10) == (0, "still\n")


@pytest.mark.parametrize(("user", "password"), [("root", "wrong"), ("nobody", PASSWORD)])
def test_a_refused_login_is_told_without_the_password(machine: Maker, user: str, password: str) -> None:
    console = machine(["sh", "-c", _GETTY])
    with pytest.raises(AuthenticationFailed, match=rf"^dut console: the login of user {user} was refused$") as caught:
        console.login(user, password, 15)
    assert password not in str(caught.value)


def test_a_machine_that_says_nothing_is_no_login(machine: Maker) -> None:
    console = machine(["sleep", "30"])
    with pytest.raises(NotSeen, match=r"dut console: no shell for user root within 0.7 s"):
        console.login("root", PASSWORD, 0.7)


def test_the_markers_are_not_in_the_typed_line(machine: Maker, tmp_path: Path) -> None:
    console = machine(SHELLS["bash"])
    console.run("true", 10)
    console.close()
    log = re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", (tmp_path / "console.log").read_text())
    assert len(re.findall(r"niclab-\w{8}-begin", log)) == 1
