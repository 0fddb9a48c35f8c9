"""The bench file of a virtual bench: all that the lab is told about it, as with any other bench."""

from __future__ import annotations

from layout import DEFAULT_NAME, IPMI_PORT, RATE_SCALE, REDFISH_PORT, RFC2217_PORT, SSH_PORT, Bench, Server


def render(bench: Bench) -> str:
    """The text of the bench file; ``lab/benches/virtual.yaml`` is that of the bench of the default name."""
    option = "" if bench.name == DEFAULT_NAME else f" --name {bench.name}"
    schema = "../schema/bench.schema.json" if bench.name == DEFAULT_NAME else "bench.schema.json"
    folder = f"~/.local/state/niclab/vbench/{bench.name}"
    head = f"""\
# yaml-language-server: $schema={schema}
# Two QEMU servers, their BMCs and consoles, on loopback addresses of this controller.
# Written by: lab/virtual/vbench bench-file{option}
# Every field is explained in lab/benches/example-real.yaml.
bench: {bench.name}
description: Two virtual servers with two Intel 82574L ports each, back to back
secrets_file: {folder}/secrets.env

commands:
  up: lab/virtual/vbench up{option}
  down: lab/virtual/vbench down{option}
  status: lab/virtual/vbench status --quiet{option}

servers:
"""
    servers = "\n".join(_server(server, folder) for server in bench.servers)
    cables = "".join(
        f"""\
  - name: {name}
    ends: [{", ".join(f"{server.role}.{port.name}" for server, port in ends)}]
    through: direct
    subnet: 198.18.{10 + number}.0/24
    rate_scale: {RATE_SCALE}
    pull: lab/virtual/vbench cable pull {name}{option}
    plug: lab/virtual/vbench cable plug {name}{option}
"""
        for number, (name, ends) in enumerate(bench.cables.items())
    )
    return f"{head}{servers}\npaths:\n{cables}"


def _server(server: Server, folder: str) -> str:
    ports = "".join(f'      {port.name}: {{pci: "{port.pci}", mac: "{port.mac}"}}\n' for port in server.ports)
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
    boot: {{ready_within_s: 120, shutdown_within_s: 60}}
    ports:
{ports}"""
