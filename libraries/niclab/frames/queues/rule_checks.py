"""Rules that choose the queue of a flow (ntuple filters): each steers its own flow alone, while it is shown.

Whether rules survive their port is the driver's choice: ixgbe of Linux 6.1 forgets them when the port goes down
(ixgbe_close(), ixgbe_fdir_filter_exit()). What is shown must be in force.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from niclab.core.verdict import CardFailure, NotApplicable
from niclab.frames.queues.flow_agents import ATTEMPTS, Came, FlowAgents, Flows, flow_addresses
from niclab.frames.queues.queue_changes import await_links
from niclab.frames.queues.queue_ports import QueuePort, Say, queue_ports
from niclab.frames.queues.spread import FLOWS, Findings
from niclab.hosts.steering.flow_rules import FlowRule
from niclab.hosts.steering.hash_records import FlowKind
from niclab.run.run import Run
from niclab.settings.dut_ports import refusal

Rules = Mapping[int, FlowRule]
"""Flow -> the rule that was made from it."""

HITS, BITS = 8, 32
"""Flows with a rule, and flows of whose two ports a rule has all bits but one."""
WORD, SET_WORD = "ntuple-filters", "ntuple"


def rules_steer(run: Run, say: Say) -> None:
    """Give flows of UDP in IPv4 rules, take the port down and up, and remove the rules; see by which queues flows come.

    Args:
        run: The current run.
        say: Takes what came of each.

    Raises:
        CardFailure: A flow with a rule comes by another queue than its rule says, one without by another than its hash
            says, rules are not shown as set, or one is left.
        BenchFault: A setting could not be put back, or the tool failed.
        Undecided: Flows did not come, or a port alone cannot be judged.
        NotApplicable: No driver takes such rules, or a port has some; or no port has several queues, or a server does
            not run Linux.
    """
    ports, why = queue_ports(run)
    judged = 0
    with Findings() as findings:
        for port in ports:
            try:
                with _without_rules(port):
                    _Judging(run, port, findings, say).judge()
                judged += 1
            except NotApplicable as reason:
                why.append(str(reason))
        if not judged:
            raise NotApplicable("\n".join(why))
        findings.undecided += why


@contextmanager
def _without_rules(port: QueuePort) -> Iterator[None]:
    """Rules are switched on, there are none, and there are none afterwards.

    Raises:
        NotApplicable: The driver has no rules, does not let them be switched on, or somebody has made some.
    """
    iface, settings = port.dut.iface, port.dut.host.settings
    if port.host.rules(iface):
        raise NotApplicable(f"{port.place} has rules of flows already; the lab leaves them alone")
    feature = settings.features(iface)[WORD]
    if not feature.on and feature.fixed:
        raise NotApplicable(f"{port.place}: its driver takes no rules of flows: {WORD} is off and fixed")
    with (
        port.dut.put_back(f"{WORD} is switched", port.dut.host.undo.features(iface, {WORD: SET_WORD})),
        port.dut.put_back("rules of flows are set", port.host.restoring_no_rules(iface)),
    ):
        if not feature.on and not settings.set_feature(iface, SET_WORD, True).now[WORD].on:
            raise CardFailure(f"{port.place}: {WORD} is off when switched on; expected on, or off and fixed")
        await_links(port.dut.run, [port], f"after {WORD} was switched on")
        yield
    await_links(port.dut.run, [port], f"after {WORD} was put back")
    if left := port.host.rules(iface):
        raise CardFailure(f"{port.place}: {len(left)} rules of flows are left when removed; expected none")


class _Judging:
    """One port, and flows that are the same each time."""

    def __init__(self, run: Run, port: QueuePort, findings: Findings, say: Say) -> None:
        self._run, self._port, self._findings, self._say = run, port, findings, say
        receiver = port.dut.port
        addresses = flow_addresses(run, receiver, FlowKind.UDP4)
        self._flows = Flows(receiver, FlowKind.UDP4, secrets.randbits(32), FLOWS, addresses)

    def judge(self) -> None:
        before = self._came("without rules")
        if not before.queues:
            raise NotApplicable(f"{self._port.place}: no flow came whose queue the driver has noted")
        what = f"{self._port.place}: without rules"
        self._findings.judge_moved(what, before)
        self._findings.judge_lost(what, before, self._flows.count)
        hits, misses = self._rules(before)
        attempt = self._port.host.add_rules(self._port.dut.iface, [*hits.values(), *misses.values()])
        shown = list(attempt.now.values())
        missing = [rule for rule in (*hits.values(), *misses.values()) if rule.shown not in shown]
        if missing or attempt.refused is not None:
            said = f"{self._port.place}: {len(missing)} of {len(hits) + len(misses)} rules are not shown as set"
            raise CardFailure(f"{said}{refusal(attempt)}, the first is {missing[:1]}; expected all")
        self._compare("with rules", before, hits, misses)
        self._port.dut.down_and_up()
        await_links(self._run, [self._port], "after down and up")
        shown = list(self._port.host.rules(self._port.dut.iface).values())
        self._say(f"{self._port.place}: {len(shown)} rules are shown after down and up")
        self._compare(
            "after down and up", before, {flow: rule for flow, rule in hits.items() if rule.shown in shown}, {}
        )
        self._port.host.remove_rules(self._port.dut.iface)
        self._compare("without rules again", before, {}, {})

    def _rules(self, before: Came) -> tuple[Rules, Rules]:
        """Rules of some flows, and of others with one bit of a port turned; each to another queue than the flow's."""
        flows = sorted(before.queues)[: HITS + BITS]
        hits = {flow: self._rule(flow, before.queues[flow], 0) for flow in flows[:HITS]}
        near = zip(flows[HITS:], range(BITS), strict=False)
        return hits, {flow: self._rule(flow, before.queues[flow], 1 << bit) for flow, bit in near}

    def _rule(self, flow: int, queue: int, turned: int) -> FlowRule:
        (source, destination), others = self._flows.ports[flow], [each for each in self._port.queues if each != queue]
        both = (source << 16 | destination) ^ turned
        return FlowRule(self._flows.addresses, (both >> 16, both & 0xFFFF), others[flow % len(others)])

    def _came(self, what: str) -> Came:
        (came,) = self._run.part(FlowAgents).exchange([self._flows])
        self._say(f"{self._port.place}: {what}: {came.flows} of {self._flows.count} flows came")
        return came

    def _compare(self, what: str, before: Came, hits: Rules, misses: Rules) -> None:
        came, place = self._came(what), f"{self._port.place}: {what}"
        self._findings.judge_moved(place, came)
        wrong = {True: list[str](), False: list[str]()}
        for flow, queue in sorted(came.queues.items()):
            wanted = hits[flow].queue if flow in hits else before.queues.get(flow, queue)
            if queue != wanted:
                source, destination = self._flows.ports[flow]
                near = f", next to the rule for {misses[flow].ports}" if flow in misses else ""
                said = f"port {source} to port {destination} by queue {queue} instead of {wanted}{near}"
                wrong[flow in hits].append(said)
        for ruled, words in (
            (True, "with a rule came by other queues than it says"),
            (False, "without a rule were moved"),
        ):
            if wrong[ruled]:
                said = f"{place}: {len(wrong[ruled])} flows {words}, {wrong[ruled][0]}"
                self._findings.problems.append(f"{said}; expected each rule to steer its own flow alone")
        lost = [flow for flow in range(self._flows.count) if flow not in came.queues and flow not in came.unnoted]
        if lost and set(lost) <= hits.keys():
            said = (
                f"{place}: {len(lost)} flows with a rule never came, each was sent {ATTEMPTS} times, and all others did"
            )
            self._findings.problems.append(f"{said}; expected them by the queue of the rule")
        else:
            self._findings.judge_lost(place, came, self._flows.count)
