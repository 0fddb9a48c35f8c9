"""Rings, coalescing, pause frames, queues and MTU: as delivered, over the whole range the sheet gives, and put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import OperatingSystem, Port, Role
from niclab.card import Card, CoalescingParameter, Ring, Rings, Unknown
from niclab.core.verdict import NotApplicable, fail_with
from niclab.core.wait import Deadline, pause
from niclab.hosts.host import Host
from niclab.hosts.settings_records import Attempt
from niclab.run.run import current
from niclab.run.temporary import put_back
from niclab.settings import mtu

_OF_THE_DRIVER = ("rings", "coalescing", "channels")
"""Sections of a sheet whose numbers are those of a driver: another system's has others for the same card."""
EVERY = "every"
"""Stands for all rings, or all parameters, of the sheet."""
SETTLES_WITHIN_S = 3.0
"""be2net takes a new coalescing value over once a second (be_worker), and shows the one that is in force."""


@dataclass(frozen=True)
class Dut:
    """A port of the dut that settings are read from and tried on."""

    port: Port
    host: Host
    iface: str

    def changing(self, what: str, restoring: str) -> Any:
        run = current()
        return put_back(run, run.server_of(self.port), self.port.name, f"{self.iface}: {what}", restoring)


@library(scope="GLOBAL")
class Tuning(BenchLibrary):
    """Keywords about settings of the dut's ports. Constructing the library connects to nothing.

    Those that change something put it back, and fail when it does not come back.
    """

    # --- as delivered

    @keyword
    def rings_should_be_as_delivered(self) -> None:
        """Sizes and maxima of every ring are those of the sheet."""
        rings, problems = _section("rings"), list[str]()
        _expect_facts("rings", [fact for ring in _rings(rings).values() for fact in (ring.default, ring.max)])
        for dut in _ports():
            shown = dut.host.rings(dut.iface)
            for name, ring in _rings(rings).items():
                problems += _compare(dut, f"ring {name}", getattr(shown.current, name), ring.default)
                problems += _compare(dut, f"largest ring {name}", getattr(shown.max, name), ring.max)
        fail_with(problems)

    @keyword
    def coalescing_should_be_as_delivered(self) -> None:
        """Adaptive coalescing and every parameter the sheet gives a value for are as on the sheet."""
        wish, problems = _section("coalescing"), list[str]()
        _expect_facts("coalescing", [wish.adaptive_rx, wish.adaptive_tx, *(row.default for row in wish.parameters)])
        for dut in _ports():
            shown = dut.host.coalescing(dut.iface)
            problems += _compare(dut, "adaptive receive coalescing", shown.adaptive_rx, wish.adaptive_rx)
            problems += _compare(dut, "adaptive send coalescing", shown.adaptive_tx, wish.adaptive_tx)
            for parameter in wish.parameters:
                problems += _compare(dut, parameter.name, shown.parameters.get(parameter.name), parameter.default)
        fail_with(problems)

    @keyword
    def pause_should_be_as_delivered(self) -> None:
        """Flow control of every port is as on the sheet: its negotiation, pause frames received and sent."""
        wish, problems = _section("pause"), list[str]()
        _expect_facts("pause", [wish.autoneg, wish.rx, wish.tx])
        for dut in _ports():
            shown = dut.host.pause(dut.iface)
            for name in ("autoneg", "rx", "tx"):
                problems += _compare(dut, f"pause {name}", getattr(shown, name), getattr(wish, name))
        fail_with(problems)

    @keyword
    def channels_should_be_as_delivered(self) -> None:
        """Number and maximum of the queues of every port are as on the sheet, where it knows them."""
        wish, problems = _section("channels"), list[str]()
        kinds = {kind: getattr(wish, kind) for kind in ("rx", "tx", "combined") if getattr(wish, kind) is not None}
        _expect_facts("channels", [fact for queues in kinds.values() for fact in (queues.max, queues.default)])
        for dut in _ports():
            shown = dut.host.channels(dut.iface)
            for kind, queues in kinds.items():
                problems += _compare(dut, f"{kind} queues", getattr(shown.current, kind), queues.default)
                problems += _compare(dut, f"most {kind} queues", getattr(shown.max, kind), queues.max)
        fail_with(problems)

    @keyword
    def mtu_should_be_as_delivered(self) -> None:
        """The MTU of every port is the one on the sheet."""
        wish = _section("mtu")
        default = _sheet().known(wish.default, "mtu.default")
        fail_with([text for dut in _ports() for text in _compare(dut, "MTU", dut.host.mtu(dut.iface), default)])

    @keyword
    def tunables_should_be_as_on_the_sheet(self) -> None:
        """Every tunable of the driver has the default that the sheet knows it really to have.

        Where the manual promises another one, that is logged: the sheet says which of the two is so (EMX-05).
        """
        server = self.run.server(Role.DUT)
        driver = _sheet().driver(server.description.os)
        facts = [fact for fact in driver.tunables if not isinstance(fact.actual_default, Unknown)]
        if not facts:
            raise NotApplicable(f"sheet {_sheet().name} knows no default of a tunable of {driver.module}")
        problems = []
        for fact in facts:
            found = server.host.module_parameter(driver.module, fact.name)
            logger.info(f"{server.name}: {fact.name} is {found}, documented {fact.documented_default}")
            if found != str(fact.actual_default):
                wanted = f"sheet {_sheet().name} wants {fact.actual_default}"
                problems.append(f"{server.name}: tunable {fact.name} of {driver.module} is {found}, {wanted}")
        fail_with(problems)

    # --- over their range

    @keyword
    def ring_should_take_its_range(self, ring: str) -> None:
        """A ring (``rx``, ``tx``, ``rx_mini``, ``rx_jumbo``, ``every``) takes its least and largest size and no more.

        Where the sheet says that rings cannot be set, every attempt must be refused or have no effect. The link is up
        before, and up again after the changes, within the sheet's time for a link to return.
        """
        rings, problems = _section("rings"), list[str]()
        for name, fact in _chosen(ring, _rings(rings), "ring").items():
            largest = _sheet().known(rings.largest(fact), f"rings.{name}.max")
            word = name.replace("_", "-")

            def current(now: Any, name: str = name) -> int | None:
                size: int | None = getattr(now.current, name)
                return size

            for dut in _ports():

                def setting(value: int, dut: Dut = dut, word: str = word) -> Attempt[Any]:
                    return dut.host.set_rings(dut.iface, {word: value})

                least = fact.min if isinstance(fact.min, int) else None
                problems += _link_not_back(dut, "the bench was made ready")
                trial = Trial(dut, f"ring {name}", setting, dut.host.rings, current, dut.host.restoring_rings)
                problems += trial.over(rings.settable, least, largest)
                problems += _link_not_back(dut, f"ring {name} was changed")
        fail_with(problems)

    @keyword
    def coalescing_parameter_should_be_settable(self, parameter: str) -> None:
        """A parameter of the sheet (or ``every``) takes another value where the sheet says that it can be set."""
        wish, problems = _section("coalescing"), list[str]()
        rows = _chosen(parameter, {row.name: row for row in wish.parameters}, "coalescing parameter")
        for name, row in rows.items():
            for dut in _ports():
                problems += _tried_parameter(dut, name, row, adaptive=wish.adaptive_rx is not None)
        fail_with(problems)

    @keyword
    def unsupported_coalescing_should_be_refused(self) -> None:
        """Parameters that the sheet does not list are refused, instead of taken without effect."""
        wish, problems = _section("coalescing"), list[str]()
        listed = {row.name for row in wish.parameters}
        others = [name for name in ("rx-frames", "tx-frames", "rx-usecs-irq", "sample-interval") if name not in listed]
        if not listed or not others:
            known = "no parameter" if not listed else "every parameter that is tried"
            raise NotApplicable(f"sheet {_sheet().name} lists {known} of coalescing")
        for dut in _ports():
            for name in others:
                if dut.host.set_coalescing(dut.iface, {name: 7}).refused is None:
                    problems.append(f"{dut.port.place} took {name}, sheet {_sheet().name} wants it refused")
        fail_with(problems)

    @keyword
    def pause_should_be_settable(self) -> None:
        """Pause frames are switched off and on in each direction; where the sheet says no, nothing may change."""
        wish, problems = _section("pause"), list[str]()
        for dut in _ports():
            before = dut.host.pause(dut.iface)
            with dut.changing("pause frames are switched", dut.host.restoring_pause(dut.iface)):
                for name in ("rx", "tx"):
                    for on in (False, True):
                        attempt = dut.host.set_pause(dut.iface, {"autoneg": False, name: on})
                        found = getattr(attempt.now, name)
                        if wish.settable and found is not on:
                            why = f" ({attempt.refused})" if attempt.refused else ""
                            problems.append(_wanted(dut, f"pause {name}", f"{found}{why}", on))
                        if not wish.settable and found != getattr(before, name):
                            problems.append(_wanted(dut, f"pause {name}", f"changed to {found}", "it fixed"))
            after = dut.host.pause(dut.iface)
            if (after.autoneg, after.rx, after.tx) != (before.autoneg, before.rx, before.tx):
                problems.append(f"{dut.port.place}: pause frames did not come back: {after}, before {before}")
        fail_with(problems)

    @keyword
    def channels_should_be_settable(self) -> None:
        """Combined queues go down to one and up to the most there are; where the sheet says no, none may change."""
        wish, problems = _section("channels"), list[str]()
        if wish.combined is None:
            raise NotApplicable(f"sheet {_sheet().name} names no combined queues")
        for dut in _ports():
            most = dut.host.channels(dut.iface).max.combined
            if most is None:
                problems.append(_wanted(dut, "most combined queues", None, "a number"))
                continue

            def setting(value: int, dut: Dut = dut) -> Attempt[Any]:
                return dut.host.set_channels(dut.iface, {"combined": value})

            trial = Trial(dut, "combined queues", setting, dut.host.channels, _combined, dut.host.restoring_channels)
            problems += trial.over(wish.settable, 1, most)
        fail_with(problems)

    @keyword
    def mtu_should_take_its_range(self) -> None:
        """Every port takes the least and the largest MTU of the sheet, and refuses one byte more or less.

        When it is put back, the port is taken down and up: some cards are slow until then (EMX-08).
        """
        wish, problems = _section("mtu"), list[str]()
        largest = _sheet().known(wish.max, "mtu.max")
        least = None if isinstance(wish.min, Unknown) else wish.min
        for dut in _ports():

            def setting(value: int, dut: Dut = dut) -> Attempt[Any]:
                return dut.host.set_mtu(dut.iface, value)

            def restoring(iface: str, dut: Dut = dut) -> str:
                return mtu.restoring(dut.host, iface)

            trial = Trial(dut, "MTU", setting, dut.host.mtu, int, restoring)
            problems += trial.over(True, least, largest, refuses_less=True)
        for path in self.run.bench.paths:
            mtu.wait_for_links(self.run, path)
        fail_with(problems)


@dataclass(frozen=True)
class Trial:
    """A number that is tried over its range: how it is set, how it is read back, how it is put back."""

    dut: Dut
    what: str
    setting: Callable[[int], Attempt[Any]]
    reading: Callable[[str], Any]
    value: Callable[[Any], int | None]
    restoring: Callable[[str], str]

    def over(self, settable: bool, least: int | None, largest: int, *, refuses_less: bool = False) -> list[str]:
        """Problems of setting both ends and one step beyond them; ``settable`` False: nothing may change."""
        dut, problems = self.dut, list[str]()
        before = self.value(self.reading(dut.iface))
        with dut.changing(f"{self.what} is set", self.restoring(dut.iface)):
            for wish in [value for value in (least, largest) if value is not None] if settable else []:
                attempt = self.setting(wish)
                found = self.value(attempt.now)
                logger.info(f"{dut.port.place}: {self.what} told {wish}, is {found} {attempt.refused or ''}")
                if found != wish:
                    why = f" ({attempt.refused})" if attempt.refused else ""
                    problems.append(_wanted(dut, self.what, f"{found} when set to {wish}{why}", wish))
            beyond = [largest + 1, *([least - 1] if refuses_less and least else [])]
            for wish in beyond if settable else [largest // 2, largest - 1, largest + 1]:
                attempt = self.setting(wish)
                if self.value(attempt.now) == wish:
                    problems.append(_wanted(dut, self.what, f"{wish}", "it refused"))
        after = self.value(self.reading(dut.iface))
        if after != before:
            problems.append(f"{dut.port.place}: {self.what} did not come back: it is {after}, before {before}")
        return problems


def _link_not_back(dut: Dut, after: str) -> list[str]:
    """A problem when the port has no carrier within the time that the sheet allows a link to return."""
    limit_ms = _sheet().known(_sheet().limits.carrier_return_within_ms, "limits.carrier_return_within_ms")
    if dut.host.await_carrier(dut.iface, True, within_s=limit_ms / 1000).seen:
        return []
    return [f"{dut.port.place} has no carrier {limit_ms} ms after {after}, sheet {_sheet().name} allows no more"]


def _combined(now: Any) -> int | None:
    count: int | None = now.current.combined
    return count


def _tried_parameter(dut: Dut, name: str, row: CoalescingParameter, *, adaptive: bool) -> list[str]:
    """Problems of giving one parameter another value, with adaptive coalescing off where there is such."""
    shown = dut.host.coalescing(dut.iface)
    before = shown.parameters.get(name)
    if before is None:
        return [_wanted(dut, name, None, "a value")]
    most = row.max if isinstance(row.max, int) else before + 1
    wish = most if before != most else max(most - 1, 0)
    values: Mapping[str, int | bool] = {"adaptive-rx": False, name: wish} if adaptive else {name: wish}
    with dut.changing(f"{name} is set", dut.host.restoring_coalescing(dut.iface, (name,))):
        attempt = dut.host.set_coalescing(dut.iface, values)
        found = attempt.now.parameters.get(name)
        if row.settable and attempt.refused is None and found != wish:
            found = _settled(dut, name, wish)
    after = dut.host.coalescing(dut.iface)
    now, was = (after.adaptive_rx, after.parameters.get(name)), (shown.adaptive_rx, before)
    # what adapts by itself may have moved on by now
    if now[0] is not was[0] or (now != was and not now[0]):
        return [f"{dut.port.place}: {name} did not come back: adaptive and value are {now}, before {was}"]
    if row.settable and found != wish:
        why = f" ({attempt.refused})" if attempt.refused else ""
        return [_wanted(dut, name, f"{found} when set to {wish}{why}", wish)]
    if not row.settable and found == wish:
        return [_wanted(dut, name, f"{wish} when set to it", "it shown only")]
    return []


def _settled(dut: Dut, name: str, wish: int) -> int | None:
    """The value a parameter has once the driver has taken it over; what it is at last when that does not happen."""
    deadline = Deadline(SETTLES_WITHIN_S)
    found = dut.host.coalescing(dut.iface).parameters.get(name)
    while found != wish and not deadline.expired:
        pause(0.2)
        found = dut.host.coalescing(dut.iface).parameters.get(name)
    return found


def _sheet() -> Card:
    return current().card


def _section(name: str) -> Any:
    """:raises NotApplicable: when the sheet has none, or one of another system's driver than the dut's."""
    system = current().server(Role.DUT).description.os
    if name not in _OF_THE_DRIVER:
        return _sheet().section(getattr(_sheet(), name), name)
    section = _sheet().of_driver(name, system)
    if section is None and system is not OperatingSystem.LINUX:
        for dut in _ports():
            getattr(dut.host, name)(dut.iface)  # a driver that shows nothing of the kind says so itself
        raise NotApplicable(f"sheet {_sheet().name} knows {name} of Linux' driver only, the dut runs {system.value}")
    return _sheet().section(section, name)


def _ports() -> Iterator[Dut]:
    run = current()
    for port in run.ports(Role.DUT):
        yield Dut(port, run.server_of(port).host, run.interface(port))


def _rings(rings: Rings) -> dict[str, Ring]:
    named = {name: getattr(rings, name) for name in ("rx", "rx_mini", "rx_jumbo", "tx")}
    return {name: ring for name, ring in named.items() if ring is not None}


def _chosen(name: str, rows: dict[str, Any], what: str) -> dict[str, Any]:
    """:raises NotApplicable: when the sheet has no such row."""
    chosen = rows if name == EVERY else {known: row for known, row in rows.items() if known == name}
    if not chosen:
        raise NotApplicable(f"sheet {_sheet().name} names no {what}{'' if name == EVERY else f' {name}'}")
    return chosen


def _expect_facts(section: str, facts: list[object]) -> None:
    """:raises NotApplicable: when none is known: a check that judges nothing is never green."""
    if all(_unknown(fact) for fact in facts):
        raise NotApplicable(f"sheet {_sheet().name} knows nothing of {section} as delivered")


def _unknown(fact: object) -> bool:
    return fact is None or isinstance(fact, Unknown)


def _compare(dut: Dut, what: str, found: object, wish: object) -> list[str]:
    """A problem when the sheet knows the fact and the port shows another."""
    return [] if _unknown(wish) or (found is not None and found == wish) else [_wanted(dut, what, found, wish)]


def _wanted(dut: Dut, what: str, found: object, wish: object) -> str:
    return f"{dut.port.place}: {what} is {_shown(found)}, sheet {_sheet().name} wants {_shown(wish)}"


def _shown(value: object) -> str:
    return (
        {True: "on", False: "off"}[value] if isinstance(value, bool) else "not shown" if value is None else str(value)
    )
