"""A fake bench: the servers' operating systems, BMCs, consoles and cables as plain state that tests bend.

Everything above them (:class:`~niclab.run.run.Run`, :class:`~niclab.run.server.Server`, journal, wiring, keywords) is
real.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, cast

from fake_parts import Cables, FakeBmc, FakeConsole, FakeHost, FakeSsh, Nic
from fake_switch import SECTION

from niclab.bench.bench_file import load_bench
from niclab.bench.records import Bench, Role
from niclab.card import Card, load_card
from niclab.run import run as runs
from niclab.run.run import Run
from niclab.run.run_notes import RunNotes
from niclab.run.server import Server

SAMPLES = Path(__file__).parent / "samples"
BENCH_SECTION = re.compile(r"^commands:\n(  .*\n)+", re.MULTILINE)
CABLE_COMMAND = re.compile(r"^ +(pull|plug): .*\n", re.MULTILINE)
_BENCHES: dict[tuple[Path, str], Bench] = {}
_CARDS: dict[tuple[Path, str], Card] = {}
TOOL = """
import json, sys
from pathlib import Path
state_file, word = Path(sys.argv[1]), sys.argv[2]
state = json.loads(state_file.read_text())
state["said"].append(word)
if word in ("up", "down"):
    state["up"] = word == "up"
elif word == "insert":
    state["cards"] = sys.argv[3:5]
elif word == "boot":
    state["systems"] = sys.argv[3:5]
elif word == "systems":
    print("dut {}\\npeer {}".format(*state["systems"]))
elif word == "inserted":
    print("dut {}\\npeer {}".format(*state["cards"]))
elif word == "wiring":
    state["wiring"] = sys.argv[3]
elif word != "status":
    path = sys.argv[3]
    state["pulled"] = sorted({*state["pulled"], path} if word == "pull" else {*state["pulled"]} - {path})
state_file.write_text(json.dumps(state))
sys.exit(state["fail"].get(word, 0) or (word == "status" and not state["up"]))
"""


class FakeBench:
    """Files, cables and servers of a toy bench with the paths a and b. ``tool`` is the bench's own command.

    Args:
        commands: The bench file names commands that switch the bench.
        cables: The bench file names commands that pull and plug.
    """

    def __init__(self, folder: Path, *, commands: bool = True, cables: bool = True) -> None:
        self.folder, self.home = folder, folder / "home"
        self.state_file, self.tool_file = folder / "bench.json", folder / "tool.py"
        self.tool_file.write_text(TOOL)
        self.set_state(up=True, pulled=[], said=[], fail={}, wiring="direct")
        secrets = self.home / ".local/state/niclab/vbench/virtual/secrets.env"
        secrets.parent.mkdir(parents=True)
        secrets.write_text("BMC_PASSWORD=bmc-secret\nCONSOLE_PASSWORD=console-secret\n")
        secrets.chmod(0o600)
        self.file = folder / "virtual.yaml"
        self.write(commands=commands, cables=cables)
        self.sheet = folder / "intel-82574l.yaml"
        self.sheet.write_text((SAMPLES / "intel-82574l.yaml").read_text())
        self.cables = Cables(self.pulled)
        self.hosts = {role: FakeHost(role, self.cables) for role in Role}
        self.bmcs = {
            role: {name: FakeBmc(f"{role.value} BMC", self.hosts[role]) for name in ("ipmi", "redfish")}
            for role in Role
        }
        self.consoles = {role: FakeConsole(self.hosts[role]) for role in Role}
        self.ssh = {role: FakeSsh(self.hosts[role]) for role in Role}
        self.at_switch = {"Gi1/0/1": "dut.p1", "Gi1/0/2": "peer.p1"}
        self.closed: list[str] = []
        self.up_when_closed: list[bool] = []
        self.cables.nics = {f"{role.value}.{nic.key}": nic for role in Role for nic in self.hosts[role].nics}

    @property
    def dut(self) -> FakeHost:
        return self.hosts[Role.DUT]

    @property
    def peer(self) -> FakeHost:
        return self.hosts[Role.PEER]

    def nic(self, name: str) -> Nic:
        """The port called ``dut.p0``."""
        return self.cables.nics[name]

    def write(self, *, commands: bool, cables: bool) -> None:
        """Write the bench file: the sample, its commands replaced by this bench's own or left out."""
        tool = f"{sys.executable} {self.tool_file} {self.state_file}"
        text = (SAMPLES / "virtual.yaml").read_text().replace("lab/virtual/vbench cable", tool)
        text = text.replace("lab/virtual/vbench status --quiet", f"{tool} status").replace("lab/virtual/vbench", tool)
        text = text if commands else BENCH_SECTION.sub("", text)
        self.file.write_text(text if cables else CABLE_COMMAND.sub("", text))

    def make_real(self) -> None:
        """Its cards are no models, and no path is scaled."""
        text = self.file.read_text().replace("emulated: true", "emulated: false")
        self.file.write_text(text.replace("rate_scale: 20", "rate_scale: 1"))

    def put_in_switch(self) -> None:
        """Path b goes through a managed switch from now on."""
        text = self.file.read_text().replace("paths:\n", f"{SECTION}paths:\n", 1)
        first, second = text.split("  - name: b\n")
        second = CABLE_COMMAND.sub("", second).replace("through: direct", "through: switch", 1)
        self.file.write_text(f"{first}  - name: b\n{second}")
        secrets = self.home / ".local/state/niclab/vbench/virtual/secrets.env"
        secrets.write_text(secrets.read_text() + "SWITCH_READ=read-secret\nSWITCH_WRITE=write-secret\n")

    def give_patch_panel(self) -> None:
        """The switch's section names both paths, which lie directly, and commands that connect them to it."""
        tool = f"{sys.executable} {self.tool_file} {self.state_file} wiring"
        section = SECTION.replace(
            "  ports: {dut.p1: Gi1/0/1, peer.p1: Gi1/0/2}\n",
            "  ports: {dut.p0: Gi1/0/3, dut.p1: Gi1/0/1, peer.p0: Gi1/0/4, peer.p1: Gi1/0/2}\n"
            f"  connect: {tool} switch\n  disconnect: {tool} direct\n",
        )
        self.edit(self.file, (SECTION, section), ("through: switch", "through: direct"))
        self.at_switch |= {"Gi1/0/3": "dut.p0", "Gi1/0/4": "peer.p0"}

    def switch_carrier(self, port: str, up: bool) -> None:
        """A port of the switch goes up or down: the server's port that is cabled to it sees it."""
        name = self.at_switch.get(port)
        if name is not None:
            self.cables.stuck[name] = up

    def give_to_boot(self, seconds: float) -> None:
        """The bench file gives both servers another time to boot."""
        self.file.write_text(re.sub(r"ready_within_s: [\d.]+", f"ready_within_s: {seconds}", self.file.read_text()))

    @staticmethod
    def edit(file: Path, *changes: tuple[str, str]) -> None:
        """Replace the first place of each ``(old, new)`` in a file."""
        text = file.read_text()
        for old, new in changes:
            assert old in text, f"{old!r} is not in {file}"
            text = text.replace(old, new, 1)
        file.write_text(text)

    def set_state(self, **changes: Any) -> None:
        """Change what the bench's own command works on."""
        before = json.loads(self.state_file.read_text()) if self.state_file.exists() else {}
        self.state_file.write_text(json.dumps(before | changes))

    @property
    def state(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.state_file.read_text())
        return content

    @property
    def said(self) -> list[str]:
        """The words the bench's own command was called with, but those that only ask."""
        return [word for word in self.state["said"] if word not in ("status", "inserted", "systems")]

    def give_slots(self, dut: str, peer: str) -> None:
        """From now on the bench can get other cards; these are in."""
        tool = f"{sys.executable} {self.tool_file} {self.state_file}"
        status = f"  status: {tool} status\n"
        slots = f"  insert: {tool} insert {{dut}} {{peer}}\n  inserted: {tool} inserted\n"
        self.edit(self.file, (status, status + slots))
        self.set_state(cards=[dut, peer])

    def give_systems(self, dut: str, peer: str) -> None:
        """From now on the bench can boot other operating systems; these are on."""
        tool = f"{sys.executable} {self.tool_file} {self.state_file}"
        status = f"  status: {tool} status\n"
        systems = f"  boot_systems: {tool} boot {{dut}} {{peer}}\n  systems: {tool} systems\n"
        self.edit(self.file, (status, status + systems))
        self.set_state(systems=[dut, peer])

    def give_names(self, **systems: str) -> Bench:
        """From now on the bench has names for systems (name -> what each is); return it."""
        names = ", ".join(f"{name}: {system}" for name, system in systems.items())
        self.edit(self.file, ("\nservers:\n", f"\nsystems: {{{names}}}\n\nservers:\n"))
        return load_bench(self.file)

    @property
    def has_power(self) -> bool:
        """Do the servers run? A bench without commands is always up."""
        return bool(self.state["up"]) or BENCH_SECTION.search(self.file.read_text()) is None

    def pulled(self) -> set[str]:
        return set(self.state["pulled"])

    def load(self) -> tuple[Bench, Card]:
        """Bench file and sheet; a text that was read before is not parsed again."""
        bench, card = self.file.read_text(), self.sheet.read_text()
        if (self.file, bench) not in _BENCHES:
            _BENCHES[self.file, bench] = load_bench(self.file)
        if (self.sheet, card) not in _CARDS:
            _CARDS[self.sheet, card] = load_card(self.sheet)
        return _BENCHES[self.file, bench], _CARDS[self.sheet, card]

    def lab(self, run: str = "run-1") -> Run:
        """A lab that is not open."""
        bench, card = self.load()
        made = Run(bench, card, self.folder / run, lambda: "a test")
        for host in self.hosts.values():
            host.journal = made.journal
        return made

    def take(self, run: str = "run-1") -> Run:
        """Take the bench as :func:`niclab.run.run.acquire` does."""
        made = self.lab(run)
        made.open()
        runs._CURRENT.append(made)
        return made

    @property
    def server_class(self) -> type[Server]:
        """A server of this bench: the real class over fake connections."""
        fake = self

        class FakeServer(Server):
            def __init__(self, bench: Bench, role: Role, secrets: Any, notes: RunNotes) -> None:
                super().__init__(bench, role, secrets, notes)
                fake.ssh[role].endpoint = self.ssh.endpoint
                self.ssh = cast(Any, fake.ssh[role])
                self.__dict__["host"] = fake.hosts[role]
                self._console = cast(Any, fake.consoles[role])
                self.loopback_bps = 900e6
                entry = self.description.bmc
                made = {name: fake.bmcs[role][name] for name in ("ipmi", "redfish") if entry and getattr(entry, name)}
                self.__dict__.update(made)

            def _greeting(self) -> bytes:
                return b"SSH-" if fake.hosts[self.role].alive and fake.has_power else b""

            def answers(self) -> bool:
                return fake.has_power and super().answers()

            def close(self) -> None:
                fake.closed.append(self.name)
                fake.up_when_closed.append(fake.state["up"])
                super().close()

        return FakeServer
