"""The links between the servers' ports: carrier, speed, cables pulled and plugged, packets across."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import Port, Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, CardFailure, fail_with
from niclab.links import carrier, checks
from niclab.links.cable import Cable
from niclab.links.ping import HEADER_BYTES
from niclab.run.run import current
from niclab.run.temporary import put_back


@library(scope="GLOBAL")
class HostLinks(BenchLibrary):
    """Keywords about links, as the servers see them."""

    @keyword
    def every_link_should_be_up(self) -> None:
        """See that every port of both servers gets carrier within the sheet's ``carrier_return_within_ms``.

        Raises:
            CardFailure: A port has no carrier.
            Undecided: The answer came too late to decide.
            NotApplicable: The sheet does not know the limit.
        """
        checks.require_up(self.run, logger.info)

    @keyword
    def every_link_should_run_as_on_the_sheet(self) -> None:
        """See that every port runs at the sheet's speed, duplex and autonegotiation, those of them that it knows.

        Raises:
            CardFailure: A port runs otherwise.
            NotApplicable: The sheet knows none of the three.
        """
        checks.require_sheet_settings(self.run)

    @keyword
    def every_link_should_carry_traffic(self) -> None:
        """Send ten pings over every path from both ends, and see every one answered once.

        Raises:
            CardFailure: A ping was not answered, or twice.
        """
        checks.require_traffic(self.run)

    @keyword
    def every_link_should_stay_up(self, seconds: float = 3) -> None:
        """See that every port of both servers has carrier, and counts no change of it for a time.

        Args:
            seconds: The time in s.

        Raises:
            CardFailure: A port has no carrier, or counted a change.
        """
        checks.require_stable(self.run, seconds, logger.info)

    @keyword
    def frames_of_the_largest_mtu_should_arrive(self) -> None:
        """Pings that fill the sheet's largest MTU cross every path in one piece, from both ends, and are answered.

        Both ends of a path are given that MTU, and get back their own.
        """
        run = self.run
        mtu = run.card.section(run.card.mtu, "mtu")
        largest = run.card.known(mtu.max, "mtu.max")
        problems: list[str] = []
        for path in run.bench.paths:
            ends = [run.bench.port(end) for end in path.ends]
            with ExitStack() as changes:
                for port in ends:
                    changes.enter_context(self._mtu(port, largest))
                carrier.expect(run, ends, up=True, since=time.monotonic(), say=logger.info)
                payload = largest - HEADER_BYTES
                problems += side_by_side(lambda port, size=payload: self._ping_partner(port, size), ends)
        fail_with([problem for problem in problems if problem])

    @staticmethod
    @contextmanager
    def _mtu(port: Port, wish: int) -> Iterator[None]:
        """The port has this MTU in the body.

        :raises CardFailure: when a port of the dut does not take it.
        :raises BenchFault: when the other end does not.
        """
        run = current()
        server, iface = run.server_of(port), run.interface(port)
        restoring = server.host.restoring_mtu(iface)
        with put_back(run, server, port.name, f"{iface}: the MTU is set to {wish}", restoring):
            attempt = server.host.set_mtu(iface, wish)
            if attempt.now != wish:
                why = f" ({attempt.refused})" if attempt.refused else ""
                problem = f"{port.place}: MTU is {attempt.now} when set to {wish}{why}, sheet {run.card.name} wants it"
                raise CardFailure(problem) if port.role is Role.DUT else BenchFault(problem)
            yield

    @staticmethod
    def _ping_partner(port: Port, size: int | None = None) -> str:
        return "".join(checks.ping(current(), port, size))

    @keyword
    def pull_a_cable(self) -> None:
        """Pull the first cable of a direct path that a command can pull; `Plug The Cable` or the journal plugs it.

        Raises:
            NotApplicable: No command of the bench pulls a cable of a direct path.
        """
        self.run.part(Cable).pull(logger.info)

    @keyword
    def plug_the_cable(self) -> None:
        """Plug the cable that `Pull A Cable` pulled. Does nothing when it is plugged."""
        self.run.part(Cable).plug()

    @keyword
    def both_ends_should_lose_carrier_in_time(self) -> None:
        """See that both ends of the pulled cable lose carrier within the sheet's ``carrier_loss_within_ms``.

        Raises:
            CardFailure: An end still has carrier.
            Undecided: The answer came too late to decide.
            BenchFault: No cable is pulled.
        """
        self.run.part(Cable).require_loss(logger.info)

    @keyword
    def both_ends_should_get_carrier_back_in_time(self) -> None:
        """See that both ends of the plugged cable have carrier within the sheet's ``carrier_return_within_ms``.

        Raises:
            CardFailure: An end has no carrier.
            Undecided: The answer came too late to decide.
            BenchFault: No cable was plugged.
        """
        self.run.part(Cable).require_return(logger.info)

    @keyword
    def other_links_should_have_kept_their_carrier(self) -> None:
        """See that no port of another path has counted a change of carrier since the cable was pulled.

        Raises:
            CardFailure: A port has.
            BenchFault: No cable is pulled.
        """
        self.run.part(Cable).require_others_unaffected()
