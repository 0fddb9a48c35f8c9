"""The plan of one exchange of crafted frames: what is sent, who receives it, and what must become of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from niclab.bench.records import Port, Role
from niclab.frames.frame_content import ETHERTYPE, LEAST

UDP_PORT = 7113
EVERY_PROTOCOL = 3
"""``ETH_P_ALL`` of Linux."""
ETHERNET_HEADER = 14
SHORTEST_FRAME = 60
"""Without FCS (IEEE 802.3-2018, 4A.4.2)."""
SHORTEST_TCP_FRAME = ETHERNET_HEADER + 40 + LEAST
QUIET_S, LIMIT_S, LONGEST_S = 2.0, 90.0, 1800.0
"""An exchange ends when nothing has come for so long, or after so long; the last is of one that is stopped."""


class FrameKind(Enum):
    """The content of a frame: a payload alone, in UDP, or in a SYN of TCP; the latter two in IPv4."""

    ETHERNET = "ethernet"
    UDP = "udp"
    TCP = "tcp"


class Wrong(Enum):
    """The deliberate error of a frame. ``FCS``: its last four bytes are no FCS, where the sender's driver can."""

    NOTHING = ""
    IP = "ip"
    TRANSPORT = "transport"
    FCS = "fcs"


class MadeBy(Enum):
    """The maker of the frames: the tool, or the sender's system for a socket of UDP or TCP."""

    RAW = "raw"
    UDP = "udp"
    TCP = "tcp"


class Arrives(Enum):
    """The expected arrival of a stream's frames at one place.

    ``SOME``: any number may be lost, as under load or while a port restarts, and nothing else may happen to them.
    """

    ALL = "all"
    SOME = "some"
    NONE = "none"
    ANY = "any"


@dataclass(frozen=True)
class FrameSpec:
    """The frames of a stream.

    Attributes:
        source: MAC address.
        destination: MAC address.
        kind: What is inside.
        vlans: The 16 bits of each tag of 802.1Q, the outer one first: priority, and VLAN id; see :func:`tag`.
        wrong: What is wrong on purpose. IPv6 has no checksum of its header.
        addresses: Addresses of sender and receiver, of IPv4 or IPv6, for UDP and TCP.
        port: Port number at both ends, for UDP and TCP.
        extensions: Number of extension headers of IPv6, 0 to 2: destination options, and hop-by-hop options.
        connections: The frames take in turn so many pairs of addresses and sender's ports. More than one: no system has
            the addresses, so that none answers; order is kept within each alone.
    """

    source: str
    destination: str
    kind: FrameKind = FrameKind.ETHERNET
    vlans: tuple[int, ...] = ()
    wrong: Wrong = Wrong.NOTHING
    addresses: tuple[str, str] = ("", "")
    port: int = UDP_PORT
    extensions: int = 0
    connections: int = 1

    def words(self) -> dict[str, Any]:
        """As the program reads it."""
        return {
            "source": self.source,
            "destination": self.destination,
            "kind": self.kind.value,
            "vlans": self.vlans,
            "wrong": self.wrong.value,
            "from": self.addresses[0],
            "to": self.addresses[1],
            "port": self.port,
            "extensions": self.extensions,
            "connections": self.connections,
        }


@dataclass(frozen=True)
class FrameStream:
    """A flow of numbered frames from one port to another.

    Attributes:
        name: What it is, for messages.
        sender: Port that sends.
        receiver: Port that is to receive.
        count: Number of frames; of records, where the system makes the frames. 0: until the exchange is stopped.
        sizes: Bytes of the frames without FCS, taken in turn; of the records, where the system makes the frames.
        frame: The frames; None where the system makes them.
        made_by: Who makes the frames.
        addresses: IPv4 addresses of sender and receiver, where the system makes the frames.
        at_port: What must arrive at the receiving port.
        at_program: What must arrive at a program that listens on the receiver.
        per_s: Frames a second; 0: as fast as the sender can.
        mss: Maximum segment size of TCP in bytes, where the system makes the frames; 0: that of the path. The same for
            all streams of an exchange that is captured.
        pieces: Bytes of the pieces, taken in turn, in which each record over TCP lies in the sender's memory, each
            at another place of its page; empty: whole, in a program's memory, out of which the system copies it.
        tags: The tags that the frames have on the wire, as of :class:`FrameSpec`, and arrive with, where the sending
            port inserts them; None: those they are made with, which the receiving port may remove.
        in_order: Must frames arrive in the order in which they are sent?
    """

    name: str
    sender: Port
    receiver: Port
    count: int
    sizes: tuple[int, ...]
    frame: FrameSpec | None = None
    made_by: MadeBy = MadeBy.RAW
    addresses: tuple[str, str] = ("", "")
    at_port: Arrives = Arrives.ALL
    at_program: Arrives = Arrives.ANY
    per_s: float = 0
    mss: int = 0
    pieces: tuple[int, ...] = ()
    tags: tuple[int, ...] | None = None
    in_order: bool = True

    @property
    def tags_on_the_wire(self) -> tuple[int, ...]:
        """The 16 bits of each tag that its frames have between the ports, the outer one first."""
        made_with = self.frame.vlans if self.frame else ()
        return made_with if self.tags is None else made_with or self.tags

    @property
    def tags_on_arrival(self) -> str:
        """The tags that its frames must arrive with, as the receiver says them: ``3.9``; empty for none."""
        made_with = self.frame.vlans if self.frame else ()
        return ".".join(map(str, made_with if self.tags is None else self.tags))

    @property
    def refusals(self) -> int:
        """The connections that the receiver's system refuses: each frame of TCP with right sums asks for one."""
        frame = self.frame
        is_asked = frame and frame.kind is FrameKind.TCP and frame.wrong is Wrong.NOTHING and frame.connections == 1
        return self.count if is_asked else 0

    @property
    def is_to_group(self) -> bool:
        """Are its frames to a group, or to all? A switch passes them on to every port."""
        return self.frame is not None and bool(int(self.frame.destination[:2], 16) & 1)

    @property
    def program(self) -> MadeBy | None:
        """The socket on which a program of the receiver listens for it; None: no program does."""
        if self.made_by is not MadeBy.RAW:
            return self.made_by
        udp = self.frame is not None and self.frame.kind is FrameKind.UDP
        return MadeBy.UDP if udp and self.at_program is not Arrives.ANY else None


@dataclass(frozen=True)
class PortModes:
    """The frames that a port receives in addition to those to its own address, while the exchange lasts.

    Attributes:
        promiscuous: Everything.
        all_multicast: Every multicast address.
        groups: These multicast addresses.
        addresses: These unicast addresses.
    """

    promiscuous: bool = False
    all_multicast: bool = False
    groups: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True)
class FramePlan:
    """An exchange. Flow n is ``streams[n]``.

    Attributes:
        streams: What is sent, all at once.
        modes: Modes of ports; the others have none.
        alone: Nothing else is sent meanwhile. Then whatever arrives at a port is looked at and counted.
        captured: Packets of UDP and TCP are captured at every port, as its driver is given them and hands them over.
    """

    streams: tuple[FrameStream, ...]
    modes: Mapping[Port, PortModes] = field(default_factory=dict)
    alone: bool = True
    captured: bool = False

    @property
    def until_stopped(self) -> bool:
        """Does it last until it is stopped?"""
        return any(not each.count for each in self.streams)

    @property
    def limit_s(self) -> float:
        """After this time in s it ends by itself."""
        return LONGEST_S if self.until_stopped else LIMIT_S

    @property
    def ports(self) -> list[Port]:
        """The ports that take part, senders and receivers."""
        return sorted({port for each in self.streams for port in (each.sender, each.receiver)}, key=lambda p: p.name)

    @property
    def roles(self) -> list[Role]:
        """The servers whose ports take part."""
        return [role for role in Role if any(port.role is role for port in self.ports)]

    @property
    def raw(self) -> bool:
        """Does the tool make all frames? Then they are looked at where they arrive at a port."""
        return all(each.made_by is MadeBy.RAW for each in self.streams)

    def words(self, role: Role, iface: Callable[[Port], str], token: int) -> dict[str, Any]:
        """The plan of one server, as the program reads it.

        Args:
            role: The server.
            iface: Gives the name of a port's interface.
            token: Number of this exchange.
        """
        mine = [port for port in self.ports if port.role is role]
        listened = {(each.program, self._address(each)) for each in self._received(role) if each.program}
        sends = [(flow, each) for flow, each in enumerate(self.streams) if each.sender.role is role]
        return {
            "token": token,
            "quiet_s": QUIET_S,
            "limit_s": self.limit_s,
            "until_stopped": self.until_stopped,
            "ports": [self._port_words(port, iface(port)) for port in mine],
            "listens": [
                {"over": over.value, "address": address, "port": UDP_PORT}
                for over, address in sorted(listened, key=str)
                if over is not None
            ],
            "sends": [_stream_words(flow, each, iface(each.sender)) for flow, each in sends],
            "awaits": self._awaited(role, iface),
            "captures": [self._capture_words(iface(port)) for port in mine if self.captured],
            "connections": [
                [flow, each.frame.connections] for flow, each in enumerate(self.streams) if each.frame is not None
            ],
            "refusals": [[iface(each.sender), each.refusals] for _, each in sends if each.refusals],
            "flowing": [
                [iface(each.receiver), flow]
                for flow, each in enumerate(self.streams)
                if not each.count and each.receiver.role is role
            ],
        }

    def _received(self, role: Role) -> list[FrameStream]:
        return [each for each in self.streams if each.receiver.role is role]

    @staticmethod
    def _address(stream: FrameStream) -> str:
        return stream.addresses[1] if stream.frame is None else stream.frame.addresses[1]

    def _port_words(self, port: Port, iface: str) -> dict[str, Any]:
        modes = self.modes.get(port, PortModes())
        return {
            "iface": iface,
            "protocol": EVERY_PROTOCOL if self.raw and self.alone else ETHERTYPE,
            "promiscuous": modes.promiscuous,
            "all_multicast": modes.all_multicast,
            "groups": modes.groups,
            "addresses": modes.addresses,
        }

    def _capture_words(self, iface: str) -> dict[str, Any]:
        return {"iface": iface, "port": UDP_PORT, "mss": max(each.mss for each in self.streams)}

    def _awaited(self, role: Role, iface: Callable[[Port], str]) -> list[list[object]]:
        found = list[list[object]]()
        for flow, each in enumerate(self.streams):
            if not each.count:
                continue
            if each.receiver.role is role and each.made_by is MadeBy.RAW and each.at_port is Arrives.ALL:
                found.append([iface(each.receiver), flow, each.count])
            if each.receiver.role is role and each.program and each.at_program is Arrives.ALL:
                found.append([each.program.value, flow, each.count])
        return found


def tag(vlan: int, priority: int = 0) -> int:
    """The 16 bits of a tag of 802.1Q.

    Args:
        vlan: VLAN id, 0 to 4095; 0: of none, the tag gives the priority alone.
        priority: 0 to 7.
    """
    return priority << 13 | vlan


def _stream_words(flow: int, stream: FrameStream, iface: str) -> dict[str, Any]:
    return {
        "flow": flow,
        "iface": iface,
        "count": stream.count,
        "sizes": stream.sizes,
        "per_s": stream.per_s,
        "over": stream.made_by.value,
        "frame": None if stream.frame is None else stream.frame.words(),
        "from": stream.addresses[0],
        "to": stream.addresses[1],
        "port": UDP_PORT,
        "mss": stream.mss,
        "pieces": stream.pieces,
    }
