"""Defects of virtual cards: what each offends, and how it gets into a card's memory.

The words of ``card/mailbox.h`` say which defects a card can have; this table says which requirement each offends, and
adds what needs no defect of the silicon because it is content of the memory: firmware, serial numbers, MAC addresses.
"""

from __future__ import annotations

import json
from pathlib import Path

import nvram
from layout import Bench, Port, Server
from nvram import Memory, Place
from wholefile import write_whole

OFFENDS = {
    "link-width": "CARD-03, EMX-01 negotiated width",
    "link-gen": "CARD-03 negotiated speed",
    "link-width-loaded": "CARD-03 width under load",
    "link-width-cold": "CARD-03 width after a power cycle",
    "aer-correctable": "CARD-03 error counters",
    "vanish": "CARD-07 recovery",
    "flash-fails": "CARD-02, EMX-04 firmware update",
    "flash-accepts": "CARD-02 wrong images are refused",
    "reset-never-returns": "CARD-15 a port that was reset has its link again",
    "mac-lost": "CARD-15 a port comes back with its identity",
    "mac-boots": "CARD-17 a port has the same identity after every start",
    "eeprom-flips": "CARD-18 the EEPROM is read right",
    "look-drops-link": "CARD-18 a look into the card leaves its links",
    "flash-forgets": "CARD-02 a flashed version becomes active",
    "flash-cut-bricks": "CARD-02 a write that power loss cuts off can be repeated",
    "default-rx-ring": "DEL-01 default rings",
    "default-tx-ring": "DEL-01 default rings",
    "default-rx-usecs": "EMX-05, NFS-06 default coalescing",
    "feature-stuck-off": "EMX-06 an offload can be switched on",
    "feature-stuck-on": "EMX-06 an offload can be switched off",
    "feature-lie": "CARD-06 the effect of an offload, by counters",
    "feature-unfixed": "EMX-06 what is fixed cannot be changed",
    "tso-without-csum": "EMX-06 clearing TXCSUM clears TSO",
    "ring-kills-link": "DEL-02 rings can be changed",
    "coalesce-ignored": "SUS-03 coalescing against latency",
    "mtu-degrades": "EMX-08 the MTU erratum",
    "jumbo-drop": "EMX-07 jumbo frames arrive",
    "vlan-slow": "SUS-07 throughput on a VLAN",
    "vlan-wrong-tag": "CARD-05 tagging",
    "vlan-leak": "CARD-05 isolation",
    "csum-fragments": "NFS-03 checksums of fragmented UDP",
    "rx-reorder": "CARD-09, SUS-04 receive order",
    "queue-hang": "CARD-06 every queue carries traffic",
    "carrier-stuck": "CARD-04 carrier loss is seen",
    "carrier-delay": "CARD-04 carrier loss in time",
    "link-flap": "CARD-04 a link that is up stays up",
    "frame-rate-cap": "NFS-01 frame-rate limit",
    "rx-drop": "DEL-04 retransmissions; counters are conserved",
    "tx-slow": "CARD-06, CHE-01 throughput, each direction",
    "rx-slow": "CARD-06, CHE-01 throughput, each direction",
    "oops-on-unload": "CARD-01 driver removal",
    "settings-lost": "CARD-12 settings survive down and up",
    "no-link": "CARD-04 link",
    "selftest-fails": "CARD-12 the card's own test",
    "rx-flip": "CARD-09 data arrive unchanged",
    "rx-twice": "CARD-09 each frame arrives once",
    "rx-cut": "CARD-09 frames arrive whole",
    "csum-accepted": "CARD-09 wrong checksums are refused",
    "filter-leak": "CARD-10 frames for others are refused",
    "mac-stays": "CARD-10 a changed MAC address is the only one",
    "promisc-stays": "CARD-10 promiscuous mode ends",
    "groups-lost": "CARD-10 every group that was joined is received",
    "rx-uncounted": "CARD-09 counters agree with what arrived",
    "pause-ignored": "SUS-08, CARD-12 pause frames can be set",
    "tx-flip": "CARD-09 data arrive unchanged",
    "tx-csum-last": "CARD-09 checksums are right on the wire",
    "tx-csum-odd": "CARD-09 checksums are right on the wire",
    "tx-twice": "CARD-09 each frame arrives once",
    "sg-aligned": "NFS-06 data are gathered from wherever they lie",
    "pad-foreign": "CARD-09 a short frame carries nothing but its own bytes",
    "tag-priority-lost": "CARD-09 tags arrive as they were sent",
    "bytes-short": "CARD-09 counters agree with what arrived",
    "counter-wraps": "CARD-09 counters agree with what arrived",
    "rx-burst": "CARD-11 full load is carried without a stall",
    "hash-stuck": "CARD-06 every queue carries traffic",
    "queue-dead": "CARD-06 every queue carries traffic",
    "vector-lost": "CARD-13 every queue raises its own interrupt",
    "rule-mask-ignored": "CARD-13 a rule steers its own flow alone",
    "rule-stays": "CARD-13 a rule that was deleted steers no flow",
    "toe-ignored": "CHE-01 connections are the card's with TCP offload",
    "ddp-off": "CHE-01 received data are placed directly",
    "table-entry-lost": "CARD-06 every queue carries the traffic it is given",
    "rx-pause-ignored": "CARD-16 a port that is asked to pause does",
    "rx-pause-stays": "CARD-16 a port that is not to pause does not",
    "pause-storm": "CARD-04 a link that is up carries traffic",
    "tx-pause-never": "CARD-16 a full port asks for silence",
    "tx-pause-off-sends": "CARD-16 a port that is not to ask for silence does not",
    "irq-lost": "CARD-14 frames are handed over in time",
    "latency-spike": "CARD-14 frames are handed over in time",
    "clock-backwards": "CARD-20 the clock goes forward",
    "clock-set-off": "CARD-20 the clock takes a time",
    "clock-ignores-adjust": "CARD-20 the clock takes a rate",
    "stamp-stale": "CARD-20 a frame has its own time stamp",
    "optics-stale": "CARD-04 the received power follows the light",
    "optics-misread": "CARD-04 the module is read right",
    "degrade": "CARD-11 full load is carried for hours",
    "rx-mode-ignored": "CARD-10 a port receives every group, or everything, when asked to",
    "vlan-word-dead": "CARD-10 a port receives the VLANs that it is in",
    "ring-leaks": "DEL-07 memory of rings comes back",
    "reload-leaks": "CARD-01 a driver that is loaded again and again loses no memory",
    "coalesce-coarse": "NFS-06 times of coalescing hold frames in proportion",
    "adaptive-stuck": "NFS-06 coalescing adapts to the load",
    "feature-slow": "DEL-02, NFS-03, SUS-04, SUS-05, EMX-07 what an offload or jumbo frames cost",
}
"""Fault word -> requirement. A word of ``mailbox.h`` that is not here is an error, told by a test."""

CONTENT = {
    "firmware": ("version", "the port runs firmware of this version", "EMX-03, EMX-04, CARD-02 firmware version"),
    "same-serial": (None, "the serial number of the other server's card, from its next power-on", "EMX-03 identity"),
    "same-mac": (
        None,
        "every port has the MAC address of the first, from the next power-on",
        "EMX-03 identity, wiring proof",
    ),
}
"""Defects that are content of the memory: name -> what the value means, effect, requirement."""


KEPT = ".healthy"


class CardFaultError(Exception):
    """No such card, port or value."""


def set_word(bench: Bench, where: str, name: str, value: float) -> None:
    """Put a defect of ``mailbox.h`` into a card (``dut``) or one of its ports (``dut.p0``).

    Raises:
        CardFaultError: When there is no such card or port, or the value is no whole number above 0.
    """
    word = nvram.words()[name]
    server, ports = _place(bench, where)
    if word.whole_slot and "." in where:
        raise CardFaultError(f"{name} is a defect of the whole card; expected card:{server.role}")
    if not 0 < value < 1 << 32 or value != int(value):
        raise CardFaultError(f"card:{where}: {name} is {value:g}; expected a whole number above 0 ({word.meaning})")
    with nvram.opened(server.nvram) as memory:
        for port in ports:
            memory.set_u32(nvram.fault_at(port.place.slot, port.place.port, word), int(value))
        memory.changed()


def set_content(bench: Bench, where: str, name: str, text: str) -> None:
    """Change what is in a card's memory; what stood there is kept for :func:`clear`.

    Raises:
        CardFaultError: When there is no such card or port.
    """
    server, ports = _place(bench, where)
    with nvram.opened(server.nvram) as memory:
        _keep(server, memory)
        if name == "firmware":
            for port in ports:
                memory.set_string(nvram.at(port.place.slot, port.place.port, "FW_ACTIVE"), text)
        elif name == "same-serial":
            (other,) = (one for one in bench.servers if one is not server)
            memory.set_string(nvram.slot_at(0, "SERIAL"), other.serial)
        else:
            for port in ports:
                memory.set_mac(port.place.slot, port.place.port, server.ports[0].mac)
        memory.changed()


def clear(server: Server) -> None:
    """Make every card that the server has ever carried healthy again."""
    for path in server.folder.glob("nvram-*"):
        if path.name.endswith((KEPT, ".new")):
            continue
        with nvram.opened(path) as memory:
            known = nvram.constants()
            for slot in range(known["SLOTS"]):
                for port in range(known["PORTS"]):
                    for number in range(known["FAULT_WORDS"]):
                        memory.set_u32(nvram.at(slot, port, "FAULTS") + 4 * number, 0)
            _put_back(_kept(path), memory)
            memory.changed()


def _place(bench: Bench, where: str) -> tuple[Server, list[Port]]:
    """The server and the ports that ``dut`` or ``dut.p0`` means."""
    role, _, name = where.partition(".")
    servers = [server for server in bench.servers if server.role == role]
    if not servers:
        raise CardFaultError(f"no server {role!r}; there are {', '.join(server.role for server in bench.servers)}")
    server = servers[0]
    if not server.card.virtual:
        raise CardFaultError(f"{role} carries {server.card.name}, which has no such defects: put a virtual card in")
    if not server.nvram.exists():
        raise CardFaultError(f"the {server.card.name} of {role} has never had power: bring the bench up first")
    ports = [port for port in server.ports if name in ("", port.name)]
    if not ports:
        names = ", ".join(port.name for port in server.ports)
        raise CardFaultError(f"the card of {role} has no port {name!r}; there are {names}")
    return server, ports


def _kept(path: Path) -> Path:
    return path.with_name(path.name + KEPT)


def _keep(server: Server, memory: Memory) -> None:
    """Note what the memory holds now, unless a defect has changed it already."""
    file = _kept(server.nvram)
    if file.exists():
        return
    ports = [
        {
            "slot": port.place.slot,
            "port": port.place.port,
            "mac": memory.mac(port.place.slot, port.place.port),
            "firmware": memory.string(nvram.at(port.place.slot, port.place.port, "FW_ACTIVE")),
        }
        for port in server.ports
    ]
    write_whole(file, json.dumps({"serial": memory.string(nvram.slot_at(0, "SERIAL")), "ports": ports}))


def _put_back(file: Path, memory: Memory) -> None:
    if not file.exists():
        return
    healthy = json.loads(file.read_text())
    memory.set_string(nvram.slot_at(0, "SERIAL"), healthy["serial"])
    for entry in healthy["ports"]:
        place = Place(entry["slot"], entry["port"])
        memory.set_mac(place.slot, place.port, entry["mac"])
        memory.set_string(nvram.at(place.slot, place.port, "FW_ACTIVE"), entry["firmware"])
    file.unlink()
