"""The card's engine for iSCSI on the dut: its kernel module, its MAC address, and the record that a session takes.

Its module is loaded for the test. With the first record, open-iscsi loads those of other cards of the server as well,
and makes a record of each engine (usr/iface.c, iface_setup_host_bindings()). All of them are unloaded and removed
afterwards, but for those that were there before.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from niclab.bench.records import BenchPath, Port, Role
from niclab.card import IscsiOffload
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back
from niclab.storage.offload.iface_record import PREFIX, IfaceRecord, recorded

MODULES = {"tcp": "iscsi_tcp", "iser": "ib_iser"}
"""Transports whose module has another name (open-iscsi, usr/transport.c, transport_load_kmod())."""
PROBED = ("bnx2i", "cxgb3i", "cxgb4i")
"""Modules that open-iscsi loads by the driver of an interface (usr/iscsi_net_util.c, net_drivers)."""
BY_DAEMON = ("bnx2i", "qedi")
"""Transports that get their addresses by the program ``iscsiuio`` (usr/transport.c, uip_broadcast_params())."""
DAEMON_SOCKET = "@ISCSID_UIP_ABSTRACT_NAMESPACE"
_HOSTS = "/sys/class/iscsi_host"
RECORDS = ("/etc/iscsi/ifaces", "/var/lib/iscsi/ifaces")
"""Folders of open-iscsi's records on Debian and elsewhere; that of an engine is called TRANSPORT.MAC."""


@dataclass(frozen=True)
class Engine:
    """The engine of a port, in use.

    ``record``: open-iscsi's; ``mac``: the address that its frames must have; ``base_mac``: that of the port;
    ``address``: the IP address of its sessions.
    """

    record: str
    mac: str
    base_mac: str
    address: str


def module_of(facts: IscsiOffload) -> str:
    """Return the kernel module of the engine's transport.

    Args:
        facts: The engine on the sheet.
    """
    return MODULES.get(facts.transport, facts.transport)


def require_engine(run: Run) -> IscsiOffload:
    """Require that the sheet has an engine for iSCSI, and the dut's kernel its transport.

    Args:
        run: The current run.

    Returns:
        The engine on the sheet.

    Raises:
        NotApplicable: The sheet has none, or the kernel has no such transport.
    """
    facts, dut = run.card.iscsi_offload, run.server(Role.DUT)
    if facts is None:
        raise NotApplicable(
            f"sheet {run.card.name} has no section iscsi_offload: no document says that it speaks iSCSI"
        )
    module = module_of(facts)
    if not dut.ssh.run(f"modprobe -n -q {module}").succeeded:
        raise NotApplicable(
            f"{dut.name}: its kernel has no module {module}, without which nothing uses the engine of {run.card.name} "
            f"for iSCSI (transport {facts.transport})"
        )
    return facts


@contextmanager
def engine_of(run: Run, path: BenchPath, facts: IscsiOffload) -> Iterator[Engine]:
    """Have the engine of the dut's port of a path in use inside the ``with`` block.

    Args:
        run: The current run.
        path: The path.
        facts: The engine on the sheet.

    Raises:
        CardFailure: Its MAC address is not that on the sheet.
        Undecided: The port has no engine: nobody knows whether the board lacks it or has it switched off.
        BenchFault: The module cannot be loaded, a program that it needs does not run, or open-iscsi refuses the record.
        NotApplicable: The path's subnet has no address for it.
    """
    dut, port, module = run.server(Role.DUT), run.bench.end(path, Role.DUT), module_of(facts)
    base = run.shown([port])[port].mac
    if base is None:
        raise BenchFault(f"{port.place}: has no MAC address; expected one")
    undo = _undo(dut, module)
    with put_back(run, dut, dut.name, f"modules of iSCSI engines are loaded, such as {module}", undo):
        dut.run(f"modprobe {module}")
        wanted = mac_after(base, facts.mac_offset)
        if facts.mac_offset:
            _require_mac(run, port, facts, wanted)
        if facts.transport in BY_DAEMON and not dut.ssh.run(f"grep -q {DAEMON_SOCKET} /proc/net/unix").succeeded:
            raise BenchFault(
                f"{dut.name}: nobody listens at {DAEMON_SOCKET}; expected iscsiuio, which gives {facts.transport} its "
                "addresses (Debian: iscsiuio)"
            )
        record = _record(run, path, facts, wanted)
        address = record.values["ipaddress"]
        with recorded(run, dut, record):
            yield Engine(record.name, wanted, base, address)


def mac_after(base: str, offset: int) -> str:
    """Return the MAC address so much after another one.

    Args:
        base: The other one.
        offset: The difference.
    """
    number = int(base.replace(":", ""), 16) + offset
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))


def seen_mac(run: Run, path: BenchPath, engine: Engine) -> str:
    """Return the MAC address that the peer sends the frames of a session to, and has answers from.

    Args:
        run: The current run.
        path: The path.
        engine: The engine, with a session that goes on.

    Raises:
        BenchFault: The peer knows none.
    """
    peer, iface = run.server(Role.PEER), run.interface(run.bench.end(path, Role.PEER))
    shown = peer.run(f"ip neigh show to {engine.address} dev {shlex.quote(iface)}").stdout
    match = re.match(rf"{re.escape(engine.address)} lladdr ([0-9a-f:]{{17}}) ", shown)
    if match is None:
        raise BenchFault(
            f"{peer.name}: {shown.strip()!r} of {engine.address}; expected a MAC address while disks are used"
        )
    return match[1]


def forget_mac(run: Run, path: BenchPath, engine: Engine) -> None:
    """Let the peer ask again for the MAC address of a session.

    Args:
        run: The current run.
        path: The path.
        engine: The engine.
    """
    peer, iface = run.server(Role.PEER), run.interface(run.bench.end(path, Role.PEER))
    peer.run(f"ip neigh flush to {engine.address} dev {shlex.quote(iface)}")


def _undo(dut: Server, module: str) -> str:
    """The commands that unload and remove what is not there now; a module for disks of the server itself stays."""
    names = [name for name in dict.fromkeys((module, *PROBED)) if name not in MODULES.values()]
    looks = "; ".join(f"[ -d /sys/module/{name} ] || echo {name}" for name in names)
    new = dut.run(f"{looks}; :").stdout.split()
    there = dut.run(_each_record(names, 'echo "$f"')).stdout.split()
    steps = [f"[ ! -d /sys/module/{name} ] || modprobe -r {name} || exit 1" for name in new]
    return "\n".join([*steps, _each_record(names, f'case " {" ".join(there)} " in *" $f "*) ;; *) rm -f "$f" ;; esac')])


def _each_record(names: Sequence[str], do: str) -> str:
    """The commands that do something with each record that open-iscsi has made of an engine."""
    files = " ".join(f"{folder}/{name}.*" for folder in RECORDS for name in names)
    return f'for f in {files}; do [ ! -e "$f" ] || {do}; done'


def _record(run: Run, path: BenchPath, facts: IscsiOffload, mac: str) -> IfaceRecord:
    """The record. An engine with a MAC address of its own has an IP address of its own, the last of the subnet."""
    port = run.bench.end(path, Role.DUT)
    shown, subnet = run.bench.address(port), path.subnet
    address = subnet.broadcast_address - 1 if facts.mac_offset else shown.ip
    if facts.mac_offset and subnet.num_addresses < 8:
        raise NotApplicable(f"path {path.name}: subnet {subnet} has no address for the engine; expected a larger one")
    bound = {"hwaddress": mac} if facts.mac_offset else {"net_ifacename": run.interface(port)}
    values = {
        "transport_name": facts.transport,
        **bound,
        "ipaddress": str(address),
        "subnet_mask": str(shown.netmask),
        "vlan_id": "0",
        "mtu": str(run.shown([port])[port].mtu),
    }
    return IfaceRecord(f"{PREFIX}{path.name}", values)


def _require_mac(run: Run, port: Port, facts: IscsiOffload, wanted: str) -> None:
    dut, iface = run.server(Role.DUT), run.interface(port)
    found = hosts(dut.run(hosts_command(module_of(facts))).stdout).get(iface)
    if found is None:
        raise Undecided(
            f"{port.place}: no {facts.transport} host at {iface}; expected one at each port (sheet {run.card.name}); "
            "nobody knows whether the board has no engine, or has it switched off"
        )
    if found != wanted:
        raise CardFailure(
            f"{port.place}: its engine for iSCSI has MAC address {found}; expected {wanted}, that of the port plus "
            f"{facts.mac_offset} (sheet {run.card.name})"
        )


def hosts_command(module: str) -> str:
    """Return the command that shows the hosts of a transport: interface and MAC address of each.

    Args:
        module: Kernel module of the transport.
    """
    return f"""for d in {_HOSTS}/host*; do
  p=; m=; n=
  {{ read -r p < /sys/class/scsi_host/"${{d##*/}}"/proc_name && [ "$p" = {module} ]; }} 2>/dev/null || continue
  read -r m < "$d/hwaddress"; read -r n < "$d/netdev"; printf '%s %s\\n' "$n" "$m"
done"""


def hosts(text: str) -> dict[str, str]:
    """Read what :func:`hosts_command` prints: MAC address by interface.

    Args:
        text: The output.

    Raises:
        ReadError: A line is none that it prints.
    """
    found = dict[str, str]()
    for line in text.splitlines():
        match = re.fullmatch(r"(\S+) ([0-9a-f:]{17})", line)
        if match is None:
            raise ReadError(f"iSCSI hosts: {line!r}; expected an interface and a MAC address")
        found[match[1]] = match[2]
    return found
