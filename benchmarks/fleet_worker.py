"""Fake runs of the simulated lab, each a client of the coordinator; runs with the Python of labgrid. See fleet.py.

Arguments: address, folder of the benches' locks, JSON with quiet_s, held_s and poll_s. Standard input has a run a line,
standard output an event a line, both JSON. Whoever kills this process kills all of its clients.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "libraries" / "niclab" / "fleet"))

import agent


class Runs:
    """The clients of this process."""

    def __init__(self, address: str, folder: Path, quiet_s: float) -> None:
        self._address, self._folder, self._quiet_s = address, folder, quiet_s

    async def run(self, number: int, attempt: int, seconds: float) -> None:
        """One run: wait for a bench, use it for some seconds, release it."""
        asked = {"tags": {"pool": "sim"}, "queue_s": 86_400, "quiet_s": self._quiet_s}
        ended, got = asyncio.Event(), asyncio.get_running_loop().create_future()
        owner = f"sim/niclab-{number}-{attempt}"

        def say(place: str) -> None:
            got.set_result(place)

        held = asyncio.create_task(agent.hold(self._address, owner, asked, ended, say))
        await asyncio.wait((held, got), return_when=asyncio.FIRST_COMPLETED)
        if not got.done():
            self._say(number, "refused", str(held.exception()))
            return
        place = got.result()
        with (self._folder / f"{place}.lock").open("w") as bench:
            try:
                fcntl.flock(bench, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._say(number, "double", place)
            self._say(number, "start", place)
            await asyncio.wait((held,), timeout=seconds)
            self._say(number, "lost" if held.done() else "done", place)
        ended.set()
        await asyncio.gather(held, return_exceptions=True)
        self._say(number, "released", place)

    def _say(self, number: int, event: str, bench: str) -> None:
        print(json.dumps({"run": number, "event": event, "bench": bench, "at": time.time()}), flush=True)


async def main(address: str, folder: str, settings: dict[str, Any]) -> None:
    agent.HELD_S, agent.POLL_S = settings["held_s"], settings["poll_s"]
    runs, tasks, reader = Runs(address, Path(folder), settings["quiet_s"]), set(), asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in reader:
        task = asyncio.create_task(runs.run(**json.loads(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
