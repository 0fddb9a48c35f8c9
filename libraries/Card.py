"""What the card is: identity, driver, firmware, PCI Express. Each check asks every port and names all that fail."""

from __future__ import annotations

from collections.abc import Callable

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import OperatingSystem, Port, Role
from niclab.card import AnySubsystem, Driver, VersionLists, VersionVerdict
from niclab.core.parallel import side_by_side
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided, fail_with
from niclab.hosts.records import DriverInfo, PciDevice, PcieLink
from niclab.run.run import current
from niclab.transports import CommandTimeout, ConnectionLost
from niclab.transports.kernel_death import sign_of

ETHERNET_CLASS = "0200"


@library(scope="GLOBAL")
class Card(BenchLibrary):
    """Keywords about the card under test, the one in the dut. Constructing the library connects to nothing."""

    # --- identity

    @keyword
    def every_port_should_be_the_card_on_the_sheet(self) -> None:
        """Vendor, device and subsystem ID of every port are those of the sheet."""
        identity, problems = self.run.card.identity, []
        wanted = f"{identity.vendor_id}:{identity.device_id}"
        for port, device in self._devices():
            found = f"{device.vendor_id}:{device.device_id}"
            if device.dead:
                problems.append(f"{port.place} answers with all ones: it is gone from the bus")
            elif found != wanted:
                problems.append(f"{port.place} is {found}, sheet {_sheet()} wants {wanted}")
            elif not isinstance(identity.subsystems, AnySubsystem):
                subsystem = f"{device.subvendor}:{device.subdevice}"
                if subsystem not in identity.subsystems:
                    allowed = ", ".join(identity.subsystems)
                    problems.append(f"{port.place} has subsystem {subsystem}, sheet {_sheet()} wants {allowed}")
        fail_with(problems)

    @keyword
    def dut_should_show_as_many_ports_as_the_sheet_says(self) -> None:
        """The dut shows exactly as many PCI functions of this card as the sheet says."""
        identity = self.run.card.identity
        found = self.run.server(Role.DUT).host.pci_functions(identity.vendor_id, identity.device_id)
        if len(found) != identity.ports:
            shown = ", ".join(found) or "none"
            raise CardFailure(f"dut shows {len(found)} ports ({shown}), sheet {_sheet()} wants {identity.ports}")

    @keyword
    def every_port_should_have_a_mac_address_of_its_own(self) -> None:
        """Every port has a unicast MAC address that no other has, and the one in the bench file if given."""
        run, problems = self.run, []
        ports, seen = run.bench.ports, dict[str, Port]()
        found = side_by_side(lambda port: run.server_of(port).host.interface(run.interface(port)).mac, ports)
        for port, mac in zip(ports, found, strict=True):
            if mac is None or mac == "00:00:00:00:00:00" or int(mac[:2], 16) & 1:
                problems.append(f"{port.place} has MAC address {mac}, wanted a unicast address")
                continue
            if mac in seen:
                problems.append(f"{port.place} has MAC address {mac}, which {seen[mac].name} has too")
            if port.mac is not None and mac != port.mac:
                problems.append(f"{port.place} has MAC address {mac}, the bench file says {port.mac}")
            seen.setdefault(mac, port)
        fail_with(problems)

    # --- driver and firmware

    @keyword
    def no_serial_number_should_be_on_both_servers(self) -> None:
        """No serial number of a card, device serial number or that of its product data (VPD), is seen on both servers.

        :raises NotApplicable: when the card of the dut shows none.
        """
        seen = {role: self._serial_numbers(role) for role in (Role.DUT, Role.PEER)}
        if not seen[Role.DUT]:
            raise NotApplicable(f"sheet {_sheet()}: the card shows no serial number")
        logger.info(f"serial numbers: {seen}")
        fail_with(
            [
                f"{port} and {seen[Role.PEER][serial]} have both serial number {serial}; wanted: each its own"
                for serial, port in seen[Role.DUT].items()
                if serial in seen[Role.PEER]
            ]
        )

    @keyword
    def every_port_should_be_driven_by_the_driver_on_the_sheet(self) -> None:
        """The driver bound to every port, by its interface and by PCI, is the one on the sheet."""
        wanted, problems = self._driver().module, []
        names = self.run.server(Role.DUT).host.drivers_of(wanted)
        for (port, info), (_, device) in zip(self._drivers(), self._devices(), strict=True):
            if not {info.driver, device.driver} <= names:
                found = f"{info.driver} (interface), {device.driver} (PCI)"
                problems.append(f"{port.place} is driven by {found}, sheet {_sheet()} wants {wanted}")
        fail_with(problems)

    @keyword
    def driver_version_should_be_as_on_the_sheet(self) -> None:
        """Every port reports a driver version that the sheet requires or allows; a kernel's driver the kernel's."""
        driver, kernel = self._driver(), self.run.server(Role.DUT).host.kernel()
        if driver.in_kernel and self._system() is OperatingSystem.FREEBSD:
            raise NotApplicable(f"dut: {driver.module} comes with FreeBSD's kernel, and reports no version of its own")
        if driver.in_kernel:
            own = VersionLists(required=(kernel,))
        elif driver.version is None or not driver.version.is_known:
            raise NotApplicable(f"sheet {_sheet()} names no driver versions")
        else:
            own = driver.version
        wanted = f"the kernel is {kernel}" if driver.in_kernel else ""
        _judge_versions("driver", [(port, info.version) for port, info in self._drivers()], own, wanted)

    @keyword
    def firmware_should_be_as_on_the_sheet(self) -> None:
        """Every port reports a firmware version that the sheet requires or allows."""
        firmware = self.run.card.firmware
        if not firmware.is_known:
            raise NotApplicable(f"sheet {_sheet()} names no firmware versions")
        _judge_versions("firmware", [(port, info.firmware) for port, info in self._drivers()], firmware, read=_version)

    @keyword
    def all_ports_should_run_the_same_firmware(self) -> None:
        """No port of the card runs other firmware than the rest."""
        found = {port.name: info.firmware for port, info in self._drivers()}
        if len(set(found.values())) > 1:
            shown = ", ".join(f"{name} {firmware}" for name, firmware in found.items())
            raise CardFailure(f"dut: ports run different firmware: {shown}; wanted: the same on all")
        if None in found.values():
            raise Undecided(f"dut: none of {', '.join(found)} reports a firmware version")

    @keyword
    def loaded_driver_should_be_the_installed_one(self) -> None:
        """The driver in memory was built from the same source as the module file that the next boot will load."""
        module = self._driver().module
        host = self.run.server(Role.DUT).host
        loaded, installed = host.loaded_module(module), host.modinfo(module)
        if loaded is None:
            raise CardFailure(f"dut: driver {module} is not loaded")
        same = host.is_build_on_disk(module)
        for field in ("srcversion", "version"):
            in_memory, on_disk = getattr(loaded, field), getattr(installed, field)
            logger.info(f"{field}: {in_memory} loaded, {on_disk} installed")
            if in_memory != on_disk:
                raise CardFailure(
                    f"dut: driver {module} in memory has {field} {in_memory}, {installed.filename} has {on_disk}"
                )
        if same is False:
            raise CardFailure(f"dut: driver {module} in memory is of another build than {installed.filename}")
        if same is None and loaded.srcversion is None and loaded.version is None:
            raise Undecided(f"dut: driver {module} tells neither build id nor source version nor version")

    @keyword
    def driver_should_be_loaded(self) -> None:
        """The driver on the sheet is in memory, and bound to every port."""
        module, host = self._driver().module, self.run.server(Role.DUT).host
        if host.loaded_module(module) is None and not host.modinfo(module).built_in:
            raise CardFailure(f"dut: driver {module} is not loaded after boot, sheet {_sheet()} wants it at boot")
        fail_with(self._bound_to_others(module, " after boot"))

    @keyword
    def driver_should_be_the_systems_own(self) -> None:
        """The driver came with the system, drives every port, and no step has installed it (CHE-03).

        Skips the test where the sheet names a package of it, or no driver that comes with the system.
        """
        driver, system = self._driver(), self._system().value
        if not driver.in_kernel or driver.package is not None:
            what = "a package of" if driver.package is not None else "no driver that comes with the system beside"
            raise NotApplicable(f"sheet {_sheet()} names {what} {driver.module} for {system}")
        host = self.run.server(Role.DUT).host
        file, problems = host.modinfo(driver.module), list[str]()
        if file.filename is not None and not host.is_own_module(file.filename):
            problems.append(f"dut: module {driver.module} is {file.filename}, wanted the system's own")
        if host.loaded_module(driver.module) is None and not file.built_in:
            fail_with(
                [*problems, f"dut: driver {driver.module} is not loaded, sheet {_sheet()} wants no step for that"]
            )
        fail_with([*problems, *self._bound_to_others(driver.module)])

    @keyword
    def reload_driver(self, server: Role = Role.DUT) -> None:
        """Unload the driver of a server and load it again. Links and addresses are lost; see `Ready The Bench`.

        A driver of the dut over which the kernel stumbles is a failure of the card.
        """
        run, module = self.run, self._driver().module
        target = run.server(server)
        undo = Action(ActionKind.SHELL, target.name, target.host.loading_driver(module))
        entry = run.journal.register(target.name, f"driver {module} is unloaded", undo)
        mark = target.host.dmesg_mark()
        try:
            target.host.reload_driver(module)
        except (ConnectionLost, CommandTimeout):
            raise
        except BenchFault as error:
            words = [line.text for line in target.host.dmesg_since(mark) if sign_of(line.text)]
            if server is not Role.DUT or not words:
                raise
            said = f"{error}; the kernel said: {'; '.join(words)}"
            raise CardFailure(f"dut: driver {module} cannot be loaded anew: {said}") from error
        run.journal.done(entry)

    # --- PCI Express

    @keyword
    def pcie_link_should_be_as_on_the_sheet(self) -> None:
        """The narrowest and slowest link from the root port to every port is as wide and fast as the sheet says.

        The negotiated state (LnkSta) of both ends counts, never what the slot looks like or could do (EMX-01, CARD-03).
        """
        card, problems = self.run.card, []
        wish = card.pcie_link()
        width, speed_gts = card.known(wish.width, "pcie.width"), card.known(wish.speed_gts, "pcie.speed_gts")
        for port in self.run.ports(Role.DUT):
            path = self.run.server(Role.DUT).host.pcie_path(port.pci)
            if not path:
                raise Undecided(f"{port.place}: no PCI Express link above it could be read")
            for link in path:
                logger.info(f"{port.name}: {_shown(link)}")
            narrowest, slowest = min(path, key=lambda link: link.width), min(path, key=lambda link: link.gts)
            if narrowest.width != width:
                found = f"x{narrowest.width} ({_shown(narrowest)})"
                problems.append(f"{port.place} trained to {found}, sheet {_sheet()} wants x{width}")
            if slowest.gts != speed_gts:
                found = f"{slowest.gts:g} GT/s ({_shown(slowest)})"
                problems.append(f"{port.place} trained to {found}, sheet {_sheet()} wants {speed_gts:g} GT/s")
        fail_with(problems)

    # --- what is asked

    @staticmethod
    def _serial_numbers(role: Role) -> dict[str, str]:
        """Serial number -> the first port that shows it."""
        run, found = current(), dict[str, str]()
        for port in run.ports(role):
            device = run.server_of(port).host.pci_device(port.pci)
            for serial in (device.serial_number, device.vpd.serial_number if device.vpd else None):
                if serial:
                    found.setdefault(serial, port.place)
        return found

    def _bound_to_others(self, module: str, when: str = "") -> list[str]:
        """The ports of the dut that another driver drives, or none."""
        names = self.run.server(Role.DUT).host.drivers_of(module)
        return [
            f"{port.place} has driver {device.driver}{when}, sheet {_sheet()} wants {module}"
            for port, device in self._devices()
            if device.driver not in names
        ]

    @staticmethod
    def _system() -> OperatingSystem:
        return current().server(Role.DUT).description.os

    def _driver(self) -> Driver:
        return self.run.card.driver(self._system())

    @staticmethod
    def _devices() -> list[tuple[Port, PciDevice]]:
        ports, host = current().ports(Role.DUT), current().server(Role.DUT).host
        return list(zip(ports, side_by_side(lambda port: host.pci_device(port.pci), ports), strict=True))

    @staticmethod
    def _drivers() -> list[tuple[Port, DriverInfo]]:
        run = current()
        ports, host = run.ports(Role.DUT), run.server(Role.DUT).host
        infos = side_by_side(lambda port: host.driver_info(run.interface(port)), ports)
        return list(zip(ports, infos, strict=True))


def _sheet() -> str:
    return current().card.name


def _shown(link: PcieLink) -> str:
    return f"{link.upstream.slot} to {link.downstream.slot}: x{link.width} at {link.gts:g} GT/s"


def _version(text: str) -> str:
    """The version in a firmware string that holds more, as the sheet says it is built."""
    return current().card.firmware.read(text).version


def _judge_versions(
    what: str,
    found: list[tuple[Port, str | None]],
    lists: VersionLists,
    wanted: str = "",
    read: Callable[[str], str] = str,
) -> None:
    """Every port's version against ``lists``. One that is wrong counts more than one that cannot be judged.

    :param wanted: what a wrong version is told against, instead of the sheet.
    :param read: gets the version out of what the port reports.
    """
    problems, unjudged = [], []
    for port, version in found:
        if version is None:
            unjudged.append(f"{port.place} reports no {what} version")
            continue
        try:
            verdict = lists.verdict(read(version))
        except Undecided as error:
            unjudged.append(f"{port.place}: {what}: {error}")
            continue
        if verdict not in (VersionVerdict.REQUIRED, VersionVerdict.ALLOWED):
            said = "forbids it" if verdict is VersionVerdict.FORBIDDEN else "neither requires nor allows it"
            problems.append(f"{port.place} runs {what} {version}, {wanted or f'sheet {_sheet()} {said}'}")
    fail_with(problems)
    if unjudged:
        raise Undecided("\n".join(unjudged))
