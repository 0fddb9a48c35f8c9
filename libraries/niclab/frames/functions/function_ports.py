"""Virtual functions of a port of the dut for the time of a check: each is a port that frames are sent from and to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from niclab.bench.records import Port, Role
from niclab.checks.asked import Say, dut
from niclab.core.verdict import (
    BenchFault,
    CardFailure,
    Collected,
    Deviation,
    NotApplicable,
    SheetSilent,
    SheetUnknown,
    Undecided,
    fail_with,
    require_judged,
)
from niclab.core.wait import Deadline, pause
from niclab.hosts.errors import NotOffered
from niclab.hosts.functions.function_records import FunctionCount, VirtualFunction
from niclab.hosts.functions.linux import MADE_WITHIN_S
from niclab.links import carrier
from niclab.run.run import Run
from niclab.run.temporary import put_back

LOOK_EVERY_S = 0.5
BOUND_WITHIN_S = 30.0
"""Assumption: the system has found the driver of a function and named its interface by then."""
LINK_WITHIN_S = 30.0
"""Assumption: a function has a link by then. igbvf resets a function whose port was reset 10 s before, and looks every
2 s (Linux kernel 6.1, igbvf/netdev.c, igbvf_has_link()). It does the same after "PF still resetting": the request of a
function is lost in the mailbox when igb writes there meanwhile, as it does to all functions when its link changes
(igb/e1000_mbx.c, igb_write_mbx_pf(), igb_ping_all_vfs()), or while it does not listen yet (until commit 50f303496d92,
"igb: Enable SR-IOV after reinit")."""
NO_MEMORY = "Cannot allocate memory"
"""ENOMEM of sriov_enable() (Linux kernel 6.1, pci/iov.c): the server's firmware has left no addresses or bus numbers
for functions, or the kernel has no memory."""

NO_OPERATION = "No such file or directory"
"""ENOENT of sriov_numvfs: the driver has no sriov_configure() (Linux kernel 6.1, pci/iov.c, sriov_numvfs_store())."""
FOR_GUESTS = {"vfio-pci", "pci-stub", "uio_pci_generic", "igb_uio"}
"""Drivers that keep a function for somebody else, and make no interface."""


def each_port(run: Run, judge: Callable[[Port], None]) -> None:
    """Judge every port of the dut that has a path: none that cannot be judged hides the failure of another one.

    Args:
        run: The current run.
        judge: Judges one port.

    Raises:
        CardFailure: A port fails.
        BenchFault: At once, after the failures of ports before, as where the sheet is silent or the bench deviates.
        Undecided: A port is, or some can be judged and others not.
        NotApplicable: No port can be judged.
    """
    judged, without = Collected(), list[str]()
    ports = [run.bench.end(path, Role.DUT) for path in run.bench.paths]
    for port in ports:
        with judged.one():
            try:
                judge(port)
            except (SheetSilent, SheetUnknown, Deviation):
                raise
            except NotApplicable as reason:
                without.append(str(reason))
    fail_with(judged.problems, [*dict.fromkeys([*judged.doubts, *without])] if judged.doubts else [])
    require_judged(without, some=len(without) < len(ports))


def offered(run: Run, port: Port) -> FunctionCount:
    """The virtual functions that a port of the dut offers.

    Args:
        run: The current run.
        port: The port.

    Raises:
        CardFailure: It offers another number than the sheet says.
        Undecided: It offers none, and the sheet says that it does.
        NotApplicable: Nobody offers any.
    """
    facts = run.card.virtual_functions
    try:
        count = dut(run).functions.count(port.pci)
    except NotOffered as reason:
        if facts is None:
            raise
        why = "they are switched off in the card, in the server's firmware or in the kernel, or the driver has none"
        raise Undecided(f"{reason}; sheet {run.card.name} says {facts.most} of each port: {why}") from reason
    if facts is not None and count.most != facts.most:
        said = f"{port.place} offers {count.most} virtual functions"
        raise CardFailure(f"{said}; expected {facts.most} (sheet {run.card.name})")
    if count.now:
        raise NotApplicable(f"{port.place} has {count.now} virtual functions already; the lab leaves them alone")
    return count


@contextmanager
def made(run: Run, port: Port, count: int, say: Say) -> Iterator[list[Port]]:
    """Let a port of the dut have virtual functions, whose interfaces are up, and remove them.

    Args:
        run: The current run.
        port: The port.
        count: How many.
        say: Takes what was seen of each.

    Yields:
        A port of the dut for each function, in their order: ``dut.p0v0`` is the first one of ``dut.p0``.

    Raises:
        CardFailure: They are refused, are fewer than asked for, get no interface or no link in time, or do not go.
        BenchFault: The dut does not answer, the server has no PCI resources for them, or they could not be removed.
    """
    host, what = dut(run), f"{count} virtual functions are made"
    restoring = host.functions.restoring(port.pci)
    with (
        put_back(run, run.server_of(port), port.name, what, restoring, deadline_s=MADE_WITHIN_S),
        made_again(run, port, count, say) as functions,
    ):
        yield functions
    if left := host.functions.functions(port.pci):
        raise CardFailure(f"{port.place}: {len(left)} virtual functions are left when they were removed")
    carrier.expect(run, [port, run.bench.partner(port)], up=True, began=time.monotonic(), say=say)


@contextmanager
def made_again(run: Run, port: Port, count: int, say: Say) -> Iterator[list[Port]]:
    """Let a port of the dut have virtual functions, as :func:`made`, which removes these as well.

    Args:
        run: The current run.
        port: The port, of which the functions that ``made`` has made are gone.
        count: How many.
        say: Takes what was seen of each.

    Yields:
        A port of the dut for each function.

    Raises:
        CardFailure: They are refused, are fewer than asked for, or get no interface or no link in time.
        BenchFault: The dut does not answer, or the server has no PCI resources for them.
    """
    functions = list[Port]()
    try:
        functions += _made(run, port, count)
        for each in functions:
            dut(run).links.set_link(run.interface(each), True)
        require_links(run, port, functions, say)
        yield functions
    finally:
        for each in functions:
            run.interfaces.pop(each, None)


def require_links(run: Run, port: Port, functions: Sequence[Port], say: Say) -> None:
    """See that a port gets its link in the time of the sheet, and that its functions get theirs.

    Args:
        run: The current run.
        port: The port of the dut.
        functions: Its functions.
        say: Takes what was seen of each.

    Raises:
        CardFailure: A link is late.
        BenchFault: That of the peer's port alone is.
        Undecided: The answer came too late to decide about the link of the port.
    """
    carrier.expect(run, [port, run.bench.partner(port)], up=True, began=time.monotonic(), say=say)
    by_iface = {run.interface(each): each for each in functions}
    missing = dut(run).links.await_carriers(list(by_iface), True, LINK_WITHIN_S)
    fail_with([f"{by_iface[iface].place} has no carrier {LINK_WITHIN_S:g} s after its port has" for iface in missing])
    say(f"{port.name}: {len(functions)} virtual functions have carrier")


def _made(run: Run, port: Port, count: int) -> list[Port]:
    attempt = dut(run).functions.set_count(port.pci, count)
    if attempt.refused is not None or attempt.now.now != count:
        why = f", refused: {attempt.refused}" if attempt.refused else ""
        said = f"{port.place}: {count} virtual functions were asked for, it has {attempt.now.now}{why}"
        if attempt.refused and NO_MEMORY in attempt.refused:
            cause = "the server has no PCI resources for them: its firmware (BIOS) must have SR-IOV and 64-bit BARs"
            raise BenchFault(f"{said}; {cause} (MMIO above 4 GB) switched on")
        if attempt.not_offered or NO_OPERATION in (attempt.refused or ""):
            said += "; its driver makes none by sysfs"
            raise NotApplicable(said) if run.card.virtual_functions is None else Undecided(said)
        raise CardFailure(said)
    found = _bound(run, port, count)
    _require_interfaces(run, port, found, attempt.now.autoprobe)
    functions = [Port(Role.DUT, f"{port.key}v{each.number}", each.pci, None, None) for each in found]
    run.interfaces.update({mine: each.iface for mine, each in zip(functions, found, strict=True) if each.iface})
    return functions


def _require_interfaces(run: Run, port: Port, found: Sequence[VirtualFunction], autoprobe: bool) -> None:
    """See that each function has an interface. A driver that takes one of them is there for the others."""
    nameless = [each.pci for each in found if each.iface is None]
    if not nameless:
        return
    devices = [dut(run).pci.device(address) for address in nameless]
    drivers = {device.driver for device in devices if device.driver}
    said = f"{port.place}: virtual functions {', '.join(nameless)} have no interface after {BOUND_WITHIN_S:g} s"
    if others := drivers & FOR_GUESTS:
        raise BenchFault(f"{said}: the dut gives them to {', '.join(sorted(others))}; expected a network driver")
    if drivers or len(nameless) < len(found):
        raise CardFailure(f"{said}; expected a driver to take each of {len(found)}")
    if not autoprobe:
        raise BenchFault(f"{said}: the dut binds no driver to them; expected sriov_drivers_autoprobe 1")
    ids = ", ".join(sorted({f"{device.vendor_id}:{device.device_id}" for device in devices}))
    why = "it is not installed, is on a list of modules that are not loaded, or fails with them"
    raise Undecided(f"{said}, and no driver; expected the driver of PCI ids {ids} on the dut: {why}")


def _bound(run: Run, port: Port, count: int) -> Sequence[VirtualFunction]:
    """The functions of a port, when all have an interface that keeps its name, or when the time is over."""
    deadline, before = Deadline(BOUND_WITHIN_S), tuple[VirtualFunction, ...]()
    while True:
        found = dut(run).functions.functions(port.pci)
        is_whole = len(found) == count and all(each.iface for each in found)
        if (is_whole and found == before) or deadline.expired:
            return found
        before = found
        pause(LOOK_EVERY_S)
