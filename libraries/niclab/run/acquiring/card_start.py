"""The reason why a port has no network interface, and whose fault that is."""

from __future__ import annotations

from collections.abc import Sequence

from niclab.bench.records import Port, Role
from niclab.core.verdict import BenchFault, CardFailure
from niclab.hosts.errors import NoDevice, NoInterface
from niclab.hosts.kernel.boots import lines_of_last_boot
from niclab.hosts.kernel.card_names import CardNames
from niclab.hosts.kernel.trouble import NOBODY_KNOWS, OF_THE_BENCH, KernelTrouble, TroubleKind
from niclab.run.run import Run

_SHOWN = 3


class KeptFromStarting(BenchFault):
    """Something of the bench keeps the driver from taking a port, such as a firmware file that the server lacks."""


def missing_ports(run: Run) -> list[tuple[Port, NoInterface | NoDevice]]:
    """Return the test ports of the dut without a network interface, each with how the server says so.

    Args:
        run: The run.

    Raises:
        BenchFault: The dut does not answer.
    """
    missing = list[tuple[Port, NoInterface | NoDevice]]()
    for port in run.ports(Role.DUT):
        try:
            run.server_of(port).interface(port)
        except (NoDevice, NoInterface) as error:
            missing.append((port, error))
    return missing


def whose(run: Run, port: Port, error: NoInterface | NoDevice) -> CardFailure | BenchFault:
    """Find out who is to blame for a port without a network interface.

    What counts is what can be seen. The card is to blame where the kernel of this boot complains of it, where it
    answers its configuration space with all ones, and where a part of it is there and another is not. The bench is,
    where the server lacks a firmware file, or where nothing else is seen than that it lacks PCI resources, or that the
    card does not take the module in its cage. A card of which nothing is seen may be dead, or not in the slot that the
    bench file says: that is the bench's until somebody has looked.

    Args:
        run: The run.
        port: The port.
        error: How the server says so.

    Returns:
        What to raise.
    """
    if port.role is not Role.DUT:
        return error
    troubles = _of_the_start(run, port)
    if files := [each for each in troubles if each.kind is TroubleKind.FIRMWARE_FILE_MISSING]:
        return _kept_from_starting(port, error, files)
    if of_card := [each for each in troubles if each.kind not in OF_THE_BENCH]:
        return CardFailure(f"{port.place}: {error}; the kernel said: {_said(of_card)}")
    if isinstance(error, NoDevice):
        return _of_an_absent_device(run, port, error)
    if run.server_of(port).host.pci.device(port.pci).dead:
        return CardFailure(f"{port.place}: {error}; its configuration space reads all ones")
    if troubles:
        return _kept_from_starting(port, error, troubles)
    return BenchFault(f"{port.place}: {error}; the kernel does not say why")


def _kept_from_starting(port: Port, error: BenchFault, troubles: Sequence[KernelTrouble]) -> KeptFromStarting:
    return KeptFromStarting(f"{port.place}: {error}; {OF_THE_BENCH[troubles[0].kind]}: {_said(troubles)}")


def _of_the_start(run: Run, port: Port) -> list[KernelTrouble]:
    """Return the kernel's lines of this boot against the port, or its driver where they do not say which device.

    An interface that is there now is that of another port: this one has none.
    """
    server = run.server_of(port)
    lines = lines_of_last_boot(server.host.system.dmesg())
    driver = run.card.driver(server.description.os).module
    mine = {port.pci, run.interfaces.get(port, port.pci)}
    others = {other.pci for other in run.ports(port.role)} | server.host.links.names()
    drivers = {driver, *server.host.drivers.names_of(driver)}
    names = CardNames(frozenset(mine), frozenset(drivers), frozenset(others - mine))
    return [
        each
        for each in server.host.system.trouble(lines)
        if names.are_in(each) and each.kind not in NOBODY_KNOWS and not run.card.calls_harmless(each.words)
    ]


def _of_an_absent_device(run: Run, port: Port, error: NoDevice) -> CardFailure | BenchFault:
    identity, pci = run.card.identity, run.server_of(port).host.pci
    seen = set(pci.functions(identity.vendor_id, identity.device_id))
    expected = {other.pci for other in run.ports(port.role)}
    elsewhere = ", ".join(sorted(seen - expected))
    if elsewhere:
        said = f"{identity.vendor_id}:{identity.device_id} is at {elsewhere}"
        return BenchFault(f"{port.place}: {error}; {said}: the bench file says another address")
    if port in run.interfaces:
        return CardFailure(f"{port.place}: {error}; it was there earlier in this run")
    if seen:
        return CardFailure(f"{port.place}: {error}; {', '.join(sorted(seen))} of the same card is there")
    return BenchFault(f"{port.place}: {error}, nor anything else of the card: it is not in the slot, or dead")


def _said(troubles: Sequence[KernelTrouble]) -> str:
    return "; ".join(f"{each.kind}: {each.words}" for each in troubles[:_SHOWN])
