"""Every command that a FreeBSD server can be sent is one that the server of the virtual bench knows.

Three kinds of commands are sent here, to a shell with the server's own programs and no others:

* those of the lab's FreeBSD host: each of its methods is called, and each place of its code that sends a command is
  reached;
* those for servers of any system: scripts are run, and of the rest the programs are looked for;
* those of programs that the lab sends to servers.

What the tools there do not know they refuse in words of usage, and that fails the test.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from freebsd_drives import CARDS, DRIVES, Server, driven
from guest_root import Root
from guest_shell import Call, GuestShell

from freebsd import kit
from niclab.hosts import freebsd_host, host_commands
from niclab.hosts.host import PROTOCOLS
from niclab.traffic.outage import prober_program

HOSTS = Path(freebsd_host.__file__).parent
NICLAB = HOSTS.parent
BUILT_IN = ("[", "read", "kill", "cd", "exec", "exit", "umask", ":")
KEYWORDS = r"\b(?:while|do|done|if|then|fi)\b"
LINUX_ONLY = {
    "ip": "engine.py",
    "rpc.nfsd": "nfs_server.py",
    "modprobe": "server_needs.py",
    "mount": "server_needs.py",
    "udevadm": "nvme_host.py",
    "sudo": "ssh_link.py",
}
"""Programs that no FreeBSD server has, and where they are asked: behind what is Linux' only, the NFS server, the
targets, the initiator and the engine for iSCSI; sudo where the bench file asks for it."""
UNKNOWN = re.compile(r"usage|illegal option|unknown command|bad value|this server")
"""Words in which a tool says that it does not know what is asked."""
VERSION = (("--version",), ("-V",))
"""Asked of every tool; those of the base system refuse it as the real ones do."""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """A server with each card, after all the calls."""
    folders = [tmp_path_factory.mktemp(card[:6]) for card in CARDS]  # threads would race for the one they are made in
    with ThreadPoolExecutor() as pool:
        yield list(pool.map(driven, CARDS, folders))


def test_every_method_of_the_host_is_called() -> None:
    wanted = {
        f"{part}.{name}"
        for part, protocol in PROTOCOLS.items()
        for name, member in vars(protocol).items()
        if callable(member) and not name.startswith("_")
    }
    assert {name for names in DRIVES for name in names.split()} == wanted


def test_every_command_is_answered(servers: list[Server]) -> None:
    failed = [f"{one.card}: {name}: {why}" for one in servers for name, why in one.failed.items()]
    assert "\n".join(failed) == ""
    assert "\n".join(unknown(call for one in servers for call in one.calls)) == ""


def unknown(calls: Iterable[Call]) -> list[str]:
    """The calls that a tool does not know."""
    return [
        f"{one.words}: {one.errors}" for one in calls if one.words[1:] not in VERSION and UNKNOWN.search(one.errors)
    ]


def test_what_is_not_known_would_be_found(tmp_path: Path) -> None:
    """Negative control: forms and programs that the server does not know, also where nobody shows what they say."""
    with GuestShell(Root(tmp_path)).served() as shell:
        assert shell.run("netstat -rnW -f inet; route -n get default").exit_status == 127
        assert unknown(shell.calls) == []
        shell.run("netstat -m 2>/dev/null || true; ifconfig oce0 lso 2>/dev/null || true")
        assert [line.partition(":")[0] for line in unknown(shell.calls)] == [
            "('netstat', '-m')",
            "('ifconfig', 'oce0', 'lso')",
        ]


def test_every_place_of_the_host_that_sends_a_command_was_reached(servers: list[Server]) -> None:
    reached = {place for server in servers for place in server.shell.places}
    missed = [
        f"{file}:{first}: {text}"
        for file, first, last, text in sending_places()
        if not any((file, line) in reached for line in range(first, last + 1))
    ]
    assert "\n".join(missed) == ""
    assert len(sending_places()) > 60


def sending_places() -> list[tuple[str, int, int, str]]:
    """File, first and last line, and text, of every call in the host's code that sends a command, at whatever depth."""
    shared = {Path(inspect.getfile(one)) for part in freebsd_host.PARTS.values() for one in part.__mro__[:-1]}
    files = {*HOSTS.rglob("*freebsd*.py"), *(file for file in shared if file.is_relative_to(HOSTS))} - {
        Path(host_commands.__file__)
    }
    trees = {str(file.relative_to(HOSTS)): ast.parse(file.read_text()) for file in sorted(files)}
    below = ast.parse(Path(host_commands.__file__).read_text())
    methods = [one for tree in (*trees.values(), below) for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    sending = {"self._shell.run"}
    while True:
        found = {f"self.{one.name}" for one in methods if any(name in sending for _, name in self_calls(one))}
        if found <= sending:
            break
        sending |= found
    return [
        (file, node.lineno, node.end_lineno or node.lineno, ast.unparse(node)[:80])
        for file, tree in trees.items()
        for node, name in self_calls(of_freebsd(tree))
        if name in sending
    ]


def of_freebsd(tree: ast.Module) -> ast.Module:
    """The module without classes of Linux alone."""
    kept = [one for one in tree.body if not (isinstance(one, ast.ClassDef) and one.name.startswith("Linux"))]
    return ast.Module(kept, [])


def self_calls(tree: ast.AST) -> list[tuple[ast.Call, str]]:
    return [
        (node, name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func)).startswith("self.")
    ]


def test_programs_that_are_sent_ask_what_is_answered(tmp_path: Path) -> None:
    """Programs of the lab that run on servers, and ask tools there."""
    asked = [
        [ast.literal_eval(word) for word in node.args[0].elts]
        for file in sorted(NICLAB.rglob("*_program.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "subprocess.run"
        if isinstance(node.args[0], ast.List)
    ]
    assert ["netstat", "-s", "-p", "udp"] in asked
    root = Root(tmp_path)
    for words in asked:
        said = root.run(*words)
        assert said.status == 0, said
    assert prober_program.FULL_BUFFERS.findall(root.run("netstat", "-s", "-p", "udp").out) == ["5"]


def test_what_is_sent_to_servers_of_any_system_is_there() -> None:
    """Programs by their names: their options are those of POSIX."""
    there = {*kit.TOOLS, *kit.BASE, *kit.PACKAGED, *BUILT_IN}
    missing = {name: place for place, text in shared_commands() for name in programs(text) if name not in there}
    assert {name: place.rpartition(":")[0] for name, place in missing.items()} == LINUX_ONLY
    assert len(shared_commands()) > 20


def shared_commands() -> list[tuple[str, str]]:
    """Place and text of every command line in the code for servers of any system, as far as it does."""
    found = []
    for file in sorted(NICLAB.rglob("*.py")):
        if not file.is_relative_to(NICLAB / "hosts"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Call) and re.search(r"(\.run|\.start|^quoted)$", ast.unparse(node.func)):
                    found += [(f"{file.name}:{node.lineno}", text) for text in map(literal, node.args[:1]) if text]
    return found


def literal(node: ast.expr) -> str:
    """The text of a string; what is filled in is VALUE."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else "VALUE" for one in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def programs(text: str) -> set[str]:
    """The first word of each simple command; what follows a group redirects it."""
    firsts = [part.split()[0] for part in re.split(rf"[;&|()]+|(?<!\S)[{{}}](?!\S)|{KEYWORDS}", text) if part.strip()]
    return {first for first in firsts if not re.match(r"VALUE|\d*[<>]", first)}
