"""What speaks to the coordinator: a program for the Python of labgrid, which needs nothing of niclab.

``agent.py ADDRESS OWNER hold JSON`` reserves a place by its tags, prints its name and holds it until standard input
ends, so that it is released also when the run was killed. ``reap`` releases overdue places once; ``export JSON`` makes
places and sets their tags.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
from labgrid.remote.generated import labgrid_coordinator_pb2 as pb
from labgrid.remote.generated import labgrid_coordinator_pb2_grpc as pbg

OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.keepalive_time_ms", 7500)]
ALLOCATED, ENDED = 1, (3, 4)  # states of a reservation
HELD_S, POLL_S = 90.0, 5.0
"""House rules: a holder that was silent for so long has lost its place; a queue is asked so often."""


class CoordinatorSession:
    """A connection to the coordinator; its stream is its identity."""

    def __init__(self, address: str, owner: str) -> None:
        self.owner = owner
        self._channel = grpc.aio.insecure_channel(address, options=OPTIONS)
        self.stub = pbg.CoordinatorStub(self._channel)
        self._outgoing: asyncio.Queue[Any] = asyncio.Queue()
        self._ready, self.lost = asyncio.Event(), asyncio.Event()

    async def __aenter__(self) -> CoordinatorSession:
        self._outgoing.put_nowait(pb.ClientInMessage(startup=pb.StartupDone(version="26.0.1", name=self.owner)))
        self._outgoing.put_nowait(pb.ClientInMessage(sync=pb.Sync(id=1)))
        self._pump = asyncio.create_task(self._listen())
        await asyncio.wait_for(self._ready.wait(), 10)
        if self.lost.is_set():
            raise ConnectionError("no coordinator")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._pump.cancel()
        await asyncio.gather(self._pump, return_exceptions=True)
        await self._channel.close()

    async def _listen(self) -> None:
        async def out() -> AsyncIterator[Any]:
            while True:
                yield await self._outgoing.get()

        try:
            async for message in self.stub.ClientStream(out()):
                if message.HasField("sync"):
                    self._ready.set()
        except grpc.aio.AioRpcError:
            pass  # `lost` says so
        finally:
            self.lost.set()
            self._ready.set()

    async def places(self) -> dict[str, Any]:
        """All places by name."""
        return {place.name: place for place in (await self.stub.GetPlaces(pb.GetPlacesRequest())).places}

    async def beat(self, place: str) -> None:
        """Note the deadline of this holder."""
        text = json.dumps({"owner": self.owner, "until": time.time() + HELD_S})
        await self.stub.SetPlaceComment(pb.SetPlaceCommentRequest(placename=place, comment=text))

    async def acquire(self, tags: dict[str, str]) -> str:
        """Wait in the queue for a place with these tags; return its name."""
        wanted = {"main": pb.Reservation.Filter(filter=tags)}
        made = await self.stub.CreateReservation(pb.CreateReservationRequest(prio=0.0, filters=wanted))
        token = made.reservation.token
        try:
            while True:
                asked = await self.stub.PollReservation(pb.PollReservationRequest(token=token))
                if asked.reservation.state == ALLOCATED:
                    place = str(asked.reservation.allocations["main"])
                    await self.stub.AcquirePlace(pb.AcquirePlaceRequest(placename=place))
                    await self.beat(place)
                    return place
                if asked.reservation.state in ENDED:
                    raise ConnectionError(f"reservation {token}: has ended")
                await asyncio.sleep(POLL_S)
        finally:
            with contextlib.suppress(grpc.aio.AioRpcError):
                await self.stub.CancelReservation(pb.CancelReservationRequest(token=token))

    async def release(self, place: str) -> None:
        """Release the place, if it is still this owner's."""
        await self.stub.ReleasePlace(pb.ReleasePlaceRequest(placename=place, fromuser=self.owner))

    async def hold(self, place: str, ended: asyncio.Event) -> None:
        """Keep the place until the end or the loss of the connection; a place that is free is acquired again."""
        while not ended.is_set() and not self.lost.is_set():
            owner = (await self.places())[place].acquired
            if owner not in ("", self.owner):
                raise PermissionError(f"{place}: is held by {owner}; expected: {self.owner}")
            if not owner:
                await self.stub.AcquirePlace(pb.AcquirePlaceRequest(placename=place))
            await self.beat(place)
            waits = [asyncio.create_task(each.wait()) for each in (ended, self.lost)]
            await asyncio.wait(waits, timeout=HELD_S / 3, return_when=asyncio.FIRST_COMPLETED)
            for each in waits:
                each.cancel()


async def hold(address: str, owner: str, tags: dict[str, str]) -> None:
    """Reserve, acquire, hold, release; through restarts of the coordinator."""
    ended, place = asyncio.Event(), ""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def whole_life() -> None:
        nonlocal place
        while not ended.is_set():
            with contextlib.suppress(grpc.aio.AioRpcError, ConnectionError, TimeoutError):
                async with CoordinatorSession(address, owner) as session:
                    if not place:
                        place = await session.acquire(tags)
                        print(json.dumps({"place": place}), flush=True)
                    await session.hold(place, ended)
            if not ended.is_set():
                await asyncio.sleep(0.5)

    life = asyncio.create_task(whole_life())
    end = asyncio.create_task(reader.read())
    await asyncio.wait((life, end), return_when=asyncio.FIRST_COMPLETED)
    ended.set()
    if not place:
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)
        return
    await life
    async with CoordinatorSession(address, owner) as session:
        await session.release(place)


async def reap(address: str, owner: str) -> None:
    """Release the places whose holder is overdue; a person notes no deadline and is left alone."""
    async with CoordinatorSession(address, owner) as session:
        for name, place in (await session.places()).items():
            try:
                noted = json.loads(place.comment)
                overdue = noted["owner"] == place.acquired and noted["until"] < time.time()
            except (ValueError, KeyError, TypeError):
                overdue = False
            if place.acquired and overdue:
                await session.stub.ReleasePlace(pb.ReleasePlaceRequest(placename=name, fromuser=place.acquired))
                print(json.dumps({"released": name, "owner": place.acquired}), flush=True)


async def export(address: str, owner: str, benches: dict[str, dict[str, str]]) -> None:
    """Make the places that are missing, and set the tags of all."""
    async with CoordinatorSession(address, owner) as session:
        known = await session.places()
        for name, tags in benches.items():
            if name not in known:
                await session.stub.AddPlace(pb.AddPlaceRequest(name=name))
            await session.stub.SetPlaceTags(pb.SetPlaceTagsRequest(placename=name, tags=tags))
            print(json.dumps({"place": name, "tags": tags}), flush=True)


def main(address: str, owner: str, action: str, asked: str = "{}") -> None:
    """Run one action."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the end of standard input says when to end, and nothing else
    if action == "reap":
        asyncio.run(reap(address, owner))
    else:
        run = hold if action == "hold" else export
        asyncio.run(run(address, owner, json.loads(asked)))


if __name__ == "__main__":
    main(*sys.argv[1:])
