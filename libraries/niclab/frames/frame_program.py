"""Sends and receives crafted frames: runs on a Linux server, sent there as source, Python 3.7 and its library only.

``FOLDER SECONDS`` prints ``ready PID`` and ends after SECONDS. At a SIGUSR1 it reads ``FOLDER/plan`` (JSON, as
``niclab.frames.spec`` writes it), opens what that names, and writes ``FOLDER/opened``; at the next one it sends and
receives, and writes ``FOLDER/result``: a JSON object a line, the last of kind ``end``, or one of kind ``error``. At a
SIGUSR2 meanwhile it waits, for the seconds in ``FOLDER/again`` at most, for one more frame of every flow that flows
until the exchange is stopped, and writes ``FOLDER/gaps``: the longest gap of each since the last time.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from niclab.frames.frame_arrivals import Arrivals
from niclab.frames.frame_content import ETHERTYPE, TCP, FrameContent, crafted
from niclab.frames.frame_sockets import BUFFER_BYTES, DRAIN, RCVBUFFORCE, Place, TcpPort, UdpPort, family
from niclab.frames.scattered import ScatteredRecords
from niclab.frames.wire.packet import Packet
from niclab.frames.wire.wire_capture import HashCapture, WireCapture

SHORTEST_FRAME = 60
PADDED = SHORTEST_FRAME + 4
"""The most that a short frame is padded to; some pad before the tag."""
BURST = 16
WAIT_S, LATE_S, LATE_FRAMES = 0.002, 0.1, 64
"""A stream that was held up sends so much of it, and so many frames, as fast as it can: the ring of any card has room
for them."""
LINGER_S, SETTLE_S, AGREE_S, CONNECTS_WITHIN_S = 0.3, 3.0, 1.0, 10.0
# linux/if_packet.h, asm-generic/socket.h
SOL_PACKET, ADD_MEMBERSHIP, STATISTICS, AUXDATA = 263, 1, 6, 8
MULTICAST, PROMISCUOUS, ALL_MULTICAST, UNICAST = 0, 1, 2, 3
ATTACH_FILTER, MARK, NOFCS = 26, 36, 43
OURS = 0x4E4C
"""Mark of the frames that this program sends, by which it knows those that the system sends by itself."""
NOT_OURS = (
    (0x20, 0, 0, 0xFFFFF004),  # linux/filter.h: load the type of the packet
    (0x15, 0, 2, socket.PACKET_OUTGOING),
    (0x20, 0, 0, 0xFFFFF014),  # load its mark
    (0x15, 1, 0, OURS),
    (0x06, 0, 0, 0xFFFFFFFF),  # take it
    (0x06, 0, 0, 0),
)
"""A filter of a socket: everything but what this program sends."""
SUM_VALID, TAG_VALID = 1 << 7, 1 << 4
STATISTICS_OF_PORT = (
    *("rx_packets", "rx_bytes", "rx_dropped", "rx_missed_errors", "rx_errors"),
    *("tx_packets", "tx_bytes", "tx_dropped", "tx_errors"),
)
SUMS = {"ip": "IpExt", "tcp": "Tcp", "udp": "Udp"}
SUM, SUM_6, PROC_NET = "InCsumErrors", "Udp6InCsumErrors", Path("/proc/net")
"""Groups of ``snmp`` and ``netstat`` and their counter of wrong checksums; that of ``snmp6``."""


class PacketPort(Place):
    """Everything that the driver of an interface delivers."""

    def __init__(self, plan: dict[str, Any], arrivals: Arrivals) -> None:
        self.name, self.arrivals = plan["iface"], arrivals
        self.others = self.others_bytes = self.others_most = self.strange = self.resets = 0
        self.leaving = self.leaving_bytes = self.leaving_most = 0
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, BUFFER_BYTES)
        self.socket.setsockopt(SOL_PACKET, AUXDATA, 1)
        program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in NOT_OURS))
        self.socket.setsockopt(
            socket.SOL_SOCKET, ATTACH_FILTER, struct.pack("HP", len(NOT_OURS), ctypes.addressof(program))
        )
        self.join(plan)
        self.before = self.after = agreed(self.name)  # first: what is seen is counted
        self.socket.bind((self.name, plan["protocol"]))

    def join(self, plan: dict[str, Any]) -> None:
        """Make the interface receive what is planned, as long as the socket is open."""
        index = socket.if_nametoindex(self.name)
        wanted = [(MULTICAST, mac) for mac in plan["groups"]] + [(UNICAST, mac) for mac in plan["addresses"]]
        wanted += [(PROMISCUOUS, "")] * plan["promiscuous"] + [(ALL_MULTICAST, "")] * plan["all_multicast"]
        for kind, mac in wanted:
            raw = bytes.fromhex(mac.replace(":", ""))
            request = struct.pack("iHH8s", index, kind, len(raw), raw)
            self.socket.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, request)

    def read(self) -> None:
        for _ in range(DRAIN):
            try:
                data, extra, _, address = self.socket.recvmsg(65536, 64)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENETDOWN:
                    raise
                return  # the kernel says it once; frames come again when the interface is up
            tag, valid = None, False
            for _, kind, value in extra:
                if kind == AUXDATA:
                    status, _, _, _, _, tci, _ = struct.unpack_from("=IIIHHHH", value)
                    tag, valid = tci if status & TAG_VALID else None, bool(status & SUM_VALID)
            if address[2] == socket.PACKET_OUTGOING:
                self.leaving, self.leaving_bytes = self.leaving + 1, self.leaving_bytes + len(data)
                self.leaving_most += max(len(data) + 4 * (tag is not None), PADDED)
            else:
                self.take(data, tag, valid)

    def take(self, data: bytes, tag: int | None, valid: bool) -> None:
        packet, size = Packet(data, tag), len(data) + 4 * (tag is not None)
        inside, padded_to = data[packet.at :], SHORTEST_FRAME - 14
        if packet.over:
            if packet.protocol == TCP and packet.flags & 4:
                self.resets += 1
                self.arrivals.last = time.monotonic()
            inside, padded_to = packet.payload, 0
        tags = ".".join(map(str, packet.tags))
        if not self.arrivals.take(self.name, inside, size, padded_to, tags, valid):
            self.strange += packet.kind == ETHERTYPE
            self.others, self.others_bytes = self.others + 1, self.others_bytes + len(data)  # some count no tag
            self.others_most += max(size, PADDED)

    def said(self) -> dict[str, Any]:
        _, dropped = struct.unpack("II", self.socket.getsockopt(SOL_PACKET, STATISTICS, 8))
        names = (
            *("others", "others_bytes", "others_most", "leaving", "leaving_bytes", "leaving_most"),
            *("strange", "resets", "before", "after"),
        )
        return dict({name: getattr(self, name) for name in names}, kind="port", port=self.name, dropped=dropped)

    def settle(self, frames_out: int, deadline: float) -> None:
        """Wait for the counters: some drivers bring them up to date only every second or two."""
        while True:
            self.read()
            self.after, earlier = statistics(self.name), self.after
            came, left = (self.after[name] - self.before[name] for name in ("rx_packets", "tx_packets"))
            own = sum(flow.frames for (place, _), flow in self.arrivals.flows.items() if place == self.name)
            is_whole = came >= own + self.others and left >= frames_out + self.leaving
            if (is_whole and self.after == earlier) or time.monotonic() > deadline:
                return
            if not is_whole:
                time.sleep(0.1)  # noqa: TID251 - on the server there is no niclab.core.wait


class OutgoingStream:
    """A flow that is sent, some frames at each step. Numbers follow each other."""

    def __init__(self, plan: dict[str, Any], content: FrameContent) -> None:
        self.plan, self.content, self.refused = plan, content, ""
        self.number = self.bytes = 0
        self.first_at = self.last_at = 0.0
        self.stopped = False
        self.pending, self.next_at = b"", 0.0
        self.socket: socket.socket | None = None
        self.scattered = ScatteredRecords(plan["pieces"]) if plan["pieces"] else None

    def open(self) -> None:
        plan = self.plan
        if plan["frame"] is not None:
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.socket.setsockopt(socket.SOL_SOCKET, MARK, OURS)
            if plan["frame"]["wrong"] == "fcs":
                self.socket.setsockopt(socket.SOL_SOCKET, NOFCS, 1)
            self.socket.bind((plan["iface"], 0))
        elif plan["over"] == "udp":
            self.socket = socket.socket(family(plan["to"]), socket.SOCK_DGRAM)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
            self.socket.bind((plan["from"], 0))
            self.socket.connect((plan["to"], plan["port"]))
        else:
            self.socket = socket.socket(family(plan["to"]), socket.SOCK_STREAM)
            if plan["mss"]:
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, plan["mss"])
            self.socket.settimeout(CONNECTS_WITHIN_S)
            self.socket.bind((plan["from"], 0))
            try:
                self.socket.connect((plan["to"], plan["port"]))
            except OSError as error:  # what carries nothing carries no connection
                self.refuse(error)
        self.socket.setblocking(False)

    def refuse(self, error: OSError) -> None:
        self.refused = f"{errno.errorcode.get(error.errno or 0, '')}: {error}"

    @property
    def over(self) -> bool:
        return self.stopped or bool(self.refused) or 0 < self.plan["count"] <= self.number

    def step(self) -> bool:
        """Send some; false where nothing could be sent now."""
        for n in range(BURST):
            now, rate = time.monotonic(), self.plan["per_s"]
            if self.over or (rate and now < self.next_at) or not self.send():
                return n > 0
            if rate:
                self.next_at = max(self.next_at or now, now - min(LATE_S, LATE_FRAMES / rate)) + 1 / rate
        return True

    def due_s(self, now: float) -> float:
        """Return how long to wait for the next frame, at most 2 ms: what a full socket takes again is not said."""
        return min(WAIT_S, self.next_at - now) if self.next_at > now else WAIT_S

    def send(self) -> bool:
        plan = self.plan
        if not self.pending:
            size = plan["sizes"][self.number % len(plan["sizes"])]
            if plan["frame"] is None:
                self.pending = self.content.make(plan["flow"], self.number, size)
            else:
                self.pending = crafted(plan["frame"], self.content, plan["flow"], self.number, size)
            if self.scattered is not None:
                self.scattered.lay(self.pending)
        try:
            assert self.socket is not None
            sent = self.socket.send(self.pending) if self.scattered is None else self.scattered.send(self.socket)
        except OSError as error:
            again = {errno.EAGAIN, errno.ENOBUFS} | ({errno.ENETDOWN} if not plan["count"] else set())
            if error.errno not in again:
                self.refuse(error)
            return False
        self.last_at = time.monotonic()
        self.first_at = self.first_at or self.last_at
        self.bytes += sent
        self.pending = self.pending[sent:]
        self.number += not self.pending
        return True

    def said(self) -> dict[str, Any]:
        said = {"frames": self.number, "bytes": self.bytes, "refused": self.refused}
        return dict(said, kind="sent", flow=self.plan["flow"], seconds=self.last_at - self.first_at)


class Exchange:
    """One plan."""

    def __init__(self, plan: dict[str, Any], folder: Path) -> None:
        self.plan, self.folder, content = plan, folder, FrameContent(plan["token"])
        self.arrivals = Arrivals(content, plan["awaits"], plan["flowing"], plan["connections"])
        self.ports = [PacketPort(each, self.arrivals) for each in plan["ports"]]
        self.captures = [kind(each) for each in plan["captures"] for kind in (WireCapture, HashCapture)]
        self.places: list[Place] = list(self.ports)
        for each in plan["listens"]:
            udp = each["over"] == "udp"
            self.places.append(UdpPort(each, self.arrivals) if udp else TcpPort(each, self.arrivals, self.places))
        self.streams = [OutgoingStream(each, content) for each in plan["sends"]]
        self.sums, self.backlog = wrong_sums(), backlog()

    def run(self) -> None:
        limit = time.monotonic() + self.plan["limit_s"]
        for stream in self.streams:
            stream.open()
        self.arrivals.last = time.monotonic()
        while time.monotonic() < limit:
            if self.plan["until_stopped"]:
                self.obey()
            busy = [stream for stream in self.streams if not stream.over]
            moved = [stream.step() for stream in busy]
            now = time.monotonic()
            wait_s = min((each.due_s(now) for each in busy), default=0.05)
            for place in self.readable(0 if any(moved) else wait_s):
                place.read()
            now = time.monotonic()
            if busy:
                self.arrivals.last = max(self.arrivals.last, now - LINGER_S)
            elif now - self.arrivals.last > (LINGER_S if self.complete else self.plan["quiet_s"]):
                return

    @property
    def complete(self) -> bool:
        """Has everything come, the answers to what this server has sent included? Of what is stopped nobody knows."""
        if self.plan["until_stopped"]:
            return False
        refusals = {port.name: port.resets for port in self.ports}
        return self.arrivals.complete and all(refusals[name] >= count for name, count in self.plan["refusals"])

    def obey(self) -> None:
        """Stop sending, or say what gaps there were, when told to."""
        told = signal.sigtimedwait([signal.SIGUSR1, signal.SIGUSR2], 0)
        if told and told.si_signo == signal.SIGUSR1:
            for stream in self.streams:
                stream.stopped = True
        elif told:
            self.arrivals.await_again(float((self.folder / "again").read_text()))
        gaps = self.arrivals.gaps()
        if gaps:
            write(self.folder, "gaps", "".join(json.dumps(line) + "\n" for line in gaps))

    def readable(self, wait_s: float) -> list[Place]:
        by_socket = {place.socket: place for place in self.places if place.socket.fileno() >= 0}
        return [by_socket[each] for each in select.select(list(by_socket), [], [], wait_s)[0]]

    def said(self) -> Iterator[dict[str, Any]]:
        deadline = time.monotonic() + SETTLE_S
        for port in self.ports:
            port.settle(sum(each.number for each in self.streams if each.plan["iface"] == port.name), deadline)
            yield port.said()
        for stream in self.streams:
            yield stream.said()
        for (place, number), flow in sorted(self.arrivals.flows.items()):
            yield dict(flow.said(), kind="received", place=place, flow=number)
        for capture in self.captures:
            yield from capture.said()
        after = wrong_sums()
        wrong = {name: after[name] - count for name, count in self.sums.items()}
        yield {"kind": "sums", "wrong": wrong, "backlog": backlog() - self.backlog}
        yield {"kind": "end"}

    def close(self) -> None:
        for place in [*self.places, *self.captures]:
            place.socket.close()
        for stream in self.streams:
            if stream.socket is not None:
                stream.socket.close()
            if stream.scattered is not None:
                stream.scattered.close()


def statistics(iface: str) -> dict[str, int]:
    folder = Path("/sys/class/net") / iface / "statistics"
    return {name: int((folder / name).read_text()) for name in STATISTICS_OF_PORT}


def agreed(iface: str) -> dict[str, int]:
    """Return the counters of one moment, or on a port that does not rest, the last ones.

    They are read one after the other, by drivers too (e1000e_update_stats() reads frames, then bytes): a frame of the
    system that passes in between is in one and not in the other. Only two looks that agree are of one moment.
    """
    deadline, found = time.monotonic() + AGREE_S, statistics(iface)
    while True:
        again = statistics(iface)
        if again == found or time.monotonic() > deadline:
            return again
        found = again


def wrong_sums() -> dict[str, int]:
    """Return the system's counts of wrong checksums; a count that this kernel does not keep is left out."""
    lines = [line.split() for name in ("snmp", "netstat") for line in (PROC_NET / name).read_text().splitlines()]
    groups = {lines[at][0].rstrip(":"): lines[at : at + 2] for at in range(0, len(lines) - 1, 2)}
    found = {}
    for name, group in SUMS.items():
        names, values = groups.get(group, ([], []))
        if SUM in names:
            found[name] = int(values[names.index(SUM)])
    if (PROC_NET / "snmp6").exists():
        counts = dict(line.split() for line in (PROC_NET / "snmp6").read_text().splitlines())
        found.update({"udp6": int(counts[SUM_6])} if SUM_6 in counts else {})
    return found


def backlog() -> int:
    """Return the frames that the system threw away because a CPU's backlog was full (net/core/net-procfs.c)."""
    return sum(int(line.split()[1], 16) for line in (PROC_NET / "softnet_stat").read_text().splitlines())


def write(folder: Path, name: str, text: str) -> None:
    """A file that is there is whole."""
    (folder / "new").write_text(text)
    (folder / "new").replace(folder / name)


def carry_out(folder: Path, wait: Callable[[], object]) -> None:
    exchange = None
    try:
        exchange = Exchange(json.loads((folder / "plan").read_text()), folder)
        write(folder, "opened", "opened\n")
        wait()
        exchange.run()
        lines = list(exchange.said())
    except Exception as error:  # noqa: BLE001 - whatever it is, the controller reports it
        lines = [{"kind": "error", "error": f"{type(error).__name__}: {error}"}]
    finally:
        if exchange is not None:
            exchange.close()
    write(folder, "result", "".join(json.dumps(line) + "\n" for line in lines))


def main(folder: Path, seconds: float) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2])
    signal.alarm(int(seconds))
    print("ready", os.getpid(), flush=True)
    while True:
        signal.sigwait([signal.SIGUSR1])
        carry_out(folder, lambda: signal.sigwait([signal.SIGUSR1]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
