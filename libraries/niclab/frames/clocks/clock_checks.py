"""The hardware clocks of the dut's ports (IEEE 1588): they run, can be set, and stamp frames with the right time.

Every check raises BenchFault where another program sets the clock, a program fails, or something could not be put
back; NotApplicable where no port's driver offers it, or a server does not run Linux; Deviation where the bench
declares that its emulated card does otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from niclab.bench.records import Port, Role, SiliconFact
from niclab.checks.asked import Say
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided, fail_with
from niclab.frames.clocks.clock_agents import RECEIVING, SENDING, ClockAgents, restoring
from niclab.frames.clocks.clock_records import PortClock, Rate, Reading, SetTime, StampedFrame, Switched, rate_between
from niclab.frames.functions.function_ports import each_port
from niclab.run.run import Run
from niclab.run.temporary import put_back

SECONDS = {Profile.QUICK: 1.0, Profile.FULL: 20.0}
FRAMES = {Profile.QUICK: 20, Profile.FULL: 200}
PORT_PPM = 100.0
"""IEEE 802.3-2018, 25.4.1.1 (100 Mbit/s), 40.6.1.2.6 (1 Gbit/s) and 49.1.4.2 (10 Gbit/s): the rate of what a port
sends; its clock is made of the same oscillator."""
SERVER_PPM, SERVER_MOST_PPM = 100.0, 500.0
"""House figure for a server's own oscillator; and the most for which the kernel corrects one (linux/timex.h,
MAXFREQ)."""
SERVERS_S = 5.0
"""The least time over which the servers' own clocks are compared: a frame and its answer take them 0.2 ms and more."""
STEP_NS = 1000 * 10**9
STEP_SLACK_NS = 10_000
"""House figure: what a driver may need between the clock and its own registers, next to the times that are measured."""
TUNED_PPB = 10_000_000
TUNED_WITHIN = 0.05
"""House figure: a driver rounds a rate to the steps of its card."""
STAMP_SLACK_NS = 10_000
"""A driver corrects stamps by what its card and PHY take (Linux kernel 6.1, igb.h, IGB_I210_TX_LATENCY_10: 9542 ns)."""
STOOD_NS = 300_000_000
"""House figure: a stamp that is missing while the program did not look for so long decides nothing."""
LINK_WITHIN_S = 10.0
"""A driver may start its queues again when stamps are switched (Linux kernel 6.1, mlx5, en_main.c,
mlx5e_hwstamp_set())."""
SENDS_ON = 1
NOT_OFFERED, BUSY = 95, 16
"""EOPNOTSUPP, and EBUSY: a virtual clock holds it (Linux kernel 6.1, ptp_clock.c, ptp_clock_settime())."""


def runs(run: Run, profile: Profile, say: Say) -> None:
    """Read the clock of every port for some time: never earlier than before, and at its rate.

    Args:
        run: The current run.
        profile: How long.
        say: Takes what was read of each.

    Raises:
        CardFailure: A reading is earlier than the one before, all are the same, or the rate is another one.
        Undecided: The server's own clock may be at fault, or the measurement is too coarse.
    """
    each_port(run, lambda port: _runs(run, port, SECONDS[profile], say))


def _runs(run: Run, port: Port, seconds: float, say: Say) -> None:
    clocks = run.part(ClockAgents)
    was = _look(run, port, SiliconFact.CLOCK_TIME)
    found = clocks.watch(port, was.number, seconds)
    seen = f"{found.reads} readings, {found.same} as the one before"
    say(f"{port.name}: clock {was.number}: {seen}, rate {found.rate}, set {was.tuned}")
    if found.back_ns:
        back = ", ".join(f"{each} ns" for each in found.back_ns)
        raise CardFailure(f"{port.place}: its clock was read {back} earlier than just before; expected never")
    if found.first[1] == found.last[1]:
        raise CardFailure(f"{port.place}: its clock shows {found.last[1]} ns for {seconds:g} s; expected it to go on")
    _require_rate(run, port, was.number, found.rate.minus(was.tuned), seconds, say)


def _require_rate(run: Run, port: Port, clock: int, rate: Rate, seconds: float, say: Say) -> None:
    near, far = PORT_PPM + SERVER_PPM, PORT_PPM + SERVER_MOST_PPM
    if rate.within(-near, near):
        return
    expected = f"expected within {PORT_PPM:g} ppm (IEEE 802.3), and {SERVER_PPM:g} ppm for the server's own clock"
    text = f"{port.place}: its clock goes {rate} against the server's own; {expected}"
    if rate.within(-far, far) is not False:
        raise Undecided(f"{text}; the server's may be further off, or the measurement too coarse")
    others = _of_servers(run, port, clock, seconds)
    say(f"{port.name}: the peer's own clock against the dut's: {others}")
    if others is None or not others.within(-2 * SERVER_PPM, 2 * SERVER_PPM):
        raise Undecided(f"{text}; the peer's own clock goes {others or 'unknown'} against the dut's")
    raise CardFailure(f"{text}; the peer's own clock agrees with the dut's ({others})")


def _of_servers(run: Run, port: Port, clock: int, seconds: float) -> Rate | None:
    """Return how much faster than the dut's own clock the peer's goes; None: no frames came."""
    clocks = run.part(ClockAgents)
    first = _tightest(clocks.exchange(port, clock, 0, FRAMES[Profile.QUICK]))
    clocks.watch(port, clock, max(seconds, SERVERS_S))
    last = _tightest(clocks.exchange(port, clock, 0, FRAMES[Profile.QUICK]))
    return rate_between(first, last) if first and last else None


def _tightest(frames: Sequence[StampedFrame]) -> Reading | None:
    readings = [(each.begun, each.there, each.ended) for each in frames if each.there]
    return min(readings, key=lambda each: each[2] - each[0], default=None)


def takes_times(run: Run, say: Say) -> None:
    """Set the clock of every port forward and back.

    Args:
        run: The current run.
        say: Takes how exact it was.

    Raises:
        CardFailure: It shows another time, or refuses one.
    """
    each_port(run, lambda port: _takes_times(run, port, say))


def _takes_times(run: Run, port: Port, say: Say) -> None:
    clocks = run.part(ClockAgents)
    was = _look(run, port, SiliconFact.CLOCK_TIME)
    with _kept(run, port, was):
        for by_ns in (STEP_NS, -STEP_NS):
            found = clocks.set_time(port, was.number, by_ns)
            _require_taken(port, found, "its driver sets no times")
            least, most = _due(found)
            more, by = found.read[1] - found.set[1], f"set by {by_ns / 1e9:g} s"
            say(f"{port.name}: {by}: {more} ns later; expected {least} to {most}")
            if not least <= more <= most:
                raise CardFailure(
                    f"{port.place}: its clock was {by}, and shows {more} ns more than it was set to; "
                    f"expected {least} to {most} ns"
                )


def _due(found: SetTime) -> tuple[int, int]:
    """Return what may have passed since the clock had the time: a driver may add a difference to it in two steps."""
    (begun, _, ended), (before, _, after) = found.set, found.read
    return before - ended - (ended - begun) - STEP_SLACK_NS, after - begun + STEP_SLACK_NS


def takes_rates(run: Run, profile: Profile, say: Say) -> None:
    """Change the rate of every port's clock, to faster and to slower.

    Args:
        run: The current run.
        profile: How long each is measured.
        say: Takes the rates.

    Raises:
        CardFailure: The rate changes by another amount, or is refused.
        Undecided: The measurement is too coarse.
    """
    each_port(run, lambda port: _takes_rates(run, port, SECONDS[profile] / 2, say))


def _takes_rates(run: Run, port: Port, seconds: float, say: Say) -> None:
    clocks = run.part(ClockAgents)
    was = _look(run, port, SiliconFact.CLOCK_TIME)
    ppb = min(was.most_ppb // 2, TUNED_PPB)
    if ppb <= 0:
        raise NotApplicable(f"{port.place}: its driver changes no rate of the clock (max_adj {was.most_ppb})")
    with _kept(run, port, was):
        rates = dict[int, Rate]()
        for tuned in (0, ppb, -ppb):
            _require_taken(port, clocks.tune(port, was.number, tuned), "its driver changes no rate of the clock")
            rates[tuned] = clocks.watch(port, was.number, seconds).rate
        for tuned in (ppb, -ppb):
            moved, wanted = rates[tuned].minus(rates[0]), tuned / 1000
            room = TUNED_WITHIN * abs(wanted)
            say(f"{port.name}: rate set to {wanted:+g} ppm: changed by {moved}")
            text = f"{port.place}: the rate of its clock was set to {wanted:+g} ppm, and changed by {moved}"
            fits = moved.within(wanted - room, wanted + room)
            if fits is False:
                raise CardFailure(f"{text}; expected within {room:g} ppm of it")
            if fits is None:
                raise Undecided(f"{text}; too coarse to tell whether within {room:g} ppm of it")


def stamps_received(run: Run, profile: Profile, say: Say) -> None:
    """Have the peer answer frames of every port one by one: each answer has one stamp, of the time when it came.

    Args:
        run: The current run.
        profile: How many frames.
        say: Takes what was stamped.

    Raises:
        CardFailure: A frame has no stamp, or one of before it was asked for or of after it was read.
        Undecided: Frames are lost, or the dut stood still where a stamp is missing.
    """

    def judge(port: Port) -> None:
        was = _look(run, port, SiliconFact.RECEIVED_STAMPS)
        if not was.filter:
            raise NotApplicable(f"{port.place}: its driver offers no filter for frames of PTP 2 in Ethernet")
        with _kept(run, port, was):
            frames = _stamped(run, port, was, (0, was.filter), FRAMES[profile])
        _judge(port, "received", frames, _received, say)

    each_port(run, judge)


def stamps_sent(run: Run, profile: Profile, say: Say) -> None:
    """Send frames from every port one by one: each has one stamp, which comes back with the frame itself.

    Args:
        run: The current run.
        profile: How many frames.
        say: Takes what was stamped.

    Raises:
        CardFailure: A frame has no stamp, several, that of another one, or one of another time.
        Undecided: The dut stood still where a stamp is missing, or frames are lost.
    """

    def judge(port: Port) -> None:
        was = _look(run, port, SiliconFact.SENT_STAMPS)
        if not was.sends >> SENDS_ON & 1:
            raise NotApplicable(f"{port.place}: its driver offers no time stamps of frames that are sent")
        with _kept(run, port, was):
            frames = _stamped(run, port, was, (SENDS_ON, 0), FRAMES[profile])
        _judge(port, "sent", frames, _sent, say)

    each_port(run, judge)


def _stamped(run: Run, port: Port, was: PortClock, wanted: tuple[int, int], count: int) -> tuple[StampedFrame, ...]:
    clocks = run.part(ClockAgents)
    switched = clocks.stamp(port, *wanted)
    words = f"sending {wanted[0]}, filter {wanted[1]}"
    if switched.refused or any(want and not got for want, got in zip(wanted, switched.granted, strict=True)):
        got = switched.refused or f"sets {switched.granted[0]}, {switched.granted[1]}"
        raise CardFailure(f"{port.place}: its driver offers time stamps ({words}), and when asked: {got}")
    run.await_carrier([port], up=True, within_s=LINK_WITHIN_S)
    return clocks.exchange(port, was.number, SENDING if wanted[0] else RECEIVING, count)


def _received(number: int, frame: StampedFrame) -> tuple[int, str]:
    return frame.received, f"frame {number}: none"


def _sent(number: int, frame: StampedFrame) -> tuple[int, str]:
    """Return the stamp, and what is wrong with it without regard to its time."""
    if [each for each, _ in frame.sent] not in ([], [number]):
        return 0, f"frame {number}: stamps of frames {', '.join(str(each) for each, _ in frame.sent)}"
    ns = frame.sent[0][1] if frame.sent else 0
    return ns, "" if ns else f"frame {number}: none"


_Stamp = Callable[[int, StampedFrame], tuple[int, str]]


def _judge(port: Port, way: str, frames: Sequence[StampedFrame], stamp_of: _Stamp, say: Say) -> None:
    """Judge each frame's stamp: its clock was read before the frame was sent, and after its answer had come."""
    sure, doubts = list[str](), list[str]()
    for number, frame in enumerate(frames):
        stamp, missing = stamp_of(number, frame)
        if stamp:
            early, late = frame.before - stamp, stamp - frame.after
            if max(early, late) > STAMP_SLACK_NS:
                off = f"{early} ns before it was asked for" if early > late else f"{late} ns after it had come"
                sure.append(f"frame {number}: {off}")
        elif frame.stood_ns >= STOOD_NS:
            doubts.append(f"{missing}, while the dut stood still for {frame.stood_ns // 10**6} ms")
        elif frame.there or way == "sent":
            sure.append(missing)
        if not frame.there:
            doubts.append(f"frame {number}: no answer")
    say(f"{port.name}: {len(frames)} frames {way}: {len(sure)} with a wrong stamp or none, {len(doubts)} in doubt")
    expected = f"of {len(frames)} frames {way}; expected one stamp each, of the time between sending and the answer"
    fail_with([f"{port.place}: time stamps: {_few(sure)} {expected}"] if sure else [])
    if doubts:
        raise Undecided(f"{port.place}: time stamps: {_few(doubts)} {expected}")


def _few(lines: Sequence[str]) -> str:
    return "; ".join(lines[:3]) + (f" and {len(lines) - 3} more" if lines[3:] else "")


def _look(run: Run, port: Port, fact: SiliconFact) -> PortClock:
    if declared := run.bench.deviation(run.card.name, fact):
        raise declared.verdict("as its driver offers it")
    found = run.part(ClockAgents).look(port)
    if found.number < 0:
        raise NotApplicable(f"{port.place}: its driver offers no hardware clock (ETHTOOL_GET_TS_INFO)")
    if found.steers:
        names = ", ".join(found.steers)
        raise BenchFault(
            f"{Role(port.role).value}: {names} may set clock {found.number}; end it while cards are tested"
        )
    return found


@contextmanager
def _kept(run: Run, port: Port, was: PortClock) -> Iterator[None]:
    iface = run.interface(port)
    what = f"clock {was.number} and time stamps of {iface} change"
    with put_back(run, run.server_of(port), port.name, what, restoring(iface, was), iface):
        yield


def _require_taken(port: Port, found: SetTime | Switched, lacks: str) -> None:
    if found.errno == NOT_OFFERED:
        raise NotApplicable(f"{port.place}: {lacks}: {found.refused}")
    if found.errno == BUSY:
        raise BenchFault(f"{port.place}: its clock is in use by a virtual one: {found.refused}")
    if found.refused:
        raise CardFailure(f"{port.place}: its clock refuses what its driver offers: {found.refused}")
