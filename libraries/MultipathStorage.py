"""Disks over two paths, one of which is lost and returns."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.links.failure import Cause
from niclab.storage.multipath.multipath_disks import MultipathDisks
from niclab.storage.multipath.multipath_failover import MultipathFailover
from niclab.traffic.outage.failover import Failover


@library(scope="GLOBAL")
class MultipathStorage(BenchLibrary):
    """Keywords about disks that the dut has over two sessions, one through each of two ports, under dm-multipath.

    The first path of the bench file is preferred. Operations may wait for its loss for as long as open-iscsi takes to
    find it and to fail them, which is no time of the card; it is charged where a path with a link carries nothing.

    | `Lose The Preferred Path Of The Disks` | by=cable-or-link |
    | `Multipath Disks Should Survive The Loss Of A Path` | by=cable-or-link |
    | `Multipath Disks Should Use A Path That Returns` | by=cable-or-link |
    """

    @keyword
    def connect_disks_over_two_paths(self) -> None:
        """Make volumes of the peer, a target and a session over each of the first two paths, and maps over both.

        `Disconnect The Disks` undoes it.

        Raises:
            NotApplicable: The sheet asks for no load, a server does not run Linux, or the bench has one path.
            BenchFault: The dut has no open-iscsi or multipathd, a multipathd runs, or something cannot be made.
        """
        self.run.part(MultipathDisks).connect()

    @keyword
    def disconnect_the_disks(self) -> None:
        """Restore the path and remove maps, sessions, targets and volumes, if there are some.

        Raises:
            BenchFault: Something cannot be undone.
        """
        self.run.part(MultipathDisks).disconnect()

    @keyword
    def restore_the_preferred_path_of_the_disks(self) -> None:
        """Restore the preferred path, if it is lost, without waiting for it.

        Raises:
            BenchFault: It cannot be restored.
        """
        self.run.part(MultipathDisks).restore()

    @keyword
    def both_paths_of_the_disks_should_be_ready(self) -> None:
        """Restore the preferred path, and see that all maps use it and have both paths.

        Raises:
            CardFailure: They do not in time, and a path carries no pings.
            Undecided: They do not in time, though both paths carry pings, or a server stood still.
            BenchFault: Peer or switch keep the link of a path down that carries no pings.
        """
        self._failover(Cause.CABLE).require_ready()

    @keyword
    def lose_the_preferred_path_of_the_disks(self, by: Cause = Cause.CABLE) -> None:
        """Lose the preferred path, and see that all maps use the other one.

        Args:
            by: The way in which the link fails.

        Raises:
            CardFailure: They do not in time, and the other path carries no pings.
            Undecided: They do not in time, though it does, or a server stood still.
            NotApplicable: The bench cannot let the link fail in this way.
            BenchFault: Both ends show another cause of it, or peer or switch keep the other link down.
        """
        self._failover(by).require_lost()

    @keyword
    def multipath_disks_should_survive_the_loss_of_a_path(self, by: Cause = Cause.CABLE) -> None:
        """Read and write disks at random places while the preferred path is lost, and read all of them afterwards.

        No operation may fail, none may wait for longer than the limit, and every block that is read is compared.

        Args:
            by: The way in which the link fails.

        Raises:
            CardFailure: Operations failed, waited for too long or are not done over the other path, which has a link
                and carries no pings.
            Undecided: The same though it does, a server stall may hide it three times, or blocks came back changed.
            NotApplicable: The bench cannot let the link fail in this way.
            BenchFault: Both ends show another cause of it, peer or switch keep the other link down, or a program fails.
        """
        self._failover(by).lost()

    @keyword
    def multipath_disks_should_use_a_path_that_returns(self, by: Cause = Cause.CABLE) -> None:
        """Read and write disks at random places while the lost path returns, and read all of them over it.

        No operation may fail, none may wait for longer than the limit, and every block that is read is compared.

        Args:
            by: The way in which the link fails, where it has to fail again for another measurement.

        Raises:
            CardFailure: The link is not back within the sheet's time, or it is and carries no pings.
            Undecided: The path is not used again though it carries pings, operations waited or failed, a server stall
                may hide that in each of three measurements, or blocks came back changed.
            NotApplicable: The sheet does not know how long a link may take to return.
            BenchFault: The path cannot be restored, peer or switch keep the link down, or a program fails.
        """
        self._failover(by).back()

    def _failover(self, by: Cause) -> MultipathFailover:
        return MultipathFailover(self.run, Failover(self.run, by, logger.info, logger.warn))
