"""Cost of one remote command: over the open shell, over a channel per command, and with the ssh program.

    python benchmarks/ssh_latency.py                                      a throw-away sshd on loopback
    python benchmarks/ssh_latency.py --address 10.0.0.5 --user root --key ~/.ssh/lab --known-hosts lab/known_hosts

Each command is measured over the shell that SshHost keeps open and over a channel of its own, on one connection; the
ways take turns, a few commands each, so that a busy machine is as busy for one as for the other. The ssh program, with
and without a kept connection, shows what remains without this client. ``bounded`` is the far-end
``timeout -k 3 N sh -c ...`` that a channel of its own always gets.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "fakes"))

from throwaway_sshd import ThrowawaySshd

from niclab.transports.ssh.ssh import SshEndpoint, SshHost

_COMMANDS = {
    "builtin": 'read -r line < /etc/passwd; echo "$line"',
    "external tool": "uname -a",
    "three tools": "uname -a; cat /etc/passwd; date",
}
_IN_A_ROW = 3  # as suites ask: the first after a pause is not the usual one
_NEW = "true, ssh new each"
_BOUNDED = "exec timeout -k 3 60 sh -c true"


def _ssh(endpoint: SshEndpoint, *options: str) -> list[str]:
    fixed = ["-F", "none", "-p", str(endpoint.port), "-l", endpoint.user, "-o", "BatchMode=yes"]
    files = ["-i", str(endpoint.key_file), "-o", f"UserKnownHostsFile={endpoint.known_hosts}"]
    return ["ssh", *fixed, *files, *options, endpoint.address]


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def _program(command: list[str]) -> Callable[[], object]:
    return lambda: subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)


def measure(endpoint: SshEndpoint, rounds: int, new_every: int) -> dict[str, list[float]]:
    """Milliseconds of each command, by way. New connections are slow: only every ``new_every``-th round makes one."""
    with tempfile.TemporaryDirectory() as directory, SshHost(endpoint) as host:
        kept = _ssh(endpoint, "-o", "ControlMaster=auto", "-o", f"ControlPath={directory}/s", "-o", "ControlPersist=60")
        ways: dict[str, Callable[[], object]] = {}
        for name, command in _COMMANDS.items():
            ways[f"{name}, open shell"] = partial(host.run, command, check=True)
            # stdin is what gets a command a channel of its own
            ways[f"{name}, own channel"] = partial(host.run, command, stdin="\n", check=True)
        if not endpoint.password:
            ways["true, ssh ControlMaster"] = _program([*kept, "true"])
            ways["true, ssh ControlMaster bounded"] = _program([*kept, _BOUNDED])
            ways[_NEW] = _program([*_ssh(endpoint), "true"])
        times: dict[str, list[float]] = {name: [] for name in ways}
        for action in ways.values():  # warm: connections are made, files are cached
            action()
        try:
            for number in range(rounds):
                for name, action in ways.items():
                    if name != _NEW or number % new_every == 0:
                        times[name] += [_timed(action) for _ in range(_IN_A_ROW)]
        finally:
            subprocess.run([*kept, "-O", "exit"], check=False, capture_output=True, timeout=20)
    return times


def report(times: dict[str, list[float]]) -> str:
    """Two tables: each way with its ratio to a builtin over the open shell, and the gain for each command."""
    base = statistics.median(times[f"{next(iter(_COMMANDS))}, open shell"])
    lines = [f"{'way':34}{'n':>6}{'median ms':>11}{'p95 ms':>9}{'ratio':>8}"]
    for name, values in times.items():
        median, p95 = statistics.median(values), statistics.quantiles(values, n=20)[-1]
        lines.append(f"{name:34}{len(values):6}{median:11.2f}{p95:9.2f}{median / base:8.2f}")
    lines += ["", f"{'command':16}{'own channel ms':>16}{'open shell ms':>15}{'faster by':>11}"]
    for name in _COMMANDS:
        before, after = (statistics.median(times[f"{name}, {way}"]) for way in ("own channel", "open shell"))
        lines.append(f"{name:16}{before:16.2f}{after:15.2f}{before / after:10.1f}x")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="What one remote command costs, by way of running it.")
    parser.add_argument("--address", help="host to measure; without it, a throw-away sshd on loopback")
    parser.add_argument("--port", type=int, default=22)
    parser.add_argument("--user", default="root")
    parser.add_argument("--key", type=Path)
    parser.add_argument("--known-hosts", type=Path, default=Path("~/.ssh/known_hosts").expanduser())
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    if given.rounds < 20:
        parser.error(f"--rounds is {given.rounds}; expected at least 20")
    if given.address:
        if given.key is None:
            parser.error("--key is missing; expected with --address")
        endpoint = SshEndpoint(given.address, given.address, given.port, given.user, given.key, given.known_hosts)
        print(report(measure(endpoint, given.rounds, 10)))
        return 0
    with tempfile.TemporaryDirectory() as directory, ThrowawaySshd(Path(directory) / "sshd") as server:
        print(report(measure(server.endpoint, given.rounds, 10)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
