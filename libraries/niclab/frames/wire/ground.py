"""Common ground of proofs of offloads: the first path, the states of the offload, and ports that merge nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from niclab.bench.records import BenchPath, Port, Role, SiliconFact
from niclab.card import At, Changeable, OffloadName, Setting, SettingKind
from niclab.core.verdict import BenchFault, Undecided
from niclab.frames.answers import HashLook, ServerAnswer, WireLook, WireView
from niclab.frames.blame import peer_trial
from niclab.frames.blame.frame_findings import Culprit, FrameDifference, FrameFinding, Suspicion
from niclab.frames.blame.twin import longer
from niclab.frames.exchange import FrameBench, Say, exchange
from niclab.frames.ledger import Ledger
from niclab.frames.server_agent import require_packet_sockets
from niclab.frames.spec import FrameStream, MadeBy
from niclab.run.run import Run
from niclab.run.temporary import put_back
from niclab.settings import mtu
from niclab.settings.dut_ports import DutPort
from niclab.settings.held import held
from niclab.settings.offloads.offload_table import OffloadRow, on_or_off, rows
from niclab.traffic.flows import ipv6

RECORDS, RECORD_SIZES, RECORDS_PER_S = 24, (65000, 25, 1449, 32769, 4095, 9001), 40.0
"""Bytes; their sum is no multiple of a segment, so that the last one is short. 6 Mbit/s: two connections at once leave
room for datagrams on 25 Mbit/s, and no window opens so far that a burst fills a buffer on the way."""
DATAGRAMS, DATAGRAM_SIZES, DATAGRAMS_PER_S = 48, (1452, 25, 1451, 100, 777, 64), 200.0
"""Bytes; all fit into a frame of either IP. No load: what is lost was not for want of room."""
MERGING = {"generic-receive-offload": "gro", "large-receive-offload": "lro", "rx-gro-hw": "rx-gro-hw"}
"""Features that merge packets as they come in: as ``ethtool`` shows them, and as it sets them."""


@dataclass(frozen=True)
class Captured:
    """The packets that the captures at both ends of the path saw in an exchange."""

    ledger: Ledger
    at: dict[Role, WireLook]
    hashes: dict[Role, HashLook]

    def view(self, role: Role, way: str, over: str) -> WireView:
        """The packets of a protocol at a server's port.

        Args:
            role: The server.
            way: ``in`` or ``out``.
            over: The protocol, such as ``tcp4``.

        Raises:
            Undecided: The capture saw none.
        """
        found = self.at[role].views.get(f"{way} {over}")
        if found is None:
            raise Undecided(f"{role.value}: the capture saw no packet of {over} {way}; expected those of the exchange")
        return found


class ProofGround:
    """The first path, and an offload of the dut's port on it.

    Args:
        run: The current run.
        name: The offload.
        say: Takes what was seen.

    Raises:
        NotApplicable: The sheet has no such offload, or a server does not run Linux.
    """

    def __init__(self, run: Run, name: OffloadName, say: Say) -> None:
        for role in Role:
            require_packet_sockets(run.server(role))
        self.run, self.say = run, say
        self.row: OffloadRow = rows(run, name.value)[name]
        self.path: BenchPath = run.bench.paths[0]
        self.bench = FrameBench(run)
        self.dut = DutPort(run, run.bench.end(self.path, Role.DUT))
        self.peer = run.bench.end(self.path, Role.PEER)
        self._passed_off = frozenset[FrameStream]()

    @property
    def states(self) -> tuple[bool, ...]:
        """The states of the offload that are judged: off and on, or that which cannot be switched."""
        return (False, True) if self.row.change is Changeable.BOTH else (self._is_on,)

    @property
    def _is_on(self) -> bool:
        return self.row.feature(self.dut, self.dut.host.settings.features(self.dut.iface)).on

    @contextmanager
    def switched(self, on: bool) -> Iterator[None]:
        """Hold the offload on or off inside the ``with`` block.

        Args:
            on: Is it on?

        Raises:
            CardFailure: The dut takes it and does not show it.
            BenchFault: It cannot be put back, or a link does not come back.
        """
        if on is self._is_on:
            yield
            return
        with held(
            self.run, self.dut.port, Setting(kind=SettingKind.OFFLOAD, name=self.row.name.value, to=on, at=At.SENDER)
        ):
            mtu.wait_for_links(self.run, self.path)
            yield
        mtu.wait_for_links(self.run, self.path)

    def send(self, streams: Sequence[FrameStream], on: bool, wire: Sequence[str] = ()) -> Captured:
        """Exchange streams over the path, captured at both ends.

        Args:
            streams: The streams.
            on: The state of the offload, for the log.
            wire: Protocols such as ``tcp4``, whose packets from the dut are judged where the peer gets them.

        Raises:
            CardFailure: The card lost, doubled, reordered or damaged what was sent, or a packet on the wire is wrong.
            BenchFault: The peer alone did, or the tool failed.
            Undecided: A capture had no room for all packets, nobody knows whether the card or the peer is at fault, or
                the exchange proves nothing.
        """
        self.say(f"{self.dut.place}: {self.row.name.value} {on_or_off(on)}")

        def judged(answers: Mapping[Role, ServerAnswer]) -> list[FrameFinding]:
            looks = self._looks(answers)
            for role, look in looks.items():
                for name, view in look.views.items():
                    self.say(f"{role.value}: {name}: {view}")
            views = looks[Role.PEER].views
            sent = tuple(each for each in streams if each.sender == self.dut.port)
            wrong = [
                finding
                for name in wire
                for finding in faults(self.dut.port, self.peer, name, views.get(f"in {name}"), sent)
            ]
            return [*wrong, *self._retagged(streams, on, looks)]

        def trying(suspected: Sequence[FrameFinding]) -> list[FrameFinding]:
            """The same frames came right with the offload off: the peer does not know whether it is on."""
            passed = on and self._passed_off == {*streams}
            sound = [each for each in suspected if passed and each.suspicion and longer(each.suspicion.hits) <= 1]
            others = [each for each in suspected if each not in sound]
            tried = peer_trial.tried(self.run, others, self.say) if others else []
            return [*(replace(each, suspicion=None) for each in sound), *tried]

        ledger, answers = exchange(self.run, streams, self.say, wire=judged, trying=trying)
        self._passed_off = self._passed_off if on else frozenset(streams)
        looks = self._looks(answers)
        hashes = {role: answers[role].hashes[looks[role].port] for role in Role}
        for role, look in looks.items():
            if missed := look.dropped + hashes[role].dropped:
                raise Undecided(f"{role.value}: {missed} packets were lost by the captures; expected none")
        return Captured(ledger, looks, hashes)

    def _retagged(
        self, streams: Sequence[FrameStream], on: bool, looks: Mapping[Role, WireLook]
    ) -> Iterator[FrameFinding]:
        """Packets of streams with tags that were captured with others where they arrived."""
        for stream in streams:
            name = f"{stream.made_by.value}{6 if ':' in stream.addresses[0] else 4}"
            view = looks[stream.receiver.role].views.get(f"in {name}")
            if stream.tags is None or view is None:
                continue
            found, wanted = Counter(view.handed) + Counter(view.inline), stream.tags_on_arrival
            if others := found.total() - found[wanted]:
                listed = ", ".join(f"{tag or 'none'} ({count})" for tag, count in sorted(found.items()))
                said = f"packets of {name} arrived at {stream.receiver.place} with tags {listed}"
                text = self.wrong(f"is {on_or_off(on)}, and {said}; expected {wanted} on all")
                doubt = Suspicion(self.peer, (stream,), others)
                yield FrameFinding(FrameDifference.RETAGGED, Culprit.CARD, text, doubt)

    def _looks(self, answers: Mapping[Role, ServerAnswer]) -> dict[Role, WireLook]:
        ports = {Role.DUT: self.dut.port, Role.PEER: self.peer}
        return {role: answers[role].wire[self.run.interface(port)] for role, port in ports.items()}

    def tcp(self, sender: Port, version: int = 4, mss: int = 0) -> FrameStream:
        """Records over TCP.

        Args:
            sender: Port that sends.
            version: Of IP, 4 or 6.
            mss: Maximum segment size in bytes; 0: that of the path.
        """
        made = self.bench.records(f"records over TCP and IPv{version}", sender, MadeBy.TCP, RECORDS, RECORD_SIZES)
        return replace(self._over(made, version), mss=mss, per_s=RECORDS_PER_S)

    def udp(self, sender: Port, version: int = 4) -> FrameStream:
        """Datagrams.

        Args:
            sender: Port that sends.
            version: Of IP, 4 or 6.
        """
        made = self.bench.records(f"datagrams over IPv{version}", sender, MadeBy.UDP, DATAGRAMS, DATAGRAM_SIZES)
        return replace(self._over(made, version), per_s=DATAGRAMS_PER_S)

    def _over(self, stream: FrameStream, version: int) -> FrameStream:
        return stream if version == 4 else replace(stream, addresses=addresses_6(self.run, stream.sender))

    def require_silicon(self) -> None:
        """Require that what leaves the dut's port is made as by the card's silicon.

        Raises:
            Deviation: The bench declares that its emulated card deviates here.
        """
        if declared := self.run.bench.deviation(self.run.card.name, SiliconFact.SENDING_OFFLOADS):
            raise declared.verdict(f"{self.row.name.value}, which is right on the wire")

    def wrong(self, what: str) -> str:
        """Say that the dut's port does not do what its offload says.

        Args:
            what: What it does, and what is expected.
        """
        return f"{self.dut.place}: {self.row.name.value} ({self.row.word}) {what}"


def addresses_6(run: Run, sender: Port) -> tuple[str, str]:
    """The IPv6 addresses of a port and of its partner.

    Args:
        run: The current run.
        sender: The port.
    """
    ends = (sender, run.bench.partner(sender))
    return str(ipv6.address(run, ends[0]).ip), str(ipv6.address(run, ends[1]).ip)


@contextmanager
def unmerged(run: Run, port: Port, but: str = "") -> Iterator[None]:
    """Let a port hand over packets as they come off the wire inside the ``with`` block.

    Args:
        run: The current run.
        port: The port.
        but: A feature of :data:`MERGING` that is left as it is; empty: none.

    Raises:
        Undecided: A port of the peer merges packets all the same, or one of the dut by a feature that is fixed.
        BenchFault: A feature cannot be put back.
    """
    server, iface = run.server_of(port), run.interface(port)
    shown = server.host.settings.features(iface)
    on = {name: word for name, word in MERGING.items() if name in shown.features and shown[name].on and name != but}
    with ExitStack() as undoing:
        if on:
            restoring = server.host.undo.features(iface, on)
            undoing.enter_context(put_back(run, server, port.name, f"{iface}: nothing is merged", restoring, iface))
            for word in on.values():
                shown = server.host.settings.set_feature(iface, word, False).now
        if left := [name for name in on if shown[name].on]:
            raise Undecided(f"{port.place}: {', '.join(left)} stays on; expected off, so that nothing is merged")
        yield


@contextmanager
def slowly_flushed(run: Run, port: Port, hold_ns: int) -> Iterator[None]:
    """Let GRO hold packets for a while inside the ``with`` block, so that those of a slow link meet.

    Args:
        run: The current run.
        port: The port.
        hold_ns: Nanoseconds; see ``gro_flush_timeout`` in Linux' ABI/testing/sysfs-class-net.

    Raises:
        BenchFault: It cannot be set or put back.
    """
    server, iface = run.server_of(port), run.interface(port)
    file = f"/sys/class/net/{iface}/gro_flush_timeout"
    before = server.run(f"cat {file}").stdout.strip()
    if not before.isdigit():
        raise BenchFault(f"{server.name}: {file} is {before!r}; expected nanoseconds")
    with put_back(run, server, port.name, f"{iface}: GRO holds packets", f"echo {before} > {file}", iface):
        server.run(f"echo {hold_ns} > {file}")
        yield


def faults(
    sender: Port, receiver: Port, name: str, view: WireView | None, sent: Sequence[FrameStream]
) -> list[FrameFinding]:
    """Judge packets of a protocol that a port of the peer got from the dut.

    Args:
        sender: Port of the dut.
        receiver: Port of the peer, which merges nothing.
        name: The protocol, such as ``tcp4``.
        view: What was captured at the receiver; None: nothing.
        sent: The streams that the dut sent.
    """
    if view is None or view.unfinished:
        what = f"came without checksums: {view.unfinished} of {view.frames}" if view else "were captured: none"
        text = f"{receiver.place}: packets of {name} {what}; expected all as they are on the wire"
        return [FrameFinding(FrameDifference.MISCOUNTED, Culprit.TOOL, text)]
    found = []
    counted = {
        "with wrong checksums of IP": view.wrong_headers,
        "with wrong checksums": view.wrong,
        "cut": view.cut,
        f"larger than allowed, of up to {view.largest} bytes,": view.oversize,
    }
    for what, count in counted.items():
        if count:
            example = f" ({view.example})" if view.example else ""
            said = f"{count} of {view.frames} packets of {name} arrived {what} at {receiver.place}{example}"
            text = f"{sender.name} to {receiver.name}: {said}; expected none"
            doubt = Suspicion(receiver, tuple(sent), count)
            found.append(FrameFinding(FrameDifference.DAMAGED, Culprit.CARD, text, doubt))
    if not (view.short and view.odd):
        text = (
            f"{receiver.place}: {view.short} short and {view.odd} odd packets of {name} arrived; expected some of each"
        )
        found.append(FrameFinding(FrameDifference.MISCOUNTED, Culprit.TOOL, text))
    return found
