"""The links between the servers' ports: carrier, speed, cables pulled and plugged, packets across."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import BenchPath, Port, Wiring
from niclab.card import Duplex, Unknown
from niclab.core.parallel import side_by_side
from niclab.core.undo import Entry
from niclab.core.verdict import BenchFault, NotApplicable, fail_with
from niclab.core.wait import pause
from niclab.hosts.host import Host
from niclab.hosts.records import CarrierChanges
from niclab.links import carrier, wiring
from niclab.run.run import current
from niclab.settings import mtu

T = TypeVar("T")

PING_COUNT = 10
_IPV4_AND_ICMP = 28  # bytes of headers (RFC 791 without options: 20, RFC 792 echo: 8)


@library(scope="GLOBAL")
class HostLinks(BenchLibrary):
    """Keywords about links, as the servers see them. Constructing the library connects to nothing."""

    def __init__(self) -> None:
        self._pulled: tuple[BenchPath, Entry, float] | None = None
        self._plugged: tuple[BenchPath, float] | None = None
        self._before: dict[Port, CarrierChanges] = {}

    @keyword
    def every_link_should_be_up(self) -> None:
        """Every port of both servers has carrier within the time the sheet allows a link to come up."""
        carrier.expect(self.run, self._ports(), up=True, since=time.monotonic(), say=logger.info)

    @keyword
    def every_link_should_run_as_on_the_sheet(self) -> None:
        """Every port of both servers runs at the sheet's speed, duplex and autonegotiation, those of them it knows."""
        card, problems = self.run.card, []
        facts = {name: getattr(card.link, name) for name in ("speed_mbps", "duplex", "autoneg")}
        wanted = {name: fact for name, fact in facts.items() if not isinstance(fact, Unknown)}
        if not wanted:
            raise NotApplicable(f"sheet {card.name} does not know link.speed_mbps, link.duplex, nor link.autoneg")
        if isinstance(wanted.get("duplex"), Duplex):
            wanted["duplex"] = wanted["duplex"].value
        for port, settings in self._of_every_port(lambda host, iface: host.link_settings(iface)):
            for field, wish in wanted.items():
                found = getattr(settings, field)
                if found != wish:
                    problems.append(f"{port.place} has {field} {found}, sheet {card.name} wants {wish}")
        fail_with(problems)

    @keyword
    def every_link_should_carry_traffic(self) -> None:
        """Ten pings over every path, from both ends, and every one is answered."""
        fail_with([problem for problem in side_by_side(self._ping_partner, self._ports()) if problem])

    @keyword
    def every_link_should_stay_up(self, seconds: float = 3) -> None:
        """Every port of both servers has carrier, and counts no change of it for ``seconds``."""
        self.every_link_should_be_up()
        before = self._carrier_changes()
        pause(seconds)
        fail_with(
            [
                f"{port.place} counted {after.changes - before[port].changes} changes of carrier in {seconds:g} s in "
                "which nobody touched it; wanted: none"
                for port, after in self._carrier_changes().items()
                if after.changes != before[port].changes
            ]
        )

    @keyword
    def frames_of_the_largest_mtu_should_arrive(self) -> None:
        """Pings that fill the sheet's largest MTU cross every path in one piece, from both ends, and are answered.

        Both ends of a path get that MTU, and then their own back; both go down and up each time (EMX-08).

        Raises:
            CardFailure: A port of the dut does not take the MTU, has no link in time, or frames are lost.
            BenchFault: A port of the peer does not take it, or a link does not return after the restore.
            Undecided: Nobody can tell whether the link returned in time.
            NotApplicable: The sheet does not know the largest MTU.
        """
        run = self.run
        fact = run.card.section(run.card.mtu, "mtu")
        largest = run.card.known(fact.max, "mtu.max")
        problems: list[str] = []
        for path in run.bench.paths:
            ends = [run.bench.port(end) for end in path.ends]
            with mtu.both_ends(run, path, largest, wait=False):
                carrier.expect(run, ends, up=True, since=time.monotonic(), say=logger.info)
                payload = largest - _IPV4_AND_ICMP
                problems += side_by_side(lambda port, size=payload: self._ping_partner(port, size), ends)
        fail_with([problem for problem in problems if problem])

    @staticmethod
    def _ping_partner(port: Port, size: int | None = None) -> str:
        """What is wrong with the pings from ``port`` to the other end of its path, or nothing.

        :param size: bytes of payload, sent in one piece.
        """
        run = current()
        partner = run.bench.partner(port)
        result = run.server_of(port).host.ping(
            str(run.bench.address(partner).ip),
            source=str(run.bench.address(port).ip),
            count=PING_COUNT,
            size=size,
            dont_fragment=size is not None,
        )
        if result.received == result.sent and not result.duplicates:
            return ""
        kind = "pings" if size is None else f"pings of {size + _IPV4_AND_ICMP} bytes"
        return (
            f"{port.place} to {partner.name}: {result.received} of {result.sent} {kind} answered"
            f", {result.duplicates} twice; wanted: each once. {' '.join(result.errors)}".rstrip(" .")
        )

    @keyword
    def pull_a_cable(self) -> None:
        """Pull the first cable of a direct path that a command can pull; `Plug The Cable` or the journal plugs it.

        Skips the test where no direct path of the bench can be pulled.
        """
        run = self.run
        direct = (path for path in run.bench.paths if path.through is Wiring.DIRECT)
        path = next((path for path in direct if path.pull), None)
        if path is None:
            raise NotApplicable(f"bench {run.bench.name} has no command to pull a cable")
        self._before = self._carrier_changes()
        entry = wiring.break_path(run, path)
        self._pulled = (path, entry, time.monotonic())
        logger.info(f"cable of path {path.name} pulled: {' and '.join(path.ends)}")

    @keyword
    def plug_the_cable(self) -> None:
        """Plug the cable that `Pull A Cable` pulled. Does nothing when it is plugged."""
        if self._pulled is not None:
            path, entry, _ = self._pulled
            wiring.mend_path(self.run, entry)
            self._pulled = None
            self._plugged = (path, time.monotonic())

    @keyword
    def both_ends_should_lose_carrier_in_time(self) -> None:
        """Both ends of the pulled cable report that carrier is gone within the sheet's ``carrier_loss_within_ms``."""
        if self._pulled is None:
            raise BenchFault("no cable is pulled: 'Pull A Cable' comes first")
        run, (path, _, since) = self.run, self._pulled
        carrier.expect(run, [run.bench.port(end) for end in path.ends], up=False, since=since, say=logger.info)

    @keyword
    def both_ends_should_get_carrier_back_in_time(self) -> None:
        """Both ends of the cable report carrier within the sheet's ``carrier_return_within_ms`` of plugging."""
        if self._plugged is None:
            raise BenchFault("no cable was plugged: 'Pull A Cable' and 'Plug The Cable' come first")
        run, (path, since) = self.run, self._plugged
        carrier.expect(run, [run.bench.port(end) for end in path.ends], up=True, since=since, say=logger.info)

    @keyword
    def other_links_should_have_kept_their_carrier(self) -> None:
        """No port of another path has counted a change of carrier since the cable was pulled."""
        if self._pulled is None:
            raise BenchFault("no cable is pulled: 'Pull A Cable' comes first")
        path, problems = self._pulled[0], []
        for port, after in self._carrier_changes().items():
            before = self._before[port]
            if port.name not in path.ends and before.changes != after.changes:
                problems.append(
                    f"{port.place} counted {after.changes - before.changes} changes of carrier while the cable of "
                    f"path {path.name} was pulled; wanted: none"
                )
        fail_with(problems)

    @staticmethod
    def _ports() -> list[Port]:
        bench = current().bench
        return [bench.port(end) for path in bench.paths for end in path.ends]

    def _carrier_changes(self) -> dict[Port, CarrierChanges]:
        return dict(self._of_every_port(lambda host, iface: host.carrier_changes(iface)))

    def _of_every_port(self, question: Callable[[Host, str], T]) -> list[tuple[Port, T]]:
        """``question`` about host and interface name of every port of every path."""
        run, ports = self.run, self._ports()
        answers = side_by_side(lambda port: question(run.server_of(port).host, run.interface(port)), ports)
        return list(zip(ports, answers, strict=True))
