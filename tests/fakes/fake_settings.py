"""The settings of a fake server: features, rings, coalescing, pause, queues and MTU of its ports, software."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from fake_bench import FakeBench
from fake_parts import FakeHost, FakeSsh

from niclab.bench.records import Role
from niclab.hosts.host_records import Counters, DriverInfo
from niclab.hosts.settings.ethtool_records import (
    ChannelCounts,
    Channels,
    Coalescing,
    Feature,
    Features,
    Pause,
    Rings,
    RingSizes,
)
from niclab.hosts.settings.settings_records import (
    AerCounters,
    Attempt,
    ChangedFile,
    FirmwareTool,
    Package,
    ToolAnswer,
    ToolRun,
)

SHEET = """
rings:
  settable: true
  rx: {max: 4096, default: 256, min: 64}
  tx: {max: 4096, default: 256}
  source: test
coalescing:
  adaptive_rx: true
  parameters:
    - {name: rx-usecs, default: 18, max: 100}
    - {name: tx-usecs, default: {unknown: test}, settable: false}
  source: test
pause: {autoneg: true, rx: true, tx: true, settable: true, source: test}
channels: {settable: true, combined: {max: 8, default: {unknown: test}}, source: test}
mtu: {min: 68, max: 9000, default: 1500, source: test}
offloads:
  table:
    - name: tx-checksum
      linux: {word: tx-checksumming, set_word: tx, default: true, change: both, clears: [tso4]}
    - name: tso4
      linux: {word: tx-tcp-segmentation, default: true, change: both, proof: {counter: tso}}
    - name: gro
      linux: {word: generic-receive-offload, set_word: gro, default: true, change: both,
              proof: {counter: pkts, per: reqs, at_least: 1.5}}
    - name: vlan-strip
      linux: {word: rx-vlan-offload, set_word: rxvlan, default: true, change: fixed}
    - name: lro
      linux: {word: large-receive-offload, set_word: lro, default: false, change: not-on}
    - name: jumbo-mtu
      freebsd: {label: JUMBO_MTU, bit: 5, default: true, change: fixed}
  refused: [{os: linux, word: lso, why: misprint of lro, source: test}]
  source: test
"""
WORDS = {"tx": "tx-checksumming", "gro": "generic-receive-offload", "rxvlan": "rx-vlan-offload"}
WORDS |= {"lro": "large-receive-offload", "ntuple": "ntuple-filters"}
ON = Feature(True, False, None)


class Shows(Enum):
    """The flashed versions that a driver shows behind the one that runs."""

    EVERY = "every"
    OTHERS = "others"


class Port:
    """The settings of one port."""

    def __init__(self, iface: str) -> None:
        names = ("tx-checksumming", "tx-tcp-segmentation", "generic-receive-offload", "rx-checksumming")
        self.features = dict.fromkeys(names, ON)
        self.features["rx-vlan-offload"] = Feature(True, True, None)
        self.features["large-receive-offload"] = Feature(False, True, None)
        self.ring_max, self.rings = {"rx": 4096, "tx": 4096}, {"rx": 256, "tx": 256}
        self.coalescing: dict[str, int | None] = {"rx-usecs": 18, "tx-usecs": 40}
        self.adaptive: bool | None = True
        self.pause = {"autoneg": True, "rx": True, "tx": True}
        self.queues, self.most_queues = 4, 8
        self.mtu = 1500
        self.counters = {"tso": 0, "pkts": 0, "reqs": 0}
        self.grows: Callable[[Port], dict[str, int]] = _grow
        self.iface = iface


def _grow(port: Port) -> dict[str, int]:
    """The gain of good counters between two looks while traffic flows."""
    tso, gro = port.features["tx-tcp-segmentation"].on, port.features["generic-receive-offload"].on
    return {"tso": 50 if tso else 0, "reqs": 100, "pkts": 300 if gro else 100}


class FakeSettings:
    """Settings of every port of a server. ``faults`` names what is wrong; see the methods."""

    def __init__(self, host: FakeHost, ssh: FakeSsh) -> None:
        self.host, self.ports = host, {nic.iface: Port(nic.iface) for nic in host.nics}
        self.faults: set[str] = set()
        self.told: list[str] = []
        self.packages: dict[str, Package] = {}
        self.at_boot: set[str] = set()
        self.changed: tuple[ChangedFile, ...] = ()
        self.signer: str | None = None
        self.aer_counts: dict[str, AerCounters | None] = {}
        self.files: set[str] = set()
        self.programs: set[str] = set()
        self.tool_said: ToolRun | None = None
        """The end of a tool of the vendor that writes nothing; None: it writes."""
        self.pending: dict[str, str] = {}
        self.shows_flashed: Shows | None = None
        self.parameters: dict[str, str] = {}
        self.entries: dict[str, tuple[str, ...]] = {}
        """Lines in the settings of the boot that set a parameter."""
        self._kept: list[dict[str, Port]] = []
        self._shell = ssh._shell
        ssh._shell = self._command  # type: ignore[method-assign]
        for name in dir(self):
            if not name.startswith("_") and callable(getattr(self, name)):
                setattr(host, name, getattr(self, name))

    def _command(self, command: str) -> str:
        if command.startswith("restore "):
            self.told.append("restore")
            if "never back" not in self.faults:
                self.ports = copy.deepcopy(self._kept[int(command.split()[1])])
            return ""
        if command.startswith("rm -f /etc/modules-load.d/"):
            self.told.append(command)
            self.at_boot.discard("e1000e")
            return ""
        if command.startswith(("{ export DEBIAN_FRONTEND", "ethtool -f", "elxflash ")):
            self.told.append(command)
            return ""
        return self._shell(command)

    def _restoring(self) -> str:
        self._kept.append(copy.deepcopy(self.ports))
        return f"restore {len(self._kept) - 1}"

    # --- asked

    def features(self, iface: str) -> Features:
        return Features(iface, dict(self.ports[iface].features))

    def rings(self, iface: str) -> Rings:
        port = self.ports[iface]
        sizes = [RingSizes(kind["rx"], None, None, kind["tx"]) for kind in (port.ring_max, port.rings)]
        return Rings(iface, *sizes)

    def coalescing(self, iface: str) -> Coalescing:
        port = self.ports[iface]
        return Coalescing(iface, port.adaptive, None, dict(port.coalescing))

    def pause(self, iface: str) -> Pause:
        pause = self.ports[iface].pause
        return Pause(iface, pause["autoneg"], pause["rx"], pause["tx"])

    def channels(self, iface: str) -> Channels:
        port = self.ports[iface]
        return Channels(iface, *(ChannelCounts(None, None, None, n) for n in (port.most_queues, port.queues)))

    def mtu(self, iface: str) -> int:
        return self.ports[iface].mtu

    def counters(self, iface: str) -> Counters:
        port = self.ports[iface]
        entries = tuple((f"q0: {name}", value) for name, value in port.counters.items())
        for name, growth in port.grows(port).items():
            port.counters[name] += growth
        return Counters(entries)

    # --- changed

    def set_feature(self, iface: str, word: str, on: bool) -> Attempt[Features]:
        port, name = self.ports[iface], WORDS.get(word, word)
        self.told.append(f"{word} {on}")
        if name not in port.features:
            return Attempt(None if "takes any word" in self.faults else "bad word", self.features(iface))
        feature = port.features[name]
        stuck = f"{name} stuck" in self.faults
        if (feature.fixed and f"{name} loose" not in self.faults) or stuck:
            return Attempt("cannot", self.features(iface))
        port.features[name] = replace(feature, on=on)
        if name == "tx-checksumming" and "forgets tso" not in self.faults:
            port.features["tx-tcp-segmentation"] = ON if on else Feature(False, False, True)
        if name == "tx-checksumming" and "takes gro along" in self.faults:
            port.features["generic-receive-offload"] = replace(ON, on=on)
        return Attempt(None, self.features(iface))

    def set_rings(self, iface: str, sizes: Mapping[str, int]) -> Attempt[Rings]:
        port = self.ports[iface]
        ((name, size),) = sizes.items()
        if size > port.ring_max[name] and "no upper bound" not in self.faults:
            return Attempt("exceeds maximum", self.rings(iface))
        port.rings[name] = size // 2 if "rings halve" in self.faults else size
        return Attempt(None, self.rings(iface))

    def set_coalescing(self, iface: str, values: Mapping[str, int | bool]) -> Attempt[Coalescing]:
        port = self.ports[iface]
        for name, value in values.items():
            if name == "adaptive-rx":
                port.adaptive = bool(value)
            elif name not in port.coalescing:
                return Attempt(None if "takes any parameter" in self.faults else "unsupported", self.coalescing(iface))
            elif (name == "tx-usecs") is ("coalescing swapped" in self.faults):
                port.coalescing[name] = int(value)
            elif "coalescing rounded" in self.faults:
                port.coalescing[name] = 8 * (int(value) // 8 + 1)
        return Attempt(None, self.coalescing(iface))

    def set_pause(self, iface: str, values: Mapping[str, bool]) -> Attempt[Pause]:
        if "pause refused" in self.faults:
            return Attempt("not supported", self.pause(iface))
        pause = self.ports[iface].pause
        wanted = pause | values
        if "sending needs receiving" in self.faults and wanted["tx"] and not wanted["rx"]:
            return Attempt("tx ON rx OFF", self.pause(iface))
        pause |= values
        if pause["autoneg"]:  # as e1000e
            pause |= {"rx": True, "tx": True}
        return Attempt(None, self.pause(iface))

    def set_channels(self, iface: str, counts: Mapping[str, int]) -> Attempt[Channels]:
        port = self.ports[iface]
        if counts["combined"] <= port.most_queues or "no upper bound" in self.faults:
            port.queues = 1 if "one queue" in self.faults else counts["combined"]
            return Attempt(None, self.channels(iface))
        return Attempt("too many", self.channels(iface))

    def set_mtu(self, iface: str, mtu: int) -> Attempt[int]:
        if not 68 <= mtu <= (4096 if "small frames" in self.faults else 9000) and "no upper bound" not in self.faults:
            return Attempt("mtu out of range", self.mtu(iface))
        self.ports[iface].mtu = mtu
        return Attempt(None, mtu)

    def restoring_features(self, iface: str, words: Mapping[str, str]) -> str:
        assert set(words) <= set(self.ports[iface].features)
        return self._restoring()

    def restoring_rings(self, _: str) -> str:
        return self._restoring()

    def restoring_coalescing(self, _: str, names: tuple[str, ...]) -> str:
        assert names
        return self._restoring()

    def restoring_pause(self, _: str) -> str:
        return self._restoring()

    def restoring_channels(self, _: str) -> str:
        return self._restoring()

    def restoring_mtu(self, _: str) -> str:
        return self._restoring()

    # --- software

    def package(self, name: str) -> Package | None:
        return self.packages.get(name)

    def is_of_package(self, name: str, file: str) -> bool:
        return bool(name) and bool(file) and "module of others" not in self.faults

    def install_package(self, name: str, version: str) -> Attempt[Package | None]:
        if "install fails" in self.faults:
            return Attempt("post-installation script failed", self.package(name))
        status = "half-configured" if "half-way" in self.faults else "installed"
        installed = "9.9" if "other version" in self.faults else version
        architecture = "i386" if "other architecture" in self.faults else "amd64"
        self.packages[name] = Package(name, installed, architecture, status)
        return Attempt(None, self.packages[name])

    def changed_files(self, name: str) -> tuple[ChangedFile, ...]:
        assert name in self.packages
        return self.changed

    def package_signer(self, name: str) -> str | None:
        assert name in self.packages
        return self.signer

    def remove_package(self, name: str) -> Attempt[Package | None]:
        if "sticks" not in self.faults:
            self.packages.pop(name, None)
        return Attempt(None, self.package(name))

    def is_set_to_load(self, module: str) -> bool:
        return module in self.at_boot

    def set_to_load(self, module: str) -> None:
        assert self.host.journal is not None
        assert self.unsetting_load(module) in [entry.action.command for entry in self.host.journal.pending()]
        if "boot stays" not in self.faults:
            self.at_boot.add(module)

    def unsetting_load(self, module: str) -> str:
        return f"rm -f /etc/modules-load.d/niclab-{module}.conf && sync"

    def parameter_entries(self, module: str, name: str) -> tuple[str, ...]:
        assert module == "e1000e"
        return self.entries.get(name, ())

    def module_parameter(self, module: str, name: str) -> str:
        assert module == "e1000e"
        return self.parameters[name]

    def firmware_file(self, file: str) -> bool:
        return file in self.files

    def flashing(self, iface: str, file: str) -> str:
        return f"ethtool -f {iface} {file}"

    def flash(self, iface: str, file: str) -> Attempt[DriverInfo]:
        self.told.append(f"flash {iface} {file}")
        nic = self.host.by_iface(iface)
        if "foreign" in file or "truncated" in file or "flipped" in file:
            if "refused and flashed" in self.faults:
                self.pending[iface] = "6.6-6"
            if "takes any image" not in self.faults:
                return Attempt("invalid argument", self._flashed(iface))
            if "takes it at once" in self.faults:
                nic.info = replace(nic.info, firmware="6.6-6")
            return Attempt(None, nic.info)
        if "other version" in self.faults:
            self.pending[iface] = "6.6-6"
            return Attempt(None, self._flashed(iface))
        if "flash fails" in self.faults:
            return Attempt("input/output error", nic.info)
        self.pending[iface] = file.removeprefix("fw-").removesuffix(".bin")
        return Attempt(None, self._flashed(iface))

    def missing_programs(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in self.programs)

    def tool_command(self, tool: FirmwareTool, iface: str, address: str, file: str) -> str:
        assert address == self.host.by_iface(iface).pci
        return f"{tool.line.split()[0]} {iface} {file}"

    def write_with(self, tool: FirmwareTool, iface: str, address: str, file: str) -> ToolRun:
        if self.tool_said is not None:
            self.told.append(self.tool_command(tool, iface, address, file))
            return self.tool_said
        if "tool lies" in self.faults:
            return ToolRun(ToolAnswer.WRITTEN, "done")
        refused = self.flash(iface, file).refused
        return ToolRun(ToolAnswer.WRITTEN if refused is None else ToolAnswer.REFUSED, refused or "done")

    def driver_info(self, iface: str) -> DriverInfo:
        return self._flashed(iface)

    def _flashed(self, iface: str) -> DriverInfo:
        """With what is flashed behind what runs: where that is another version, as be2net has it, or always."""
        info, flashed = self.host.by_iface(iface).info, self.pending.get(iface)
        if (
            self.shows_flashed is None
            or flashed is None
            or (self.shows_flashed is Shows.OTHERS and flashed == info.firmware)
        ):
            return info
        return replace(info, firmware=f"{info.firmware} [{flashed}]")

    def activate(self) -> None:
        """Make the written firmware run."""
        for iface, version in self.pending.items():
            nic = self.host.by_iface(iface)
            nic.info = replace(nic.info, firmware=version)

    def aer(self, address: str) -> AerCounters | None:
        return self.aer_counts.get(address)


def settings_of(bench: FakeBench, role: Role = Role.DUT) -> FakeSettings:
    """Give a fake server settings."""
    return FakeSettings(bench.hosts[role], bench.ssh[role])


def with_sheet(bench: FakeBench, taken: Any, *changes: tuple[str, str], more: str = SHEET) -> None:
    """Add sections to the sheet, each ``(old, new)`` replaced in them, and take it."""
    for old, new in changes:
        assert old in more, old
        more = more.replace(old, new, 1)
    bench.sheet.write_text(bench.sheet.read_text() + more)
    taken.card = bench.load()[1]
