"""The ports of a switch by name: state, counters, shut and open."""

from __future__ import annotations

from typing import TypeVar

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.switch.model import Settable, SpeedUnit, SwitchModel
from niclab.switch.switch_records import COUNTERS, OF_32_BITS, Admin, Oper, PortCounters, PortState
from niclab.switch.texts import text
from niclab.transports import ConnectionLost
from niclab.transports.snmp.snmp_agent import NoSuchVariable, SnmpAgent, SnmpRefused
from niclab.transports.snmp.snmp_records import Instance, Value, Variable

E = TypeVar("E", Admin, Oper)

_COUNTER_OF = {
    "in_octets": "ifHCInOctets",
    "in_unicast": "ifHCInUcastPkts",
    "in_multicast": "ifHCInMulticastPkts",
    "in_broadcast": "ifHCInBroadcastPkts",
    "out_octets": "ifHCOutOctets",
    "out_unicast": "ifHCOutUcastPkts",
    "out_multicast": "ifHCOutMulticastPkts",
    "out_broadcast": "ifHCOutBroadcastPkts",
    "in_errors": "ifInErrors",
    "in_discards": "ifInDiscards",
    "out_errors": "ifOutErrors",
    "out_discards": "ifOutDiscards",
    "fcs_errors": "dot3StatsFCSErrors",
}
_MAY_BE_MISSING = ("fcs_errors",)
_BITS_PER_MEGABIT = 1_000_000


class Ports:
    """The interfaces of a switch.

    A port is found by its name each time it is used: indexes move when a switch restarts or gets another module.
    """

    def __init__(self, agent: SnmpAgent, model: SwitchModel) -> None:
        self._agent, self._model = agent, model
        self._names: dict[int, str] = {}

    def names(self) -> dict[int, str]:
        """IfIndex -> name of every port, read again.

        Raises:
            BenchFault: When there are none.
        """
        column = self._variable(self._model.port_names.value)
        self._names = {index[0]: text(value) for index, value in self._agent.walk(column).items()}
        if not self._names:
            raise BenchFault(
                f"{self._agent.name}: {column.name} ({column.oid}) has no rows; expected the names of ports"
            )
        return self._names

    def index(self, port: str) -> int:
        """IfIndex of the port of that name, as it is now.

        Raises:
            BenchFault: When there is none, or more than one; lists the names there are.
        """
        column = self._variable(self._model.port_names.value)
        for known in [index for index, name in self._names.items() if name == port]:
            found = self._agent.find([column.at(known)])[column.at(known)]
            if found is not None and text(found) == port:
                return known
        matching = [index for index, name in self.names().items() if name == port]
        if len(matching) != 1:
            listed = ", ".join(dict.fromkeys(name for name in self._names.values() if name))
            how = "no port" if not matching else f"{len(matching)} ports"
            raise BenchFault(f"{self._agent.name}: {how} named {port!r}; expected one; {column.name} has {listed}")
        return matching[0]

    def state(self, port: str) -> PortState:
        """Administrative and operational state, and speed."""
        index = self.index(port)
        names = ("ifAdminStatus", "ifOperStatus", "ifHighSpeed")
        asked = [self._variable(name).at(index) for name in names]
        found = self._agent.get_many(asked)
        admin, oper, speed = (found[one] for one in asked)
        unit = _BITS_PER_MEGABIT if self._model.speed_unit is SpeedUnit.BPS else 1
        mbps = _number(speed) / unit
        return PortState(
            self._enum(Admin, asked[0], admin, port), self._enum(Oper, asked[1], oper, port), mbps if mbps else None
        )

    def set_admin(self, port: str, admin: Admin) -> None:
        """Shut or open a port, and see that it is set so.

        Raises:
            NotApplicable: When ports of this model cannot be set.
            BenchFault: When it is refused, or accepted and not done.
        """
        self._model.require_settable(Settable.PORTS, self._agent.name)
        status = self._variable("ifAdminStatus").at(self.index(port))
        try:
            self._agent.set_and_see((status, admin.value), within_s=self._model.set_seen_within_s)
        except SnmpRefused as error:
            raise SnmpRefused(f"port {port} cannot be set {admin.name}: {error}", error.status) from error
        except ConnectionLost as error:
            raise ConnectionLost(f"port {port} cannot be set {admin.name}: {error}") from error
        except BenchFault as error:
            raise BenchFault(f"port {port} cannot be set {admin.name}: {error}") from error

    def wait_oper(self, port: str, oper: Oper, *, within_s: float) -> None:
        """Wait until the port is in that operational state.

        Raises:
            BenchFault: When it is not in time; tells the state it is in.
        """
        what = f"{self._agent.name}: port {port} {oper.name}"
        status = self._variable("ifOperStatus").at(self.index(port))
        last: Oper | None = None

        def there() -> bool:
            nonlocal last
            last = self._enum(Oper, status, self._agent.get(status), port)
            return last is oper

        try:
            until(there, within=within_s, what=what, every=0.02, error=TimeoutError)
        except TimeoutError:
            state = last.name if last else "unknown"
            raise BenchFault(f"{what}: not within {within_s:g} s; its ifOperStatus is {state}") from None

    def down_for_s(self, port: str) -> float | None:
        """Seconds since the port's link went down, as the switch says (``ifLastChange``).

        Returns:
            0 where it has a link; None where the switch does not say since when it has none.
        """
        index = self.index(port)
        status, changed = self._variable("ifOperStatus").at(index), self._variable("ifLastChange").at(index)
        uptime = self._variable("sysUpTime").at(0)
        found = self._agent.find([status, changed, uptime])
        state, then, now = found[status], found[changed], found[uptime]
        if state is not None and self._enum(Oper, status, state, port) is Oper.UP:
            return 0.0
        return None if then is None or now is None else (_number(now) - _number(then)) / 100

    def counters(self, port: str) -> PortCounters:
        """All counters of a port, with the switch's time.

        Raises:
            NoSuchVariable: When the switch has one of them not, FCS errors and time of discontinuity apart.
        """
        index = self.index(port)
        uptime = self._variable("sysUpTime").at(0)
        jumped = self._variable("ifCounterDiscontinuityTime").at(index)
        of_port = {name: self._variable(_COUNTER_OF[name]).at(index) for name in COUNTERS}
        found = self._agent.find([uptime, jumped, *of_port.values()])
        needed = [uptime, *(of_port[name] for name in COUNTERS if name not in _MAY_BE_MISSING)]
        if missing := [one for one in needed if found[one] is None]:
            listed = ", ".join(map(str, missing))
            raise NoSuchVariable(f"{self._agent.name}: port {port} has no counters {listed}; expected all of IF-MIB")
        values = {name: _number_or_none(found[instance]) for name, instance in of_port.items()}
        return PortCounters(
            uptime_ticks=found[uptime],  # type: ignore[arg-type]  # what is needed is there
            discontinuity_ticks=_number_or_none(found[jumped]),
            **values,  # type: ignore[arg-type]
        )

    def _variable(self, name: str) -> Variable:
        return self._model.variable(name)

    def _enum(self, kind: type[E], instance: Instance, value: Value, port: str) -> E:
        try:
            return kind(value)
        except ValueError as error:
            wanted = ", ".join(f"{each.value} ({each.name})" for each in kind)
            raise BenchFault(
                f"{self._agent.name}: port {port}: {instance} is {value!r}; expected one of {wanted}"
            ) from error


def difference(before: PortCounters, after: PortCounters, subject: str) -> dict[str, int]:
    """Return what each counter has counted from ``before`` to ``after``; a counter that wrapped is seen through.

    A counter the switch does not have is left out.

    Raises:
        BenchFault: When the counters jumped in between (restart, clearing) or ran backwards; names ``subject``.
    """
    if after.discontinuity_ticks != before.discontinuity_ticks:
        raise BenchFault(
            f"{subject}: the counters jumped (ifCounterDiscontinuityTime {before.discontinuity_ticks} before, "
            f"{after.discontinuity_ticks} now); expected counters that only count"
        )
    if after.uptime_ticks < before.uptime_ticks:
        raise BenchFault(
            f"{subject}: the switch restarted (sysUpTime {before.uptime_ticks / 100:g} s before, "
            f"{after.uptime_ticks / 100:g} s now); expected counters of one run"
        )
    counted: dict[str, int] = {}
    for name in COUNTERS:
        first, last = getattr(before, name), getattr(after, name)
        if first is None or last is None:
            continue
        bits = 32 if name in OF_32_BITS else 64
        counted[name] = (last - first) % (1 << bits)
        if counted[name] >= 1 << (bits - 1):
            raise BenchFault(f"{subject}: {name} ran backwards, from {first} to {last}; expected a counter")
    return counted


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _number_or_none(value: Value | None) -> int | None:
    return None if value is None else _number(value)
