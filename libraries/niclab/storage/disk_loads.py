"""One load of the disks of a session: what is asked of the program, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from niclab.card import StorageLoad
from niclab.frames.server_agent import StepAgent, record_of
from niclab.run.server import Server
from niclab.storage import disk_program
from niclab.storage.disk_program import BLOCK_BYTES, READ_PART, SEQUENTIAL_BYTES
from niclab.storage.volumes import THREADS, VOLUME_BYTES, VOLUMES
from niclab.traffic import WorthlessResult
from niclab.traffic.tools.tool import CpuScale, Order, Route, ToolResult

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]
WORDS: Mapping[StorageLoad, str] = {
    StorageLoad.RANDOM: f"random operations of {BLOCK_BYTES >> 10} KiB, {100 * READ_PART:.0f} % reads",
    StorageLoad.READ: f"sequential reads of {SEQUENTIAL_BYTES >> 10} KiB",
    StorageLoad.WRITE: f"sequential writes of {SEQUENTIAL_BYTES >> 10} KiB",
}
_STEPS: Mapping[StorageLoad, str] = {StorageLoad.RANDOM: "random", StorageLoad.READ: "read", StorageLoad.WRITE: "write"}


def operation_bytes(load: StorageLoad) -> int:
    """Return the bytes of each operation of a load.

    Args:
        load: The load.
    """
    return BLOCK_BYTES if load is StorageLoad.RANDOM else SEQUENTIAL_BYTES


class _Tool(Enum):
    DISKS = "disk load"


@dataclass(frozen=True)
class LoadOrder(Order):
    """The task of one run."""

    load: StorageLoad = StorageLoad.READ

    @property
    def words(self) -> str:
        """The task in words."""
        return WORDS[self.load]

    @property
    def parameters(self) -> dict[str, str]:
        """All that tells this order from others, by name, for the key of a measurement."""
        own = {
            "load": self.load.value,
            "bytes": str(operation_bytes(self.load)),
            "volumes": str(VOLUMES),
            "threads": str(THREADS),
        }
        return {**super().parameters, **own}


class LoadCounts(BaseModel):
    """The operations of one run, of all disks together.

    ``reads``, ``written``: operations, and their bytes. ``damaged``: blocks of 8 KiB with another content; ``failed``:
    operations with an error, each of which ends its thread; an ``example``. ``silent_s``: the longest time in which
    none ended; ``slowest_s``: of the slowest.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    reads: Count
    written: Count
    bytes_read: Count
    bytes_written: Count
    damaged: Count
    failed: Count
    elapsed_s: Seconds
    silent_s: Seconds
    slowest_s: Seconds
    example: str


class DiskAgent(StepAgent):
    """The program that loads disks, on a server.

    Args:
        server: The server.
    """

    def __init__(self, server: Server) -> None:
        super().__init__(server, "disk load program", disk_program)


class DiskClient:
    """Makes runs of loads, as a tool of traffic. The dut runs it.

    Args:
        agent: The program.
        disks: Names of the disks, in the order of their volumes.
        seed: Of their content.

    Attributes:
        damaged: What of the runs was damaged or failed, in words.
        total: Counts of all runs, and of the time before.
    """

    name = _Tool.DISKS
    omitted_s = 0

    def __init__(self, agent: DiskAgent, disks: Sequence[str], seed: str) -> None:
        self._agent, self._disks, self._seed = agent, tuple(disks), seed
        self.damaged = list[str]()
        self.total = dict.fromkeys(("reads", "written", "bytes_read", "bytes_written"), 0)

    def fill(self) -> LoadCounts:
        """Write all of the disks once.

        Raises:
            BenchFault: The program fails.
        """
        return self._counted("writing all", self._agent.do(self._plan("fill", 0)))

    def check(self) -> LoadCounts:
        """Read all of the disks once, and compare it.

        Raises:
            BenchFault: The program fails.
        """
        return self._counted("reading all", self._agent.do(self._plan("check", 0)))

    def load(self, load: StorageLoad, seconds: int) -> LoadCounts:
        """Load the disks for some seconds.

        Args:
            load: The load.
            seconds: The time in s.

        Raises:
            BenchFault: The program fails.
        """
        return self._counted(WORDS[load], self._agent.do(self._plan(_STEPS[load], seconds)))

    @contextmanager
    def going_on(self, load: StorageLoad) -> Iterator[Callable[[], LoadCounts]]:
        """Load the disks until the load is ended, or until the ``with`` block is; yields what ends it.

        Args:
            load: The load.

        Raises:
            BenchFault: The program does not begin in time, or fails.
        """
        with self._agent.going_on(self._plan(_STEPS[load], 0), "loads of disks") as end:
            yield lambda: self._counted(WORDS[load], end())

    def client_command(self, _: Route, order: Order) -> str:
        """One run."""
        assert isinstance(order, LoadOrder)
        return self._agent.command(self._plan(_STEPS[order.load], order.duration_s), order.duration_s)

    def read(self, text: str, order: Order) -> ToolResult:
        """Read what the program printed.

        Raises:
            ReadError: It cannot be read, or proves nothing.
        """
        assert isinstance(order, LoadOrder)
        found = self._counted(order.words, self._agent.said(text))
        count = found.reads + found.written
        if not count or not found.elapsed_s:
            raise WorthlessResult(f"worthless result: no operation ended; {found.example}; expected at least one")
        is_random = order.load is StorageLoad.RANDOM
        size = found.bytes_written if order.load is StorageLoad.WRITE else found.bytes_read
        return ToolResult(
            throughput_bps=None if is_random else size * 8 / found.elapsed_s,
            transactions_per_s=count / found.elapsed_s if is_random else None,
            elapsed_s=found.elapsed_s,
            received_bytes=size,
            loss=None,
            retransmits=None,
            cpu_local_pct=None,
            cpu_remote_pct=None,
            cpu_scale=CpuScale.ONE_CPU,
        )

    def _plan(self, load: str, seconds: int) -> dict[str, object]:
        disks = [f"/dev/{name}" for name in self._disks]
        sizes = {"volume_bytes": VOLUME_BYTES, "threads": THREADS}
        return {"disks": disks, "seed": self._seed, **sizes, "load": load, "seconds": seconds}

    def _counted(self, what: str, said: Mapping[str, Any]) -> LoadCounts:
        found = record_of(LoadCounts, said, "the counts of a load")
        for name in self.total:
            self.total[name] += getattr(found, name)
        if found.damaged or found.failed:
            self.damaged.append(
                f"{what}: {found.damaged} blocks with another content, {found.failed} operations failed, "
                f"such as {found.example}"
            )
        return found


@contextmanager
def until_all_fail(clients: Sequence[DiskClient]) -> Iterator[None]:
    """End the loads of a ``with`` block after one of which all operations fail: what failed is judged.

    Args:
        clients: Those that make the loads; more may come in the block.

    Raises:
        WorthlessResult: A result is worthless, and nothing was damaged or failed.
    """
    try:
        yield
    except WorthlessResult:
        if not any(client.damaged for client in clients):
            raise
