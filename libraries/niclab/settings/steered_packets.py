"""Packets that steering moves: received ones to another CPU (RPS), sent ones to the queue of their CPU (XPS).

A kernel takes every value; these checks look at the work itself (Documentation/networking/scaling.rst).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from niclab.bench.records import OperatingSystem, Port
from niclab.core.verdict import Collected, NotApplicable, Trouble, Undecided, blame
from niclab.core.wait import Deadline, pause
from niclab.hosts.errors import ReadError
from niclab.hosts.steering.linux import cpus_of_mask
from niclab.hosts.steering.queue_counters import sent_by_queue
from niclab.hosts.steering.softnet import read_taken_over
from niclab.hosts.steering.steering_files import SteeringFiles
from niclab.hosts.steering.steering_kinds import SteeringKind
from niclab.run.run import Run
from niclab.run.server import Server, quoted
from niclab.settings.dut_ports import charged, end
from niclab.settings.steering import steered

PINGS, EVERY_S = 20, 0.1
"""Far enough apart that a CPU has nothing to do when the next one comes: each wakes it."""
SENT_EVERY_S, FLOWS = 0.05, 5
"""Each ping is a flow of its own, which the kernel gives a queue by its hash where nothing is steered."""
ENOUGH = STRAY = PINGS // 4
"""Assumption: a CPU that works already is not woken, and several answers at once wake it once; ARP goes its own way."""
COUNTED_WITHIN_S = 3.0
"""Drivers that fetch counters from the card do so each second or two (bnx2x, be2net)."""
_WRAPS = 1 << 32
_BOUND = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); os.execvp(sys.argv[2], sys.argv[2:])"
_QUEUE = re.compile(r"/tx-([0-9]{1,4})/")


def require_linux_of_two_cpus(server: Server, kind: SteeringKind) -> None:
    """Require a server that can move packets between CPUs.

    Args:
        server: The server.
        kind: What is steered, for the message.

    Raises:
        NotApplicable: It runs another system, or has one CPU.
    """
    if server.description.os is not OperatingSystem.LINUX:
        raise NotApplicable(f"{server.name}: {server.description.os.value} has no {kind.value}, which is Linux' own")
    if len(server.host.counts.cpu_times().cpus) < 2:
        raise NotApplicable(f"{server.name} has one CPU: {kind.value} has no other to choose")


def taken_over(server: Server) -> dict[int, int]:
    """Count how often each CPU of a server was woken by another one to take over received packets, since its start.

    Args:
        server: The server, which runs Linux.

    Raises:
        BenchFault: The kernel does not show it.
    """
    shown = server.run("cat /proc/net/softnet_stat").stdout
    try:
        return read_taken_over(shown, sorted(server.host.counts.cpu_times().cpus))
    except ReadError as error:
        raise error.about(f"{server.name}: /proc/net/softnet_stat") from error


def woken_since(before: Mapping[int, int], after: Mapping[int, int]) -> dict[int, int]:
    """Return how often each CPU was woken between two looks.

    Args:
        before: The first look.
        after: The second look; its counts have 32 bits, and may have wrapped.
    """
    return {cpu: (count - before[cpu]) % _WRAPS for cpu, count in after.items()}


def require_takeover(run: Run, port: Port, cpus: frozenset[int]) -> None:
    """See that CPUs take over packets that a port receives, and no other CPU does, while pings cross its path.

    Interrupts of the port must be given to other CPUs before.

    Args:
        run: The current run.
        port: The port, of either server.
        cpus: The CPUs that RPS gives the packets to.

    Raises:
        CardFailure: Packets of a port of the dut are not taken over, or by another CPU.
        BenchFault: Those of a port of the peer are not.
        Undecided: More pings were lost than may be: answers that do not come wake nobody.
        NotApplicable: The server has one CPU, or another system than Linux.
    """
    server = run.server_of(port)
    require_linux_of_two_cpus(server, SteeringKind.RPS)
    before = taken_over(server)
    partner = run.bench.address(run.bench.partner(port))
    source = str(run.bench.address(port).ip)
    answers = server.host.links.ping(str(partner.ip), source=source, count=PINGS, interval_s=EVERY_S)
    if answers.received < answers.sent - STRAY:
        found = f"{answers.received} of {answers.sent} pings answered"
        raise Undecided(f"{port.place}: {found}; expected {answers.sent - STRAY} or more to see who takes them over")
    gained = woken_since(before, taken_over(server))
    mine = sum(count for cpu, count in gained.items() if cpu in cpus)
    if mine < ENOUGH or max((count for cpu, count in gained.items() if cpu not in cpus), default=0) > STRAY:
        wanted = f"at least {ENOUGH} times CPU {', '.join(map(str, sorted(cpus)))} alone"
        blame([port.trouble(f"received answers to {PINGS} pings, which woke {_by(gained, 'CPU')}; expected {wanted}")])


def require_own_queues(run: Run, port: Port, cpus: frozenset[int]) -> None:
    """See that packets sent by a CPU leave by the queues that XPS gives it.

    Queues are given to the CPUs in turn, first to last and then last to first: a driver has chosen one of both at most.

    Args:
        run: The current run.
        port: The port, of either server.
        cpus: The CPUs. Those of the first and last queue are asked.

    Raises:
        CardFailure: A port of the dut does not take it, or its packets leave by other queues.
        BenchFault: A port of the peer does so, or its steering could not be put back.
        NotApplicable: The server has not those CPUs or another system than Linux, the port has one queue, or its
            driver counts no single queue.
    """
    server, iface = run.server_of(port), run.interface(port)
    require_linux_of_two_cpus(server, SteeringKind.XPS)
    files, judged = SteeringFiles(server.ssh, server.name, iface, SteeringKind.XPS), Collected()
    others = list[Trouble]()
    queues = {_queue_of(file) for file in files.read()}
    if not _sent_of(server, iface).keys() >= queues:
        raise NotApplicable(f"{port.place}: its driver counts no frames of single send queues")
    for order in (sorted(cpus), sorted(cpus, reverse=True)):
        with judged.one(), steered(run, port, SteeringKind.XPS, order):
            owners = {_queue_of(file): cpus_of_mask(text) for file, text in files.read().items()}
            asked = sorted({cpu for owned in owners.values() for cpu in owned})
            if len(asked) < 2:
                raise NotApplicable(f"{port.place}: no two CPUs of {order} get send queues of their own")
            for cpu in (asked[0], asked[-1]):
                mine = {queue for queue, owned in owners.items() if cpu in owned}
                others += charged(judged, _elsewhere(run, port, cpu, mine))
    end(judged, others)


def _elsewhere(run: Run, port: Port, cpu: int, mine: set[int]) -> list[Trouble]:
    """Send pings from a CPU, and tell whether they leave by other queues than those of the CPU."""
    gained = _pinged(run, port, cpu, mine)
    others = sum(count for queue, count in gained.items() if queue not in mine)
    if sum(gained[queue] for queue in mine) >= PINGS - STRAY and others <= STRAY:
        return []
    said = f"sent {PINGS} pings from CPU {cpu} by {_by(gained, 'queue')}"
    return [port.trouble(f"{said}; expected by queue {', '.join(map(str, sorted(mine)))}, as xps_cpus shows")]


def _pinged(run: Run, port: Port, cpu: int, mine: set[int]) -> dict[int, int]:
    """Send pings from a CPU; the frames that each queue has sent meanwhile, as soon as those of the CPU show them."""
    server, iface = run.server_of(port), run.interface(port)
    partner, source = (str(run.bench.address(each).ip) for each in (run.bench.partner(port), port))
    before = _sent_of(server, iface)
    ping = f"ping -n -q -c {PINGS // FLOWS} -i {SENT_EVERY_S:g} -W 1 -I {source} {partner}"
    server.run(quoted("python3", "-c", _BOUND, str(cpu), "sh", "-c", " && ".join([ping] * FLOWS)))
    deadline = Deadline(COUNTED_WITHIN_S)
    while True:
        gained = {queue: count - before.get(queue, 0) for queue, count in _sent_of(server, iface).items()}
        if sum(gained[queue] for queue in mine) >= PINGS or deadline.expired:
            return gained
        pause(min(0.5, deadline.left))


def _sent_of(server: Server, iface: str) -> dict[int, int]:
    try:
        return sent_by_queue(server.host.counts.counters(iface))
    except ReadError as error:
        raise error.about(f"{server.name}: counters of {iface}") from error


def _queue_of(file: str) -> int:
    match = _QUEUE.search(file)
    assert match is not None, file  # the shell found it by this pattern
    return int(match[1])


def _by(gained: Mapping[int, int], what: str) -> str:
    counted = Counter({key: count for key, count in gained.items() if count > 0})
    return ", ".join(f"{what} {key} {count} times" for key, count in sorted(counted.items())) or f"no {what}"
