"""A congested SAN of two paths through the switch: two ports of the peer send to one port of the dut.

The dut's port of the first path is put into one VLAN of the switch with both ports of the peer, and gets the address of
the dut's second port as well. So each subnet keeps its two addresses, the kernels find their way by the routes that
they have, and the switch's port to the dut is all that both sources share.

All of it is in the journal before: VLANs, the address, and what the peer has learned of that.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from niclab.bench.records import BenchPath, Port, Role, Wiring
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import NotInTime, until
from niclab.links import switch_ports
from niclab.run.run import Run
from niclab.run.temporary import put_back

REACHED_WITHIN_S = 40.0
"""Assumption: a switch's port that has come into another VLAN forwards within 30 s (802.1D-2004, 17.14: twice a forward
delay of 15 s), and answers are asked for meanwhile."""
_PINGS = 2


@dataclass(frozen=True)
class CongestedSan:
    """The paths of a congested SAN.

    ``first``: the path whose port of the dut takes all; ``second``: the path of the other source.
    """

    first: BenchPath
    second: BenchPath

    @classmethod
    def of(cls, run: Run) -> CongestedSan:
        """Return the SAN that the bench can make.

        Args:
            run: The current run, with its cables laid to the switch.

        Raises:
            NotApplicable: Fewer than two paths go through the switch.
        """
        switched = [path for path in run.bench.paths if path.through is Wiring.SWITCH]
        if len(switched) < 2:
            raise NotApplicable(
                f"bench {run.bench.name}: {len(switched)} paths go through a managed switch; expected two, so that two "
                "ports of the target send to one port of the dut"
            )
        return cls(*switched[:2])

    def sources(self, run: Run) -> tuple[Port, Port]:
        """Return the ports of the peer.

        Args:
            run: The current run.
        """
        return run.bench.end(self.first, Role.PEER), run.bench.end(self.second, Role.PEER)

    def named(self, run: Run) -> str:
        """Return the ports by name: those of the peer, and the dut's.

        Args:
            run: The current run.
        """
        first, second = self.sources(run)
        return f"{first.name} and {second.name} to {run.bench.end(self.first, Role.DUT).name}"

    @contextmanager
    def laid(self, run: Run, vlan: int) -> Iterator[None]:
        """Make it inside the ``with`` block.

        Args:
            run: The current run.
            vlan: VLAN id of the switch, for its three ports.

        Raises:
            NotApplicable: The VLANs of the switch cannot be set.
            BenchFault: The switch or a server does not do it, or the dut's port does not reach both sources.
        """
        with ExitStack() as undoing:
            undoing.callback(switch_ports.restore_vlans, run)
            for port in (run.bench.end(self.first, Role.DUT), *self.sources(run)):
                switch_ports.set_vlans(run, port, switch_ports.access(vlan))
            undoing.enter_context(self._moved(run))
            self.require_reached(run)
            yield

    @contextmanager
    def _moved(self, run: Run) -> Iterator[None]:
        """The address of the dut's second port is at its first one."""
        dut, peer, source = run.server(Role.DUT), run.server(Role.PEER), self.sources(run)[1]
        to, of = run.bench.end(self.first, Role.DUT), run.bench.end(self.second, Role.DUT)
        address, was = str(run.bench.address(of)), run.shown([of])[of]
        iface, before = run.interface(to), run.interface(of)
        forget = f"ip neigh flush dev {shlex.quote(run.interface(source))}"
        with ExitStack() as undoing:
            undoing.enter_context(put_back(run, peer, source.name, f"{address} moves to {to.name}", forget))
            restore = dut.host.undo.port(before, bool(was.admin_up), was.ipv4)
            undoing.enter_context(put_back(run, dut, of.name, f"{before} loses {address}", restore, before))
            remove = dut.host.undo.address(iface, address)
            undoing.enter_context(put_back(run, dut, to.name, f"{iface} gets {address} as well", remove, iface))
            dut.host.links.remove_address(before, address)
            dut.host.links.add_address(iface, address)
            peer.run(forget)
            yield

    def require_reached(self, run: Run) -> None:
        """Wait until the dut's port has answers of both sources.

        Args:
            run: The current run, inside of :meth:`laid`.

        Raises:
            BenchFault: It has none of one within :data:`REACHED_WITHIN_S`.
        """
        links = run.server(Role.DUT).host.links
        for path in (self.first, self.second):
            here, there = (run.bench.address_on(path, role) for role in (Role.DUT, Role.PEER))

            def answered(here: str = here, there: str = there) -> bool:
                return links.ping(there, source=here, count=_PINGS).received == _PINGS

            try:
                until(answered, within=REACHED_WITHIN_S, what="answers", every=1.0, error=NotInTime)
            except NotInTime as error:
                raise BenchFault(
                    f"{run.bench.end(self.first, Role.DUT).name}: no answer of {there} to {here} in one VLAN of the "
                    f"switch within {REACHED_WITHIN_S:g} s; expected {_PINGS} of {_PINGS} pings answered"
                ) from error
