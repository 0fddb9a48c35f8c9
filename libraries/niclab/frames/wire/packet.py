"""Headers of a captured frame, and its checksums: part of the frame program, Python 3.7 and its library only."""

from __future__ import annotations

from niclab.frames.frame_content import EXTENSIONS, IPV4, IPV6, TCP, UDP, VLAN, summed

ETHERNET = 14


class Packet:
    """The headers of a frame, as far as they can be read.

    Attributes:
        tags: 16 bits of each tag of 802.1Q, the outer one first.
        version: 4 or 6; 0: no IP.
        protocol: Of IP; 0: none, or a fragment other than the first.
        at: Begin of what Ethernet carries.
        start: Begin of the header of TCP or UDP.
        end: End of the packet by its own length; what is behind it is padding.
        is_fragment: A part of a packet of IPv4.

    Args:
        data: The frame.
        tag: The tag that the driver has handed over with it; None: none.
    """

    def __init__(self, data: bytes, tag: int | None = None) -> None:
        self.data, self.tags = data, [] if tag is None else [tag]
        self.version = self.protocol = 0
        self.is_fragment = False
        self.at, self.kind = ETHERNET, number_at(data, 12)
        while self.kind == VLAN and len(data) >= self.at + 4:
            self.tags.append(number_at(data, self.at))
            self.kind, self.at = number_at(data, self.at + 2), self.at + 4
        self.start = self.end = len(data)
        if self.kind == IPV4 and len(data) >= self.at + 20:
            self._read_4()
        elif self.kind == IPV6 and len(data) >= self.at + 40:
            self._read_6()

    def _read_4(self) -> None:
        data, at = self.data, self.at
        self.version, self.protocol = 4, data[at + 9]
        self.start, self.end = at + 4 * (data[at] & 15), at + number_at(data, at + 2)
        place = number_at(data, at + 6)
        self.is_fragment = bool(place & 0x3FFF)
        if place & 0x1FFF:
            self.protocol = 0

    def _read_6(self) -> None:
        data, at = self.data, self.at
        self.version, self.protocol = 6, data[at + 6]
        self.start, self.end = at + 40, at + 40 + number_at(data, at + 4)
        while self.protocol in EXTENSIONS and len(data) >= self.start + 8:
            self.protocol, self.start = data[self.start], self.start + 8 + 8 * data[self.start + 1]

    @property
    def over(self) -> str:
        """``tcp4``, ``udp6`` and so on; empty for what has no header of TCP or UDP that can be read."""
        names = {TCP: ("tcp", 20), UDP: ("udp", 8)}
        name, least = names.get(self.protocol, ("", 0))
        return f"{name}{self.version}" if name and len(self.data) >= self.start + least else ""

    @property
    def addresses(self) -> bytes:
        """Addresses of sender and receiver, of IP."""
        first, last = (12, 20) if self.version == 4 else (8, 40)
        return self.data[self.at + first : self.at + last]

    @property
    def ports(self) -> tuple[int, int]:
        """Port numbers of sender and receiver, of TCP or UDP."""
        return number_at(self.data, self.start), number_at(self.data, self.start + 2)

    @property
    def flags(self) -> int:
        """The flags of TCP."""
        return self.data[self.start + 13]

    @property
    def payload(self) -> bytes:
        """The data of TCP or UDP."""
        header = 8 if self.protocol == UDP else 4 * (self.data[self.start + 12] >> 4)
        return self.data[self.start + header : self.end]

    @property
    def is_cut(self) -> bool:
        """Is the frame shorter than the packet says?"""
        return len(self.data) < self.end

    @property
    def has_wrong_header(self) -> bool:
        """Is the checksum of the header of IPv4 wrong?"""
        return self.version == 4 and summed(self.data[self.at : self.at + 4 * (self.data[self.at] & 15)]) != 0xFFFF

    @property
    def wrong_sum(self) -> str:
        """The fault of the checksum of TCP or UDP, in words; empty: none. Of UDP over IPv4 0 means none."""
        place = self.start + (6 if self.protocol == UDP else 16)
        found = number_at(self.data, place)
        if not found and self.over == "udp4":
            return ""
        if not found and self.over == "udp6":
            return "no checksum, which IPv6 demands"
        rest = self.data[self.start : place] + b"\0\0" + self.data[place + 2 : self.end]
        size = self.end - self.start
        right = ~summed(self.addresses + bytes((0, self.protocol)) + size.to_bytes(2, "big") + rest) & 0xFFFF
        if found in (right, right or 0xFFFF):
            return ""
        return f"checksum 0x{found:04x}, right is 0x{right:04x}"


def number_at(data: bytes, at: int) -> int:
    """Two bytes as a number."""
    return int.from_bytes(data[at : at + 2], "big")
