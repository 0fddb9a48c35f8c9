"""Is the card the one on the sheet, and is every port and card itself?"""

from __future__ import annotations

from niclab.bench.records import Port, Role
from niclab.card import AnySubsystem
from niclab.checks.asked import Say, devices, dut
from niclab.core.parallel import side_by_side
from niclab.core.verdict import CardFailure, NotApplicable, Trouble, blame, fail_with
from niclab.report.runfolder import record_facts
from niclab.run.run import Run

_NO_MAC = "00:00:00:00:00:00"


def require_ids(run: Run) -> None:
    """Compare vendor, device and subsystem ID of every port of the dut with the sheet.

    Raises:
        CardFailure: A port has other IDs, or is gone from the bus.
    """
    identity, problems = run.card.identity, []
    wanted = f"{identity.vendor_id}:{identity.device_id}"
    for port, device in devices(run):
        found = f"{device.vendor_id}:{device.device_id}"
        if device.dead:
            problems.append(f"{port.place} answers with all ones: it is gone from the bus")
        elif found != wanted:
            problems.append(f"{port.place} is {found}, sheet {run.card.name} wants {wanted}")
        elif not isinstance(identity.subsystems, AnySubsystem):
            subsystem = f"{device.subvendor}:{device.subdevice}"
            if subsystem not in identity.subsystems:
                allowed = ", ".join(identity.subsystems)
                problems.append(f"{port.place} has subsystem {subsystem}, sheet {run.card.name} wants {allowed}")
    fail_with(problems)


def require_port_count(run: Run) -> None:
    """Count the PCI functions of the card that the dut shows.

    Raises:
        CardFailure: The dut shows more or fewer than the sheet says.
    """
    identity = run.card.identity
    found = dut(run).pci.functions(identity.vendor_id, identity.device_id)
    if len(found) != identity.ports:
        shown = ", ".join(found) or "none"
        raise CardFailure(f"dut shows {len(found)} ports ({shown}), sheet {run.card.name} wants {identity.ports}")


def require_own_mac_addresses(run: Run) -> None:
    """Ask every port of both servers for its MAC address.

    Raises:
        CardFailure: A port of the dut has no unicast address, or that of another port.
        BenchFault: Only ports of the peer have such an address, or the bench file says another one.
    """
    problems, seen, ports = list[Trouble](), dict[str, Port](), run.bench.ports
    found = side_by_side(lambda port: run.server_of(port).host.links.interface(run.interface(port)).mac, ports)
    for port, mac in zip(ports, found, strict=True):
        if mac is None or mac == _NO_MAC or int(mac[:2], 16) & 1:
            problems.append(port.trouble(f"has MAC address {mac}, wanted a unicast address"))
            continue
        if mac in seen:
            text = f"{port.place} has MAC address {mac}, which {seen[mac].name} has too"
            problems.append(Trouble(text, Role.DUT in (port.role, seen[mac].role)))
        if port.mac is not None and mac != port.mac:
            text = f"{port.place} has MAC address {mac}, the bench file says {port.mac}"
            problems.append(Trouble(text, of_card=False))
        seen.setdefault(mac, port)
    blame(problems)


def require_own_serial_numbers(run: Run, say: Say) -> None:
    """Compare the serial numbers of the cards of both servers: device serial number and product data (VPD).

    Args:
        run: The run.
        say: Takes what was seen.

    Raises:
        CardFailure: A serial number is on both servers.
        NotApplicable: The card of the dut shows none.
    """
    seen = {role: _serial_numbers(run, role) for role in (Role.DUT, Role.PEER)}
    if not seen[Role.DUT]:
        raise NotApplicable(f"sheet {run.card.name}: the card shows no serial number")
    say(f"serial numbers: {seen}")
    record_facts(run.run_dir, serial_numbers=", ".join(seen[Role.DUT]))
    fail_with(
        [
            f"{port} and {seen[Role.PEER][serial]} have both serial number {serial}; wanted: each its own"
            for serial, port in seen[Role.DUT].items()
            if serial in seen[Role.PEER]
        ]
    )


def _serial_numbers(run: Run, role: Role) -> dict[str, str]:
    """Serial number -> the first port that shows it."""
    found = dict[str, str]()
    for port in run.ports(role):
        device = run.server_of(port).host.pci.device(port.pci)
        for serial in (device.serial_number, device.vpd.serial_number if device.vpd else None):
            if serial:
                found.setdefault(serial, port.place)
    return found
