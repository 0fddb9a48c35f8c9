"""Simulate a lab: many benches and queued runs at a real coordinator, with the client that `niclab certify` uses.

A pipeline has so many runs in its queue, and lets a limited number of them ask the coordinator for a bench at a time.
Clients are killed at random moments (SIGKILL of a process with some of them; what it had not finished is queued again,
as a pipeline does), and the coordinator is killed and started again when half of the runs are done. Every bench is a
file that a run locks: a bench that two runs use at once is seen at once. Ends with status 1 when a run was not done
exactly once, a bench was used twice at once, or the benches were used less than asked for while runs were queued.

Full size:
    NICLAB_LABGRID_PYTHON=... .venv/bin/python \\
        benchmarks/fleet.py --benches 200 --runs 2000 --seconds 100 --clients 7
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "libraries"))

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.fleet.reservation import Coordinator

WORKER = Path(__file__).with_name("fleet_worker.py")
REAP_EVERY_S = 15
TICKS = os.sysconf("SC_CLK_TCK")


class Coordinating:
    """A coordinator of its own, on loopback, with its state in a folder."""

    def __init__(self, folder: Path, python: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.cpu_s, self._folder, self._python = 0.0, folder, python
        self.start()

    def start(self) -> None:
        program = str(Path(self._python).with_name("labgrid-coordinator"))
        with (self._folder / "coordinator.log").open("ab") as log:
            self.process = subprocess.Popen(
                [program, "-l", self.address], cwd=self._folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        host, port = self.address.split(":")

        def answers() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex((host, int(port))) == 0

        until(answers, within=60, what="the coordinator")

    def kill(self) -> None:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        self.cpu_s += (int(fields[11]) + int(fields[12])) / TICKS
        self.process.kill()
        self.process.wait()


@dataclass
class Use:
    """One use of a bench: an attempt of a run. ``end``: when it was done, lost or killed."""

    run: int
    bench: str
    begin: float
    end: float = 0.0
    done: bool = False


@dataclass
class Worker:
    """A process with some clients: the runs that it has not finished."""

    process: subprocess.Popen[str]
    runs: dict[int, float] = field(default_factory=dict)
    using: dict[int, Use] = field(default_factory=dict)
    listener: threading.Thread | None = None


class Lab:
    """The simulation."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder, self.random = options, folder, random.Random(options.seed)
        self.python = Coordinator.of_environment().python
        self.coordinating = Coordinating(folder, self.python)
        self.coordinator = Coordinator(self.coordinating.address, self.python)
        self.uses: list[Use] = []
        self.events: SimpleQueue[tuple[Worker, dict[str, Any]]] = SimpleQueue()
        self.counts: Counter[str] = Counter()
        self.attempts: Counter[int] = Counter()
        self.workers: list[Worker] = []
        self.reaped = self.unanswered = 0
        self.queued: deque[tuple[int, float]] = deque()

    def simulate(self) -> None:
        """Do every run, whatever happens to clients and coordinator."""
        begun = time.time()
        tags = {"pool": "sim"}
        self.coordinator.do("export", {f"bench-{number:04}": tags for number in range(self.options.benches)})
        until((self.folder / "places.yaml").exists, within=60, what="the places to be saved", every=1)
        mean = self.options.seconds
        seconds = {run: self.random.uniform(0.75 * mean, 1.25 * mean) for run in range(self.options.runs)}
        self.queued.extend(seconds.items())
        for _ in range(self.options.workers):
            self._work()
        when = [self.random.uniform(0.05, 0.9) for _ in range(self.options.kills)]
        kills = sorted(int(part * self.options.runs) for part in when)
        restart, shown, over = self.options.runs // 2, time.time(), threading.Event()
        reaper = threading.Thread(target=self._reap_until, args=(over,), daemon=True)
        reaper.start()
        while (done := self.counts["done"]) < self.options.runs:
            if kills and done >= kills[0]:
                kills.pop(0)
                self._kill_one()
            if restart and done >= restart:
                restart = 0
                self.coordinating.kill()
                self.coordinating.start()
                self._say(f"coordinator killed and started again, {done} runs done", begun)
            if time.time() - shown > 60:
                shown = time.time()
                self._say(f"{done} runs done, {len(self.uses)} begun", begun)
            self._next_event()
        over.set()
        reaper.join()
        for worker in self.workers:
            assert worker.process.stdin is not None
            worker.process.stdin.close()
        for worker in self.workers:
            worker.process.wait(timeout=60)

    def _say(self, what: str, begun: float) -> None:
        print(f"{time.time() - begun:6.0f} s  {what}", flush=True)

    def _work(self) -> None:
        """Start a process with clients for the next runs of the queue."""
        names = ("quiet_s", "held_s", "poll_s")
        settings = json.dumps({name: getattr(self.options, name) for name in names})
        command = [self.python, str(WORKER), self.coordinating.address, str(self.folder), settings]
        with (self.folder / "workers.log").open("a") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        worker = Worker(process)
        self.workers.append(worker)
        for _ in range(self.options.clients):
            self._next_run(worker)
        worker.listener = threading.Thread(target=self._listen, args=(worker,), daemon=True)
        worker.listener.start()

    def _next_run(self, worker: Worker) -> None:
        if not self.queued:
            return
        number, seconds = self.queued.popleft()
        worker.runs[number] = seconds
        self.attempts[number] += 1
        assert worker.process.stdin is not None
        asked = {"number": number, "attempt": self.attempts[number], "seconds": seconds}
        worker.process.stdin.write(json.dumps(asked) + "\n")
        worker.process.stdin.flush()

    def _listen(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        for line in worker.process.stdout:
            if line.endswith("\n"):
                self.events.put((worker, json.loads(line)))

    def _next_event(self) -> None:
        try:
            worker, event = self.events.get(timeout=0.5)
        except Empty:
            return
        run, what = event["run"], event["event"]
        self.counts[what] += 1
        if what == "start":
            worker.using[run] = Use(run, event["bench"], event["at"])
            self.uses.append(worker.using[run])
        elif what in ("done", "lost"):
            use = worker.using.pop(run)
            use.end, use.done = event["at"], what == "done"
            seconds = worker.runs.pop(run)
            if what == "lost":
                self.queued.append((run, seconds))
        elif what == "refused":  # nobody would do it any more
            raise BenchFault(f"run {run} got no bench: {event['bench']}")
        elif what == "released" and worker in self.workers:
            self._next_run(worker)

    def _kill_one(self) -> None:
        """Kill a process with all of its clients, and queue again what they had not finished."""
        busy = [worker for worker in self.workers if worker.runs and worker.process.poll() is None]
        victim = self.random.choice(busy)
        victim.process.kill()
        victim.process.wait()
        self.workers.remove(victim)
        at = time.time()
        assert victim.listener is not None
        victim.listener.join()
        while not self.events.empty():  # what it said before it died counts
            self._next_event()
        self.counts["killed clients"] += len(victim.runs)
        self.counts["killed holders"] += len(victim.using)
        for use in victim.using.values():
            use.end = at
        self.queued.extend(victim.runs.items())
        self._work()

    def _reap_until(self, over: threading.Event) -> None:
        """Reap every few seconds, as a timer does."""
        while not over.wait(self.options.reap_every):
            try:
                self.reaped += len(self.coordinator.do("reap", {}))
            except BenchFault:
                self.unanswered += 1

    def problems(self) -> list[str]:
        """Return what went wrong: the figures are printed."""
        done = Counter(use.run for use in self.uses if use.done)
        by_bench: dict[str, list[Use]] = {}
        for use in sorted(self.uses, key=lambda each: each.begin):
            by_bench.setdefault(use.bench, []).append(use)
        overlaps = sum(
            later.begin < earlier.end for uses in by_bench.values() for earlier, later in itertools.pairwise(uses)
        )
        first, last = min(use.begin for use in self.uses), max(use.begin for use in self.uses)
        window = (last - first) * self.options.benches
        useful = sum(max(0.0, min(use.end, last) - use.begin) for use in self.uses if use.done)
        whole = (max(use.end for use in self.uses) - first) * self.options.benches
        utilisation = useful / window
        clients = self.options.workers * self.options.clients
        print(
            f"benches {self.options.benches}, runs queued {self.options.runs}, mean {self.options.seconds:g} s,"
            f" of which {clients} at a time hold a bench or wait for one at the coordinator"
        )
        print(f"done exactly once: {sum(count == 1 for count in done.values())} of {self.options.runs}")
        print(f"bench used twice at once: {overlaps} by time, {self.counts['double']} by its lock")
        print(f"utilisation while runs were queued ({last - first:.0f} s): {utilisation:.3f}")
        print(f"utilisation to the last end: {sum(u.end - u.begin for u in self.uses if u.done) / whole:.3f}")
        print(f"clients killed: {self.counts['killed clients']}, of which {self.counts['killed holders']} held a bench")
        print(f"benches freed by the reaper: {self.reaped}; runs that lost their bench: {self.counts['lost']}")
        print(f"calls of the reaper without an answer: {self.unanswered}")
        print(f"coordinator: {self.coordinating.cpu_s:.0f} s of CPU, 1 restart")
        problems = []
        if sorted(done) != list(range(self.options.runs)) or set(done.values()) != {1}:
            problems.append("a run was not done exactly once")
        if overlaps or self.counts["double"]:
            problems.append("a bench was used twice at once")
        if utilisation < self.options.at_least:
            problems.append(f"utilisation {utilisation:.3f}; expected at least {self.options.at_least}")
        return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--benches", type=int, default=6)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=120, help="mean duration of a run")
    parser.add_argument("--workers", type=int, default=60, help="processes that the clients are divided among")
    parser.add_argument("--clients", type=int, default=5, help="clients of a process")
    parser.add_argument("--kills", type=int, default=10, help="processes killed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-least", type=float, default=0.9, help="utilisation asked for")
    parser.add_argument("--quiet-s", type=float, default=10, help="see niclab.fleet.reservation.Coordinator")
    parser.add_argument("--held-s", type=float, default=90, help="see niclab.fleet.agent.HELD_S")
    parser.add_argument("--poll-s", type=float, default=5, help="see niclab.fleet.agent.POLL_S")
    parser.add_argument("--reap-every", type=float, default=REAP_EVERY_S)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection for each client
    with tempfile.TemporaryDirectory() as name:
        lab = Lab(options, Path(name))
        try:
            lab.simulate()
        finally:
            for worker in lab.workers:
                worker.process.kill()
            lab.coordinating.kill()
        problems = lab.problems()
    print("\n".join(problems) or "all as asked for")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
