"""Reader of ``/proc/net/bonding/NAME`` (Linux 4.18 to 6.x)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from niclab.core.names import Duplex
from niclab.hosts.bonds.bond_records import Aggregator, Bond, BondMember
from niclab.hosts.errors import ReadError, unreadable
from niclab.hosts.reading import filled, whole_number

_KIND = "/proc/net/bonding"
_TITLE = "Ethernet Channel Bonding Driver"
# The kernel's words (bond_mode_name in drivers/net/bonding/bond_main.c), the module option's name and number.
_MODES = {
    "load balancing (round-robin)": ("balance-rr", 0),
    "fault-tolerance (active-backup)": ("active-backup", 1),
    "load balancing (xor)": ("balance-xor", 2),
    "fault-tolerance (broadcast)": ("broadcast", 3),
    "IEEE 802.3ad Dynamic link aggregation": ("802.3ad", 4),
    "transmit load balancing": ("balance-tlb", 5),
    "adaptive load balancing": ("balance-alb", 6),
}
_FIELD = re.compile(r"\s*(NS IPv6 target/s \(xx::xx form\)|[A-Za-z0-9][^:]{0,60}?)\s*:(?:\s+(.*))?")
_MODE = re.compile(r"(.{1,60}?)(?: \(fail_over_mac ([a-z]{1,20})\))?")
_PRIMARY = re.compile(r"(\S{1,30})(?: \(primary_reselect ([a-z]{1,20})\))?")
_SPEED = re.compile(r"([0-9]{1,9}) Mbps")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5,19}")
_POLICY = re.compile(
    r"(?:layer(?:2|2\+3|3\+4|)|encap[23]\+[34]|vlan\+?src(?:mac)?|unknown)(?: \([0-9]{1,2}\))?", re.IGNORECASE
)
_FASTEST_MBPS = 10_000_000
# Sizes of the fields of an LACP frame (IEEE 802.1AX).
_GREATEST = {"Key": 65535, "Aggregator ID": 65535, "port state": 255}
# Fields whose value no kernel leaves out: an empty one is a line that was cut.
_NEVER_EMPTY = (
    *("Primary Slave", "Currently Active Slave", "Transmit Hash Policy", "LACP active", "Permanent HW addr", "Duplex"),
    *("aggregator Partner Mac Address", "actor system mac address", "partner system mac address", "Speed"),
    "System MAC address",
)
_STATUSES = ("up", "down", "going down", "going back")
# Titles of parts of their own; their fields are read under the part's name.
_PARTS = {
    "Active Aggregator Info": "aggregator",
    "details actor lacp pdu": "actor",
    "details partner lacp pdu": "partner",
}
_TITLES = re.compile(r"802\.3ad info|bond \S{1,30} has no active aggregator")


@dataclass
class _Part:
    """Fields of the bond or of one slave: name -> line number and value."""

    fields: dict[str, tuple[int, str]] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """The value; None when missing, empty, None or N/A."""
        value = self.fields.get(name, (0, ""))[1]
        return None if value in ("", "None", "N/A", "Unknown") else value

    def count(self, name: str) -> int | None:
        value = self.text(name)
        if self.fields.get(name, (0, "None"))[1] == "":
            raise self.wrong(name, f"{name}: a whole number")
        number = None if value is None else whole_number(_KIND, self.where(name), value, name)
        greatest = next((limit for end, limit in _GREATEST.items() if name.endswith(end)), None)
        if number is not None and greatest is not None and number > greatest:
            raise self.wrong(name, f"{name}: at most {greatest}")
        return number

    def refuse_empty(self) -> None:
        for name in _NEVER_EMPTY:
            if self.fields.get(name, (0, "None"))[1] == "":
                raise self.wrong(name, f"a value of {name}: the line was cut")

    def mac(self, name: str) -> str | None:
        value = self.text(name)
        if value is not None and not _MAC.fullmatch(value):
            raise self.wrong(name, "an address such as 00:1b:21:aa:bb:cc")
        return value

    def status(self) -> str | None:
        value = self.fields["MII Status"][1] if "MII Status" in self.fields else None
        if value is not None and value not in _STATUSES:
            raise self.wrong("MII Status", f"MII Status: one of {', '.join(_STATUSES)}")
        return value

    def where(self, name: str) -> str:
        return f"line {self.fields[name][0]}" if name in self.fields else "text"

    def wrong(self, name: str, expected: str) -> ReadError:
        return unreadable(_KIND, self.where(name), self.fields.get(name, (0, ""))[1], expected)


def read_bonding(text: str) -> Bond:
    """Read one bond; fields that its mode does not have are None.

    Raises:
        ReadError: The text is no such file, or a line occurs twice.
    """
    lines = filled(text)
    name, _, version = lines[0][1].partition(":") if lines else ("", "", "")
    if name != _TITLE:
        raise unreadable(_KIND, "text", text, f"the title '{_TITLE}: vX'")
    lines = lines[1:]
    bond, slaves = _Part(), list[_Part]()
    part, prefix = bond, ""
    for number, line in lines:
        if _TITLES.fullmatch(line.strip()):
            continue
        match = _FIELD.fullmatch(line)
        if match is None:
            raise unreadable(_KIND, f"line {number}", line, "'Name: value' of one bond")
        key, value = match[1], (match[2] or "").strip()
        named = _PARTS.get(key)
        if named is not None and not value:
            prefix = named + " "
            continue
        if key == "Slave Interface":
            part = _Part()
            slaves.append(part)
        if not line[0].isspace():
            prefix = ""
        if prefix + key in part.fields or key == _TITLE:
            raise unreadable(_KIND, f"line {number}", line, f"{key} once")
        part.fields[prefix + key] = (number, value)
    if "Bonding Mode" not in bond.fields:
        raise unreadable(_KIND, "text", text, "a line 'Bonding Mode: MODE'")
    for each in (bond, *slaves):
        each.refuse_empty()
    active = bond.text("Currently Active Slave")
    if active is not None and not slaves:
        raise bond.wrong("Currently Active Slave", "the lines of this slave: the output is incomplete")
    members = tuple(_member(slave) for slave in slaves)
    if len({member.name for member in members}) < len(members):
        raise unreadable(_KIND, "text", ", ".join(member.name for member in members), "each slave once, of one bond")
    return _bond(version.strip() or None, bond, members)


def _bond(version: str | None, bond: _Part, slaves: tuple[BondMember, ...]) -> Bond:
    match = _MODE.fullmatch(bond.fields.get("Bonding Mode", (0, ""))[1])
    if "Bonding Mode" in bond.fields and (match is None or match[1] not in _MODES):
        raise bond.wrong("Bonding Mode", f"Bonding Mode: one of {', '.join(_MODES)}")
    mode_name, mode_id = _MODES[match[1]] if match else (None, None)
    primary = _PRIMARY.fullmatch(bond.fields.get("Primary Slave", (0, "None"))[1])
    if primary is None:
        raise bond.wrong("Primary Slave", "Primary Slave: 'None' or 'eth0 (primary_reselect always)'")
    return Bond(
        driver_version=version,
        mode=match[1] if match else None,
        mode_name=mode_name,
        mode_id=mode_id,
        active_slave=bond.text("Currently Active Slave"),
        primary=primary[1] if primary[1] != "None" else None,
        primary_reselect=primary[2],
        mii_status=bond.status(),
        miimon_ms=bond.count("MII Polling Interval (ms)"),
        arp_interval_ms=bond.count("ARP Polling Interval (ms)"),
        xmit_hash_policy=_policy(bond),
        aggregator=_aggregator(bond),
        slaves=slaves,
        slaves_up=sum(slave.mii_status == "up" for slave in slaves),
    )


def _policy(bond: _Part) -> str | None:
    value = bond.text("Transmit Hash Policy")
    if value is not None and not _POLICY.fullmatch(value):
        raise bond.wrong("Transmit Hash Policy", "a policy such as 'layer3+4 (1)'")
    return value


def _aggregator(bond: _Part) -> Aggregator | None:
    identity = bond.count("aggregator Aggregator ID")
    if identity is None:
        return None
    return Aggregator(
        id=identity,
        ports=bond.count("aggregator Number of ports"),
        partner_key=bond.count("aggregator Partner Key"),
        partner_mac=bond.mac("aggregator Partner Mac Address"),
    )


def _member(slave: _Part) -> BondMember:
    name = slave.text("Slave Interface")
    if name is None:
        raise slave.wrong("Slave Interface", "the name of a slave")
    if len(slave.fields) == 1:
        raise slave.wrong("Slave Interface", "lines about this slave below it: the output is incomplete")
    return BondMember(
        name=name,
        mii_status=slave.status(),
        speed_mbps=_speed(slave),
        duplex=_duplex(slave),
        mac=slave.mac("Permanent HW addr"),
        aggregator_id=slave.count("Aggregator ID"),
        partner_mac=slave.mac("partner system mac address"),
        actor_state=slave.count("actor port state"),
        partner_state=slave.count("partner port state"),
    )


def _speed(slave: _Part) -> int | None:
    value = slave.text("Speed")
    if value is None:
        return None
    match = _SPEED.fullmatch(value)
    if match is None or not 0 < int(match[1]) <= _FASTEST_MBPS:
        raise slave.wrong("Speed", "Speed: '1000 Mbps' or 'Unknown'")
    return int(match[1])


def _duplex(slave: _Part) -> Duplex | None:
    value = slave.text("Duplex")
    if value not in (None, "full", "half"):
        raise slave.wrong("Duplex", "Duplex: full, half or Unknown")
    return None if value is None else Duplex(value)
