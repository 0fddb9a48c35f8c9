"""Is the card the one on the sheet, with its makers' marks and abilities, and is every port and card itself?"""

from __future__ import annotations

from collections.abc import Sequence

from niclab.bench.records import OperatingSystem, Port, Role
from niclab.card import CAGES, AnyMaker, AnySubsystem, Medium
from niclab.checks.asked import Say, devices, dut, dut_system
from niclab.core.parallel import side_by_side
from niclab.core.verdict import CardFailure, NotApplicable, Trouble, Undecided, blame, fail_with
from niclab.hosts.host_records import LinkSettings, PciDevice
from niclab.hosts.link_modes import in_mbps, speeds_of
from niclab.report.evidence.runfolder import RUN_FILE, record_facts
from niclab.run.run import Run

_NO_MAC = "00:00:00:00:00:00"
_CLASS_DIGITS = 4
"""Base class and subclass: lspci and pciconf name no programming interface of a network card."""
_MEDIA = {"Twisted Pair": Medium.TWISTED_PAIR, "FIBRE": Medium.FIBRE, "Direct Attach Copper": Medium.DIRECT_ATTACH}
"""Port type in ethtool's words -> its medium. ``None`` and ``Other`` say nothing about it."""


def require_ids(run: Run, say: Say) -> None:
    """Compare IDs, PCI class and vital product data (VPD) of every port of the dut with the sheet.

    Args:
        run: The run.
        say: Takes the product data of each port.

    Raises:
        CardFailure: A port has other IDs, another class or other product data, or is gone from the bus.
    """
    identity, problems, numbers = run.card.identity, list[str](), dict[str, None]()
    wanted = f"{identity.vendor_id}:{identity.device_id}"
    for port, device in devices(run):
        if device.vpd is not None and device.vpd.part_number:
            numbers[device.vpd.part_number] = None
        found = f"{device.vendor_id}:{device.device_id}"
        if device.dead:
            problems.append(f"{port.place} answers with all ones: it is gone from the bus")
        elif found != wanted:
            problems.append(f"{port.place} is {found}; expected {wanted} (sheet {run.card.name})")
        elif device.class_code != identity.pci_class[:_CLASS_DIGITS]:
            expected = f"{identity.pci_class[:_CLASS_DIGITS]} (sheet {run.card.name})"
            problems.append(f"{port.place} has PCI class {device.class_code}; expected {expected}")
        elif not isinstance(identity.subsystems, AnySubsystem):
            subsystem = f"{device.subvendor}:{device.subdevice}"
            if subsystem not in identity.subsystems:
                allowed = ", ".join(identity.subsystems)
                problems.append(f"{port.place} has subsystem {subsystem}; expected {allowed} (sheet {run.card.name})")
        if not device.dead:
            problems += _wrong_product_data(run, port, device, say)
    if numbers and (run.run_dir / RUN_FILE).exists():
        record_facts(run.run_dir, part_numbers=", ".join(numbers))
    fail_with(problems)


def _wrong_product_data(run: Run, port: Port, device: PciDevice, say: Say) -> list[str]:
    """Compare keywords, part number and checksum; nothing where the sheet names none, or the system shows none."""
    card, facts = run.card, run.card.identity.vpd
    if facts is None or not (facts.keywords or facts.part_number):
        return []
    if dut_system(run) is OperatingSystem.FREEBSD:
        say(f"{port.place}: FreeBSD: pciconf -lc, which the lab reads, shows no product data")
        return []
    items = device.vpd.items if device.vpd is not None else {}
    say(f"{port.place}: {items or 'no product data'}")
    problems = [
        f"{port.place} has no {keyword} in its product data; expected it (sheet {card.name})"
        for keyword in dict.fromkeys([*facts.keywords, *(["PN"] if facts.part_number is not None else [])])
        if not items.get(keyword)
    ]
    number = device.vpd.part_number if device.vpd is not None else None
    if facts.part_number is not None and number is not None and not number.startswith(facts.part_number):
        problems.append(f"{port.place} has part number {number}; expected {facts.part_number} (sheet {card.name})")
    if device.vpd is not None and device.vpd.checksum_good is False:
        problems.append(f"{port.place} has product data with a wrong checksum; expected the one of its contents (RV)")
    return problems


def require_port_count(run: Run) -> None:
    """Count the PCI functions of the card that the dut shows in the slots of its ports.

    A card of the same kind in another slot is not the one under test: a bench file names every port of that.

    Raises:
        CardFailure: The dut shows more or fewer than the sheet says.
    """
    identity = run.card.identity
    found = dut(run).pci.functions(identity.vendor_id, identity.device_id)
    slots = {port.pci.rpartition(".")[0] for port in run.ports(Role.DUT)}
    own = [each for each in found if each.rpartition(".")[0] in slots]
    if len(own) != identity.ports:
        shown = ", ".join(own) or "none"
        elsewhere = ", ".join(each for each in found if each not in own)
        note = f"; {elsewhere} in no slot of the bench file" if elsewhere else ""
        expected = f"expected {identity.ports} (sheet {run.card.name})"
        raise CardFailure(f"dut shows {len(own)} ports ({shown}); {expected}{note}")


def require_own_mac_addresses(run: Run) -> None:
    """Ask every port of both servers for its MAC address: the permanent one, whichever it was given since.

    Raises:
        CardFailure: A port of the dut has no unicast address, that of another port, or one of another maker than the
            sheet says.
        BenchFault: Only ports of the peer have such an address, or the bench file says another one, also of a port of
            the peer that has that of the dut's.
    """
    problems, seen, ports = list[Trouble](), dict[str, Port](), run.bench.ports
    makers = run.card.identity.mac_ouis
    found = [shown.own_mac for shown in run.shown(ports).values()]
    for port, mac in zip(ports, found, strict=True):
        if mac is None or mac == _NO_MAC or int(mac[:2], 16) & 1:
            problems.append(port.trouble(f"has MAC address {mac}; expected a unicast address"))
            continue
        if mac in seen:
            text = f"{port.place} has MAC address {mac}, which {seen[mac].name} has too"
            problems.append(Trouble(text, _is_of_card((seen[mac], port), mac)))
        if port.mac is not None and mac != port.mac:
            text = f"{port.place} has MAC address {mac}, the bench file says {port.mac}"
            problems.append(Trouble(text, of_card=False))
        if port.role is Role.DUT and not isinstance(makers, AnyMaker | None) and mac[:8].lower() not in makers:
            wanted = f"one of maker {', '.join(makers)} (sheet {run.card.name})"
            problems.append(port.trouble(f"has MAC address {mac}; expected {wanted}"))
        seen.setdefault(mac, port)
    blame(problems)


def _is_of_card(ports: Sequence[Port], mac: str) -> bool:
    """Is the card charged with an address that two ports have? The peer's is right unless the bench file disagrees."""
    of_peer = [port for port in ports if port.role is Role.PEER]
    return len(of_peer) < len(ports) and all(port.mac in (None, mac) for port in of_peer)


def require_own_serial_numbers(run: Run, say: Say) -> None:
    """Compare the serial numbers of the cards of both servers: device serial number and product data (VPD).

    Args:
        run: The run.
        say: Takes what was seen.

    Raises:
        CardFailure: A serial number is on both servers.
        NotApplicable: The card of the dut shows none, or that of the peer, so that there is nothing to compare.
    """
    seen = {role: _serial_numbers(run, role) for role in (Role.DUT, Role.PEER)}
    if not seen[Role.DUT]:
        raise NotApplicable(f"sheet {run.card.name}: the card shows no serial number")
    say(f"serial numbers: {seen}")
    if (run.run_dir / RUN_FILE).exists():
        record_facts(run.run_dir, serial_numbers=", ".join(seen[Role.DUT]))
    if not seen[Role.PEER]:
        shown = ", ".join(seen[Role.DUT])
        raise NotApplicable(f"peer: its card shows no serial number, to compare that of the dut with: {shown}")
    fail_with(
        [
            f"{port} and {seen[Role.PEER][serial]} have both serial number {serial}; expected each its own"
            for serial, port in seen[Role.DUT].items()
            if serial in seen[Role.PEER]
        ]
    )


def require_speeds(run: Run, say: Say) -> None:
    """Compare the speeds that every port of the dut offers with the sheet.

    A module in a cage offers fewer; a port for twisted pair alone offers all.

    Args:
        run: The run.
        say: Takes the speeds of each port.

    Raises:
        CardFailure: A port offers a speed that is not on the sheet, or does not offer one that it must.
        NotApplicable: No port shows what it offers.
        Undecided: Some ports show it, and another one does not, which is no cage without a link.
        SheetSilent: The sheet names no speeds.
    """
    card, problems, silent = run.card, list[str](), list[tuple[Port, LinkSettings]]()
    known = set(card.section(card.link.speeds_mbps or None, "link.speeds_mbps"))
    needed = known if card.link.media == (Medium.TWISTED_PAIR,) else {card.link.speed_mbps} & known
    ports = _link_settings(run)
    for port, settings in ports:
        offered = speeds_of(settings.supported)
        say(f"{port.place} offers {in_mbps(offered)}")
        if not offered:
            silent.append((port, settings))
        elif offered - known or needed - offered:
            expected = f"{in_mbps(known)}, at least {in_mbps(needed)}"
            problems.append(f"{port.place} offers {in_mbps(offered)}; expected {expected} (sheet {card.name})")
    fail_with(problems)
    if len(silent) == len(ports):
        raise NotApplicable("dut: no port shows the speeds that it offers")
    _require_empty(run, silent, "the speeds that it offers")


def require_media(run: Run, say: Say) -> None:
    """Compare what every port of the dut connects to with the sheet.

    Args:
        run: The run.
        say: Takes the medium of each port.

    Raises:
        CardFailure: A port connects to a medium that is not on the sheet.
        NotApplicable: The dut's system or its driver names no medium.
        Undecided: It names that of some ports, and not that of another one, which is no cage without a link.
        SheetSilent: The sheet names none.
    """
    card, problems, silent = run.card, list[str](), list[tuple[Port, LinkSettings]]()
    known = card.section(card.link.media or None, "link.media")
    ports = _link_settings(run)
    for port, settings in ports:
        say(f"{port.place} connects to {settings.port}")
        medium = _MEDIA.get(settings.port or "")
        if medium is None:
            silent.append((port, settings))
        elif medium not in known:
            wanted = ", ".join(each.value for each in known)
            problems.append(f"{port.place} connects to {medium.value}; expected {wanted} (sheet {card.name})")
    fail_with(problems)
    if len(silent) == len(ports):
        raise NotApplicable(f"dut: {dut_system(run).value} names the medium of no port")
    _require_empty(run, silent, "its medium")


def _require_empty(run: Run, silent: list[tuple[Port, LinkSettings]], what: str) -> None:
    """Excuse a port that shows nothing where others do only as a cage that may have no module: it has no link."""
    media = run.card.link.media
    may_be_empty = not media or bool(CAGES & set(media))
    if left := [port.place for port, settings in silent if settings.link is not False or not may_be_empty]:
        raise Undecided(f"{', '.join(left)}: the driver does not show {what}; expected it, as of the other ports")


def _link_settings(run: Run) -> list[tuple[Port, LinkSettings]]:
    ports = run.ports(Role.DUT)
    found = side_by_side(lambda port: dut(run).links.link_settings(run.interface(port)), ports)
    return list(zip(ports, found, strict=True))


def _serial_numbers(run: Run, role: Role) -> dict[str, str]:
    """Serial number -> the first port that shows it."""
    found = dict[str, str]()
    for port in run.ports(role):
        device = run.server_of(port).host.pci.device(port.pci)
        for serial in (device.serial_number, device.vpd.serial_number if device.vpd else None):
            if serial:
                found.setdefault(serial, port.place)
    return found
