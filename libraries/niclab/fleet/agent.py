"""The client of the coordinator: a program for the Python of labgrid, which needs nothing of niclab.

``agent.py ADDRESS OWNER hold JSON`` reserves a place by its tags and holds it until standard input ends, so that it is
released also when the run was killed. It prints a line of JSON for each thing that happens: ``place``, the bench;
``lost``, why the bench is no longer the run's; ``refused``, why there is none. ``reap`` releases overdue places once;
``export JSON`` makes places and sets their tags.

The comment of a place is the lease of its holder, because the coordinator forgets holders when it is restarted. Whoever
acquires a place looks at the comment: a lease of another that has not ended is left alone. Whoever waits gives the
holders time to come back first (``quiet_s``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
from labgrid.remote.generated import labgrid_coordinator_pb2 as pb
from labgrid.remote.generated import labgrid_coordinator_pb2_grpc as pbg

OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.keepalive_time_ms", 7500)]
ALLOCATED, ENDED = 1, (3, 4)  # states of a reservation
RELEASE_TRIES = 20
HELD_S, POLL_S, AGAIN_S, CALL_S = 90.0, 5.0, 0.5, 20.0
"""Assumptions: a holder that was silent for so long has lost its place; a queue is asked so often; a holder without a
connection tries again so soon; a call may take so long."""
UNREACHABLE = (grpc.aio.AioRpcError, ConnectionError, TimeoutError)
MARK = "/niclab-"
"""Part of the owner name of every run."""


class PlaceLostError(Exception):
    """Somebody else has the place now."""


class NoPlaceError(Exception):
    """There is no place for the run."""


def lease_of(place: Any) -> tuple[str, float]:
    """Return the owner and the deadline in the comment of a place; an empty owner where there is none."""
    try:
        noted = json.loads(place.comment)
        return str(noted["owner"]), float(noted["until"])
    except (ValueError, KeyError, TypeError):
        return "", 0.0


def is_overdue(place: Any) -> bool:
    """Return True if the holder of a place let its deadline pass, or never noted one; a person need not note any."""
    owner, until = lease_of(place)
    if not place.acquired:
        return False
    if owner == place.acquired:
        return until < time.time()
    return MARK in place.acquired and place.changed + HELD_S < time.time()


class Known:
    """A moment in which the coordinator knows the owner by name, which only making a reservation and acquiring need.

    Its stream is its identity. The coordinator sends each change of each place to every open stream: with some hundred
    of them it does nothing else. Whoever waits or holds has none.
    """

    def __init__(self, address: str, owner: str) -> None:
        self._owner = owner
        self._channel = grpc.aio.insecure_channel(address, options=OPTIONS)
        self.stub = pbg.CoordinatorStub(self._channel)
        self._outgoing: asyncio.Queue[Any] = asyncio.Queue()

    async def __aenter__(self) -> Known:
        self._outgoing.put_nowait(pb.ClientInMessage(startup=pb.StartupDone(version="26.0.1", name=self._owner)))
        self._outgoing.put_nowait(pb.ClientInMessage(sync=pb.Sync(id=1)))
        self._stream = self.stub.ClientStream(self._out())
        try:
            await asyncio.wait_for(self._synchronized(), CALL_S)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stream.cancel()
        await self._channel.close()

    async def _out(self) -> AsyncIterator[Any]:
        while True:
            yield await self._outgoing.get()

    async def _synchronized(self) -> None:
        async for message in self._stream:
            if message.HasField("sync"):
                return
        raise ConnectionError("no coordinator")


class CoordinatorSession:
    """A connection to the coordinator."""

    def __init__(self, address: str, owner: str) -> None:
        self.owner, self._address = owner, address
        self._channel = grpc.aio.insecure_channel(address, options=OPTIONS)
        self.stub = pbg.CoordinatorStub(self._channel)

    async def __aenter__(self) -> CoordinatorSession:
        await asyncio.wait_for(self._channel.channel_ready(), CALL_S)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    async def broken(self) -> None:
        """Wait for the end of the connection."""
        while (state := self._channel.get_state()) is grpc.ChannelConnectivity.READY:
            await self._channel.wait_for_state_change(state)

    async def places(self) -> dict[str, Any]:
        """All places by name."""
        asked = await self.stub.GetPlaces(pb.GetPlacesRequest(), timeout=CALL_S)
        return {place.name: place for place in asked.places}

    async def note(self, place: str, until: float) -> None:
        """Note a deadline of this owner in the comment of a place."""
        text = json.dumps({"owner": self.owner, "until": until})
        await self.stub.SetPlaceComment(pb.SetPlaceCommentRequest(placename=place, comment=text), timeout=CALL_S)

    async def acquire(self, tags: dict[str, str], until: float) -> str:
        """Wait in the queue for a place with these tags; return its name.

        Raises:
            NoPlaceError: No place has these tags, or none was free in time.
        """
        if not any(
            tags.items() <= {**place.tags, "name": name}.items() for name, place in (await self.places()).items()
        ):
            raise NoPlaceError(f"no place has the tags {tags}; expected those of a bench, see labgrid-client places")
        while True:
            taken = list[str]()
            try:
                place = await self._reserve(tags, until, taken)
                owner, deadline = lease_of((await self.places())[place])
                if owner in ("", self.owner) or deadline < time.time():
                    await self.note(place, time.time() + HELD_S)
                    return place
            except BaseException:
                for each in taken:  # also when it was cancelled before the answer came
                    with contextlib.suppress(grpc.aio.AioRpcError):
                        await self._release(each)
                raise
            # the coordinator forgot its holder, who is about to come back
            await self._release(place)
            await asyncio.sleep(POLL_S)

    async def _reserve(self, tags: dict[str, str], until: float, taken: list[str]) -> str:
        wanted = {"main": pb.Reservation.Filter(filter=tags)}
        request = pb.CreateReservationRequest(prio=0.0, filters=wanted)
        async with Known(self._address, self.owner) as known:
            made = (await known.stub.CreateReservation(request, timeout=CALL_S)).reservation
        try:
            while True:
                poll = pb.PollReservationRequest(token=made.token)
                asked = (await self.stub.PollReservation(poll, timeout=CALL_S)).reservation
                if asked.state == ALLOCATED:
                    place = str(asked.allocations["main"])
                    taken.append(place)
                    await self._acquire(place)
                    return place
                if asked.state in ENDED:
                    raise ConnectionError(f"reservation {made.token}: has ended")
                if time.time() > until:
                    raise NoPlaceError(f"no place with the tags {tags} was free in time")
                await asyncio.sleep(POLL_S)
        finally:
            with contextlib.suppress(grpc.aio.AioRpcError):
                cancel = pb.CancelReservationRequest(token=made.token)
                await self.stub.CancelReservation(cancel, timeout=CALL_S)

    async def release(self, place: str) -> None:
        """End the lease and release the place, as far as they are still this owner's."""
        if lease_of((await self.places())[place])[0] == self.owner:
            await self.note(place, 0.0)
        await self._release(place)

    async def _acquire(self, place: str) -> None:
        async with Known(self._address, self.owner) as known:
            await known.stub.AcquirePlace(pb.AcquirePlaceRequest(placename=place), timeout=CALL_S)

    async def _release(self, place: str) -> None:
        await self.stub.ReleasePlace(pb.ReleasePlaceRequest(placename=place, fromuser=self.owner), timeout=CALL_S)

    async def keep(self, name: str, ended: asyncio.Event) -> None:
        """Keep a place until the end; one that was forgotten is acquired again.

        Raises:
            PlaceLostError: It has another owner, or was removed.
        """
        foreign_since = 0.0
        while not ended.is_set():
            place = (await self.places()).get(name)
            if place is None:
                raise PlaceLostError(f"{name}: was removed; expected it to be held by {self.owner}")
            wait_s = HELD_S / 3
            if place.acquired in ("", self.owner):
                foreign_since = 0.0
                if not place.acquired:
                    await self._acquire(name)
                await self.note(name, time.time() + HELD_S)
            elif lease_of(place)[0] == self.owner and time.time() - (foreign_since or time.time()) < CALL_S:
                foreign_since = foreign_since or time.time()
                wait_s = AGAIN_S  # a run that was given it looks at the lease right now, and releases it
            else:
                raise PlaceLostError(f"{name}: is held by {place.acquired}; expected {self.owner}")
            waits = [asyncio.create_task(each) for each in (ended.wait(), self.broken())]
            await asyncio.wait(waits, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
            for each in waits:
                each.cancel()


async def hold(address: str, owner: str, asked: dict[str, Any], ended: asyncio.Event, say: Callable[..., None]) -> None:
    """Reserve, acquire and hold a place, through restarts of the coordinator; then release it.

    Args:
        address: Address of the coordinator.
        owner: Who holds it: a name that no other run has.
        asked: ``tags`` of the place, ``queue_s`` to wait for it at most, ``quiet_s`` to wait after a connection.
        ended: Set to end it.
        say: Called with what happens.

    Raises:
        NoPlaceError: There is no place.
        PlaceLostError: Somebody else has it.
    """
    place, until, tries, failures = "", time.time() + asked["queue_s"], 0, 0
    while not ended.is_set() or (place and tries < RELEASE_TRIES):
        tries += ended.is_set()
        with contextlib.suppress(*UNREACHABLE):
            async with CoordinatorSession(address, owner) as session:
                if not place:
                    await asyncio.sleep(asked["quiet_s"])
                    place = await session.acquire(asked["tags"], until)
                    say(place=place)
                await session.keep(place, ended)
                await session.release(place)
                return
        if not place and time.time() > until:
            raise NoPlaceError(f"coordinator {address}: could not be reached in time")
        # whoever holds a place comes back first; the others spread, so that a slow coordinator keeps up with them
        spread_s = asked["quiet_s"] * random.uniform(1, 4) * 2 ** min(failures, 4)
        failures += 1
        await asyncio.sleep(AGAIN_S if place else AGAIN_S + spread_s)


async def hold_until_end_of_input(address: str, owner: str, asked: dict[str, Any]) -> None:
    """Hold a place until standard input ends."""
    ended, reader = asyncio.Event(), asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    held = False

    def say(**what: str) -> None:
        nonlocal held
        held = True
        print(json.dumps(what), flush=True)

    life = asyncio.create_task(hold(address, owner, asked, ended, say))
    end = asyncio.create_task(reader.read())
    await asyncio.wait((life, end), return_when=asyncio.FIRST_COMPLETED)
    ended.set()
    if not held:
        life.cancel()
    try:
        await life
    except asyncio.CancelledError:
        return
    except NoPlaceError as error:
        print(json.dumps({"refused": str(error)}), flush=True)
    except PlaceLostError as error:
        print(json.dumps({"lost": str(error)}), flush=True)


async def reap(address: str, owner: str) -> None:
    """Release the places whose holder is overdue."""
    async with CoordinatorSession(address, owner) as session:
        for name, place in (await session.places()).items():
            if is_overdue(place):
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
        run = hold_until_end_of_input if action == "hold" else export
        asyncio.run(run(address, owner, json.loads(asked)))


if __name__ == "__main__":
    main(*sys.argv[1:])
