"""The parts of a fake bench: cables, ports, operating system, SSH, BMC, console."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import Signals
from types import SimpleNamespace
from typing import NoReturn

from fake_builds import FakeBuilds

from niclab.bench.records import Role
from niclab.core.undo import Entry, Journal
from niclab.core.verdict import BenchFault
from niclab.hosts.counts.linux import read_carriers
from niclab.hosts.counts.load_records import CpuTime, CpuTimes, FrameCounters, Load
from niclab.hosts.counts.proc_load import FRAME_COUNTERS
from niclab.hosts.errors import NoDevice, NoInterface, NotOffered
from niclab.hosts.host_records import (
    Address,
    CarrierChanges,
    CarrierLook,
    DriverInfo,
    Duplex,
    Interface,
    LinkSettings,
    LoadedModule,
    ModuleFile,
    ModuleState,
    Operstate,
    OsRelease,
    PciDevice,
    PcieLink,
    PingResult,
    Software,
    Statistics,
)
from niclab.hosts.kernel.kernel_log import KernelLine, KernelLogMark, KernelLook, LogCut
from niclab.hosts.linux_host import LinuxHost
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.acquiring import server_copy
from niclab.run.acquiring.lease import FOLDER
from niclab.state.state_program import BEGIN
from niclab.traffic.runs.looks import surrounded
from niclab.transports import ConnectionLost
from niclab.transports.bmc.bmc import Bmc, PowerAction, PowerState, SelEntry, Sensor, SensorKind, SensorStatus
from niclab.transports.console.console_line import NoBreak
from niclab.transports.console.console_shell import NotSeen
from niclab.transports.console.kernel_death import KernelDeath
from niclab.transports.ssh.ssh import Errands, Result, SshEndpoint

ASKS_CARRIERS = re.compile(r"(?:(.*); )?echo '@ carriers'; carriers (.*)", re.DOTALL)
KERNEL = "6.1.0-28-amd64"
MODULE = LoadedModule("e1000e", ModuleState.LIVE, None, "SRC1")
FILE = ModuleFile("/lib/modules/e1000e.ko", False, "e1000e", None, "SRC1", f"{KERNEL} SMP", ("ptp",), ())
INFO = DriverInfo("e1000e", KERNEL, "2.1-0")
PING = PingResult(10, 10, 0, ())


def link_of(slot: str, *, width: int = 1, gts: float = 2.5, above: str = "0000:00:01.0") -> PcieLink:
    return PcieLink(PciDevice(above), PciDevice(slot, "8086", "10d3"), gts, width)


@dataclass
class Nic:
    """One port of the card in a server, as its operating system sees it."""

    key: str
    iface: str
    pci: str
    mac: str | None
    device: PciDevice
    path: tuple[PcieLink, ...]
    info: DriverInfo = INFO
    untried: tuple[str, ...] = ()
    settings: LinkSettings | None = None
    ping: PingResult = PING
    frames: dict[str, int] = field(default_factory=dict)
    """Frame counters by name; one that is missing is 0."""
    admin_up: bool = False
    addresses: list[str] = field(default_factory=list)
    tx_bytes: int = 0
    changes: int = 3
    index: int = 2
    mtu: int = 1500
    most_mtu: int = 9000
    longest: int = 9000
    """Bytes of the largest packet of the port that the other end answers."""
    lro: bool = False
    permanent_mac: str | None = None
    """Said where somebody has given the port another one."""


class Cables:
    """The cabling of the ports. ``stuck`` ports keep the carrier given there."""

    def __init__(self, pulled: Callable[[], set[str]]) -> None:
        self.wires = {"a": ("dut.p0", "peer.p0"), "b": ("dut.p1", "peer.p1")}
        self.nics: dict[str, Nic] = {}
        self.stuck: dict[str, bool] = {}
        self.follows: dict[str, str] = {}
        """A port that wrongly loses its carrier with a cable."""
        self.sticks_after_pull: set[str] = set()
        """Ports that never get their carrier back once a cable was pulled."""
        self._pulled, self._was_pulled = pulled, False

    def carrier(self, name: str) -> bool:
        pulled = self._pulled()
        self._was_pulled = self._was_pulled or bool(pulled)
        if name in self.stuck:
            return self.stuck[name]
        if name in self.sticks_after_pull and self._was_pulled:
            return False
        (wire,) = [wire for wire, ends in self.wires.items() if name in ends]
        broken = wire in pulled or self.follows.get(name) in pulled
        return not broken and all(self.nics[end].admin_up for end in self.wires[wire])


class _NoShell:
    """For a host that is only asked how it would say something."""

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result:
        raise AssertionError(f"nothing is run: {command}, {timeout_s}, {check}")


OFFERED = ("3.8.4", "3.8.7")
"""Versions of every package in the repositories of a fake host."""


class _Debian(_NoShell):
    """For a host that is asked how it would say something to its package system."""

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result:
        if command.endswith("cat /etc/os-release"):
            return Result(command, 0, None, "ID=debian\n", "", 0.01)
        if " apt-cache madison " in command:
            rows = (f"{command.split()[-1]} | {version} | file:/srv/apt ./ Packages\n" for version in OFFERED)
            return Result(command, 0, None, "".join(rows), "", 0.01)
        if " modinfo -n " in command:
            return Result(command, 0, None, "/lib/modules/e1000e.ko\n", "", 0.01)
        return super().run(command, timeout_s=timeout_s, check=check)


FLAT_NAMES: dict[str, dict[str, str]] = {
    "system": {"panic_command": "panicking", "trouble": "troubles"},
    "drivers": {"reload": "reload_driver", "names_of": "drivers_of", "parameter": "module_parameter"},
    "loading": {"restoring": "unsetting_load"},
    "pci": {"driver": "bound_driver", "device": "pci_device", "path": "pcie_path", "functions": "pci_functions"},
    "firmware": {"has_image": "firmware_file"},
    "settings": {},
    "links": {"names": "interface_names", "show_command": "showing_links"},
    "counts": {},
    "bonds": {"create": "create_bond", "settings": "bond_settings", "modules": "stacking_modules"},
    "undo": {
        "features": "restoring_features",
        "rings": "restoring_rings",
        "coalescing": "restoring_coalescing",
        "pause": "restoring_pause",
        "channels": "restoring_channels",
        "mtu": "restoring_mtu",
        "link": "restoring_link",
        "arp": "answering_arp_for_others",
        "address": "removing_address",
        "upper": "removing_link",
        "port": "releasing_port",
        "package": "restoring_package",
        "driver": "restoring_driver",
        "load_driver": "loading_driver",
        "unload_driver": "unloading_driver",
        "firmware": "flashing",
    },
}
"""Questions that a fake host has under another name: part -> question -> method of :class:`FakeHost`."""


class _Part:
    """One part of a fake host: each question is a method of the fake itself."""

    def __init__(self, host: FakeHost, names: dict[str, str]) -> None:
        self._host, self._names = host, names

    def __getattr__(self, question: str) -> object:
        return getattr(self._host, self._names.get(question, question))


LOAD = "show the load"


class FakeHost:
    """The operating system of one server: implements what is used of :class:`~niclab.hosts.host.Host`."""

    def __init__(self, role: Role, cables: Cables) -> None:
        self.role, self.name, self._cables = role, role.value, cables
        self.nics = [self._nic(index) for index in (0, 1)]
        self.alive, self.power, self.boots = True, PowerState.ON, 1
        self.loaded: LoadedModule | None = MODULE
        self.file, self.root = FILE, True
        self.same_build: bool | None = True
        self.reload_fault: BenchFault | None = None
        self.kernel_said: tuple[KernelLine, ...] = ()
        self.overwritten = 0
        """Number of its first lines that the log holds no more."""
        self.kernel_s: Callable[[], float | None] = lambda: None
        """The clock of the kernel, which stamps its log."""
        self.said_when_reloaded: tuple[KernelLine, ...] = ()
        self.clock: Callable[[], float] | None = None
        self.memory = 1 << 30
        self.missing_tools: set[str] = set()
        self.tool_versions: dict[str, str] = {}
        self.ticks, self.worked, self.busy_ticks = 0, 0, 10
        self.shown_loads: dict[tuple[str, str], Load] = {}
        self.journal: Journal | None = None
        self.calls: list[str] = []
        self.changes: list[tuple[str, tuple[str, ...]]] = []
        """Each change of a link, with the undo commands that stood in the journal at that moment."""
        self._turn = threading.Lock()
        self.on_boot: Callable[[], object] = lambda: None
        self.shell: Callable[[str], str] = lambda _: ""
        for part, names in FLAT_NAMES.items():
            setattr(self, part, _Part(self, names))
        self.builds = FakeBuilds()
        words = LinuxHost(_NoShell(), self.name)
        self.restoring_link, self.removing_address = words.undo.link, words.undo.address
        self.showing_links, self.loading_driver = words.links.show_command, words.undo.load_driver
        self.needed_tools, self.evidence_commands = words.system.needed_tools, words.system.evidence_commands
        self.drivers_of, self.stacking_modules = words.drivers.names_of, words.bonds.modules
        self.unloading_driver, self.removing_link = words.undo.unload_driver, words.undo.upper
        self.releasing_port = words.undo.port
        self.restoring_package = LinuxHost(_Debian(), self.name).undo.package
        self.panicking, self.troubles = words.system.panic_command, words.system.trouble
        self.answering_arp_for_others = words.undo.arp
        self.mixed_arp: set[str] = set()
        self.without_interface: set[str] = set()
        """PCI addresses of ports that no driver makes an interface of."""
        self.sysctls = {"net/core/rmem_max": "212992"}

    def _nic(self, index: int) -> Nic:
        pci = f"0000:0{index + 1}:00.0"
        mac = f"52:54:00:00:0{int(self.role is Role.PEER)}:0{index}"
        device = PciDevice(pci, "8086", "10d3", "8086", "a01f", "0200", driver="e1000e", lnksta_gts=2.5, lnksta_width=1)
        iface = f"enp{index + 1}s0"
        modes: tuple[str, ...] = ("1000baseT/Full",)
        settings = LinkSettings(iface, 1000, Duplex.FULL, True, True, None, modes, modes)
        return Nic(f"p{index}", iface, pci, mac, device, (link_of(pci),), settings=settings)

    def _hidden(self, iface: str) -> NoReturn:
        """Settings that no driver shows, until a test gives the server some."""
        raise NotOffered(f"{self.name}: {iface} shows none")

    features = rings = coalescing = pause = channels = registers = _hidden

    def eeprom(self, iface: str, length: int) -> bytes:
        assert length > 0
        self._hidden(iface)

    def identify(self, iface: str, seconds: int) -> None:
        assert seconds == 1, "somebody waits for it"
        self._hidden(iface)

    def lost_below(self, iface: str) -> str | None:
        return f"lro on {iface}" if self.by_iface(iface).lro else None

    def answers_arp_for_others(self, iface: str) -> bool:
        return iface in self.mixed_arp

    def by_iface(self, iface: str) -> Nic:
        for nic in self.nics:
            if nic.iface == iface:
                return nic
        raise BenchFault(f"{self.name}: Cannot find device {iface}")

    def by_pci(self, pci: str) -> Nic:
        return next(nic for nic in self.nics if nic.pci == pci)

    def crash(self, power: PowerState = PowerState.ON) -> None:
        """The server answers no more."""
        self.alive, self.power = False, power

    def boot(self) -> None:
        """The server starts: what was set at run time is gone."""
        self.alive, self.power, self.boots, self.kernel_said = True, PowerState.ON, self.boots + 1, ()
        self.overwritten = 0
        self.on_boot()
        for nic in self.nics:
            nic.admin_up, nic.addresses = False, []

    # --- what is asked

    def boot_id(self) -> str:
        return f"{self.name}-boot-{self.boots}"

    def available_bytes(self) -> int:
        return self.memory

    def clock_s(self) -> float:
        assert self.clock is not None
        return self.clock()

    def kernel(self) -> str:
        return KERNEL

    def os_release(self) -> OsRelease:
        return OsRelease("debian", "12", "Debian 12")

    def interface_names(self) -> frozenset[str]:
        return frozenset(nic.iface for nic in self.nics if nic.pci not in self.without_interface)

    def is_root(self) -> bool:
        return self.root

    def tools(self, names: Sequence[str]) -> dict[str, str | None]:
        return {name: None if name in self.missing_tools else self.tool_versions.get(name, "6.1") for name in names}

    def software(self, names: Sequence[str]) -> Software:
        return Software(self.os_release(), self.kernel(), self.tools(names))

    def modinfo(self, module: str) -> ModuleFile:
        assert module == "e1000e"
        return self.file

    def loaded_module(self, module: str) -> LoadedModule | None:
        assert module == "e1000e"
        return self.loaded

    def is_build_on_disk(self, module: str) -> bool | None:
        assert module == "e1000e"
        return self.same_build

    def reload_driver(self, module: str) -> None:
        assert self.journal is not None
        pending = [entry.action.command for entry in self.journal.pending()]
        assert pending[0] == f"modprobe {module}", pending
        self.calls.append(f"reload {module}")
        self.kernel_said += self.said_when_reloaded
        if self.reload_fault is not None:
            raise self.reload_fault

    def dmesg(self) -> tuple[KernelLine, ...]:
        self._answer()
        return self.kernel_said

    def dmesg_mark(self) -> KernelLogMark:
        self._answer()
        return KernelLogMark(self.boot_id(), str(len(self.kernel_said)))

    def dmesg_since(self, mark: KernelLogMark) -> tuple[KernelLine, ...]:
        self._answer()
        if mark.boot_id != self.boot_id():
            raise LogCut(f"{self.name}: has booted since", self.kernel_said, booted=True)
        if int(mark.token) < self.overwritten:
            raise LogCut(f"{self.name}: overwritten", self.kernel_said[self.overwritten :], booted=False)
        return self.kernel_said[int(mark.token) :]

    def load_command(self, iface: str) -> str:
        return f"{LOAD} {iface}"

    def read_load(self, iface: str, text: str) -> Load:
        return self.shown_loads[iface, text.strip()]

    def show_load(self, iface: str) -> str:
        """Return the output of a look's command: it names what there is now."""
        number = str(len(self.shown_loads))
        self.shown_loads[iface, number] = self.load(iface)
        return number

    def look(self, mark: KernelLogMark, show: str = "", *, timeout_s: float = 60) -> KernelLook:
        assert timeout_s > 0
        self._answer()
        shown = self.shell(show) if show else ""
        try:
            return KernelLook(self.dmesg_mark(), self.dmesg_since(mark), False, shown, self.kernel_s(), False)
        except LogCut as cut:
            lost = not cut.booted
            return KernelLook(self.dmesg_mark(), cut.lines, cut.booted, shown, self.kernel_s(), lost)

    def says(self, *lines: str, level: int | None = None) -> None:
        """The kernel writes lines into its log."""
        now = self.kernel_s()
        self.kernel_said += tuple(KernelLine(1.0 if now is None else now, line, level) for line in lines)

    def _answer(self) -> None:
        if not self.alive:
            raise ConnectionLost(f"{self.name}: no answer")

    def reboot(self) -> None:
        self.calls.append("reboot")
        self.boot()

    def pci_device(self, address: str) -> PciDevice:
        return self.by_pci(address).device

    def bound_driver(self, address: str) -> str | None:
        return self.pci_device(address).driver

    def pcie_path(self, address: str) -> tuple[PcieLink, ...]:
        return self.by_pci(address).path

    def interface_at(self, address: str, port_index: int | None = None) -> str:
        found = [nic.iface for nic in self.nics if nic.pci == address]
        if not found:
            raise NoDevice(f"{self.name}: there is no PCI device at {address}")
        if address in self.without_interface:
            raise NoInterface(f"{self.name}: {address} has no network interface: no driver is bound")
        return found[port_index or 0]

    def interface(self, iface: str) -> Interface:
        nic = self.by_iface(iface)
        shown = [Address("inet", address.split("/")[0], 24, "global", False) for address in nic.addresses]
        carrier = self._cables.carrier(f"{self.name}.{nic.key}")
        return Interface(
            *(iface, 2, nic.mac, nic.mtu, nic.admin_up, Operstate.UP, None, None, tuple(shown), None),
            carrier=carrier,
            permanent_mac=nic.permanent_mac,
        )

    def interfaces(self, ifaces: Sequence[str]) -> tuple[Interface, ...]:
        return tuple(map(self.interface, ifaces))

    def untried(self, iface: str) -> tuple[str, ...]:
        return self.by_iface(iface).untried

    def driver_info(self, iface: str) -> DriverInfo:
        return self.by_iface(iface).info

    def link_settings(self, iface: str) -> LinkSettings:
        settings = self.by_iface(iface).settings
        assert settings is not None
        return settings

    def statistics(self, iface: str) -> Statistics:
        nic = self.by_iface(iface)
        nic.tx_bytes += 60_000
        return Statistics(0, 0, 0, 0, nic.tx_bytes, 0, 0, 0)

    def cpu_times(self) -> CpuTimes:
        """Two CPUs; 100 ticks pass from look to look, of which ``busy_ticks`` are work of CPU 1."""
        self.ticks += 100
        self.worked += self.busy_ticks
        times = {0: CpuTime(0, 0, 0, self.ticks, 0, 0, 0, 0)}
        return CpuTimes(times | {1: CpuTime(0, 0, self.worked, self.ticks - self.worked, 0, 0, 0, 0)})

    def frame_counters(self, iface: str) -> FrameCounters:
        nic = self.by_iface(iface)
        return FrameCounters(**{name: nic.frames.get(name, 0) for name in FRAME_COUNTERS})

    def load(self, iface: str) -> Load:
        return Load(self.cpu_times(), self.frame_counters(iface))

    def carrier_changes(self, iface: str) -> CarrierChanges:
        return CarrierChanges(self.by_iface(iface).changes, None, None)

    def carriers_command(self, ifaces: Sequence[str]) -> str:
        return f"carriers {' '.join(ifaces)}"

    def show_carriers(self, ifaces: Sequence[str]) -> str:
        """As the command of a Linux host shows them."""
        lines = []
        for iface in ifaces:
            nic = self.by_iface(iface)
            lines.append(f"{iface} {nic.index} {nic.changes} {int(self.interface(iface).carrier)}\n")
        return "".join(lines)

    def read_carriers(self, text: str) -> dict[str, CarrierLook]:
        return read_carriers(text)

    def await_carrier(self, iface: str, up: bool, within_s: float) -> bool:
        assert within_s == 0 or 0.05 < within_s <= 5, "seconds are wanted, or one look"
        return self.interface(iface).carrier is up

    def await_carriers(self, ifaces: Sequence[str], up: bool, within_s: float) -> tuple[str, ...]:
        assert within_s >= 0
        return tuple(iface for iface in ifaces if self.interface(iface).carrier is not up)

    def ping(
        self,
        destination: str,
        *,
        source: str | None = None,
        count: int = 3,
        interval_s: float = 0.2,
        size: int | None = None,
        dont_fragment: bool = False,
    ) -> PingResult:
        assert source is not None and (count, interval_s) == (10, 0.2)
        assert dont_fragment is (size is not None)
        self.calls.append(f"ping {source} {destination}" if size is None else f"ping {source} {destination} {size}")
        nic = next(nic for nic in self.nics if f"{source}/24" in nic.addresses)
        if size is not None and size + 28 > min(nic.mtu, nic.longest):
            return replace(nic.ping, received=0)
        return nic.ping

    def mtu(self, iface: str) -> int:
        return self.by_iface(iface).mtu

    def restoring_mtu(self, iface: str) -> str:
        return f"ip link set dev {iface} mtu {self.by_iface(iface).mtu}"

    # --- what is changed

    def set_link(self, iface: str, up: bool) -> None:
        self._changed(f"{iface} {'up' if up else 'down'}")
        if self.journal and not up:  # a run that is killed now must not leave it so
            pending = [entry.action.command for entry in self.journal.pending()]
            assert any(f"ip link set dev {iface} up" in command for command in pending), f"{iface} goes down for good"
        self.by_iface(iface).admin_up = up

    def set_mtu(self, iface: str, mtu: int) -> Attempt[int]:
        nic = self.by_iface(iface)
        if mtu > nic.most_mtu:
            return Attempt("greater than device maximum", nic.mtu)
        nic.mtu = mtu
        return Attempt(None, mtu)

    def add_address(self, iface: str, cidr: str) -> None:
        self._changed(f"{iface} {cidr}")
        self.by_iface(iface).addresses.append(cidr)

    def _changed(self, change: str) -> None:
        with self._turn:
            pending = self.journal.pending() if self.journal else []
            self.changes.append((change, tuple(entry.action.command for entry in pending)))


Reply = str | Result | Exception | Callable[[str], str | Result]


class FakeJob:
    """A background job. ``status`` None: it runs."""

    def __init__(self, command: str, ssh: FakeSsh) -> None:
        self.command, self._ssh, self.directory = command, ssh, "/tmp/niclab-job.fake"
        self.status: int | None = None
        self.said, self.complained, self.stopped = "", "", 0
        self.when_over: Callable[[], object] = lambda: None

    def poll(self) -> int | None:
        return self.status

    def output(self) -> str:
        return self.said

    def errors(self) -> str:
        return self.complained

    def await_begin(self, begun: str, what: str, within_s: float) -> str:
        """Begun when it listens, or has written a line: whatever the condition asks for."""
        listening = re.search(r"\$\((ss .*)\)", begun)
        subject = f"{self._ssh.host.name}: {what}"
        if "listening on" in begun:
            has_begun = "listening on" in self.complained
        else:
            has_begun = bool(self._ssh.run(listening[1]).stdout.strip()) if listening else "\n" in self.said
        if has_begun:
            return self.said
        if self.status is not None:
            raise BenchFault(f"{subject}: it ended with status {self.status}: {self.complained}{self.said}".strip())
        raise BenchFault(f"{subject}: not within {within_s:g} s")

    def stop(self) -> Result:
        self.stopped += 1
        self.when_over()
        signal = "TERM" if self.status is None else None
        return Result(self.command, self.status, signal, self.said, self.complained, 1.0)


class _AsAsked:
    """The shell of a host's methods over a fake SSH, without the setting of the locale before each command."""

    def __init__(self, ssh: FakeSsh) -> None:
        self._ssh = ssh

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result:
        return self._ssh.run(command.removeprefix("export LC_ALL=C; "), timeout_s=timeout_s, check=check)


SURROUNDED = re.compile(re.escape(surrounded("CLIENT", "ASK")).replace("ASK", "(.+)").replace("CLIENT", "(.+)"))
"""A client between two looks."""
UNDONE = re.compile(r"\((.+?)\n\) && echo '(@ undone \d+)'", re.DOTALL)
"""A step of several that undo changes."""


class FakeSsh:
    """SSH to a fake host. Changes its links as a shell would; other commands are answered by ``replies``."""

    def __init__(self, host: FakeHost) -> None:
        self.host = host
        self.endpoint: SshEndpoint | SimpleNamespace = SimpleNamespace(jump=None)
        self.on_result: Callable[[Result], None] | None = None
        self.replies: dict[str, Reply] = {}
        """By the beginning of a command; a function gets the command."""
        self.errands: Errands | None = None
        self._carried: list[str] = []
        self.commands: list[str] = []
        self.jobs: list[FakeJob] = []
        self.marks: list[str | None] = []
        self.watches: list[FakeJob] = []
        """Those for standstills; what they have told is ``stood``."""
        self.stood, self.watch_is_gone = "", False
        self.prepare_watch: Callable[[FakeSsh], None] = lambda _: None
        self.prepare_job: Callable[[FakeJob], None] = lambda _: None
        self.closed = 0
        self._folder = tempfile.TemporaryDirectory(prefix="niclab-fake-")
        self.root = self._folder.name
        """Replaces the root folder of the server, for its lease; it goes with this object."""
        self.is_still = False
        """Nothing happens to the server but what it is asked."""
        host.shell = self._shell
        host.on_boot = lambda: (Path(self.root) / "lease").unlink(missing_ok=True)
        asked = LinuxHost(_AsAsked(self), host.name)
        host.pci_functions, host.listeners = asked.pci.functions, asked.links.listeners  # type: ignore[attr-defined]
        host.listening_command = asked.links.listening_command  # type: ignore[attr-defined]
        host.is_own_module = asked.drivers.is_own_module  # type: ignore[attr-defined]

    @property
    def calls(self) -> int:
        """A fake host changes without being asked, unless it is still."""
        return len(self.commands) if self.is_still else time.monotonic_ns()

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result:
        assert timeout_s > 0
        if (parts := SURROUNDED.fullmatch(command)) is not None:
            return self._surrounded(command, *parts.groups())
        if steps := UNDONE.findall(command):
            return self._undone(command, steps)
        if self.host.alive and self.errands is not None:
            self._carried.append(self.errands.take())
        is_show = command.startswith("for file in /proc/sys/kernel/random/boot_id ")
        if not is_show and (f"{FOLDER}/lease" in command or server_copy.FOLDER in command) and self.host.alive:
            return self._in_sh(command, check)
        if command.startswith(BEGIN) and self.host.alive:
            return Result(command, 0, None, state_text(self.host), "", 0.01)
        self.commands.append(command)
        if not self.host.alive:
            raise ConnectionLost(f"{self.host.name}: no answer to {command!r}")
        if ' < /tmp/niclab.fake/standstill_program.py.told && kill -0 "$pid"' in command:
            _, asked, iface = command.rpartition(f" && {LOAD} ")
            then = f"@ then\n{self.host.show_load(iface)}" if asked else ""
            return (
                Result(command, 0, None, f"pid 42\n{self.stood}{then}", "", 0.01)
                if not self.watch_is_gone
                else Result(command, 1, None, "pid 42\n", "kill: 42: No such process\n", 0.01)
            )
        reply = next((self.replies[key] for key in self.replies if command.startswith(key)), None)
        if reply is None:
            reply = self._shell(command)
        if isinstance(reply, Exception):
            raise reply
        if callable(reply):
            reply = reply(command)
        result = Result(command, 0, None, reply, "", 0.01) if isinstance(reply, str) else reply
        if self.on_result is not None:
            self.on_result(result)
        if check and not result.succeeded:
            raise BenchFault(f"{self.host.name}: {command!r}: {result.ending}; stderr: {result.stderr}")
        return result

    def _surrounded(self, command: str, ask: str, client: str, again: str) -> Result:
        first, said, last = self.run(ask), self.run(client), self.run(again)
        text = f"{first.stdout}@ client {first.exit_status}\n{said.stdout}\n@ client ended {_status(said)}\n"
        errors = "".join(each.stderr for each in (first, said, last))
        return Result(command, last.exit_status, last.signal, text + last.stdout, errors, 0.03)

    def _undone(self, command: str, steps: Sequence[tuple[str, str]]) -> Result:
        said = ""
        for step, mark in steps:
            result = self.run(step)
            if not result.succeeded:
                return replace(result, command=command, stdout=said)
            said += f"{mark}\n"
        return Result(command, 0, None, said, "", 0.01)

    def _in_sh(self, command: str, check: bool) -> Result:
        """Run a command in a real shell, and the errands before it."""
        script = "\n".join([*filter(None, self._carried), command])
        self._carried.clear()
        script = script.replace(server_copy.FOLDER, f"{self.root}/copy").replace(FOLDER, self.root)
        done = subprocess.run(["sh"], input=script, capture_output=True, text=True)
        assert not (check and done.returncode), done
        return Result(command, done.returncode, None, done.stdout, done.stderr, 0.01)

    def _shell(self, command: str) -> str:
        if asked := ASKS_CARRIERS.fullmatch(command):
            shown = self._shell(asked[1]) if asked[1] else ""
            return f"{shown}@ carriers\n{self.host.show_carriers(asked[2].split())}"
        if command.startswith("for file in /proc/sys/kernel/random/boot_id "):
            shown = [self.host.by_iface(iface) for iface in re.findall(r"class/net/(\w+)/flags", command)]
            lease = Path(self.root) / "lease" if FOLDER in command else Path("/dev/null")
            ports = " ".join(f"{nic.admin_up} {nic.addresses}" for nic in shown)
            return f"{self.host.boot_id()} {ports}" + (lease.read_text() if lease.exists() else "")
        if " && " in command:
            return "".join(self._shell(part) for part in command.split(" && "))
        match shlex.split(command):
            case ["ip", "link", "set", "dev", iface, word]:
                self.host.by_iface(iface).admin_up = word == "up"
            case ["ip", "link", "set", "dev", iface, "mtu", mtu]:
                self.host.by_iface(iface).mtu = int(mtu)
            case ["ip", "address", "flush", "dev", iface, "to", address]:
                nic = self.host.by_iface(iface)
                nic.addresses = [known for known in nic.addresses if known.partition("/")[0] != address]
            case ["ip", "link", "set", "dev", _, "nomaster"]:
                return ""
            case ["ip", "address", "replace", address, "dev", iface]:
                nic = self.host.by_iface(iface)
                nic.addresses = [*(known for known in nic.addresses if known != address), address]
            case ["uname", "-r"]:
                return f"{KERNEL}\n"
            case ["rm", "-rf", "/tmp/niclab.*", "/tmp/niclab-job.*"]:
                return ""
            case ["uname", "-n"]:
                return f"{self.host.name}\n"
            case ["true"] | ["sync"] | ["rm", "-rf", "/tmp/niclab.fake"]:
                return ""
            case ["mktemp", "-d", _]:
                return "/tmp/niclab.fake\n"
            case ["ss", "-Hlntup", *_]:
                return ""
            case ["modprobe", _]:
                self.host.loaded = MODULE
            case ["lspci", "-Dn", "-d", "8086:10d3"]:
                return "".join(f"{nic.pci} 0200: 8086:10d3\n" for nic in self.host.nics)
            case other:
                raise AssertionError(f"no reply for {other}")
        return ""

    def put_text(self, text: str, remote: str) -> None:
        assert text and remote.startswith("/tmp/niclab.")

    def start(self, command: str, *, limit_s: float | None = None, mark: str | None = None) -> FakeJob:
        self.marks.append(mark)
        job = FakeJob(command, self)
        if "standstill_program" in command:
            job.said = "ready\n"
            self.watches.append(job)
            self.prepare_watch(self)
            return job
        assert limit_s is None or limit_s > 0
        self.jobs.append(job)
        self.prepare_job(job)
        return job

    def close(self) -> None:
        self.closed += 1


def _status(result: Result) -> int:
    """As a shell reports it."""
    return 128 + Signals[f"SIG{result.signal}"] if result.exit_status is None else result.exit_status


class FakeBmc(Bmc):
    """A BMC over a fake host. ``stuck``: it answers but switches nothing. ``says``: reports that power, whatever is.

    ``boots``, ``resets``: a server that gets power, or is reset, starts. ``elsewhere``: it switches another server.
    """

    def __init__(self, name: str, host: FakeHost) -> None:
        self._name, self._host = name, host
        self.stuck, self.mute_log, self.boots, self.resets, self.elsewhere = False, False, True, True, False
        self.says: PowerState | None = None
        self.closed = 0
        self.orders: list[PowerAction] = []
        self.log = [SelEntry("1", None, None, "log cleared", True)]
        self.readings = [
            Sensor("Fan 1", SensorKind.FAN, 4000.0, "RPM", SensorStatus.OK),
            Sensor("Inlet", SensorKind.TEMPERATURE, 24.0, "°C", SensorStatus.OK),
        ]

    @property
    def name(self) -> str:
        return self._name

    def power_status(self) -> PowerState:
        return self.says or self._host.power

    def control(self, action: PowerAction) -> None:
        self.orders.append(action)
        if self.elsewhere:
            self.says = PowerState.OFF if action is PowerAction.OFF else PowerState.ON
        if self.stuck or self.elsewhere:
            return
        if not self.mute_log:
            self.log.append(SelEntry(str(len(self.log) + 1), None, None, action.value, True))
        if action is PowerAction.OFF:
            self._host.crash(PowerState.OFF)
        elif action is PowerAction.NMI:
            self._host.crash(self._host.power)
        elif action is PowerAction.RESET and not self.resets:
            return
        elif self.boots:
            self._host.boot()
        else:
            self._host.power = PowerState.ON

    def sensors(self) -> list[Sensor]:
        return self.readings

    def sel(self) -> list[SelEntry]:
        return list(self.log)

    def close(self) -> None:
        self.closed += 1


def state_text(host: FakeHost) -> str:
    """Return the output of the program that shows the state of a server, on a fake one."""
    links = [
        {
            "ifname": nic.iface,
            "flags": ["UP"] if nic.admin_up else [],
            "mtu": nic.mtu,
            "txqlen": 1000,
            "address": nic.mac,
            "addr_info": [
                {"family": "inet", "local": each.split("/")[0], "prefixlen": int(each.split("/")[1]), "scope": "global"}
                for each in nic.addresses
            ],
        }
        for nic in host.nics
    ]
    sysctls = "".join(f"{name}\t{value}\n" for name, value in host.sysctls.items())
    return f"@ links\n{json.dumps(links)}\n@ routes\n[]\n@ sysctl\n{sysctls}@ end\n"


class FakeConsole:
    """A serial console that is logged in to with the bench's password.

    ``shell``: it answers although the server does not over SSH. ``reactions``: what the kernel writes for a SysRq key.
    """

    def __init__(self, host: FakeHost) -> None:
        self._host, self.uname, self.status = host, host.name, 7
        self.name = f"{host.name} console"
        self.shell, self.carries_break, self.reactions = False, True, dict[str, str]()
        self.keys, self.deaths = list[str](), list[KernelDeath]()
        self.alive, self.opened, self.closed = True, 0, 0
        self.text, self.lines = "booting\n", list[str]()
        self.silent = False
        self.last_words: tuple[str, ...] | Exception = ("Kernel panic - not syncing: sysrq triggered crash",)
        self.logins: list[tuple[str, str]] = []

    def open(self) -> None:
        self.alive, self.opened = True, self.opened + 1

    def close(self) -> None:
        self.alive, self.closed = False, self.closed + 1

    def mark(self) -> int:
        return len(self.text)

    def text_since(self, mark: int) -> str:
        return self.text[mark:]

    def login(self, user: str, password: str, within_s: float) -> None:
        assert within_s > 0
        if self.deaths:
            raise self.deaths.pop()
        if not (self._host.alive or self.shell):
            raise NotSeen(f"{self.uname} console: no shell for user {user} within {within_s:g} s")
        self.logins.append((user, password))

    def run(self, command: str, within_s: float) -> tuple[int, str]:
        assert within_s > 0
        self.text += f"{command}\n"
        return self.status, f"{self.uname}\n"

    def sysrq(self, key: str) -> None:
        self.keys.append(key)
        if not self.carries_break:
            raise NoBreak(f"{self.uname} console: a raw TCP console carries no BREAK")
        self.text += self.reactions.get(key, "")

    def send_line(self, text: str) -> None:
        self.lines.append(text)

    def greet(self, within_s: float) -> None:
        self.lines.append("")
        if self.silent:
            raise NotSeen(f"{self.uname} console: no prompt within {within_s:g} s: nothing came; the speed")

    def expect(self, pattern: str, within_s: float) -> None:
        if self.silent or (self.keys and pattern not in self.text):
            raise NotSeen(f"{self.uname} console: {pattern!r} was not seen within {within_s:g} s")

    def expect_death(self, within_s: float) -> tuple[str, ...]:
        assert within_s > 0
        if isinstance(self.last_words, Exception):
            raise self.last_words
        self.text += "".join(f"[   12.345678] {line}\r\n" for line in self.last_words)
        return self.last_words


def changes(journal: Journal) -> list[Entry]:
    """Return what is pending, without the watches for standstills: they run until the run ends."""
    return [entry for entry in journal.pending() if "standstill_program" not in entry.what]


def noting(journal: Journal) -> tuple[dict[str, int], Callable[[str], str]]:
    """Commands that a server gets -> how many changes the journal has by then, and the reply that notes it."""
    order = dict[str, int]()

    def note(command: str) -> str:
        order[command] = len(changes(journal))
        return ""

    return order, note
