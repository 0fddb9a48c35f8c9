"""The switch that a bench file describes."""

from __future__ import annotations

from dataclasses import replace

from niclab.bench.bench_switch import SwitchEntry
from niclab.core.verdict import BenchFault
from niclab.files.secrets import Secrets
from niclab.switch.model import load_model
from niclab.switch.switch import Switch
from niclab.switch.switch_records import Admin
from niclab.transports.snmp.snmp_agent import SnmpAgent
from niclab.transports.snmp.snmp_login import Communities, SnmpEndpoint, User


def connect(entry: SwitchEntry, secrets: Secrets) -> Switch:
    """The switch; nothing is sent yet.

    Raises:
        BenchFault: When there is no such model, or a secret is missing or too short.
    """
    model = load_model(entry.model)
    login = _login(entry, secrets)
    endpoint = SnmpEndpoint(entry.name, entry.address, entry.snmp.port, login, model.variables_per_pdu)
    bridges = {vlan: open_agent(replace(endpoint, bridge_vlan=vlan)) for vlan in entry.snmp.bridge_vlans}
    return Switch(open_agent(endpoint), model, bridges)


def open_agent(endpoint: SnmpEndpoint) -> SnmpAgent:
    """The agent over UDP. pysnmp takes 0.3 s to import, which a bench without a switch does not pay."""
    from niclab.transports.snmp.snmp import Snmp

    return Snmp(endpoint)


def require_open(switch: Switch, entry: SwitchEntry) -> None:
    """Every port that the bench file names is open.

    Raises:
        BenchFault: Naming each that is not.
    """
    states = {name: switch.ports.state(port).admin for name, port in entry.ports.items()}
    shut = [f"{name} ({entry.ports[name]}) is {state.name}" for name, state in states.items() if state is not Admin.UP]
    if shut:
        raise BenchFault(
            f"{switch.name}: ports found shut that no run of this bench has shut: {', '.join(shut)}; "
            f"expected every port in switch.ports of the bench file open; open them if nobody needs them shut"
        )


def _login(entry: SwitchEntry, secrets: Secrets) -> Communities | User:
    if v3 := entry.snmp.v3:
        auth, priv = secrets.get(v3.auth_password_secret), secrets.get(v3.priv_password_secret)
        return User(v3.user, auth, priv, v3.auth, v3.priv)
    v2c = entry.snmp.v2c
    assert v2c is not None  # a bench file with neither is refused
    return Communities(secrets.get(v2c.read_community_secret), secrets.get(v2c.write_community_secret))
