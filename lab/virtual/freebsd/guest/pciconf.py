"""pciconf -l and -r: functions on PCI, names, regions, capabilities and registers, as releases 9 to 13 print them."""

from __future__ import annotations

import newbus
import pcicaps
from below import Refusal, run

_CLASSES = {
    0x01: ("mass storage", {0x00: "SCSI", 0x01: "ATA", 0x06: "SATA", 0x08: "NVM"}),
    0x02: ("network", {0x00: "ethernet"}),
    0x03: ("display", {0x00: "VGA"}),
    0x05: ("memory", {0x00: "RAM"}),
    0x06: ("bridge", {0x00: "HOST-PCI", 0x01: "PCI-ISA", 0x04: "PCI-PCI"}),
    0x0C: ("serial bus", {0x03: "USB", 0x05: "SMBus"}),
}
_WIDTHS = {"rb": 1, "rh": 2, "r": 4}


def pciconf(arguments: list[str]) -> int:
    letters = "".join(word[1:] for word in arguments if word.startswith("-"))
    chosen = [word for word in arguments if not word.startswith("-")]
    if letters in _WIDTHS and len(chosen) == 2:
        return _register(chosen[0], chosen[1], _WIDTHS[letters])
    if "l" not in letters or any(letter not in "lvbceV" for letter in letters) or len(chosen) > 1:
        raise Refusal(
            "usage: pciconf -l [-bcevV] [device]\n       pciconf -a device\n       pciconf -r [-b | -h] device addr"
        )
    names = newbus.pci_names()
    texts = _texts() if "v" in letters else {}
    wanted = {
        address: name
        for address, name in names.items()
        if not chosen or chosen[0] in (name, newbus.selector(address), f"{name}@{newbus.selector(address)}")
    }
    if chosen and not wanted:
        raise Refusal(f"pciconf: {chosen[0]}: device not found")
    for address in sorted(wanted, key=lambda one: [int(part, 16) for part in one.replace(".", ":").split(":")]):
        _show(address, wanted[address], letters, texts.get(address, ("", "")))
    return 0


def _register(device: str, register: str, width: int) -> int:
    """One register, as readit() of pciconf.c prints it."""
    found = [one for one, name in newbus.pci_names().items() if device in (name, newbus.selector(one))]
    if not found:
        raise Refusal("pciconf: ioctl(PCIOCREAD): Operation not supported by device")
    print(f"{newbus.word(found[0], int(register, 0), width):0{2 * width}x} ")
    return 0


def _show(address: str, name: str, letters: str, texts: tuple[str, str]) -> None:
    word = newbus.word
    header = word(address, 0x0E, 1)
    kind = header & 0x7F
    card = {0: word(address, 0x2C, 4), 1: _bridge_card(address)}.get(kind, 0xFFFFFFFF)
    print(
        f"{name}@{newbus.selector(address)}:\tclass=0x{word(address, 0x09, 3):06x} card=0x{card:08x}"
        f" chip=0x{word(address, 0, 4):08x} rev=0x{word(address, 0x08, 1):02x} hdr=0x{kind:02x}"
    )
    if kind == 0x7F:
        return  # it reads as all ones: there is nothing more to show
    if "v" in letters:
        _verbose(address, texts)
    if "b" in letters:
        _regions(address)
    if "c" in letters:
        for line in pcicaps.lines(address):
            print(line)


def _bridge_card(address: str) -> int:
    """The subsystem of a bridge is in a capability."""
    place = pcicaps.places(address).get(0x0D)
    return newbus.word(address, place + 4, 4) if place else 0


def _verbose(address: str, texts: tuple[str, str]) -> None:
    for title, text in (("vendor", texts[0]), ("device", texts[1])):
        if text:
            print(f"    {title:10} = '{text}'")
    name, subclasses = _CLASSES.get(newbus.word(address, 0x0B, 1), ("", {}))
    if name:
        print(f"    {'class':10} = {name}")
    if subclass := subclasses.get(newbus.word(address, 0x0A, 1)):
        print(f"    {'subclass':10} = {subclass}")


def _texts() -> dict[str, tuple[str, str]]:
    """Vendor and device in words, by address."""
    found = {}
    for block in run("lspci", "-Dvmm")[1].split("\n\n"):
        fields = dict(line.split(":\t", 1) for line in block.splitlines() if ":\t" in line)
        if "Slot" in fields:
            found[fields["Slot"]] = (fields.get("Vendor", ""), fields.get("Device", ""))
    return found


def _regions(address: str) -> None:
    register = 0x10
    for start, end, flags in newbus.resources(address)[:6]:
        wide = bool(flags & 0x100000)
        if end > start:
            memory = bool(flags & 0x200)
            kind = ("Prefetchable Memory" if flags & 0x2000 else "Memory") if memory else "I/O Port"
            enabled = newbus.word(address, 0x04, 2) & (2 if memory else 1)
            print(
                f"    bar   [{register:02x}] = type {kind}, range {64 if wide else 32}, base {start:#x},"
                f" size {end - start + 1}, {'enabled' if enabled else 'disabled'}"
            )
        register += 4
