"""Linux host: PCI functions, their links and error counters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.command_words import pci_address
from niclab.hosts.errors import NoDevice, NoInterface, ReadError, unreadable
from niclab.hosts.host_commands import HostCommands, words_of
from niclab.hosts.host_records import PciDevice, PcieLink
from niclab.hosts.pci.aer import read_aer_classes, read_reach
from niclab.hosts.pci.common import chosen_interface, links_of, pci_id
from niclab.hosts.pci.lspci import read_lspci
from niclab.hosts.pci.sysfs_links import read_sysfs_speed_gts, read_sysfs_width
from niclab.hosts.reading import numbered
from niclab.hosts.settings.settings_records import AerCounters

_PCI = "/sys/bus/pci"

_DETACH_TIMEOUT_S = 60

_RESET_TIMEOUT_S = 120
"""The kernel waits a minute for a function that does not answer after a reset (PCIE_RESET_READY_POLL_MS, pci.c)."""

_NO_WAY = "Inappropriate ioctl"
"""ENOTTY of pci_reset_function(): none of the ways fits the function, or the others on its bus."""

_DEVICES = "/sys/bus/pci/devices"
_ABSENT = "absent"

_ATTRIBUTES = (
    "vendor",
    "device",
    "subsystem_vendor",
    "subsystem_device",
    "max_link_speed",
    "max_link_width",
    "current_link_speed",
    "current_link_width",
)

_ATTRIBUTE_LINE = re.compile(r"([a-z_]+)=(.*)")

_SYSFS_ID = re.compile(r"0x([0-9a-f]{4})")

_PATH_ELEMENT = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_PATH_PATTERN = "*:??:??.?"

_SHOW_DEVICE = (
    f"cd {_DEVICES}/$s || exit; echo slot=$s;"
    f" for f in {' '.join(_ATTRIBUTES)}; do v=; if [ -e $f ] && ! read -r v < $f; then v=unreadable; fi;"
    ' echo "$f=$v"; done; d=$(readlink driver); echo "driver=${d##*/}"; lspci -vvnn -D -s $s || exit'
)
"""Shows the device of the shell's variable ``s``."""

# Ports that look down: the upper end of a link.
_DOWNSTREAM_FACING = ("Root Port", "Downstream Port", "PCI/PCI-X to PCI-Express Bridge")

_COMPARED = (
    "vendor_id",
    "device_id",
    "subvendor",
    "subdevice",
    "driver",
    "lnkcap_gts",
    "lnkcap_width",
    "lnksta_gts",
    "lnksta_width",
)


class LinuxPci(HostCommands):
    """See :class:`niclab.hosts.host.HostPci` for the meaning of each method."""

    def detach_driver(self, address: str) -> None:
        """Take the driver from a PCI function, and see that it has none. Its interfaces are gone then."""
        device = f"{_PCI}/devices/{pci_address(self.name, address)}"
        look = f"if [ -e {device}/driver ]; then echo bound; else echo free; fi"
        command = f"echo {address} > {device}/driver/unbind && {look}"
        answer = self._run(command, timeout_s=_DETACH_TIMEOUT_S).strip()
        if answer != "free":
            raise BenchFault(f"{self.name}: {address} is {answer!r} after its driver was unbound; expected free")

    def remove_function(self, address: str) -> None:
        """Remove a PCI function from the bus, and see that it is gone. A rescan finds it again."""
        device = f"{_PCI}/devices/{pci_address(self.name, address)}"
        command = f"echo 1 > {device}/remove && if [ -e {device} ]; then echo there; else echo gone; fi"
        answer = self._run(command, timeout_s=_DETACH_TIMEOUT_S).strip()
        if answer != "gone":
            raise BenchFault(f"{self.name}: {address} is {answer!r} after it was removed from the bus; expected gone")

    def can_reset_function(self, address: str) -> bool:
        """Does the kernel know a way to reset this function alone?"""
        command = f"if [ -e {_PCI}/devices/{pci_address(self.name, address)}/reset ]; then echo yes; else echo no; fi"
        return self._run(command).strip() == "yes"

    def reset_function(self, address: str) -> str | None:
        """Reset a function that has no driver. A driver need not know that its card is reset by somebody else.

        Returns:
            The words of the refusal; None when it was reset.

        Raises:
            NotApplicable: The kernel knows no way to reset it after all.
        """
        command = f"echo 1 > {_PCI}/devices/{pci_address(self.name, address)}/reset"
        result = self._try(command, timeout_s=_RESET_TIMEOUT_S)
        if _NO_WAY in result.stderr:
            raise NotApplicable(f"{self.name}: `{command}`: {words_of(result)}")
        return None if result.exit_status == 0 else words_of(result)

    def functions(self, vendor_id: str, device_id: str) -> tuple[str, ...]:
        """Addresses of every PCI function with these ids."""
        ids = ":".join(pci_id(self.name, one) for one in (vendor_id, device_id))
        lines = self._run(f"lspci -Dn -d {ids}").splitlines()
        return tuple(pci_address(self.name, line.split()[0]) for line in lines if line.strip())

    def device(self, address: str) -> PciDevice:
        """The device as lspci and sysfs describe it; what only one of them says is taken from that one.

        Raises:
            ReadError: When the two disagree about ids, driver or link.
            BenchFault: When there is no such device, or lspci may not read its capabilities.
        """
        return self._devices([pci_address(self.name, address)])[0]

    def driver(self, address: str) -> str | None:
        """Name of the driver that is bound to a function; None when none is. Costs far less than :meth:`device`."""
        command = f'cd {_DEVICES}/{pci_address(self.name, address)} && d=$(readlink driver); echo "${{d##*/}}"'
        return self._run(command).strip() or None

    def path(self, address: str) -> tuple[PcieLink, ...]:
        return links_of(self.name, address, self._chain(address), _DOWNSTREAM_FACING)

    def interface_at(self, address: str, port_index: int | None = None) -> str:
        """Name of the network interface of a PCI function.

        Args:
            address: PCI address of the function.
            port_index: Which one, for a function with several ports (Chelsio T5): the kernel's ``dev_port``.

        Raises:
            NoDevice: When there is no such function.
            NoInterface: When the function has none.
        """
        pci_address(self.name, address)
        # A virtio card has its interface below the virtio device, one level deeper. A glob without a match stays as
        # it is written, which is no existing directory.
        command = (
            f"[ -d {_DEVICES}/{address} ] || {{ echo {_ABSENT}; exit; }};"
            f" cd {_DEVICES}/{address} && for d in net/* virtio*/net/*;"
            ' do if [ -d "$d" ]; then read -r port < "$d/dev_port"; echo "${d##*/}=$port"; fi; done'
        )
        ports = self._read(command, _read_ports)
        if ports is None:
            raise NoDevice(f"{self.name}: there is no PCI device at {address}")
        if not ports:
            driver = self.driver(address)
            state = f"driver {driver} is bound but made none" if driver else "no driver is bound"
            raise NoInterface(f"{self.name}: {address} has no network interface: {state}; dmesg may say why")
        return chosen_interface(self.name, address, ports, port_index)

    def _chain(self, address: str) -> list[PciDevice]:
        """Each device from the port on the root bus down to ``address``, in one command."""
        show = f"readlink -e {_DEVICES}/{pci_address(self.name, address)}"
        command = (
            f'path=$({show}) || exit; echo "$path"; IFS=/; for s in $path; do'
            f" case $s in {_PATH_PATTERN}) {_SHOW_DEVICE} ;; esac; done"
        )
        path, _, rest = self._run(command).partition("\n")
        chain = [part for part in path.split("/") if _PATH_ELEMENT.fullmatch(part)]
        if not chain or chain[-1] != address:
            raise BenchFault(f"{self.name}: `{show}` said {path!r}; expected a path that ends with {address}")
        return self._described(chain, self._understood(command, _device_texts, rest))

    def _devices(self, addresses: Sequence[str]) -> list[PciDevice]:
        """Each device as :meth:`pci_device` describes it.

        One command for all: the path of a card that carries full traffic is read in one breath.
        """
        command = f"for s in {' '.join(addresses)}; do {_SHOW_DEVICE}; done"
        return self._described(addresses, self._read(command, _device_texts))

    def _described(
        self, addresses: Sequence[str], texts: Mapping[str, tuple[Mapping[str, str], str]]
    ) -> list[PciDevice]:
        return [self._device(address, *texts.get(address, ({}, ""))) for address in addresses]

    def _device(self, address: str, attributes: Mapping[str, str], text: str) -> PciDevice:
        command = f"lspci -vvnn -D -s {address}"
        devices = self._understood(command, read_lspci, text)
        if len(devices) != 1 or devices[0].slot != address:
            raise BenchFault(
                f"{self.name}: `{command}` showed {[device.slot for device in devices]}; expected {address}"
            )
        device = devices[0]
        if device.dead:
            return device
        if device.capabilities_readable is not True:
            raise BenchFault(f"{self.name}: `{command}` may not read the capabilities of {address}; expected root")
        sysfs = self._understood(f"cat {_DEVICES}/{address}/*", lambda _: _sysfs_device(address, attributes), text)
        return self._merged(device, sysfs)

    def _merged(self, lspci: PciDevice, sysfs: PciDevice) -> PciDevice:
        """``lspci`` with its unknown fields filled from ``sysfs``."""
        merged = lspci
        for field in _COMPARED:
            theirs, ours = getattr(lspci, field), getattr(sysfs, field)
            if theirs is not None and ours is not None and theirs != ours:
                raise ReadError(f"{field}: lspci says {theirs}, sysfs says {ours}", f"{self.name}: {lspci.slot}")
            if theirs is None and ours is not None:
                merged = replace(merged, **{field: ours})
        return merged

    def aer(self, address: str) -> AerCounters | None:
        """Errors of a PCI Express device since boot; None when device or kernel keeps no count of them.

        The files are there and stay at 0 where the device reports nothing, masks errors, or reports to firmware.

        Raises:
            NotApplicable: Nobody would count an error of it; the message says why.
            NoDevice: There is no such device.
        """
        pci_address(self.name, address)
        # an entry such as 0000:00:01.0:pcie002 is the root port's AER service with the driver that serves it
        command = (
            f"[ -d {_DEVICES}/{address} ] || {{ echo {_ABSENT}; exit; }};"
            f" cd {_DEVICES}/{address} && if [ -e aer_dev_correctable ]; then"
            f" v=$(setpci -s {address} CAP_EXP+8.w ECAP_AER+8.l ECAP_AER+14.l) || exit;"
            " p=$(readlink -f .); p=${p#*/pci*:??/}; o=;"
            ' for d in /sys/bus/pci_express/drivers/aer/${p%%/*}:*; do if [ -e "$d" ]; then o=os; fi; done;'
            ' echo devctl=$v; echo "owner=$o"; for k in correctable nonfatal fatal;'
            " do if [ -e aer_dev_$k ]; then echo class=$k; cat aer_dev_$k || exit; fi; done; fi"
        )
        text = self._run(command)
        if text.strip() == _ABSENT:
            raise NoDevice(f"{self.name}: there is no PCI device at {address}")
        reach = self._understood(command, read_reach, text)
        if reach.reason is not None:
            raise NotApplicable(f"{self.name}: PCI Express errors of {address} are not counted: {reach.reason}")
        counters = self._understood(command, read_aer_classes, reach.rest)
        return None if counters is None else replace(counters, masked=reach.masked)


def _read_ports(text: str) -> dict[str, int] | None:
    """Interface name -> dev_port, from lines ``name=0``; None where there is no such device."""
    if text.strip() == _ABSENT:
        return None
    ports: dict[str, int] = {}
    for number, line in numbered(text):
        if not line.strip():
            continue
        name, _, port = line.partition("=")
        if not port.isdecimal():
            raise unreadable("interfaces of a PCI device", f"line {number}", line, "'NAME=dev_port'")
        ports[name] = int(port)
    return ports


def _device_texts(text: str) -> dict[str, tuple[dict[str, str], str]]:
    """Address -> (sysfs attributes, text of lspci), from ``slot=ADDRESS``, ``name=value`` lines and lspci's lines."""
    found: dict[str, tuple[dict[str, str], str]] = {}
    for number, part in enumerate(re.split(r"^slot=", text, flags=re.MULTILINE)[1:], start=1):
        address, *lines = part.split("\n")
        attributes: dict[str, str] = {}
        for line in lines[: len(_ATTRIBUTES) + 1]:
            match = _ATTRIBUTE_LINE.fullmatch(line)
            if match is None:
                raise unreadable("sysfs PCI device", f"device {number}", line, "'attribute=value'")
            attributes[match[1]] = match[2].strip()
        found[address] = (attributes, "\n".join(lines[len(_ATTRIBUTES) + 1 :]))
    return found


def _sysfs_device(address: str, values: Mapping[str, str]) -> PciDevice:
    missing = [name for name in (*_ATTRIBUTES, "driver") if name not in values]
    if missing:
        raise unreadable("sysfs PCI device", address, ", ".join(values), f"also {', '.join(missing)}")
    return PciDevice(
        slot=address,
        vendor_id=_sysfs_id("vendor", values["vendor"]),
        device_id=_sysfs_id("device", values["device"]),
        subvendor=_sysfs_id("subsystem_vendor", values["subsystem_vendor"]),
        subdevice=_sysfs_id("subsystem_device", values["subsystem_device"]),
        driver=values["driver"] or None,
        lnkcap_gts=read_sysfs_speed_gts(values["max_link_speed"]),
        lnkcap_width=read_sysfs_width(values["max_link_width"]),
        lnksta_gts=read_sysfs_speed_gts(values["current_link_speed"]),
        lnksta_width=read_sysfs_width(values["current_link_width"]),
    )


def _sysfs_id(attribute: str, value: str) -> str:
    match = _SYSFS_ID.fullmatch(value)
    if match is None:
        raise unreadable("sysfs PCI device", attribute, value, "an id such as 0x8086")
    return match[1]
