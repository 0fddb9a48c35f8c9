"""Every method of the FreeBSD host is called over the tools of a server, and scripts for servers of any system are
run there; see test_freebsd_commands.py.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from guest_root import Root
from guest_shell import Call, GuestShell

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts import freebsd_host
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, HashPolicy, VlanTag
from niclab.hosts.drivers.build_records import Source
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.kernel.kernel_log import KernelLogMark
from niclab.hosts.settings.settings_records import FirmwareTool, ToolAnswer, ToolRun
from niclab.hosts.steering.hash_records import FlowKind
from niclab.run.acquiring import recover
from niclab.run.acquiring.lease import Holder, Lease
from niclab.state.read import read_state
from niclab.state.snapshot import Depth
from niclab.state.state_program import freebsd_program
from niclab.transports.ssh import ssh_job
from niclab.transports.ssh.ssh import Result
from vendor import medium

_OF_A_DRIVER = ("settings.", "drivers.", "firmware.", "counts.counters", "links.link_settings")
CARDS = {
    "emulex-oce11102": ("",),
    "chelsio-t580-cr": ("",),
    "intel-82574l": _OF_A_DRIVER,
    "intel-82576": _OF_A_DRIVER,
    "intel-x520": _OF_A_DRIVER,
    "broadcom-bcm57810": _OF_A_DRIVER,
    "solarflare-sfn5122f": _OF_A_DRIVER,
    "alteon-acenic": _OF_A_DRIVER,
}
"""Cards, and how the names of the methods begin that are called. Old and new package tools; a port a function, and all
ports on one; a driver in a package, a module and the kernel; every way to set flow control, and to show versions."""
MARK = "niclab mark 0123"
BANNER = "14,1,1,-;bsd: Copyright (c) 1992-2014 The FreeBSD Project.\n"


HOSTS = Path(freebsd_host.__file__).parent


class Watched:
    """A shell that notes which places of the host's code have used it."""

    def __init__(self, shell: GuestShell) -> None:
        self.shell = shell
        self.places: set[tuple[str, int]] = set()

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result:
        frame = sys._getframe(1)
        while frame is not None:
            file = Path(frame.f_code.co_filename)
            if file.is_relative_to(HOSTS):
                self.places.add((str(file.relative_to(HOSTS)), frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]
        return self.shell.run(command, timeout_s=timeout_s, check=check)


@dataclass
class Server:
    """A server with a card, and what came of the calls."""

    card: str
    root: Root
    shell: Watched
    failed: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    @property
    def host(self) -> FreeBsdHost:
        return FreeBsdHost(self.shell, "dut")

    @property
    def is_emulex(self) -> bool:
        """True for a server of release 9, with the packages of that time."""
        return self.card.startswith("emulex")

    @property
    def port(self) -> str:
        return self.root.ports[0]

    @property
    def module(self) -> str:
        return self.root.module

    @property
    def package(self) -> str:
        return "oce" if self.is_emulex else "nix"

    def sh(self, *commands: str) -> None:
        """Run commands that must succeed, twice: undo actions may have been carried out already."""
        for command in [*commands, *commands]:
            done = self.shell.run(command)
            if not done.succeeded:
                raise BenchFault(f"`{command}`: {done.ending}: {done.stderr.strip()}")


def bond(server: Server, settings: BondSettings) -> None:
    """Make a bond and VLANs on it, ask about them, and remove them."""
    host, ports = server.host, list(server.root.ports)
    releasing = [host.undo.port(name, True, ["198.18.10.1/24"] if name == ports[0] else []) for name in ports]
    assert all(host.bonds.lost_below(name) is None for name in ports)
    host.bonds.create("niclab0", settings, ports)
    assert host.bonds.bond("niclab0").slaves_up is not None and host.bonds.settings("niclab0")["slaves"]
    for name in ("niclab0.3", "niclabv"):
        host.bonds.create_vlan(name, "niclab0", 3)
        host.bonds.vlan(name)
        server.sh(host.undo.upper(name))
    server.sh(host.undo.upper("niclab0"), *releasing)


def carrier(server: Server) -> None:
    assert server.host.links.await_carrier(server.port, True, 5.0)
    assert not server.host.links.await_carrier(server.port, False, 0.1)
    assert server.host.links.await_carriers(server.root.ports, False, 0) == server.root.ports


def addresses(server: Server) -> None:
    links = server.host.links
    for cidr in ("198.18.77.1/24", "fd77::1/64", "fe80::77/64"):
        links.add_address(server.port, cidr)
        server.sh(server.host.undo.address(server.port, cidr))
        links.add_address(server.port, cidr)
        links.remove_address(server.port, cidr)


def pings(server: Server) -> None:
    links = server.host.links
    assert links.ping("198.18.10.1", count=2, size=1472, dont_fragment=True, source=server.port).received
    assert links.ping("fd77::1", count=2, size=1000, source="fd77::2", interval_s=0.5).received


def set_link(server: Server) -> None:
    restoring = server.host.undo.link(server.port, up=True)
    server.host.links.set_link(server.port, False)
    server.host.links.set_link(server.port, True)
    server.sh(restoring)


def changed(server: Server, undo: str, change: Callable[[], object]) -> None:
    change()
    server.sh(undo)


def packages(server: Server) -> None:
    host, name = server.host.drivers, server.package
    if not server.is_emulex:
        server.root.package(f"{name}-1.0")
    before = host.package(name)
    assert before is not None
    undo = server.host.undo.package(name, before, server.module)
    if server.is_emulex:
        assert host.remove_package(name).now is None
        assert host.install_package(name, before.version).now == before
        assert host.install_package(name, before.version).refused is None
        server.sh(undo)
    else:
        with pytest.raises(BenchFault, match="No packages available to install"):  # there is no repository
            host.install_package(name, before.version)
        assert "No packages available to install" in server.shell.run(undo).stderr
        assert host.remove_package(name).now is None
        server.root.package(f"{name}-1.0")
        server.sh(server.host.undo.package(name, None, server.module))


def flashed(server: Server) -> None:
    images = medium.firmware_of(server.card)
    if not images:
        server.host.firmware.flash(server.port, "none.bin")
        return
    file = min(images)
    assert server.host.firmware.has_image(file) and not server.host.firmware.has_image("none.bin")
    server.host.firmware.flash(server.port, file)
    assert server.host.undo.firmware(server.port, file)


def by_tool(server: Server) -> None:
    firmware = server.host.firmware
    tool = FirmwareTool("echo Written {interface} {pci} {file}", ("sh",))
    found = firmware.missing_programs(("sh", "no-such-tool"))
    assert found == ("no-such-tool",), found
    ended = firmware.write_with(tool, server.port, "0000:01:00.0", "x.bin")
    assert ended == ToolRun(ToolAnswer.WRITTEN, f"Written {server.port} 0000:01:00.0 x.bin"), ended
    server.sh(firmware.tool_command(tool, server.port, "0000:01:00.0", "x.bin"))


def loading(server: Server) -> None:
    part = server.host.loading
    assert part.parameter_entries(server.module, "max_rsp_handled") == ()
    undo = part.restoring(server.module)
    part.set_to_load(server.module)
    assert part.is_set_to_load(server.module)
    server.sh(undo)


def parameter(server: Server) -> None:
    if server.is_emulex:
        assert server.host.drivers.parameter("oce", "max_rsp_handled") == "64"
        server.root.write("run/bsd/sysctl", "")
    else:
        with pytest.raises(BenchFault, match="has no setting"):
            server.host.drivers.parameter(server.module, "max_rsp_handled")


def features(server: Server) -> None:
    words = {"TXCSUM": "txcsum", "RXCSUM": "rxcsum"}
    undo = server.host.undo.features(server.port, words)
    changed(server, undo, lambda: server.host.settings.set_feature(server.port, "txcsum", False))


def coalescing(server: Server) -> None:
    settings, undo = server.host.settings, server.host.undo.coalescing(server.port, ("rx-usecs", "rx-frames"))
    for values in ({"rx-usecs": 10}, {"rx-usecs": 7}, {"adaptive-rx": True}):
        settings.set_coalescing(server.port, values)
    server.sh(undo)


def engine(server: Server) -> None:
    """The card's own TCP, of a Chelsio card; no other driver shows any."""
    part, port = server.host.engine, server.port
    calls = (part.is_reserved, part.is_by_policy, part.placing, part.restoring_placing, part.buffers)
    if server.is_emulex:
        not_offered(*(partial(call, port) for call in calls), partial(part.set_placing, port, True))
        not_offered(partial(part.connections_command, port))
        return
    assert part.is_reserved(port) and not part.is_by_policy(port) and part.buffers(port) == 0
    assert part.read_connections(server.shell.run(part.connections_command(port)).stdout) == 0
    undo = part.restoring_placing(port)
    assert not part.placing(port).on and part.set_placing(port, True).now.on
    server.sh(undo)
    assert not part.placing(port).on


def log(server: Server) -> None:
    system = server.host.system
    assert system.dmesg_mark().token and system.dmesg()
    server.root.write("dev/kmsg", f"{BANNER}12,5,5,-;{MARK}\n3,6,6,-;it burns\n")
    mark = KernelLogMark(system.boot_id(), MARK)
    (line,) = system.dmesg_since(mark)
    assert line.text == "it burns" and not system.trouble([])
    assert system.look(mark, "uname -s").shown == "FreeBSD\n"


def down(server: Server) -> None:
    server.host.system.reboot()
    assert (server.root.path / "below/init").read_text() == "6\n"


def evidence(server: Server) -> None:
    wanted = server.host.system.evidence_commands(server.root.ports, server.module)
    server.sh(*(command for _, command in wanted))


def tools(server: Server) -> None:
    host = server.host.system
    found = host.software([*host.needed_tools(), "iperf3", "netperf"])
    assert None not in [found.tools[name] for name in host.needed_tools()] and found.tools["netperf"] is None
    assert (found.release, found.kernel) == (host.os_release(), host.kernel())


def panic(server: Server) -> None:
    server.root.write("dev/ttyS0", "")
    assert server.shell.run(server.host.system.panic_command()).succeeded
    assert "panic" in (server.root.path / "dev/ttyS0").read_text()


def listeners(server: Server) -> None:
    links = server.host.links
    assert links.listeners(5201) and not links.listeners(5202)
    found = [server.shell.run(links.listening_command(5201, place)).exit_status for place in ("0.0.0.0", "198.18.10.1")]
    assert found == [1, 1], "an address that everybody is asked for is shown as *"


class Runner:
    """A host of background jobs."""

    name = "dut"

    def __init__(self, shell: Watched) -> None:
        self.run = shell.run

    def observe(self, result: Result) -> None:
        """Nobody notes results here."""


def leased(server: Server) -> None:
    holder = Holder("root", "here", 1, "now", "bench", "run", "token")
    lease = Lease("dut", server.shell, holder, lambda _: False, str(server.root.path / "lease"))
    lease.take()
    lease.give_back()
    assert lease.steal() is None


def job(server: Server) -> None:
    """A job that is stopped, and one that is ended by its mark."""
    runner, mark = Runner(server.shell), f"test{os.getpid()}{server.root.driver}"
    for ending in (lambda one: one.stop(), lambda _: server.sh(ssh_job.ending_command(mark))):
        started = server.shell.run(ssh_job.launch_command("sleep 30", 60, mark), check=True)
        one = ssh_job.launched(runner, "sleep 30", started.stdout)
        assert one.poll() is None and one.output() == ""
        ending(one)
        server.sh(f"[ ! -e {one.directory} ]")


def console(server: Server) -> None:
    """Run what a recovery looks at on a console."""
    for command in recover._LOOKS:
        done = server.shell.run(command)
        missing = re.findall(r"(\w+): not found", done.stderr)
        assert done.succeeded and {*missing} <= {"ip", "ss"}, done  # another program is asked then


FAILOVER = BondSettings(BondMode.ACTIVE_BACKUP, miimon_ms=100)
HASHED = BondSettings(BondMode.LACP, xmit_hash_policy=HashPolicy.LAYER34)


def hashes(one: Server) -> None:
    queues = one.host.queues
    not_offered(
        partial(queues.receive_hash, one.port),
        partial(queues.set_weights, one.port, [1, 1]),
        partial(queues.set_key, one.port, bytes(40)),
        partial(queues.restoring_table, one.port),
        partial(queues.restoring_key, one.port),
    )


def hash_fields(one: Server) -> None:
    queues, kind = one.host.queues, next(iter(FlowKind))
    not_offered(
        partial(queues.fields, one.port, kind),
        partial(queues.set_fields, one.port, kind, frozenset()),
        partial(queues.restoring_fields, one.port, kind),
        partial(queues.frames, one.port),
    )


def flow_rules(one: Server) -> None:
    queues = one.host.queues
    not_offered(
        partial(queues.rules, one.port),
        partial(queues.add_rules, one.port, []),
        partial(queues.remove_rules, one.port),
        partial(queues.restoring_no_rules, one.port),
    )


def functions(one: Server) -> None:
    made, address = one.host.functions, "0000:01:00.0"
    not_offered(
        partial(made.count, address),
        partial(made.set_count, address, 1),
        partial(made.functions, address),
        partial(made.set_vlan, one.port, 0, 5),
        partial(made.set_spoof_check, one.port, 0, True),
        partial(made.restoring, address),
    )


def builds(one: Server) -> None:
    made, source = one.host.builds, Source("oce", "1.0")
    assert made.sources("oce") == made.files([source]) == made.remaining(["x"]) == ()
    not_offered(
        made.kernels,
        made.is_at_installation,
        partial(made.is_installed, source, "x"),
        partial(made.build, source, "x"),
        partial(made.build_again, source, "x"),
        partial(made.restoring, source, "x"),
        partial(made.module_for, "oce", "x"),
        partial(made.remove_remaining, ["x"]),
    )


def not_offered(*asked: Callable[[], object]) -> None:
    for each in asked:
        with pytest.raises(NotApplicable):
            each()


DRIVES: dict[str, Callable[[Server], object]] = {
    "system.boot_id": lambda one: one.host.system.boot_id(),
    "system.clock_s": lambda one: one.host.system.clock_s(),
    "counts.cpu_times": lambda one: one.host.counts.cpu_times(),
    "system.available_bytes": lambda one: one.host.system.available_bytes(),
    "system.kernel": lambda one: one.host.system.kernel(),
    "system.os_release": lambda one: one.host.system.os_release(),
    "system.is_root": lambda one: one.host.system.is_root(),
    "system.software system.needed_tools": tools,
    "system.evidence_commands": evidence,
    "system.dmesg system.dmesg_mark system.dmesg_since system.look system.trouble": log,
    "pci.functions": lambda one: one.host.pci.functions("8086", "3c08"),
    "links.names": lambda one: one.host.links.names(),
    "pci.driver": lambda one: one.host.pci.driver(one.root.functions[0]),
    "pci.device": lambda one: one.host.pci.device(one.root.functions[0]),
    "pci.path": lambda one: one.host.pci.path(one.root.functions[0]),
    "pci.interface_at": lambda one: one.host.pci.interface_at(one.root.functions[0], 0),
    "pci.detach_driver": lambda one: one.host.pci.detach_driver(one.root.functions[0]),
    "pci.remove_function": lambda one: one.host.pci.remove_function(one.root.functions[0]),
    "pci.can_reset_function": lambda one: one.host.pci.can_reset_function(one.root.functions[0]),
    "pci.reset_function": lambda one: one.host.pci.reset_function(one.root.functions[0]),
    "drivers.reset_interface": lambda one: one.host.drivers.reset_interface(one.port),
    "undo.driver": lambda one: one.host.undo.driver(one.root.functions[0], one.port),
    "pci.aer": lambda one: one.host.pci.aer(one.root.functions[0]),
    "drivers.modinfo": lambda one: one.host.drivers.modinfo(one.module),
    "drivers.names_of": lambda one: one.host.drivers.names_of(one.module),
    "drivers.is_own_module": lambda one: one.host.drivers.is_own_module(one.host.drivers.modinfo(one.module)),
    "drivers.loaded_module": lambda one: one.host.drivers.loaded_module(one.module),
    "drivers.is_build_on_disk": lambda one: one.host.drivers.is_build_on_disk(one.module),
    "drivers.driver_info": lambda one: one.host.drivers.driver_info(one.port),
    "drivers.self_test": lambda one: one.host.drivers.self_test(one.port, True),
    "drivers.parameter": parameter,
    "drivers.reload": lambda one: one.host.drivers.reload(one.module),
    "undo.load_driver undo.unload_driver": lambda one: one.sh(
        one.host.undo.unload_driver("if_tap"), one.host.undo.load_driver("if_tap")
    ),
    "drivers.package drivers.install_package drivers.remove_package undo.package": packages,
    "drivers.is_of_package": lambda one: one.host.drivers.is_of_package("oce", "/boot/modules/oce.ko"),
    "drivers.changed_files drivers.package_signer": lambda one: not_offered(
        partial(one.host.drivers.changed_files, "x"),
        partial(one.host.drivers.package_signer, "x"),
    ),
    "firmware.has_image firmware.flash undo.firmware": flashed,
    "firmware.missing_programs firmware.tool_command firmware.write_with": by_tool,
    "firmware.eeprom firmware.registers firmware.identify": lambda one: not_offered(
        partial(one.host.firmware.eeprom, one.port, 128),
        partial(one.host.firmware.registers, one.port),
        partial(one.host.firmware.identify, one.port, 1),
    ),
    "loading.parameter_entries loading.is_set_to_load loading.set_to_load loading.restoring": loading,
    "settings.features settings.set_feature undo.features": features,
    "engine.is_reserved engine.is_by_policy engine.connections_command engine.read_connections engine.placing"
    " engine.set_placing engine.restoring_placing engine.buffers": engine,
    "settings.rings undo.rings": lambda one: one.sh(one.host.undo.rings(one.port)),
    "settings.set_rings": lambda one: one.host.settings.set_rings(one.port, {"rx": 512}),
    "settings.coalescing settings.set_coalescing undo.coalescing": coalescing,
    "settings.pause settings.set_pause undo.pause": lambda one: changed(
        one, one.host.undo.pause(one.port), lambda: one.host.settings.set_pause(one.port, {"rx": False})
    ),
    "settings.channels": lambda one: one.host.settings.channels(one.port),
    "settings.set_channels": lambda one: one.host.settings.set_channels(one.port, {"rx": 1}),
    "undo.channels": lambda one: one.host.undo.channels(one.port),
    "settings.untried": lambda one: one.host.settings.untried(one.port),
    "settings.mtu settings.set_mtu undo.mtu": lambda one: changed(
        one, one.host.undo.mtu(one.port), lambda: one.host.settings.set_mtu(one.port, 9000)
    ),
    "links.listeners links.listening_command": listeners,
    "links.interface links.interfaces": lambda one: one.host.links.interfaces(one.root.ports),
    "links.link_settings": lambda one: one.host.links.link_settings(one.port),
    "links.module_memory": lambda one: not_offered(partial(one.host.links.module_memory, one.port)),
    "counts.counters": lambda one: one.host.counts.counters(one.port),
    "counts.statistics": lambda one: one.host.counts.statistics(one.port),
    "counts.load counts.load_command counts.read_load": lambda one: one.host.counts.load(one.port),
    "counts.carrier_changes": lambda one: one.host.counts.carrier_changes(one.port),
    "counts.carriers_command": lambda one: one.host.counts.carriers_command([one.port]),
    "counts.read_carriers": lambda one: one.host.counts.read_carriers(""),
    "links.await_carrier links.await_carriers": carrier,
    "links.set_link undo.link": set_link,
    "links.mac_command": lambda one: one.sh(one.host.links.mac_command(one.port, "02:00:00:00:00:07")),
    "links.answers_arp_for_others": lambda one: one.host.links.answers_arp_for_others(one.port),
    "undo.arp": lambda one: one.sh(one.host.undo.arp(one.port, False)),
    "links.show_command": lambda one: one.sh(one.host.links.show_command(one.root.ports)),
    "links.add_address links.remove_address undo.address": addresses,
    "links.ping": pings,
    "bonds.create bonds.bond bonds.settings bonds.lost_below undo.upper undo.port": lambda one: bond(one, FAILOVER),
    "bonds.create_vlan bonds.vlan": lambda one: bond(one, HASHED),
    "bonds.modules": lambda one: one.sh(*map(one.host.undo.load_driver, one.host.bonds.modules())),
    "queues.receive_hash queues.set_weights queues.set_key queues.restoring_table queues.restoring_key": hashes,
    "queues.fields queues.set_fields queues.restoring_fields queues.frames": hash_fields,
    "queues.rules queues.add_rules queues.remove_rules queues.restoring_no_rules": flow_rules,
    "functions.count functions.set_count functions.functions functions.restoring": functions,
    "builds.sources builds.kernels builds.is_installed builds.is_at_installation builds.build builds.restoring "
    "builds.build_again builds.module_for builds.files builds.remaining builds.remove_remaining": builds,
    "functions.set_vlan functions.set_spoof_check": functions,
    "system.reboot": down,
    "system.panic_command": panic,
}
"""Methods -> what calls them; in this order, since some change what others find."""
BESIDES: dict[str, Callable[[Server], object]] = {
    "a tag of 802.1ad": lambda one: one.host.bonds.create_vlan("niclabq", one.port, 3, VlanTag.SERVICE),
    "lease": leased,
    "job": job,
    "console": console,
    "state, between": lambda one: read_state(one.shell.run(freebsd_program(Depth.BETWEEN)).stdout),
    "state, full": lambda one: read_state(one.shell.run(freebsd_program(Depth.FULL)).stdout),
}


def driven(card: str, folder: Path) -> Server:
    """All of it on a server with that card."""
    root = Root(folder, card)
    root.write("dev/kmsg", BANNER)
    shell = GuestShell(root)
    with shell.served():
        server = Server(card, root, Watched(shell))
        chosen = {name: drive for name, drive in {**BESIDES, **DRIVES}.items() if name.startswith(CARDS[card])}
        for name, drive in chosen.items():
            try:
                drive(server)
            except NotApplicable:
                pass
            except (BenchFault, AssertionError) as error:
                server.failed[name] = str(error)
        server.calls = shell.calls
    return server
