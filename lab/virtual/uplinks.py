"""The place of the switch, and which of its ports is for which port of the servers. Pure data, like :mod:`layout`.

The ports are those of the card under test, whichever card that is: a certificate speaks of no other. Its cables lie
directly between the servers, or all lead to the switch: ``vbench wiring switch`` lays them there, ``vbench wiring
direct`` back, as a patch panel does, while the servers run (:mod:`cables`). So a bench has no more network cards than
the card under test, starts no later, and a card is tried over the switch by its own ports.

The rejected ways: a second pair of ports next to the card's needs no patch panel, but those of QEMU's 82574L would say
nothing of another card; a second card of the same model in each server makes every bench bigger and every start later.
"""

from __future__ import annotations

from identity import Identity
from layout import ROLES, Bench, Port, Server

SNMP_PORT = 1161
USER, VIEWER = "admin", "viewer"
SWITCH_UDP, UPLINK_UDP = 5100, 5200
STATE_FILES = ("switch.json", "switch-faults.json", "switch-boots")


def switch_address(bench: Bench) -> str:
    """Return the address at which the switch takes frames, and answers SNMP."""
    return bench.panel_address.rsplit(".", 1)[0] + ".50"


def number(server: Server, port: Port) -> int:
    """The switch's port for a port of a server; dut has the first ones of the switch, peer the last."""
    return 1 + ROLES.index(server.role) * len(server.ports) + server.ports.index(port)


def name(server: Server, port: Port) -> str:
    """Return the switch's name for the port."""
    return f"port{number(server, port)}"


def ports(bench: Bench) -> dict[str, str]:
    """Port of a server -> port of the switch: ``dut.p0`` -> ``port1``."""
    return {f"{server.role}.{port.name}": name(server, port) for server in bench.servers for port in server.ports}


def cable_end(server: Server, port: Port) -> dict[str, int]:
    """UDP ports of a cable's way to the switch: the cable's own, and the switch's."""
    return {"uplink_udp": UPLINK_UDP + number(server, port), "switch_udp": SWITCH_UDP + number(server, port)}


def config(bench: Bench, identity: Identity) -> dict[str, object]:
    """Return the configuration of the switch's process."""
    told = [
        {
            "number": number(server, port),
            "name": name(server, port),
            "mac": f"02004d{bench.index:02x}00{number(server, port):02x}",  # locally administered
            "server": server.role,
            "nic": port.name,
            "udp": SWITCH_UDP + number(server, port),
            "cable": [bench.panel_address, UPLINK_UDP + number(server, port)],
        }
        for server in bench.servers
        for port in server.ports
    ]
    card = bench.servers[0].card
    config_file, defects_file, boots_file = (str(bench.folder / name) for name in STATE_FILES)
    return {
        "address": switch_address(bench),
        "mac": f"02004d{bench.index:02x}0000",
        "serial": f"VS{bench.index:06}",
        "speed_mbps": int(card.line_rate_mbps),
        "scale": card.rate_scale,
        "control_socket": str(bench.folder / "switch.control"),
        "config_file": config_file,
        "defects_file": defects_file,
        "boots_file": boots_file,
        "outlets": {server.role: str(server.outlet) for server in bench.servers},
        "ports": told,
        "snmp": {
            "port": SNMP_PORT,
            "read_community": identity.secret("VBENCH_SNMP_READ_COMMUNITY"),
            "write_community": identity.secret("VBENCH_SNMP_WRITE_COMMUNITY"),
            "user": USER,
            "viewer": VIEWER,
            "auth_password": identity.secret("VBENCH_SNMP_AUTH_PASSWORD"),
            "priv_password": identity.secret("VBENCH_SNMP_PRIV_PASSWORD"),
        },
    }
