"""Two servers that are network namespaces, whose cables a patch panel lays to a switch and back."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from namespaces import LIBRARIES, Namespaces, NamespaceServer, whole_on_the_wire

from niclab.bench.records import Port, Role, Wiring
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.switch.switch_records import PortVlans

PANEL = Path(__file__).with_name("panel.py")
PORTS = ("dut.p0", "dut.p1", "peer.p0", "peer.p1")
EVERY_VLAN = PortVlans(1, frozenset({1}), frozenset(range(2, 4095)))


class Paneled(Namespaces):
    """The two servers, the panel and the switch. ``commands``: what was asked of the panel."""

    def __enter__(self) -> Paneled:
        super().__enter__()
        return self

    def _cables(self) -> None:
        middle = NamespaceServer(Role.PEER, self.scratch)
        self._ending.callback(middle.end)
        self.commands = list[str]()
        self.state: dict[str, Any] = {"switch": False, "spoilt": {}}
        self._write()
        places = {}
        for role, server in self.servers.items():
            for key in ("p0", "p1"):
                place = f"{role.value}{key}"
                server.run(f"ip link add {key} type veth peer name {place} netns {middle.holder.pid}")
                middle.run(f"ip link set {place} up promisc on")
                places[place] = f"{role.value}.{key}"
        words = " ".join(f"{place}={port}" for place, port in places.items())
        command = f"PYTHONPATH={LIBRARIES} exec {sys.executable} {PANEL} {self._state_file} {words}"
        panel = middle.start(command, limit_s=600)
        self._ending.callback(panel.stop)
        self._set_up()
        for server in self.servers.values():
            for key in ("p0", "p1"):
                whole_on_the_wire(server, key)

    def _run(self) -> Run:
        made: Any = super()._run()
        for path in made.bench.paths:
            path.through = Wiring.DIRECT
        ports = {port: port.replace(".", "-") for port in PORTS}
        made.bench.switch = SimpleNamespace(name="sw", ports=ports, connect="to the switch", disconnect="back")
        made.bench.path_of = lambda port: next(path for path in made.bench.paths if port.name in path.ends)
        vlans = SimpleNamespace(of=lambda _: EVERY_VLAN)
        made.switch = SimpleNamespace(name="sw", vlans=vlans)
        made.controller = SimpleNamespace(check=self._obey)
        made.await_carrier = self._await_carrier
        made.journal = self._ending.enter_context(Journal(self.scratch / "journal").hold())
        made.undo = self._undo
        run: Run = made
        return run

    @staticmethod
    def _await_carrier(ports: list[Port], *, up: bool, within_s: float) -> list[Port]:
        assert up and within_s and ports
        return []

    def _undo(self, action: Action) -> None:
        assert action.kind is ActionKind.LOCAL
        self._obey(action.command)

    def _obey(self, command: str) -> None:
        self.commands.append(command)
        self.state["switch"] = command == "to the switch"
        self._write()

    @property
    def _state_file(self) -> Path:
        return self.scratch / "panel"

    def _write(self) -> None:
        draft = self._state_file.with_suffix(".new")
        draft.write_text(json.dumps(self.state))
        draft.replace(self._state_file)

    def spoil(self, word: str, *places: str) -> None:
        """Let something happen to one of every ten frames at places, such as ``to peer.p1``; nowhere else any more."""
        self.state["spoilt"] = dict.fromkeys(places, word)
        self._write()


def refuse(_: str) -> None:
    """A panel that does not work."""
    raise BenchFault("to the switch: exit status 1; expected 0")
