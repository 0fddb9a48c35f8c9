"""Linux host: how received flows are spread over the queues of an interface, by ethtool."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.command_words import interface_name
from niclab.hosts.counts.ethtool_counters import read_counters
from niclab.hosts.errors import NotOffered
from niclab.hosts.host import CommandResult
from niclab.hosts.linux_commands import LinuxCommands
from niclab.hosts.settings.settings_records import Attempt
from niclab.hosts.steering.ethtool_hash import read_hash_fields, read_receive_hash
from niclab.hosts.steering.flow_rules import FlowRule, read_flow_rules
from niclab.hosts.steering.hash_records import FlowKind, HashField, HashFields, ReceiveHash
from niclab.hosts.steering.queue_counters import frames_by_queue

_NO_COUNTERS, _UNSUPPORTED = "no stats available", "Operation not supported"


class LinuxQueues(LinuxCommands):
    """See :class:`niclab.hosts.host.HostQueues` for the meaning of each method."""

    def receive_hash(self, iface: str) -> ReceiveHash:
        """Return table, key and function.

        Raises:
            NotOffered: The driver has no such operation: the port has one queue, or queues that nobody can choose.
        """
        return self._of(iface, self._read(self._show(iface), read_receive_hash))

    def set_weights(self, iface: str, weights: Sequence[int]) -> Attempt[ReceiveHash]:
        """Give each queue a part of the table by its weight: ``0 1`` gives all of it to queue 1.

        Raises:
            NotOffered: The driver takes no table.
        """
        return self._set(iface, f"weight {' '.join(str(int(weight)) for weight in weights)}")

    def set_key(self, iface: str, key: bytes) -> Attempt[ReceiveHash]:
        """Set the key, and leave the table alone.

        Raises:
            NotOffered: The driver takes no key.
        """
        return self._set(iface, f"hkey {key.hex(':')}")

    def fields(self, iface: str, kind: FlowKind) -> HashFields:
        """Return the fields that flows of a kind are hashed by.

        Raises:
            NotOffered: The driver does not say.
        """
        return self._of_kind(kind, self._read(self._show_fields(iface, kind), read_hash_fields))

    def set_fields(self, iface: str, kind: FlowKind, fields: frozenset[HashField]) -> Attempt[HashFields]:
        """Hash flows of a kind by other fields.

        Raises:
            NotOffered: The driver takes no fields.
        """
        show = self._show_fields(iface, kind)
        change = self._change_fields(iface, kind, fields)
        refused, shown = self._told_and_shown(change, show)
        self._require_offered(change, refused)
        return Attempt(refused, self._of_kind(kind, self._understood(show, read_hash_fields, shown)))

    def frames(self, iface: str) -> Mapping[int, int]:
        """Return the frames that each receive queue has counted; empty where the driver counts no single queue."""
        command = f"ethtool -S {interface_name(self.name, iface)}"
        result = self._try(command)
        if result.exit_status != 0 and _NO_COUNTERS in result.stderr:
            return {}
        if result.exit_status != 0:
            raise self._failed(command, result)
        return self._understood(command, lambda text: frames_by_queue(read_counters(text)), result.stdout)

    def rules(self, iface: str) -> Mapping[int, Mapping[str, str]]:
        """Return the lines of each rule that chooses the queue of a flow, by its number.

        Raises:
            NotOffered: The driver has none.
        """
        return self._read(self._show_rules(iface), read_flow_rules)

    def add_rules(self, iface: str, rules: Sequence[FlowRule]) -> Attempt[Mapping[int, Mapping[str, str]]]:
        """Add rules, up to the first that is refused.

        Raises:
            NotOffered: The driver takes none.
        """
        name = interface_name(self.name, iface)
        change = " && ".join(f"ethtool -N {name} {rule.words} > /dev/null" for rule in rules)
        refused, shown = self._told_and_shown(change, self._show_rules(iface))
        self._require_offered(f"ethtool -N {name}", refused)
        return Attempt(refused, self._understood(self._show_rules(iface), read_flow_rules, shown))

    def remove_rules(self, iface: str) -> Attempt[Mapping[int, Mapping[str, str]]]:
        """Remove every rule."""
        refused, shown = self._told_and_shown(self.restoring_no_rules(iface), self._show_rules(iface))
        return Attempt(refused, self._understood(self._show_rules(iface), read_flow_rules, shown))

    def restoring_no_rules(self, iface: str) -> str:
        """A command that removes every rule, for a port that had none."""
        name = interface_name(self.name, iface)
        each = f"ethtool -N {name} delete $rule || exit"
        return f"(for rule in $(ethtool -n {name} | sed -n 's/^Filter: //p'); do {each}; done)"

    def restoring_table(self, iface: str) -> str:
        """A command that puts the table back.

        ethtool cannot write single entries. A table that gives each queue the same part is put back by ``default``;
        one that names fewer queues than the port has by ``equal``, as the kernel's default names all (Linux 6.1,
        ethtool/ioctl.c, ethtool_set_rxfh()): that of ixgbe's 82599 (16 of up to 63), or one that somebody has set.
        igb's own pattern differs from both, its parts do not.

        Raises:
            BenchFault: The parts differ, and the entries do not follow each other as weights make them.
        """
        shown, name = self.receive_hash(iface), interface_name(self.name, iface)
        table = shown.table
        counts = Counter(table)
        queues = max(table) + 1
        if len(counts) == queues and max(counts.values()) - min(counts.values()) <= 1:
            default = f"ethtool -X {name} default || " if queues == shown.rings else ""
            return self._or_unchanged(f"{default}ethtool -X {name} equal {queues}", self._show(iface))
        if list(table) != sorted(table):
            raise BenchFault(
                f"{self.name}: the indirection table of {iface} has a pattern that ethtool cannot put back: "
                f"{' '.join(map(str, table[:16]))} ...; expected equal parts, or entries in the order of the queues"
            )
        weights = " ".join(str(counts[queue]) for queue in range(queues))
        return self._or_unchanged(f"ethtool -X {name} weight {weights}", self._show(iface))

    def restoring_key(self, iface: str) -> str:
        """A command that puts the key back.

        Raises:
            NotOffered: The driver shows none.
        """
        key = self.receive_hash(iface).key
        if key is None:
            raise NotOffered(f"{self.name}: the driver of {iface} shows no hash key")
        command = f"ethtool -X {interface_name(self.name, iface)} hkey {key.hex(':')}"
        return self._or_unchanged(command, self._show(iface))

    def restoring_fields(self, iface: str, kind: FlowKind) -> str:
        """A command that puts the fields of a kind of flows back."""
        command = self._change_fields(iface, kind, self.fields(iface, kind).fields)
        return self._or_unchanged(command, self._show_fields(iface, kind))

    def _or_unchanged(self, command: str, show: str) -> str:
        """A driver that refuses every value refuses those of before as well: all is well where nothing has changed."""
        checksum = self._run(f"{show} | cksum").strip()
        return f'{command} || test "$(LC_ALL=C {show} | cksum)" = {shlex.quote(checksum)}'

    def _show(self, iface: str) -> str:
        return f"ethtool -x {interface_name(self.name, iface)}"

    def _show_rules(self, iface: str) -> str:
        return f"ethtool -n {interface_name(self.name, iface)}"

    def _show_fields(self, iface: str, kind: FlowKind) -> str:
        return f"ethtool -n {interface_name(self.name, iface)} rx-flow-hash {kind.value}"

    def _change_fields(self, iface: str, kind: FlowKind, fields: frozenset[HashField]) -> str:
        letters = "".join(sorted(field.value for field in fields))
        return f"ethtool -N {interface_name(self.name, iface)} rx-flow-hash {kind.value} {letters}"

    def _set(self, iface: str, words: str) -> Attempt[ReceiveHash]:
        """Set, and read back in the same round trip."""
        show, change = self._show(iface), f"ethtool -X {interface_name(self.name, iface)} {words}"
        refused, shown = self._told_and_shown(change, show)
        self._require_offered(change, refused)
        return Attempt(refused, self._of(iface, self._understood(show, read_receive_hash, shown)))

    def _failed(self, command: str, result: CommandResult) -> BenchFault | NotApplicable:
        """The error for a tool that failed: a driver without the operation is no tool that cannot work."""
        fault = super()._failed(command, result)
        return NotOffered(str(fault)) if _UNSUPPORTED in result.stderr + result.stdout else fault

    def _require_offered(self, change: str, refused: str | None) -> None:
        if refused is not None and _UNSUPPORTED in refused:
            raise NotOffered(f"{self.name}: `{change}`: {refused}")

    def _of(self, iface: str, shown: ReceiveHash) -> ReceiveHash:
        if shown.iface != iface:
            raise BenchFault(f"{self.name}: `{self._show(iface)}` answered for {shown.iface}")
        return shown

    def _of_kind(self, kind: FlowKind, shown: HashFields) -> HashFields:
        if shown.kind is not kind:
            raise BenchFault(f"{self.name}: ethtool answered for {shown.kind.value}; expected {kind.value}")
        return shown
