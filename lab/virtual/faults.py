"""The defects that can be injected, and what each offends. ``vbench fault list`` prints this table."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import cardfaults
import control
import nvram
import parts
import process
import switchfaults
from layout import Bench


class FaultError(Exception):
    """No such fault, target or value."""


class Kind(StrEnum):
    """The target of a fault.

    The target is written ``cable:a``, ``cable:a.dut``, ``bmc:dut``, ``server:dut``, ``card:dut``, ``card:dut.p0``,
    ``switch:`` (all of it), ``switch:port1``.
    """

    CABLE = "cable"
    BMC = "bmc"
    SERVER = "server"
    CARD = "card"
    SWITCH = "switch"


@dataclass(frozen=True)
class Fault:
    kind: Kind
    name: str
    value: str | None
    """Meaning of the value; ``None`` when the fault takes none."""
    effect: str
    offends: str


FAULTS = (
    Fault(
        Kind.CABLE, "rate_factor", "fraction", "frames leave this end at a fraction of wire speed", "throughput limit"
    ),
    Fault(Kind.CABLE, "loss", "fraction", "a fraction of the frames sent by this end is lost", "throughput limit"),
    Fault(
        Kind.CABLE, "silent", None, "frames sent by this end are lost, carrier stays", "CARD-04 traffic after a failure"
    ),
    Fault(
        Kind.CABLE,
        "carrier_stuck",
        None,
        "this end keeps its carrier with the cable pulled",
        "CARD-04 carrier loss is seen",
    ),
    Fault(
        Kind.CABLE,
        "carrier_delay_s",
        "seconds",
        "this end sees a change of carrier late",
        "CARD-04 carrier loss in time",
    ),
    Fault(Kind.CABLE, "crossed", None, "the far ends of the first two cables are exchanged", "wiring proof"),
    Fault(Kind.BMC, "drop", None, "the BMC answers neither IPMI nor Redfish over LAN", "CARD-07"),
    Fault(Kind.BMC, "delay_s", "seconds", "the BMC answers late", "CARD-07"),
    Fault(Kind.BMC, "power_stuck", None, "power commands are accepted and not carried out", "CARD-07"),
    Fault(Kind.BMC, "redfish_500", None, "Redfish answers 500 to everything", "CARD-07"),
    Fault(
        Kind.SERVER,
        "frozen",
        None,
        "the machine stands still (SIGSTOP): nothing answers, links stay",
        "CARD-07 recovery",
    ),
    *(
        Fault(Kind.CARD, word.name, "number", word.meaning, cardfaults.OFFENDS[word.name])
        for word in nvram.words().values()
    ),
    *(Fault(Kind.CARD, name, *row) for name, row in cardfaults.CONTENT.items()),
    *(Fault(Kind.SWITCH, *row) for row in switchfaults.ROWS),
)


def find(kind: str, name: str) -> Fault:
    """The fault of that kind and name.

    Raises:
        FaultError: Naming the faults there are.
    """
    for fault in FAULTS:
        if (fault.kind, fault.name) == (kind, name):
            return fault
    known = ", ".join(f"{fault.kind}:... {fault.name}" for fault in FAULTS)
    raise FaultError(f"no fault {name!r} for {kind!r}; there are {known}")


def set_fault(bench: Bench, target: str, setting: str) -> None:
    """Inject ``setting`` (``name`` or ``name=value``) into ``target`` (``kind:where``), at once.

    Raises:
        FaultError: When fault, target or value is none.
    """
    kind, _, where = target.partition(":")
    name, has_value, text = setting.partition("=")
    fault = find(kind, name)
    if (fault.value is not None) != bool(has_value):
        raise FaultError(f"{name} takes {'a value: ' + fault.value if fault.value else 'no value'}")
    if name in cardfaults.CONTENT:
        cardfaults.set_content(bench, where, name, text)
        return
    try:
        value = float(text) if has_value else 1.0
    except ValueError:
        raise FaultError(f"{name}: {text!r} is no number") from None
    match fault.kind:
        case Kind.CABLE:
            request = {"fault": {"target": where, "name": name, "value": value}}
            control.ask(bench.folder / "cables.control", request)
        case Kind.BMC:
            _bmc(bench, where, name, value if fault.value else True)
        case Kind.SERVER:
            _signal(bench, where, signal.SIGSTOP)
        case Kind.CARD:
            cardfaults.set_word(bench, where, name, value)
        case Kind.SWITCH:
            request = {"fault": {"target": where, "name": name, "value": value}}
            control.ask(bench.folder / "switch.control", request)


def clear_all(bench: Bench) -> None:
    """Take every injected fault back; a part that does not answer keeps no other from being cleared.

    Raises:
        FaultError: Naming the parts that could not be cleared.
    """
    requests: list[tuple[Path, dict[str, object]]] = [(bench.folder / "cables.control", {"clear": {}})]
    requests += [(server.folder / "bmc.control", {"fault": {}}) for server in bench.servers]
    requests.append((bench.folder / "switch.control", {"clear": {}}))
    for server in bench.servers:
        if f"qemu-{server.role}" in parts.running(bench):
            _signal(bench, server.role, signal.SIGCONT)
    failures = []
    for server in bench.servers:
        try:
            cardfaults.clear(server)
        except nvram.CardMemoryError as error:
            failures.append(str(error))
    for path, request in requests:
        try:
            control.ask(path, request)
        except control.ControlError as error:
            failures.append(str(error))
    if failures:
        raise FaultError(f"not everything is cleared: {'; '.join(failures)}")


def _bmc(bench: Bench, role: str, name: str, value: float | bool) -> None:
    """Add a fault to those that the BMC has already."""
    _check_role(bench, role)
    path = bench.server(role).folder / "bmc.control"
    control.ask(path, {"fault": {**control.ask(path, {"status": True})["faults"], name: value}})


def _signal(bench: Bench, role: str, number: signal.Signals) -> None:
    _check_role(bench, role)
    pids = parts.running(bench).get(f"qemu-{role}")
    reached = [process.send(pid, number) for pid in pids or ()]
    if not any(reached):
        raise FaultError(f"{role} is off")


def _check_role(bench: Bench, role: str) -> None:
    if role not in [server.role for server in bench.servers]:
        raise FaultError(f"no server {role!r}; there are {', '.join(server.role for server in bench.servers)}")
