"""The bench file of a virtual bench: all that the lab knows of it, as with any other bench."""

from __future__ import annotations

import cardmodel
import layout
import uplinks
from layout import DEFAULT_NAME, IPMI_PORT, REDFISH_PORT, RFC2217_PORT, ROLES, SSH_PORT, Bench, Port, Server

VARIABLES = (
    *("APT_CONFIG", "CURL_CA_BUNDLE", "LD_LIBRARY_PATH", "SSL_CERT_DIR", "SSL_CERT_FILE"),
    *("VBENCH_ACCEL", "VBENCH_QEMU", "all_proxy", "ftp_proxy", "http_proxy", "https_proxy", "no_proxy"),
)
"""Variables of the environment that decide how a bench is built and started."""
SUMMED_BY_PROCESSOR = ("broadcom-bcm57810", "chelsio-t580-cr", "emulex-oce11102", "intel-x520", "solarflare-sfn5122f")
"""Cards of ``lab/virtual/card`` that are declared to leave checksums to the processor."""


def render(bench: Bench) -> str:
    """The text of the bench file; ``lab/benches/virtual.yaml`` is that of the bench of the default name.

    It fits every card there is a sheet of: an 82574L, and in ``cards`` what differs with each of the others.
    """
    bench = layout.bench(bench.name)
    option = "" if bench.name == DEFAULT_NAME else f" --name {bench.name}"
    schema = "../schema/bench.schema.json" if bench.name == DEFAULT_NAME else "bench.schema.json"
    folder = f"~/.local/state/niclab/vbench/{bench.name}"
    head = f"""\
# yaml-language-server: $schema={schema}
# Two QEMU servers, their BMCs and consoles, and a switch, on loopback addresses of this controller.
# Written by: lab/virtual/vbench bench-file{option}
# Every field is explained in lab/benches/example-real.yaml.
bench: {bench.name}
description: Two virtual servers with two ports each, back to back, and a switch to connect them to
emulated: true
# What emulated cards do otherwise than the silicon.
deviations:
  - card: intel-82574l
    fact: filters.unicast
    how: an address that is not its own is received if its hash is that of a group it joined
    source: measured, QEMU 7.2; hw/net/e1000x_common.c, e1000x_rx_group_filter()
  - card: intel-82574l
    fact: filters.vlan
    how: frames of every VLAN are received
    source: measured, QEMU 7.2
  - card: intel-82574l
    fact: offloads.sending
    how: what it should segment leaves as fragments of IP, and TCP over IPv6 with wrong checksums
    source: measured, QEMU 7.2; hw/net/net_tx_pkt.c, net_tx_pkt_do_sw_fragmentation()
  - card: intel-82574l
    fact: pause.received
    how: pause frames that come stop nothing, and are delivered as any group's
    source: QEMU 7.2, hw/net/e1000e_core.c, mac_reg_access (registers of flow control are stored, no more)
  - card: intel-82574l
    fact: pause.sent
    how: a full port sends no pause frame
    source: QEMU 7.2, hw/net/e1000e_core.c (it makes no frame of its own; registers of flow control are stored, no more)
  - card: intel-82574l
    fact: clock.time
    how: its clock does not move
    source: measured, QEMU 7.2
  - card: intel-82574l
    fact: clock.received-stamps
    how: no frame is stamped
    source: measured, QEMU 7.2
  - card: intel-82574l
    fact: clock.sent-stamps
    how: no frame is stamped
    source: measured, QEMU 7.2
  - card: intel-82574l
    os: freebsd
    fact: mtu.max
    how: no frame is longer than at an MTU of 9212, as the kernel below is Linux
    source: Linux 6.1, e1000e, 82571.c, e1000_82574_info (max_hw_frame_size); lab/virtual/freebsd/README.md
  - card: intel-82576
    fact: filters.unicast
    how: an address that is not its own is received if its hash is that of a group it joined
    source: QEMU 10.0, hw/net/igb_core.c, igb_receive_assign(), and e1000x_common.c, e1000x_rx_group_filter(); measured
  - card: intel-82576
    fact: pcie.width
    how: it trains to one lane in any slot
    source: QEMU 10.0, hw/pci/pcie.c, pcie_endpoint_cap_init(), which igb.c calls; measured
  - card: intel-82576
    fact: pause.received
    how: pause frames that come stop nothing, and are delivered as any group's
    source: QEMU 10.0, hw/net/igb_core.c, mac_reg_access (registers of flow control are stored, no more)
  - card: intel-82576
    fact: pause.sent
    how: a full port sends no pause frame
    source: QEMU 10.0, hw/net/igb_core.c (it makes no frame of its own; registers of flow control are stored, no more)
  - card: intel-82576
    fact: clock.received-stamps
    how: the first frame alone is stamped
    source: measured, QEMU 10.0; hw/net/igb_core.c, igb_get_rxsatrh() (it frees the stamp; Linux does not read it)
  - card: intel-82576
    fact: virtual_functions.spoof-check
    how: a function sends from any address, whatever check is set
    source: measured, QEMU 10.0; hw/net/igb_core.c, DTXSWC (its bits of MAC and VLAN spoof checks are stored, no more)
  - card: vmware-vmxnet3
    fact: offloads.sending
    how: packets of TCP over IPv6 without data leave with wrong checksums
    source: measured, QEMU 7.2
{_sums()}\
# The servers are threads of a host that does other work: it takes the processor from one of them for 250 ms in 2 to 8 %
# of the runs when it is quiet, and in three times as many when it is not.
discarded_runs_percent: 25
secrets_file: {folder}/secrets.env

commands:
  up: lab/virtual/vbench up{option}
  down: lab/virtual/vbench down{option}
  status: lab/virtual/vbench status --quiet{option}
  insert: lab/virtual/vbench cards --dut {{dut}} --peer {{peer}}{option}
  inserted: lab/virtual/vbench cards{option}
  boot_systems: lab/virtual/vbench systems --dut {{dut}} --peer {{peer}}{option}
  systems: lab/virtual/vbench systems{option}
  environment: [{", ".join(VARIABLES)}]

# What else the servers can boot than `linux`, which is Debian 12, and `freebsd`; `rpm-...`: with packages of rpm.
systems: {{debian13: linux, rpm-dnf: linux, rpm-zypper: linux}}

servers:
"""
    servers = "\n".join(_server(server, folder) for server in bench.servers)
    cables = "".join(
        f"""\
  - name: {name}
    ends: [{", ".join(f"{server.role}.{port.name}" for server, port in ends)}]
    through: direct
    subnet: 198.18.{10 + number}.0/24
    rate_scale: {bench.servers[0].card.rate_scale}
    pull: lab/virtual/vbench cable pull {name}{option}
    plug: lab/virtual/vbench cable plug {name}{option}
"""
        for number, (name, ends) in enumerate(bench.cables.items())
    )
    return f"{head}{servers}\n{_switch(bench, option)}\npaths:\n{cables}{_cards(bench)}"


_TCP = """\
  - card: chelsio-t580-cr
    fact: offloads.tcp-work
    how: the server's own processor does the TCP of connections that are called the card's
    source: lab/virtual/freebsd/guest/toe.py
"""


def _sums() -> str:
    """Write that the server's processor makes the checksums of cards of ``lab/virtual/card``, and does their TCP."""
    return _TCP + "".join(
        f"""\
  - card: {name}
    fact: offloads.checksum-work
    how: the server's own processor makes the checksums that are left to the card
    source: lab/virtual/card/net/tx.c, sum()
"""
        for name in SUMMED_BY_PROCESSOR
    )


def _switch(bench: Bench, option: str) -> str:
    ports = ", ".join(f"{port}: {name}" for port, name in uplinks.ports(bench).items())
    return f"""\
switch:
  name: sw
  model: virtual-switch
  address: {uplinks.switch_address(bench)}
  snmp:
    port: {uplinks.SNMP_PORT}
    v3:
      user: {uplinks.USER}
      auth_password_secret: VBENCH_SNMP_AUTH_PASSWORD
      priv_password_secret: VBENCH_SNMP_PRIV_PASSWORD
  ports: {{{ports}}}
  connect: lab/virtual/vbench wiring switch{option}
  disconnect: lab/virtual/vbench wiring direct{option}
"""


def _cards(bench: Bench) -> str:
    """Write the differences of each card to the one that a bench has by default."""
    names = [name for name in cardmodel.names() if name != cardmodel.DEFAULT]
    return "\n# What differs with another card in both servers.\ncards:\n" + "".join(
        _card(bench, name) for name in names
    )


def _card(bench: Bench, name: str) -> str:
    card = cardmodel.card(name)
    servers = layout.bench(bench.name, dict.fromkeys(ROLES, card)).servers
    ports = "".join(
        f"      {server.role}.{port.name}: {_port(port, server)}\n" for server in servers for port in server.ports
    )
    return f"  {name}:\n    rate_scale: {card.rate_scale}\n    ports:\n{ports}"


def _port(port: Port, server: Server) -> str:
    """Write the identity of a port; with its number on the function where a function has several."""
    shared = [other.pci for other in server.ports].count(port.pci) > 1
    index = f", port_index: {port.place.port}" if shared else ""
    return f'{{pci: "{port.pci}", mac: "{port.mac}"{index}}}'


def _server(server: Server, folder: str) -> str:
    ports = "".join(f"      {port.name}: {_port(port, server)}\n" for port in server.ports)
    return f"""\
  {server.role}:
    os: linux
    ssh:
      address: {server.address}
      port: {SSH_PORT}
      user: root
      key_file: {folder}/id_ed25519
      known_hosts: {folder}/known_hosts
    bmc:
      ipmi:
        address: {server.bmc_address}
        port: {IPMI_PORT}
        user: admin
        password_secret: VBENCH_BMC_PASSWORD
        cipher_suite: 17
      redfish:
        url: "https://{server.bmc_address}:{REDFISH_PORT}"
        user: admin
        password_secret: VBENCH_BMC_PASSWORD
        ca_file: {folder}/bmc-ca.pem
    console:
      url: "rfc2217://{server.console_address}:{RFC2217_PORT}"
      user: root
      password_secret: VBENCH_CONSOLE_PASSWORD
    boot: {{ready_within_s: 120}}
    ports:
{ports}"""
