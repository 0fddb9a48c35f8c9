"""One run of reads over NFS: what is asked of the program, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from niclab.frames.server_agent import STEP_WITHIN_S, StepAgent, record_of
from niclab.run.server import Server
from niclab.storage.nfs import nfs_calls, nfs_program, onc_rpc
from niclab.storage.nfs.nfs_server import FILE, FILE_BYTES, FOLDER, NfsExport
from niclab.traffic import WorthlessResult
from niclab.traffic.tools.tool import CpuScale, Order, Route, ToolResult, TrafficTest

READ_BYTES = 32 << 10
"""The size of a read in the document of NFS-02; also the largest that Linux serves over UDP (RPCSVC_MAXPAYLOAD_UDP)."""
UNDER_WAY = 4
"""Reads that are under way at a time: four clients, as in the document."""
Count = Annotated[int, Field(ge=0)]


class NfsTransport(StrEnum):
    """The protocol below NFS."""

    UDP = "udp"
    TCP = "tcp"


class _Tool(Enum):
    NFS = "NFS client"


@dataclass(frozen=True)
class ReadOrder(Order):
    """The task of one run. ``transport``: the protocol below NFS."""

    transport: NfsTransport = NfsTransport.UDP

    @property
    def words(self) -> str:
        """The task in words."""
        return f"reads of {READ_BYTES >> 10} KiB over {self.transport.name}"

    @property
    def parameters(self) -> dict[str, str]:
        """All that tells this order from others, by name, for the key of a measurement."""
        own = {"transport": self.transport.value, "read_bytes": str(READ_BYTES), "under_way": str(UNDER_WAY)}
        return {**super().parameters, **own}


def read_order(transport: NfsTransport, seconds: int) -> ReadOrder:
    """Return the order to read for a while.

    Args:
        transport: The protocol below NFS.
        seconds: Time in s.
    """
    test = TrafficTest.UDP_STREAM if transport is NfsTransport.UDP else TrafficTest.TCP_STREAM
    return ReadOrder(test=test, duration_s=seconds, transport=transport)


class NfsReads(BaseModel):
    """The reads of one run.

    ``reads``: answered in ``elapsed_s``, which begins with an answer and ends with one; ``all_reads``: with those
    before and after. ``resent``: calls that were sent again; ``unanswered``: given up; ``strange``: answers to no call
    that waits, such as the second one to the same call. ``damaged``: answers with another content, and an ``example``.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    reads: Count
    elapsed_s: Annotated[float, Field(ge=0)]
    all_reads: Count
    resent: Count
    unanswered: Count
    strange: Count
    damaged: Count
    example: str


def understood(said: Mapping[str, Any]) -> NfsReads:
    """Read what the program says of a run.

    Args:
        said: Its words.

    Raises:
        ReadError: It is something else.
        WorthlessResult: Nothing was read.
    """
    found = record_of(NfsReads, said, "the counts of a run")
    if not found.reads or not found.elapsed_s:
        raise WorthlessResult(
            f"worthless result: {found.reads} reads answered in {found.elapsed_s:.1f} s, {found.unanswered} without "
            "an answer; expected at least one"
        )
    return found


class ReadsOn(BaseModel):
    """The reads until they were ended.

    ``reads``: answered; ``failed``: calls that the connection or the server failed, or that were not answered at the
    end; ``damaged``: answers with another content, and an ``example``; ``silent_s``: the longest time in which none
    came.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    reads: Count
    failed: Count
    damaged: Count
    silent_s: Annotated[float, Field(ge=0)]
    example: str


class NfsAgent(StepAgent):
    """The NFS client program on a server.

    Args:
        server: The server.
    """

    def __init__(self, server: Server) -> None:
        super().__init__(server, "NFS client program", nfs_program, onc_rpc, nfs_calls)


class NfsClient:
    """Makes runs of reads, as a tool of traffic. The server that receives runs it.

    Args:
        agent: The program.
        export: What it reads.
        damaged: Takes what of a run was damaged, in words.
    """

    name = _Tool.NFS
    omitted_s = 0

    def __init__(self, agent: NfsAgent, export: NfsExport, damaged: Callable[[str], object]) -> None:
        self._agent, self._export, self._damaged = agent, export, damaged

    def client_command(self, _: Route, order: Order) -> str:
        """One run."""
        assert isinstance(order, ReadOrder)
        return self._agent.command(self._plan(order), order.duration_s)

    def alone_mbps(self, order: ReadOrder) -> float:
        """Read as in one run, but apart from it, and return the rate in Mbit/s.

        Args:
            order: The task.

        Raises:
            ReadError: The program says something else.
            BenchFault: The server refused a call, or did not answer.
        """
        found = understood(self._agent.do(self._plan(order)))
        return found.reads * READ_BYTES * 8e-6 / found.elapsed_s

    @contextmanager
    def going_on(self, transport: NfsTransport) -> Iterator[Callable[[], ReadsOn]]:
        """Read until the reads are ended, or until the ``with`` block is; yields what ends them.

        Args:
            transport: The protocol below NFS.

        Raises:
            BenchFault: The program does not begin in time, or the server refuses it.
        """
        plan = self._plan(read_order(transport, STEP_WITHIN_S))
        with self._agent.going_on(plan, "reads over NFS") as end:
            yield lambda: record_of(ReadsOn, end(), "the counts of reads")

    def _plan(self, order: ReadOrder) -> dict[str, object]:
        return {
            "here": self._export.here,
            "there": self._export.there,
            "transport": order.transport.value,
            "folder": FOLDER,
            "file": FILE,
            "seed": self._export.seed,
            "file_bytes": FILE_BYTES,
            "read_bytes": READ_BYTES,
            "under_way": UNDER_WAY,
            "seconds": order.duration_s,
        }

    def read(self, text: str, _: Order) -> ToolResult:
        """Read what the program printed.

        Raises:
            ReadError: It cannot be read, or proves nothing.
            BenchFault: The server refused a call, or did not answer.
        """
        found = understood(self._agent.said(text))
        if found.damaged:
            self._damaged(f"{found.damaged} of {found.all_reads} reads with another content, such as {found.example}")
        return ToolResult(
            throughput_bps=found.reads * READ_BYTES * 8 / found.elapsed_s,
            transactions_per_s=None,
            elapsed_s=found.elapsed_s,
            received_bytes=found.all_reads * READ_BYTES,
            loss=None,
            retransmits=found.resent,
            cpu_local_pct=None,
            cpu_remote_pct=None,
            cpu_scale=CpuScale.ONE_CPU,
        )
